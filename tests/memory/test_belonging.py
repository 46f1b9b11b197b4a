"""A project keeps its memory when it gets a remote, moves or is renamed; and no other project gets at it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import quick_env
from homes import PROGRAM, prints
from repositories import a_repository, git
from swarmlore.errors import InvalidInput, NotAllowed, NotFound
from swarmlore.lore import Lore
from swarmlore.workspace.project import MARKER, find_project

FIRST = "Snapshot tests are recorded with make snap-record, never by hand"
SECOND = "Every package of the web folder is installed with pnpm"
THIRD = "The staging database listens on port 6543 behind the tunnel"
Open = Callable[..., Lore]
posix = pytest.mark.skipif(os.name != "posix", reason="needs a POSIX file system")


@pytest.fixture
def at(engine_name: str, tmp_path: Path) -> Open:
    """Opens one and the same memory from a folder, as an agent."""
    where = {}
    if engine_name == "postgres":
        from databases import server

        server().empty()
        where = {"SWARMLORE_STORE_URL": server().url}

    def opened(folder: Path, agent: str = "alice", role: str = "worker", **env: str) -> Lore:
        who = {"SWARMLORE_AGENT": agent, "SWARMLORE_ROLE": role}
        return Lore.open(tmp_path / "home", cwd=folder, env=quick_env(**where, **who, **env))

    return opened


def tell(at: Open, folder: Path, text: str, **facts: str) -> None:
    agent = facts.pop("agent", "alice")
    with at(folder, agent) as lore:
        lore.remember(text, **facts)


def told(at: Open, folder: Path, agent: str = "alice") -> set[str]:
    with at(folder, agent) as lore:
        return {memory.text for memory in lore.list(limit=100)}


def marker_of(folder: Path) -> Path:
    return Path(find_project(str(folder)).marker)


# What must not be lost


def test_adding_a_remote_later_loses_nothing(at: Open, tmp_path: Path) -> None:
    root = a_repository(tmp_path / "app")
    tell(at, root, FIRST)
    git(root, "remote", "add", "origin", "https://git.example/app")
    assert told(at, root) == {FIRST}
    tell(at, root, SECOND)
    assert told(at, root) == {FIRST, SECOND}
    assert told(at, a_repository(tmp_path / "clone", "git@git.example:app.git")) == {FIRST, SECOND}


def test_moving_a_repository_loses_nothing(at: Open, tmp_path: Path) -> None:
    root = a_repository(tmp_path / "app")
    tell(at, root, FIRST)
    (tmp_path / "new").mkdir()
    moved = root.rename(tmp_path / "new" / "name")
    assert told(at, moved) == {FIRST}
    tell(at, moved, SECOND)
    assert told(at, moved.rename(tmp_path / "again")) == {FIRST, SECOND}


def test_moving_a_folder_with_a_swarm_folder_loses_nothing(at: Open, tmp_path: Path) -> None:
    root = tmp_path / "notes"
    (root / ".swarm").mkdir(parents=True)
    tell(at, root, FIRST)
    moved = root.rename(tmp_path / "moved")
    assert told(at, moved) == {FIRST}
    git(moved, "init", "--quiet")
    assert told(at, moved) == {FIRST}
    tell(at, moved, SECOND)
    shutil.rmtree(moved / ".swarm")  # git's own folder has the marker by now
    assert told(at, moved.rename(tmp_path / "again")) == {FIRST, SECOND}


def test_a_new_address_of_the_remote_loses_nothing(at: Open, tmp_path: Path) -> None:
    root = a_repository(tmp_path / "app", "https://git.example/old")
    tell(at, root, FIRST)
    git(root, "remote", "set-url", "origin", "https://other.example/new")
    assert told(at, root) == {FIRST}
    tell(at, root, SECOND)
    assert told(at, a_repository(tmp_path / "old", "https://git.example/old")) == {FIRST, SECOND}
    assert told(at, a_repository(tmp_path / "new", "https://other.example/new")) == {FIRST, SECOND}
    git(root, "remote", "remove", "origin")
    assert told(at, root) == {FIRST, SECOND}


def test_two_clones_with_and_without_a_remote_can_become_one(at: Open, tmp_path: Path) -> None:
    with_, without = a_repository(tmp_path / "with", "https://git.example/app"), a_repository(tmp_path / "without")
    tell(at, with_, FIRST)
    tell(at, without, SECOND)
    assert (told(at, with_), told(at, without)) == ({FIRST}, {SECOND})
    git(without, "remote", "add", "origin", "ssh://git@git.example/app.git")
    assert told(at, without) == {FIRST, SECOND}
    tell(at, without, THIRD)
    assert told(at, with_) == told(at, without) == {FIRST, SECOND, THIRD}


def test_worktrees_and_clones_are_one_project(at: Open, tmp_path: Path) -> None:
    root = a_repository(tmp_path / "app", commit=True)
    git(tmp_path, "clone", "--quiet", "app", "clone")
    tell(at, tmp_path / "clone", FIRST)  # before the first has a marker
    git(root, "worktree", "add", "--quiet", "../tree")
    tell(at, tmp_path / "tree", SECOND)
    assert told(at, root) == told(at, tmp_path / "tree") == told(at, tmp_path / "clone") == {FIRST, SECOND}
    assert marker_of(tmp_path / "tree") == marker_of(root) == root / ".git" / MARKER


def test_what_was_told_where_git_could_not_be_written_is_found_later(at: Open, tmp_path: Path) -> None:
    root = a_repository(tmp_path / "app")
    (root / ".git" / MARKER).mkdir()  # nothing can be put in its place
    tell(at, root, FIRST)
    (root / ".git" / MARKER).rmdir()
    assert told(at, root) == {FIRST}
    tell(at, root, SECOND)
    assert told(at, root.rename(tmp_path / "moved")) == {FIRST, SECOND}


def test_what_was_imported_moves_along_too(at: Open, tmp_path: Path) -> None:
    one, two = a_repository(tmp_path / "one"), a_repository(tmp_path / "two")
    tell(at, one, FIRST)
    with at(one) as lore:
        (tmp_path / "lessons.jsonl").write_bytes(b"".join(lore.export_lines()))
    with at(two) as lore:
        lore.import_file(str(tmp_path / "lessons.jsonl"))
    brought = told(at, two)
    assert told(at, two.rename(tmp_path / "moved")) == brought
    assert find_project(str(tmp_path / "moved")).marked


def test_undo_reaches_back_over_a_new_name(at: Open, tmp_path: Path) -> None:
    root = a_repository(tmp_path / "app")
    tell(at, root, FIRST)
    git(root, "remote", "add", "origin", "https://git.example/app")
    with at(root) as lore:
        lore.undo()
    assert told(at, root) == set()


def test_what_is_known_under_an_older_name_is_confirmed_not_doubled(at: Open, tmp_path: Path) -> None:
    root = a_repository(tmp_path / "app")
    tell(at, root, FIRST)
    git(root, "remote", "add", "origin", "https://git.example/app")
    with at(root.rename(tmp_path / "moved"), "bob") as lore:
        assert lore.remember(FIRST).outcome == "confirmed"


# What must not be mixed


def test_another_repository_at_the_old_place_inherits_nothing(at: Open, tmp_path: Path) -> None:
    root = a_repository(tmp_path / "app")
    tell(at, root, FIRST)
    root.rename(tmp_path / "moved")
    other = a_repository(tmp_path / "elsewhere").rename(root)
    assert told(at, other) == set()
    tell(at, other, SECOND)
    assert (told(at, other), told(at, tmp_path / "moved")) == ({SECOND}, {FIRST})
    other.rename(tmp_path / "second")
    third = a_repository(root)
    assert told(at, third) == set()
    tell(at, third, THIRD)
    assert [told(at, tmp_path / name) for name in ("moved", "second", "app")] == [{FIRST}, {SECOND}, {THIRD}]


def test_a_clone_of_another_repository_at_the_old_place_inherits_nothing(at: Open, tmp_path: Path) -> None:
    root = a_repository(tmp_path / "app", commit=True)
    tell(at, root, FIRST)
    git(tmp_path, "clone", "--quiet", "app", "clone")
    tell(at, tmp_path / "clone", SECOND)
    root.rename(tmp_path / "moved")
    a_repository(root, commit=True)
    git(tmp_path, "clone", "--quiet", "app", "stranger")
    assert told(at, tmp_path / "stranger") == told(at, root) == set()
    assert told(at, tmp_path / "clone") == told(at, tmp_path / "moved") == {FIRST, SECOND}


def test_a_repository_with_another_remote_at_the_old_place_inherits_nothing(at: Open, tmp_path: Path) -> None:
    root = a_repository(tmp_path / "app", "https://git.example/one")
    tell(at, root, FIRST)
    shutil.rmtree(root)
    assert told(at, a_repository(root, "https://git.example/two")) == set()


def test_a_folder_at_the_place_of_a_marked_one_inherits_nothing(at: Open, tmp_path: Path) -> None:
    root = tmp_path / "notes"
    (root / ".swarm").mkdir(parents=True)
    tell(at, root, FIRST)
    root.rename(tmp_path / "moved")
    root.mkdir()
    assert told(at, root) == set()


def test_a_submodule_and_its_parent_keep_apart(at: Open, tmp_path: Path) -> None:
    library = a_repository(tmp_path / "library", commit=True)
    parent = a_repository(tmp_path / "parent", commit=True)
    git(parent, "submodule", "--quiet", "add", str(library), "lib")
    tell(at, parent, FIRST)
    tell(at, parent / "lib", SECOND)
    assert (told(at, parent), told(at, parent / "lib"), told(at, library)) == ({FIRST}, {SECOND}, {SECOND})
    git(parent / "lib", "remote", "remove", "origin")
    assert (told(at, parent), told(at, parent / "lib")) == ({FIRST}, {SECOND})


def test_a_copy_with_another_remote_becomes_a_project_of_its_own(at: Open, tmp_path: Path) -> None:
    root = a_repository(tmp_path / "template", "https://git.example/template")
    tell(at, root, FIRST)
    shutil.copytree(root, tmp_path / "app")
    git(tmp_path / "app", "remote", "set-url", "origin", "https://git.example/app")
    tell(at, tmp_path / "app", SECOND)
    assert (told(at, root), told(at, tmp_path / "app")) == ({FIRST}, {SECOND})
    assert marker_of(root).read_text() != marker_of(tmp_path / "app").read_text()


def test_what_is_private_stays_private_through_every_join(at: Open, tmp_path: Path) -> None:
    one, two = a_repository(tmp_path / "one"), a_repository(tmp_path / "two", "https://git.example/app")
    tell(at, one, FIRST, tier="agent", agent="alice")
    tell(at, two, SECOND, tier="agent", agent="bob")
    git(one, "remote", "add", "origin", "https://git.example/app")
    tell(at, one, THIRD, agent="carol")
    for folder in (one, two):
        assert told(at, folder, "alice") == {FIRST, THIRD}
        assert told(at, folder, "bob") == {SECOND, THIRD}
        assert told(at, folder, "carol") == {THIRD}
        with at(folder, "lead", "lead") as lore:
            assert {memory.text for memory in lore.list()} == {THIRD}


def test_a_project_that_is_named_has_nothing_to_do_with_the_folder(at: Open, tmp_path: Path) -> None:
    root = a_repository(tmp_path / "app", "https://git.example/app")
    with at(root, SWARMLORE_PROJECT="mine") as lore:
        lore.remember(FIRST)
        assert lore.caller.project == "mine"
        with pytest.raises(InvalidInput):
            lore.identity()
    assert not marker_of(root).exists()
    assert told(at, root) == set()


# The marker


def test_reading_and_refusals_leave_no_marker(at: Open, tmp_path: Path) -> None:
    root = a_repository(tmp_path / "app")
    with at(root) as lore:
        lore.list(), lore.recall("anything at all"), lore.stats(), lore.identity()
        lore.start_session("s")
        lore.block("anything at all", session="s")
        with pytest.raises(Exception, match="too short"):
            lore.remember("short")
    assert not marker_of(root).exists()
    tell(at, root, FIRST)
    before = marker_of(root).read_bytes()
    assert find_project(str(root)).marked
    tell(at, root, SECOND)
    assert marker_of(root).read_bytes() == before
    assert sorted(path.name for path in (root / ".git").glob(f"{MARKER}*")) == [MARKER]


def test_reading_under_a_new_name_writes_nothing(tmp_path: Path) -> None:
    def opened() -> Lore:
        return Lore.open(tmp_path / "home", cwd=root, env=quick_env(SWARMLORE_AGENT="alice"))

    root = a_repository(tmp_path / "app")
    with opened() as lore:
        lore.remember(FIRST)
    git(root, "remote", "add", "origin", "https://git.example/app")
    before = prints(tmp_path / "home")
    with opened() as lore:
        assert [memory.text for memory in lore.list()] == [FIRST]
        assert lore.recall("snapshot tests are recorded")
    assert prints(tmp_path / "home") == before
    (tmp_path / "home" / "lore.db").chmod(0o400)
    with opened() as lore:
        assert [memory.text for memory in lore.list()] == [FIRST]


@posix
def test_a_folder_that_cannot_be_written_is_no_reason_to_fail(at: Open, tmp_path: Path) -> None:
    root = a_repository(tmp_path / "app")
    (root / ".git" / MARKER).mkdir()
    for text in (FIRST, SECOND):
        tell(at, root, text)
    assert told(at, root) == {FIRST, SECOND}
    assert [path.name for path in (root / ".git").glob(f"{MARKER}*")] == [MARKER]


def test_many_first_writers_agree_on_one_marker(tmp_path: Path) -> None:
    root = a_repository(tmp_path / "app")
    env = {**os.environ, **quick_env(SWARMLORE_HOME=str(tmp_path / "home"), SWARMLORE_AGENT="alice")}
    texts = [f"Service number {n * 7919} listens on port {n * 31 + 2000} of host h{n}" for n in range(4)]
    running = [
        subprocess.Popen([*PROGRAM, "remember", "--defer", text], cwd=root, env=env, stdout=subprocess.DEVNULL)
        for text in texts
    ]
    assert [process.wait(120) for process in running] == [0] * len(texts)
    moved = root.rename(tmp_path / "moved")
    with Lore.open(tmp_path / "home", cwd=moved, env=quick_env(SWARMLORE_AGENT="alice")) as lore:
        assert {memory.text for memory in lore.list()} == set(texts)
    assert len(list((moved / ".git").glob(f"{MARKER}*"))) == 1


AT_THE_LINK = """
import os, subprocess, sys
from swarmlore.main import main
link = os.link
def at_the_link(*names):
    os.link = link
    {}
os.link = at_the_link
sys.exit(main())
"""


@posix
@pytest.mark.parametrize(
    ("act", "code"),
    [
        ("os._exit(9)", 9),
        ("link(*names); os._exit(9)", 9),
        ("subprocess.run(SWIFT, check=True); link(*names)", 0),
    ],
    ids=["killed before", "killed after", "another process was faster"],
)
def test_whatever_happens_while_the_marker_is_written_nothing_is_lost(tmp_path: Path, act: str, code: int) -> None:
    root = a_repository(tmp_path / "app")
    env = {**os.environ, **quick_env(SWARMLORE_HOME=str(tmp_path / "home"), SWARMLORE_AGENT="alice")}
    swift = [sys.executable, "-m", "swarmlore", "--home", str(tmp_path / "other"), "remember", "--defer", SECOND]
    command = [
        sys.executable,
        "-c",
        AT_THE_LINK.format(act.replace("SWIFT", repr(swift))),
        "remember",
        FIRST,
        "--defer",
    ]
    assert subprocess.run(command, cwd=root, env=env, check=False, stdout=subprocess.DEVNULL).returncode == code

    def lore(folder: Path, home: str = "home") -> Lore:
        return Lore.open(tmp_path / home, cwd=folder, env=quick_env(SWARMLORE_AGENT="alice"))

    with lore(root) as opened:
        opened.remember(THIRD)
    moved = root.rename(tmp_path / "moved")
    with lore(moved) as opened:
        assert {memory.text for memory in opened.list()} == {FIRST, THIRD}
        assert opened.caller.project == str(root / ".git")
    with lore(moved, "other") as opened:  # a memory of its own, which knows the same marker
        assert {memory.text for memory in opened.list()} == ({SECOND} if code == 0 else set())


@pytest.mark.skipif(sys.platform != "linux", reason="reads every file under the home")
def test_no_byte_of_a_login_is_kept(tmp_path: Path) -> None:
    root = a_repository(tmp_path / "app", "https://mylogin:hunter2word@git.example/app")
    env = quick_env(SWARMLORE_AGENT="alice", SWARMLORE_ROLE="lead")
    for url in (
        "https://mylogin:hunter2word@git.example/app2?private_token=hunter2word",
        "mylogin:hunter2word@git.example:x",
    ):
        with Lore.open(tmp_path / "home", cwd=root, env=env) as lore:
            lore.remember(FIRST)
            with pytest.raises(NotFound) as refused:
                lore.join("https://mylogin:hunter2word@unknown.example/x")
            assert "hunter2word" not in f"{refused.value.message}{refused.value.hint}{lore.identity()!r}"
            git(root, "remote", "set-url", "origin", url)
            kept = b"".join(path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file())
            kept += marker_of(root).read_bytes()
            assert b"hunter2word" not in kept
            assert b"mylogin" not in kept


# What a person says


def test_a_folder_without_anything_can_be_said_to_have_moved(at: Open, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    tell(at, old, FIRST)
    old.rename(new)
    assert told(at, new) == set()
    with at(new, "lead", "lead") as lore:
        assert set(lore.join(str(old)).aliases) == {str(old), str(new)}
        assert [memory.text for memory in lore.list()] == [FIRST]
    tell(at, new, SECOND)
    assert told(at, new) == {FIRST, SECOND}
    with at(new, "lead", "lead") as lore:
        lore.part(str(old))
    assert FIRST not in told(at, new)
    old.mkdir()
    assert FIRST in told(at, old)


def test_git_that_came_later_is_noticed_and_can_be_joined(at: Open, tmp_path: Path) -> None:
    root = tmp_path / "app"
    root.mkdir()
    tell(at, root, FIRST)
    git(root, "init", "--quiet")
    with at(root, "lead", "lead") as lore:
        assert lore.identity().unclaimed == (str(root),)
        assert lore.join(str(root)).unclaimed == ()
    assert told(at, root) == {FIRST}
    tell(at, root, SECOND)
    assert told(at, root.rename(tmp_path / "moved")) == {FIRST, SECOND}


def test_an_address_or_an_id_can_be_a_former_name(at: Open, tmp_path: Path) -> None:
    one, two = a_repository(tmp_path / "one", "https://git.example/one"), a_repository(tmp_path / "two")
    tell(at, one, FIRST)
    with at(two, "lead", "lead") as lore:
        lore.join("ssh://git@git.example/one.git")
        lore.remember(SECOND)
    assert told(at, one) == told(at, two) == {FIRST, SECOND}


@pytest.mark.parametrize("said", ["folder", "address"])
def test_what_was_joined_can_be_parted_with_all_that_came_with_it(at: Open, tmp_path: Path, said: str) -> None:
    one, two = a_repository(tmp_path / "one", "https://git.example/one"), a_repository(tmp_path / "two")
    tell(at, one, FIRST)
    tell(at, two, SECOND)
    with at(two, "lead", "lead") as lore:
        before = lore.identity()
        name = str(one) if said == "folder" else "git.example/one"
        assert told(at, one) == {FIRST}
        lore.join(name)
        assert {memory.text for memory in lore.list()} == {FIRST, SECOND}
        assert lore.part(name).aliases == before.aliases
    assert (told(at, one), told(at, two)) == ({FIRST}, {SECOND})
    assert told(at, one.rename(tmp_path / "moved")) == {FIRST}


@pytest.mark.parametrize("said", ["folder", "address"])
def test_a_new_folder_that_was_joined_can_leave_again(at: Open, tmp_path: Path, said: str) -> None:
    one, two = a_repository(tmp_path / "one", "https://git.example/one"), a_repository(tmp_path / "two")
    tell(at, one, FIRST)
    name = str(one) if said == "folder" else "git.example/one"
    with at(two, "lead", "lead") as lore:
        lore.join(name)
    assert told(at, two) == {FIRST}
    with at(two, "lead", "lead") as lore:
        lore.part(name)
    assert (told(at, one), told(at, two)) == ({FIRST}, set())


def test_only_a_lead_or_a_person_says_which_projects_are_one(at: Open, tmp_path: Path) -> None:
    one, two = a_repository(tmp_path / "one", "https://git.example/one"), a_repository(tmp_path / "two")
    tell(at, one, FIRST)
    with at(two) as lore:
        for act in (lore.join, lore.part):
            with pytest.raises(NotAllowed):
                act("git.example/one")
    with at(two, "lead", "lead") as lore:
        with pytest.raises(NotFound):
            lore.join("git.example/nonsense")
        with pytest.raises(NotFound):
            lore.part("git.example/one")
        with pytest.raises(InvalidInput):
            lore.part(lore.identity().names[0])
    assert told(at, two) == set()


@pytest.mark.parametrize("name", ["", "  ", "a\x00b", "a\nb", "x" * 5000, "\udce9", None, 7])
def test_a_name_that_is_none_is_refused(tmp_path: Path, name: Any) -> None:
    env = quick_env(SWARMLORE_AGENT="a", SWARMLORE_ROLE="lead")
    with Lore.open(tmp_path / "home", cwd=tmp_path, env=env) as lore:
        for act in (lore.join, lore.part):
            with pytest.raises(InvalidInput):
                act(name)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have less room for paths")
def test_very_long_names_have_room_too(at: Open, tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["é" * 100] * 10)
    deep.mkdir(parents=True)
    long = "https://git.example/" + "ü" * 1900
    for folder, text in (
        (deep / "plain", FIRST),
        (a_repository(deep / "app"), SECOND),
        (a_repository(deep / "b", long), THIRD),
    ):
        folder.mkdir(exist_ok=True)
        tell(at, folder, text)
        assert told(at, folder) == {text}
    assert told(at, a_repository(tmp_path / "c", long + "x")) == set()


def test_the_command_shows_and_joins(tmp_path: Path) -> None:
    root, other = a_repository(tmp_path / "app", "https://git.example/app"), tmp_path / "other"
    other.mkdir()
    (root / "go.mod").touch()
    who = {"SWARMLORE_AGENT": "a", "SWARMLORE_ROLE": "lead", "COLUMNS": ""}
    env = {**os.environ, **quick_env(SWARMLORE_HOME=str(tmp_path / "home"), **who)}

    def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*PROGRAM, *words], cwd=folder, env=env, capture_output=True, text=True, check=False)

    assert run(other, "remember", "--defer", FIRST).returncode == 0
    shown = json.loads(run(root, "project", "--json").stdout)
    assert (shown["id"], shown["root"], shown["found_by"]) == ("git.example/app", str(root), "origin")
    assert (shown["stacks"], shown["marker"], shown["aliases"]) == (["go"], "", ["git.example/app"])
    assert "the address of its remote" in run(root, "project").stdout
    joined = run(root, "project", "--was", str(other))
    assert f"formerly  {other}" in joined.stdout
    assert FIRST in run(root, "list", "--json").stdout
    assert run(root, "project", "--not", str(other)).returncode == 0
    assert FIRST not in run(root, "list", "--json").stdout
    assert run(root, "project", "--was", "x", "--not", "y").returncode == 2
    assert run(root, "project", "--was", "https://me:hunter2word@h/x").returncode == 4
    assert "hunter2word" not in run(root, "project", "--was", "https://me:hunter2word@h/x").stderr
