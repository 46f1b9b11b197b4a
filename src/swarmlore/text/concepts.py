"""What a text is about, by rules: its title, tags, technologies, names in back-ticks and errors, and how they relate.

It stands in where nobody wrote down a note's entities. `canonical` says which names mean the same thing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise

from swarmlore.records import Entity, Relation
from swarmlore.text.shorten import whole_words
from swarmlore.text.stem import stem
from swarmlore.text.technologies import ALIASES, KNOWN, ORDINARY, TECHNOLOGIES, TOOLS

MAX_ENTITIES = 8
MAX_RELATIONS = 6
MAX_ERRORS = 2
NAME_CHARS = 60
READ_CHARS = 65_536
GUESSED_STRENGTH = 3.0  # of a relation that only rules saw; what somebody wrote down has 5 where it says nothing
_KEY_CHARS = 120
_TERM_WORDS = 4

# Each part is bounded or excludes what follows it: hostile texts cost no more than their length.
_CALL = r"(?<=\w)\([^()]{0,60}\)$"
_VERSION = r"(?: v?\d+(?:\.\d+){1,3}[\w.]{0,12}| v\d+| \d+\.x|@\^?v?\d[\w.]{0,16})$"
_BARE_NUMBER = r" ?\d+(?:\.\d+){0,3}$"
_WORD = r"[A-Za-z][A-Za-z0-9]*(?:[.#+-]+[A-Za-z0-9]+)*(?:\+\+|#)?"
_TERM = r"(?<!`)`([^`\n]{2,80})`(?!`)"
_THROWN = r"\b[A-Z]\w{1,60}(?:Error|Exception|Panic|Failure)\b"
_SAID = r"(?:^|[\s\[])(?:error|fatal|panic|fatal error|ERR!|ERROR|FATAL)(?:\[\w{1,12}\])?: \S|panicked at "
_IDENTIFIER = r"[A-Za-z_]\w*(?:(?:::|\.|->)[A-Za-z_]\w*)*(?:\(\))?"
_PATHLIKE = r"(?:[\w.@-]+/)+[\w.@-]*|[\w-]+\.(?:py|js|ts|tsx|rs|go|toml|yaml|yml|json|md|sql|sh|cfg|ini|lock|env)"
# Raised for so many reasons that the name alone connects nothing.
_COMMON_ERRORS = frozenset(
    "Error Exception TypeError ValueError KeyError RuntimeError AttributeError ReferenceError SyntaxError IOError"
    " OSError AssertionError IndexError NameError ImportError RuntimeException NullPointerException RangeError".split()
)
_SECOND_WORDS = frozenset(name.split(" ")[1] for name in (*KNOWN, *ALIASES) if name.count(" ") == 1)
# Where the rules of `_singular` would part a word from its plural, or make it another word.
_SINGULARS = {word: word for word in "alias atlas bias canvas series species lens news".split()} | dict(
    pair.split(":")
    for pair in """
        caches:cache aliases:alias canvases:canvas cookies:cookie zombies:zombie indices:index statuses:status
        vertices:vertex matrices:matrix buses:bus viruses:virus axes:axis analyses:analysis headers:header
    """.split()
)


@lru_cache(maxsize=16_384)
def canonical(name: str) -> str:
    """The one form of a name and its variants: case, joints, plural, `()`, versions and known other names.

    What differs stays apart: `c`, `c++` and `c#`, `http` and `https`, `error 404` and `error 500`.
    """
    plain = _plain(name)
    if plain in KNOWN:
        return plain
    plain = _without_version(ALIASES.get(plain, plain))
    if plain in KNOWN:
        return plain
    plain = _by_words(plain)
    return ALIASES.get(plain, plain)


def _plain(name: str) -> str:
    """Case, invisible characters, quotes and joints taken out; a leading dot or hyphen tells a file or an option."""
    text = unicodedata.normalize("NFKC", name[: 4 * _KEY_CHARS]).casefold()
    text = "".join(
        letter for letter in text if unicodedata.category(letter) not in ("Cf", "Cc", "Cs") or letter.isspace()
    )
    text = " ".join(text.strip(" \t\r\n`'\"“”‘’«»*").rstrip(".,:;!?").split())
    text = _compiled(_CALL).sub("", text)
    if text in KNOWN:
        return text
    lead = len(text) - len(text.lstrip("-."))
    joined = " ".join(text[lead:].replace("-", " ").replace("_", " ").split())
    return (text[:lead] + joined)[:_KEY_CHARS].rstrip() or text[:_KEY_CHARS]


def _without_version(plain: str) -> str:
    """`tokio 1.35` is tokio; a bare number belongs to the version only where a technology carries it."""
    base = _compiled(_VERSION).sub("", plain) or plain
    bare = _compiled(_BARE_NUMBER).sub("", base).removesuffix(".js")
    bare = ALIASES.get(bare, bare)
    return bare if bare in KNOWN else ALIASES.get(base, base)


def _by_words(plain: str) -> str:
    """Each word by its usual name, the last one in the singular."""
    if plain.startswith("-"):
        return plain
    words = [ALIASES.get(word, word) if len(word) > 2 else word for word in plain.split(" ")]
    words[-1] = _singular(words[-1])
    return " ".join(words)


def _singular(word: str) -> str:
    if word in _SINGULARS:
        return _SINGULARS[word]
    if len(word) < 5 or word in KNOWN or not word.isascii() or not word.isalpha() or not word.endswith("s"):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2]
    return word if word.endswith(("ss", "us", "is", "os")) else word[:-1]


def concepts_of(title: str, tags: Sequence[str], body: str) -> tuple[tuple[Entity, ...], tuple[Relation, ...]]:
    """Up to eight entities of a note and up to six relations between them."""
    entities = _distinct(title, tags, body[:READ_CHARS])
    return entities, _relations(entities)


def named_in(text: str) -> tuple[Entity, ...]:
    """What a short text names: technologies, terms in back-ticks, errors."""
    return _distinct("", (), text[:READ_CHARS])


def type_of(name: str) -> str:
    """What kind of thing a name is, by its looks."""
    key = canonical(name)
    if key in TOOLS:
        return "tool"
    if key in TECHNOLOGIES:
        return "technology"
    bare = name.strip("` ")
    if _compiled(_THROWN).fullmatch(bare) or bare.endswith(("Error", "Exception")):
        return "error"
    if bare.startswith("-") or (bare.isupper() and "_" in bare):
        return "config"
    if _compiled(_PATHLIKE).fullmatch(bare):
        return "artifact"
    return "function" if _looks_like_code(bare) else "concept"


def _looks_like_code(name: str) -> bool:
    if not _compiled(_IDENTIFIER).fullmatch(name):
        return False
    joined = "_" in name or "::" in name or "." in name or name.endswith("()")
    return joined or any(a.islower() and b.isupper() for a, b in pairwise(name))


def _distinct(title: str, tags: Sequence[str], body: str) -> tuple[Entity, ...]:
    """The first of every source, then the second of every source, until there are enough."""
    whole = " ".join(title.split())
    head = [Entity(whole, "concept")] if 0 < len(whole) <= NAME_CHARS else []  # half a sentence names nothing
    sources = [
        iter(head),
        (Entity(tag, type_of(tag)) for tag in tags),
        (Entity(name, type_of(name)) for name in _technologies(f"{title}\n{body}" if title else body)),
        iter(_errors(body)),
        (Entity(term, type_of(term)) for term in _terms(body)),
    ]
    found: dict[str, Entity] = {}
    while sources and len(found) < MAX_ENTITIES:
        sources = [source for source in sources if _take(source, found)]
    return tuple(found.values())


def _take(source: Iterator[Entity], found: dict[str, Entity]) -> bool:
    """Add the next new entity of a source, while there is room; tells whether there may be more."""
    for entity in source:
        key = canonical(entity.name)
        if key and key not in found and len(found) < MAX_ENTITIES:
            found[key] = entity
            return True
    return False


def _technologies(text: str) -> Iterator[str]:
    """Known names in a text, as whole words; an everyday word counts only where it is written as a name."""
    before, end = "", -1
    for match in _compiled(_WORD).finditer(text):
        word = match[0].rstrip("-.").lower()
        pair = f"{before} {word}" if word in _SECOND_WORDS and before and match.start() == end + 1 else ""
        name, said = (_known(pair), pair) if pair and _known(pair) else (_known(word), word)
        if name and ((said not in ORDINARY and len(said) > 2) or _as_name(text, match)):
            yield name
        before, end = word, match.end()


@lru_cache(maxsize=16_384)
def _known(said: str) -> str:
    """The technology or tool that a lower-case word means, or ''."""
    name = ALIASES.get(said, said)
    name = name if name in KNOWN or " " in said or said.isalpha() else _without_version(said)  # letters tell no version
    return name if name in KNOWN else ""


def _as_name(text: str, match: re.Match[str]) -> bool:
    """Whether a word is written as a name: with a capital or a sign, and not because a sentence begins."""
    word = match[0]
    if not word.isalpha():
        return True
    return word[0].isupper() and text[max(0, match.start() - 2) : match.start()].rstrip(" ")[-1:] not in (
        "",
        ".",
        "\n",
        "!",
        "?",
        "-",
        "#",
        ":",
    )


def _terms(body: str) -> Iterator[str]:
    for match in _compiled(_TERM).finditer(body):
        term = match[1].strip()
        if 2 <= len(term) <= NAME_CHARS and len(term.split()) <= _TERM_WORDS and any(map(str.isalpha, term)):
            yield term


def _errors(body: str) -> list[Entity]:
    """Lines that say what failed; a telling class of error stands for its line."""
    if not (_compiled(_THROWN).search(body) or _compiled(_SAID).search(body)):
        return []
    found: list[Entity] = []
    for line in body.splitlines():
        line = line.strip(" \t`>*#|-")[: 2 * NAME_CHARS]
        thrown = _compiled(_THROWN).search(line)
        if thrown and thrown[0] not in _COMMON_ERRORS:
            found.append(Entity(thrown[0], "error", line))
        elif (thrown and ": " in line) or _compiled(_SAID).search(line):
            found.append(Entity(whole_words(" ".join(line.split()), NAME_CHARS), "error", line))
        if len(found) == MAX_ERRORS:
            break
    return found


def _relations(entities: Sequence[Entity]) -> tuple[Relation, ...]:
    """Errors come from the technology at hand, the first entity stands in some way to all others."""
    if not entities:
        return ()
    head, rest = entities[0], entities[1:]
    pairs = [(head, other) for other in rest]
    machine = next((other for other in rest if other.type in ("technology", "tool", "function")), None)
    if machine is not None:
        pairs += [(other, machine) for other in rest if other.type == "error"]
    return tuple(Relation(a.name, b.name, _kind(a, b), "", GUESSED_STRENGTH) for a, b in pairs[:MAX_RELATIONS])


def _kind(one: Entity, other: Entity) -> str:
    if one.type == "error":
        return "caused_by" if other.type in ("technology", "tool", "function", "concept", "config") else "relates_to"
    if other.type == "error":
        return "solves" if one.type in ("concept", "pattern") else "relates_to"
    if one.type in ("concept", "pattern") and other.type in ("technology", "tool"):
        return "uses"
    return "requires" if one.type == "function" and other.type == "config" else "relates_to"


def words_of(names: Iterable[str]) -> frozenset[str]:
    """The stems of the words of canonical names, by which a question may mean them."""
    return frozenset(stem(word) for name in names for word in re.split(r"[^\w+#]+", name) if len(word) > 1)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
