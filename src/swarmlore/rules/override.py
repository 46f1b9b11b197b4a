"""Texts that try to give a model new orders, found by scoring concepts that stand close together.

A word is looked up in a lexicon of concepts ("ignore": ignore, disregard, ignoriere, 忽略); a rule names concepts that
must stand within a few words of its first one. Each rule belongs to a class and has a weight; the best weight of each
class counts, and a text that reaches `THRESHOLD` is set aside. Strong rules reach it alone; weak signs, such as role
play or "from now on you", need company, since honest texts have them too. Whoever speaks of "your instructions", "your
answer" or "your code" speaks to a model, and lessons rarely do. Words are counted, not characters, so the cost is
linear and one set of rules serves every language of the lexicon.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache

from swarmlore.frozen import frozen
from swarmlore.rules.override_rules import MARKERS, RULES
from swarmlore.rules.override_words import CONCEPTS, NEVER_REPAIRED, REPAIRED, SUSPECT
from swarmlore.text.clean import fold

THRESHOLD = 3

# Signs far apart in a long text have nothing to do with each other: they are added up within a window only.
_WINDOW = 500
_STEP = 350
_STEM = 5
# Positions are counted in half words, so that one ideograph is half a word; a sentence's end is two words long.
_WORD = 2
_SENTENCE = 4
_BREAK = -1

_TOKEN = re.compile(r"\w+(?:'[a-z]+)?|[.!?](?=\s)|\n")
_IDEOGRAPH = "\u3040"  # where the scripts begin that do not part words
# Words of nearly every text. A rule is looked up by its rarest concept, so these should not be it.
_COMMON = (
    "a an the this that these it i me my you your to in into of on for from with as by at is are was be all any every "
    "each no not never without new first use using add set run write make give list return show print before what if"
)


@frozen
class Rule:
    """Concepts (as bits) and the half words, from and to, in which each may stand around the first."""

    kind: str
    weight: int
    anchor: int
    steps: tuple[tuple[int, int, int], ...]


@frozen
class Lexicon:
    words: dict[str, int]
    stems: dict[str, list[tuple[str, int]]]
    repairs: dict[str, str]
    core: int
    negation: int
    dismissal: int
    rules: dict[int, list[Rule]]


def find_override(folded: str) -> str:
    """The classes under which a folded text tries to override instructions, joined by "+", or nothing."""
    marked = _weigh_markers(folded)
    lexicon = _lexicon()
    tokens = _tokenise(folded)
    for start in range(0, max(1, len(tokens) - _WINDOW + _STEP), _STEP):
        scores = _score(tokens[start : start + _WINDOW], lexicon)
        if marked:
            scores["markers"] = marked
        if scores and _total(scores) >= THRESHOLD:
            return "+".join(sorted(scores, key=lambda kind: (-scores[kind], kind)))
    return ""


def _weigh_markers(folded: str) -> int:
    """The weight of the strongest piece of a prompt template."""
    best = 0
    for needle, weight, pattern in MARKERS:
        if weight > best and needle in folded and _compiled(pattern).search(folded):
            best = weight
    return best


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _total(scores: dict[str, int]) -> int:
    """The sum of the weights; "please", "tell me" and the like tip the scale, but only beside a serious sign."""
    serious = any(weight > 1 for weight in scores.values())
    return sum(scores.values()) if serious else sum(scores.values()) - scores.get("speech", 0)


def _tokenise(folded: str) -> list[str]:
    """Words and sentence ends; in scripts without spaces known terms, and single characters between them."""
    if folded.isascii() or max(folded) < _IDEOGRAPH:
        return _TOKEN.findall(folded)
    return _ideographic_token().findall(folded)


@cache
def _ideographic_token() -> re.Pattern[str]:
    terms = sorted((word for word in _lexicon().words if word >= _IDEOGRAPH), key=len, reverse=True)
    scripts = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    return re.compile(rf"{'|'.join(terms)}|[{scripts}]|[^\W{scripts}]+(?:'[a-z]+)?|[.!?](?=\s)|[\n。！？]")


def _score(tokens: list[str], lexicon: Lexicon) -> dict[str, int]:
    """The best weight per class; mistyped words are put right only where the text is suspect but not yet enough."""
    hits, present = _look_up(tokens, lexicon)
    scores = _match(hits, present, lexicon)
    if present & lexicon.core and _total(scores) < THRESHOLD:
        repaired = _repair(tokens, lexicon)
        if repaired != tokens:
            return _match(*_look_up(repaired, lexicon), lexicon)
    return scores


def _look_up(tokens: list[str], lexicon: Lexicon) -> tuple[list[tuple[int, int]], int]:
    """Position and concepts of each known word, and all concepts together."""
    words, stems = lexicon.words, lexicon.stems
    hits = []
    present = position = before = 0
    for token in tokens:
        concepts = words.get(token, 0)
        if concepts == _BREAK:
            position += _SENTENCE
            continue
        position += 1 if len(token) == 1 and token >= _IDEOGRAPH else _WORD
        if not concepts and token[:_STEM] in stems:
            concepts = _stem_concepts(token, stems[token[:_STEM]])
        if concepts:
            if before & lexicon.negation:
                concepts &= ~lexicon.dismissal  # "never ignore the guidelines" asks for the contrary
            hits.append((position, concepts))
            present |= concepts
        before = concepts if token != "to" else before
    return hits, present


def _stem_concepts(token: str, candidates: list[tuple[str, int]]) -> int:
    concepts = 0
    for stem, bits in candidates:
        if token.startswith(stem):
            concepts |= bits
    return concepts


def _match(hits: list[tuple[int, int]], present: int, lexicon: Lexicon) -> dict[str, int]:
    scores: dict[str, int] = {}
    places: dict[int, list[int]] = {}
    for bit in _each_bit(present):
        for rule in lexicon.rules.get(bit, ()):
            if scores.get(rule.kind, 0) < rule.weight and _stands(rule, present, hits, places):
                scores[rule.kind] = rule.weight
    return scores


def _stands(rule: Rule, present: int, hits: list[tuple[int, int]], places: dict[int, list[int]]) -> bool:
    if not rule.anchor & present:
        return False
    for concepts, _, _ in rule.steps:
        if not concepts & present:
            return False
    for concepts in (rule.anchor, *(step[0] for step in rule.steps)):
        if concepts not in places:
            places[concepts] = [position for position, found in hits if found & concepts]
    return any(_all_near(anchor, rule.steps, places) for anchor in places[rule.anchor])


def _all_near(anchor: int, steps: tuple[tuple[int, int, int], ...], places: dict[int, list[int]]) -> bool:
    for concepts, first, last in steps:
        positions = places[concepts]
        at = bisect_left(positions, anchor + first)
        if at < len(positions) and positions[at] == anchor:
            at += 1  # a word is not its own neighbour
        if at == len(positions) or positions[at] > anchor + last:
            return False
    return True


def _repair(tokens: list[str], lexicon: Lexicon) -> list[str]:
    """The tokens with core words put right that were cut in two or are one letter wrong."""
    repaired = []
    rest = iter(zip(tokens, [*tokens[1:], ""], strict=True))
    for token, following in rest:
        joined = token + following
        if following and lexicon.repairs.get(joined) == joined:
            repaired.append(joined)
            next(rest, None)
        else:
            repaired.append(_repair_word(token, lexicon))
    return repaired


def _repair_word(token: str, lexicon: Lexicon) -> str:
    """A core word that differs from the token by one letter dropped, added, changed or swapped; else the token."""
    if len(token) < _STEM or token in lexicon.words:
        return token
    if token in lexicon.repairs:
        return lexicon.repairs[token]
    shorter = (token[:at] + token[at + 1 :] for at in range(1, len(token)))
    return next((lexicon.repairs[word] for word in shorter if word in lexicon.repairs), token)


@cache
def _lexicon() -> Lexicon:
    """The lexicon as dictionaries, built on first use."""
    words: dict[str, int] = dict.fromkeys(".!?\n。！？", _BREAK)
    stems: dict[str, list[tuple[str, int]]] = {}
    bits = {name: 1 << place for place, name in enumerate(CONCEPTS)}
    for name, listed in CONCEPTS.items():
        for word in fold(listed).split():
            if word.endswith("*"):
                stems.setdefault(word[:_STEM], []).append((word[:-1], bits[name]))
            else:
                words[word] = words.get(word, 0) | bits[name]
    rules = _parse_rules(bits, words)
    core = sum(bits[name] for name in SUSPECT.split())
    words.update((word, 0) for word in NEVER_REPAIRED.split() if word not in words)
    dismissal = bits["IGNORE"] | bits["FORGET"]
    return Lexicon(words, stems, _typos(), core, bits["NOT"], dismissal, _index(rules, words))


def _typos() -> dict[str, str]:
    """Each core word short of one letter (the first stays), and each core word itself."""
    typos = {word[:at] + word[at + 1 :]: word for word in REPAIRED.split() for at in range(1, len(word))}
    return typos | {word: word for word in REPAIRED.split()}


def _index(rules: list[Rule], words: dict[str, int]) -> dict[int, list[Rule]]:
    """The rules by each bit of their rarest concept: most texts then meet only a few of them."""
    seen: dict[int, int] = {}
    for word in _COMMON.split():
        for bit in _each_bit(words.get(word, 0)):
            seen[bit] = seen.get(bit, 0) + 1

    @cache
    def cost(concepts: int) -> tuple[int, int]:
        return sum(seen.get(bit, 0) for bit in _each_bit(concepts)), concepts.bit_count()

    index: dict[int, list[Rule]] = {}
    for rule in rules:
        for bit in _each_bit(min((rule.anchor, *(step[0] for step in rule.steps)), key=cost)):
            index.setdefault(bit, []).append(rule)
    return index


def _each_bit(bits: int) -> Iterator[int]:
    while bits:
        bit = bits & -bits
        yield bit
        bits ^= bit


def _parse_rules(bits: dict[str, int], words: dict[str, int]) -> list[Rule]:
    """The rules as bits; a word in one of them becomes a concept of its own."""

    @cache  # most sets of concepts stand in several rules
    def concepts(names: str) -> int:
        total = 0
        for name in names.split("|"):
            if name not in bits:
                bits[name] = 1 << len(bits)
                word = fold(name)
                words[word] = words.get(word, 0) | bits[name]
            total |= bits[name]
        return total

    @cache
    def step(listed: str) -> tuple[int, int, int]:
        names, distance = listed.lstrip("-~").split("/")
        reach = int(distance) * _WORD
        first, last = {"-": (-reach, -1), "~": (-reach, reach)}.get(listed[0], (1, reach))
        return concepts(names), first, last

    lines = (line.split() for line in RULES.strip().splitlines())
    return [Rule(kind, int(weight), concepts(anchor), tuple(map(step, rest))) for kind, weight, anchor, *rest in lines]
