"""What was said and done in sessions of Gemini CLI and Copilot CLI, from the files in which they keep it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from swarmlore.clients.transcripts import Turn, compacted_at, context_used, find_transcript, read_transcript

AT = "2026-11-15T06:37:03.558Z"
LATER = "2026-11-15T06:47:03.558Z"
SECONDS = 1794724623.558
SNAPSHOT = "<state_snapshot>all is done</state_snapshot>"
BLOCK = "=== swarmlore notes 9f2c41d07be85a36 ===\n- [k7x2p9] swarm «old lesson»\n=== end 9f2c41d07be85a36 ==="


def write(folder: Path, *records: Any) -> str:
    path = folder / "events.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def turns(client: str, folder: Path, *records: Any, **options: Any) -> list[Turn]:
    return list(read_transcript(client, write(folder, *records), **options))


# Gemini CLI


def said(id: str, text: str, kind: str = "user", at: str = AT, **more: Any) -> dict[str, Any]:
    content: Any = [{"text": text}] if kind == "user" else text
    return {"id": id, "timestamp": at, "type": kind, "content": content, **more}


def called(id: str, name: str, output: str, status: str = "success", **given: Any) -> dict[str, Any]:
    answer = {"functionResponse": {"id": id, "name": name, "response": {"output": output}}}
    return {"id": id, "name": name, "args": given, "result": [answer], "status": status, "timestamp": AT}


def ran(id: str, *calls: dict[str, Any]) -> dict[str, Any]:
    return said(id, "", "gemini", toolCalls=list(calls))


def changed(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"$set": {"messages": list(messages)}}


def test_a_session_of_gemini_is_read(tmp_path: Path) -> None:
    head = {"sessionId": "s", "projectHash": "p", "kind": "main"}
    output = "<untrusted_context>\nOutput: 12 passed\nProcess Group PGID: 8250\n</untrusted_context>"
    call = ran("m1", called("c1", "run_shell_command", output, command="make test"))
    found = turns("gemini", tmp_path, head, said("u1", "Run the tests"), ran("m1"), call, said("m2", "Done.", "gemini"))
    assert found == [
        Turn("user", "Run the tests", SECONDS, id="u1"),
        Turn("tool", at=SECONDS, tool="shell", tool_name="run_shell_command", command="make test", output="12 passed",
             failed=False, id="c1"),
        Turn("assistant", "Done.", SECONDS, id="m2"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "output", "status", "printed", "failed"),
    [
        ("run_shell_command", "Output: ok\nProcess Group PGID: 5", "success", "ok", False),
        ("run_shell_command", "Output: no such key\nExit Code: 2\nProcess Group PGID: 5", "success", "no such key", True),
        ("run_shell_command", "Output: x\nError: spawn failed\nExit Code: 127", "success", "x", True),
        ("run_shell_command", "Output: killed\nExit Code: 137\nSignal: 9\nBackground PIDs: 1, 2", "success", "killed", True),
        ("run_shell_command", "Output: (empty)\nExit Code: 0", "success", "(empty)", False),
        ("run_shell_command", "Output: Exit Code: 3\nall fine", "success", "Exit Code: 3\nall fine", False),
        ("run_shell_command", "Output: stopped", "cancelled", "stopped", None),
        ("read_file", "Exit Code: 1 stands in this file", "success", "Exit Code: 1 stands in this file", False),
        ("read_file", "File not found", "error", "File not found", True),
    ],
)  # fmt: skip
def test_how_a_call_of_gemini_ended(
    tmp_path: Path, name: str, output: str, status: str, printed: str, failed: bool | None
) -> None:
    (turn,) = turns("gemini", tmp_path, ran("m", called("c", name, output, status)))
    assert (turn.error if failed else turn.output, turn.failed) == (printed, failed)


def test_what_was_given_with_a_prompt_or_a_result_is_not_part_of_it(tmp_path: Path) -> None:
    given = f"<hook_context>{BLOCK}</hook_context>"
    prompt = said("u", f"{given}\n\nUse tabs")
    prompt["content"].append({"text": given})
    result = ran("m", called("c", "read_file", f"text\n\n{given}", file_path="/p/a.py"))
    first, second = turns("gemini", tmp_path, prompt, result)
    assert (first.text, second.output, second.files) == ("Use tabs", "text", ("/p/a.py",))


def test_a_session_that_is_resumed_says_nothing_twice(tmp_path: Path) -> None:
    again = changed(said("new-1", "Use tabs", at=LATER), said("new-2", "Yes.", "gemini", at=LATER))
    records = (said("u", "Use tabs"), said("m", "Yes.", "gemini"), again, said("u2", "Use tabs"), said("u3", "Go on"))
    found = turns("gemini", tmp_path, *records)
    assert [turn.text for turn in found] == ["Use tabs", "Yes.", "Use tabs", "Go on"]  # a person may


def test_context_and_summaries_of_gemini_are_nobodys_word(tmp_path: Path) -> None:
    context = changed(said("c", "<session_context>\nToday is Sunday\n</session_context>"))
    assert turns("gemini", tmp_path, context, changed(said("s", SNAPSHOT))) == []
    assert [turn.meta for turn in turns("gemini", tmp_path, context, changed(said("s", SNAPSHOT)), meta=True)] == [
        "context",
        "summary",
    ]


def test_the_conversation_of_a_sub_agent_of_gemini_is_marked(tmp_path: Path) -> None:
    head = {"sessionId": "a", "projectHash": "p", "kind": "subagent"}
    assert turns("gemini", tmp_path, head, said("u", "Look at it"))[0].sidechain


def test_when_gemini_cut_its_context_is_known_and_a_resumed_session_repeats_it(tmp_path: Path) -> None:
    cut, again = changed(said("s", SNAPSHOT)), changed(said("t", SNAPSHOT, at=LATER), said("u", "Go on", at=LATER))
    assert compacted_at("gemini", write(tmp_path, said("u", f"what is a {SNAPSHOT}"))) == 0
    assert compacted_at("gemini", write(tmp_path, cut, said("u", "Go on"), again)) == SECONDS
    newer = changed(said("v", SNAPSHOT.replace("done", "new"), at=LATER))
    assert compacted_at("gemini", write(tmp_path, cut, newer)) == SECONDS + 600
    assert compacted_at("claude", write(tmp_path, cut)) == 0


# Copilot CLI


def event(kind: str, at: str = AT, agent: str = "", **data: Any) -> dict[str, Any]:
    beside = {"agentId": agent} if agent else {}
    return {"type": kind, "data": data, "id": "e", "timestamp": at, **beside}


def begun(id: str, name: str, **given: Any) -> dict[str, Any]:
    return event("tool.execution_start", toolCallId=id, toolName=name, arguments=given)


def ended(id: str, content: str, **more: Any) -> dict[str, Any]:
    return event(
        "tool.execution_complete", **{"toolCallId": id, "success": True, "result": {"content": content}, **more}
    )


def test_a_session_of_copilot_is_read(tmp_path: Path) -> None:
    found = turns(
        "copilot",
        tmp_path,
        event("user.message", content="Run the tests", transformedContent="<current_datetime>…\n\nRun the tests"),
        event("assistant.message", content="", toolRequests=[]),
        begun("c1", "bash", command="make test"),
        ended("c1", "12 passed\n<shellId: 0 completed with exit code 0>"),
        event("assistant.message", content="Done."),
    )
    assert found == [
        Turn("user", "Run the tests", SECONDS, id="e"),
        Turn("tool", at=SECONDS, tool="shell", tool_name="bash", command="make test", output="12 passed", failed=False,
             id="c1"),
        Turn("assistant", "Done.", SECONDS, id="e"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("more", "printed", "failed"),
    [
        ({"result": {"content": "no\n<shellId: 3 completed with exit code 2>"}}, "no", True),
        ({"result": {"content": "no"}, "shellExecution": {"exitCode": 2}}, "no", True),
        ({"result": {"content": "old\n<exited with exit code 1>"}}, "old", True),
        ({"success": False, "result": None, "error": {"message": "Path does not exist", "code": "failure"}},
         "Path does not exist", True),
        ({"success": False, "result": None, "error": {"message": "not allowed", "code": "denied"}}, "not allowed", None),
        ({"result": {"content": f'ok\n\nTool "bash" succeeded. Additional guidance from postToolUse hooks:\n{BLOCK}'}},
         "ok", False),
        ({"success": "yes", "result": {"content": "odd"}}, "odd", None),
    ],
)  # fmt: skip
def test_how_a_call_of_copilot_ended(tmp_path: Path, more: dict[str, Any], printed: str, failed: bool | None) -> None:
    (turn,) = turns("copilot", tmp_path, begun("c", "bash", command="x"), ended("c", "", **more))
    assert (turn.error if failed else turn.output, turn.failed) == (printed, failed)


NOT_SAID_TO_COPILOT = {
    "a skill": event("user.message", content="How to recall", source="skill-recall"),
    "going on by itself": event("user.message", content="Continue", isAutopilotContinuation=True),
    "a reminder": event("user.message", content="<system-reminder>be nice</system-reminder>"),
    "a summary": event("session.compaction_complete", success=True, summaryContent="All was done"),
}


@pytest.mark.parametrize("name", NOT_SAID_TO_COPILOT)
def test_what_copilot_adds_is_nobodys_word(tmp_path: Path, name: str) -> None:
    assert turns("copilot", tmp_path, NOT_SAID_TO_COPILOT[name]) == []
    (marked,) = turns("copilot", tmp_path, NOT_SAID_TO_COPILOT[name], meta=True)
    assert marked.meta


def test_the_conversation_of_a_sub_agent_of_copilot_is_marked(tmp_path: Path) -> None:
    task = event("user.message", agent="a1", content="Look at it", source="agent-s1")
    assert [(turn.text, turn.sidechain) for turn in turns("copilot", tmp_path, task)] == [("Look at it", True)]


def used(tokens: int, window: int | None = 128_000, agent: str = "") -> dict[str, Any]:
    spent = {"inputTokens": tokens - 20, "outputTokens": 20, "cacheReadTokens": 7, "maxPromptTokens": window}
    return event("session.usage_record", agent=agent, usage=spent)


FIGURES = {
    "the last answer counts": ([used(100), used(5_000)], (5_000, 128_000)),
    "a sub-agent's does not": ([used(100), used(5_000, agent="a1")], (100, 128_000)),
    "a compaction is newer": (
        [used(5_000), event("session.compaction_complete", postCompactionTokens=900, tokenLimit=64_000)],
        (900, 64_000),
    ),
    "no window": ([used(100, None)], (100, None)),
    "nothing": ([event("user.message", content='"session.usage_record"')], None),
}


@pytest.mark.parametrize("name", FIGURES)
def test_copilot_says_how_full_its_context_is(tmp_path: Path, name: str) -> None:
    records, expected = FIGURES[name]
    assert context_used("copilot", write(tmp_path, *records)) == expected


def test_when_copilot_cut_its_context_is_known(tmp_path: Path) -> None:
    failed = event("session.compaction_complete", LATER, success=False)
    beside = event("session.compaction_complete", LATER, agent="a1", success=True)
    done = event("session.compaction_complete", success=True)
    assert compacted_at("copilot", write(tmp_path, done, failed, beside)) == SECONDS
    assert compacted_at("copilot", write(tmp_path, failed, beside)) == 0


# Where they are


def test_transcripts_are_found_by_their_session(tmp_path: Path) -> None:
    chats = tmp_path / ".gemini" / "tmp" / "shop" / "chats"
    chats.mkdir(parents=True)
    for session, minute in (("0b0b0b0b-1", "34"), ("0b0b0b0b-2", "35")):
        path = chats / f"session-2026-11-15T06-{minute}-0b0b0b0b.jsonl"
        path.write_text(json.dumps({"sessionId": session, "projectHash": "p"}) + "\n")
    events = tmp_path / ".copilot" / "session-state" / "0c-2" / "events.jsonl"
    events.parent.mkdir(parents=True)
    events.touch()
    assert find_transcript("gemini", "0b0b0b0b-1", str(tmp_path)).endswith("06-34-0b0b0b0b.jsonl")
    assert find_transcript("gemini", "0b0b0b0b-3", str(tmp_path)) == ""
    assert find_transcript("copilot", "0c-2", str(tmp_path)) == str(events)
    assert find_transcript("copilot", "0c-2", "/nowhere", {"COPILOT_HOME": str(tmp_path / ".copilot")}) == str(events)
    assert find_transcript("gemini", "0b0b0b0b-2", "/nowhere", {"GEMINI_CLI_HOME": str(tmp_path)})
    assert find_transcript("copilot", "0c", str(tmp_path)) == ""
