"""Which reports of a client are worth an answer, and which count for whom."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from swarmlore.capture.session_state import advance, new_session
from swarmlore.clients import client
from swarmlore.clients.gemini.transcript import Transcript
from swarmlore.clients.hook import event as e
from swarmlore.clients.hook.client_log import exit_code, last_line
from swarmlore.clients.hook.event_from_payload import make_event


def make(name: str, event: str, **data: Any) -> e.Event:
    module = client(name)
    assert module is not None
    return make_event(module, name, event, {"session_id": "s1", "cwd": "/nowhere", **data}, 1000.0)


@pytest.mark.parametrize(
    ("name", "tool", "given", "answered"),
    [
        ("codex", "Bash", {"command": "ls"}, False),
        ("codex", "apply_patch", {"command": "*** Begin Patch\n*** Update File: a.py\n+x"}, True),
        ("claude", "Read", {"file_path": "a.py"}, True),
        ("claude", "Task", {"prompt": "Look for the ledger"}, False),
    ],
)
def test_before_a_tool_only_what_touches_a_file_is_answered(
    name: str, tool: str, given: dict[str, str], answered: bool
) -> None:
    assert e.is_answered(make(name, "PreToolUse", tool_name=tool, tool_use_id="t1", tool_input=given)) is answered


def test_the_question_to_an_older_memory_is_answered_though_it_touches_no_file() -> None:
    asked = {"tool": "memory-lane_find", "sessionID": "ses_e22167aa3ffe", "callID": "c"}
    event = make("opencode", "tool.execute.before", input=asked, output={"args": {"query": "refunds"}})
    assert e.is_answered(event)


def test_what_an_agent_tells_a_sub_agent_is_no_prompt_of_the_session() -> None:
    prompt = make("codex", "UserPromptSubmit", prompt="Add a test", turn_id="t1")
    told = make("codex", "UserPromptSubmit", prompt="Look for the ledger", turn_id="t2", agent_id="a1")
    session = advance(advance(new_session(prompt, "p", "codex"), prompt), told)
    assert session.extra["prompts"] == 1


def test_a_compaction_that_is_told_at_every_start_of_the_client_counts_once() -> None:
    payload = {"input": {"sessionID": "ses_e22167aa3ffe"}, "mark": "msg_5"}
    event = make("opencode", "session.compacted", **payload)
    assert (event.moment, event.loose) == (e.COMPACTED, False)
    assert make("opencode", "session.compacted", input=payload["input"]).loose


def test_messages_of_gemini_without_an_id_are_all_read() -> None:
    reader = Transcript()
    said = [{"type": "user", "content": f"prompt {number}"} for number in (1, 2, 2, 3)]
    assert [turn.text for message in said for turn in reader.read(message)] == ["prompt 1", "prompt 2", "prompt 3"]


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="there is no such file here")
def test_a_file_that_cannot_be_read_to_its_end_says_nothing(tmp_path: Path) -> None:
    assert exit_code("/proc/self/mem", "call_1") is None
    assert last_line("/proc/self/mem", b"{") == b""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a file away")
def test_another_users_record_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    path.write_text('\n{"call": "call_1", "exit_code": 3}\n')
    assert exit_code(str(path), "call_1") == 3
    os.chown(path, 12345, 12345)
    assert exit_code(str(path), "call_1") is None
