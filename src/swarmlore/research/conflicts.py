"""Conflicts between the sources of a report: contradicting statements, and docs whose amounts, versions, package
managers or servers differ from code and manifests. Only conflicts that concern the question are reported."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from swarmlore.domain.language.similarity import content_words
from swarmlore.domain.language.tokenizer import STOP_WORDS, split_words, stem_word
from swarmlore.domain.policy.contradiction import compare, contradicts, same_subject
from swarmlore.frozen import frozen
from swarmlore.research.question import NEEDS, Asked, Question, Weights, root, stems, text_of
from swarmlore.research.report import Conflict, Finding
from swarmlore.research.setup import kinds_asked, named_in
from swarmlore.workspace.cited_code import Tree
from swarmlore.workspace.codebase import is_test
from swarmlore.workspace.stack import NAMES, RIVALS, Stack, Technology

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
_SHORT = frozenset(("s", "h", "d", "min"))  # units only behind a number; in a name they mean other things
_NUMBERS = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
} | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90, "hundred": 100, "thousand": 1000}
_COUNTS = {"once": 1, "twice": 2, "thrice": 3}
_AGAIN = frozenset(map(stem_word, "retry retries retried retrying attempt attempts tries".split()))
# Words of names and sentences that do not say what is counted.
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
    """A number of a kind (`time` in seconds, `size` in bytes, `port`, `percent`, `count`) as written, with the stems
    around it. `unit` says what a count counts: the stem of a noun, or `times`."""

    kind: str
    value: float
    written: str
    words: frozenset[str]
    unit: str = ""


@frozen
class Constant:
    """A named amount in a line of code or settings; `about` is the comment on it."""

    name: str
    amount: Amount
    line: int
    text: str
    about: str = ""


def amounts_in(sentence: str) -> Iterator[Amount]:
    """Yield the amounts of a sentence, clause by clause."""
    for clause in _CLAUSES.split(sentence[: 3 * CLAUSE_CHARS]):
        words = content_stems(clause)
        for found in _PORT.finditer(clause):
            yield Amount("port", float(found[1] or found[2]), found[0], words)
        if rate := _RATE.search(clause):
            yield Amount("time", _SECONDS[rate[1].lower()], rate[0], words)
        for found in _SPOKEN.finditer(clause):
            port = clause[: found.start()].rstrip().lower().endswith(("port", "ports", "port is", "port to"))
            if not port and not (found[3] and _RATE.match(clause, found.start())):
                yield from _spoken(found, words)


def _spoken(found: re.Match[str], words: frozenset[str]) -> Iterator[Amount]:
    """Yield the amount of one matched number, with its unit."""
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
    """Return whether a text contains a number, in digits or as a word."""
    if any(char.isdigit() for char in text):
        return True
    words = set(text[:2_000].lower().split())
    return bool(words & (_NUMBERS.keys() - {"one"}) or words & _COUNTS.keys() or _RATE.search(text[:2_000]))


def _number(written: str) -> float:
    low = written.lower()
    return float(_NUMBERS[low]) if low in _NUMBERS else float(low.replace(",", "").replace("_", ""))


def constants(lines: Sequence[str]) -> Iterator[Constant]:
    """Yield the amounts that lines of code or settings assign to names."""
    for at, full_line in enumerate(lines):
        line = full_line[:LINE_CHARS]
        if not any(char.isdigit() for char in line) or line.lstrip().startswith(_COMMENTS):
            continue
        for name, amount in _assigned_amounts(line):
            yield Constant(name, amount, at + 1, line.strip(), _about(lines, at))


_COMMENTS = ("#", "//", "/*", "*", "--", '"""', "<!--")


def _assigned_amounts(line: str) -> Iterator[tuple[str, Amount]]:
    """Yield (name, amount) of each assignment and environment default in a line."""
    for found in _FALLBACK.finditer(line):
        if amount := _amount_of(found[1], found[2], "", "", ""):
            yield found[1], amount
    if exposed := _EXPOSED.match(line):
        yield "port", Amount("port", float(exposed[1]), exposed[0].strip(), frozenset(("port",)))
    for found in _ASSIGNED.finditer(line):
        maker = line[found.end(1) : found.start(3)]
        if amount := _amount_of(found[1], found[3], found[4], found[5], f"{maker} {found[2] or ''}"):
            yield found[1], amount


def _amount_of(name: str, number: str, factors: str, tail: str, maker: str) -> Amount | None:
    """Derive kind and value of a number from its factors, the units beside it, and the words of its name."""
    words = split_words(name)
    value = float(number.replace("_", ""))
    rated = "per" in words  # requests per minute are not a time
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
        return None  # the unit is unknown
    return Amount("count", value, written, stems)


def _unit(word: str, units: dict[str, float]) -> float:
    """Return the factor of a unit, singular or plural; 0 if it is none."""
    plain = word[:-1] if word.endswith("s") and len(word) > 2 and word not in units else word
    return units.get(plain, 0.0)


def _about(lines: Sequence[str], at: int) -> str:
    """Return the comment of a line: behind it, or directly above."""
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


def content_stems(text: str) -> frozenset[str]:
    """Return the stems of a text that say what it is about, without numbers and units."""
    words = {stem_word(word) for word in split_words(text[:1_000]) if word not in STOP_WORDS and not word.isdigit()}
    return frozenset(words - _DULL - _NUMBERS.keys() - {stem_word(word) for word in (*_SECONDS, *_BYTES)})


def match_score(stated: Amount, constant: Constant, place: frozenset[str]) -> int:
    """Score how surely a constant is the stated amount, 0 if not: by kind, then words of name, comment and path."""
    if stated.kind != constant.amount.kind:
        return 0
    name = constant.amount.words
    if stated.unit == "times" or (not stated.unit and stated.kind == "count" and stated.words & _AGAIN):
        again = bool(name & _AGAIN and stated.words & _AGAIN)
        named = 1 if again else len(name & stated.words)
        return named and 2 * named + len((content_stems(constant.about) | place) & (stated.words - _AGAIN))
    counted = bool(stated.unit) and stated.unit in name
    if stated.unit and not counted and not _MEASURED & {*split_words(constant.name)}:
        return 0  # PAGE_SIZE may be of items, MAX_THREADS is not of processes
    if stated.kind == "port":
        beside = (content_stems(constant.about) | place) & stated.words - {"port"}
        shared = 2 * len((name - {"port"}) & stated.words) + len(beside)
        return shared if stated.words - _SERVING else 1 + shared  # else "the port" means that of the only server
    named = len((name - {stated.unit}) & stated.words)
    around = len((content_stems(constant.about) | place) & stated.words)
    return 2 * (named + counted) + around if named or around >= 2 or counted else 0


OPENED = 60
PER_FILE = 400
LEAST = 0.34  # least share of the question that a constant or sentence covers
CONSTANT = "a constant"
NEAR_BEST = 0.75
MOSTLY = 0.6
ASKED_FOR = 2.0
_ELSEWHERE = ("bench", "benches", "demo", "example", "examples", "fixtures", "migrations", "docs")


@frozen
class Placed:
    """A constant with the path of its file."""

    path: str
    held: Constant

    @property
    def place(self) -> str:
        return f"{self.path}:{self.held.line}"

    @property
    def text(self) -> str:
        told = self.held.about and self.held.about not in self.held.text
        return f"{self.held.text} — {self.held.about}" if told else self.held.text

    def finding(self, rank: float = 0.0, about: str = "") -> Finding:
        return Finding(self.text, "definitions", self.place, title=self.held.name, how=CONSTANT, rank=rank, about=about)


def read_constants(tree: Tree, files: Sequence[tuple[float, str]]) -> list[Placed]:
    """Read the constants of the files that best match a question; tests and examples have numbers of their own."""
    found: list[Placed] = []
    for _, path in files[:OPENED]:
        if not is_test(path) and not set(path.lower().split("/")[:-1]) & set(_ELSEWHERE):
            lines = text_of(tree, path).split("\n")
            found += [Placed(path, held) for held, _ in zip(constants(lines), range(PER_FILE), strict=False)]
    return found


def search_constants(known: Sequence[Placed], question: Question, weights: Weights, limit: int) -> tuple[Finding, ...]:
    """Return the constants a question is about, by name, comment and path (`ratelimit.go`: a rate limit)."""
    scored = []
    for constant in known:
        low = constant.path.lower()
        path = [term for term, needle in zip(question.terms, question.needles, strict=True) if needle.decode() in low]
        about = f"{constant.held.name} {constant.held.about}"
        covers = max(weights.coverage(about, constant.path), 0.6 * weights.coverage(f"{about} {' '.join(path)}"))
        if covers >= LEAST:
            scored.append((-covers, constant.path, constant.held.line, constant.finding(covers, " ".join(path))))
    return tuple(entry[-1] for entry in sorted(scored, key=lambda entry: entry[:3])[:limit])


def amount_conflicts(
    findings: Sequence[Finding], known: Sequence[Placed], weights: Weights, asked: Asked
) -> Iterator[Conflict]:
    """Yield conflicts of amounts in docs and memories with the constant they mean, which is added as a finding. Only
    amounts the question asks for count: of the kinds it asks for or, if it asks for no amount, in sentences that cover
    most of it."""
    least = LEAST if asked.amount else MOSTLY
    terms = set(weights.terms)
    for item in findings:
        for sentence in _about_it(item, weights, least):
            stated = list(amounts_in(sentence))
            for amount in stated:
                of_kind = not asked.kinds or amount.kind in asked.kinds
                if not of_kind or not {root(word) for word in (*amount.words, amount.unit)} & terms:
                    continue
                meant = _meant(amount, stated, known)
                if meant is not None:
                    what = f"{amount.written} here, {meant.held.name} {meant.held.amount.written} there"
                    yield Conflict(what, item, meant.finding())


def _about_it(item: Finding, weights: Weights, least: float) -> list[str]:
    """Return the sentences of a passage that answer the question best, without the ones around them."""
    held = [(weights.held(sentence, item.title), sentence) for sentence in sentences(item.text)]
    best = max((covers for covers, _ in held), default=0.0)
    return [sentence for covers, sentence in held if covers >= max(least, NEAR_BEST * best)]


def _meant(stated: Amount, others: Sequence[Amount], known: Sequence[Placed]) -> Placed | None:
    """Return the constant that is surely meant and differs; None if any possible one has the stated value."""
    scored = [
        (score, one)
        for one in known
        if (score := match_score(stated, one.held, content_stems(one.path.rpartition(".")[0])))
    ]
    if any(one.held.amount.value == stated.value for _, one in scored):
        return None
    values_stated = {amount.value for amount in others if amount.kind == stated.kind}
    free = [(score, one) for score, one in scored if one.held.amount.value not in values_stated]
    if not free:
        return None
    score, best = max(free, key=lambda entry: (entry[0], -entry[1].held.line, entry[1].path))
    alone = len({one.held.amount.value for _, one in free}) == 1
    return best if score >= 3 or (alone and (stated.kind == "port" or stated.unit == "times" or score >= 2)) else None


def sentences(text: str) -> list[str]:
    """Split a passage into its sentences."""
    return [part for part in re.split(r"(?<=[.!?;])\s+|\s⏎\s|\s—\s", text[:1_500]) if len(part.split()) >= 2][:12]


MOST = 8
COMPARED = 30  # findings compared pairwise
SENTENCES = 4  # compared per finding
LEAST_SHARED = 0.5  # of the shorter sentence's words
SHORT = 200  # characters of sentences whose values are compared
SHORT_NAME = 4
MOST_ADDED = 4  # words that only one of two sentences has
SPOKEN = ("learnings", "docs", "setup", "web", "history")
NEEDED = ("runtime", "database", "packages", "queue")  # kinds of technology needed to run anything
TOUCHED = 0.5  # least share of the question's words in a sentence about it
_LATER = re.compile(r"\s*(?:\+|or (?:newer|later|higher|above)|and (?:newer|later|up|above)|\bminimum)", re.I)
_BEFORE = re.compile(r"(?:>=?|at least|minimum|since|from)\s*$", re.I)
_COMMAND = re.compile(r"\b(npm|pnpm|yarn|bun)\s+(?:install|i|ci|run|add|test|exec|start|build|dev|dlx)\b", re.I)
_FIGURE = re.compile(r"\b([A-Za-z]{3,30})(?:\s+(?:is|was|of|to)\s+|\s*[:=]\s*|\s+)(\d{1,9})\b(?![.%]\d)")
_LEFT = re.compile(
    r"\b(?:instead of|moved (?:away )?from|migrat\w{1,6} (?:away )?from|replac\w{1,4}|unlike|used to|formerly|"
    r"no longer|switched from|"
    r"or|either|also supports?|alternativ\w{1,5}|optional\w{0,2}|compatible|like|such as|e\.g\.|import|export)\b",
    re.I,
)
_WITH = re.compile(r"\b(?:with|using)\s+`?([A-Za-z][\w.+-]{2,30}?)`?[.!]?$")
_DENIED = re.compile(r"(?:\bnot|\bnever|don'?t use|do not use|instead of|\bno|\bavoid|rather than)\W{1,3}$", re.I)


def find_conflicts(
    findings: Sequence[Finding], pages: Iterable[Finding], question: Question, stack: Stack, asked: Asked
) -> tuple[Conflict, ...]:
    """Return the conflicts between findings, and of the docs with locked versions, that concern the question."""
    spoken = [item for item in findings if item.source in SPOKEN]
    passages = [*pages]
    found = [*_opposed(spoken[:COMPARED], question)]
    found += _means([item for item in findings if item.source != "code"], question)
    known = {(item.one.place, item.other.place) for item in found}
    found += [item for item in _figures(spoken, question) if (item.one.place, item.other.place) not in known]
    every = asked.needs == NEEDS and not asked.rest
    found += _versions(spoken, passages, question, stack, every)
    found += _rivals(spoken, passages, question, stack, every)
    terms = set(question.terms)
    found += _managers([*spoken, *(p for p in passages if every or stems(f"{p.text} {p.title}") & terms)], stack)
    once: dict[tuple[str, str, str], Conflict] = {}
    for item in found:
        once.setdefault((item.what, item.one.place, item.other.place), item)
    return tuple(once.values())[:MOST]


def _opposed(findings: Sequence[Finding], question: Question) -> Iterator[Conflict]:
    """Yield pairs of findings from different places that contradict each other on the question."""
    terms = set(question.terms)
    for one, other in combinations(findings, 2):
        if one.place == other.place or _are_commits(one, other):
            continue
        if why := next(_against(one.text, other.text, terms), ""):
            yield Conflict(why, one, other)


def _means(findings: Sequence[Finding], question: Question) -> Iterator[Conflict]:
    """Yield pairs that use different means for the same: `hashed with bcrypt`, `hash with argon2id`."""
    with_means = [(item, *said) for item in findings[:COMPARED] for said in _done_with(item.text, question)]
    for (first, name, words), (other, other_name, others) in combinations(with_means, 2):
        alike = name.startswith(other_name) or other_name.startswith(name)
        if first.place != other.place and not alike and words == others and not _are_commits(first, other):
            yield Conflict(f"{name} here, {other_name} there", first, other)


def _done_with(text: str, question: Question) -> Iterator[tuple[str, set[str]]]:
    """Yield the means at the end of a sentence about the question, and the stems of the rest."""
    for sentence in _sentences(text):
        if found := _WITH.search(sentence[:SHORT]):
            words = {stem_word(word) for word in content_words(sentence[: found.start()])}
            if len(words) > 1 and len(words & set(question.terms)) > 1 and found[1].lower() not in STOP_WORDS:
                yield found[1].lower(), words


def _are_commits(one: Finding, other: Finding) -> bool:
    """Return whether both are commits, which report a change over time and do not conflict."""
    return one.source == other.source == "history"


def _against(one: str, other: str, terms: set[str]) -> Iterator[str]:
    """Yield how sentences of two texts contradict each other on the question's terms."""
    for a in _sentences(one):
        words = content_words(a)
        if not stems(a) & terms:
            continue
        for b in _sentences(other):
            others = content_words(b)
            shared = len(words & others)
            if not shared or shared < LEAST_SHARED * min(len(words), len(others)):
                continue
            if why := contradicts(a, b):
                yield why
            elif max(len(a), len(b)) <= SHORT and same_subject(a, b) and (told := _values(a, b)):
                yield told


def _values(one: str, other: str) -> str:
    """Return in which value two otherwise equal sentences differ, '' if they differ in anything else."""
    found = compare(one, other)
    kinds = {slot.kind for slot in found.slots}
    if not kinds or kinds - {"value", "opposed"} or len(found.added) + len(found.removed) > MOST_ADDED:
        return ""
    return "; ".join(map(str, found.slots))


def _sentences(text: str) -> list[str]:
    parts = re.split(r"(?<=[.!?;])\s+|\s⏎\s|\s—\s", text[:800])
    return [part for part in parts if len(part.split()) >= 3][:SENTENCES]


def _figures(findings: Sequence[Finding], question: Question) -> Iterator[Conflict]:
    """Yield pairs with different numbers beside the same word of the question: `on port 8080`, `the default port is
    9090`. The sentences must share a second word of it, else they may be about different things."""
    figures = [(item, *figure) for item in findings[:COMPARED] for figure in _figured(item.text, question)]
    for (first, word, number, words), (other, same, other_number, others) in combinations(figures, 2):
        apart = first.place != other.place and not _are_commits(first, other)
        if apart and word == same and number != other_number and len(words & others) > 1:
            yield Conflict(f"{word} {number} here, {other_number} there", first, other)


def _figured(text: str, question: Question) -> Iterator[tuple[str, str, set[str]]]:
    """Yield (word, number, terms) for each question word with a number beside it; terms are those of the sentence."""
    for sentence in _sentences(text):
        words = stems(sentence) & set(question.terms)
        for word, number in _FIGURE.findall(sentence):
            if stem_word(word.lower()) in words:
                yield word.lower(), number, words


def _versions(
    findings: Sequence[Finding], passages: Sequence[Finding], question: Question, stack: Stack, every: bool
) -> Iterator[Conflict]:
    """Yield versions beside a technology's name that differ from the one in use. Checked are technologies the question
    names, all of them if it asks for versions or requirements, else sentences about the question."""
    named = named_in(question, stack)
    all_asked = "version" in question.terms and not named
    for item in stack.technologies:
        if not item.version or not item.name:
            continue
        asked = all_asked or item in named or (every and item.kind in NEEDED)
        for said in [*findings, *(passages if asked else ())]:
            listed = said.source == "setup" and item.kind in NEEDED  # a setup finding is an answer
            if written := _written(said.text, item, question, asked or listed):
                held = Finding(f"{item.name} {item.version}", "code", item.place, title=item.package)
                yield Conflict(f"{item.name}: {written} here, {item.version} there", said, held)


def _rivals(
    findings: Sequence[Finding], passages: Sequence[Finding], question: Question, stack: Stack, every: bool
) -> Iterator[Conflict]:
    """Yield servers and tools that a page says are used while the manifests have another one of the same family."""
    have = {item.name: item for item in stack.technologies}
    kinds = kinds_asked(question)
    for family, names in RIVALS.items():
        used = [have[name] for name in names if name in have]
        named = any(re.search(rf"(?<![\w-]){_written_as(name)}(?![\w-])", question.text, re.I) for name in names)
        asked = named or family in kinds or (every and family in NEEDED)
        for said in [*findings, *(passages if asked else ())] if used else ():
            listed = said.source == "setup" and family in NEEDED
            if told := _other(said.text, [name for name in names if name not in have], question, asked or listed):
                via = f" through {used[0].package}" if used[0].package and not used[0].version else ""
                held = Finding(f"{used[0].name} {used[0].version}".strip() + via, "code", used[0].place)
                yield Conflict(f"{told} here, {used[0].name} there", said, held)


def _other(text: str, names: Sequence[str], question: Question, asked: bool) -> str:
    """Return the first of these names a text says is used, ignoring negated and replaced ones."""
    for name in names:
        for sentence in re.split(r"(?<=[.!?;])\s+", text[:2_000]):
            found = re.search(rf"(?<![\w-]){_written_as(name)}(?![\w-])", sentence, re.I)
            left = found and (_DENIED.search(sentence[: found.start()]) or _LEFT.search(sentence))
            if found and not left and (asked or _is_about(sentence, question)):
                return name
    return ""


def _written_as(name: str) -> str:
    return f"(?:{NAMES.get(name, re.escape(name))})"


def _is_about(sentence: str, question: Question) -> bool:
    return len(stems(sentence) & set(question.terms)) >= TOUCHED * max(1, len(question.terms))


def _written(text: str, item: Technology, question: Question, asked: bool) -> str:
    """Return a version of a technology that a text names and that differs from the one in use, or ''. If the technology
    was not asked for, the sentence must be about the question."""
    name = f"(?:{re.escape(item.name.removesuffix('.js'))}|{_written_as(item.name)})"
    case = re.NOFLAG if len(item.name) <= SHORT_NAME else re.I  # "go" is also a common word
    for found in re.finditer(rf"(?<![\w-]){name}(?:\.js)?\s+v?(\d+(?:\.\d+){{0,3}})\b", text[:2_000], case):
        said = found[1]
        begin, end = text.rfind(". ", 0, found.start()) + 1, text.find(". ", found.end())
        if not asked and not _is_about(text[begin : end if end > 0 else len(text)], question):
            continue
        least = _LATER.match(text, found.end()) or _BEFORE.search(text[: found.start()])
        newer = _numbers(said) > _numbers(item.version)
        # A manifest states the oldest version that works, so a newer one in the docs may be right.
        differs = any(a != b for a, b in zip(_numbers(said), _numbers(item.version), strict=False))  # 18 fits 18.2
        if differs and (newer if least else item.locked or not newer):
            return said
    return ""


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d{1,9}", version)[:3])


def _managers(findings: Sequence[Finding], stack: Stack) -> Iterator[Conflict]:
    """Yield commands of a package manager that differs from the one with a lock file."""
    used = [item for item in stack.of("packages") if item.name.lower() in ("npm", "pnpm", "yarn", "bun")]
    names = {item.name.lower() for item in used}
    if len(names) != 1:
        return
    for item in findings:
        for found in _COMMAND.finditer(item.text):
            told = found[1].lower()
            if told not in names and not _DENIED.search(item.text[: found.start()]):
                held = Finding(f"the lock file is {used[0].name}'s", "code", used[0].place)
                yield Conflict(f"{told} here, {used[0].name} there", item, held)
                break
