"""Agents that follow a script: the SDK's own client over a process or a server of ours, with the tools of another
system."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mcp_lines import environment, words
from serving import Server


class Agent:
    """One agent with its client; a call gives the answer's values."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def tools(self) -> list[str]:
        return [tool.name for tool in (await self._client.list_tools()).tools]

    async def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        told = await self._client.call_tool(tool, arguments)
        values: dict[str, Any] = told.structured_content
        assert json.loads(told.content[0].text) == values  # the text says the same
        return values

    async def refused(self, tool: str, **arguments: Any) -> dict[str, Any]:
        told = await self._client.call_tool(tool, arguments)
        assert told.is_error
        values: dict[str, Any] = told.structured_content
        return values


def play(home: Path, cwd: Path, sets: str, story: Callable[[Agent], Awaitable[None]], **env: str) -> None:
    """Let an agent play its part from the start of its server to its end."""
    from mcp import Client, StdioServerParameters

    async def run() -> None:
        command, *args = words(home, "--tools", sets)
        server = StdioServerParameters(command=command, args=args, env=environment(**env), cwd=str(cwd))
        async with Client(server, read_timeout_seconds=60) as client:
            await story(Agent(client))

    asyncio.run(run())


def play_over_http(server: Server, token: str, sets: str, story: Callable[[Agent], Awaitable[None]]) -> None:
    """The same at a server on the network, by whoever has this token."""
    import httpx2
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async def run() -> None:
        at = f"http://{server.host}:{server.port}/mcp?tools={sets}"
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as client,
            streamable_http_client(at, http_client=client) as streams,
            ClientSession(*streams[:2]) as session,
        ):
            await session.initialize()
            await story(Agent(session))

    asyncio.run(run())


class Door:
    """Where an agent comes in: by a process of its own, or by a server that knows it by its token."""

    def __init__(self, kind: str, home: Path, project: Path, server: Server | None) -> None:
        self.kind = kind
        self.home = home
        self.project = project
        self._server = server
        self._tokens: dict[tuple[str, str], str] = {}

    @property
    def is_http(self) -> bool:
        return self._server is not None

    def play(self, sets: str, story: Callable[[Agent], Awaitable[None]], agent: str, role: str = "") -> None:
        if self._server is None:
            env = {"SWARMLORE_ROLE": role} if role else {}
            play(self.home, self.project, sets, story, SWARMLORE_AGENT=agent, **env)
            return
        if (agent, role) not in self._tokens:
            self._tokens[agent, role] = self._server.token(agent, role or "worker", project=self._name())
        play_over_http(self._server, self._tokens[agent, role], sets, story)

    def _name(self) -> str:
        """The project that its folder is."""
        from swarmlore.lore import Lore

        with Lore.open(self.home, cwd=self.project, env=environment()) as lore:
            return lore.caller.project
