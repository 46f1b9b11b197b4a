"""`swarmlore mcp` where SWARMLORE_URL names a server: its tools over standard input and output, whatever the net does."""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from mcp_lines import HELLO, Lines, environment, words
from serving import LESSON, Server


def away(server: Server, tmp_path: Path, *more: str, token: str = "") -> Lines:
    address = {"SWARMLORE_URL": f"http://127.0.0.1:{server.port}", "SWARMLORE_TOKEN": token or server.token()}
    (tmp_path / "there").mkdir(exist_ok=True)
    return Lines(tmp_path / "there", tmp_path, words(tmp_path / "there", *more), **address)


def test_the_official_client_finds_the_tools_of_the_server(server: Server, tmp_path: Path) -> None:
    env = environment(SWARMLORE_URL=f"http://127.0.0.1:{server.port}", SWARMLORE_TOKEN=server.token("bob"))
    params = StdioServerParameters(command=sys.executable, args=["-m", "swarmlore", "mcp"], env=env, cwd=str(tmp_path))

    async def work() -> tuple[list[str], str]:
        async with stdio_client(params) as streams, ClientSession(*streams) as session:
            await session.initialize()
            names = [tool.name for tool in (await session.list_tools()).tools]
            await session.call_tool("remember", {"text": LESSON})
            found = await session.call_tool("recall", {"query": "snapshot tests"})
            return names, found.content[0].text  # type: ignore[union-attr]

    names, text = asyncio.run(work())
    assert names == ["remember", "recall", "get", "forget", "rate", "outcome", "prime"]
    assert LESSON in text
    _, found = server.ask("/v1/list", {}, server.token("carol"))
    assert [memory["owner"] for memory in found["result"]] == ["bob"]


def test_sets_of_tools_are_handed_on(server: Server, tmp_path: Path) -> None:
    with away(server, tmp_path, "--tools", "swarm-mail,lane") as client:
        client.begin()
        names = [tool["name"] for tool in client.result("tools/list")["tools"]]
        assert "swarmmail_init" in names
        assert "remember" not in names
        calls = [client.ask("tools/call", {"name": "swarmmail_inbox", "arguments": {}}) for _ in range(5)]
        assert [client.answer()["id"] for _ in calls] == calls
        assert client.leave() == 0


def test_a_client_starts_while_the_server_is_away_and_goes_on_when_it_is_back(server: Server, tmp_path: Path) -> None:
    token = server.token()
    server.stop()
    with away(server, tmp_path, token=token) as client:
        client.begin()
        assert "remember" in [tool["name"] for tool in client.result("tools/list")["tools"]]
        told = client.call("remember", text=LESSON)
        assert told["isError"]
        assert f"127.0.0.1:{server.port} does not answer" in told["content"][0]["text"]
        assert client.result("ping") == {}
        server.start()
        assert not client.call("remember", text=LESSON)["isError"]
        server.stop()
        assert client.call("recall", query="snapshot")["isError"]


def test_a_server_that_never_answers_does_not_keep_a_client_from_beginning(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        address = {"SWARMLORE_URL": f"http://127.0.0.1:{deaf.getsockname()[1]}", "SWARMLORE_TOKEN": "t"}
        with Lines(tmp_path, tmp_path, words(tmp_path), **address) as client:
            client.begin()
            assert client.leave() == 0


def test_a_token_that_does_not_hold_is_said_to_the_agent(server: Server, tmp_path: Path) -> None:
    with away(server, tmp_path, token="swl_0000000000_" + "x" * 43) as client:
        client.begin()
        told = client.call("recall", query="snapshot")
        assert told["isError"]
        assert "SWARMLORE_TOKEN" in told["content"][0]["text"]


@pytest.mark.parametrize("line", [b"{", b"[]", b"3", b'{"jsonrpc":"2.0","id":true,"method":7}', b'{"id":1}'])
def test_what_is_no_message_is_said_and_the_next_one_answered(line: bytes, tmp_path: Path) -> None:
    with Lines(tmp_path, tmp_path, words(tmp_path), SWARMLORE_URL="http://127.0.0.1:1", SWARMLORE_TOKEN="t") as client:
        client.send(line)
        assert client.answer()["error"]["code"] == -32600
        assert client.result("initialize", HELLO)["protocolVersion"] == HELLO["protocolVersion"]


def test_without_a_token_it_says_what_is_missing(tmp_path: Path) -> None:
    with Lines(tmp_path, tmp_path, words(tmp_path), SWARMLORE_URL="http://127.0.0.1:1") as client:
        assert client.process.wait(120) == 9
        assert client.process.stderr
        assert b"SWARMLORE_TOKEN" in client.process.stderr.read()
