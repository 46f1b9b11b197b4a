"""What `doctor` says about the language model that is asked about duplicates, and about a long journal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import servers
from conftest import ALICE, quick_env
from swarmlore.domain.records import Check
from swarmlore.lore import Lore
from swarmlore.memory import doctor
from swarmlore.store import sqlite


@pytest.fixture
def server() -> Iterator[servers.ModelServer]:
    with servers.running(servers.chat("yes")) as running:
        yield running


def checks(home: Path, **writer: str) -> dict[str, Check]:
    env = quick_env(**{f"SWARMLORE_WRITER_{name.upper()}": value for name, value in writer.items()})
    with Lore.open(home, cwd=home.parent, caller=ALICE, env=env) as lore:
        return {check.name: check for check in lore.doctor()}


def test_a_writer_that_answers_is_healthy(tmp_path: Path, server: servers.ModelServer) -> None:
    found = checks(tmp_path / "home", kind="openai", model="m", base_url=server.url)["writer"]
    assert found == Check("writer", "ok", f"openai:m@{server.url.removeprefix('http://')} answers")
    assert len(server.seen) == 1


def test_without_a_writer_nobody_is_asked(tmp_path: Path, server: servers.ModelServer) -> None:
    assert "writer" not in checks(tmp_path / "home", base_url=server.url, model="m")
    assert server.seen == []


@pytest.mark.parametrize(
    ("writer", "message"),
    [
        ({"base_url": "http://127.0.0.1:9", "model": "m"}, "127.0.0.1:9 cannot be reached"),
        ({"base_url": "http://127.0.0.1:9"}, "this provider needs the option model"),
        ({"kind": "nosuch"}, "unknown kind 'nosuch'"),
    ],
)
def test_a_writer_that_cannot_be_asked_is_a_warning(tmp_path: Path, writer: dict[str, str], message: str) -> None:
    found = checks(tmp_path / "home", **{"kind": "openai", "timeout_s": "0.3", **writer})["writer"]
    assert found.state == "warn"
    assert found.message.startswith(message)
    assert found.message.endswith("; rules alone decide what is a duplicate")
    assert found.hint


def test_a_refusal_is_a_warning_too(tmp_path: Path, server: servers.ModelServer) -> None:
    server.usual = servers.status(401)
    found = checks(tmp_path / "home", kind="openai", model="m", base_url=server.url)["writer"]
    assert (found.state, "status 401" in found.message) == ("warn", True)


def test_a_silent_writer_is_not_waited_for_as_long_as_remembering_would(
    tmp_path: Path, server: servers.ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "WRITER_WAIT_S", 0.2)
    server.usual = servers.stall
    found = checks(tmp_path / "home", kind="openai", model="m", base_url=server.url, timeout_s="60")["writer"]
    assert not server.released.is_set()  # it goes on being silent
    assert (found.state, "did not answer within 0.2 s" in found.message) == ("warn", True)
    assert found.hint.endswith("(doctor waits 0.2 s only)")


def test_a_journal_is_a_warning_only_beyond_what_a_busy_server_keeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert doctor.WAL_ALARM_BYTES > sqlite.LATE_LIMIT_BYTES
    assert checks(tmp_path / "home")["wal"].state == "ok"
    monkeypatch.setattr(doctor, "WAL_ALARM_BYTES", 0)
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=ALICE, env=quick_env()) as lore:
        lore.remember("Deploys of the billing service go through the staging cluster first")
        found = next(check for check in lore.doctor() if check.name == "wal")
    assert (found.state, found.hint) == ("warn", "a long reader keeps it from shrinking")
