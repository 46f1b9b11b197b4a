"""Memory records as table rows and back."""

from __future__ import annotations

import json
import zlib

from swarmlore.domain.json_codec import record_fields
from swarmlore.domain.records import Citation, Confirmation, Memory, Outcomes, Situation
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.store.files import damaged

if TYPE_CHECKING:
    from typing import Any

COLUMNS = (
    *("id", "handle", "text", "title", "kind", "category", "tier", "project", "owner", "scope", "status", "trust"),
    *("source", "key", "confidence", "created_at", "updated_at", "last_accessed_at", "access_count", "expires_at"),
    *("valid_from", "valid_until", "forgotten_at", "superseded_by", "feedback_score", "feedback_count", "version"),
)
SELECT = "SELECT seq, partition, " + ", ".join(COLUMNS) + ", more FROM memory "
_DEFAULTS = Memory(id="", text="")
_SCALARS = ("born_in_phase", "max_phases", "last_validated_at", "encounter_score", "hive_eligible", "auto_generated")
_LISTS = ("tags", "entities", "supersedes")
_RECORDS = {"confirmed_by": Confirmation, "citations": Citation}
_USUAL = tuple(
    (name, getattr(_DEFAULTS, name)) for name in (*_SCALARS, *_LISTS, *_RECORDS, "outcomes", "source_ref", "extra")
)


def to_row(memory: Memory, partition: int) -> dict[str, Any]:
    """The parameters of `put_memory` and `replace_memory`."""
    row = {name: getattr(memory, name) for name in COLUMNS}
    row["partition"] = partition
    row["session"] = str(memory.source_ref.get("session", ""))
    row["position"] = _position(memory)
    row["more"] = json.dumps(_more(memory), ensure_ascii=False, separators=(",", ":"))
    return row


def from_row(row: tuple[Any, ...], situations: tuple[Situation, ...] = ()) -> Memory:
    """The memory of a row selected with `SELECT`."""
    try:
        return _memory(row, situations)
    except (ValueError, TypeError, AttributeError) as error:
        raise damaged(f"the row of memory {row[2]}") from error


def from_json(text: str) -> Any:
    """A JSON column's value."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise damaged("a record in the store") from error


def _memory(row: tuple[Any, ...], situations: tuple[Situation, ...]) -> Memory:
    values = dict(zip(COLUMNS, row[2:-1], strict=True))
    more = json.loads(row[-1])
    for name in _LISTS:
        more[name] = tuple(more.get(name, ()))
    for name, kind in _RECORDS.items():
        more[name] = tuple(kind(**item) for item in more.get(name, ()))
    if "outcomes" in more:
        more["outcomes"] = Outcomes(**more["outcomes"])
    return Memory(**values, **more, situations=situations)


def text_key(text: str) -> int:
    """Equal for texts that differ only in case and white space. A checksum, not a proof: who finds a row by it compares
    the texts. Above 32 bits, where no shingle is."""
    data = " ".join(text.lower().split()).encode("utf-8", "replace")
    return (zlib.crc32(data) | 1 << 31) << 31 | zlib.crc32(data[::-1]) >> 1


def handle_of(id: str, length: int) -> str:
    """The end of a UUID is random; an id from elsewhere is hashed first."""
    tail = id.replace("-", "")
    if len(tail) != 32 or not all(char in "0123456789abcdef" for char in tail):
        from hashlib import blake2b

        tail = blake2b(id.encode("utf-8", "replace"), digest_size=16).hexdigest()
    return tail[-length:]


def place_word(partition: int) -> str:
    """A partition as a word of the full-text index; the checksum keeps it from meeting a real word."""
    return f"zq{partition}x{zlib.crc32(str(partition).encode()):08x}"


def _position(memory: Memory) -> int | None:
    position = memory.source_ref.get("position")
    return position if isinstance(position, int) else None


def _more(memory: Memory) -> dict[str, Any]:
    """What has no column of its own; defaults are left out."""
    more = {name: value for name, usual in _USUAL if (value := getattr(memory, name)) != usual}
    for name in more.keys() & _RECORDS.keys():
        more[name] = [record_fields(item) for item in more[name]]
    if "outcomes" in more:
        more["outcomes"] = record_fields(memory.outcomes)
    for name in more.keys() & {"source_ref", "extra"}:
        more[name] = dict(more[name])
    return more
