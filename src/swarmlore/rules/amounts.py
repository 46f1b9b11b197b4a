"""Numbers that mean something: `retried three times` in a sentence, `maxRetries = 5` in code; both as a kind and a
value that can be compared. Pure, and line by line, so that a long file costs no more than its length."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from swarmlore.domain.language.tokenizer import STOP_WORDS, split_words, stem_word
from swarmlore.frozen import frozen

LINE_CHARS = 300
CLAUSE_CHARS = 300
LABEL_CHARS = 70
_SECONDS = {
    "ms": 0.001, "milli": 0.001, "millis": 0.001, "millisecond": 0.001, "msec": 0.001,
    "s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "min": 60.0, "mins": 60.0, "minute": 60.0,
    "h": 3600.0, "hr": 3600.0, "hrs": 3600.0, "hour": 3600.0, "day": 86400.0, "d": 86400.0, "week": 604800.0,
    "year": 31536000.0,
}  # fmt: skip
_BYTES = {
    "byte": 1.0, "kb": 1024.0, "kib": 1024.0, "kilobyte": 1024.0, "mb": 1048576.0, "mib": 1048576.0,
    "megabyte": 1048576.0, "gb": 1073741824.0, "gib": 1073741824.0, "gigabyte": 1073741824.0,
}  # fmt: skip
_SHORT = frozenset(("s", "h", "d", "min"))  # units only behind a number; in a name they mean something else
_NUMBERS = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
} | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90, "hundred": 100, "thousand": 1000}
_COUNTS = {"once": 1, "twice": 2, "thrice": 3}
_AGAIN = frozenset(map(stem_word, "retry retries retried retrying attempt attempts tries".split()))
# Words of names and sentences that do not tell what is counted.
_DULL = frozenset(
    map(
        stem_word,
        "max maximum min minimum most least default limit number count total num value const static final time times "
        "after every per last long set get new up size amount config settings src lib app main index internal".split(),
    )
)
_MEASURED = frozenset(("size", "length", "len", "capacity", "count"))
_SERVING = frozenset(
    map(
        stem_word,
        "port server app application service api listen listens run runs start open http https localhost default "
        "unless browser visit available served serve address project program set environment variable override".split(),
    )
)
_SPOKEN = re.compile(
    rf"(?<![\w.:/-])(\d{{1,12}}(?:[,_]\d{{3}}){{0,3}}(?:\.\d{{1,4}})?|{'|'.join(_NUMBERS)})(?:\s+|-)?(%|[A-Za-z]{{1,24}})?"
    rf"|\b({'|'.join(_COUNTS)})\b",
    re.I,
)
_PORT = re.compile(
    r"\bports?\s+(?:is\s+|number\s+|of\s+|to\s+)?(\d{2,5})\b|(?:localhost|127\.0\.0\.1|0\.0\.0\.0):(\d{2,5})\b", re.I
)
_LABEL = re.compile(r"[`\w][\w\s`.-]{1,60}(?::|=|\s·|\sis|\sare)\s*`?")
_RATE = re.compile(r"\b(?:once\s+(?:a|an|per|every)|every|each)\s+(second|minute|hour|day|week)\b", re.I)
_ASSIGNED = re.compile(
    r"""([A-Za-z_$][\w$.-]{0,60})["']?\s*(?::\s*[\w<>\[\].]{1,30}\s*)?(?::=|=>|=|:)(?![=:])\s*"""
    r"""(?:[A-Za-z_][\w.:]{0,40}\(\s*)?(?:([a-z]{1,20})\s*=\s*)?["':]{0,2}(\d[\d_]{0,15}(?:\.\d{1,6})?)"""
    r"""((?:\s*\*\s*[\w.]{1,30}){0,4})\s?\.?([A-Za-z%]{0,12})"""
)
_FALLBACK = re.compile(
    r"""["'`.{]([A-Z][A-Z0-9_]{2,60})["'`)]{0,2}\s*(?:,|\?\?|\|\||:-|\)\s*\.unwrap_or\()\s*["':]{0,2}(\d{1,9})\b"""
)
_EXPOSED = re.compile(r"\s*EXPOSE\s+(\d{2,5})")
_CLAUSES = re.compile(r",\s|;\s|\s(?:and|but|then|while|whereas)\s")


@frozen
class Amount:
    """A number of a kind (`time` in seconds, `size` in bytes, `port`, `percent`, `count`), as it was written, and the
    stems of what is said around it. `unit` is what is counted: the stem of a noun, or `times`."""

    kind: str
    value: float
    written: str
    words: frozenset[str]
    unit: str = ""


@frozen
class Constant:
    """An amount that a line of code or of a setting gives to a name."""

    name: str
    amount: Amount
    line: int
    text: str
    about: str = ""


def spoken_amounts(sentence: str) -> Iterator[Amount]:
    """The amounts of a sentence, clause by clause."""
    for clause in _CLAUSES.split(sentence[: 3 * CLAUSE_CHARS]):
        words = telling(clause)
        for found in _PORT.finditer(clause):
            yield Amount("port", float(found[1] or found[2]), found[0], words)
        if rate := _RATE.search(clause):
            yield Amount("time", _SECONDS[rate[1].lower()], rate[0], words)
        for found in _SPOKEN.finditer(clause):
            port = clause[: found.start()].rstrip().lower().endswith(("port", "ports", "port is", "port to"))
            if not port and not (found[3] and _RATE.match(clause, found.start())):
                yield from _spoken(found, words)


def _spoken(found: re.Match[str], words: frozenset[str]) -> Iterator[Amount]:
    if found[3]:
        yield Amount("count", float(_COUNTS[found[3].lower()]), found[3], words, "times")
        return
    number, unit = _number(found[1]), (found[2] or "").lower()
    plain = unit[:-1] if unit.endswith("s") and len(unit) > 2 and unit not in _SECONDS else unit
    written = found[0].strip()
    if plain in _SECONDS:
        yield Amount("time", number * _SECONDS[plain], written, words)
    elif plain in _BYTES:
        yield Amount("size", number * _BYTES[plain], written, words)
    elif plain in ("%", "percent"):
        yield Amount("percent", number, written, words)
    elif plain and plain not in STOP_WORDS:
        again = plain == "time" or stem_word(unit) in _AGAIN
        yield Amount("count", number, written, words, "times" if again else stem_word(unit))
    elif _LABEL.fullmatch(found.string[: found.start()][-LABEL_CHARS:]) and not found.string[found.end(1) :].strip(
        "` ."
    ):
        yield Amount("count", number, found.string.strip("` .")[:LABEL_CHARS], words)


def has_number(text: str) -> bool:
    """Whether a text names any number, in figures or as a word."""
    if any(char.isdigit() for char in text):
        return True
    words = set(text[:2_000].lower().split())
    return bool(words & (_NUMBERS.keys() - {"one"}) or words & _COUNTS.keys() or _RATE.search(text[:2_000]))


def _number(said: str) -> float:
    low = said.lower()
    return float(_NUMBERS[low]) if low in _NUMBERS else float(low.replace(",", "").replace("_", ""))


def constants(lines: Sequence[str]) -> Iterator[Constant]:
    """The amounts that lines of code or settings give to names."""
    for at, whole in enumerate(lines):
        line = whole[:LINE_CHARS]
        if not any(char.isdigit() for char in line) or line.lstrip().startswith(_COMMENTS):
            continue
        for name, amount in _given(line):
            yield Constant(name, amount, at + 1, line.strip(), _about(lines, at))


_COMMENTS = ("#", "//", "/*", "*", "--", '"""', "<!--")


def _given(line: str) -> Iterator[tuple[str, Amount]]:
    for found in _FALLBACK.finditer(line):
        if amount := _meant(found[1], found[2], "", "", ""):
            yield found[1], amount
    if exposed := _EXPOSED.match(line):
        yield "port", Amount("port", float(exposed[1]), exposed[0].strip(), frozenset(("port",)))
    for found in _ASSIGNED.finditer(line):
        maker = line[found.end(1) : found.start(3)]
        if amount := _meant(found[1], found[3], found[4], found[5], f"{maker} {found[2] or ''}"):
            yield found[1], amount


def _meant(name: str, number: str, factors: str, tail: str, maker: str) -> Amount | None:
    """What a number stands for: by its factors, by what stands behind or before it, by its name."""
    words = split_words(name)
    value = float(number.replace("_", ""))
    rated = "per" in words  # requests per minute are no time
    named = () if rated else (word for word in reversed(words) if word not in _SHORT)
    units = [tail.lower(), *reversed(split_words(maker)), *named]
    seconds = bytes_ = 0.0
    for part in re.findall(r"[\w.]+", factors):
        if re.fullmatch(r"\d[\d_]*(?:\.\d+)?", part):
            value *= float(part.replace("_", ""))
            bytes_ = bytes_ or (1.0 if part in ("1024", "1_024") else 0.0)
        else:
            seconds = seconds or _unit(part.rpartition(".")[2].lower(), _SECONDS)
    stems = frozenset(map(stem_word, words)) - _DULL
    written = f"{number}{factors}{' ' if tail else ''}{tail}".strip()
    seconds = seconds or next((size for word in units if (size := _unit(word, _SECONDS))), 0.0)
    if seconds:
        return Amount("time", value * seconds, written, stems)
    bytes_ = bytes_ or next((size for word in units if (size := _unit(word, _BYTES))), 0.0)
    if bytes_:
        return Amount("size", value * bytes_, written, stems)
    if "port" in words or ("addr" in words and 10 <= value < 65_536):
        return Amount("port", value, written, stems | {"port"})
    if {"percent", "pct"} & {*words} or tail == "%":
        return Amount("percent", value, written, stems)
    if {"ttl", "timeout", "interval", "delay", "expiry", "version"} & {*words}:
        return None  # in which unit is not said
    return Amount("count", value, written, stems)


def _unit(word: str, units: dict[str, float]) -> float:
    plain = word[:-1] if word.endswith("s") and len(word) > 2 and word not in units else word
    return units.get(plain, 0.0)


def _about(lines: Sequence[str], at: int) -> str:
    """The comment that belongs to a line: behind it, or right above."""
    behind = re.search(r"(?:\s#|\s//|/\*|\s--)\s*(.{3,200})", lines[at][:LINE_CHARS])
    if behind:
        return behind[1].removesuffix("*/").strip()
    above: list[str] = []
    for line in reversed(lines[max(0, at - 4) : at]):
        bare = line.strip()[:LINE_CHARS]
        if not bare.startswith(_COMMENTS) or bare.startswith("#["):
            break
        above.insert(0, bare.strip('/#*-!"< >').strip())
    return " ".join(part for part in above if part)


def telling(text: str) -> frozenset[str]:
    """The stems of a text that say what it is about."""
    words = {stem_word(word) for word in split_words(text[:1_000]) if word not in STOP_WORDS and not word.isdigit()}
    return frozenset(words - _DULL - _NUMBERS.keys() - {stem_word(word) for word in (*_SECONDS, *_BYTES)})


def about_the_same(said: Amount, held: Constant, place: frozenset[str]) -> int:
    """How surely a constant holds what was said, 0 where it does not: of one kind, and by shared words of its name,
    then of its comment and its place."""
    if said.kind != held.amount.kind:
        return 0
    name = held.amount.words
    if said.unit == "times" or (not said.unit and said.kind == "count" and said.words & _AGAIN):
        again = bool(name & _AGAIN and said.words & _AGAIN)
        named = 1 if again else len(name & said.words)
        return named and 2 * named + len((telling(held.about) | place) & (said.words - _AGAIN))
    counted = bool(said.unit) and said.unit in name
    if said.unit and not counted and not _MEASURED & {*split_words(held.name)}:
        return 0  # PAGE_SIZE may be of items, MAX_THREADS is not of processes
    if said.kind == "port":
        shared = 2 * len((name - {"port"}) & said.words) + len((telling(held.about) | place) & said.words - {"port"})
        return shared if said.words - _SERVING else 1 + shared  # of something particular, or of the one server there is
    named = len((name - {said.unit}) & said.words)
    around = len((telling(held.about) | place) & said.words)
    return 2 * (named + counted) + around if named or around >= 2 or counted else 0
