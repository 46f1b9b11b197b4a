"""Sessions whose end nobody reports, and transcripts that cannot be read: what was learned is not lost in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw
import pytest
from test_opencode_transcripts import SESSION, Database, text

from databases import server
from swarmlore.capture.pipeline import SpoolReader
from swarmlore.clients import client
from swarmlore.clients.hook import event as e
from swarmlore.clients.hook import spool
from swarmlore.clients.hook.event_from_payload import make_event
from swarmlore.clients.hook.home import spool_dir
from swarmlore.domain.records import Session
from swarmlore.lore import Lore
from swarmlore.server.worker.child import run_due_jobs
from swarmlore.server.worker.handlers import HANDLERS
from waiting_jobs import do_jobs, waiting

HOUR = 3600.0
FOUND = "The root cause was the lock of the importer; fixed by stopping it before ledger-sync runs."
NEWER = "ALTER TABLE part RENAME COLUMN message_id TO msg"


class World:
    """One project with OpenCode's database beside it, and a clock that tests move."""

    def __init__(self, folder: Path) -> None:
        self.home, self.folder = folder / "home", folder / "project"
        self.folder.mkdir()
        data = folder / "data" / "opencode"
        data.mkdir(parents=True)
        self.kept = Database(data)
        self.now = 1_800_000_000.0
        self.env: dict[str, str] = {}

    def open(self) -> Lore:
        env = {"SWARMLORE_EMBEDDER_KIND": "none", "SWARMLORE_ROLE": "lead", **self.env}
        return Lore.open(self.home, cwd=self.folder, env=env, clock=lambda: self.now)

    def tell(self, name: str, client_name: str = "opencode", **payload: Any) -> None:
        self.now += 20
        module = client(client_name)
        assert module is not None
        asked = {"directory": str(self.folder), "cwd": str(self.folder), "input": {"sessionID": SESSION}}
        made = make_event(module, client_name, name, {**asked, **payload}, self.now)
        spool.append(spool_dir(str(self.home)), e.to_plain(made))

    def prompt(self, said: str = "Repair the sync") -> None:
        self.tell("chat.message", output={"message": {"id": f"msg_{self.now}"}, "parts": [text(said)]})
        self.kept.add("user", text(said))
        self.kept.add("assistant", text(FOUND))

    def look(self) -> dict[str, int]:
        """Digest what waits; the jobs that are not done then."""
        with self.open() as lore:
            SpoolReader(lore).drain()
            return waiting(lore)

    def work(self) -> list[str]:
        with self.open() as lore:
            do_jobs(lore)
            return [memory.text for memory in lore.list() if memory.source == "reflect"]

    def session(self) -> Session:
        with self.open() as lore:
            return next(item for item in lore.sessions() if item.id == SESSION)

    def problems(self) -> list[str]:
        return [str(item["what"]) for item in spool.problems(spool_dir(str(self.home)))]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in ("OPENCODE_DB", "SKIP_SESSION_SUMMARY", "SWARMLORE_AGENT", "SWARMLORE_PROJECT", "SWARMLORE_ROLE"):
        monkeypatch.delenv(name, raising=False)
    return World(tmp_path)


@pytest.fixture
def server_too(world: World, engine_name: str) -> World:
    """The same with its store in a file, and with one on a server."""
    if engine_name == "postgres":
        server().empty()
        world.env = {"SWARMLORE_STORE_URL": server().url}
    return world


# --- an end that nobody reports


def test_a_session_that_stopped_reporting_is_read_once(server_too: World) -> None:
    world = server_too
    world.prompt()
    assert world.look() == {}
    world.now += 5 * HOUR
    assert world.look() == {}
    world.now += 2 * HOUR
    assert world.look() == {"extract": 1, "summarise": 1}
    assert any("lock of the importer" in lesson for lesson in world.work())
    assert world.session().ended_at == world.session().extra["last_event_at"]
    world.now += 24 * HOUR
    assert world.look() == {}


def test_one_that_goes_on_later_is_open_again_and_tells_nothing_twice(server_too: World) -> None:
    world = server_too
    world.prompt()
    world.look()
    world.now += 7 * HOUR
    world.look()
    before = world.work()
    world.prompt("And now the report")
    world.look()
    assert world.session().ended_at is None
    world.tell("dispose")
    assert world.look() == {"extract": 1, "summarise": 1}
    assert world.work() == before != []


def test_a_worker_finds_it_too(world: World) -> None:
    world.prompt()
    world.look()
    world.now += 7 * HOUR
    with world.open() as lore:
        run_due_jobs(lore, {"sweep": HANDLERS["sweep"]}, "test")
        assert waiting(lore) == {"extract": 1, "summarise": 1}


def test_whoever_sums_up_sessions_is_not_summed_up_after_a_silence(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKIP_SESSION_SUMMARY", "1")
    world.prompt()
    monkeypatch.delenv("SKIP_SESSION_SUMMARY")
    world.look()
    world.now += 7 * HOUR
    assert world.look() == {"extract": 1}


def test_a_session_of_another_machine_is_left_alone(world: World) -> None:
    world.prompt()
    world.look()
    world.kept.db.close()
    world.kept.path.rename(world.kept.path.with_suffix(".gone"))
    world.now += 7 * HOUR
    assert world.look() == {}
    assert world.session().ended_at is None


def test_all_processes_of_a_home_look_every_ten_minutes(world: World) -> None:
    world.prompt()
    world.look()
    world.now += 7 * HOUR
    world.look()
    stamp = Path(spool_dir(str(world.home))) / "silent.looked"
    assert stamp.stat().st_mtime == world.now
    world.now += 300
    world.look()
    assert stamp.stat().st_mtime == world.now - 300
    world.now += 301
    world.look()
    assert stamp.stat().st_mtime == world.now


# --- a transcript that cannot be read


def test_a_transcript_of_a_newer_client_is_told_to_the_doctor(world: World) -> None:
    world.prompt()
    world.kept.db.execute(NEWER)
    world.tell("dispose")
    assert world.look() == {}
    assert [what.partition(": ")[0] for what in world.problems()] == ["transcript not read"]
    assert "SQLError" in world.problems()[0]


def test_records_of_which_nothing_is_understood_are_told_too(world: World, tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_text("".join(json.dumps({"kind": "speech", "words": "x"}) + "\n" for _ in range(30)))
    told = {"session_id": "s1", "transcript_path": str(path)}
    world.tell("UserPromptSubmit", "claude", prompt="Repair the sync", prompt_id="p1", **told)
    world.tell("SessionEnd", "claude", **told)
    world.look()
    assert world.problems() == ["transcript not read: nothing was understood in 30 records"]


def test_a_session_that_is_not_kept_is_no_problem(world: World, tmp_path: Path) -> None:
    told = {"session_id": "s1", "transcript_path": str(tmp_path / "none.jsonl")}
    world.tell("UserPromptSubmit", "claude", prompt="Repair the sync", prompt_id="p1", **told)
    world.tell("SessionEnd", "claude", **told)
    world.look()
    assert world.problems() == []


def test_a_transcript_whose_owner_is_busy_is_read_later(world: World) -> None:
    world.kept.db.execute("PRAGMA journal_mode = DELETE").fetchall()  # there a writer keeps readers out
    world.prompt()
    world.kept.db.execute("BEGIN EXCLUSIVE")
    world.tell("dispose")
    assert world.look() == {}
    assert (world.session().ended_at, world.problems()) == (None, [])
    world.now += 90
    assert world.look() == {}
    world.kept.db.execute("ROLLBACK")
    world.now += 90
    assert world.look() == {"extract": 1, "summarise": 1}
    assert world.session().ended_at is not None
    assert any("lock of the importer" in lesson for lesson in world.work())
    world.now += 24 * HOUR
    assert world.look() == {}


def test_one_that_stays_busy_is_given_up_and_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("swarmlore.workspace.foreign_sqlite.BUSY_MS", 1)
    world.kept.db.execute("PRAGMA journal_mode = DELETE").fetchall()
    world.prompt()
    holder = apsw.Connection(str(world.kept.path))
    holder.execute("BEGIN EXCLUSIVE")
    world.tell("dispose")
    for _ in range(15):
        world.look()
        world.now += 90
    assert ["BusyError" in what for what in world.problems()] == [True]
    assert world.session().ended_at is not None
