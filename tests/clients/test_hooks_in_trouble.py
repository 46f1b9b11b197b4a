"""Hooks where everything around them goes wrong: a store that is locked, full or closed, events that nobody can read."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from databases import LOGIN, server
from hook_runs import IN_TIME, USUAL, Hooks, payload
from swarmlore.capture.pipeline import SpoolReader
from swarmlore.clients import client
from swarmlore.clients.hook import event as e
from swarmlore.clients.hook import socket, spool
from swarmlore.clients.hook.event_from_payload import make_event
from swarmlore.clients.hook.home import socket_path, spool_dir
from swarmlore.errors import StoreBusy
from swarmlore.lore import Lore
from swarmlore.lore.opening import _Guard
from swarmlore.retrieval.context import DeadlinePassed
from swarmlore.server import daemon as shared
from swarmlore.server.daemon import DaemonMemory
from waiting import PATIENCE_S, wait_until

LESSON = "Integration tests need the redis container: run make up first"
CUE = "the integration tests fail without the redis container"

HOLD_LOCK = """
import sys, time
from swarmlore import Lore
lore = Lore.open(sys.argv[1])
with lore.store.engine.writing():
    print("held", flush=True)
    time.sleep(1000)
"""
HOLD_FILE = """
import sys, time, apsw
db = apsw.Connection(sys.argv[1] + "/lore.db")
db.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
time.sleep(1000)
"""
FEW_FILES = """
import os, resource, sys
from swarmlore.server.daemon_lock import acquire
from swarmlore.server.daemon import DaemonServer
place = acquire(sys.argv[1])
DaemonServer(place, lambda: None).start()
resource.setrlimit(resource.RLIMIT_NOFILE, (os.dup(0) + 3, 4096))
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hooks:
    for name in ("SWARMLORE_AGENT", "SWARMLORE_PROJECT", "SWARMLORE_ROLE", "SWARMLORE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SWARMLORE_EMBEDDER_KIND", "none")
    folder = tmp_path / "project"
    folder.mkdir()
    return Hooks(tmp_path / "home", folder)


@contextmanager
def other_process(program: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a program, from its first line on."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", program, *words], stdin=pipe, stdout=pipe) as process:
        assert process.stdout
        assert process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


def a_tool_use(hooks: Hooks, number: int, at: float | None = None, **facts: Any) -> dict[str, Any]:
    module = client("claude")
    assert module is not None
    data = payload("PostToolUse", tool_name="Bash", tool_use_id=f"t{number}", tool_input={"command": "ls"})
    moment = time.time() if at is None else at
    event = make_event(module, "claude", "PostToolUse", {**data, "cwd": str(hooks.folder)}, moment)
    return {**e.to_plain(event), **facts}


def spool_up(hooks: Hooks, *records: dict[str, Any]) -> str:
    folder = spool_dir(str(hooks.home))
    for record in records:
        spool.append(folder, record)
    return folder


def remember(hooks: Hooks, text: str = LESSON) -> None:
    with Lore.open(hooks.home, cwd=hooks.folder) as lore:
        lore.remember(text)


def tool_calls(hooks: Hooks) -> int:
    with Lore.open(hooks.home, cwd=hooks.folder, env={**hooks.env, "SWARMLORE_ROLE": "lead"}) as lore:
        return sum(session.extra.get("tool_calls", 0) for session in lore.sessions())


# --- a store that cannot be written


@pytest.mark.parametrize("program", [HOLD_LOCK, HOLD_FILE], ids=["by one of ours", "by a stranger"])
def test_a_locked_store_is_still_read_in_time(hooks: Hooks, program: str) -> None:
    remember(hooks)
    folder = spool_up(hooks, a_tool_use(hooks, 1))
    hooks.limits = IN_TIME
    with other_process(program, str(hooks.home)):
        assert LESSON in hooks.context("SessionStart", payload("SessionStart", source="startup"))
        assert spool.has_events(folder)


def test_a_command_goes_on_where_events_cannot_be_taken_in(hooks: Hooks) -> None:
    remember(hooks)
    folder = spool_up(hooks, a_tool_use(hooks, 1))
    command = [sys.executable, "-m", "swarmlore", "list", "--home", str(hooks.home)]
    with other_process(HOLD_LOCK, str(hooks.home)):
        done = subprocess.run(command, env=hooks.env, cwd=hooks.folder, capture_output=True, text=True, check=True)
        assert spool.has_events(folder)
    assert LESSON in done.stdout
    assert "could not be taken in yet" in done.stderr


def test_a_spool_that_cannot_be_written_does_not_hide_what_is_known(hooks: Hooks) -> None:
    remember(hooks)
    Path(spool_dir(str(hooks.home))).write_text("no folder")
    assert LESSON in hooks.context("SessionStart", payload("SessionStart", source="startup"))
    hooks.run("PostToolUse", payload("PostToolUse", tool_name="Bash", tool_use_id="t"))


def test_less_patience_holds_for_one_thread_and_for_a_while(hooks: Hooks) -> None:
    remember(hooks)
    env = {**hooks.env, "SWARMLORE_STORE_LOCK_TIMEOUT_S": "1000"}  # longer than a test may take
    with other_process(HOLD_LOCK, str(hooks.home)) as other, Lore.open(hooks.home, cwd=hooks.folder, env=env) as lore:
        engine = lore.store.engine
        with engine.hurried(0.1), pytest.raises(StoreBusy), engine.writing():
            pass
        entered: list[str] = []

        def wait(who: str) -> None:
            with engine.writing():
                entered.append(who)

        with engine.hurried(0.1):
            thread = threading.Thread(target=wait, args=("elsewhere",))
            thread.start()
            thread.join(1.0)
            assert thread.is_alive()  # it goes on waiting
        other.kill()
        thread.join()
        wait("afterwards")
        assert entered == ["elsewhere", "afterwards"]


def test_who_reads_does_not_wait_for_a_writer_for_long(hooks: Hooks) -> None:
    remember(hooks)
    with other_process(HOLD_LOCK, str(hooks.home)), Lore.open(hooks.home, cwd=hooks.folder) as lore:
        (hit,) = lore.recall(CUE)
        assert LESSON in lore.quote([hit], CUE).text
        assert lore.get(hit.memory.handle).text == LESSON


def test_who_cannot_enter_leaves_the_door_open() -> None:
    def broken() -> None:
        raise ConnectionError

    guard = _Guard(broken)
    with pytest.raises(ConnectionError), guard:
        pass
    free: list[bool] = []
    thread = threading.Thread(target=lambda: free.append(guard.lock.acquire(timeout=PATIENCE_S)))
    thread.start()
    thread.join()
    assert free == [True]


def test_a_client_that_blocks_signals_is_not_held_either(hooks: Hooks) -> None:
    block = f"import os, signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, [{signal.SIGALRM:d}])"
    program = f"{block}; os.execv(sys.argv[1], sys.argv[1:])"
    hooks.limits = USUAL
    command = [sys.executable, "-c", program, *hooks.command("claude", "Stop")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=hooks.env) as process:
        try:
            assert process.wait(PATIENCE_S) == 0  # nothing has come in, and its input is still open
        finally:
            process.kill()


def test_events_wait_for_a_server_that_is_down(hooks: Hooks) -> None:
    said = payload("UserPromptSubmit", prompt="No, use pnpm here, never npm: the lockfile is pnpm's", prompt_id="p")
    hooks.env["SWARMLORE_STORE_URL"] = f"postgresql://{LOGIN}@127.0.0.1:1/none"
    assert hooks.run("UserPromptSubmit", said) == ""
    assert spool.has_events(spool_dir(str(hooks.home)))
    server().empty()
    hooks.env["SWARMLORE_STORE_URL"] = server().url
    assert "pnpm" in hooks.context("SessionStart", payload("SessionStart", "s2", source="startup"))
    hooks.wait_until_digested()


def test_a_client_in_the_terminal_of_another_sees_nothing_private_of_that(hooks: Hooks) -> None:
    hooks.env["CLAUDECODE"] = "1"
    for agent, text in (("claude", LESSON), ("codex", "The release notes are written by hand in NEWS.md")):
        with Lore.open(hooks.home, cwd=hooks.folder, env={**hooks.env, "SWARMLORE_AGENT": agent}) as lore:
            lore.remember(text, tier="agent")
    text = hooks.context("SessionStart", payload("SessionStart", source="startup"), client="codex")
    assert "NEWS.md" in text
    assert LESSON not in text


# --- events that cannot be digested


@pytest.mark.parametrize(
    "facts",
    [
        {"session": "\ud800"},
        {"cwd": "/\udcff"},
        {"files": ["\ud800"]},
        {"project": {"id": "", "root": "", "names": [], "found_by": ""}},
        {"project": {"id": "a", "root": "/nowhere", "names": ["a"], "found_by": "origin", "place": 7}},
        {"extra": {"env": {"SWARMLORE_ROLE": "emperor"}}},
        {"extra": {"env": {"SWARMLORE_AGENT": "\ud800"}}},
        {"at": float("nan")},
        {"at": 10**400},
    ],
)
def test_an_event_that_cannot_be_stored_is_told_and_keeps_nobody_waiting(hooks: Hooks, facts: dict[str, Any]) -> None:
    folder = spool_up(hooks, a_tool_use(hooks, 1, **facts), a_tool_use(hooks, 2))
    with Lore.open(hooks.home, cwd=hooks.folder) as lore:
        told = SpoolReader(lore).drain()
    assert (told.new, told.bad) == (1, 1)
    assert not spool.has_events(folder)
    assert any("not digested" in str(problem["what"]) for problem in hooks.problems())


def test_a_folder_with_broken_settings_stops_no_other_folder(hooks: Hooks) -> None:
    (hooks.folder / ".swarmlore.toml").write_text("knowledge = [")
    hooks.run("PostToolUse", payload("PostToolUse", tool_name="Bash", tool_use_id="t"))
    other = Hooks(hooks.home, hooks.folder.parent / "other")
    other.folder.mkdir()
    other.run("PostToolUse", payload("PostToolUse", tool_name="Bash", tool_use_id="t"))
    assert tool_calls(other) == 0  # nothing is digested yet
    with Lore.open(other.home, cwd=other.folder) as lore:
        assert SpoolReader(lore).drain().new == 1
    assert tool_calls(other) == 1


@pytest.mark.parametrize("line", [b"{}", b'{"id": "x"}', b"null", b'{"id": "x", "at": 1, "moment": "prompt"}'])
def test_an_object_that_is_no_event_is_one_broken_line(hooks: Hooks, line: bytes) -> None:
    folder = spool_up(hooks, a_tool_use(hooks, 1))
    with (Path(folder) / spool.EVENTS).open("ab") as file:
        file.write(line + b"\n")
    with Lore.open(hooks.home, cwd=hooks.folder) as lore:
        told = SpoolReader(lore).drain()
    assert (told.new, told.bad) == (1, 1)


def test_what_lies_in_the_place_of_a_spool_file_is_not_followed(hooks: Hooks, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    folder = Path(spool_up(hooks, a_tool_use(hooks, 1)))
    os.mkfifo(folder / "taken-1.jsonl")
    (folder / "taken-2.jsonl").symlink_to(precious)
    (folder / "taken-3.jsonl").mkdir()
    with Lore.open(hooks.home, cwd=hooks.folder) as lore:
        assert SpoolReader(lore).drain().counts == (1, 0, 0)
    assert precious.read_text() == "mine"


# --- more than there is time for


def test_a_long_file_is_gone_on_with_where_the_time_ended(tmp_path: Path, hooks: Hooks) -> None:
    hooks.home = tmp_path / "me@work" / "home"
    folder = spool_up(hooks, *(a_tool_use(hooks, number) for number in range(300)))
    with Lore.open(hooks.home, cwd=hooks.folder) as lore:
        told = [SpoolReader(lore).drain(0.03)]
        while spool.has_events(folder):
            told.append(SpoolReader(lore).drain(0.03))
            assert len(told) < 1000
    assert len(told) > 1
    assert sum(item.new for item in told) == 300
    assert sum(item.known for item in told) == 0
    assert tool_calls(hooks) == 300


def test_nobody_waits_for_a_long_transcript_and_it_is_read_later(hooks: Hooks, tmp_path: Path) -> None:
    transcript = tmp_path / "s1.jsonl"
    said = "The root cause was that the worker reads its configuration before the secrets are mounted."
    lines = [{"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": said}]}}]
    lines += [{"type": "progress", "data": "x" * 1000}] * 1000
    transcript.write_text("".join(json.dumps({**line, "uuid": str(i)}) + "\n" for i, line in enumerate(lines)))
    remember(hooks)
    hooks.run("SessionEnd", payload("SessionEnd", transcript_path=str(transcript), reason="other"))
    hooks.run("PostToolUse", payload("PostToolUse", "s2", tool_name="Bash", tool_use_id="t"))
    assert LESSON in hooks.context("SessionStart", payload("SessionStart", "s3", source="startup"))
    hooks.wait_until_digested()  # by a process that the hook left behind
    assert tool_calls(hooks) == 1
    with Lore.open(hooks.home, cwd=hooks.folder) as lore:
        wait_until(  # a job of the same process
            lambda: any("secrets are mounted" in memory.text for memory in lore.list()),
            "the transcript is read",
            lambda: (lore.stats(), lore.dead_letters()),
        )


def test_in_a_hurry_a_long_transcript_is_left_and_what_comes_after_it_is_not(hooks: Hooks, tmp_path: Path) -> None:
    transcript = tmp_path / "s1.jsonl"
    transcript.write_text("{}\n" * 300_000)
    module = client("claude")
    assert module is not None
    data = payload("SessionEnd", transcript_path=str(transcript), reason="other", cwd=str(hooks.folder))
    ended = make_event(module, "claude", "SessionEnd", data, time.time())
    spool_up(hooks, e.to_plain(ended), a_tool_use(hooks, 1))
    with Lore.open(hooks.home, cwd=hooks.folder) as lore:
        told = [SpoolReader(lore).drain(hurry=True).new for _ in range(2)]
        assert [*told, SpoolReader(lore).drain().new] == [1, 0, 1]
    assert not spool.has_events(spool_dir(str(hooks.home)))


def test_an_event_of_the_future_does_not_make_others_count_twice(hooks: Hooks) -> None:
    now = time.time()
    spool_up(hooks, a_tool_use(hooks, 1), a_tool_use(hooks, 2, at=now + 1e9), a_tool_use(hooks, 3, at=now - 1e9))
    with Lore.open(hooks.home, cwd=hooks.folder) as lore:
        assert SpoolReader(lore).drain().new == 3
        spool_up(hooks, a_tool_use(hooks, 1))
        assert SpoolReader(lore).drain().counts == (0, 1, 0)


def test_an_event_of_the_longest_texts_can_be_read_again(hooks: Hooks) -> None:
    module = client("claude")
    assert module is not None
    long = "😀" * 300_000
    data = payload("PostToolUse", tool_name="Bash", tool_use_id="t", prompt=long, error=long, cwd=str(hooks.folder))
    data |= {"tool_input": {"command": long, "file_path": "/" + "😀" * 4_000}, "tool_response": {"stdout": long}}
    event = make_event(module, "claude", "PostToolUse", {**data, "last_assistant_message": long}, time.time())
    spool_up(hooks, e.to_plain(event))
    with Lore.open(hooks.home, cwd=hooks.folder) as lore:
        assert SpoolReader(lore).drain().counts == (1, 0, 0)


# --- the warm process


def test_an_answer_that_comes_too_late_leaves_no_receipt(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "ANSWER_S", 0.0)
    remember(hooks)
    module = client("claude")
    assert module is not None
    data = payload("UserPromptSubmit", prompt=CUE, prompt_id="p", cwd=str(hooks.folder))
    event = make_event(module, "claude", "UserPromptSubmit", data, time.time())
    memory = DaemonMemory(str(hooks.home), str(hooks.folder), "claude", {})
    try:
        lore = memory.lore_for(str(hooks.folder), "claude", {})
        answers: list[dict[str, Any]] = []
        thread = threading.Thread(target=lambda: answers.append(memory.take(e.to_plain(event))))
        with lore.acting():
            thread.start()
        thread.join()
        assert [answer["ok"] for answer in answers] == [False]
        assert lore.receipts() == ()
        monkeypatch.setattr(shared, "ANSWER_S", PATIENCE_S)
        assert LESSON in memory.take({**e.to_plain(event), "id": "again"})["text"]
    finally:
        memory.close()


def test_a_warm_process_that_ends_while_it_digests_loses_nothing(hooks: Hooks) -> None:
    folder = spool_up(hooks, *(a_tool_use(hooks, number) for number in range(400)))
    DaemonMemory(str(hooks.home), str(hooks.folder), "claude", {})._lore.close()
    lock = Path(folder) / "digest.lock"

    def drained() -> bool:
        with Lore.open(hooks.home, cwd=hooks.folder) as lore:
            SpoolReader(lore).drain()
        return lock.exists() and not spool.has_events(folder)

    wait_until(drained, "all events are digested")
    assert tool_calls(hooks) == 400


def test_settings_count_from_the_moment_they_are_written(hooks: Hooks) -> None:
    remember(hooks)
    memory = DaemonMemory(str(hooks.home), str(hooks.folder), "claude", {})
    try:
        lore = memory.lore_for(str(hooks.folder), "claude", {})
        assert LESSON in lore.block(CUE, mode="keyword").text
        (hooks.folder / ".swarmlore.toml").write_text("[knowledge]\nenabled = false\n")
        lore = memory.lore_for(str(hooks.folder), "claude", {})
        assert "switched off" in lore.block(CUE, mode="keyword").receipt.reason
    finally:
        memory.close()


def test_a_warm_process_without_room_for_files_listens_again(hooks: Hooks) -> None:
    hooks.home.mkdir(mode=0o700)
    path = socket_path(str(hooks.home))
    with other_process(FEW_FILES, str(hooks.home)):
        many = [sock for _ in range(20) if (sock := socket.connect(path, 1.0))]
        assert many
        assert socket.ask(path, {"op": "ping"}, 0.5) is None
        for sock in many:
            sock.close()
        wait_until(lambda: socket.ask(path, {"op": "ping"}, 0.5), "it listens again")


def test_hooks_and_servers_meet_whatever_their_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = str(tmp_path / ("long" * 40))
    before = socket_path(home)
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/tmp")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert socket_path(home) == before
    assert len(os.fsencode(before)) <= 100


def test_an_answer_that_comes_too_late_leaves_no_receipt_of_what_nobody_was_shown(hooks: Hooks) -> None:
    remember(hooks)
    with Lore.open(hooks.home, cwd=hooks.folder) as lore:
        with pytest.raises(DeadlinePassed):
            lore.block(CUE, session="s1", until=0.0)
        assert lore.receipts() == ()
        assert LESSON in lore.block(CUE, session="s1", until=math.inf).text
        assert len(lore.receipts()) == 1
