"""Files of the learnings tradition given out: instincts, the memory file, what was taken over from clients.

They go out as they are, but for secrets. Taken in where there is none yet, they are the same again, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from swarmlore.domain.security.redaction import redact
from swarmlore.errors import InvalidInput, NotFound
from swarmlore.formats.instincts import FILE as INSTINCTS
from swarmlore.formats.instincts import FOLDER
from swarmlore.formats.instincts import parse as parse_instincts
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.note_exchange import ENDING, Paper
from swarmlore.project_memory import PATH, lines_of

if TYPE_CHECKING:
    from swarmlore.instincts import Instincts
    from swarmlore.project_memory import ProjectMemory

TEXTS = ("instincts", "memory-md")  # each is one file
FOLDERS = ("notes", "auto-memory")


def refuse_lines(format: str) -> None:
    """Raise where a format is a folder and not a text."""
    if format in FOLDERS:
        what = "notes are files" if format == "notes" else "what clients remember is files"
        raise InvalidInput(what, f"name a folder: export --format {format} FOLDER")


class Giving:
    """Such files out, of one project and its user."""

    def __init__(
        self, memory: ProjectMemory, instincts: Instincts, copies: Callable[[], Iterable[tuple[str, str]]]
    ) -> None:
        self._memory = memory
        self._instincts = instincts
        self._copies = copies

    def text(self, format: str) -> str:
        """One file as it is, without secrets; raises NotFound where there is none."""
        found = self._instincts.text() if format == "instincts" else self._memory.read()
        if not found:
            name = f"{FOLDER}/{INSTINCTS}" if format == "instincts" else PATH
            raise NotFound(f"this project has no {name}", "name another format: --format FORMAT")
        return redact(found)[0]

    def count(self, format: str) -> int:
        """How many rules or entries it has."""
        text = self.text(format)
        return len(parse_instincts(text).instincts) if format == "instincts" else sum(1 for _ in lines_of(PATH, text))

    def papers(self) -> Iterator[Paper]:
        """What was taken over from clients about this project, under the names that it had there."""
        found = list(self._copies())
        if not found:
            hint = "take it over first: swarmlore learnings ingest"
            raise NotFound("nothing of what clients remember about this project was taken over", hint)
        for name, text in found:
            yield Paper(name if name.endswith(ENDING) else name + ENDING, redact(text)[0])
