"""The vector file beside a store: a copy of the vectors sorted by row, mapped by all processes, with an index.

It is derived from the table; a file that is truncated, damaged or another store's is not used. The header is at the
end, so that a half-written file has none. Each part has a checksum, and all are verified before use, as a damaged index
can crash the process that loads it.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import zlib
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from swarmlore.errors import StoreCorrupt
from swarmlore.frozen import frozen
from swarmlore.store.vectors import UNFINISHED, path_of, unfinished
from swarmlore.store.vectors.approximate import Near

MAGIC = b"swarmlore vectors 1\n"
ALIGNED = 4096  # parts begin on a page boundary, as libraries read whole words
READ_BYTES = 1 << 22
MOST_HEAD = 1 << 20
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
PARTS = {
    "memory": "<i8",
    "cue": "<i8",
    "partition": "<i8",
    "ends": "<i8",
    "pieces": "u1",
    "matrix": "<f4",
    "near": "u1",
}


@frozen
class Head:
    """The header of a vector file."""

    token: str  # the store records the token of its file
    provider: str
    dimension: int
    rows: int
    change: int  # all vectors up to this change number are in the file
    parts: dict[str, tuple[int, int, int]]  # by name: offset, size in bytes, checksum


class MappedVectors:
    """A verified vector file, mapped into memory."""

    def __init__(self, file: BinaryIO, head: Head) -> None:
        self.head = head
        self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.memory: NDArray[np.int64] = self._part("memory")
        self.cue: NDArray[np.int64] = self._part("cue")
        self.partition: NDArray[np.int64] = self._part("partition")
        self.matrix: NDArray[np.float32] = self._part("matrix").reshape(head.rows, head.dimension)
        self._ends = self._part("ends")
        self._pieces = self._part("pieces")
        self.near = Near.load(self._part("near"))

    def _part(self, name: str) -> NDArray[Any]:
        start, size, _ = self.head.parts[name]
        kind = np.dtype(PARTS[name])
        return np.frombuffer(self._map, kind, size // kind.itemsize, start)

    def __len__(self) -> int:
        return self.head.rows

    @property
    def is_sound(self) -> bool:
        """Return whether the file still has its length: reading a mapped page beyond the end would kill the process."""
        return self._map.size() == len(self._map)

    def pieces(self, slot: int) -> bytes:
        """Return the word-piece ids of a text."""
        return self._pieces[self._ends[slot - 1] if slot else 0 : self._ends[slot]].tobytes()

    def slots_of(self, memory: int) -> range:
        """Return the slots of a memory's text and situations, the text first."""
        first, last = np.searchsorted(self.memory, [memory, memory + 1])
        return range(int(first), int(last))

    def texts_of(self, memories: Sequence[int]) -> dict[int, int]:
        """Return the slots of the texts of those memories that have one here."""
        asked = np.asarray(memories, np.int64)
        slots = np.searchsorted(self.memory, asked)  # the first slot of a memory is its text
        inside = slots < len(self)
        asked, slots = asked[inside], slots[inside]
        here = (self.memory[slots] == asked) & (self.cue[slots] == 0)
        return dict(zip(asked[here].tolist(), slots[here].tolist(), strict=True))

    def situations_of(self, memories: Sequence[int]) -> dict[int, list[int]]:
        """Return the slots of the situations of those memories that have some here."""
        asked = np.asarray(memories, np.int64)
        firsts, lasts = np.searchsorted(self.memory, asked), np.searchsorted(self.memory, asked, "right")
        places = zip(asked.tolist(), firsts.tolist(), lasts.tolist(), strict=True)
        return {
            memory: [slot for slot in range(first, last) if self.cue[slot]]
            for memory, first, last in places
            if last - first > 1 or (last > first and self.cue[first])  # most have a text and nothing else
        }

    def slot_of(self, memory: int, cue: int) -> int | None:
        """Return the slot of a memory's text (cue 0) or situation, or None."""
        return next((slot for slot in self.slots_of(memory) if self.cue[slot] == cue), None)


def is_there(home: str, token: str) -> bool:
    """Return whether the file with this token exists, judged by its header."""
    try:
        file, _ = _opened(home, token)
    except StoreCorrupt:
        return False
    file.close()
    return True


def load(home: str, token: str) -> MappedVectors:
    """Map the file with this token; raise StoreCorrupt if it is missing or damaged, and delete a damaged one."""
    file, head = _opened(home, token)
    try:
        for start, size, checksum in head.parts.values():
            if _checksum(file, start, size) != checksum:
                _discard(file, path_of(home))
                raise _wrong(path_of(home), "is damaged")
        return MappedVectors(file, head)
    finally:
        file.close()


def _opened(home: str, token: str) -> tuple[BinaryIO, Head]:
    path = path_of(home)
    try:
        file = open(os.open(path, _FLAGS), "rb")  # noqa: SIM115 - the caller closes it
    except OSError as error:
        raise _wrong(path, f"cannot be read: {(error.strerror or '').lower()}") from error
    try:
        head = _head(file, path)
        if head.token != token:
            raise _wrong(path, "belongs to another state of the store")
    except BaseException:
        file.close()
        raise
    return file, head


def _discard(file: BinaryIO, path: str) -> None:
    """Delete a damaged file if it is still in place, so that a new one is built as if there were none."""
    with contextlib.suppress(OSError):
        if os.path.samestat(os.stat(path), os.fstat(file.fileno())):
            os.unlink(path)


def _head(file: BinaryIO, path: str) -> Head:
    """Read the header at the end of the file and check that it is ours and fits the file's size."""
    whole = file.seek(0, os.SEEK_END)
    file.seek(max(0, whole - 12))
    tail = file.read(12)
    size, checksum = int.from_bytes(tail[:8], "little"), int.from_bytes(tail[8:], "little")
    begin = whole - 12 - size
    if not 0 < size <= MOST_HEAD or begin < len(MAGIC):
        raise _wrong(path, "is cut")
    file.seek(begin)
    text = file.read(size)
    file.seek(0)
    if zlib.crc32(text) != checksum or file.read(len(MAGIC)) != MAGIC:
        raise _wrong(path, "is damaged, or of another version")
    fields = json.loads(text)
    head = Head(**{**fields, "parts": {name: tuple(part) for name, part in fields["parts"].items()}})
    if not _fits(head, begin):
        raise _wrong(path, "is damaged")
    return head


def _fits(head: Head, end: int) -> bool:
    """Return whether all parts lie within the file and have the size that rows and dimension imply."""
    widths = {"memory": 8, "cue": 8, "partition": 8, "ends": 8, "matrix": 4 * head.dimension}
    sizes = {name: width * head.rows for name, width in widths.items()}
    return set(head.parts) == set(PARTS) and all(
        0 < start <= start + size <= end and size == sizes.get(name, size)
        for name, (start, size, _) in head.parts.items()
    )


def _checksum(file: BinaryIO, start: int, size: int) -> int:
    file.seek(start)
    found = 0
    while size > 0 and (chunk := file.read(min(size, READ_BYTES))):
        found, size = zlib.crc32(chunk, found), size - len(chunk)
    return found


def _wrong(path: str, why: str) -> StoreCorrupt:
    return StoreCorrupt(f"{path} {why}", "searching goes on without it; to make it anew: swarmlore reindex")


class VectorFileWriter:
    """A vector file under construction, under another name until it is complete and on disk."""

    def __init__(self, home: str) -> None:
        self._home = home
        for left in unfinished(home):  # left by a dead process: we hold the lock
            os.unlink(left)
        self.path = f"{path_of(home)}.{os.urandom(6).hex()}{UNFINISHED}"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
        self._file = open(os.open(self.path, flags, 0o600), "w+b", buffering=1 << 20)  # noqa: SIM115 - closed by `drop`
        self._file.write(MAGIC)
        self._parts: dict[str, tuple[int, int, int]] = {}
        self._begun = (0, 0)  # offset and running checksum of the current part

    def begin(self) -> None:
        """Begin a part on a page boundary."""
        self._file.write(bytes(-self._file.tell() % ALIGNED))
        self._begun = (self._file.tell(), 0)

    def write(self, data: bytes | memoryview) -> None:
        """Append data to the current part."""
        start, checksum = self._begun
        self._file.write(data)
        self._begun = (start, zlib.crc32(data, checksum))

    def end(self, name: str) -> None:
        """End the current part and record its offset, size and checksum."""
        start, checksum = self._begun
        self._parts[name] = (start, self._file.tell() - start, checksum)

    def add(self, name: str, values: NDArray[Any]) -> None:
        """Write a whole part."""
        self.begin()
        self.write(np.ascontiguousarray(values.astype(PARTS[name], copy=False)).data.cast("B"))
        self.end(name)

    def rows(self, first: int, last: int, dimension: int) -> NDArray[np.float32]:
        """Read back rows of the matrix that was written."""
        self._file.seek(self._parts["matrix"][0] + 4 * dimension * first)
        data = self._file.read(4 * dimension * (last - first))
        self._file.seek(0, os.SEEK_END)
        return np.frombuffer(data, np.float32).reshape(-1, dimension)

    def finish(self, **facts: str | int) -> None:
        """Write the header and call fsync."""
        text = json.dumps({**facts, "parts": self._parts}).encode()
        self._file.write(text + len(text).to_bytes(8, "little") + zlib.crc32(text).to_bytes(4, "little"))
        self._file.flush()
        os.fsync(self._file.fileno())

    def take_place(self) -> None:
        """Rename the file to the home's vector file, durably."""
        os.replace(self.path, path_of(self._home))
        if os.name != "posix":
            return  # a folder cannot be opened there
        folder = os.open(self._home, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def drop(self) -> None:
        """Close the file, and delete it unless it took its place."""
        self._file.close()
        if os.path.exists(self.path):
            os.unlink(self.path)
