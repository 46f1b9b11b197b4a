"""Keep the shared copies of project notes (in the user's notes folder) in sync with the project's files.

The project's file is the source of truth. If it changes and its copy still has the old content, the copy and its file
name are updated. If the copy was edited, both stay and the pair is reported.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from swarmlore.errors import SwarmloreError
from swarmlore.frozen import frozen
from swarmlore.notes.entities_sidecar import sidecar_path
from swarmlore.notes.locations import LEARNINGS, NotePlace, digest_of
from swarmlore.notes.sync import Cache, CacheEntry, Change, PlaceCache, read_files
from swarmlore.workspace.files import Folder

DIGEST_CHARS = 16  # first half of a digest, of the note; the second half is that of its sidecar


@frozen
class Pair:
    """A project note and its copy with different content."""

    note: str
    copy: str


def follow_copies(changes: Iterable[Change], project: NotePlace, everywhere: NotePlace, cache: Cache) -> int:
    """Update the copies of changed notes; return how many were updated."""
    changes = tuple(changes)
    known = cache.load(everywhere.root) if changes else PlaceCache(everywhere.root, "")
    followed, apart = 0, dict[str, str]()
    for change in changes:
        copy = _copy_of(change, known.files)
        if copy and _is_unedited(everywhere, copy, change):
            followed += _follow(change, copy, project, everywhere)
        elif copy:
            apart[change.path] = copy
    if apart:
        own = cache.load(project.root)
        cache.save(PlaceCache(own.root, own.project, own.files, {**own.apart, **apart}))
    return followed


def _copy_of(change: Change, files: Mapping[str, CacheEntry]) -> str:
    """Return the copy of a note, found by content, id or file name; '' without one."""
    former = change.former_digest[:DIGEST_CHARS]
    same = (path for path, seen in files.items() if seen.digest[:DIGEST_CHARS] == former)
    named = (path for path, seen in files.items() if seen.id == change.former_id and change.former_id)
    return next(same, "") or next(named, "") or _by_name(change, files)


def _by_name(change: Change, files: Mapping[str, CacheEntry]) -> str:
    """Return the copy that still has its original file name; needed if the copy was edited."""
    path = f"{LEARNINGS}/{change.former_id}.md"
    return path if change.former_id and path in files else ""


def _is_unedited(place: NotePlace, copy: str, change: Change) -> bool:
    """Return whether a copy still has the former content of its note."""
    try:
        return digest_of(read_files(place, copy)[0]) == change.former_digest[:DIGEST_CHARS]
    except SwarmloreError:
        return False


def _follow(change: Change, copy: str, project: NotePlace, everywhere: NotePlace) -> bool:
    """Write the changed note over its copy, under its new name; an existing file of that name is kept."""
    folder, _, name = copy.rpartition("/")
    new_name = f"{change.id}.md" if name == f"{change.former_id}.md" else name
    data, sidecar = read_files(project, change.path)
    with open_folder(everywhere.root, folder) as place, place.lock():
        if new_name != name and place.has(new_name):
            return False
        place.replace(new_name, [_scrubbed_copy(data)])
        if sidecar:
            place.replace(sidecar_path(new_name), [_scrubbed_copy(sidecar)])
        elif new_name != name and (former := place.read(sidecar_path(name))):
            place.replace(sidecar_path(new_name), [former])
        if new_name != name:
            place.remove(name)
            place.remove(sidecar_path(name))
    return True


def _scrubbed_copy(data: bytes) -> bytes:
    """Redact secrets in the content of a file."""
    from swarmlore.domain.security.redaction import redact

    return redact(data.decode("utf-8"))[0].encode("utf-8")


def open_folder(root: str, below: str, *, make: bool = False) -> Folder:
    """Open a folder below a root without following links."""
    os.makedirs(root, exist_ok=True) if make else None
    folder = Folder(root)
    for part in below.split("/"):
        inside = folder.inside(part, make=make)
        folder.close()
        if inside is None:
            return Folder(os.path.join(root, *below.split("/")))  # raises, since the folder is missing or a link
        folder = inside
    return folder


def pairs_apart(project: NotePlace, everywhere: NotePlace, cache: Cache) -> tuple[Pair, ...]:
    """Return project notes whose copies differ: found by a sync, or with the same id but other front matter."""
    if not cache.knows(project.root) or not cache.knows(everywhere.root):
        return ()
    own, known = cache.load(project.root), cache.load(everywhere.root).files
    by_id = {seen.id: path for path, seen in known.items() if seen.id}
    listed = [(path, copy) for path, copy in own.apart.items() if path in own.files and copy in known]
    listed += [(path, by_id[seen.id]) for path, seen in own.files.items() if seen.id in by_id]
    pairs = ((path, copy, own.files[path].digest, known[copy].digest) for path, copy in dict.fromkeys(listed))
    differ = ((path, copy) for path, copy, one, other in pairs if one[:DIGEST_CHARS] != other[:DIGEST_CHARS])
    return tuple(Pair(project.path(path), everywhere.path(copy)) for path, copy in differ)
