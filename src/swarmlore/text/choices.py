"""Words from a fixed list, and what a mistyped one was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def closest(word: str, known: Iterable[str]) -> list[str]:
    """At most two of the known words that look like this one, the likelier first."""
    from difflib import get_close_matches  # only where something was mistyped

    return get_close_matches(word[:64].lower(), list(known), n=2, cutoff=0.65)


def meant(word: str, known: Iterable[str]) -> str:
    """`did you mean: …`, or nothing where no known word is close."""
    fits = closest(word, known)
    return f"did you mean: {' or '.join(fits)}" if fits else ""


def choices_hint(word: str, allowed: Sequence[str]) -> str:
    """Every allowed word, after the one that was probably meant."""
    listed = "one of: " + ", ".join(allowed)
    return "; ".join(part for part in (meant(word, allowed), listed) if part)
