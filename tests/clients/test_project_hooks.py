"""Hooks of a project beside those of a person, who keeps the memory in a place of their own: one memory, each event once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_installing import Machine

from command_line import command
from hook_runs import Hooks
from repositories import a_repository
from swarmlore.clients import CLIENTS, installer_of
from swarmlore.clients.hook.home import FILES, hooks_file, named_home, usual_home
from waiting import wait_until

CORRECTION = "No, never use yarn in this repository, use pnpm"


class Person:
    """A person's folder and a project; nothing says where the memory is, unless a test does."""

    def __init__(self, folder: Path) -> None:
        self.home, self.own = folder / "chosen", folder / "person"
        (self.own / ".claude").mkdir(parents=True)
        self.root = a_repository(folder / "repo", commit=True)
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("SWARMLORE", "XDG", "CLAUDE"))
        }
        path = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
        self.env = {**kept, "HOME": str(self.own), "PATH": path, "SWARMLORE_EMBEDDER_KIND": "none",
                    "SWARMLORE_AGENT": "claude"}  # fmt: skip

    def swarmlore(self, *words: str) -> str:
        done = subprocess.run(
            command(words), capture_output=True, text=True, timeout=60, check=True, cwd=self.root, env=self.env
        )
        return done.stdout

    def report(self, settings: Path, event: str, **facts: Any) -> str:
        line = json.loads(settings.read_text())["hooks"][event][0]["hooks"][0]["command"]
        given = json.dumps({"session_id": "s1", "cwd": str(self.root), **facts})
        done = subprocess.run(
            line, shell=True, input=given, capture_output=True, text=True, timeout=60, check=True, env=self.env,
            cwd=self.root,
        )  # fmt: skip
        return done.stdout

    @property
    def usual(self) -> Path:
        return self.own / ".local" / "share" / "swarmlore"


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


def test_a_project_uses_the_memory_that_a_persons_own_hooks_name(person: Person) -> None:
    person.swarmlore("install", "claude", "--home", str(person.home), "--yes")
    person.swarmlore("install", "claude", "--project", "--yes", "--home", str(person.home))
    for settings in (person.root / ".claude/settings.json", person.own / ".claude/settings.json"):
        person.report(settings, "UserPromptSubmit", prompt_id="p1", prompt=CORRECTION)
    assert not person.usual.exists()
    # The second report waits for whoever comes next, as these do.
    listed = wait_until(
        lambda: json.loads(person.swarmlore("list", "--json", "--home", str(person.home)))["memories"],
        "the report is taken in",
    )
    assert [memory["text"] for memory in listed] == ["Never use yarn in this repository, use pnpm."]
    (claude,) = json.loads(person.swarmlore("status", "claude", "--json", "--home", str(person.home)))["clients"]
    assert claude["activity"]["all_sessions"] == 1 and claude["to_do"] == []


def test_without_hooks_of_their_own_a_person_gets_the_usual_memory(person: Person) -> None:
    person.swarmlore("install", "claude", "--project", "--yes")
    person.report(person.root / ".claude/settings.json", "UserPromptSubmit", prompt_id="p1", prompt=CORRECTION)
    Hooks(person.usual, person.root).wait_until_digested()
    assert len(json.loads(person.swarmlore("list", "--json"))["memories"]) == 1


def test_where_a_variable_would_part_the_two_everybody_says_so(person: Person) -> None:
    person.swarmlore("install", "claude", "--home", str(person.home), "--yes")
    person.env["SWARMLORE_HOME"] = str(person.own / "other")
    warning = f"your own hooks name the memory in {person.home}"
    assert warning in person.swarmlore("install", "claude", "--project", "--yes")
    assert warning in person.swarmlore("status", "claude")
    checks = json.loads(person.swarmlore("doctor", "--json"))["checks"]
    assert any("another memory" in check["message"] for check in checks if check["name"] == "client")


@pytest.mark.parametrize("home", ["/a b/c", '/it\'s "mine"', "/ü/\\x", "/$HOME/`x`"])
@pytest.mark.parametrize("client", FILES)
def test_the_home_is_read_from_what_install_wrote(client: str, home: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.install(client, where=machine.where(home=home, program="/my programs/swarmlore"))
    assert named_home(client, machine.env) == home
    assert all(named_home(other, machine.env) == home for other in FILES)  # it is one person
    assert named_home("mcp", machine.env) == ""
    assert usual_home(client, {**machine.env, "SWARMLORE_HOME": "/said"}) == "/said"


def test_the_files_of_a_person_are_where_install_writes_them(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    moved = {variable: str(tmp_path / variable) for variable, _, _ in FILES.values()}
    for env in (machine.env, {**machine.env, **moved}):
        machine.env = env
        for name in CLIENTS:
            written = {file.path for file in installer_of(name).files(machine.where())}
            assert hooks_file(name, env) in written


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"{",
        b'"swarmlore hook claude Stop --home relative --socket x"',
        b'"swarmlore hook claude Stop --home /bad\\q --socket x"',
        b"swarmlore hook claude Stop --home " * 100_000,
    ],
)
def test_a_file_that_names_no_home_is_no_trouble(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(content)
    assert named_home("claude", {"HOME": str(tmp_path)}) == ""
    path.unlink()
    os.mkfifo(path)
    assert named_home("claude", {"HOME": str(tmp_path)}) == ""
