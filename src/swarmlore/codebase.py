"""A project's files as git lists them, and what they tell without being read: languages, folders, where things begin.

The list comes from git's index where there is one, else from a walk that leaves out what `.gitignore` names. No
symbolic link is followed, nothing generated is listed, and a huge project is cut, never waited for.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from swarmlore import git
from swarmlore.formats.git_index import Unreadable as NoIndex
from swarmlore.formats.git_index import paths_in
from swarmlore.freshness.tree import Tree, Unreadable
from swarmlore.frozen import frozen
from swarmlore.rules.source_files import is_doc, is_entry, is_generated, is_skipped_folder, is_test, language_of

MOST_FILES = 200_000
MOST_WALKED = 60_000
DEEPEST = 40
INDEX_BYTES = 64_000_000
IGNORE_BYTES = 64_000
MOST_PATTERNS = 300
LISTED_FOLDERS = 8
LISTED_ENTRIES = 8
LISTED_DOCS = 8
SMALL_SHARE = 0.02  # languages below it are counted, not listed


@frozen
class Language:
    """A language and its share of the files that hold code."""

    name: str
    files: int
    share: float


@frozen
class Held:
    """A folder: how many files, and in which languages most of them."""

    path: str
    files: int
    languages: tuple[str, ...] = ()


@frozen
class Codebase:
    """What the list of files tells. `origin` is git or walk; `cut` says that there are more files than were listed."""

    files: int = 0
    origin: str = "walk"
    cut: bool = False
    languages: tuple[Language, ...] = ()
    folders: tuple[Held, ...] = ()
    entries: tuple[str, ...] = ()
    tests: int = 0
    test_folders: tuple[str, ...] = ()
    docs: tuple[str, ...] = ()


@frozen
class Listing:
    """The paths of a project's own files, from its root, in order."""

    paths: tuple[str, ...]
    origin: str
    cut: bool = False


def list_files(root: str) -> Listing:
    """The files of a project: those that git tracks, else all that are not ignored."""
    tracked = _tracked(root)
    found = tracked if tracked else list(_walk(root, MOST_WALKED + 1))
    most = MOST_FILES if tracked else MOST_WALKED
    own = tuple(path for path in found[:most] if not is_generated(path))
    return Listing(own, "git" if tracked else "walk", len(found) > most)


def _tracked(root: str) -> list[str]:
    """What git's index lists below a folder; nothing where there is none, or none that can be read."""
    top, common = git.find_repository(os.path.realpath(root))
    if not common:
        return []
    place = os.path.join(top, ".git")
    if not os.path.isdir(place):
        line = git.first_line(place)
        place = os.path.join(top, line.removeprefix("gitdir:").strip()) if line.startswith("gitdir:") else common
    try:
        data = Tree(place).content("index", INDEX_BYTES)
        paths = paths_in(data, MOST_FILES + 1)
    except (Unreadable, NoIndex):
        return []
    below = os.path.relpath(os.path.realpath(root), top)
    if below == ".":
        return paths
    start = below.replace(os.sep, "/") + "/"
    return [path[len(start) :] for path in paths if path.startswith(start)]


def _walk(root: str, most: int) -> Iterator[str]:
    """All files of a folder that are not ignored, folder by folder; links are not followed."""
    waiting: list[tuple[str, tuple[_Ignored, ...]]] = [("", ())]
    given = 0
    while waiting and given < most:
        folder, rules = waiting.pop()
        names, folders = _entries(os.path.join(root, folder))
        if ".gitignore" in names:
            rules = (*rules, *_rules(root, folder))[-MOST_PATTERNS:]
        prefix = f"{folder}/" if folder else ""
        for name in names:
            if not _is_ignored(prefix + name, False, rules):
                given += 1
                yield prefix + name
        if prefix.count("/") < DEEPEST:
            inner = [name for name in folders if not is_skipped_folder(name)]
            waiting += [
                (prefix + name, rules) for name in reversed(inner) if not _is_ignored(prefix + name, True, rules)
            ]


def _entries(folder: str) -> tuple[list[str], list[str]]:
    names, folders = [], []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif entry.is_file(follow_symlinks=False):
                    names.append(entry.name)
    except OSError:
        return [], []  # it is gone, or not ours to read
    return sorted(names), sorted(folders)


@frozen
class _Ignored:
    """One line of a `.gitignore`: which folder it stands in, and what it matches."""

    folder: str
    pattern: re.Pattern[str]
    whole: bool  # held against the path from that folder, not against the name
    folders_only: bool
    kept: bool


def _rules(root: str, folder: str) -> Iterator[_Ignored]:
    import fnmatch

    try:
        text = Tree(root).content(f"{folder}/.gitignore" if folder else ".gitignore", IGNORE_BYTES)
    except Unreadable:
        return
    for line in text.decode("utf-8", "replace").splitlines()[:MOST_PATTERNS]:
        line = line.rstrip()
        kept, said = line.startswith("!"), line.lstrip("!").replace("**/", "").removesuffix("/**")
        if not said or line.startswith("#") or len(said) > 200:
            continue
        bare = said.strip("/")
        pattern = re.compile(fnmatch.translate(bare))
        yield _Ignored(folder, pattern, "/" in said.rstrip("/"), said.endswith("/"), kept)


def _is_ignored(path: str, is_folder: bool, rules: Sequence[_Ignored]) -> bool:
    """What the last rule that fits says."""
    name = path.rpartition("/")[2]
    for rule in reversed(rules):
        if rule.folders_only and not is_folder:
            continue
        said = path[len(rule.folder) :].lstrip("/") if rule.whole else name
        if rule.pattern.match(said):
            return not rule.kept
    return False


def survey(listing: Listing) -> Codebase:
    """What a list of files tells about a project."""
    paths = listing.paths
    tests = [path for path in paths if is_test(path) and language_of(path)]
    docs = sorted((path for path in paths if is_doc(path)), key=lambda path: (path.count("/"), path.lower()))
    entries = sorted((path for path in paths if is_entry(path)), key=lambda path: (path.count("/"), path))
    return Codebase(
        len(paths),
        listing.origin,
        listing.cut,
        languages(paths),
        _folders(paths),
        tuple(entries[:LISTED_ENTRIES]),
        len(tests),
        tuple(_most_common((path.rpartition("/")[0] for path in tests), 3)),
        tuple(docs[:LISTED_DOCS]),
    )


def languages(paths: Iterable[str]) -> tuple[Language, ...]:
    """The languages of the files that hold code, the most used first."""
    counts = Counter(name for path in paths if (name := language_of(path)))
    whole = sum(counts.values())
    shares = [Language(name, count, round(count / whole, 3)) for name, count in counts.items()]
    return tuple(
        sorted((item for item in shares if item.share >= SMALL_SHARE), key=lambda item: (-item.files, item.name))
    )


def _folders(paths: Sequence[str]) -> tuple[Held, ...]:
    """The largest folders; one that holds most of another is named by its inner path."""
    counts: Counter[str] = Counter()
    kinds: dict[str, Counter[str]] = {}
    for path in paths:
        folder = _top(path)
        if folder:
            counts[folder] += 1
            kinds.setdefault(folder, Counter())[language_of(path) or "other"] += 1
    largest = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:LISTED_FOLDERS]
    return tuple(Held(name, count, tuple(_most_common(kinds[name].elements(), 2))) for name, count in largest)


def _top(path: str) -> str:
    """The folder that a file counts for: the first one, and what is inside of `src`, `packages` and their like."""
    parts = path.split("/")[:-1]
    deep = (
        3
        if parts[:1] == ["src"]
        else 2
        if parts[:1] in (["packages"], ["apps"], ["crates"], ["services"], ["lib"])
        else 1
    )
    return "/".join(parts[:deep])


def _most_common(names: Iterable[str], most: int) -> list[str]:
    return [name for name, _ in Counter(name for name in names if name).most_common(most)]
