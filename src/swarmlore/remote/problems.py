"""Errors that a server told, as those that they would have been here."""

from __future__ import annotations

from swarmlore import errors
from swarmlore.errors import SwarmloreError, Unavailable
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

WHOSE = "set SWARMLORE_TOKEN to one that does; on the server's machine: swarmlore token create --agent NAME"
_KINDS: dict[str, type[SwarmloreError]] = {
    kind.__name__: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, SwarmloreError)
}


def error_of(status: int, answer: Any) -> SwarmloreError:
    """The error that the server told, as the one that it would have been here."""
    if status == 200:
        return Unavailable("what answers there is no Swarmlore server", "check the address: swarmlore serve prints it")
    said = answer if isinstance(answer, dict) else {}
    message, hint = str(said.get("error") or f"the server answered {status}"), str(said.get("hint") or "")
    if status == 401:
        hint = WHOSE
    name = "".join(word.capitalize() for word in str(said.get("code", "")).split("_"))
    kind = _KINDS.get(name)
    if kind is errors.Rejected:
        return errors.Rejected(message, int(said.get("layer", 1)), hint)
    if kind is errors.Ambiguous:
        return errors.Ambiguous(message, hint, tuple(map(str, said.get("candidates", ()))))
    if kind is None:
        kind = {401: errors.NotAllowed, 403: errors.NotAllowed, 404: errors.NotFound, 503: Unavailable}.get(
            status, SwarmloreError
        )
    problem = kind(message, hint)
    problem.http_status = status  # of an error that only a server has, such as one about the size of a body
    return problem
