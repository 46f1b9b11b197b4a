"""Access tokens of a server: create, list, revoke and verify them. Only a hash of each token is stored."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets

from swarmlore.domain.records import Caller, Token
from swarmlore.errors import Ambiguous, InvalidInput, NotAllowed, NotFound
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.workspace.identity import PERSON

if TYPE_CHECKING:
    from collections.abc import Callable

    from swarmlore.store.store import Store


ROLES = ("worker", "lead")
SECRET_BYTES = 32
DAY_S = 86_400.0
MOST_DAYS = 3_650
USED_EVERY_S = 60.0  # resolution of the time a token was last used
MOST_NAME = 200
_FORM = re.compile(r"swl_([0-9a-z]{10})_[A-Za-z0-9_-]{43}")
_NAME = re.compile(r"[^\s\x00-\x1f\x7f](?:[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?")


class Tokens:
    """Create, list and revoke the access tokens of one project, for a lead or a person."""

    def __init__(self, store: Store, caller: Caller, now: Callable[[], float]) -> None:
        self._store = store
        self._caller = caller
        self._now = now

    def create(self, agent: str, role: str, folder: str, days: float) -> tuple[Token, str]:
        """Create a token for one agent of the caller's project; return it with its secret, which is not stored."""
        self._check_lead("make tokens")
        token = Token(
            id=secrets.token_hex(5),
            project=self._caller.project,
            agent=_agent(agent),
            role=_role(role),
            folder=_folder(folder),
            created_at=self._now(),
            created_by=self._caller.agent,
            expires_at=_end(days, self._now()),
        )
        secret = f"swl_{token.id}_{secrets.token_urlsafe(SECRET_BYTES)}"
        self._store.add_token(token, _hash(secret))
        return token, secret

    def tokens(self, *, all_projects: bool = False) -> list[Token]:
        """Return the project's tokens, newest first; those of all projects only for a person."""
        self._check_lead("see tokens")
        if all_projects and self._caller.role != "person":
            raise NotAllowed("only a person can see all projects", "leave out all_projects")
        names = self._store.names_of(self._caller.project)
        return self._store.tokens(self._caller, names, every=all_projects)

    def revoke(self, ref: str) -> Token:
        """Revoke a token, named by its id, the beginning of its id, or its secret."""
        known = self.tokens(all_projects=self._caller.role == "person")
        wanted = ref.strip().removeprefix("swl_").partition("_")[0]
        found = [token for token in known if wanted and token.id.startswith(wanted)]
        if not found:
            raise NotFound("no such token", "swarmlore token list shows their ids")
        if len(found) > 1:
            ids = tuple(token.id for token in found)
            raise Ambiguous(f"{wanted!r} fits {len(ids)} tokens", "give more of the id", ids)
        self._store.revoke_token(found[0].id, self._now())
        known_now = self._store.find_token(found[0].id)
        return known_now[1] if known_now else found[0]

    def _check_lead(self, what: str) -> None:
        if not self._caller.leads:
            raise NotAllowed(f"only a lead or a person may {what}", "ask the lead, or type it at a terminal")


def verify(store: Store, shown: str, now: float) -> Token | None:
    """Return the token with this secret; None if it is unknown, expired or revoked. The comparison is constant-time."""
    form = _FORM.fullmatch(shown)
    stored_hash, token = store.find_token(form[1] if form else "") or ("", None)
    same = hmac.compare_digest(stored_hash, _hash(shown))
    return token if token is not None and same and token.holds(now) else None


def is_due(token: Token, now: float) -> bool:
    """Return True if the recorded time of last use is more than a minute old."""
    return token.used_at is None or now - token.used_at > USED_EVERY_S


def caller_of(token: Token) -> Caller:
    """Return the caller that a token authenticates; never a person, since no one sits at a terminal."""
    return Caller(token.project, token.agent, token.role, trust=2)


def _hash(secret: str) -> str:
    """Hash a token; with 256 random bits it needs no slow password hash."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _agent(name: str) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > MOST_NAME:
        raise InvalidInput("a token needs the name of an agent", f"1 to {MOST_NAME} characters, as in: --agent tester")
    if name == PERSON:
        raise InvalidInput(f"no agent can be called {name!r}", "that name is kept for people: choose another")
    return name


def _role(role: str) -> str:
    if role not in ROLES:
        raise InvalidInput(f"unknown role: {role!r}", "one of: " + ", ".join(ROLES))
    return role


def _folder(folder: str) -> str:
    if folder and not os.path.isdir(folder):
        raise InvalidInput(f"{folder} is not a folder", "name the folder of the project on this machine, or none")
    return os.path.abspath(folder) if folder else ""


def _end(days: float, now: float) -> float | None:
    if not isinstance(days, (int, float)) or not 0 <= days <= MOST_DAYS:  # NaN fails here too
        raise InvalidInput(f"{days!r} is no number of days", f"from 0 (it holds until it is revoked) to {MOST_DAYS}")
    return now + days * DAY_S if days else None
