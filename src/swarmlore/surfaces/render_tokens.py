"""What tokens look like to people. A token itself is shown once, when it is made."""

from __future__ import annotations

from collections.abc import Sequence

from swarmlore.domain.records import Token
from swarmlore.surfaces.page import Page, ago, clean, one_line, when

SHOWN = 40


def created(token: Token, secret: str, page: Page) -> str:
    until = f", until {when(token.expires_at, page.now)}" if token.expires_at is not None else ""
    who = f"{clean(token.agent)} ({token.role}) of {clean(token.project)}"
    return "\n".join(
        (
            f"Token {page.paint('bold', token.id)} for {who}{until}.",
            "",
            page.paint("bold", secret),
            "",
            "It is shown this once and kept nowhere. Its holder sends it with each request:",
            "  Authorization: Bearer swl_…",
        )
    )


def listed(found: Sequence[Token], now: float, page: Page) -> str:
    if not found:
        return "There are no tokens: swarmlore token create --agent NAME"
    rows = [_row(token, now) for token in found]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(_line(row, widths, page) for row in rows)


def _line(row: tuple[str, ...], widths: Sequence[int], page: Page) -> str:
    id, *rest = (text.ljust(width) for text, width in zip(row, widths, strict=True))
    return f"{page.paint('cyan', id)}  {'  '.join(rest)}".rstrip()


def _row(token: Token, now: float) -> tuple[str, ...]:
    used = f"used {ago(token.used_at, now)}" if token.used_at is not None else "never used"
    made = f"made {ago(token.created_at, now)}"
    names = (one_line(token.agent, SHOWN), token.role, one_line(token.project, SHOWN))
    return (token.id, *names, made, used, _state(token, now))


def _state(token: Token, now: float) -> str:
    if token.revoked_at is not None:
        return "revoked"
    return "" if token.holds(now) else "expired"


def revoked(token: Token, page: Page) -> str:
    return f"Token {page.paint('bold', token.id)} of {clean(token.agent)} lets nobody in any more."
