"""Which project a folder belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest

from swarmlore.project import find_project, normalise_remote, stacks


@pytest.mark.parametrize(
    ("url", "id"),
    [
        ("https://github.com/Acme/Rocket.git", "github.com/Acme/Rocket"),
        ("https://user:token@github.com/Acme/Rocket", "github.com/Acme/Rocket"),
        ("git@github.com:Acme/Rocket.git", "github.com/Acme/Rocket"),
        ("ssh://git@GitHub.com:22/Acme/Rocket.git/", "github.com/Acme/Rocket"),
        ("ssh://git@host.example:2222/a/b", "host.example:2222/a/b"),
        ("host.example:a/b.git", "host.example/a/b"),
        ("git://host.example/a", "host.example/a"),
    ],
)
def test_addresses_of_one_repository_are_one_project(url: str, id: str) -> None:
    assert normalise_remote(url) == id


def make_repo(root: Path, url: str = "") -> Path:
    git = root / ".git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    remote = f'[remote "origin"]\n\turl = {url}\n\tfetch = +refs/*\n' if url else ""
    (git / "config").write_text(f"[core]\n\tbare = false\n{remote}")
    return root


def test_a_folder_inside_a_repository_belongs_to_it(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "repo", "https://me:secret@git.example/team/app.git")
    inner = root / "src" / "deep"
    inner.mkdir(parents=True)
    project = find_project(str(inner))
    assert (project.id, project.root, project.name) == ("git.example/team/app", str(root), "app")


def test_a_worktree_is_the_same_project(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "repo")
    tree_git = root / ".git" / "worktrees" / "feature"
    tree_git.mkdir(parents=True)
    (tree_git / "commondir").write_text("../..\n")
    tree = tmp_path / "feature"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {tree_git}\n")
    assert find_project(str(tree)).id == find_project(str(root)).id == str(root / ".git")


def test_without_git_the_folder_is_the_project(tmp_path: Path) -> None:
    assert find_project(str(tmp_path)).id == str(tmp_path.resolve())


@pytest.mark.parametrize("content", ["", "nonsense", "gitdir: /nowhere", "gitdir:"])
def test_a_broken_git_file_is_no_reason_to_fail(tmp_path: Path, content: str) -> None:
    (tmp_path / ".git").write_text(content)
    assert find_project(str(tmp_path)).root == str(tmp_path.resolve())


def test_manifests_tell_the_stacks(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "package.json", "requirements.txt"):
        (tmp_path / name).write_text("")
    assert stacks(str(tmp_path)) == ("node", "python")
