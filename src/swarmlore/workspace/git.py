"""Read git repositories: the index, worktrees, remotes and HEAD from files in `.git`, older contents by running git.

A git process is started only on request, never during a recall. The repository is not trusted: no program named in its
configuration is run, and nothing is fetched.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEAD = 12
_FIXED = 62  # bytes before the name of an index entry
_REGULAR = 0o100000
_EXTENDED = 0x4000


class Unreadable(Exception):
    """Raised if the bytes are not an index of a known version."""


def paths_in(data: bytes, most: int) -> list[str]:
    """Return the regular files of an index in its order, at most `most`; raise Unreadable if it is invalid."""
    if len(data) < _HEAD or data[:4] != b"DIRC":
        raise Unreadable("no index")
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:12], "big")
    if version not in (2, 3, 4):
        raise Unreadable(f"version {version}")
    found: dict[str, None] = {}
    entries = _packed_index(data, count) if version == 4 else _plain(data, count)
    for mode, name in entries:
        if mode & 0o170000 == _REGULAR:
            found[name.decode("utf-8", "surrogateescape")] = None
            if len(found) >= most:
                break
    return list(found)


def _plain(data: bytes, count: int) -> Iterator[tuple[int, bytes]]:
    at = _HEAD
    for _ in range(count):
        start = _name_at(data, at)
        end = data.find(b"\0", start)
        if end < 0:
            raise Unreadable("cut off")
        yield int.from_bytes(data[at + 24 : at + 28], "big"), data[start:end]
        at += (end - at) // 8 * 8 + 8  # padded with one to eight NULs


def _packed_index(data: bytes, count: int) -> Iterator[tuple[int, bytes]]:
    """Yield the entries of an index of version 4, whose names are prefix-compressed."""
    at, name = _HEAD, b""
    for _ in range(count):
        dropped, start = _number(data, _name_at(data, at))
        end = data.find(b"\0", start)
        if end < 0 or dropped > len(name):
            raise Unreadable("cut off")
        name = name[: len(name) - dropped] + data[start:end]
        yield int.from_bytes(data[at + 24 : at + 28], "big"), name
        at = end + 1


def _name_at(data: bytes, at: int) -> int:
    flags = int.from_bytes(data[at + 60 : at + 62], "big")
    return at + _FIXED + (2 if flags & _EXTENDED else 0)


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return a variable-length integer in git's offset encoding, and where it ends."""
    value = -1
    for place in range(at, min(at + 5, len(data))):
        value = (value + 1) << 7 | data[place] & 0x7F
        if not data[place] & 0x80:
            return value, place + 1
    raise Unreadable("cut off")


MOST_BYTES = 1_000_000  # a configuration with thousands of branches has a few hundred thousand bytes
MOST_CHARS = 2_000  # of a remote's URL
MOST_WORKTREES = 1_000
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}
_SUFFIXES = ("/.git", "", ".git/.git", ".git")  # suffixes that git tries after a local remote's path, in this order
_UNDER_WAY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
Entry = tuple[str, str, str, str]  # section, subsection, key, value


def find_repository(folder: str) -> tuple[str, str]:
    """Return (root of the worktree, common git folder) around a folder. Return ('', '') outside of a repository, and
    (root, '') in a broken one."""
    root = folder
    while True:
        git = os.path.join(root, ".git")
        if os.path.lexists(git):
            return root, common_dir(git)
        if os.path.exists(os.path.join(root, "HEAD")) and is_git_dir(root):
            inside = os.path.basename(root) == ".git"
            return (os.path.dirname(root) if inside else root), common_dir(root)
        parent = os.path.dirname(root)
        if parent == root:
            return "", ""
        root = parent


def common_dir(git: str) -> str:
    """Return the folder that all worktrees of a repository share, or ''. `git` is a git folder, or a file that names
    one."""
    folder = git_dir(git)
    if not folder or (folder != git and not os.path.exists(os.path.join(folder, "HEAD"))):
        return ""
    shared = first_line(os.path.join(folder, "commondir"))
    common = os.path.realpath(os.path.join(folder, shared) if shared else folder)
    return common if os.path.isdir(common) else ""


def git_dir(git: str) -> str:
    """Return the git folder at a path; a file there names one (worktrees, submodules). '' if there is neither."""
    if os.path.isdir(git):
        return git
    line = first_line(git)
    return (
        os.path.join(os.path.dirname(git), line.removeprefix("gitdir:").strip()) if line.startswith("gitdir:") else ""
    )


def merge_under_way(root: str) -> str:
    """Return a fingerprint of the unfinished merge, rebase, revert or cherry-pick in a worktree; '' if there is
    none."""
    git = git_dir(os.path.join(root, ".git"))
    for name in _UNDER_WAY if git else ():
        try:
            return f"{name}.{os.stat(os.path.join(git, name)).st_mtime_ns}"
        except (OSError, ValueError):
            continue
    return ""


def is_git_dir(folder: str) -> bool:
    """Return whether a folder has HEAD, objects and refs, as a git folder does."""
    return all(os.path.exists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs"))


def repository_at(path: str) -> str:
    """Return the common git folder of the repository that a local remote names, or ''."""
    for suffix in _SUFFIXES:
        git = path.rstrip("/") + suffix
        if (os.path.isfile(git) or is_git_dir(git)) and (common := common_dir(git)):
            return common
    return ""


def home_of(common: str) -> str:
    """Return the folder from which a repository's relative remotes start: its main worktree, or itself if bare."""
    return os.path.dirname(common) if os.path.basename(common) == ".git" else common


def worktrees(common: str) -> list[str]:
    """Return the roots of the worktrees added to a repository, also of those whose folder is gone. An existing one
    must name this repository itself: a path in a file alone proves nothing."""
    listed = os.path.join(common, "worktrees")
    try:
        names = sorted(os.listdir(listed))[:MOST_WORKTREES]
    except OSError:
        return []
    roots = []
    for name in names:
        line = first_line(os.path.join(listed, name, "gitdir"))
        git = os.path.normpath(os.path.join(listed, name, line))
        if line and os.path.basename(git) == ".git" and (not os.path.lexists(git) or common_dir(git) == common):
            roots.append(os.path.dirname(git))
    return roots


def remote_url(common: str) -> str:
    """Return the URL of `origin`, else of the only remote, of `upstream`, or of the first by name; or ''."""
    found = list(entries(read_text(os.path.join(common, "config")), ("remote", "url")))
    urls: dict[str, str] = {}
    for section, name, key, value in found:
        if section == "remote" and key == "url" and value and len(value) <= MOST_CHARS:
            urls.setdefault(name, value)  # git fetches from the first of several URLs
    if not urls:
        return ""
    name = next((name for name in ("origin", "upstream") if name in urls), min(urls))
    return _expanded(urls[name], found)


def _expanded(url: str, own: list[Entry]) -> str:
    """Expand a shorthand such as `gh:team/app` by the `insteadOf` rules. Complete URLs are left alone: a mirror to
    fetch from says nothing about what they name."""
    short = url.partition(":")[0]
    if short == url or len(short) < 2 or any(mark in short for mark in "./@[\\") or url[len(short) :][:3] == "://":
        return url
    rules = [entry for entry in (*own, *_user_entries()) if entry[0] == "url" and entry[2] == "insteadof"]
    fits = [(value, base) for _, base, _, value in rules if value and url.startswith(value)]
    if not fits:
        return url
    value, base = max(fits, key=lambda rule: len(rule[0]))
    return base + url[len(value) :]


def _user_entries() -> Iterator[Entry]:
    home = os.path.expanduser("~")
    for path in (os.path.join(home, ".config", "git", "config"), os.path.join(home, ".gitconfig")):
        yield from entries(read_text(path), ("url",))


def entries(text: str, sections: tuple[str, ...]) -> Iterator[Entry]:
    """Yield the values of some sections of a git configuration, by git's rules for case, quotes and comments."""
    lines = iter(text.removeprefix("\ufeff").split("\n"))
    section = name = ""
    for line in lines:
        line = line.strip()
        if line.startswith("["):
            section, name, line = _header(line)
        if not line or line[0] in "#;":
            continue
        if section in sections or line.endswith("\\"):  # a long line may hide what looks like a section
            key, _, raw_value = line.partition("=")
            value = _value(raw_value, lines)
            if section in sections:
                yield section, name, key.strip().lower(), value


def _header(line: str) -> tuple[str, str, str]:
    """Return section, subsection and the rest of the line: `[remote "Origin"]` keeps case, `[remote.Origin]` does
    not."""
    name, quote, rest = line[1:].partition('"')
    if not quote or "]" in name:
        dotted, _, rest = line[1:].partition("]")
        section, _, sub = dotted.strip().lower().partition(".")
        return section, sub, rest.strip()
    sub, at = "", 0
    while at < len(rest) and rest[at] != '"':
        at += rest[at] == "\\"
        sub += rest[at : at + 1]
        at += 1
    return name.strip().lower(), sub, rest[at + 1 :].partition("]")[2].strip()


def _value(text: str, lines: Iterator[str]) -> str:
    """Return a value without quotes and comment; a backslash at the end of a line joins the next line."""
    text = text.lstrip()
    if not any(mark in text for mark in '\\"#;'):
        return text.rstrip()
    value, kept, quoted, at = "", 0, False, 0
    while at < len(text):
        letter = text[at]
        at += 1
        if letter == '"':
            quoted = not quoted
        elif letter == "\\" and at == len(text):
            text, at = next(lines, "").rstrip("\r"), 0
            continue
        elif letter in "#;" and not quoted:
            break
        else:
            if letter == "\\":
                letter = _ESCAPES.get(text[at], text[at])
                at += 1
            value += letter
        if quoted or not letter.isspace():
            kept = len(value)
    return value[:kept]


def first_line(path: str) -> str:
    """Return the first line of a file, stripped; '' if it cannot be read."""
    return read_text(path).partition("\n")[0].strip()


def read_text(path: str, *, follow: bool = True, most: int = MOST_BYTES) -> str:
    """Return the beginning of a file; '' if it is unreadable or not a regular file, so that a pipe never blocks."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        file = os.open(path, flags if follow else flags | getattr(os, "O_NOFOLLOW", 0))
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return ""
    try:
        facts = os.fstat(file)
        if not stat.S_ISREG(facts.st_mode):
            return ""
        return os.fsdecode(os.read(file, min(facts.st_size, most)))
    except OSError:
        return ""
    finally:
        os.close(file)


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
    """Return whether a text is a full commit id."""
    return re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text) is not None


def head_commit(root: str) -> str:
    """Return the commit that a worktree stands on, or '' if it cannot be told."""
    folder = git_dir(os.path.join(root, ".git"))
    if not folder:
        return ""
    head = first_line(os.path.join(folder, "HEAD"))
    if not head.startswith("ref:"):
        return head if is_commit(head) else ""
    ref = head.removeprefix("ref:").strip()
    if not ref.startswith("refs/") or ".." in ref:
        return ""
    shared = os.path.join(folder, first_line(os.path.join(folder, "commondir")) or ".")
    found = (first_line(os.path.join(place, *ref.split("/"))) for place in (folder, shared))
    return next((text for text in found if is_commit(text)), "") or _packed(os.path.join(shared, "packed-refs"), ref)


def _packed(path: str, ref: str) -> str:
    """Return the commit of a ref in `packed-refs`, or ''."""
    text = read_text(path, most=PACKED_BYTES)
    at = max(text.find(f" {ref}\n"), 0)
    commit = text[text.rfind("\n", 0, at) + 1 : at]
    return commit if is_commit(commit) else ""


def file_at(root: str, commit: str, path: str, most: int) -> bytes | None:
    """Return a file as it was at a commit; None if unknown there, or larger than `most` bytes."""
    data = _git(root, ["cat-file", "blob", f"{commit}:{path}"], most) if is_commit(commit) else None
    return data if data is not None and len(data) <= most else None


def commits_of(root: str, since: str, path: str) -> list[str]:
    """Return the commits that touched a file, oldest first: those after `since` if it is known here, else all."""
    for span in ([f"{since}..HEAD"] if is_commit(since) else []) + ["HEAD"]:
        command = ["rev-list", f"--max-count={10 * VERSIONS}", span, "--", path]
        listed = _git(root, command, SMALL_BYTES * VERSIONS)
        if listed is not None:
            return [line for line in listed.decode("ascii", "replace").split() if is_commit(line)][::-1][:VERSIONS]
    return []


def commits_naming(root: str, word: str, path: str) -> list[str]:
    """Return the commits of any branch that added a word to a file or removed it, newest first."""
    command = ["log", "--all", "--format=%H", f"--max-count={10 * VERSIONS}", f"-S{word}", "--no-textconv", "--", path]
    listed = _git(root, command, SMALL_BYTES * VERSIONS)
    return [line for line in (listed or b"").decode("ascii", "replace").split() if is_commit(line)]


def messages(root: str, most: int = MESSAGES) -> list[tuple[str, str, str, str]]:
    """Return the newest commits: short id, date, subject and the beginning of the message."""
    command = ["log", f"--max-count={most}", "--date=short", "--format=%h%x1f%cd%x1f%s%x1f%b%x1e", "--no-textconv"]
    listed = _git(root, [*command, "--"], MESSAGE_BYTES) or b""
    found = []
    for entry in listed[:MESSAGE_BYTES].decode("utf-8", "replace").split("\x1e"):
        parts = entry.strip("\n").split("\x1f")
        if len(parts) == 4:
            found.append((parts[0], parts[1], parts[2], parts[3][:2_000]))
    return found


def unmerged(folder: str, name: str, most: int) -> list[bytes]:
    """Return our side and the other side of an unmerged file; a side of more than `most` bytes is left out."""
    listed = _git(folder, ["ls-files", "-u", "-z", "--", name], SMALL_BYTES) or b""
    facts = [entry.partition(b"\t")[0].decode("ascii", "replace").split() for entry in listed.split(b"\0")]
    blobs = [fact[1] for fact in facts if len(fact) == 3 and fact[2] in ("2", "3") and is_commit(fact[1])]
    sides = [_git(folder, ["cat-file", "blob", blob], most) for blob in blobs]
    return [side for side in sides if side is not None and len(side) <= most]


def _git(root: str, args: Sequence[str], most: int) -> bytes | None:
    """Run git and return its output, up to `most` + 1 bytes; None if it fails, is missing or takes too long."""
    import subprocess
    from threading import Timer

    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _QUIET
    # Signatures would be checked by a program that the repository's configuration names.
    safe = ["-c", "core.fsmonitor=false", "-c", "log.showSignature=false"]
    command = ["git", "--literal-pathspecs", *safe, "-C", root, *args]
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
            process.kill()  # the rest is not needed
            process.wait()
            timer.cancel()
            return data
    timer.cancel()
    return data if process.returncode == 0 else None
