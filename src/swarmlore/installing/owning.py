"""What in a client's files is ours, also where no list says so: another home may have written it, or it is gone."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.installing import ledger
from swarmlore.installing.calls import PROGRAM, Call
from swarmlore.installing.entries import File
from swarmlore.installing.files import Found, look, sheet_of, speaking_of
from swarmlore.installing.ledger import Kept, digest
from swarmlore.installing.sealed import sealed_call
from swarmlore.installing.skills import SHARED

if TYPE_CHECKING:
    from swarmlore.installing.where import Client, Where


def calls_in(file: File, found: Found) -> list[Call]:
    """Every entry of ours in a file: what it starts."""
    if file.form == "text":
        call = sealed_call(found.content, file.starts) if file.starts else None
        return [call] if call else []
    sheet = sheet_of(file, found)
    return [call for entry in file.entries for call in entry.calls(sheet)]


def harm(file: File, found: Found) -> str:
    """What an entry of an earlier release does to its client once our program is gone."""
    if file.form == "text":
        return ""
    sheet = sheet_of(file, found)
    with speaking_of(file.path):
        return "".join(entry.mend(sheet) for entry in file.entries)


def when_gone(harm: str) -> str:
    return f"{harm} once {PROGRAM} is gone"


def is_foreign(file: File, content: bytes | None, old: Kept | None) -> bool:
    """Whether a file that should be ours alone was written or changed by somebody else."""
    if content is None or content == file.text.encode():
        return False
    if file.starts and sealed_call(content, file.starts):
        return False
    return old is None or digest(content) != old.after


def may_hold_ours(path: str, root: str, kept: Sequence[Kept]) -> bool:
    """Whether a file may have something of ours in it: one that cannot even be read is no reason to fail where nothing
    was installed."""
    if kept:
        return True
    try:
        return PROGRAM.encode() in (look(path, root).content or b"")
    except SwarmloreError:
        return False


def hides_ours(client: Client, where: Where) -> bool:
    """Whether a file that cannot be read as what it is speaks of us."""
    for file in client.files(where):
        try:
            calls_in(file, look(file.path, where.root))
        except SwarmloreError:
            if may_hold_ours(file.path, where.root, ()):
                return True
    return False


def strays(client: Client, where: Where, kept: Sequence[Kept]) -> list[str]:
    """Files of ours in folders that the client does not seem to use now: a variable named another one then."""
    now = {os.path.dirname(file.path) for file in client.files(where)}
    own = [entry for entry in kept if (entry.client, entry.root) == (client.name, where.root)]
    others = [entry for entry in own if os.path.dirname(entry.path) not in now]
    return [entry.path for entry in others if may_hold_ours(entry.path, where.root, ())]


def kept_elsewhere(client: Client, where: Where) -> tuple[Kept, ...]:
    """What other homes keep about this client, as far as its entries name them. Not in a project: its files come from
    others, and could name any folder."""
    if where.root:
        return ()
    own = os.path.realpath(where.target.home)
    named = dict.fromkeys(call.home for file in client.files(where) for call in _calls_or_none(file, where))
    homes = [home for home in named if os.path.isabs(home) and os.path.realpath(home) != own]
    return tuple(entry for home in homes for entry in _list_of(home) if not entry.root)


def _calls_or_none(file: File, where: Where) -> list[Call]:
    try:
        return calls_in(file, look(file.path, where.root))
    except SwarmloreError:
        return []  # whoever changes the file says so


def _list_of(home: str) -> tuple[Kept, ...]:
    try:
        return ledger.read(home)
    except SwarmloreError:
        return ()


def used_by_others(where: Where, path: str, leaving: Collection[str]) -> bool:
    """Whether a client besides these reads the text at this path, and calls us."""
    from swarmlore.installing.clients import every_client

    for client in every_client():
        files = () if client.name in leaving else client.files(where)
        calls = [call for file in files for call in _calls_or_none(file, where)]
        if any(file.path == path for file in files) and (calls or hides_ours(client, where)):
            return True
    return False


def folders_of(client: Client, where: Where, target: str, old: Kept | None) -> tuple[str, ...]:
    """The folders that go with a file where nothing else is in them: those that were made for it. Where nobody knows,
    those up to the client's own, which is left only if a variable names it."""
    if old and not old.guessed:
        return old.folders
    outermost = _outermost(client, where, target)
    folders: list[str] = []
    folder = os.path.dirname(target)
    while outermost and (folder + os.sep).startswith(outermost + os.sep):
        folders.insert(0, folder)
        folder = os.path.dirname(folder)
    return tuple(folders)


def _outermost(client: Client, where: Where, target: str) -> str:
    own = os.path.realpath(client.folder(where))
    if (target + os.sep).startswith(own + os.sep):
        usual = os.path.realpath(client.folder(where.unmoved()))
        return own if own == usual else os.path.join(own, os.path.relpath(target, own).split(os.sep)[0])
    before, shared, _ = target.rpartition(f"{os.sep}{SHARED}{os.sep}")
    return os.path.join(before, SHARED) if shared else ""
