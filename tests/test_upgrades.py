"""A home of an older release goes on with everything in it; `old_homes.py` made the homes."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from command_line import Run, process
from old_homes import DUMPED, HERE, HOMES, rename
from waiting import wait_until

VERSIONS = sorted(path.name for path in HOMES.iterdir())


@pytest.fixture(params=VERSIONS)
def old_home(request: pytest.FixtureRequest, engine_name: str, world: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home, a project and a person's folder as an older release left them."""
    for name in ("home", "project", "user"):
        (world / name).rmdir() if (world / name).exists() else None
    with tarfile.open(HOMES / request.param / f"{engine_name}.tar.xz") as packed:
        packed.extractall(world, filter="data")
    rename(world, HERE, str(world))
    monkeypatch.chdir(world / "project")
    monkeypatch.setenv("SWARMLORE_ROLE", "lead")
    monkeypatch.setenv("SWARMLORE_AGENT", "lead")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    if engine_name == "postgres":
        request.getfixturevalue("old_database")
    return world


@pytest.fixture
def old_database(world: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A database with what the older release left in it, migrated by an administrator as on any upgrade."""
    from databases import server
    from swarmlore.store.postgres_setup import set_up

    server().admin("CREATE DATABASE upgraded")
    admin = server().admin_url.replace("/postgres?", "/upgraded?")
    psql = [str(server().process.bin_path / "psql"), "--quiet", "--set=ON_ERROR_STOP=1", "--dbname", admin]
    for words in (["--command", "CREATE EXTENSION vector"], ["--file", str(world / DUMPED)]):
        subprocess.run([*psql, *words], check=True, capture_output=True)
    set_up(admin, 0.0)
    monkeypatch.setenv("SWARMLORE_STORE_URL", admin.replace("postgres:@", "tester:@"))
    yield
    server().admin("DROP DATABASE upgraded WITH (FORCE)")


def asked(run: Run, *words: str) -> Any:
    reply = run(*words, "--json")
    assert reply.code == 0, reply.out
    return reply.json


def test_memories_of_an_older_release_are_all_there(old_home: Path, run: Run) -> None:
    memories = asked(run, "list", "--status", "any")["memories"]
    begun = {memory["text"].split()[0]: memory for memory in memories}
    assert {"Snapshot", "The", "Use", "Deploys", "Prices", "Pin"} <= set(begun)
    assert (begun["Snapshot"]["kind"], begun["Snapshot"]["tags"]) == ("correction", ["testing"])
    assert (begun["Deploys"]["status"], begun["Use"]["tier"], begun["Pin"]["tier"]) == ("quarantined", "agent", "hive")
    assert begun["Snapshot"]["feedback_count"] == 1
    ports = {memory["text"][-4:]: memory["status"] for memory in memories if " port " in memory["text"]}
    assert ports == {"5432": "superseded", "5433": "candidate"}
    said = asked(run, "history", begun["Snapshot"]["id"])
    assert said["history"][0]["action"] == "added"
    assert any("snap-record" in hit["memory"]["text"] for hit in asked(run, "recall", "snapshot tests")["hits"])


def test_records_beside_the_memories_are_read(old_home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(run, "receipts")["receipts"]
    monkeypatch.setenv("SWARMLORE_AGENT", "bob")
    assert [one["subject"] for one in asked(run, "mail", "inbox")["messages"]] == ["New schema"]
    monkeypatch.setenv("SWARMLORE_AGENT", "lead")
    assert [one["agent"] for one in asked(run, "token", "list")["tokens"]] == ["tester"]
    assert "importer" in str(asked(run, "phase"))
    assert [one["rule"] for one in asked(run, "instincts")["instincts"]] == ["Run make lint before each commit"]
    assert asked(run, "config", "recall.limit")["value"] == 8
    assert (old_home / "project" / ".swarm" / "knowledge.jsonl").read_text().count('"lesson"') >= 3
    assert asked(run, "sync")["files"]


def test_what_was_left_for_later_is_done(old_home: Path, run: Run) -> None:
    spool = old_home / "home" / "spool"
    assert list(spool.glob("*.jsonl"))
    assert asked(run, "stats")["jobs_waiting"]
    assert process("worker", "--until-empty").returncode == 0  # it forks, which a process with threads must not
    wait_until(lambda: not list(spool.glob("*.jsonl")), "the events are digested")
    asked(run, "list")
    after = asked(run, "stats")
    assert (after["jobs_waiting"], after["jobs_dead"]) == (0, 0)
    (claude,) = [one for one in asked(run, "status")["clients"] if one["client"] == "claude"]
    assert claude["activity"]["all_sessions"] == 2


def test_what_was_installed_is_known_and_goes_out_again(old_home: Path, run: Run) -> None:
    (claude,) = [one for one in asked(run, "status")["clients"] if one["client"] == "claude"]
    assert [level["installed"] for level in claude["levels"]] == ["yes", "no"]
    assert run("uninstall", "--yes").code == 0
    assert "swarmlore" not in "".join(path.read_text() for path in (old_home / "user").rglob("*.json"))


def test_doctor_finds_nothing_broken(old_home: Path, run: Run) -> None:
    assert [check for check in run("doctor", "--json").json["checks"] if check["state"] == "fail"] == []
