"""Entities of a memory, as slugs `kind:name`: found in paths, in text, or meant by a bare word."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache

from swarmlore.errors import Ambiguous

ENTITY_KINDS = ("project", "agent", "feature", "person", "business", "chore")

# Directories under src/ that say how code is arranged, or that another rule covers, not what the code is about.
_ARRANGEMENT = """
app apps asset assets bin build class classes common component components const constants core css dist doc docs enum
enums feature features fixture fixtures generated helper helpers hook hooks image images img include interface
interfaces internal java kotlin lib libs main misc mock mocks model models module modules package packages page pages
pkg public resource resources scala script scripts service services shared skill skills src static style styles
template templates test testing tests tool tools type types typings util utilities utils vendor view views
"""
GENERIC_DIRS = frozenset(_ARRANGEMENT.split())


def is_slug(name: str) -> bool:
    """Whether a name is written as an entity: its kind, a colon, and letters, digits and hyphens."""
    kind, _, slug = name.partition(":")
    return kind in ENTITY_KINDS and re.fullmatch(r"[a-z0-9-]+", slug) is not None


def entities_from_path(path: str) -> tuple[str, ...]:
    """Say what a file is about by the folders it lies in; every rule may add one entity."""
    lowered = path.replace("\\", "/").lower()
    found = [
        f"{kind}:{match[1]}{suffix}"
        for pattern, kind, suffix in _path_rules()
        if (match := pattern.search(lowered)) is not None
    ]
    source = re.search(r"(?:^|/)src/([a-z0-9-]+)[^/]*/", lowered)
    if source is not None and source[1] not in GENERIC_DIRS:
        found.append(f"feature:{source[1]}")
    return tuple(dict.fromkeys(found))


@cache
def _path_rules() -> tuple[tuple[re.Pattern[str], str, str], ...]:
    """Pattern, kind of the entity, and what is added to its name."""
    rules = (
        (r"features?", "feature", ""),
        (r"components?", "feature", "-component"),
        (r"(?:packages|apps|services)", "project", ""),
        (r"docs", "feature", "-docs"),
        (r"\.hive/analysis", "feature", "-analysis"),
        (r"(?:skill|tools?)", "agent", ""),
    )
    return tuple((re.compile(folder + r"/([a-z0-9-]+)"), kind, suffix) for folder, kind, suffix in rules)


@cache
def _slug_in_text() -> re.Pattern[str]:
    return re.compile(rf"\b({'|'.join(ENTITY_KINDS)}):([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)\b", re.IGNORECASE | re.ASCII)


def entities_from_text(text: str) -> tuple[str, ...]:
    """Find slugs such as `feature:auth` written in a text, lower-cased, each once, in order."""
    slugs = (f"{match[1]}:{match[2]}".lower() for match in _slug_in_text().finditer(text))
    return tuple(dict.fromkeys(slugs))


def resolve_entity(word: str, known: Collection[str]) -> tuple[str, ...]:
    """Say which known slugs a word means; with a colon it is a slug already, an exact name wins over similar ones.

    Several answers mean that the caller has to be asked.
    """
    asked = word.strip().lower()
    if ":" in asked:
        return tuple(sorted(slug for slug in known if slug.lower() == asked)) or (asked,)
    plain = _plain(asked)
    if not plain:
        return ()
    names = {slug: _plain(slug.partition(":")[2]) for slug in sorted(known)}
    exact = tuple(slug for slug, name in names.items() if name == plain)
    return exact or tuple(slug for slug, name in names.items() if name and (name in plain or plain in name))


def resolve_entities(words: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """Slugs for words; a bare word that fits several known slugs is the caller's to decide."""
    found: list[str] = []
    for word in words:
        fits = resolve_entity(word, known)
        if len(fits) > 1:
            raise Ambiguous(
                f"{word!r} may mean {', '.join(fits)}",
                "say which: --entity " + fits[0],
                tuple(fits),
                code="DISAMBIGUATION_REQUIRED",
            )
        found += fits or (word,)
    return tuple(found)


def _plain(name: str) -> str:
    """A name without hyphens, spaces and case."""
    return "".join(letter for letter in name.lower() if letter.isalnum())
