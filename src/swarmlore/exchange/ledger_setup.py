"""Set up a project's ledger: a person's agreement, the `.swarm` folder, git's merge driver, and beads' `recall.sh`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager

from swarmlore.errors import ConfigError, SwarmloreError
from swarmlore.exchange.beads import BEADS, MEMORY, SCRIPT, memory_folder, uses_beads
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.workspace.files import Folder, elsewhere, unusable

if TYPE_CHECKING:
    from typing import Any


FILE = "trusted.json"
FOLDER = ".swarm"
HIVE = "hive"  # used instead of a root for the shared learnings in the home


@frozen
class Trusted:
    """A folder that a person agreed to exchange memories with, and the project it belongs to."""

    root: str
    project: str
    by: str
    at: float


def agreed(home: str) -> dict[str, Trusted]:
    """Return every trusted folder by its path."""
    roots = _read(home).get("roots", {})
    return {
        root: Trusted(root, str(item["project"]), str(item["by"]), float(item["at"])) for root, item in roots.items()
    }


def place_of(home: str, root: str) -> str:
    """Return a name for a folder that is unique over all machines of a server and does not reveal the path."""
    from zlib import crc32  # importing hashlib would cost more than everything else here

    path = root.encode("utf-8", "surrogateescape")
    return f"{_read(home).get('machine', '')}-{crc32(path):08x}{crc32(path[::-1]):08x}"


def agree(home: str, agreement: Trusted) -> None:
    """Record the agreement of a person."""
    with _changing(home) as stored:
        stored.setdefault("machine", os.urandom(8).hex())
        roots = stored.setdefault("roots", {})
        roots[agreement.root] = {"project": agreement.project, "by": agreement.by, "at": agreement.at}


def withdraw(home: str, root: str) -> bool:
    """Remove the agreement for a folder; return True if there was one."""
    with _changing(home) as stored:
        return stored.get("roots", {}).pop(root, None) is not None


def _read(home: str) -> dict[str, Any]:
    path = os.path.join(home, FILE)
    try:
        with open(path, encoding="utf-8") as file:
            stored = json.load(file)
        if not all(isinstance(item["at"], float) for item in stored.get("roots", {}).values()):
            raise ValueError("not in our form")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        hint = "remove it, then run swarmlore init or trust again where you want it"
        raise ConfigError(f"{path} cannot be read ({type(error).__name__})", hint) from error
    return dict(stored)


@contextmanager
def _changing(home: str) -> Iterator[dict[str, Any]]:
    """Context manager: yield the stored agreements to be changed, and write them back under a lock."""
    with Folder(os.path.realpath(home)) as folder, folder.lock():
        stored = _read(home)
        yield stored
        text = json.dumps(stored, indent=1, sort_keys=True, ensure_ascii=True)
        folder.replace(FILE, [text.encode("ascii")], mode=0o600)


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
    """One step of `init`; `state` says whether it was done, would be done, was done already or failed."""

    what: str
    state: str
    note: str = ""


def set_up(root: str, *, dry_run: bool = False) -> list[Step]:
    """Create the ledger's folder and configure git for it; existing files and settings are only extended."""
    path = os.path.join(root, FOLDER)
    steps = [_make_folder(path, dry_run)]
    if dry_run and not os.path.isdir(path):
        steps += [Step(os.path.join(FOLDER, name), "would be made") for name in (".gitattributes", ".gitignore")]
    else:
        with Folder(path) as folder, folder.lock():
            steps.append(_add_lines(folder, ".gitattributes", ATTRIBUTES, dry_run))
            steps.append(_add_lines(folder, ".gitignore", IGNORED, dry_run))
    if os.path.exists(os.path.join(root, ".git")):
        steps += _configure_git(root, dry_run)
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
    """Append the lines that a file does not have yet."""
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


def _configure_git(root: str, dry_run: bool) -> list[Step]:
    """Set the merge driver, and report if the ledger is ignored by git."""
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
        code, output = _git(root, "config", "--local", DRIVER, command)
        steps = [Step(what, "not done", output) if code else Step(what, "set", command)]
    ignored, _ = _git(root, "check-ignore", "-q", f"{FOLDER}/knowledge.jsonl")
    if ignored == 0:
        steps.append(Step(f"{FOLDER}/knowledge.jsonl", "ignored by git", "take it out of .gitignore to share it"))
    return steps


def driver() -> str:
    """Return the shell command by which git merges a ledger, independent of PATH.

    If Swarmlore is gone, the fallback keeps the lines of both sides, which the next sync merges. Otherwise git would
    report a conflict and leave one side only.
    """
    import shlex
    import sys

    python = shlex.quote(sys.executable).replace("%", "%%")
    # -P: git starts it in the repository, whose files must not be imported as modules.
    return f"{python} -P -m swarmlore merge-driver %O %A %B %P || git merge-file --union %A %O %B"


def missing_driver(root: str) -> str:
    """Return what is wrong with the merge driver of a repository, or ''."""
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
    """Run git without the repository's hooks and monitors; return exit code (None if git failed to run) and output."""
    import subprocess

    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", *_SAFE, *words], cwd=root, env=env, capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None, ""
    return done.returncode, (done.stdout or done.stderr).strip()


WHAT = f"{BEADS}/{MEMORY}/{SCRIPT}"
# It contains no path of this machine, as it may be committed. CDPATH is emptied, or else `cd` could print.
CONTENT = """\
#!/bin/sh
# Made by `swarmlore init`: searches what LEARNED comments on beads brought together.
#   recall.sh "keyword" [--type learned] [--all]    recall.sh --recent 10    recall.sh --stats
if ! command -v swarmlore >/dev/null 2>&1; then
    echo "recall.sh: swarmlore is not installed or not on PATH; install it: pip install swarmlore" >&2
    echo "The lessons are in knowledge.jsonl beside this script, one a line." >&2
    exit 127
fi
project=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd -P) || exit 1
exec swarmlore recall --profile beads --project "$project" "$@"
"""


def write_recall_script(root: str, *, dry_run: bool = False) -> list[Step]:
    """Write `recall.sh` if a project uses beads; another file of that name is left alone."""
    if not uses_beads(root):
        return []
    try:
        with memory_folder(root, make=not dry_run) as folder:
            existing = folder.read(SCRIPT) if folder else b""
            if existing == CONTENT.encode():
                return [Step(WHAT, "there already")]
            if existing:
                return [Step(WHAT, "left as it is", "it is another one; move it away to get ours")]
            if dry_run or folder is None:
                return [Step(WHAT, "would be made")]
            with folder.lock():
                folder.replace(SCRIPT, [CONTENT.encode()], 0o755)
    except SwarmloreError as error:
        return [Step(WHAT, "not done", error.message)]
    return [Step(WHAT, "made")]
