"""What a repository needs so that its ledger can be shared: a folder, rules for git, and a way to merge."""

from __future__ import annotations

import os

from swarmlore.frozen import frozen
from swarmlore.workspace.files import Folder, elsewhere, unusable

FOLDER = ".swarm"
ATTRIBUTES = (
    "knowledge.jsonl text eol=lf merge=swarmlore",
    "knowledge-quarantined.jsonl text eol=lf merge=swarmlore",
    "knowledge-rejected.jsonl text eol=lf merge=swarmlore",
)
IGNORED = ("knowledge-unreadable.jsonl", ".*.swarmlore-tmp")
DRIVER = "merge.swarmlore.driver"
_SAFE = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


@frozen
class Step:
    """One thing that was done, would be done, was there already, or could not be done. `state` says which."""

    what: str
    state: str
    note: str = ""


def found(root: str, *, dry_run: bool = False) -> list[Step]:
    """Make the folder and tell git how to treat it; what is there already stays as it is."""
    path = os.path.join(root, FOLDER)
    steps = [_make_folder(path, dry_run)]
    if dry_run and not os.path.isdir(path):
        steps += [Step(os.path.join(FOLDER, name), "would be made") for name in (".gitattributes", ".gitignore")]
    else:
        with Folder(path) as folder, folder.lock():
            steps.append(_add_lines(folder, ".gitattributes", ATTRIBUTES, dry_run))
            steps.append(_add_lines(folder, ".gitignore", IGNORED, dry_run))
    if os.path.exists(os.path.join(root, ".git")):
        steps += _tell_git(root, dry_run)
    return steps


def _make_folder(path: str, dry_run: bool) -> Step:
    if os.path.islink(path):
        raise elsewhere(path)
    if os.path.isdir(path):
        return Step(FOLDER, "there already")
    if not dry_run:
        try:
            os.mkdir(path)
        except OSError as error:
            raise unusable(path, error) from error
    return Step(FOLDER, "would be made" if dry_run else "made")


def _add_lines(folder: Folder, name: str, wanted: tuple[str, ...], dry_run: bool) -> Step:
    """Add the lines that a file does not have yet."""
    before = folder.read(name)
    present = before.decode("utf-8", "replace").splitlines()
    missing = [line for line in wanted if line not in present]
    what = f"{FOLDER}/{name}"
    if not missing:
        return Step(what, "there already")
    if dry_run:
        return Step(what, "would be made", "; ".join(missing))
    glue = b"" if not before or before.endswith(b"\n") else b"\n"
    folder.replace(name, [before, glue, *(line.encode() + b"\n" for line in missing)])
    return Step(what, "changed" if before else "made", "; ".join(missing))


def _tell_git(root: str, dry_run: bool) -> list[Step]:
    command = driver()
    what = f"git config {DRIVER}"
    code, current = _git(root, "config", "--get", DRIVER)
    if code is None:
        return [Step(what, "not done", "git was not found; lines are then merged at the next sync")]
    if current == command:
        steps = [Step(what, "there already")]
    elif dry_run:
        steps = [Step(what, "would be set", command)]
    else:
        _git(root, "config", "--local", "merge.swarmlore.name", "Swarmlore ledger")
        code, said = _git(root, "config", "--local", DRIVER, command)
        steps = [Step(what, "not done", said) if code else Step(what, "set", command)]
    ignored, _ = _git(root, "check-ignore", "-q", f"{FOLDER}/knowledge.jsonl")
    if ignored == 0:
        steps.append(Step(f"{FOLDER}/knowledge.jsonl", "ignored by git", "take it out of .gitignore to share it"))
    return steps


def driver() -> str:
    """What git's shell runs to merge a ledger, whatever its PATH is. Where this program is gone, git keeps the lines of
    both sides and the next pass makes one of them: without that git would report a conflict and leave one side only."""
    import shlex
    import sys

    python = shlex.quote(sys.executable).replace("%", "%%")
    # -P: git starts it in the repository, and nothing there may be taken for a module.
    return f"{python} -P -m swarmlore merge-driver %O %A %B %P || git merge-file --union %A %O %B"


def missing_driver(root: str) -> str:
    """What is wrong with the merge driver of a repository, or ''."""
    import shlex
    import shutil

    if not os.path.exists(os.path.join(root, ".git")):
        return ""
    code, command = _git(root, "config", "--get", DRIVER)
    if code is None:
        return ""
    if code:
        return "git was not told how to merge the shared lessons here"
    try:
        program = shlex.split(command.replace("%%", "%"))[0]
    except (ValueError, IndexError):
        return "git's merge driver for the shared lessons is no command"
    return "" if shutil.which(program) else f"git's merge driver for the shared lessons is gone: {program}"


def _git(root: str, *words: str) -> tuple[int | None, str]:
    """Run git there, with nothing of the repository's that runs programs; (exit code or None, what it said)."""
    import subprocess

    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", *_SAFE, *words], cwd=root, env=env, capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None, ""
    return done.returncode, (done.stdout or done.stderr).strip()
