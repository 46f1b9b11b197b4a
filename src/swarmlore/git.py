"""What git keeps in its files, read without git: where a repository lies and which remote it names.

No subprocess, no environment (`GIT_DIR` belongs to one command, not to a project), no followed includes. The files are
a stranger's: whatever they hold, reading them neither fails nor waits.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

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
