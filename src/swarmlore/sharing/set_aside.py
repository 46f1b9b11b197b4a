"""What of a ledger cannot be taken in, kept where a person finds it; and the list of refused lessons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

from swarmlore.domain.json_codec import iso
from swarmlore.domain.policy.gate import scrub_text, scrub_value
from swarmlore.domain.records import Rejection
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.workspace.files import SMALL_BYTES, Folder
from swarmlore.workspace.jsonl import HEAD_BYTES, MARK, BadLine, dump, parse_object

if TYPE_CHECKING:
    from typing import Any

KEPT = 200
REJECTED_BYTES = 20_000


@frozen
class SetAside:
    """A line that was not taken in: where it stood, why, and the line itself."""

    file: str
    line: int
    reason: str
    raw: bytes = b""


def keep_aside(folder: Folder, name: str, found: Sequence[SetAside], at: float) -> None:
    """Add lines to the file of unreadable ones, each once; marks of a merge are git's and need no keeping."""
    lost = [item for item in found if item.reason != MARK]
    if not lost:
        return
    before = folder.read(name).splitlines() if folder.size(name) <= SMALL_BYTES else []  # larger ones are not ours
    known = {_print_of(line) for line in before}
    fresh = {_print(item.raw): _aside_line(item, at) for item in lost}
    added = [line for print, line in fresh.items() if print not in known]
    if added:
        folder.replace(name, [line + b"\n" for line in (*before, *added)[-KEPT:]])


def count_aside(folder: Folder, name: str) -> int:
    """How many lines are kept there."""
    return folder.read(name).count(b"\n") if folder.size(name) <= SMALL_BYTES else KEPT


def _aside_line(item: SetAside, at: float) -> bytes:
    text = scrub_text(item.raw[:HEAD_BYTES].decode("utf-8", "backslashreplace"))
    told = {"file": item.file, "line": item.line, "reason": item.reason, "at": iso(at), "print": _print(item.raw)}
    return dump({**told, "text": text})


def _print(raw: bytes) -> str:
    return blake2b(raw, digest_size=8).hexdigest()


def _print_of(line: bytes) -> str:
    try:
        return str(parse_object(line).get("print", ""))
    except BadLine:
        return ""


def rejected_lines(before: bytes, own: Iterable[Rejection], keep: int, gone: frozenset[str] = frozenset()) -> bytes:
    """The file of refused lessons: those that stand there and our own, the newest, without those that came back."""
    items = {str(item["id"]): item for line in before.splitlines() if (item := _rejected(line)) is not None}
    items.update({item.id: rejection_to_object(item) for item in own})
    items = {id: item for id, item in items.items() if id not in gone}
    newest = sorted(items.values(), key=lambda item: (str(item.get("rejected_at", "")), str(item["id"])))
    return b"".join(dump(item) + b"\n" for item in (newest[-keep:] if keep else []))


def rejected_ids(before: bytes) -> list[str]:
    """The ids of the refused lessons in a file."""
    return [str(item["id"]) for line in before.splitlines() if (item := _rejected(line)) is not None]


def rejection_to_object(item: Rejection) -> dict[str, Any]:
    """A rejection as opencode-swarm writes it."""
    return {
        "id": item.id,
        "lesson": item.text,
        "rejection_reason": item.reason,
        "rejected_at": iso(item.at),
        "rejection_layer": item.layer,
    }


def _rejected(line: bytes) -> dict[str, Any] | None:
    try:
        item = parse_object(line) if len(line) < REJECTED_BYTES else None
    except BadLine:
        return None
    if item is None or not isinstance(item.get("id"), str):
        return None
    return dict(scrub_value(item))
