"""Transcripts of the clients: what was said and done, and nothing that a client or a hook put there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import DATA
from swarmlore.clients.transcripts import (
    CLIENTS,
    Tally,
    Turn,
    compacted_at,
    context_used,
    find_transcript,
    read_transcript,
)
from swarmlore.domain.extraction.message_text import typed_text, without_elements

AT = "2026-11-15T06:37:03.558Z"
SECONDS = 1794724623.558
SAMPLES = DATA / "clients" / "transcripts"
BLOCK = "=== swarmlore notes 9f2c41d07be85a36 ===\n- [k7x2p9] swarm «old lesson»\n=== end 9f2c41d07be85a36 ==="
TOKEN = "ghp_" + "R7yXb2Kd9Qw3" * 3


# Records as the clients write them


def claude(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content}
    return {"type": kind, "uuid": "u", "timestamp": AT, "isSidechain": False, "message": message, **more}


def use(id: str, name: str, **given: Any) -> dict[str, Any]:
    return claude("assistant", [{"type": "tool_use", "id": id, "name": name, "input": given}])


def result(id: str, content: Any, **more: Any) -> dict[str, Any]:
    facts = {key: more.pop(key) for key in ("is_error",) if key in more}
    return claude("user", [{"type": "tool_result", "tool_use_id": id, "content": content, **facts}], **more)


def codex(kind: str, payload: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"timestamp": AT, "type": kind, "payload": payload, **more}


def item(kind: str, **facts: Any) -> dict[str, Any]:
    return codex("response_item", {"type": kind, **facts})


def message(role: str, *texts: str, kinds: list[str] | None = None, **more: Any) -> dict[str, Any]:
    part = "output_text" if role == "assistant" else "input_text"
    payload: dict[str, Any] = {"type": "message", "id": "m", "role": role}
    payload["content"] = [{"type": part, "text": text} for text in texts]
    if kinds is not None:
        payload["internal_chat_message_metadata_passthrough"] = {"content_item_kinds": kinds}
    return codex("response_item", payload, **more)


def execute(id: str, command: str, name: str = "exec_command") -> dict[str, Any]:
    return item("function_call", name=name, call_id=id, arguments=json.dumps({"cmd": command}))


def printed(id: str, output: Any, kind: str = "function_call_output") -> dict[str, Any]:
    return item(kind, call_id=id, output=output)


def write(folder: Path, *records: Any, name: str = "session.jsonl") -> str:
    path = folder / name
    lines = (record if isinstance(record, bytes) else json.dumps(record).encode() for record in records)
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return str(path)


def turns(client: str, folder: Path, *records: Any, **options: Any) -> list[Turn]:
    return list(read_transcript(client, write(folder, *records), **options))


# Claude Code


def test_what_a_person_typed_is_a_turn(tmp_path: Path) -> None:
    assert turns("claude", tmp_path, claude("user", "Use pnpm, not npm.")) == [
        Turn("user", "Use pnpm, not npm.", SECONDS, id="u")
    ]


def test_a_call_and_its_result_are_one_turn(tmp_path: Path) -> None:
    found = turns("claude", tmp_path, use("t1", "Bash", command="make test"), result("t1", "12 passed", is_error=False))
    assert found == [
        Turn(
            "tool",
            at=SECONDS,
            tool="shell",
            tool_name="Bash",
            command="make test",
            output="12 passed",
            failed=False,
            id="t1",
        )
    ]


def test_what_a_failed_tool_printed_is_its_error(tmp_path: Path) -> None:
    (turn,) = turns("claude", tmp_path, use("t1", "Bash", command="make"), result("t1", "Exit code 2", is_error=True))
    assert (turn.failed, turn.error, turn.output) == (True, "Exit code 2", "")


def test_results_find_their_calls_in_any_order(tmp_path: Path) -> None:
    found = turns(
        "claude", tmp_path, use("a", "Bash", command="one"), use("b", "Bash", command="two"), result("b", "2"), result("a", "1")
    )  # fmt: skip
    assert [(turn.command, turn.output) for turn in found] == [("two", "2"), ("one", "1")]


def test_a_call_without_a_result_and_a_result_without_a_call_are_turns(tmp_path: Path) -> None:
    found = turns("claude", tmp_path, use("a", "Read", file_path="/p/x.py"), result("z", "alone"))
    assert [(turn.id, turn.tool, turn.files, turn.output, turn.failed) for turn in found] == [
        ("z", "other", (), "alone", False),
        ("a", "read", ("/p/x.py",), "", None),
    ]


@pytest.mark.parametrize(
    "more",
    [
        {"toolDenialKind": "permission-rule"},
        {"toolUseResult": {"interrupted": True}},
        {"content": "The user doesn't want to proceed with this tool use. The tool use was rejected"},
    ],
)
def test_a_tool_that_was_not_allowed_to_run_did_not_fail(tmp_path: Path, more: dict[str, Any]) -> None:
    content = more.pop("content", "denied")
    (turn,) = turns("claude", tmp_path, use("a", "Bash", command="x"), result("a", content, is_error=True, **more))
    assert turn.failed is None and turn.output == content


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Bash", "shell"),
        ("Read", "read"),
        ("Grep", "read"),
        ("Edit", "write"),
        ("NotebookEdit", "write"),
        ("Task", "other"),
    ],
)
def test_tools_have_a_kind(tmp_path: Path, name: str, kind: str) -> None:
    assert turns("claude", tmp_path, use("a", name))[0].tool == kind


NOT_SAID_TO_CLAUDE = {
    "a skill": claude("user", "Base directory for this skill: /x", isMeta=True),
    "a summary": claude("user", "Summary: all is done", isCompactSummary=True),
    "a reminder": claude("user", "<system-reminder>\nToday is Monday\n</system-reminder>"),
    "a command": claude("user", "<command-name>/compact</command-name>\n<command-args>keep it</command-args>"),
    "the output of a command": claude("user", "<local-command-stdout>done</local-command-stdout>"),
    "a shell line": claude("user", "<bash-input>ls</bash-input><bash-stdout>x</bash-stdout>"),
    "an interruption": claude("user", [{"type": "text", "text": "[Request interrupted by user]"}]),
    "feedback of a hook": claude("user", "Stop hook feedback:\n- never stop"),
    "context of a hook": {
        "type": "attachment", "timestamp": AT, "attachment": {"type": "hook_additional_context", "content": ["never"]},
    },
    "a failed request": claude("assistant", [{"type": "text", "text": "API Error"}], isApiErrorMessage=True),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_SAID_TO_CLAUDE)
def test_what_claude_code_adds_is_nobodys_word(tmp_path: Path, name: str) -> None:
    record = NOT_SAID_TO_CLAUDE[name]
    assert turns("claude", tmp_path, record) == []
    (marked,) = turns("claude", tmp_path, record, meta=True)
    assert marked.meta == ("summary" if name == "a summary" else "context")


def test_what_was_typed_while_the_agent_was_busy_counts(tmp_path: Path) -> None:
    queued = {"type": "queued_command", "prompt": "Stop, use the staging key", "commandMode": "prompt"}
    told = {
        "type": "queued_command",
        "prompt": "<task-notification>x</task-notification>",
        "commandMode": "task-notification",
    }
    found = turns("claude", tmp_path, *({"type": "attachment", "attachment": each} for each in (queued, told)))
    assert [turn.text for turn in found] == ["Stop, use the staging key"]


def test_a_sub_agents_conversation_is_marked(tmp_path: Path) -> None:
    (turn,) = turns("claude", tmp_path, claude("user", "Say hi", isSidechain=True))
    assert turn.sidechain


def test_thinking_pictures_and_unknown_records_are_left_out(tmp_path: Path) -> None:
    parts = [{"type": "thinking", "thinking": "hm"}, {"type": "image", "source": {}}, {"type": "text", "text": "Done."}]
    found = turns("claude", tmp_path, {"type": "cost-state"}, claude("assistant", parts), {"type": 7}, {})
    assert [turn.text for turn in found] == ["Done."]


# Codex


def test_a_codex_session_is_read(tmp_path: Path) -> None:
    found = turns(
        "codex",
        tmp_path,
        message("user", "Fix the build", kinds=["user.text"]),
        execute("c1", "make"),
        printed("c1", "Chunk ID: 8\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nno rule"),
        message("assistant", "Fixed."),
    )
    assert found == [
        Turn("user", "Fix the build", SECONDS, id="m"),
        Turn(
            "tool", at=SECONDS, tool="shell", tool_name="exec_command", command="make", error="no rule", failed=True, id="c1"
        ),
        Turn("assistant", "Fixed.", SECONDS, id="m"),
    ]  # fmt: skip


ENDINGS: dict[str, tuple[Any, bool | None, str]] = {
    "exit code of a command": ("Wall time: 1\nProcess exited with code 0\nOutput:\nok", False, "ok"),
    "exit code of older releases": ("Exit code: 1\nWall time: 1 seconds\nOutput:\nbad", True, "bad"),
    "JSON of the first releases": ('{"output":"bad","metadata":{"exit_code":3}}', True, "bad"),
    "an object with success": ({"content": "bad", "success": False}, True, "bad"),
    "parts": ([{"type": "input_text", "text": "ok"}], None, "ok"),
    "a hook that blocked": ("Command blocked by PreToolUse hook: no.", None, "Command blocked by PreToolUse hook: no."),
    "an output that pretends": ("Output:\nProcess exited with code 1", None, "Output:\nProcess exited with code 1"),
    "a code in the output itself": (
        "Wall time: 1\nOutput:\nProcess exited with code 1",
        None,
        "Process exited with code 1",
    ),
    "nothing": (None, None, ""),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_how_a_command_ended_is_read_from_its_answer(tmp_path: Path, name: str) -> None:
    answer, failed, text = ENDINGS[name]
    (turn,) = turns("codex", tmp_path, execute("c", "make"), printed("c", answer))
    assert (turn.failed, turn.error or turn.output) == (failed, text)


@pytest.mark.parametrize(
    ("event", "failed"),
    [
        ({"type": "item_completed", "item": {"type": "CommandExecution", "id": "c", "exit_code": 1}}, True),
        ({"type": "exec_command_end", "call_id": "c", "exit_code": 0}, False),
        ({"type": "patch_apply_end", "call_id": "c", "success": False}, True),
        ({"type": "item_completed", "item": {"type": "McpToolCall", "id": "c", "status": "completed"}}, False),
        (
            {
                "type": "item_completed",
                "item": {"type": "McpToolCall", "id": "c", "status": "completed", "result": {"isError": True}},
            },
            True,
        ),
        ({"type": "item_completed", "item": {"type": "CommandExecution", "id": "other", "exit_code": 1}}, None),
    ],
)
def test_how_a_call_ended_is_read_from_the_events_beside_it(
    tmp_path: Path, event: dict[str, Any], failed: bool
) -> None:
    (turn,) = turns("codex", tmp_path, execute("c", "make"), codex("event_msg", event), printed("c", "text"))
    assert turn.failed is failed


def test_a_patch_names_its_files_in_the_folder_of_the_session(tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** Add File: /abs/b.py\n*** End Patch"
    calls = (
        item("custom_tool_call", name="apply_patch", call_id="a", input=patch),
        item("function_call", name="shell", call_id="b", arguments=json.dumps({"command": ["apply_patch", patch]})),
    )
    found = turns("codex", tmp_path, codex("turn_context", {"cwd": "/home/dev/shop"}), *calls)
    assert [(turn.tool, turn.files) for turn in found] == [("write", ("/home/dev/shop/src/a.py", "/abs/b.py"))] * 2


def test_the_shell_around_a_command_is_taken_off(tmp_path: Path) -> None:
    calls = (
        item("function_call", name="shell", call_id="a", arguments='{"command": ["bash", "-lc", "make test"]}'),
        item("local_shell_call", call_id="b", action={"command": ["ls", "-l"]}),
    )
    assert [turn.command for turn in turns("codex", tmp_path, *calls)] == ["make test", "ls -l"]


NOT_SAID_TO_CODEX = {
    "instructions of the developer": message("developer", "never do this"),
    "AGENTS.md by its kind": message("user", "Always use tabs", kinds=["agents_md.instructions"]),
    "AGENTS.md by its form": message(
        "user", "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nuse tabs\n</INSTRUCTIONS>"
    ),
    "the environment": message("user", "<environment_context>\n  <cwd>/x</cwd>\n</environment_context>"),
    "the end of a sub-agent": message(
        "user", "<subagent_notification>\n{}\n</subagent_notification>", kinds=["unknown"]
    ),
    "a summary": message("assistant", "all is done", metadata={"compaction_output": True}),
    "a compaction": codex("compacted", {"message": "all is done", "replacement_history": []}),
}


@pytest.mark.parametrize("name", NOT_SAID_TO_CODEX)
def test_what_codex_adds_is_nobodys_word(tmp_path: Path, name: str) -> None:
    assert turns("codex", tmp_path, NOT_SAID_TO_CODEX[name]) == []
    (marked,) = turns("codex", tmp_path, NOT_SAID_TO_CODEX[name], meta=True)
    assert marked.meta


def test_a_part_that_is_typed_is_kept_beside_one_that_is_not(tmp_path: Path) -> None:
    record = message(
        "user", "<environment_context>x</environment_context>", "Use tabs", kinds=["environments.x", "user.text"]
    )
    assert [turn.text for turn in turns("codex", tmp_path, record)] == ["Use tabs"]


def test_items_without_a_wrapping_are_read_too(tmp_path: Path) -> None:
    bare = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello there"}], "id": "m"}
    assert [turn.text for turn in turns("codex", tmp_path, {"id": "s", "timestamp": AT}, bare)] == ["Hello there"]


def test_a_rollout_of_a_sub_agent_is_marked(tmp_path: Path) -> None:
    meta = codex("session_meta", {"source": {"subagent": {"thread_spawn": {}}}})
    assert turns("codex", tmp_path, meta, message("user", "Say hi"))[0].sidechain


# What is not a person's word

SKILL_CALLED = (
    'The user explicitly invoked the "/recall" skill. Follow its instructions now.\n\n<skill-context name="recall">'
)
SKILL_ENDS = (
    "Base directory for this skill: /x\n"
    "Relative paths in this skill (e.g., scripts/, references/) are relative to this base directory."
)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Use tabs", "Use tabs"),
        ("<system-reminder>a</system-reminder>Use tabs<system-reminder>b</system-reminder>", "Use tabs"),
        ("Use <b>tabs</b>", "Use <b>tabs</b>"),
        ("<system-reminder>a<system-reminder>b</system-reminder>c</system-reminder> Use tabs", "Use tabs"),
        ("Use tabs <system-reminder>never closed", "Use tabs"),
        ("</system-reminder>Use tabs", "Use tabs"),
        ('<ide_opened_file path="x">y</ide_opened_file>Use tabs', "Use tabs"),
        ("# Context from my IDE setup:\n\n## Open tabs\n- x\n\n## My request for Codex:\nUse tabs", "Use tabs"),
        ("# Context from my IDE setup:\n\n## Open tabs\n- x", ""),
        (f"# Recall\n\nNever guess.\n\n{SKILL_ENDS}\n\nUse tabs", "Use tabs"),
        (f'# Recall\n\nNever guess.\n\n{SKILL_ENDS}\n\n"Use tabs"', "Use tabs"),
        (f"# Recall\n\nNever guess.\n\n{SKILL_ENDS}", ""),
        (f"{SKILL_CALLED}\n# Recall\n\nNever guess.\n\nARGUMENTS: Use tabs\n</skill-context>", "Use tabs"),
        (f"{SKILL_CALLED}\n# Recall\n\nNever guess.\n</skill-context>", ""),
        ("<orchestrator_constraint>never</orchestrator_constraint>\nUse tabs", "Use tabs"),
        ("# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>never</INSTRUCTIONS>\nUse tabs", "Use tabs"),
    ],
)
def test_wrappings_are_taken_off(text: str, left: str) -> None:
    assert typed_text(text) == left


def test_taking_off_takes_linear_time() -> None:
    assert typed_text("<system-reminder " * 200_000) != ""
    assert typed_text("<system-reminder>" * 200_000) == ""
    assert without_elements("</system-reminder>" * 200_000) == ""


def test_our_own_block_is_not_read_back(tmp_path: Path) -> None:
    records = (claude("user", f"{BLOCK}\nUse tabs"), use("a", "Bash"), result("a", f"{BLOCK}\nok"))
    found = turns("claude", tmp_path, *records)
    assert [(turn.text, turn.output) for turn in found] == [("Use tabs", ""), ("", "ok")]


def test_a_message_that_was_only_our_block_is_no_turn(tmp_path: Path) -> None:
    assert turns("claude", tmp_path, claude("user", BLOCK), claude("user", [])) == []


def test_reminders_in_an_output_are_not_part_of_it(tmp_path: Path) -> None:
    text = "42\n<system-reminder>The file was changed</system-reminder>"
    assert turns("claude", tmp_path, use("a", "Read"), result("a", text))[0].output == "42"


# Secrets and sizes


@pytest.mark.parametrize("size", [10, 11_990, 12_005, 17_990, 200_000])
def test_no_secret_leaves_the_reader_wherever_a_text_is_cut(tmp_path: Path, size: int) -> None:
    text = "word " * (size // 5) + f"token {TOKEN} " + "more " * 5_000
    records = (claude("user", text), use("a", "Bash", command=text, file_path=f"/x/{TOKEN}"), result("a", text))
    for turn in turns("claude", tmp_path, *records):
        shown = repr(turn)
        assert not any(TOKEN[at : at + 12] in shown for at in range(len(TOKEN) - 12))


def test_of_a_long_output_the_beginning_and_the_end_are_kept(tmp_path: Path) -> None:
    (turn,) = turns("claude", tmp_path, use("a", "Bash"), result("a", "first\n" + "x\n" * 50_000 + "last error"))
    assert turn.output.startswith("first") and turn.output.endswith("last error") and len(turn.output) < 9_000


def test_bad_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    bad = [
        b"{broken",
        b"\x00\x01\x02",
        b"[1, 2]",
        b'"text"',
        b"[" * 100_000,
        b'{"type": "user"',
        b'{"a": 1e999999}',
        b"9" * 5_000,
    ]
    tally = Tally()
    found = turns("claude", tmp_path, *bad, claude("user", "still read"), tally=tally)
    assert [turn.text for turn in found] == ["still read"]
    assert tally.skipped == {"not JSON": 4, "binary": 1, "not an object": 2} and tally.lines == 9


def test_a_line_that_is_too_long_is_skipped_and_counted(tmp_path: Path) -> None:
    tally = Tally()
    huge = claude("user", "x" * 5_000_000)
    found = turns("claude", tmp_path, claude("user", "before"), huge, claude("user", "after"), tally=tally)
    assert [turn.text for turn in found] == ["before", "after"]
    assert tally.skipped == {"too long": 1}


def test_of_a_file_that_is_too_large_the_last_part_is_read(tmp_path: Path) -> None:
    records = [claude("user", f"prompt number {number}") for number in range(1000)]
    found = turns("claude", tmp_path, *records, most_bytes=10_000)
    assert 10 < len(found) < 100
    assert [turn.text for turn in found] == [f"prompt number {number}" for number in range(1000 - len(found), 1000)]


def test_calls_that_wait_forever_are_bounded(tmp_path: Path) -> None:
    found = turns("claude", tmp_path, *(use(f"t{number}", "Bash", command="x") for number in range(1000)))
    assert [turn.id for turn in found] == [f"t{number}" for number in range(1000)]


@pytest.mark.skipif(sys.platform != "linux", reason="counts memory as Linux does")
def test_a_large_transcript_takes_constant_memory(tmp_path: Path) -> None:
    line = json.dumps(claude("user", "word " * 10_000)).encode() + b"\n"
    path = tmp_path / "large.jsonl"
    with path.open("wb") as file:
        for _ in range(600):  # 30 MB
            file.write(line)
    code = (
        "import resource, sys; from swarmlore.clients.transcripts import read_transcript as read\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "turns = read('claude', sys.argv[1]); next(turns); before = peak()\n"
        "print(sum(1 for _ in turns), peak() - before)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    count, grown_kb = map(int, done.stdout.split())
    assert count == 599 and grown_kb < 8_000


# Paths


def test_only_a_regular_file_of_ours_is_read(tmp_path: Path) -> None:
    real = Path(write(tmp_path, claude("user", "hello")))
    link = tmp_path / "link.jsonl"
    link.symlink_to(real)
    fifo = tmp_path / "fifo.jsonl"
    os.mkfifo(fifo)
    device = tmp_path / "device.jsonl"
    device.symlink_to("/dev/zero")
    folder = tmp_path / "folder.jsonl"
    folder.mkdir()
    other = tmp_path / "secret.txt"
    other.write_bytes(real.read_bytes())
    relative = os.path.relpath(real)
    for path in (link, fifo, device, folder, other, relative, "", "\0.jsonl", tmp_path / "none.jsonl", "/dev/zero"):
        tally = Tally()
        assert list(read_transcript("claude", str(path), tally=tally)) == []
        assert tally.refused, path
        assert context_used("claude", str(path)) is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs the right to give a file away")
def test_another_users_file_is_not_read(tmp_path: Path) -> None:
    path = write(tmp_path, claude("user", "hello"))
    os.chown(path, 12345, 12345)
    assert list(read_transcript("claude", path)) == []


def test_an_unknown_client_has_no_turns(tmp_path: Path) -> None:
    path = write(tmp_path, claude("user", "hello"))
    for client in ("", "..", "os", "turns", "Claude"):
        assert list(read_transcript(client, path)) == []
        assert context_used(client, path) is None
        assert find_transcript(client, "s", str(tmp_path)) == ""


def test_a_transcript_is_found_by_its_session(tmp_path: Path) -> None:
    mine = tmp_path / ".claude" / "projects" / "-home-dev-shop" / "0b-1.jsonl"
    rollout = tmp_path / ".codex" / "sessions" / "2026" / "11" / "15" / "rollout-2026-11-15T06-33-10-0c-2.jsonl"
    for path in (mine, rollout):
        path.parent.mkdir(parents=True)
        path.touch()
    assert find_transcript("claude", "0b-1", str(tmp_path)) == str(mine)
    assert find_transcript("codex", "0c-2", str(tmp_path)) == str(rollout)
    assert find_transcript("codex", "0c", str(tmp_path)) == ""
    for client in CLIENTS:
        for session in ("", "../x", "*", "a/b", "\0", "x" * 500, "é"):
            assert find_transcript(client, session, str(tmp_path)) == ""


def test_a_client_may_keep_its_files_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "other" / "projects" / "p" / "s1.jsonl"
    path.parent.mkdir(parents=True)
    path.touch()
    assert find_transcript("claude", "s1", "/nowhere", {"CLAUDE_CONFIG_DIR": str(tmp_path / "other")}) == str(path)


# Figures of the context


def spent(total: int, **more: Any) -> dict[str, Any]:
    record = claude("assistant", [{"type": "text", "text": "x"}], **more)
    record["message"]["usage"] = {
        "input_tokens": total - 30, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 10, "output_tokens": 10,
    }  # fmt: skip
    return record


def counted(total: int, window: int | None = 258_400) -> dict[str, Any]:
    info = {
        "last_token_usage": {"total_tokens": total},
        "total_token_usage": {"total_tokens": 9},
        "model_context_window": window,
    }
    return codex("event_msg", {"type": "token_count", "info": info})


COMPACTED = {"type": "system", "subtype": "compact_boundary", "compactMetadata": {"preTokens": 9, "postTokens": 2602}}
EMPTY = codex("event_msg", {"type": "token_count", "info": None})
FIGURES = {
    "the last answer counts": ("claude", [spent(100), spent(5_000)], (5_000, None)),
    "a sub-agent's does not": ("claude", [spent(100), spent(5_000, isSidechain=True)], (100, None)),
    "a compaction is newer": ("claude", [spent(5_000), COMPACTED], (2_602, None)),
    "an answer after it too": ("claude", [COMPACTED, spent(3_000)], (3_000, None)),
    "nobody said anything": ("claude", [claude("user", '"usage" is a word')], None),
    "the client's own count": ("codex", [counted(100), counted(90_020)], (90_020, 258_400)),
    "a count without figures": ("codex", [counted(100), EMPTY], (100, 258_400)),
    "no window": ("codex", [counted(100, None)], (100, None)),
    "nothing": ("codex", [message("user", "token_count")], None),
}  # fmt: skip


@pytest.mark.parametrize("name", FIGURES)
def test_the_tokens_in_the_context_are_known_from_the_end_of_the_file(tmp_path: Path, name: str) -> None:
    client, records, expected = FIGURES[name]
    assert context_used(client, write(tmp_path, *records)) == expected


@pytest.mark.parametrize("megabytes", [1, 3])
def test_the_figures_are_found_before_a_large_last_record(tmp_path: Path, megabytes: int) -> None:
    path = write(
        tmp_path, *[claude("user", "x" * 1000)] * 2000, spent(777), claude("user", "y" * megabytes * 1_000_000)
    )
    assert context_used("claude", path) == (777, None)


def test_the_figures_are_not_looked_for_in_the_whole_of_a_large_file(tmp_path: Path) -> None:
    path = write(tmp_path, spent(777), *[claude("user", "x" * 100_000)] * 60)
    assert context_used("claude", path) is None


# Real files, and what could become of them


def samples() -> list[tuple[str, Path]]:
    return [(client, path) for client in CLIENTS for path in sorted((SAMPLES / client).glob("*.jsonl"))]


def copied(client: str, path: Path, folder: Path) -> str:
    own = folder / path.name
    own.write_bytes(path.read_bytes())
    return str(own)


@pytest.mark.parametrize(("client", "path"), samples(), ids=lambda value: str(value)[-40:])
def test_real_transcripts_hold_what_was_said_and_nothing_that_was_injected(
    client: str, path: Path, tmp_path: Path
) -> None:
    tally = Tally()
    found = list(read_transcript(client, copied(client, path, tmp_path), tally=tally))
    told = [turn for turn in found if turn.role == "user"]
    assert told and all("USERPROMPT_MARK" in turn.text or turn.sidechain for turn in told)
    assert not any(
        mark in repr(found) for mark in ("INJECT_", "AGENTS_MD_MARK", "CLAUDE_MD_MARK", "SKILL_BODY", "MEMFOCUS")
    )
    assert any(turn.role == "assistant" for turn in found)
    assert all(turn.at > 1.7e9 and turn.id for turn in found)
    assert tally.skipped == {} and tally.lines


def test_the_tools_of_a_real_session_are_read_with_their_results(tmp_path: Path) -> None:
    path = SAMPLES / "claude" / "023bace4-2ce1-4056-865d-cab80f702e66.jsonl"
    tools = [turn for turn in read_transcript("claude", copied("claude", path, tmp_path)) if turn.role == "tool"]
    assert [(turn.tool_name, turn.failed) for turn in tools] == [
        ("Bash", False),
        ("Write", None),
        ("Read", True),
        ("Bash", False),
    ]
    assert tools[2].error.startswith("File does not exist.")


def test_the_figures_of_real_sessions_are_read(tmp_path: Path) -> None:
    found = {context_used(client, copied(client, path, tmp_path)) for client, path in samples()}
    assert found >= {(120, None), (2602, None), (120, 258_400), (120, 128_000), None}


def seeds() -> list[tuple[str, list[dict[str, Any]]]]:
    """One record of every kind that the readers know, and the real ones where they are."""
    by_hand: list[tuple[str, list[dict[str, Any]]]] = [
        (
            "claude",
            [
                *NOT_SAID_TO_CLAUDE.values(),
                use("a", "Bash", command="x"),
                result("a", "y", is_error=True),
                spent(9),
                COMPACTED,
            ],
        ),
        (
            "codex",
            [
                *NOT_SAID_TO_CODEX.values(),
                execute("c", "x"),
                *(printed("c", each[0]) for each in ENDINGS.values()),
                counted(9),
            ],
        ),
    ]
    real = [(client, [json.loads(line) for line in path.read_bytes().splitlines()]) for client, path in samples()]
    return by_hand + real


odd = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.just([]), st.just({}), st.just("\ud800"),
    st.lists(st.one_of(st.none(), st.text(max_size=5), st.just({"type": "text", "text": 3})), max_size=3),
)  # fmt: skip


def mutated(draw: st.DrawFn, value: Any, depth: int = 0) -> Any:
    """The value with something in it left out or in another type."""
    if draw(st.integers(0, 7)) == 0:
        return draw(odd)
    if isinstance(value, dict) and value and depth < 8:
        key = draw(st.sampled_from(sorted(value)))
        changed = dict(value)
        if draw(st.integers(0, 9)) == 0:
            del changed[key]
        else:
            changed[key] = mutated(draw, value[key], depth + 1)
        return changed
    if isinstance(value, list) and value and depth < 8:
        at = draw(st.integers(0, len(value) - 1))
        return [*value[:at], mutated(draw, value[at], depth + 1), *value[at + 1 :]]
    return value


@st.composite
def broken_files(draw: st.DrawFn) -> tuple[str, bytes]:
    client, records = draw(st.sampled_from(seeds()))
    chosen = draw(st.lists(st.sampled_from(records), min_size=1, max_size=8))
    data = b"\n".join(json.dumps(mutated(draw, record)).encode() for record in chosen)
    if draw(st.booleans()):
        at = draw(st.integers(0, len(data)))
        data = data[:at] + draw(st.binary(max_size=8)) + data[at + draw(st.integers(0, 4)) :]
    return client, data


@settings(max_examples=200)
@given(broken_files())
def test_no_file_makes_reading_fail(tmp_path_factory: pytest.TempPathFactory, broken: tuple[str, bytes]) -> None:
    client, data = broken
    path = tmp_path_factory.getbasetemp() / "broken.jsonl"
    path.write_bytes(data)
    for turn in read_transcript(client, str(path), meta=True):
        assert turn.role in ("user", "assistant", "tool")
        repr(turn).encode()
        assert turn.failed in (True, False, None)
    context_used(client, str(path))
    assert compacted_at(client, str(path)) >= 0


@settings(max_examples=200)
@given(st.binary(max_size=2_000))
def test_any_bytes_can_be_read(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.jsonl"
    path.write_bytes(data)
    for client in CLIENTS:
        assert list(read_transcript(client, str(path))) == []
