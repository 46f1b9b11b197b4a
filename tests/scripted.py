"""Agents that follow a script: the SDK's own client over a process of ours, with the tools of another system."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mcp_lines import environment, words


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
