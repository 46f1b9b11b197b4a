"""Access tokens of a server, and its answers kept for repeated requests. The rules of access are in `access`."""

from __future__ import annotations

from swarmlore.domain.records import Caller, Token
from swarmlore.errors import Conflict
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.store.proposals import Proposals

if TYPE_CHECKING:
    from collections.abc import Sequence

ANSWERS_S = 86_400.0
_MADE = ("id", "project", "agent", "role", "folder", "created_at", "created_by", "expires_at")


class Tokens(Proposals):
    """Tokens as rows; only the hash of the secret is stored."""

    def add_token(self, token: Token, mark: str) -> None:
        """Store a token; from now on the secret with this hash grants access."""
        with self.engine.writing():
            self.ask("add_token", **{name: getattr(token, name) for name in _MADE}, mark=mark)

    def find_token(self, id: str) -> tuple[str, Token] | None:
        """Return the hash of a token's secret and the token, or None."""
        rows = self.ask("find_token", id=id)
        return (str(rows[0][0]), Token(*rows[0][1:])) if rows else None

    def tokens(self, caller: Caller, projects: Sequence[str], *, every: bool = False) -> list[Token]:
        """Return the tokens of these projects, or with `every` of all, newest first."""
        self.act_for(caller)
        return [Token(*row) for row in self.ask("list_tokens", projects=list(projects), every=int(every))]

    def use_token(self, id: str, now: float) -> None:
        """Record when a token was last used. This blocks no writer, and a power cut may lose it."""
        with self.engine.queueing(durable=False):
            self.ask("use_token", id=id, at=now)

    def revoke_token(self, id: str, now: float) -> None:
        """Revoke a token: it grants no access any more."""
        with self.engine.writing():
            self.ask("revoke_token", id=id, at=now)

    # Kept answers

    def answer_to(self, token: str, name: str, asked: str) -> str | None:
        """Return the kept answer to a named request, or None; raise Conflict if the request was another."""
        rows = self.ask("find_answer", token=token, name=name)
        if rows and rows[0][0] != asked:
            raise Conflict("another request had this name", "give each request a name of its own")
        return str(rows[0][1]) if rows else None

    def keep_answer(self, token: str, name: str, asked: str, answer: str, now: float) -> None:
        """Keep an answer for a day: a client that did not receive it repeats the request soon."""
        with self.engine.writing():
            self.note("put_answer", token=token, name=name, asked=asked, answer=answer, at=now)
            self.prove("find_answer", token=token, name=name)
            self.note("prune_answers", before=now - ANSWERS_S)
