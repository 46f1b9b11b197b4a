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
from dataclasses import dataclass
from functools import cache

from swarmlore.rules.override_words import CONCEPTS, MARKERS, NEVER_REPAIRED, REPAIRED, RULES
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

_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_TOKEN = re.compile(r"\w+(?:'[a-z]+)?|[.!?](?=\s)|\n")


@dataclass(frozen=True, slots=True)
class Rule:
    """Concepts (as bits) and the half words, from and to, in which each may stand around the first."""

    kind: str
    weight: int
    anchor: int
    steps: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Lexicon:
    words: dict[str, int]
    stems: dict[str, list[tuple[str, int]]]
    repairs: dict[str, str]
    core: int
    core_words: frozenset[str]
    token: re.Pattern[str]
    rules: tuple[Rule, ...]


def find_override(folded: str) -> str:
    """The classes under which a folded text tries to override instructions, joined by "+", or nothing."""
    marked = _weigh_markers(folded)
    lexicon = _lexicon()
    tokens = (_TOKEN if folded.isascii() else lexicon.token).findall(folded)
    for start in range(0, max(1, len(tokens) - _WINDOW + _STEP), _STEP):
        scores = _score(tokens[start : start + _WINDOW], lexicon)
        if marked:
            scores["markers"] = marked
        if _total(scores) >= THRESHOLD:
            return "+".join(sorted(scores, key=lambda kind: (-scores[kind], kind)))
    return ""


def _total(scores: dict[str, int]) -> int:
    """The sum of the weights; "please", "tell me" and the like tip the scale, but only beside a serious sign."""
    serious = any(weight > 1 for weight in scores.values())
    return sum(scores.values()) if serious else sum(scores.values()) - scores.get("speech", 0)


def _weigh_markers(folded: str) -> int:
    return max((weight for needle, weight, pattern in MARKERS if needle in folded and _compiled(pattern).search(folded)), default=0)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _score(tokens: list[str], lexicon: Lexicon) -> dict[str, int]:
    """The best weight per class; mistyped words are repaired only where the text is suspect but not yet enough."""
    hits = _hits(tokens, lexicon)
    scores = _match(hits, lexicon.rules)
    if _total(scores) < THRESHOLD and any(concepts & lexicon.core for _, concepts in hits):
        repaired = _repair(tokens, lexicon)
        if repaired != tokens:
            return _match(_hits(repaired, lexicon), lexicon.rules)
    return scores


def _hits(tokens: list[str], lexicon: Lexicon) -> list[tuple[int, int]]:
    """Position and concepts of each known word."""
    words, stems = lexicon.words, lexicon.stems
    hits = []
    position = 0
    for token in tokens:
        concepts = words.get(token, 0)
        if concepts == _BREAK:
            position += _SENTENCE
            continue
        position += _WORD if token.isascii() or len(token) > 1 else 1
        if not concepts and token[:_STEM] in stems:
            concepts = _stem_concepts(token, stems[token[:_STEM]])
        if concepts:
            hits.append((position, concepts))
    return hits


def _stem_concepts(token: str, candidates: list[tuple[str, int]]) -> int:
    concepts = 0
    for stem, bits in candidates:
        if token.startswith(stem):
            concepts |= bits
    return concepts


def _match(hits: list[tuple[int, int]], rules: tuple[Rule, ...]) -> dict[str, int]:
    present = 0
    for _, concepts in hits:
        present |= concepts
    scores: dict[str, int] = {}
    places: dict[int, list[int]] = {}
    for rule in rules:
        if rule.anchor & present and scores.get(rule.kind, 0) < rule.weight and _stands(rule, present, hits, places):
            scores[rule.kind] = rule.weight
    return scores


def _stands(rule: Rule, present: int, hits: list[tuple[int, int]], places: dict[int, list[int]]) -> bool:
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
        if token + following in lexicon.core_words and following:
            repaired.append(token + following)
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
    words: dict[str, int] = {".": _BREAK, "!": _BREAK, "?": _BREAK, "\n": _BREAK}
    stems: dict[str, list[tuple[str, int]]] = {}
    bits = {name: 1 << place for place, name in enumerate(CONCEPTS)}
    for name, listed in CONCEPTS.items():
        for word in fold(listed).split():
            if word.endswith("*"):
                stems.setdefault(word[:_STEM], []).append((word[:-1], bits[name]))
            else:
                words[word] = words.get(word, 0) | bits[name]
    rules = tuple(_parse(line, bits, words) for line in RULES.strip().splitlines())
    terms = sorted((word for word in words if re.match(f"[{_IDEOGRAPHS}]", word)), key=len, reverse=True)
    token = re.compile(rf"{'|'.join(terms)}|[{_IDEOGRAPHS}]|[^\W{_IDEOGRAPHS}]+(?:'[a-z]+)?|[.!?](?=\s)|[\n。！？]")
    for word in NEVER_REPAIRED.split():
        words.setdefault(word, 0)
    core_words = frozenset(REPAIRED.split())
    core = 0
    for word in core_words:
        core |= words[word]
    return Lexicon(words, stems, _typos(), core, core_words, token, rules)


def _typos() -> dict[str, str]:
    """Each core word and each core word short of one letter (the first stays)."""
    return {
        form: word for word in REPAIRED.split() for form in (word, *(word[:at] + word[at + 1 :] for at in range(1, len(word))))
    }


def _parse(line: str, bits: dict[str, int], words: dict[str, int]) -> Rule:
    kind, weight, anchor, *steps = line.split()
    return Rule(kind, int(weight), _bits(anchor, bits, words), tuple(_parse_step(step, bits, words) for step in steps))


def _parse_step(step: str, bits: dict[str, int], words: dict[str, int]) -> tuple[int, int, int]:
    names, distance = step.lstrip("-~").split("/")
    reach = int(distance) * _WORD
    first, last = {"-": (-reach, -1), "~": (-reach, reach)}.get(step[0], (1, reach))
    return _bits(names, bits, words), first, last


def _bits(names: str, bits: dict[str, int], words: dict[str, int]) -> int:
    """The bits of "concept|word|…"; a word that is no concept becomes one of its own."""
    total = 0
    for name in names.split("|"):
        if name not in bits:
            bits[name] = 1 << len(bits)
            words[fold(name)] = words.get(fold(name), 0) | bits[name]
        total |= bits[name]
    return total
