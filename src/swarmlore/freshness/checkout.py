"""What git knows about a working tree: the commit it stands on, and files as they were.

The commit is found by reading `.git` files. Former texts need a git process, which is started only where somebody asks
for a difference, never while recalling. The repository is not trusted: nothing that its configuration names is run and
nothing is fetched.
"""

from __future__ import annotations

import os
import re
import stat

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SMALL_BYTES = 4096
PACKED_BYTES = 64_000_000
WAIT_S = 10.0
MESSAGES = 3_000
MESSAGE_BYTES = 6_000_000
VERSIONS = 20  # versions of a file in which a span is looked for
_QUIET = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",
}


def is_commit(text: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text) is not None


def head_commit(root: str) -> str:
    """The commit that a working tree stands on, or '' where there is none or it cannot be told."""
    folder = _git_folder(root)
    if not folder:
        return ""
    head = _first_line(os.path.join(folder, "HEAD"))
    if not head.startswith("ref:"):
        return head if is_commit(head) else ""
    ref = head.removeprefix("ref:").strip()
    if not ref.startswith("refs/") or ".." in ref:
        return ""
    shared = os.path.join(folder, _first_line(os.path.join(folder, "commondir")) or ".")
    found = (_first_line(os.path.join(place, *ref.split("/"))) for place in (folder, shared))
    return next((text for text in found if is_commit(text)), "") or _packed(os.path.join(shared, "packed-refs"), ref)


def _git_folder(root: str) -> str:
    """`.git` is a folder, or a file that names one (worktrees, submodules)."""
    git = os.path.join(root, ".git")
    if os.path.isdir(git):
        return git
    line = _first_line(git)
    return os.path.join(root, line.removeprefix("gitdir:").strip()) if line.startswith("gitdir:") else ""


def _packed(path: str, ref: str) -> str:
    ending = f" {ref}\n".encode()
    data = _read(path, PACKED_BYTES)
    at = data.find(ending)
    commit = data[data.rfind(b"\n", 0, max(at, 0)) + 1 : max(at, 0)].decode("ascii", "replace")
    return commit if is_commit(commit) else ""


def _first_line(path: str) -> str:
    return _read(path, SMALL_BYTES).partition(b"\n")[0].decode("utf-8", "replace").strip()


def _read(path: str, most: int) -> bytes:
    """The beginning of a regular file; a pipe would never end."""
    try:
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            return file.read(most) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    except (OSError, ValueError):
        return b""


def file_at(root: str, commit: str, path: str, most: int) -> bytes | None:
    """A file as it was at a commit; None where it is not known or larger than `most` bytes."""
    data = _git(root, ["cat-file", "blob", f"{commit}:{path}"], most) if is_commit(commit) else None
    return data if data is not None and len(data) <= most else None


def commits_of(root: str, since: str, path: str) -> list[str]:
    """The commits up to now that touched a file, oldest first: after `since` where that is known here, else all."""
    for span in ([f"{since}..HEAD"] if is_commit(since) else []) + ["HEAD"]:
        asked = ["rev-list", f"--max-count={10 * VERSIONS}", span, "--", path]
        listed = _git(root, asked, SMALL_BYTES * VERSIONS)
        if listed is not None:
            return [line for line in listed.decode("ascii", "replace").split() if is_commit(line)][::-1][:VERSIONS]
    return []


def commits_naming(root: str, word: str, path: str) -> list[str]:
    """The commits of any branch that brought a word into a file or took it out, newest first."""
    asked = ["log", "--all", "--format=%H", f"--max-count={10 * VERSIONS}", f"-S{word}", "--no-textconv", "--", path]
    listed = _git(root, asked, SMALL_BYTES * VERSIONS)
    return [line for line in (listed or b"").decode("ascii", "replace").split() if is_commit(line)]


def messages(root: str, most: int = MESSAGES) -> list[tuple[str, str, str, str]]:
    """The newest commits up to now: short name, day, subject and the beginning of the message."""
    asked = ["log", f"--max-count={most}", "--date=short", "--format=%h%x1f%cd%x1f%s%x1f%b%x1e", "--no-textconv"]
    listed = _git(root, [*asked, "--"], MESSAGE_BYTES) or b""
    found = []
    for entry in listed[:MESSAGE_BYTES].decode("utf-8", "replace").split("\x1e"):
        parts = entry.strip("\n").split("\x1f")
        if len(parts) == 4:
            found.append((parts[0], parts[1], parts[2], parts[3][:2_000]))
    return found


def unmerged(folder: str, name: str, most: int) -> list[bytes]:
    """Our side and the other one of a file that git could not merge; those of more than `most` bytes are left out."""
    listed = _git(folder, ["ls-files", "-u", "-z", "--", name], SMALL_BYTES) or b""
    facts = [entry.partition(b"\t")[0].decode("ascii", "replace").split() for entry in listed.split(b"\0")]
    blobs = [fact[1] for fact in facts if len(fact) == 3 and fact[2] in ("2", "3") and is_commit(fact[1])]
    sides = [_git(folder, ["cat-file", "blob", blob], most) for blob in blobs]
    return [side for side in sides if side is not None and len(side) <= most]


def _git(root: str, words: Sequence[str], most: int) -> bytes | None:
    """What git answers, up to one byte more than `most`; None where it fails, is missing or takes too long."""
    import subprocess
    from threading import Timer

    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _QUIET
    # A signature would be checked by a program that the repository's configuration names.
    safe = ["-c", "core.fsmonitor=false", "-c", "log.showSignature=false"]
    command = ["git", "--literal-pathspecs", *safe, "-C", root, *words]
    try:
        process = subprocess.Popen(
            command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except (OSError, ValueError):
        return None
    timer = Timer(WAIT_S, process.kill)
    timer.start()
    with process:
        data = process.stdout.read(most + 1) if process.stdout else b""
        if len(data) > most:
            process.kill()  # nobody will read the rest
            process.wait()
            timer.cancel()
            return data
    timer.cancel()
    return data if process.returncode == 0 else None
