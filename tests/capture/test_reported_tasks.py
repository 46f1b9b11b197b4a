"""What a worker of a swarm reports about its task is learned from, whichever client its tool is called in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from swarmlore.capture.pipeline import SpoolReader
from swarmlore.clients import client
from swarmlore.clients.hook import event as e
from swarmlore.clients.hook import spool
from swarmlore.clients.hook.event_from_payload import make_event
from swarmlore.clients.hook.home import spool_dir
from swarmlore.lore import Lore
from waiting_jobs import waiting

TASK = {
    "bead_id": "cell-1",
    "summary": "OAuth login",
    "evaluation": "Always rotate the tokens.",
    "error_count": 2,
    "success": True,
}
AT = "2026-11-15T06:34:45.471Z"


def _as_claude(name: str) -> dict[str, Any]:
    return {"session_id": "s1", "tool_use_id": "t1", "tool_name": name, "tool_input": TASK, "tool_response": "ok"}


def _as_gemini(name: str) -> dict[str, Any]:
    return {**_as_claude(name), "timestamp": AT, "tool_response": {"llmContent": "ok"}}


def _as_copilot(name: str) -> dict[str, Any]:
    result = {"resultType": "success", "textResultForLlm": "ok"}
    return {"sessionId": "s1", "timestamp": 1794724535664, "toolName": name, "toolArgs": TASK, "toolResult": result}


def _as_opencode(name: str) -> dict[str, Any]:
    asked = {"tool": name, "sessionID": "ses_e22167aa3ffe", "callID": "t1", "args": TASK}
    return {"input": asked, "output": {"output": "ok"}}


REPORTS = {
    "claude": ("PostToolUse", _as_claude, "mcp__swarm__"),
    "codex": ("PostToolUse", _as_claude, "mcp__swarm__"),
    "gemini": ("AfterTool", _as_gemini, "mcp_swarm_"),
    "copilot": ("postToolUse", _as_copilot, "swarm-"),
    "opencode": ("tool.execute.after", _as_opencode, "swarm_"),
}


@pytest.mark.parametrize("tool", ["swarm_complete", "swarm_record_outcome"])
@pytest.mark.parametrize("name", REPORTS)
def test_a_reported_task_leaves_one_extraction_in_every_client(name: str, tool: str, tmp_path: Path) -> None:
    event_name, payload, before = REPORTS[name]
    module = client(name)
    assert module is not None
    told = {"cwd": str(tmp_path), "directory": str(tmp_path), **payload(before + tool)}
    event = make_event(module, name, event_name, told, 1_800_000_000.0)
    assert (event.moment, event.extra["outcome"]) == (e.AFTER_TOOL, TASK)
    home = str(tmp_path / "home")
    for _ in range(2):  # two hook files, one event
        spool.append(spool_dir(home), e.to_plain(event))
    with Lore.open(home, cwd=str(tmp_path), env={"SWARMLORE_EMBEDDER_KIND": "none"}) as lore:
        SpoolReader(lore).drain()
        assert waiting(lore) == {"extract": 1}


@pytest.mark.parametrize("name", REPORTS)
def test_another_tool_of_the_swarm_reports_nothing(name: str) -> None:
    event_name, payload, before = REPORTS[name]
    module = client(name)
    assert module is not None
    told = {"cwd": "/nowhere", "directory": "/nowhere", **payload(before + "swarm_status")}
    assert "outcome" not in make_event(module, name, event_name, told, 1.0).extra
