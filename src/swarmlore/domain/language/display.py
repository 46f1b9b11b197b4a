"""Display text: spelling suggestions, short lines, names of projects and phases, addresses without passwords, slugs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from zlib import crc32


def closest(word: str, known: Iterable[str]) -> list[str]:
    """Return at most two known words that resemble this one, the likelier first."""
    from difflib import get_close_matches  # loaded only for a mistyped word

    return get_close_matches(word[:64].lower(), list(known), n=2, cutoff=0.65)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `did you mean: …`, or '' if no known word is close."""
    fits = closest(word, known)
    return f"did you mean: {' or '.join(fits)}" if fits else ""


def choices_hint(word: str, allowed: Sequence[str]) -> str:
    """Return a hint with all allowed words, after the one that was probably meant."""
    listed = "one of: " + ", ".join(allowed)
    return "; ".join(part for part in (did_you_mean(word, allowed), listed) if part)


MARK = "…"


def whole_words(text: str, most: int) -> str:
    """Return the first whole words of a text within `most` characters; a longer first word is cut."""
    return text if len(text) <= most else text[: most + 1].rpartition(" ")[0].rstrip() or text[:most]


def shortened(text: str, most: int) -> str:
    """Return a text as one line within `most` characters, with … where something was left out."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    return whole_words(text, most - 1).rstrip(" ,;:-–—") + MARK


SHORT_LOT = 8  # random digits shown of projects with the same name
_LOT = re.compile(r"#(?:[0-9a-f]{32}|\d+)$")  # a random id, or a number where a path was taken over
_MARK = re.compile(r"(?<![\w.-])([\w.-]{1,64})#[0-9a-f]{32}(?![0-9a-f])")
_DAY = re.compile(r"(?<![\w-])day:(\d{4}-\d\d-\d\d)")
_PHASE = re.compile(r"(?<![\w-])phase:(\d+)(?:@(\S+))?")


def project_name(id: str) -> str:
    """Return the short name of a project: `api` for `api#3cc7…`, `github.com/acme/api` and `/work/api/.git`."""
    plain = _LOT.sub("", id).replace("\\", "/").rstrip("/").removesuffix("/.git").rstrip("/")
    return plain.rpartition("/")[2] or id


def project_names(ids: Iterable[str]) -> dict[str, str]:
    """Return the short name of each project, with a few digits of the id where two names are equal."""
    short = {id: project_name(id) for id in ids}
    often = Counter(short.values())
    return {id: name if often[name] == 1 else _name_with_lot(id) for id, name in short.items()}


def _name_with_lot(id: str) -> str:
    name, _, lot = id.rpartition("#")
    return f"{name}#{lot[:SHORT_LOT]}" if name and _LOT.search(id) else id


def place_name(where: str) -> str:
    """Format where a memory was seen: a day, a phase (of another project, if so), or a project."""
    if found := _DAY.fullmatch(where):
        return found[1]
    if where.startswith("phase:"):
        number, _, project = where.removeprefix("phase:").partition("@")
        return f"phase {number} of {project_name(project)}" if project else f"phase {number}"
    return project_name(where)


def readable_reason(reason: str) -> str:
    """Replace the places and projects in a recorded reason by their readable names."""
    reason = _DAY.sub(r"\1", reason)
    reason = _PHASE.sub(lambda found: place_name(found[0]), reason)
    return _MARK.sub(r"\1", reason)


_SECRET = re.compile(r"([?&\s]\w*(?:pass|secret|token|key)\w*=)('[^']*'|[^&\s]*)", re.IGNORECASE)


def without_password(url: str) -> str:
    """Return an address without passwords; when in doubt, more is removed than needed.

    A password that was not encoded may hold any character, so everything up to the last @ counts as one.
    """
    shown = _SECRET.sub(r"\1…", f" {url}")[1:]
    return re.sub(r"(://[^:/?#@]*):.*@", r"\1@", shown)


def user_of(url: str) -> str:
    """Return the user that an address names, or ''."""
    found = re.match(r"\w+://([^:/?#@]*)(?::[^/?#]*)?@", url) or re.search(r"(?:^|[?&\s])user=([^&\s]+)", url)
    return found[1] if found else ""


def is_ambiguous(url: str) -> bool:
    """Return whether a password that was not encoded makes it unclear where the host begins."""
    login = url.partition("://")[2].partition("?")[0]
    return login.count("@") > 1 or "#" in login or "/" in login.rpartition("@")[0]


_OTHER = re.compile(r"[^a-z0-9]+")
KEY_CHARS = 60


def slug(text: str) -> str:
    """Return a text in lower case with each run of characters other than a-z and 0-9 as one hyphen."""
    return _OTHER.sub("-", text.lower()).strip("-")


def short_slug(text: str, most: int) -> str:
    """Return the slug of a text within `most` characters, cut between two words if it has several."""
    full = slug(text[: 8 * most])
    if len(full) <= most:
        return full
    head, _, cut = full[: most + 1].rpartition("-")
    return head or cut[:most]


def learned_key(text: str, type: str = "learned") -> str:
    """Return the key of a LEARNED comment: later comments with the same key replace earlier ones."""
    start = text.strip()[:KEY_CHARS]
    name = slug(start)
    # If most letters are outside a-z, unrelated lessons would get the same slug and replace each other.
    if sum(letter.isalnum() for letter in start) > 2 * sum(letter != "-" for letter in name):
        name = f"{name}-{crc32(start.encode(errors='surrogatepass')):08x}".lstrip("-")
    return f"{type}-{name}"
