"""What of a foreign record our own has no place for, kept so that the record can be written as it was.

A record is read into a memory, and the memory written again; wherever the two differ, the former value is kept. When
the memory is written later it is used again, but only as far as it still says what the memory says: a memory that was
changed here goes out changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from swarmlore.domain.records import Memory

    Fields: TypeAlias = dict[str, Any]


def difference(had: Mapping[str, Any], made: Mapping[str, Any], leave: tuple[str, ...] = ()) -> Fields:
    """What a record has or lacks beside what we would write."""
    has = {name: value for name, value in had.items() if name not in leave and not _same(value, made, name)}
    lacks = [name for name in made if name not in had and name not in leave]
    return {**({"has": has} if has else {}), **({"lacks": lacks} if lacks else {})}


def _same(value: Any, made: Mapping[str, Any], name: str) -> bool:
    if name not in made:
        return False
    other = made[name]
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)


def applied(made: Mapping[str, Any], kept: Any) -> Fields:
    """The record as it was."""
    has, lacks = parts(kept)
    return {**{name: value for name, value in made.items() if name not in lacks}, **has}


def parts(kept: Any) -> tuple[Fields, list[str]]:
    if not isinstance(kept, Mapping):
        return {}, []
    has, lacks = kept.get("has"), kept.get("lacks")
    return (
        dict(has) if isinstance(has, Mapping) else {},
        [name for name in lacks if isinstance(name, str)] if isinstance(lacks, list | tuple) else [],
    )


def restored(made: Fields, kept: Any, read: Callable[[Fields], Memory]) -> Fields:
    """The record of a memory, with whatever of its former shape says the same."""
    whole = applied(made, kept)
    if whole == made:
        return made
    meant = read(made)

    def fits(record: Fields) -> bool:
        return read(record) == meant

    if fits(whole):
        return whole
    has, lacks = parts(kept)
    record = made
    for name, value in has.items():
        trial = {**record, name: value}
        record = trial if fits(trial) else record
    for name in lacks:
        trial = {key: value for key, value in record.items() if key != name}
        record = trial if fits(trial) else record
    return record
