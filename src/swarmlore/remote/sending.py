"""Files of this machine for a server: their records as lines, whatever they were; and lines from there as files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from swarmlore.errors import Unavailable
from swarmlore.exchange.import_files import FOREIGN, NOTES, check_format, recognised, write_lines
from swarmlore.exchange.import_stream import SENT
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.remote.line import Line
from swarmlore.remote.streams import WHOLE, send
from swarmlore.sharing.foreign_records import raw_records
from swarmlore.workspace.files import opened
from swarmlore.workspace.jsonl import BadLine, dump

if TYPE_CHECKING:
    from typing import BinaryIO

    from swarmlore.exchange.import_files import Brought
    from swarmlore.models.embedding import Progress

PART_BYTES = 65_536
BLANK = b"\n"  # in the place of a record that cannot be read, so that those behind it keep their numbers


def send_file(line: Line, path: str, format: str, progress: Progress | None) -> Brought:
    """Send a file's records; those that cannot be read here are named with the others."""
    check_format(format, NOTES)
    if os.path.isdir(path):
        raise Unavailable(
            f"{path} is a folder, and a server takes lines",
            "to import it here: env -u SWARMLORE_URL swarmlore import …",
        )
    with opened(path) as file:
        kind = recognised(path, format, file)
        if kind not in SENT:
            raise Unavailable(
                f"{kind} cannot be sent to a server", "to import it here: env -u SWARMLORE_URL swarmlore import …"
            )
        size, problems = os.fstat(file.fileno()).st_size, list[tuple[int, str]]()
        lines = _records(kind, file, problems) if kind in FOREIGN else _texts(file)
        told = send(line, lines, kind, _of(progress, size))
    if not problems:
        return told
    refusals = tuple(sorted((*told.refusals, *problems)))
    return replace(told, read=told.read + len(problems), refused=told.refused + len(problems), refusals=refusals)


def _of(progress: Progress | None, size: int) -> Progress | None:
    """Progress that knows how much there is; lines of JSON may take more than what they were."""
    if progress is None:
        return None
    return lambda sent, _: progress(min(sent, size // 1024), size // 1024)


def _texts(file: BinaryIO) -> Iterator[bytes]:
    """The lines as they are; of one without an end only so much at a time is held."""
    while part := file.readline(PART_BYTES):
        yield part


def _records(kind: str, file: BinaryIO, problems: list[tuple[int, str]]) -> Iterator[bytes]:
    for number, found in enumerate(raw_records(kind, file), start=1):
        if isinstance(found, BadLine):
            problems.append((number, found.reason))
            yield BLANK
        else:
            yield dump(found) + b"\n"


def write_file(path: str, format: str, lines: Callable[[], Iterator[bytes]], *, overwrite: bool) -> int:
    """Write what a server gives, whole or not at all; returns how many memories it has."""
    counted = 0

    def counting() -> Iterator[bytes]:
        nonlocal counted
        for text in lines():
            counted += text.startswith(b"{")
            yield text

    write_lines(path, counting, overwrite=overwrite)
    return counted - (format in WHOLE)  # the first line of a document opens it
