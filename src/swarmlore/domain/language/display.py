"""Short names made from texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from zlib import crc32


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


MARK = "…"


def whole_words(text: str, most: int) -> str:
    """As many whole words as fit into so many characters; a first word that is longer is cut."""
    return text if len(text) <= most else text[: most + 1].rpartition(" ")[0].rstrip() or text[:most]


def shortened(text: str, most: int) -> str:
    """A text in one line and within so many characters, with a mark where something was left out."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    return whole_words(text, most - 1).rstrip(" ,;:-–—") + MARK


SHORT_LOT = 8  # digits that tell two projects of one name apart
_LOT = re.compile(r"#(?:[0-9a-f]{32}|\d+)$")  # drawn by lot, or counted where a path was taken over
_MARK = re.compile(r"(?<![\w.-])([\w.-]{1,64})#[0-9a-f]{32}(?![0-9a-f])")
_DAY = re.compile(r"(?<![\w-])day:(\d{4}-\d\d-\d\d)")
_PHASE = re.compile(r"(?<![\w-])phase:(\d+)(?:@(\S+))?")


def project_name(id: str) -> str:
    """The short name of a project: `api` for `api#3cc7…`, for `github.com/acme/api` and for `/work/api/.git`."""
    plain = _LOT.sub("", id).replace("\\", "/").rstrip("/").removesuffix("/.git").rstrip("/")
    return plain.rpartition("/")[2] or id


def project_names(ids: Iterable[str]) -> dict[str, str]:
    """The short name of each project; where two have the same, what tells them apart goes with it."""
    short = {id: project_name(id) for id in ids}
    often = Counter(short.values())
    return {id: name if often[name] == 1 else _told_apart(id) for id, name in short.items()}


def _told_apart(id: str) -> str:
    name, _, lot = id.rpartition("#")
    return f"{name}#{lot[:SHORT_LOT]}" if name and _LOT.search(id) else id


def place_name(where: str) -> str:
    """Where a memory was seen: a day, a phase (of another project, if so), or a project."""
    if found := _DAY.fullmatch(where):
        return found[1]
    if where.startswith("phase:"):
        number, _, project = where.removeprefix("phase:").partition("@")
        return f"phase {number} of {project_name(project)}" if project else f"phase {number}"
    return project_name(where)


def in_plain_words(reason: str) -> str:
    """A recorded reason, with the places and projects in it named as people name them."""
    said = _DAY.sub(r"\1", reason)
    said = _PHASE.sub(lambda found: place_name(found[0]), said)
    return _MARK.sub(r"\1", said)


_SECRET = re.compile(r"([?&\s]\w*(?:pass|secret|token|key)\w*=)('[^']*'|[^&\s]*)", re.IGNORECASE)


def without_password(url: str) -> str:
    """The address without whatever may be a password in it. Rather too little is shown than too much: a password that
    was not encoded may hold any character, so everything up to the last @ counts as one."""
    shown = _SECRET.sub(r"\1…", f" {url}")[1:]
    return re.sub(r"(://[^:/?#@]*):.*@", r"\1@", shown)


def user_of(url: str) -> str:
    """The user that an address names, or ''."""
    found = re.match(r"\w+://([^:/?#@]*)(?::[^/?#]*)?@", url) or re.search(r"(?:^|[?&\s])user=([^&\s]+)", url)
    return found[1] if found else ""


def is_ambiguous(url: str) -> bool:
    """Whether a password that was not encoded makes it unclear where the host begins."""
    login = url.partition("://")[2].partition("?")[0]
    return login.count("@") > 1 or "#" in login or "/" in login.rpartition("@")[0]


_OTHER = re.compile(r"[^a-z0-9]+")
KEY_CHARS = 60


def slug(text: str) -> str:
    """Lower case, every run of other characters than a-z and 0-9 as one hyphen, none at the ends."""
    return _OTHER.sub("-", text.lower()).strip("-")


def short_slug(text: str, most: int) -> str:
    """The slug of a text within so many characters, cut between two words where it has more than one."""
    whole = slug(text[: 8 * most])
    if len(whole) <= most:
        return whole
    head, _, cut = whole[: most + 1].rpartition("-")
    return head if head else cut[:most]


def learned_key(text: str, type: str = "learned") -> str:
    """The key of a LEARNED comment: later comments with the same key replace earlier ones."""
    start = text.strip()[:KEY_CHARS]
    name = slug(start)
    # Where most letters are outside a-z, unrelated lessons would get the same slug, and one would replace the other.
    if sum(letter.isalnum() for letter in start) > 2 * sum(letter != "-" for letter in name):
        name = f"{name}-{crc32(start.encode(errors='surrogatepass')):08x}".lstrip("-")
    return f"{type}-{name}"
