"""What git knows about a working tree: the commit it stands on, and files as they were.

The commit is found by reading `.git` files. Former texts need a git process, which is started only where somebody asks
for a difference, never while recalling. The repository is not trusted: nothing that its configuration names is run and
nothing is fetched.
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
_FIXED = 62  # bytes before the name of an entry
_REGULAR = 0o100000
_EXTENDED = 0x4000


class Unreadable(Exception):
    """The bytes are no index that we understand."""


def paths_in(data: bytes, most: int) -> list[str]:
    """The regular files of an index in its order, at most so many; raises Unreadable."""
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
    """Version 4: each name says how much of the former one it drops, and what it adds."""
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
    """A number of variable length, as git writes offsets, and where it ends."""
    value = -1
    for place in range(at, min(at + 5, len(data))):
        value = (value + 1) << 7 | data[place] & 0x7F
        if not data[place] & 0x80:
            return value, place + 1
    raise Unreadable("cut off")


MOST_BYTES = 1_000_000  # a configuration with thousands of branches is a few hundred thousand
MOST_CHARS = 2_000  # of an address
MOST_WORKTREES = 1_000
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}
_SUFFIXES = ("/.git", "", ".git/.git", ".git")  # what git tries after the path of a remote, in its order
_UNDER_WAY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
Entry = tuple[str, str, str, str]  # section, subsection, key, value


def find_repository(folder: str) -> tuple[str, str]:
    """(root of the work tree, common git folder) around a folder; ('', '') without, (root, '') where it is broken."""
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
    """The folder that all worktrees of a repository share; '' where there is none.

    `git` is a git folder, or a file that names one (worktrees, submodules), whose `commondir` may name another.
    """
    if not os.path.isdir(git):
        line = first_line(git)
        if not line.startswith("gitdir:"):
            return ""
        git = os.path.join(os.path.dirname(git), line.removeprefix("gitdir:").strip())
        if not os.path.exists(os.path.join(git, "HEAD")):
            return ""
    shared = first_line(os.path.join(git, "commondir"))
    common = os.path.realpath(os.path.join(git, shared) if shared else git)
    return common if os.path.isdir(common) else ""


def merge_under_way(root: str) -> str:
    """A mark of the merge, rebase or pick in the middle of which git stopped in a work tree; '' where there is none."""
    git = os.path.join(root, ".git")
    if not os.path.isdir(git):
        line = first_line(git)
        if not line.startswith("gitdir:"):
            return ""
        git = os.path.join(root, line.removeprefix("gitdir:").strip())
    for name in _UNDER_WAY:
        try:
            return f"{name}.{os.stat(os.path.join(git, name)).st_mtime_ns}"
        except (OSError, ValueError):
            continue
    return ""


def is_git_dir(folder: str) -> bool:
    return all(os.path.exists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs"))


def repository_at(path: str) -> str:
    """The common git folder of the repository that a local remote names, or ''."""
    for suffix in _SUFFIXES:
        git = path.rstrip("/") + suffix
        if (os.path.isfile(git) or is_git_dir(git)) and (common := common_dir(git)):
            return common
    return ""


def home_of(common: str) -> str:
    """Where relative addresses of a repository start: its main work tree, or itself if it has none."""
    return os.path.dirname(common) if os.path.basename(common) == ".git" else common


def worktrees(common: str) -> list[str]:
    """The roots of the work trees that were added to a repository, also of those whose folder is gone. One that is
    there says itself whose it is: a path in a file alone leads nowhere."""
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
    """The address of `origin`; else of the only remote, of `upstream`, or of the first by name; or ''."""
    found = list(entries(read_text(os.path.join(common, "config")), ("remote", "url")))
    urls: dict[str, str] = {}
    for section, name, key, value in found:
        if section == "remote" and key == "url" and value and len(value) <= MOST_CHARS:
            urls.setdefault(name, value)  # of several git fetches from the first
    if not urls:
        return ""
    name = next((name for name in ("origin", "upstream") if name in urls), min(urls))
    return _expanded(urls[name], found)


def _expanded(url: str, own: list[Entry]) -> str:
    """A shorthand such as `gh:team/app` in full. Whole addresses are left alone: where a machine is told to fetch
    them from instead says nothing about what they name."""
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
    """Every value of some sections of a configuration, by git's rules for case, quotes, comments and long lines."""
    lines = iter(text.removeprefix("\ufeff").split("\n"))
    section = name = ""
    for line in lines:
        line = line.strip()
        if line.startswith("["):
            section, name, line = _header(line)
        if not line or line[0] in "#;":
            continue
        if section in sections or line.endswith("\\"):  # a long line may hide what looks like a section
            key, _, said = line.partition("=")
            value = _value(said, lines)
            if section in sections:
                yield section, name, key.strip().lower(), value


def _header(line: str) -> tuple[str, str, str]:
    """Section, subsection and what follows on the line: `[remote "Origin"]` keeps case, `[remote.Origin]` does not."""
    name, quote, rest = line[1:].partition('"')
    if not quote or "]" in name:
        whole, _, rest = line[1:].partition("]")
        section, _, sub = whole.strip().lower().partition(".")
        return section, sub, rest.strip()
    sub, at = "", 0
    while at < len(rest) and rest[at] != '"':
        at += rest[at] == "\\"
        sub += rest[at : at + 1]
        at += 1
    return name.strip().lower(), sub, rest[at + 1 :].partition("]")[2].strip()


def _value(said: str, lines: Iterator[str]) -> str:
    """A value without quotes and comment; a backslash at the end of a line joins the next one to it."""
    said = said.lstrip()
    if not any(mark in said for mark in '\\"#;'):
        return said.rstrip()
    made, kept, quoted, at = "", 0, False, 0
    while at < len(said):
        letter = said[at]
        at += 1
        if letter == '"':
            quoted = not quoted
        elif letter == "\\" and at == len(said):
            said, at = next(lines, "").rstrip("\r"), 0
            continue
        elif letter in "#;" and not quoted:
            break
        else:
            if letter == "\\":
                letter = _ESCAPES.get(said[at], said[at])
                at += 1
            made += letter
        if quoted or not letter.isspace():
            kept = len(made)
    return made[:kept]


def first_line(path: str) -> str:
    return read_text(path).partition("\n")[0].strip()


def read_text(path: str, *, follow: bool = True) -> str:
    """The beginning of a file, '' where there is none to read: a pipe or a device in its place is not waited for."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        file = os.open(path, flags if follow else flags | getattr(os, "O_NOFOLLOW", 0))
    except (OSError, ValueError):  # a name with a NUL is no name
        return ""
    try:
        facts = os.fstat(file)
        if not stat.S_ISREG(facts.st_mode):
            return ""
        return os.fsdecode(os.read(file, min(facts.st_size, MOST_BYTES)))
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
