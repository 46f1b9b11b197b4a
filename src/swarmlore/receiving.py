"""What `Lore` can say about lines that are sent to it, instead of a file that it reads."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from swarmlore.frozen import TYPE_CHECKING
from swarmlore.parts import Parts

if TYPE_CHECKING:
    from swarmlore.exchange.import_files import Brought

AT_ONCE = 100  # lines of one transaction: other writers wait for it


class Receiving(Parts):
    """The verbs of lines that come in."""

    if TYPE_CHECKING:

        def embed_later(self) -> None:
            """As `Errands` says it."""

    def import_lines(
        self,
        lines: Iterable[bytes],
        format: str = "auto",
        *,
        first: int = 1,
        so_far: Brought | None = None,
        more: bool = False,
    ) -> Brought:
        """Take in lines that the caller answers for, a hundred in a transaction. Many can come in pieces: `first` is
        the number of the first line, `so_far` what the piece before told, and `more` says that others follow."""
        from swarmlore.exchange.import_stream import check_sent

        check_sent(format)
        source, told = iter(lines), so_far
        while piece := list(islice(source, AT_ONCE)):
            with self._guard:
                told = self.exchange.take(piece, format, first, told)
            first += len(piece)
        if more and told is not None:
            return told
        with self._changing():  # files follow once, at the end
            told = told or self.exchange.take([], format, first, None)
            self._keep_names()
            self.embed_later()
            return told
