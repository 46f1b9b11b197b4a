"""The tools over HTTP, with the official client; and what a server is for the hooks and proxies of its machine."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from serving import LESSON, Server
from swarmlore.clients.hook.home import socket_path
from swarmlore.clients.hook.socket import ask
from waiting import wait_until


def with_tools(server: Server, token: str, work: Callable[[ClientSession], Awaitable[Any]], query: str = "") -> Any:
    """What `work` returns, over a connection of the official client."""

    async def run() -> Any:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers) as client,
            streamable_http_client(f"http://127.0.0.1:{server.port}/mcp{query}", http_client=client) as streams,
            ClientSession(*streams[:2]) as session,
        ):
            await session.initialize()
            return await work(session)

    return asyncio.run(run())


def test_the_tools_store_and_find(server: Server) -> None:
    async def work(session: ClientSession) -> tuple[list[str], Any]:
        names = [tool.name for tool in (await session.list_tools()).tools]
        await session.call_tool("remember", {"text": LESSON})
        return names, await session.call_tool("recall", {"query": "snapshot tests"})

    names, found = with_tools(server, server.token(), work)
    assert names == ["remember", "recall", "get", "forget", "rate", "outcome", "prime"]
    assert LESSON in found.content[0].text


def test_nobody_elsewhere_proposes_changes_of_files_that_are_not_theirs(server: Server) -> None:
    async def work(session: ClientSession) -> Any:
        return await session.call_tool("reflect", {"text": "User: never push to main"})

    told = with_tools(server, server.token(), work)
    assert told.is_error
    assert "--folder" in told.content[0].text


def test_agents_of_other_systems_find_their_tools(server: Server) -> None:
    async def work(session: ClientSession) -> tuple[list[str], Any]:
        names = [tool.name for tool in (await session.list_tools()).tools]
        told = await session.call_tool("memory-lane_store", {"information": LESSON, "type": "learning"})
        return names, told

    names, told = with_tools(server, server.token(), work, "?tools=lane")
    assert "memory-lane_find" in names
    assert json.loads(told.content[0].text)["message"].startswith("Stored memory ")


def test_mail_has_the_name_that_the_token_says(server: Server) -> None:
    async def as_bob(session: ClientSession) -> Any:
        return await session.call_tool("swarmmail_init", {"agent_name": "bob"})

    told = with_tools(server, server.token("alice"), as_bob, "?tools=swarm-mail")
    assert "this token is for alice" in told.content[0].text


def test_private_memories_stay_private(server: Server) -> None:
    async def put(session: ClientSession) -> Any:
        return await session.call_tool("remember", {"text": LESSON, "tier": "agent"})

    async def look(session: ClientSession) -> Any:
        return await session.call_tool("recall", {"query": "snapshot tests"})

    with_tools(server, server.token("alice"), put)
    assert LESSON not in with_tools(server, server.token("bob"), look).content[0].text
    assert LESSON in with_tools(server, server.token("alice"), look).content[0].text


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_only_whole_requests_are_answered(server: Server, method: str) -> None:
    assert server.ask("/mcp", token=server.token(), method=method)[0] == 405


@pytest.mark.parametrize(("path", "status"), [("/mcp?tools=nothing", 400), ("/mcp/x", 405), ("/mcpx", 404)])
def test_what_is_no_set_of_tools_is_refused(server: Server, path: str, status: int) -> None:
    assert server.ask(path, {}, server.token())[0] == status


def test_nobody_reaches_the_tools_without_a_token_or_from_a_page(server: Server) -> None:
    hello = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert server.ask("/mcp", hello)[0] == 401
    assert server.ask("/mcp", hello, server.token(), headers={"Origin": "null"})[0] == 403
    assert server.ask("/mcp", hello, server.token(), headers={"Host": "evil.example"})[0] == 403
    assert server.ask("/mcp", hello, server.token(), headers={"Content-Type": "text/plain"})[0] == 415


def start_mcp(server: Server) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "swarmlore", "mcp", "--home", str(server.home)]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        words, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env=server.env, cwd="/"
    )


def say(process: subprocess.Popen[str], id: int, method: str, **params: Any) -> Any:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}) + "\n")
    process.stdin.flush()
    while True:
        answer = json.loads(process.stdout.readline())
        if answer.get("id") == id:
            return answer["result"]


def test_a_server_takes_over_from_an_agents_own_and_both_go_on(server: Server) -> None:
    server.stop()
    own = start_mcp(server)
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    say(own, 1, "initialize", **client)
    say(own, 2, "tools/call", name="remember", arguments={"text": LESSON})
    server.start()
    where = socket_path(str(server.home))
    assert ask(where, {"op": "leave"}, 5.0) == {"ok": False}  # a server stays
    assert ask(where, {"op": "ping"}, 5.0) is not None
    found = say(own, 3, "tools/call", name="recall", arguments={"query": "snapshot tests"})
    assert LESSON in found["content"][0]["text"]
    proxy = start_mcp(server)
    say(proxy, 1, "initialize", **client)
    assert (
        LESSON
        in say(proxy, 2, "tools/call", name="recall", arguments={"query": "snapshot tests"})["content"][0]["text"]
    )
    for process in (own, proxy):
        process.communicate(timeout=120)
    server.stop()


def test_its_worker_ends_with_it_however_it_goes(server: Server) -> None:
    wait_until(lambda: workers(server), "it has a worker")
    server.stop(signal.SIGKILL)
    wait_until(lambda: not workers(server), "its worker ends")


def workers(server: Server) -> list[str]:
    """Processes that work for its home."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().decode().split("\0")
        except OSError:
            continue
        if "worker" in words and str(server.home) in words:
            found.append(pid)
    return found
