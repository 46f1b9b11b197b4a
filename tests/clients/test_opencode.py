"""OpenCode: what its plugin tells becomes the same events as elsewhere, over one process that ends with its client."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_opencode_transcripts import Database

from conftest import DATA
from hook_runs import Hooks, connections
from swarmlore.capture.answering import answer
from swarmlore.capture.pipeline import SpoolReader
from swarmlore.clients.hook import event as e
from swarmlore.clients.hook.event_from_payload import make_event, outcome_of
from swarmlore.clients.hook.home import socket_path, spool_dir
from swarmlore.clients.opencode import payload
from swarmlore.lore import Lore
from waiting import PATIENCE_S

SESSION = "ses_e22167aa3ffeEOGAMKbI84I1AV"
CHILD = "ses_e2212ab87ffeYvbigyy8cnsVxo"
TOKEN = "ghp_" + "Zx81kLmQ0pTr5VbYn3Wd7Jf2Hs9Gc4Ea6Uio"
PAYLOADS = DATA / "clients" / "payloads" / "opencode"
LESSON = "Refunds are booked in db/ledger, never in the orders table"


def make(name: str, data: dict[str, Any], at: float = 1000.0) -> e.Event:
    """An event in a folder that is not there: nothing of the machine is in it."""
    return make_event(payload, "opencode", name, {"directory": "/nowhere", **data}, at)


def prompted(text: str, session: str = SESSION, **more: Any) -> dict[str, Any]:
    parts = [{"type": "text", "text": text}]
    return {"input": {"sessionID": session}, "output": {"message": {"id": f"msg_{text[:8]}"}, "parts": parts}, **more}


def used(tool: str, args: dict[str, Any], call: str = "call_1", **told: Any) -> dict[str, Any]:
    return {"input": {"tool": tool, "sessionID": SESSION, "callID": call, "args": args}, "output": told}


@pytest.fixture
def hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hooks:
    for name in ("SWARMLORE_AGENT", "SWARMLORE_PROJECT", "SWARMLORE_ROLE", "SWARMLORE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SWARMLORE_EMBEDDER_KIND", "none")
    folder, data = tmp_path / "project", tmp_path / "data" / "opencode"
    folder.mkdir()
    data.mkdir(parents=True)
    Database(data)
    return Hooks(tmp_path / "home", folder, XDG_DATA_HOME=str(data.parent))


# --- events


@pytest.mark.parametrize(
    ("name", "data", "moment"),
    [
        ("session.start", {"input": {"sessionID": SESSION}, "source": "startup"}, e.SESSION_START),
        ("chat.message", prompted("Add a test"), e.PROMPT),
        ("chat.message", prompted(""), e.OTHER),
        ("chat.message", prompted("Add a test", CHILD, parent=SESSION, agent="general"), e.AGENT_START),
        ("tool.execute.before", used("read", {"filePath": "a.py"}), e.BEFORE_TOOL),
        ("tool.execute.after", used("bash", {"command": "ls"}, output="a", metadata={"exit": 0}), e.AFTER_TOOL),
        ("tool.execute.after", used("bash", {"command": "ls"}, output="a", metadata={"exit": 2}), e.TOOL_FAILED),
        ("tool.execute.after", used("x_y", {}, content=[{"type": "text", "text": "no"}], isError=True), e.TOOL_FAILED),
        ("tool.execute.after", used("x_y", {}, content=[{"type": "text", "text": "yes"}], isError=False), e.AFTER_TOOL),
        ("tool.failed", used("read", {"filePath": "a.py"}, error="File not found"), e.TOOL_FAILED),
        ("session.idle", {"input": {"sessionID": SESSION}, "said": "Done."}, e.TURN_END),
        ("session.idle", {"input": {"sessionID": CHILD}, "parent": SESSION, "said": "Done."}, e.AGENT_STOP),
        ("experimental.session.compacting", {"input": {"sessionID": SESSION}}, e.BEFORE_COMPACTION),
        ("session.compacted", {"input": {"sessionID": SESSION}}, e.COMPACTED),
        ("session.deleted", {"input": {"sessionID": SESSION}}, e.SESSION_END),
        ("session.deleted", {"input": {"sessionID": CHILD}, "parent": SESSION}, e.OTHER),
        ("dispose", {"input": {"sessionID": SESSION}}, e.SESSION_END),
        ("chat.params", {"input": {"sessionID": SESSION}}, e.OTHER),
    ],
)
def test_each_hook_is_a_moment(name: str, data: dict[str, Any], moment: str) -> None:
    event = make(name, data)
    assert (event.moment, event.session) == (moment, SESSION)
    assert e.from_plain(json.loads(json.dumps(e.to_plain(event)))) == event


@pytest.mark.parametrize(
    ("typed", "prompt"),
    [
        ('"Use pnpm here"', "Use pnpm here"),
        ('"Say \\"no\\" to npm"', 'Say "no" to npm'),
        ('"one" and "two"', '"one" and "two"'),
        ("plain", "plain"),
        ('"', '"'),
    ],
)
def test_the_quotes_of_its_command_line_are_not_part_of_a_prompt(typed: str, prompt: str) -> None:
    assert make("chat.message", prompted(typed)).prompt == prompt


def test_what_no_person_wrote_is_no_prompt() -> None:
    data = prompted("Add a test")
    data["output"]["parts"].append({"type": "text", "text": "Called the Read tool", "synthetic": True})
    assert make("chat.message", data).prompt == "Add a test"


@pytest.mark.parametrize(
    ("tool", "args", "kind", "files", "change"),
    [
        ("read", {"filePath": "src/a.py"}, e.READ, ["src/a.py"], ""),
        ("edit", {"filePath": "src/a.py", "oldString": "x", "newString": "y = 1"}, e.WRITE, ["src/a.py"], "y = 1"),
        ("write", {"filePath": "/abs/a.py", "content": "z"}, e.WRITE, ["/abs/a.py"], "z"),
        ("apply_patch", {"patchText": "*** Update File: b.py\n+new\n-old"}, e.WRITE, ["b.py"], "new"),
        ("bash", {"command": "cat src/a.py"}, e.SHELL, [], ""),
        ("swarmlore_recall", {"query": "x"}, "other", [], ""),
    ],
)
def test_files_and_changes_of_a_tool(
    tool: str, args: dict[str, Any], kind: str, files: list[str], change: str, tmp_path: Path
) -> None:
    event = make("tool.execute.before", {**used(tool, args), "directory": str(tmp_path)})
    assert (event.tool, event.change) == (kind, change)
    assert list(event.files) == [os.path.join(tmp_path, name) for name in files]


def test_a_sub_agent_acts_in_the_session_of_its_parent() -> None:
    event = make("chat.message", prompted("SUBTASK: sort it", CHILD, parent=SESSION, agent="general"))
    assert (event.session, event.agent, event.task, event.prompt) == (SESSION, CHILD, "SUBTASK: sort it", "")
    assert e.actor(event) == "opencode/general"


def test_what_is_told_twice_has_one_id_and_another_call_another() -> None:
    first = make("tool.execute.after", used("bash", {"command": "ls"}, output="a"), 1.0)
    assert make("tool.execute.after", used("bash", {"command": "ls"}, output="a"), 2.0).id == first.id
    assert make("tool.execute.after", used("bash", {"command": "ls"}, "call_2", output="a"), 1.0).id != first.id


def test_no_secret_is_in_an_event() -> None:
    told = used("swarm_complete", {"summary": f"used {TOKEN}", "evaluation": TOKEN}, output=f"key {TOKEN}")
    asked = used("semantic-memory_find", {"query": f"what is {TOKEN}", "entities": [TOKEN]})
    for event in (
        make("chat.message", prompted(f"log in with {TOKEN}")),
        make("tool.execute.after", told),
        make("tool.execute.before", asked),
        make("session.idle", {"input": {"sessionID": SESSION}, "said": f"I used {TOKEN}"}),
    ):
        assert TOKEN not in json.dumps(e.to_plain(event))


@pytest.mark.parametrize("path", sorted(PAYLOADS.glob("*.json")), ids=lambda path: path.name)
def test_a_real_payload_becomes_an_event(path: Path) -> None:
    name = path.name.removesuffix(".json").removesuffix(".compact").removeprefix("event.")
    data = json.loads(path.read_text())
    event = make({"session.compacting": "experimental.session.compacting"}.get(name, name), data)
    told = data["input"] if isinstance(data["input"], dict) else {}
    known = told.get("sessionID", "")
    assert event.session == (known if isinstance(known, str) else "")
    if name == "chat.message":
        assert "USERPROMPT_MARK" in event.prompt
        assert not event.prompt.startswith('"')
    if name.startswith("tool.execute"):
        assert event.tool_name == told["tool"]
    assert e.from_plain(json.loads(json.dumps(e.to_plain(event)))) == event


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
INNER = ("sessionID", "tool", "callID", "args", "output", "content", "isError", "metadata", "parts", "message", "error")
OUTER = ("input", "output", "directory", "parent", "agent", "said", "source", "context", "mark")
TOOLS = ("bash", "read", "apply_patch", "task", "swarm_complete", "semantic-memory_find")


@given(
    st.sampled_from([*payload._MOMENTS, "nonsense"]),
    st.dictionaries(
        st.sampled_from(OUTER),
        VALUES | st.dictionaries(st.sampled_from(INNER), VALUES | st.sampled_from(TOOLS), max_size=6),
    ),
)
def test_any_object_is_an_event_of_the_right_types(name: str, data: dict[str, Any]) -> None:
    plain = json.loads(json.dumps(e.to_plain(make(name, data))))
    again = e.from_plain(plain)
    assert again is not None
    assert json.loads(json.dumps(e.to_plain(again))) == plain
    assert len(json.dumps(plain)) < 200_000


# --- how a task ended


def test_a_finished_task_is_told_whole() -> None:
    args = {
        "bead_id": "cell-abc123",
        "agent_name": "BlueLake",
        "summary": "OAuth login flow implemented with JWT",
        "evaluation": "Build initially failed with 2 TS errors.",
        "files_touched": ["src/auth/service.ts"],
        "error_count": 2,
        "retry_count": 0,
        "duration_ms": 180_000,
    }
    event = make("tool.execute.after", used("swarm_swarm_complete", args, output="ok"))
    assert event.moment == e.AFTER_TOOL
    assert event.extra["outcome"] == {**args, "success": True}


@pytest.mark.parametrize(
    ("args", "kept"),
    [
        ({}, {}),
        ({"success": False, "error_count": -1, "retry_count": True, "duration_ms": 1.5},
         {"success": False, "duration_ms": 1.5}),
        ({"summary": 3, "files_touched": "a.py", "success": "yes"}, {"success": True}),
        ({"files_touched": ["a.py", 3, "", "b\0"], "criteria": ["type_safe"]},
         {"files_touched": ["a.py"], "criteria": ["type_safe"]}),
    ],
)  # fmt: skip
def test_nonsense_in_a_report_is_left_out(args: dict[str, Any], kept: dict[str, Any]) -> None:
    assert outcome_of("swarm_record_outcome", args) == {"outcome": kept}


def test_other_tools_report_nothing() -> None:
    assert outcome_of("swarm_completed_list", {"summary": "x"}) == {}
    assert "outcome" not in make("tool.execute.after", used("bash", {"summary": "x"}, output="ok")).extra


# --- answers


@pytest.fixture
def lore(hooks: Hooks) -> Iterator[Lore]:
    with Lore.open(str(hooks.home), cwd=str(hooks.folder), client="opencode", env={}) as opened:
        opened.remember(LESSON, kind="correction")
        yield opened


def test_a_question_to_the_older_memory_is_answered_with_a_receipt(lore: Lore) -> None:
    asked = make("tool.execute.before", used("semantic-memory_find", {"query": "where are refunds booked"}))
    text = answer(lore, asked, "keyword")
    assert LESSON in text
    receipt = lore.receipts(SESSION)[0]
    assert (receipt.trigger, [item.handle for item in receipt.shown]) == ("redirect", [lore.list()[0].handle])


@pytest.mark.parametrize("args", [{}, {"query": ""}, {"query": 7}, {"query": "the weather in Lisbon tomorrow"}])
def test_where_nothing_is_known_or_asked_the_answer_is_empty(args: dict[str, Any], lore: Lore) -> None:
    assert answer(lore, make("tool.execute.before", used("semantic-memory_find", args)), "keyword") == ""


def test_asking_twice_is_answered_twice(lore: Lore) -> None:
    """Somebody who asks wants to know, whether it was shown before or not."""
    for call in ("call_1", "call_2"):
        asked = make("tool.execute.before", used("memory-lane_find", {"query": "where are refunds booked"}, call))
        assert LESSON in answer(lore, asked, "keyword")


@pytest.mark.parametrize(("used_up", "given"), [(10, True), (97, False)])
def test_the_less_room_the_client_reports_the_less_is_given(lore: Lore, used_up: int, given: bool) -> None:
    data = prompted("Where are refunds booked, in the ledger?", context={"used": used_up, "fits": 100})
    assert (LESSON in answer(lore, make("chat.message", data), "keyword")) is given


def test_a_sub_agent_is_given_what_fits_its_own_task(lore: Lore) -> None:
    task = prompted("Write down where refunds are booked in the ledger", CHILD, parent=SESSION, agent="general")
    assert LESSON in answer(lore, make("chat.message", task), "keyword")
    assert [receipt.session for receipt in lore.receipts(f"{SESSION}/{CHILD}")] == [f"{SESSION}/{CHILD}"]


# --- the process


class Lines:
    """The process behind a plugin, over real pipes."""

    def __init__(self, hooks: Hooks) -> None:
        self.hooks = hooks
        command = [sys.executable, "-m", "swarmlore", "hook", "opencode", "--lines", "--home", str(hooks.home)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=hooks.env
        )
        self._number = 0

    def send(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, event: str, **data: Any) -> str:
        assert self.process.stdout
        self._number += 1
        line = {"id": self._number, "event": event, "payload": {"directory": str(self.hooks.folder), **data}}
        self.send(json.dumps(line).encode())
        told = json.loads(self.process.stdout.readline())
        assert told["id"] == self._number
        assert set(told) <= {"id", "text"}
        return str(told.get("text", ""))

    def end(self) -> int:
        _, err = self.process.communicate(timeout=120)
        assert err == b""
        return self.process.returncode


@pytest.fixture
def lines(hooks: Hooks) -> Iterator[Lines]:
    made = Lines(hooks)
    yield made
    if made.process.poll() is None:
        made.process.kill()
    made.process.wait(120)
    for stream in (made.process.stdin, made.process.stdout, made.process.stderr):
        with contextlib.suppress(OSError):
            stream.close()  # type: ignore[union-attr]  # all three are pipes


def session_in(hooks: Hooks, session: str = SESSION) -> Any:
    with Lore.open(str(hooks.home), cwd=str(hooks.folder), client="opencode", env={}) as opened:
        SpoolReader(opened).drain()
        hooks.wait_until_digested()  # maybe by the process that a hook left behind
        return opened.store.session(opened.caller, session)


def test_each_line_is_answered_when_its_event_is_safe(lines: Lines, hooks: Hooks) -> None:
    lines.ask("session.start", input={"sessionID": SESSION}, source="startup")
    lines.ask("chat.message", **prompted(f"No, {LESSON[0].lower()}{LESSON[1:]}"))
    lines.ask("tool.execute.after", **used("bash", {"command": "false"}, output="no", metadata={"exit": 1}))
    hooks.wait_until_digested()
    other = "ses_0other0000000000000000000"
    told = lines.ask("chat.message", **prompted("Where are refunds booked, in the ledger?", other))
    assert "db/ledger" in told
    assert lines.end() == 0
    assert {name: session_in(hooks).extra.get(name) for name in ("prompts", "errors")} == {"prompts": 1, "errors": 1}
    assert hooks.problems() == []


def test_the_end_of_the_client_is_the_end_of_its_sessions(lines: Lines, hooks: Hooks) -> None:
    for session in (SESSION, "ses_0other0000000000000000000"):
        lines.ask("chat.message", **prompted("Add a test", session))
    assert lines.end() == 0
    assert session_in(hooks).ended_at is not None
    assert session_in(hooks, "ses_0other0000000000000000000").ended_at is not None


def test_lines_that_were_on_their_way_when_the_client_died_are_counted(lines: Lines, hooks: Hooks) -> None:
    """Nobody reads the answers any more."""
    assert lines.process.stdout
    lines.process.stdout.close()
    for number in range(20):
        call = {**used("bash", {"command": "ls"}, f"call_{number}", output="a"), "directory": str(hooks.folder)}
        lines.send(json.dumps({"id": number, "event": "tool.execute.after", "payload": call}).encode())
    assert lines.process.stdin
    lines.process.stdin.close()
    assert lines.process.wait(120) == 0
    assert session_in(hooks).extra["tool_calls"] == 20


@pytest.mark.parametrize(
    "line",
    [b"nonsense", b"[1]", b'{"event": 3, "payload": []}', b"\xff\xfe", b"{" * 5000, b'{"id": true}', b"x" * 5_000_000],
    ids=["text", "list", "types", "bytes", "deep", "empty", "long"],
)
def test_a_line_that_is_none_is_noted_and_the_next_one_is_served(line: bytes, lines: Lines, hooks: Hooks) -> None:
    lines.send(line)
    assert lines.ask("chat.message", **prompted("Add a test")) == ""
    assert lines.end() == 0
    assert session_in(hooks).extra["prompts"] == 1


def test_a_signal_for_the_client_is_not_for_its_process(lines: Lines, hooks: Hooks) -> None:
    lines.ask("chat.message", **prompted("Add a test"))
    for number in (signal.SIGINT, signal.SIGHUP):
        lines.process.send_signal(number)
    lines.ask("tool.execute.after", **used("bash", {"command": "ls"}, output="a"))
    assert lines.end() == 0
    assert session_in(hooks).extra["tool_calls"] == 1


def test_a_process_that_cannot_go_on_ends_itself_in_time(lines: Lines, hooks: Hooks) -> None:
    lines.ask("chat.message", **prompted("Add a test"))
    hooks.wait_until_digested()
    spool = Path(spool_dir(str(hooks.home)))
    with (spool / "events.jsonl").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # somebody keeps the spool for ever
        lines.send(
            json.dumps({"id": 9, "event": "tool.execute.after", "payload": used("bash", {}, output="")}).encode()
        )
        assert lines.process.wait(PATIENCE_S) == -signal.SIGALRM  # while the spool is still kept


def test_a_warm_process_that_hangs_is_not_asked_each_time(lines: Lines, hooks: Hooks) -> None:
    """Else twenty commands would keep the next prompt waiting for eight seconds."""
    hooks.home.mkdir(exist_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(socket_path(str(hooks.home)))
        listener.listen(64)
        for number in range(20):
            lines.ask("tool.execute.after", **used("bash", {"command": "ls"}, f"call_{number}", output="a"))
        assert connections(listener) <= 3  # each is waited for; after ten seconds it is asked again
        assert lines.end() == 0
    os.unlink(socket_path(str(hooks.home)))
    assert session_in(hooks).extra["tool_calls"] == 20


def test_who_takes_the_place_of_another_process_leaves_word(lines: Lines, hooks: Hooks) -> None:
    lines.ask("restarted", why="SIGKILL; rm -rf")
    assert lines.end() == 0
    assert [problem["what"] for problem in hooks.problems()] == ["the process before ended: SIGKILLrm-rf"]


def test_a_line_that_is_too_long_is_confirmed_all_the_same(lines: Lines, hooks: Hooks) -> None:
    assert lines.process.stdout
    lines.send(b'{"id":7,"event":"tool.execute.after","payload":{"output":"' + b"x" * 5_000_000 + b'"}}')
    assert json.loads(lines.process.stdout.readline()) == {"id": 7}
    assert lines.ask("chat.message", **prompted("Add a test")) == ""
    assert lines.end() == 0
    assert [problem["what"] for problem in hooks.problems()] == ["the line was too long"]


def test_the_sessions_of_the_process_before_end_with_the_client(lines: Lines, hooks: Hooks) -> None:
    lines.ask("chat.message", **prompted("Add a test", "ses_0other0000000000000000000"))
    lines.ask("restarted", why="SIGKILL", lost=2, sessions=[SESSION, 7, None])
    assert lines.end() == 0
    assert session_in(hooks).ended_at is not None
    assert [problem["what"] for problem in hooks.problems()] == [
        "the process before ended: SIGKILL; 2 events were lost"
    ]


def test_a_question_whether_somebody_is_there_is_no_event(lines: Lines, hooks: Hooks) -> None:
    assert lines.ask("hello") == ""
    assert lines.end() == 0
    assert hooks.spooled() == []


def test_an_unknown_client_has_no_lines(hooks: Hooks) -> None:
    command = [sys.executable, "-m", "swarmlore", "hook", "nobody", "--lines", "--home", str(hooks.home)]
    done = subprocess.run(command, input=b"", capture_output=True, env=hooks.env, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert "unknown" in str(hooks.problems()[0]["what"])


def mutated(data: Any, rng: random.Random) -> Any:
    """The same with one thing in it wrong: gone, of another type, far too long, or full of odd characters."""
    odd = (None, 7, -1.5, True, [], {}, "x" * 50_000, "\u202e\0\ud800", {"a": [{"b": None}] * 20})
    if not isinstance(data, dict) or not data or rng.random() < 0.2:
        return rng.choice(odd)
    key = rng.choice(list(data))
    return {**data, key: mutated(data[key], rng)}


def test_one_process_takes_every_payload_and_its_mutations(lines: Lines, hooks: Hooks) -> None:
    rng = random.Random(7)
    for path in sorted(PAYLOADS.glob("*.json")):
        name = path.name.removesuffix(".json").removesuffix(".compact").removeprefix("event.")
        data = json.loads(path.read_text())
        for one in (data, *(mutated(data, rng) for _ in range(10))):
            lines.ask(name, **(one if isinstance(one, dict) else {"input": one}))
    assert lines.end() == 0
    assert hooks.problems() == []
    assert session_in(hooks).extra["prompts"] >= 2
