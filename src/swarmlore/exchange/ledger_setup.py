"""`.beads/memory/recall.sh`: the way agents on beads know to ask, leading to `swarmlore recall`."""

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
HIVE = "hive"  # in place of a root: the shared learnings in the home itself


@frozen
class Trusted:
    """One folder a person agreed to, and the project whose memories it gets."""

    root: str
    project: str
    by: str
    at: float


def agreed(home: str) -> dict[str, Trusted]:
    """Every folder that was agreed to, by its path."""
    told = _read(home).get("roots", {})
    return {
        root: Trusted(root, str(item["project"]), str(item["by"]), float(item["at"])) for root, item in told.items()
    }


def place_of(home: str, root: str) -> str:
    """A name for a folder on this machine: a team's store serves many machines, and paths repeat and are private."""
    from zlib import crc32  # hashlib would cost more than everything else here

    path = root.encode("utf-8", "surrogateescape")
    return f"{_read(home).get('machine', '')}-{crc32(path):08x}{crc32(path[::-1]):08x}"


def agree(home: str, agreement: Trusted) -> None:
    """Note that a person agreed."""
    with _changing(home) as told:
        told.setdefault("machine", os.urandom(8).hex())
        roots = told.setdefault("roots", {})
        roots[agreement.root] = {"project": agreement.project, "by": agreement.by, "at": agreement.at}


def withdraw(home: str, root: str) -> bool:
    """Note that a person does not agree any more; tells whether one did."""
    with _changing(home) as told:
        return told.get("roots", {}).pop(root, None) is not None


def _read(home: str) -> dict[str, Any]:
    path = os.path.join(home, FILE)
    try:
        with open(path, encoding="utf-8") as file:
            told = json.load(file)
        if not all(isinstance(item["at"], float) for item in told.get("roots", {}).values()):
            raise ValueError("not in our form")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        hint = "remove it, then run swarmlore init or trust again where you want it"
        raise ConfigError(f"{path} cannot be read ({type(error).__name__})", hint) from error
    return dict(told)


@contextmanager
def _changing(home: str) -> Iterator[dict[str, Any]]:
    """What is noted, to be changed; written back at the end, while nobody else does the same."""
    from swarmlore.workspace.files import Folder

    with Folder(os.path.realpath(home)) as folder, folder.lock():
        told = _read(home)
        yield told
        text = json.dumps(told, indent=1, sort_keys=True, ensure_ascii=True)
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


WHAT = f"{BEADS}/{MEMORY}/{SCRIPT}"
# Without a path of this machine in it: the file may be committed. `cd` is kept from printing where CDPATH is set.
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
    """Put the script where a project uses beads; a file that is there and not exactly ours stays as it is."""
    if not uses_beads(root):
        return []
    try:
        with memory_folder(root, make=not dry_run) as folder:
            found = folder.read(SCRIPT) if folder else b""
            if found == CONTENT.encode():
                return [Step(WHAT, "there already")]
            if found:
                return [Step(WHAT, "left as it is", "it is another one; move it away to get ours")]
            if dry_run or folder is None:
                return [Step(WHAT, "would be made")]
            with folder.lock():
                folder.replace(SCRIPT, [CONTENT.encode()], 0o755)
    except SwarmloreError as error:
        return [Step(WHAT, "not done", error.message)]
    return [Step(WHAT, "made")]
