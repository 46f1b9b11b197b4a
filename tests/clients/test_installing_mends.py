"""Entries of an earlier release that stop a client once our program is gone: found, and mended in their place."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from test_install_cli import person as person
from test_installing import Machine, commands_in, tree
from test_installing import machine as machine

from command_line import Run
from homes import linux
from swarmlore.clients import installer_of
from swarmlore.clients.codex import install
from swarmlore.clients.install import commands, manifest
from swarmlore.clients.install.plan import apply, plan_install
from swarmlore.errors import ConfigError

OTHERS = '# my own\nmodel = "x"\n\n[mcp_servers.mine]\ncommand = "mine"\nrequired = true # I need it\n'
FILES = {
    "codex": (".codex/config.toml", OTHERS, "required = true\nstartup"),
    "gemini": (".gemini/settings.json", '{"theme": "dark"}', ""),
    "copilot": (".copilot/hooks/swarmlore.json", '{"version": 1, "hooks": {}}', ""),
}
HARM = {
    "codex": "Codex does not start (required = true) once swarmlore is gone",
    "gemini": "Gemini CLI answers no prompt once swarmlore is gone",
    "copilot": "Copilot CLI refuses to view and edit files once swarmlore is gone",
}
STOPPED = tuple(FILES)
stopped = pytest.mark.parametrize("name", STOPPED)


@contextmanager
def earlier_release(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Installs as the release before did."""
    with monkeypatch.context() as then:
        then.setattr(commands, "_STOPPED", {})
        then.setattr(install, "server", lambda *given: {**commands.server(*given), "required": True})
        yield


def mend(machine: Machine, *names: str) -> tuple[str, ...]:
    kept = manifest.read(str(machine.home))
    clients = [installer_of(name) for name in names or STOPPED]
    plan = plan_install(machine.where(program=""), clients, kept, "2", 0.0, mend=True)
    apply(plan, str(machine.home), kept)
    return plan.notes


@stopped
def test_installing_again_mends_an_entry_and_says_so(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path, own, _ = FILES[name]
    file = machine.write(path, own)
    with earlier_release(monkeypatch):
        machine.install(name)
    assert machine.install(name).notes == (f"{file} was mended: {HARM[name]}",)
    mended = file.read_bytes()
    assert machine.install(name).notes == ()
    machine.uninstall(name)
    assert file.read_text() == own
    machine.install(name)
    assert file.read_bytes() == mended  # as it is written now


@stopped
def test_mending_changes_nothing_else(machine: Machine, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path, own, _ = FILES[name]
    file = machine.write(path, own)
    with earlier_release(monkeypatch):
        machine.install()
    before = tree(machine.user)
    assert mend(machine, name) == (f"{file} was mended: {HARM[name]}",)
    now = tree(machine.user)
    assert {key for key in now if now[key] != before[key]} == {path}
    machine.uninstall(name)
    assert file.read_text() == own


def test_codex_loses_the_key_of_our_server_alone(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    config = machine.write(".codex/config.toml", OTHERS)
    with earlier_release(monkeypatch):
        machine.install("codex")
    old = config.read_text()
    config.write_text(old + "tool_timeout_sec = 9 # slow\n")
    mend(machine)
    assert config.read_text() == old.replace("required = true\nstartup", "startup") + "tool_timeout_sec = 9 # slow\n"
    machine.uninstall("codex")
    assert config.read_text() == OTHERS


def test_what_a_person_set_otherwise_stays(machine: Machine) -> None:
    machine.install("codex")
    config = machine.user / ".codex/config.toml"
    config.write_text(config.read_text() + "required = false\n")
    before = config.read_text()
    assert mend(machine) == machine.install("codex").notes == ()
    assert config.read_text() == before


def test_where_nothing_is_installed_nothing_is_mended(machine: Machine) -> None:
    machine.write(".codex/config.toml", OTHERS)
    before = tree(machine.user)
    assert mend(machine) == ()
    assert (tree(machine.user), manifest.read(str(machine.home))) == (before, ())


def test_a_project_is_left_as_its_people_wrote_it(machine: Machine) -> None:
    where = machine.where(project=True)
    machine.install("codex", where=where)
    config = machine.project / ".codex/config.toml"
    config.write_text(config.read_text() + "required = true\n")
    before = config.read_text()
    assert machine.install("codex", where=where).notes == ()
    assert config.read_text() == before


def test_a_form_that_only_a_person_should_change_is_refused(machine: Machine) -> None:
    text = 'mcp_servers = {swarmlore = {command = "/bin/swarmlore", args = ["mcp"], required = true}}\n'
    config = machine.write(".codex/config.toml", text)
    with pytest.raises(ConfigError, match="in a form that cannot be changed safely"):
        mend(machine, "codex")
    assert config.read_text() == text


@linux
@pytest.mark.parametrize("name", ["gemini", "copilot"])
def test_a_hook_ends_well_without_its_program(machine: Machine, name: str) -> None:
    machine.install(name, where=machine.where(program=str(machine.user / "gone/swarmlore")))
    lines = list(commands_in(machine.read(FILES[name][0])))
    assert lines
    for line in lines:
        assert subprocess.run(["/bin/sh", "-c", line], capture_output=True, check=False).returncode == 0


def test_doctor_finds_and_mends_them(run: Run, person: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "elsewhere"))
    with earlier_release(monkeypatch):
        assert run("install", *STOPPED, "--yes").code == 0
    config = tmp_path / "elsewhere/config.toml"
    old = config.read_text()
    for command in ("doctor", "status"):
        said = " ".join(run(command).out.split())
        assert all(f"{HARM[name]}: swarmlore doctor --fix" in said for name in STOPPED)
    assert config.read_text() == old
    fixed = " ".join(run("doctor", "--fix").out.split())
    assert all(HARM[name] in fixed for name in STOPPED) and f"{config} was mended" in fixed
    assert config.read_text() == old.replace("required = true\n", "")
    assert "--fix" not in run("doctor").out and "was mended" not in run("doctor", "--fix").out
    assert run("uninstall", "--yes").code == 0
    assert not config.exists() and os.listdir(person / ".codex") == []


def test_an_entry_that_cannot_be_mended_is_reported(run: Run, person: Path) -> None:
    entry = '{command = "/gone/swarmlore", args = ["mcp", "--client", "codex"], required = true}'
    (person / ".codex" / "config.toml").write_text(f"[mcp_servers]\nswarmlore = {entry}\n")
    for words in (("doctor",), ("doctor", "--fix")):
        assert "config.toml holds its servers in a form that cannot be changed safely" in run(*words).out
