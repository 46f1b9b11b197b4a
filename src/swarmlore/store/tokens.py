"""Who may ask a server, by the marks of their tokens, and what was answered them. Whose a token is, `access` says."""

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
    """Tokens as rows; a token itself is never seen here."""

    def add_token(self, token: Token, mark: str) -> None:
        """Let whoever shows what has this mark in from now on."""
        with self.engine.writing():
            self.ask("add_token", **{name: getattr(token, name) for name in _MADE}, mark=mark)

    def find_token(self, id: str) -> tuple[str, Token] | None:
        """The mark of a token and what is known of it."""
        rows = self.ask("find_token", id=id)
        return (str(rows[0][0]), Token(*rows[0][1:])) if rows else None

    def tokens(self, caller: Caller, projects: Sequence[str], *, every: bool = False) -> list[Token]:
        """The newest first: those of these projects, or of every one."""
        self.act_for(caller)
        return [Token(*row) for row in self.ask("list_tokens", projects=list(projects), every=int(every))]

    def use_token(self, id: str, now: float) -> None:
        """Note that a token was shown; no writer waits for that, and a power cut may take it away."""
        with self.engine.queueing(durable=False):
            self.ask("use_token", id=id, at=now)

    def revoke_token(self, id: str, now: float) -> None:
        """Let nobody in with this token any more."""
        with self.engine.writing():
            self.ask("revoke_token", id=id, at=now)

    # Answers

    def answer_to(self, token: str, name: str, asked: str) -> str | None:
        """What was answered to a request of this name; None where nothing was."""
        rows = self.ask("find_answer", token=token, name=name)
        if rows and rows[0][0] != asked:
            raise Conflict("another request had this name", "give each request a name of its own")
        return str(rows[0][1]) if rows else None

    def keep_answer(self, token: str, name: str, asked: str, answer: str, now: float) -> None:
        """Keep it for a day: whoever did not get it asks again before long."""
        with self.engine.writing():
            self.note("put_answer", token=token, name=name, asked=asked, answer=answer, at=now)
            self.prove("find_answer", token=token, name=name)
            self.note("prune_answers", before=now - ANSWERS_S)
