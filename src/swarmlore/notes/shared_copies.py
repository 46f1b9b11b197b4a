"""Copies of a project's notes among the notes for every project.

The project's file is the truth. Where it changes and its copy is still what the file was, the copy follows, and its
name with it. Where somebody changed the copy, both stay as they are, and it is said.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from swarmlore.errors import SwarmloreError
from swarmlore.frozen import frozen
from swarmlore.notes.entities_sidecar import sidecar_path
from swarmlore.notes.locations import LEARNINGS, NotePlace, digest_of
from swarmlore.notes.sync import Cache, Change, Place, Seen, read_files
from swarmlore.workspace.files import Folder

DIGEST_CHARS = 16  # of the note alone; what stands beside it has as many


@frozen
class Pair:
    """A project's note and its copy, which say different things."""

    note: str
    copy: str


def follow_copies(changes: Iterable[Change], project: NotePlace, everywhere: NotePlace, cache: Cache) -> int:
    """Let copies follow the notes that changed; returns how many did."""
    changes = tuple(changes)
    known = cache.load(everywhere.root) if changes else Place(everywhere.root, "")
    followed, apart = 0, dict[str, str]()
    for change in changes:
        copy = _copy_of(change, known.files)
        if copy and _is_as_it_was(everywhere, copy, change):
            followed += _follow(change, copy, project, everywhere)
        elif copy:
            apart[change.path] = copy
    if apart:
        own = cache.load(project.root)
        cache.save(Place(own.root, own.project, own.files, {**own.apart, **apart}))
    return followed


def _copy_of(change: Change, files: Mapping[str, Seen]) -> str:
    """The copy that was made of a note, by its contents or by its id."""
    former = change.former_digest[:DIGEST_CHARS]
    same = (path for path, seen in files.items() if seen.digest[:DIGEST_CHARS] == former)
    named = (path for path, seen in files.items() if seen.id == change.former_id and change.former_id)
    return next(same, "") or next(named, "") or _by_name(change, files)


def _by_name(change: Change, files: Mapping[str, Seen]) -> str:
    """A copy that somebody changed still has the name that it was given."""
    path = f"{LEARNINGS}/{change.former_id}.md"
    return path if change.former_id and path in files else ""


def _is_as_it_was(place: NotePlace, copy: str, change: Change) -> bool:
    try:
        return digest_of(read_files(place, copy)[0]) == change.former_digest[:DIGEST_CHARS]
    except SwarmloreError:
        return False


def _follow(change: Change, copy: str, project: NotePlace, everywhere: NotePlace) -> bool:
    """Write the note as it is now in the place of its copy, under its new name; one that is taken stays."""
    folder, _, name = copy.rpartition("/")
    fresh = f"{change.id}.md" if name == f"{change.former_id}.md" else name
    data, beside = read_files(project, change.path)
    with open_folder(everywhere.root, folder) as place, place.lock():
        if fresh != name and place.has(fresh):
            return False
        place.replace(fresh, [_scrubbed_copy(data)])
        if beside:
            place.replace(sidecar_path(fresh), [_scrubbed_copy(beside)])
        elif fresh != name and (former := place.read(sidecar_path(name))):
            place.replace(sidecar_path(fresh), [former])
        if fresh != name:
            place.remove(name)
            place.remove(sidecar_path(name))
    return True


def _scrubbed_copy(data: bytes) -> bytes:
    """What is written into a file holds no secrets, whatever the file had that it comes from."""
    from swarmlore.domain.security.redaction import redact

    return redact(data.decode("utf-8"))[0].encode("utf-8")


def open_folder(root: str, below: str, *, make: bool = False) -> Folder:
    """A folder below a root, reached without following a link."""
    os.makedirs(root, exist_ok=True) if make else None
    folder = Folder(root)
    for part in below.split("/"):
        inside = folder.inside(part, make=make)
        folder.close()
        if inside is None:
            return Folder(os.path.join(root, *below.split("/")))  # says what is wrong with it
        folder = inside
    return folder


def pairs_apart(project: NotePlace, everywhere: NotePlace, cache: Cache) -> tuple[Pair, ...]:
    """Notes of a project whose copies say something else: those that were found when the note changed, and those that
    have the same id and another head."""
    if not cache.knows(project.root) or not cache.knows(everywhere.root):
        return ()
    own, known = cache.load(project.root), cache.load(everywhere.root).files
    by_id = {seen.id: path for path, seen in known.items() if seen.id}
    listed = [(path, copy) for path, copy in own.apart.items() if path in own.files and copy in known]
    listed += [(path, by_id[seen.id]) for path, seen in own.files.items() if seen.id in by_id]
    differ = [pair for pair in listed if not _alike(own.files[pair[0]], known[pair[1]])]
    return tuple(Pair(project.path(path), everywhere.path(copy)) for path, copy in dict.fromkeys(differ))


def _alike(one: Seen, other: Seen) -> bool:
    return one.digest[:DIGEST_CHARS] == other.digest[:DIGEST_CHARS]
