"""Which project a folder belongs to, in repositories made by real git."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from programs import need
from repositories import a_repository, git
from swarmlore.workspace import git as git_files
from swarmlore.workspace.project import MARKER, find_project, is_mark, plain_name, stacks

posix = pytest.mark.skipif(os.name != "posix", reason="needs a POSIX file system")
LOT = "0123456789abcdef" * 2


def id_of(folder: Path) -> str:
    return find_project(str(folder)).id


def mark(folder: Path, name: str, place: str = "") -> None:
    (folder / MARKER).write_text(f"{name}\n{place}\n")


# Remotes


@pytest.mark.parametrize(
    "url",
    [
        "https://git.example/team/app.git",
        "https://me:secret@git.example/team/app",
        "ssh://git@git.example/team/app",
        "git@git.example:team/app.git",
        "git://git.example/team/app",
    ],
)
def test_the_address_of_origin_is_the_project(tmp_path: Path, url: str) -> None:
    project = find_project(str(a_repository(tmp_path / "x", url)))
    assert (project.id, project.names, project.found_by) == (
        "git.example/team/app",
        ("git.example/team/app",),
        "origin",
    )
    assert (project.name, project.root, project.place) == ("app", str(tmp_path / "x"), "")
    assert "secret" not in repr(project)


def test_a_folder_inside_a_repository_belongs_to_it(tmp_path: Path) -> None:
    root = a_repository(tmp_path / "repo", "https://git.example/a")
    inner = root / "src" / "deep"
    inner.mkdir(parents=True)
    assert find_project(str(inner)) == find_project(str(root)) == find_project(str(root / ".git" / "hooks"))


@pytest.mark.parametrize(
    ("remotes", "chosen"),
    [
        (("fork", "origin", "upstream"), "origin"),
        (("zebra",), "zebra"),
        (("mine", "upstream"), "upstream"),
        (("mine", "another"), "another"),
        (("ORIGIN", "bob"), "ORIGIN"),
    ],
)
def test_of_several_remotes_one_is_taken(tmp_path: Path, remotes: tuple[str, ...], chosen: str) -> None:
    root = a_repository(tmp_path / "x")
    for name in remotes:
        git(root, "remote", "add", name, f"https://git.example/{name}")
    assert id_of(root) == f"git.example/{chosen}"


def test_where_one_pushes_to_does_not_matter(tmp_path: Path) -> None:
    root = a_repository(tmp_path / "x", "https://git.example/a")
    git(root, "remote", "set-url", "--push", "origin", "https://git.example/b")
    assert id_of(root) == "git.example/a"


def test_included_files_are_not_followed(tmp_path: Path) -> None:
    root = a_repository(tmp_path / "x")
    (tmp_path / "more").write_text('[remote "origin"]\n\turl = https://git.example/a\n')
    git(root, "config", "include.path", str(tmp_path / "more"))
    assert find_project(str(root)).found_by == "git"


@pytest.mark.parametrize(
    "text",
    [
        '[remote "origin"]\n\turl = https://a/one\n\turl = https://a/two\n',
        '[remote "origin"]\n\turl = https://a/one\n[remote "origin"]\n\turl = https://a/two\n',
        '[REMOTE "origin"]\nURL=https://a/one\n',
        "[remote.ORIGIN]\nurl = https://a/one\n",
        '[remote "Origin"]\nurl = https://a/other\n[remote "origin"]\nurl = https://a/one\n',
        '[remote "origin"] url = https://a/one # comment\n',
        '[remote   "origin"]; comment\n  url = "https://a/one"  ; comment\n',
        '[remote "origin"]\n  url = "https://a/o#;ne" # "comment"\n',
        '[remote "origin"]\n  url = https://a/o\\\nne  \\\n  \n',
        '[remote "or\\igin"]\n  url = https://a/one\n',
        '[alias]\n  x = y \\\n[remote "origin"]\n  url = https://a/hidden\n[remote "origin"]\nurl = https://a/one\n',
        '[alias]\n  x = y # comment \\\n[remote "origin"]\n  url = https://a/one\n',
        '\ufeff[remote "origin"]\r\n\turl = https://a/one\r\n',
        '[remote "origin"]\n\turl = "https://a/\\"quoted\\"\\\\"\n',
        '[branch "origin"]\n\turl = https://a/other\n[remote "origin"]\n\turl = https://a/one\n',
        "".join(f'[branch "b{n}"]\n\tremote = origin\n' for n in range(9000))
        + '[remote "origin"]\nurl = https://a/one\n',
    ],
)
def test_a_configuration_is_read_as_git_reads_it(tmp_path: Path, text: str) -> None:
    root = a_repository(tmp_path / "x")
    with (root / ".git" / "config").open("wb") as file:
        file.write(text.encode())
    assert git_files.remote_url(str(root / ".git")) == git(root, "remote", "get-url", "origin")


@pytest.mark.parametrize(
    "text", ["[", '[remote "origin', "]", '[remote "origin"]\nurl', "\\", '[remote "origin"]\nurl="', "\x00"]
)
def test_a_broken_configuration_is_no_reason_to_fail(tmp_path: Path, text: str) -> None:
    root = a_repository(tmp_path / "x")
    (root / ".git" / "config").write_text(text)
    assert find_project(str(root)).found_by == "git"


def test_a_shorthand_is_written_out_and_a_whole_address_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".gitconfig").write_text(
        '[url "git@github.com:"]\n\tinsteadOf = gh:\n[url "git@github.com:acme/"]\n\tinsteadOf = gh:a/\n'
        '[url "https://mirror.example/"]\n\tinsteadOf = https://git.example/\n'
    )
    assert id_of(a_repository(tmp_path / "1", "gh:team/app")) == "github.com/team/app"
    assert id_of(a_repository(tmp_path / "2", "gh:a/app")) == "github.com/acme/app"
    assert id_of(a_repository(tmp_path / "3", "https://git.example/app")) == "git.example/app"
    own = a_repository(tmp_path / "4", "work:app")
    git(own, "config", "url.ssh://git@work.example/.insteadOf", "work:")
    assert id_of(own) == "work.example/app"


# Remotes on this machine


def test_a_clone_of_a_folder_is_the_same_project(tmp_path: Path) -> None:
    first = a_repository(tmp_path / "first", commit=True)
    git(tmp_path, "clone", "--quiet", "first", "second")
    git(tmp_path, "clone", "--quiet", f"file://{tmp_path}/second/.git", "third")
    assert id_of(tmp_path / "third") == id_of(tmp_path / "second") == id_of(first) == str(first / ".git")
    mark(first / ".git", f"first#{LOT}")
    assert id_of(tmp_path / "third") == id_of(first) == f"first#{LOT}"
    git(first, "remote", "add", "origin", "https://git.example/a")
    assert id_of(tmp_path / "third") == id_of(first) == "git.example/a"


@pytest.mark.parametrize(
    "url", ["../hub.git", "../hub", "{}/hub.git", "{}/hub.git/", "file://{}/hub.git", "../x/../hub"]
)
def test_clones_of_a_bare_repository_are_one_project(tmp_path: Path, url: str) -> None:
    git(tmp_path, "init", "--quiet", "--bare", "hub.git")
    clone = a_repository(tmp_path / "x", url.format(tmp_path))
    assert (
        id_of(clone) == id_of(tmp_path / "hub.git") == id_of(tmp_path / "hub.git" / "refs") == str(tmp_path / "hub.git")
    )


def test_remotes_that_lead_in_a_circle_end_at_a_folder(tmp_path: Path) -> None:
    one, two = a_repository(tmp_path / "one", "../two"), a_repository(tmp_path / "two", "../one")
    assert id_of(one) == str(two / ".git")
    assert id_of(a_repository(tmp_path / "self", ".")) == str(tmp_path / "self" / ".git")


def test_a_folder_that_is_gone_is_still_an_address(tmp_path: Path) -> None:
    assert id_of(a_repository(tmp_path / "x", "../gone.git")) == str(tmp_path / "gone")
    assert id_of(a_repository(tmp_path / "y", "C:\\repos\\app.git")) == "C:/repos/app"


# Worktrees, submodules, nesting


def test_a_worktree_is_the_same_project(tmp_path: Path) -> None:
    root = a_repository(tmp_path / "repo", commit=True)
    git(root, "worktree", "add", "--quiet", "../tree")
    assert id_of(tmp_path / "tree") == id_of(root) == str(root / ".git")
    assert find_project(str(tmp_path / "tree")).root == str(tmp_path / "tree")
    assert find_project(str(tmp_path / "tree")).marker == str(root / ".git" / MARKER)


def test_a_submodule_is_a_project_of_its_own(tmp_path: Path) -> None:
    library = a_repository(tmp_path / "library", "https://git.example/library", commit=True)
    parent = a_repository(tmp_path / "parent", "https://git.example/parent", commit=True)
    git(parent, "submodule", "--quiet", "add", str(library), "lib")
    assert id_of(parent) == "git.example/parent"
    assert id_of(parent / "lib") == id_of(library) == "git.example/library"
    git(parent / "lib", "remote", "remove", "origin")
    assert id_of(parent / "lib") == str(parent / ".git" / "modules" / "lib")


def test_a_repository_inside_a_repository_is_another_project(tmp_path: Path) -> None:
    outer = a_repository(tmp_path / "outer", "https://git.example/outer")
    inner = a_repository(outer / "vendor" / "inner", "https://git.example/inner")
    assert (id_of(outer / "vendor"), id_of(inner)) == ("git.example/outer", "git.example/inner")


def test_a_git_folder_elsewhere_is_followed(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    git(tmp_path / "x", "init", "--quiet", "--separate-git-dir", str(tmp_path / "store"))
    assert id_of(tmp_path / "x") == str(tmp_path / "store")


@posix
def test_a_symbolic_link_leads_to_the_same_project(tmp_path: Path) -> None:
    root = a_repository(tmp_path / "repo")
    (tmp_path / "link").symlink_to(root)
    assert find_project(str(tmp_path / "link")) == find_project(str(root))


def test_the_environment_of_a_git_command_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = a_repository(tmp_path / "here"), a_repository(tmp_path / "there")
    monkeypatch.setenv("GIT_DIR", str(there / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(there))
    assert id_of(here) == str(here / ".git")


# Without git, or with a broken one


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can look into, which pytest's own are not."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        yield Path(made).resolve()


def test_without_git_the_folder_is_the_project(tmp_path: Path) -> None:
    project = find_project(str(tmp_path))
    assert (project.id, project.found_by, project.place, project.marker) == (str(tmp_path), "folder", str(tmp_path), "")


@pytest.mark.parametrize("content", ["", "nonsense", "gitdir: /nowhere", "gitdir:", "gitdir: \x00"])
def test_a_broken_git_file_is_no_reason_to_fail(tmp_path: Path, content: str) -> None:
    a_repository(tmp_path / "outer", "https://git.example/outer")
    broken = tmp_path / "outer" / "x"
    broken.mkdir()
    (broken / ".git").write_text(content)
    assert find_project(str(broken)).names == (str(broken),)


@posix
def test_pipes_and_folders_in_the_place_of_files_are_not_waited_for(tmp_path: Path) -> None:
    root = a_repository(tmp_path / "x")
    for name in ("config", "commondir", MARKER):
        (root / ".git" / name).unlink(missing_ok=True)
        os.mkfifo(root / ".git" / name)
    assert id_of(root) == str(root / ".git")
    (root / ".git" / "config").unlink()
    (root / ".git" / "config").mkdir()
    assert id_of(root) == str(root / ".git")


@posix
def test_a_git_folder_that_cannot_be_read_is_known_by_its_place(open_folder: Path) -> None:
    if os.geteuid() == 0:
        need("setpriv")  # root reads everything: somebody else looks
    outer = a_repository(open_folder / "outer", "https://git.example/outer")
    root = a_repository(outer / "x", "https://git.example/a")
    (root / ".git").chmod(0)
    code = f"import sys; sys.path[:0] = {sys.path!r}\nfrom swarmlore.workspace.project import find_project\nprint(find_project({str(root)!r}).id)"
    who = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    done = subprocess.run([*who, sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd="/")
    (root / ".git").chmod(0o755)
    assert (done.stdout.strip(), done.stderr) == (str(root / ".git"), "")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_name_that_is_no_text_can_be_stored(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    id = id_of(a_repository(folder))
    assert id.encode() == os.fsencode(tmp_path) + b"/caf\\xe9/.git"
    clone = a_repository(tmp_path / "clone")
    (clone / ".git" / "config").write_bytes(b'[remote "origin"]\nurl = ../caf\xe9\n')
    assert id_of(clone) == id
    (clone / ".git" / "config").write_bytes(b'[remote "origin"]\nurl = https://host/caf\xe9\n')
    assert id_of(clone) == "host/caf\\xe9"


# Markers


def test_a_marker_is_stronger_than_a_place_and_weaker_than_an_address(tmp_path: Path) -> None:
    root = a_repository(tmp_path / "x")
    mark(root / ".git", f"x#{LOT}")
    project = find_project(str(root))
    assert (project.names, project.found_by, project.place, project.marked) == ((f"x#{LOT}",), "marker", "", True)
    git(root, "remote", "add", "origin", "https://git.example/a")
    project = find_project(str(root))
    assert (project.names, project.found_by) == (("git.example/a", f"x#{LOT}"), "origin")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "x",
        "git.example/a",
        f"x#{LOT[1:]}",
        f"x#{LOT.upper()}",
        f"a/b#{LOT}",
        f"#{LOT}",
        f"x#{LOT}#2",
        "/etc/passwd#claimed",
    ],
)
def test_a_marker_cannot_name_another_project(tmp_path: Path, content: str) -> None:
    root = a_repository(tmp_path / "x")
    mark(root / ".git", content)
    assert find_project(str(root)).names == (str(root / ".git"),)


def test_a_folder_with_a_swarm_folder_has_its_marker_there(tmp_path: Path) -> None:
    swarm = tmp_path / ".swarm"
    swarm.mkdir()
    project = find_project(str(tmp_path))
    assert (project.found_by, project.marker, project.marked) == ("folder", str(swarm / MARKER), False)
    mark(swarm, f"x#{LOT}")
    assert find_project(str(tmp_path)).names == (f"x#{LOT}",)


def test_the_files_of_a_clone_do_not_say_which_project_it_is(tmp_path: Path) -> None:
    root = a_repository(tmp_path / "x", "https://git.example/a")
    (root / ".swarm").mkdir()
    mark(root / ".swarm", f"victim#{LOT}")
    assert find_project(str(root)).names == ("git.example/a",)


@posix
def test_links_are_not_followed_to_a_marker(tmp_path: Path) -> None:
    mark(tmp_path, f"x#{LOT}")
    root = a_repository(tmp_path / "repo")
    (root / ".git" / MARKER).symlink_to(tmp_path / MARKER)
    assert find_project(str(root)).found_by == "git"
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / ".swarm").symlink_to(tmp_path)
    assert find_project(str(tmp_path / "plain")).found_by == "folder"


def test_a_copy_that_became_another_project_leaves_the_marker_behind(tmp_path: Path) -> None:
    root = a_repository(tmp_path / "x", "https://git.example/a")
    mark(root / ".git", f"x#{LOT}", str(root / ".git"))
    shutil.copytree(root, tmp_path / "copy")
    assert find_project(str(tmp_path / "copy")).names == ("git.example/a", f"x#{LOT}")
    git(tmp_path / "copy", "remote", "set-url", "origin", "https://git.example/b")
    assert find_project(str(tmp_path / "copy")).names == ("git.example/b",)
    shutil.rmtree(root)  # then it was no copy: it moved
    assert find_project(str(tmp_path / "copy")).names == ("git.example/b", f"x#{LOT}")


def test_names_for_markers_are_plain() -> None:
    assert plain_name("Größe x/../y") == "Gr--e-x-..-y"
    assert is_mark(f"{plain_name('')}#{LOT}")


def test_manifests_tell_the_stacks(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "package.json", "requirements.txt"):
        (tmp_path / name).write_text("")
    assert stacks(str(tmp_path)) == ("node", "python")
