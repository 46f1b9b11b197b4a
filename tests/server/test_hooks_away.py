"""Hooks on a machine whose memory is a server's elsewhere: given context in time or nothing, and nothing is lost."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from command_line import Run
from hook_runs import IN_TIME, Hooks, payload
from mcp_lines import Lines
from serving import LESSON, Server
from swarmlore.clients.hook import spool
from swarmlore.clients.hook.home import outbox_dir, spool_dir
from swarmlore.server.client.outbox import send_waiting
from waiting import PATIENCE_S, wait_until

PROMPT = "record the snapshot tests of the login page anew"
CORRECTION = "no, don't use npm here, always use pnpm for installing packages"


def hooks_of(server: Server, tmp_path: Path, token: str = "", **env: str) -> Hooks:
    """The hooks of another machine: another home, which has never heard of the server's."""
    folder = tmp_path / "elsewhere" / "project"
    folder.mkdir(parents=True, exist_ok=True)
    address = {"SWARMLORE_URL": f"http://127.0.0.1:{server.port}", "SWARMLORE_TOKEN": token or server.token("bob")}
    return Hooks(tmp_path / "elsewhere" / "home", folder, HOME=str(tmp_path / "elsewhere"), **address, **env)


def waiting(hooks: Hooks) -> int:
    return spool.many(outbox_dir(str(hooks.home)))


def wait_until_sent(hooks: Hooks) -> None:
    wait_until(lambda: not spool.has_events(outbox_dir(str(hooks.home))), "all events are sent", hooks.problems)


def asked(server: Server, verb: str, token: str, **body: Any) -> Any:
    status, told = server.ask(f"/v1/{verb}", body, token)
    assert status == 200, told
    return told["result"]


def test_an_injected_lesson_reaches_a_worker_on_another_machine(any_server: Server, tmp_path: Path) -> None:
    lead, bob = any_server.token("lead", "lead"), any_server.token("bob")
    asked(any_server, "inject", lead, agent="bob", text=LESSON, category="best-practice")
    hooks = hooks_of(any_server, tmp_path, bob)
    context = hooks.context("UserPromptSubmit", payload("UserPromptSubmit", prompt=PROMPT))
    assert LESSON in context
    wait_until_sent(hooks)
    assert [receipt["session"] for receipt in asked(any_server, "receipts", bob)] == ["s1"]
    assert [session["id"] for session in asked(any_server, "sessions", bob)] == ["s1"]
    assert not (hooks.home / "lore.db").exists()
    assert not os.path.exists(spool_dir(str(hooks.home)))


def test_what_a_session_teaches_is_learned_by_the_server(server: Server, tmp_path: Path) -> None:
    bob = server.token("bob")
    hooks = hooks_of(server, tmp_path, bob)
    hooks.run("SessionStart", payload("SessionStart", source="startup"))
    hooks.run("UserPromptSubmit", payload("UserPromptSubmit", prompt="install the packages"))
    hooks.run("UserPromptSubmit", payload("UserPromptSubmit", prompt=CORRECTION))
    transcript = tmp_path / "elsewhere" / "t.jsonl"
    said = [("user", "install the packages"), ("assistant", "I will run npm install"), ("user", CORRECTION)]
    rows = [{"type": role, "sessionId": "s1", "message": {"role": role, "content": text}} for role, text in said]
    transcript.write_text("".join(json.dumps(row) + "\n" for row in rows))
    hooks.run("SessionEnd", payload("SessionEnd", reason="exit", transcript_path=str(transcript)))
    wait_until_sent(hooks)
    assert any("pnpm" in memory["text"] for memory in asked(server, "list", bob))
    session = asked(server, "sessions", bob)[0]
    assert session["ended_at"] is not None
    assert session["extra"]["prompts"] == 2
    assert str(tmp_path / "elsewhere") not in json.dumps(session)
    wait_until(lambda: not asked(server, "jobs", bob), "the worker has taken the session up")


def test_while_the_server_is_away_events_wait_and_then_count_once(server: Server, tmp_path: Path) -> None:
    bob = server.token("bob")
    hooks = hooks_of(server, tmp_path, bob)
    there = dict(hooks.env)
    hooks.env["SWARMLORE_URL"] = "http://127.0.0.1:1"
    for number in range(3):
        assert hooks.run("UserPromptSubmit", payload("UserPromptSubmit", prompt=f"{number}: {CORRECTION}")) == ""
    kept = kept_by(hooks)
    assert kept.count(b"\n") == 3
    assert sent(hooks, there) == 3
    again = Path(outbox_dir(str(hooks.home))) / "events.jsonl"
    again.write_bytes(kept)  # as if we had been killed before it was noted that they were sent
    assert sent(hooks, there) == 3
    assert waiting(hooks) == 0
    assert asked(server, "sessions", bob)[0]["extra"]["prompts"] == 3


def kept_by(hooks: Hooks) -> bytes:
    """What waits. The processes that hooks left may rename the file meanwhile."""
    while True:
        with contextlib.suppress(FileNotFoundError):
            return b"".join(Path(path).read_bytes() for path in spool.waiting_files(outbox_dir(str(hooks.home))))


def sent(hooks: Hooks, env: Mapping[str, str]) -> int:
    """How many events the server took, once the process that the last hook left has given up."""
    return wait_until(lambda: send_waiting(str(hooks.home), env, PATIENCE_S), "events are sent")


def test_a_hook_that_is_killed_right_after_its_event_has_not_lost_it(server: Server, tmp_path: Path) -> None:
    hooks = hooks_of(server, tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        hooks.env["SWARMLORE_URL"] = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        process = subprocess.Popen(
            hooks.command("claude", "UserPromptSubmit"), stdin=subprocess.PIPE, env=hooks.env, cwd=hooks.folder
        )
        assert process.stdin
        process.stdin.write(
            json.dumps({**payload("UserPromptSubmit", prompt=PROMPT), "cwd": str(hooks.folder)}).encode()
        )
        process.stdin.close()
        wait_until(lambda: waiting(hooks), "the event is written down", pause_s=0.005)
        process.send_signal(signal.SIGKILL)
        process.wait(120)
    assert waiting(hooks) == 1


@contextlib.contextmanager
def deaf_server(asked_for: list[bytes]) -> Iterator[str]:
    """Reads the beginning of each request and says nothing until the test is over."""
    listener, taken = socket.create_server(("127.0.0.1", 0)), []

    def take() -> None:
        with contextlib.suppress(OSError):
            while True:
                taken.append(listener.accept()[0])
                asked_for.append(taken[-1].recv(65_536).split(b"\r\n")[0])

    taking = threading.Thread(target=take)
    taking.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        for sock in (listener, *taken):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        taking.join()
        for sock in (listener, *taken):
            sock.close()


def test_a_server_that_never_answers_is_asked_by_one_prompt_and_not_by_the_next(server: Server, tmp_path: Path) -> None:
    hooks = hooks_of(server, tmp_path)
    hooks.limits = IN_TIME
    asked_for: list[bytes] = []
    with deaf_server(asked_for) as url:
        hooks.env["SWARMLORE_URL"] = url
        assert hooks.run("UserPromptSubmit", payload("UserPromptSubmit", prompt=PROMPT)) == ""
        assert hooks.run("UserPromptSubmit", payload("UserPromptSubmit", prompt="go on")) == ""
    assert [line for line in asked_for if b"/v1/hooks/answer" in line] == [b"POST /v1/hooks/answer HTTP/1.1"]
    assert waiting(hooks) == 2


def test_what_waits_and_what_went_wrong_is_told_by_doctor(
    server: Server, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = hooks_of(server, tmp_path)
    monkeypatch.setenv("SWARMLORE_HOME", str(hooks.home))
    monkeypatch.setenv("SWARMLORE_URL", hooks.env["SWARMLORE_URL"])
    monkeypatch.setenv("SWARMLORE_TOKEN", "swl_0000000000_" + "x" * 43)
    hooks.env["SWARMLORE_TOKEN"] = os.environ["SWARMLORE_TOKEN"]
    assert hooks.run("UserPromptSubmit", payload("UserPromptSubmit", prompt=PROMPT)) == ""
    checks = {check["name"]: check for check in run("doctor", "--json").json["checks"]}
    assert checks["outbox"]["message"].startswith("1 event waits to be sent")
    assert "token" in checks["hooks"]["message"]
    monkeypatch.setenv("SWARMLORE_TOKEN", server.token("bob"))
    told = run("status", "--json").json["server"]  # a command sends what waits
    assert told["waiting_bytes"] == 0


def test_no_more_is_kept_than_there_is_room_for(
    server: Server, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = hooks_of(server, tmp_path)
    folder = Path(outbox_dir(str(hooks.home)))
    folder.mkdir(parents=True)
    with (folder / "events.jsonl").open("wb") as file:
        file.truncate(64_000_001)
    hooks.env["SWARMLORE_URL"] = "http://127.0.0.1:1"
    assert hooks.run("Stop", payload("Stop")) == ""
    assert (folder / "events.jsonl").stat().st_size == 64_000_001
    assert "too much waits" in (folder / "problems.jsonl").read_text()


@pytest.mark.parametrize(
    "event",
    [
        {},
        [],
        "x",
        {"id": "zz"},
        {"id": "0" * 32},
        {"id": "0" * 32, "at": "x", "client": "claude", "name": "n"},
        {"id": "0" * 32, "at": 1e300, "client": "claude", "name": "n", "moment": "nothing"},
    ],
)
def test_what_is_no_event_is_counted_and_changes_nothing(server: Server, event: Any) -> None:
    token = server.token("bob")
    status, told = server.ask("/v1/hooks/events", {"events": [event]}, token)
    assert (status, told["result"]) == (200, {"new": 0, "known": 0, "bad": 1})
    assert server.ask("/v1/hooks/answer", {"event": event}, token)[0] in (200, 400)
    assert asked(server, "sessions", token) == []


def test_no_path_that_another_machine_names_is_read_or_kept(server: Server, tmp_path: Path) -> None:
    """A transcript, a project and files that are there on the server's machine, but not the sender's to name."""
    token, secret = server.token("bob"), tmp_path / "secret.jsonl"
    row = {"type": "user", "sessionId": "s1", "message": {"role": "user", "content": CORRECTION}}
    secret.write_text(json.dumps(row) + "\n")
    event = {
        "id": "ab" * 16,
        "at": 1e300,
        "client": "claude",
        "name": "SessionEnd",
        "moment": "session-end",
        "session": "s1",
        "cwd": str(tmp_path),
        "transcript": str(secret),
        "project": {"id": "git.example/beta", "root": str(tmp_path), "names": [], "found_by": "git"},
        "files": ["../../etc/passwd", "/etc/passwd", "src/a.py"],
        "extra": {"env": {"SWARMLORE_AGENT": "alice", "SWARMLORE_ROLE": "lead"}},
    }
    assert server.ask("/v1/hooks/events", {"events": [event, event]}, token)[1]["result"] == {
        "new": 1,
        "known": 1,
        "bad": 0,
    }
    sessions = json.dumps(asked(server, "sessions", token))
    assert str(tmp_path / "secret") not in sessions
    assert "passwd" not in sessions
    assert "src/a.py" in sessions
    assert asked(server, "jobs", token) == []
    assert asked(server, "list", token) == []
    assert asked(server, "sessions", server.token("alice")) == []


def test_secrets_in_what_another_machine_reports_are_not_kept(server: Server) -> None:
    token = server.token("bob")
    event = {
        "id": "cd" * 16,
        "at": time.time(),
        "client": "claude",
        "name": "UserPromptSubmit",
        "moment": "prompt",
        "session": "s1",
        "prompt": "try it, the password is hunter2hunter2",
    }
    assert server.ask("/v1/hooks/events", {"events": [event]}, token)[1]["result"]["new"] == 1
    assert "hunter2hunter2" not in json.dumps(asked(server, "sessions", token))


def test_a_note_that_an_agent_writes_for_all_is_found_by_others(server: Server, tmp_path: Path) -> None:
    hooks = hooks_of(server, tmp_path)
    note = hooks.folder / "shared" / "memory" / "deploy.md"
    note.parent.mkdir(parents=True)
    note.write_text("# Deploys\n\nDeploys go through make ship, never by hand.\n")
    facts = {"tool_name": "Write", "tool_input": {"file_path": str(note)}, "tool_response": {"success": True}}
    hooks.run("PostToolUse", payload("PostToolUse", **facts))
    assert send_waiting(str(hooks.home), hooks.env, 20.0) == 1
    assert "make ship" in json.dumps(asked(server, "recall", server.token("carol"), query="how are deploys done"))


def test_what_waits_is_sent_by_the_proxy_of_a_client_that_stays(server: Server, tmp_path: Path) -> None:
    hooks = hooks_of(server, tmp_path)
    hooks.run("Stop", payload("Stop"))
    assert waiting(hooks) == 1
    address = {name: hooks.env[name] for name in ("SWARMLORE_URL", "SWARMLORE_TOKEN")}
    with Lines(hooks.home, hooks.folder, **address) as client:
        client.begin()
        wait_until_sent(hooks)


def test_an_event_that_no_server_takes_keeps_nobody_waiting(server: Server, tmp_path: Path) -> None:
    hooks = hooks_of(server, tmp_path)
    deep: Any = "x"
    for _ in range(80):
        deep = [deep]
    event = {"id": "ef" * 16, "at": time.time(), "client": "claude", "name": "Stop", "moment": "turn-end"}
    folder = outbox_dir(str(hooks.home))
    spool.append(folder, {**event, "session": "s1", "extra": {"find": deep}})
    spool.append(folder, {**event, "id": "fe" * 16, "session": "s2"})
    assert send_waiting(str(hooks.home), hooks.env, 20.0) == 2
    assert waiting(hooks) == 0
    assert [session["id"] for session in asked(server, "sessions", server.token("bob"))] == ["s2"]
    assert "not taken by the server" in json.dumps(spool.problems(folder))
