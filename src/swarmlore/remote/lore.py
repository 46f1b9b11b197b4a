"""`RemoteLore`: the verbs of `Lore`, answered by a server on another machine."""

from __future__ import annotations

import inspect
import os
import uuid

from swarmlore.codec import memory_to_dict
from swarmlore.errors import ConfigError, Unavailable
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.lore import Lore
from swarmlore.recall import Hits
from swarmlore.remote.decoding import decoded
from swarmlore.remote.line import PLAIN, Line
from swarmlore.verbs.table import LOCAL, READS, WRITES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Self

    from swarmlore.records import AuditRow

URL, TOKEN = "SWARMLORE_URL", "SWARMLORE_TOKEN"


class RemoteLore:
    """Asks a server. Every verb of the table is a method here, with the parameters that it has in `Lore`."""

    def __init__(self, url: str, token: str, *, plain: bool = False) -> None:
        self._line = Line(url, token, plain=plain)

    @classmethod
    def open(cls, env: Mapping[str, str] | None = None) -> Self:
        """The server that the environment names."""
        env = os.environ if env is None else env
        if not env.get(TOKEN):
            raise ConfigError(f"{URL} is set, but not {TOKEN}", "ask whoever runs the server for a token")
        return cls(env[URL], env[TOKEN], plain=env.get(PLAIN) == "1")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._line.close()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in LOCAL:
            raise Unavailable(f"{name} cannot be asked of a server: it {LOCAL[name]}", f"unset {URL} to do it here")
        if name not in (*READS, *WRITES):
            raise AttributeError(name)
        return lambda *args, **given: self._ask(name, args, given)

    def _ask(self, name: str, args: tuple[Any, ...], given: Mapping[str, Any]) -> Any:
        method = getattr(Lore, name)
        bound = inspect.signature(method).bind(None, *args, **given)
        body = {key: value for key, value in _flat(bound).items() if value is not None and key != "progress"}
        key = "" if name in READS else str(uuid.uuid4())
        answer = self._line.ask(f"/v1/{name}", body, key=key)
        if name == "recall":
            hits = decoded("tuple[Hit, ...]", answer["result"])
            return Hits(hits, tuple(answer["notes"]), tuple(answer["reports"]))
        found = decoded(str(inspect.signature(method).return_annotation), answer["result"])
        return tuple(map(_with_records, found)) if name == "history" else found


def _with_records(row: AuditRow) -> AuditRow:
    """A row of a history whose records are as a store gives them: times are numbers."""
    former, later = (memory_to_dict(decoded("Memory", one)) if one else None for one in (row.before, row.after))
    return replace(row, before=former, after=later)


def _flat(bound: inspect.BoundArguments) -> dict[str, Any]:
    """The arguments by name, those of `**facts` among them."""
    found: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            found |= value
        elif name != "self":
            found[name] = value
    return found
