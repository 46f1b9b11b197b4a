"""`RemoteLore`: the verbs of `Lore`, answered by a server on another machine."""

from __future__ import annotations

import os
import uuid
from urllib.parse import urlencode

from swarmlore.errors import Unavailable
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.remote.calls import body_of, result_of
from swarmlore.remote.line import PLAIN, Line
from swarmlore.remote.named import URL, token_in
from swarmlore.verbs.table import LOCAL, READS, WRITES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, Self

    from swarmlore.domain.records import Memory
    from swarmlore.exchange.import_files import Brought
    from swarmlore.models.embedding import Progress

PAGE = 1_000  # memories of one list; a server gives no more at once


class RemoteLore:
    """Asks a server. Every verb of the table is a method here, with the parameters that it has in `Lore`."""

    def __init__(self, url: str, token: str, *, plain: bool = False, how: Mapping[str, str] | None = None) -> None:
        """`how` is said with every request: a `profile`, the `stacks` of the project."""
        self._line = Line(url, token, plain=plain)
        self._how = urlencode({name: value for name, value in (how or {}).items() if value})

    @classmethod
    def open(cls, env: Mapping[str, str] | None = None) -> Self:
        """The server that the environment names."""
        env = os.environ if env is None else env
        return cls(env.get(URL, ""), token_in(env), plain=env.get(PLAIN) == "1")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._line.close()

    def import_lines(self, lines: Iterable[bytes], format: str = "auto", progress: Progress | None = None) -> Brought:
        """Send lines; returns what became of them."""
        from swarmlore.remote.streams import send

        return send(self._line, (line.rstrip(b"\n") + b"\n" for line in lines), format, progress)

    def import_file(self, path: str, format: str = "auto", progress: Progress | None = None) -> Brought:
        """Send what a file of this machine holds."""
        from swarmlore.remote.sending import send_file

        return send_file(self._line, path, format, progress)

    def export_lines(self, format: str = "knowledge", *, private: bool = False) -> Iterator[bytes]:
        """The lines that the server gives; raises Unavailable where some are missing at the end."""
        from swarmlore.remote.streams import check_given, given

        check_given(format, private=private)
        return given(self._line, format)

    def export_file(
        self, path: str, format: str = "knowledge", *, overwrite: bool = False, private: bool = False
    ) -> int:
        """Write them to a file of this machine, whole or not at all; returns how many they are."""
        from swarmlore.remote.sending import write_file

        return write_file(path, format, lambda: self.export_lines(format, private=private), overwrite=overwrite)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in LOCAL:
            raise Unavailable(f"{name} cannot be asked of a server: it {LOCAL[name]}", f"unset {URL} to do it here")
        if name not in (*READS, *WRITES):
            raise AttributeError(name)
        return lambda *args, **given: self._ask(name, args, given)

    def list(self, **filter: Any) -> tuple[Memory, ...]:
        """As `Lore` says it; a long list is asked for in pages."""
        left, offset = filter.pop("limit", 20), filter.pop("offset", 0)
        found: list[Memory] = []
        while True:
            asked = min(left, PAGE)
            page = self._ask("list", (), {**filter, "limit": asked, "offset": offset})
            found += page
            left, offset = left - asked, offset + asked
            if left <= 0 or len(page) < asked:
                return tuple(found)

    def _ask(self, name: str, args: tuple[Any, ...], given: Mapping[str, Any]) -> Any:
        body = body_of(name, args, given)
        key = "" if name in READS else str(uuid.uuid4())
        return result_of(name, self._line.ask(f"/v1/{name}?{self._how}".rstrip("?"), body, key=key))
