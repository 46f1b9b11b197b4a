"""install, uninstall and status at the command line."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from test_cli import Terminal, posix

from command_line import Run, process
from conftest import ALICE, NOW, OTHER, quick_env
from repositories import a_repository, git
from skill_files import HOW_MANY, skills_in
from swarmlore.domain.records import Caller, Session
from swarmlore.lore import Lore
from swarmlore.store.store import Store

WHOLE = ".claude/settings.json"


@pytest.fixture
def person(world: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's own folder, with both clients in it."""
    folder = world / "person"
    (folder / ".claude").mkdir(parents=True)
    (folder / ".codex").mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_dry_run_shows_every_line_and_changes_nothing(run: Run, person: Path, world: Path) -> None:
    (person / WHOLE).write_text('{\n  "theme": "dark"\n}\n')
    before = files(person)
    said = run("install", "--dry-run")
    assert said.code == 0
    assert f"{person / WHOLE} (changed)" in said.out
    assert '-  "theme": "dark"\n+  "theme": "dark",\n' in said.out
    assert f"{4 + 2 * HOW_MANY} files would change; nothing was changed." in said.out
    assert "found here: Claude Code, Codex" in said.err
    assert files(person) == before
    assert not (world / "home").exists()


def test_without_a_yes_nothing_is_written(run: Run, person: Path) -> None:
    said = run("install", "claude")
    assert (said.code, files(person)) == (2, {})
    assert "add --yes" in said.err
    assert str(person / WHOLE) in said.out  # what would have been agreed to


def test_who_is_asked_reads_sentences_and_sees_every_program_and_permission(run: Run, person: Path) -> None:
    asked = run("install")
    said = asked.out
    assert len(said.splitlines()) < 40 and "--dry-run shows every line" in asked.err
    assert "  + hooks at SessionStart, UserPromptSubmit, PreToolUse, " in said
    assert "swarmlore hook claude EVENT --home " in said and "swarmlore hook codex EVENT --home " in said
    assert "swarmlore mcp --client claude --home " in said and "swarmlore mcp --client codex --home " in said
    assert "  + allowed without asking: mcp__swarmlore__recall, mcp__swarmlore__get" in said
    run("install", "--yes")
    going = run("uninstall").out
    assert "  - hooks at SessionStart, " in going and "runs" not in going


def test_new_files_are_told_in_sentences_and_what_is_to_do_once(run: Run, person: Path) -> None:
    everybody = ("claude", "codex", "gemini", "copilot", "opencode")
    said = run("install", *everybody).out
    assert not [line for line in said.splitlines() if line.startswith("+")]
    assert said.count("keeps OpenCode from fetching a package") == said.count(" a skill") // 3 == 1
    assert run("install", *everybody, "--yes").out.count("have to be started again") == 1
    going = run("uninstall", *everybody).out
    assert not [line for line in going.splitlines() if line.startswith("-")]
    restarts = [line for line in run("doctor").out.splitlines() if "have to be started again" in line]
    assert len(restarts) == 1 and "Claude Code, Gemini CLI, Copilot CLI, OpenCode: Sessions" in restarts[0]


def test_few_lines_are_shown_as_they_are(run: Run, person: Path) -> None:
    run("install", "claude", "--yes")
    settings = (person / WHOLE).read_text()
    (person / WHOLE).write_text(settings.replace('"timeout": 10', '"timeout": 1'))
    said = run("install", "claude").out
    assert '-            "timeout": 1\n+            "timeout": 10\n' in said and "hooks at" not in said


def test_installing_uninstalling_and_what_is_left_to_do(run: Run, person: Path) -> None:
    before = files(person)
    said = run("install", "--yes")
    assert said.code == 0 and f"Changed {4 + 2 * HOW_MANY} files." in said.out
    assert "to do: Codex skips hooks that nobody trusts" in said.out
    again = run("install", "--yes").out
    assert "Nothing has to be changed." in again and "to do:" not in again
    assert f"Changed {4 + 2 * HOW_MANY} files." in run("uninstall", "--yes").out
    assert files(person) == before
    assert "Nothing has to be changed." in run("uninstall", "--yes").out


def test_the_installed_commands_start_this_program(run: Run, person: Path, world: Path) -> None:
    run("install", "claude", "--yes")
    hook = json.loads((person / WHOLE).read_text())["hooks"]["SessionEnd"][0]["hooks"][0]["command"]
    program, *words = shlex.split(hook)
    assert program == os.path.join(os.path.dirname(sys.executable), "swarmlore")
    home = str(world / "home")
    assert words == [
        "hook",
        "claude",
        "SessionEnd",
        "--home",
        home,
        "--socket",
        f"{home}/warm.sock",
        "--spool",
        f"{home}/spool",
    ]
    done = subprocess.run(hook, shell=True, input="no JSON", capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_only_the_named_client_is_touched(run: Run, person: Path) -> None:
    run("install", "codex", "--yes")
    assert set(files(person)) == {".codex/hooks.json", ".codex/config.toml", *skills_in(".agents")}
    run("install", "claude", "--yes")
    run("uninstall", "codex", "--yes")
    assert set(files(person)) == {WHOLE, ".claude.json", *skills_in(".claude")}


def test_a_machine_without_clients_is_told_how_to_name_one(
    run: Run, person: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (".claude", ".codex"):
        (person / folder).rmdir()
    monkeypatch.setenv("PATH", "/nowhere")
    said = run("install", "--yes")
    assert said.code == 4 and "swarmlore install claude, or codex, gemini, copilot, opencode" in said.err
    said = run("install", "cluade", "--yes")
    assert said.code == 2 and "did you mean: claude" in said.err


def test_a_file_that_cannot_be_read_is_named_with_what_to_do(run: Run, person: Path) -> None:
    (person / ".codex/config.toml").write_text("model = ")
    before = files(person)
    said = run("install", "codex", "--yes")
    assert said.code == 9
    assert str(person / ".codex/config.toml") in said.err and "nothing was changed" in said.err
    assert files(person) == before


def test_a_file_that_cannot_be_read_leaves_out_its_own_client_only(run: Run, person: Path) -> None:
    broken = person / ".codex/config.toml"
    broken.write_text("model = ")
    said = run("install", "--yes")
    assert said.code == 9 and f"Changed {2 + HOW_MANY} files." in said.out
    assert f"left out: Codex: {broken} cannot be read as TOML" in said.err and "mend it" in said.err
    assert "nothing was changed" not in said.err
    assert set(files(person)) == {WHOLE, ".claude.json", *skills_in(".claude"), ".codex/config.toml"}
    (refused,) = run("install", "--json", "--yes").json["refused"]
    assert (refused["client"], refused["exit_code"]) == ("codex", 9)
    assert run("uninstall", "--yes").code == 0  # nothing of ours is in that file
    assert files(person) == {".codex/config.toml": b"model = "}


def test_a_broken_file_with_our_entries_in_it_is_not_passed_over(run: Run, person: Path, world: Path) -> None:
    run("install", "--yes")
    settings = person / WHOLE
    settings.write_text(settings.read_text() + "}")
    (world / "home" / "installed.json").unlink()
    said = run("uninstall", "--yes")
    assert said.code == 9 and str(settings) in said.err
    assert set(files(person)) == {WHOLE, ".claude.json", *skills_in(".claude")}


@pytest.mark.parametrize("content", [b"{", b"\xff", b'{"a": 1,}'])
@pytest.mark.parametrize("words", [("uninstall",), ("uninstall", "claude"), ("uninstall", "--project", "claude")])
def test_where_nothing_was_installed_uninstalling_never_fails(
    run: Run, person: Path, world: Path, words: tuple[str, ...], content: bytes
) -> None:
    (world / "project" / ".claude").mkdir()
    for folder in (person, world / "project"):
        (folder / WHOLE).write_bytes(content)
    said = run(*words, "--yes")
    assert (said.code, said.out) == (0, "Nothing has to be changed.\n")
    assert not (world / "home").exists()


def test_uninstalling_makes_no_memory(run: Run, person: Path, world: Path) -> None:
    run("install", "claude", "--yes")
    (world / "home" / "installed.json").unlink()
    (world / "home").rmdir()
    assert f"Changed {2 + HOW_MANY} files." in run("uninstall", "--yes").out
    assert files(person) == {} and not (world / "home").exists()


def test_a_list_of_what_another_home_has_taken_out_is_cleared(
    run: Run, person: Path, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("install", "claude", "--yes")
    monkeypatch.setenv("SWARMLORE_HOME", str(world / "another"))
    run("uninstall", "--yes")
    monkeypatch.setenv("SWARMLORE_HOME", str(world / "home"))
    assert (world / "home" / "installed.json").exists()
    assert "Nothing has to be changed." in run("uninstall", "--yes").out
    assert not (world / "home" / "installed.json").exists()


@posix
@pytest.mark.parametrize("typed", ["n\n", "\n", "\x04"], ids=["n", "nothing", "the end of the input"])
def test_a_no_is_an_answer_and_no_error(person: Path, world: Path, typed: str) -> None:
    asked = Terminal("install", "claude")
    seen = asked.answer(typed)
    assert asked.child.returncode == 0 and files(person) == {}
    asked_for = "[y/N] \n" if typed == "\x04" else "[y/N] "  # else the person's own key ended the line
    assert seen.replace("\r", "").endswith(f"{asked_for}Nothing was changed.\n") and "error" not in seen


@pytest.mark.parametrize("words", [("claude", "--project"), ("--project", "claude"), ("claude", "--project", ".")])
def test_a_project_gets_its_own_files(
    run: Run, person: Path, world: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = a_repository(world / "repo", commit=True)
    (root / "src").mkdir()
    monkeypatch.chdir(root / "src" if "." not in words else root)
    said = run("install", *words, "--yes")
    assert said.code == 0, said.err
    assert git(root, "status", "--porcelain", "--untracked-files=all").split()[1::2] == [
        *(".claude/settings.json", *skills_in(".claude"), ".mcp.json"),
    ]
    assert files(person) == {}
    assert str(world) not in (root / WHOLE).read_text() + (root / ".mcp.json").read_text()
    run("uninstall", "--project", "--yes")
    assert git(root, "status", "--porcelain") == ""


def test_what_a_colleague_installed_in_the_project_can_be_taken_out(
    run: Run, person: Path, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = a_repository(world / "repo", commit=True)
    monkeypatch.chdir(root)
    run("install", "claude", "codex", "--project", "--yes")
    monkeypatch.setenv("SWARMLORE_HOME", str(world / "another"))
    run("uninstall", "--project", "--yes")
    assert git(root, "status", "--porcelain", "--untracked-files=all") == ""


def test_programs_get_the_whole_plan(run: Run, person: Path) -> None:
    said = run("install", "codex", "--yes", "--json").json
    assert (said["clients"], said["changed"], len(said["files"])) == (["codex"], True, 2 + HOW_MANY)
    assert said["files"][0]["path"] == str(person / ".codex/hooks.json")
    assert said["files"][0]["change"] == "new"
    assert all(line[0] in " +-" for file in said["files"] for line in file["diff"])
    assert "/hooks" in said["to_do"][0]
    assert run("uninstall", "--dry-run", "--json").json["changed"] is False


# status


def test_sessions_are_counted_per_client(store: Store, engine_name: str) -> None:
    for number, (caller, client) in enumerate(((ALICE, "claude"), (ALICE, "codex"), (OTHER, "codex"), (ALICE, ""))):
        store.put_session(caller, Session(f"s{number}", client, started_at=NOW + number))
    elsewhere = engine_name == "sqlite"  # a server shows nobody what other projects do
    assert store.clients(ALICE) == {"claude": (1, NOW), "codex": (2, NOW + 2) if elsewhere else (1, NOW + 1)}


def report(world: Path, client: str, *, text: str = "") -> None:
    """What a client leaves behind: a session with an event, and something it was given, or not."""
    who = Caller(str(world / "project"), client, "worker", 2)
    with Lore.open(world / "home", cwd=world / "project", caller=who, env=quick_env()) as lore:
        if text:
            lore.remember(text)
        lore.start_session(f"{client}-1", client=client, last_event_at=lore.now())
        lore.block("how are snapshot tests recorded", session=f"{client}-1")


def test_status_says_what_is_installed_and_what_is_left_to_do(run: Run, person: Path, world: Path) -> None:
    assert "not installed" in run("status").out
    assert "to do: It is not installed: swarmlore install codex" in run("status").out
    run("install", "--yes")
    said = run("status").out
    assert f"installed in {person / '.codex'}, by version" in said
    assert "last event      none yet" in said
    assert "to do: Codex skips hooks that nobody trusts" in said
    report(world, "codex")
    assert "Codex skips hooks" not in run("status").out


def test_status_says_what_was_last_given_and_why_nothing_was(
    run: Run, person: Path, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWARMLORE_ROLE", "lead")
    run("install", "--yes")
    report(world, "codex")
    report(world, "claude", text="Snapshot tests are recorded with make snap-record, never by hand")
    claude, codex, *others = run("status", "--json").json["clients"]
    assert not any(other["found"] or other["to_do"] for other in others)
    assert (claude["client"], claude["activity"]["sessions"], claude["activity"]["all_sessions"]) == ("claude", 1, 1)
    assert claude["activity"]["last_event_at"]
    assert len(claude["activity"]["last_injection"]["handles"]) == 1
    assert codex["activity"]["last_injection"] is None
    assert codex["activity"]["last_skip"]["reason"]
    handle = claude["activity"]["last_injection"]["handles"][0]
    assert f"last given      {handle} (prompt, " in run("status").out


def test_status_notices_a_lost_program_another_home_and_missing_entries(run: Run, person: Path, world: Path) -> None:
    run("install", "claude", "--yes")
    text = (person / WHOLE).read_text()
    (person / WHOLE).write_text(text.replace(os.path.dirname(sys.executable), "/gone").replace('"Stop"', '"Stopp"'))
    level = run("status", "--json").json["clients"][0]["levels"][0]
    assert (level["installed"], level["program_found"], level["this_home"]) == ("partly", False, True)
    said = run("status").out
    assert "/gone/swarmlore is gone" in said and "Some entries are missing: swarmlore install claude" in said
    run("install", "claude", "--yes")
    assert "to do: It uses another memory" in run("status", "--home", str(world / "else")).out
    (person / WHOLE).write_text("{")
    assert "cannot be read as JSON" in run("status").out


def test_status_of_one_client(run: Run, person: Path) -> None:
    assert [one["client"] for one in run("status", "codex", "--json").json["clients"]] == ["codex"]
    assert run("status", "codecs").code == 2


def test_status_shows_the_project_too(run: Run, person: Path, world: Path) -> None:
    run("install", "claude", "--project", "--yes")
    said = run("status")
    assert "this project    installed in" in said.out
    levels = run("status", "--json").json["clients"][0]["levels"]
    assert [(level["level"], level["installed"]) for level in levels] == [("user", "no"), ("project", "yes")]


def test_in_a_process_of_its_own(world: Path, person: Path) -> None:
    assert process("install", "claude", "--yes").returncode == 0
    assert process("uninstall", "--yes").returncode == 0
    assert files(person) == {}
