"""Layer 3 of the validation gate: topic tags, the differences between two lessons, and whether they contradict.

`compare` lists the differences that matter, `contradicts` says why two lessons cannot both be followed, and
`same_subject` whether the later one may replace the earlier one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from swarmlore.domain.language import statements
from swarmlore.domain.language.similarity import NEGATIONS, STOP_WORDS, content_words
from swarmlore.domain.language.statements import CONTRACTIONS, SCOPES, VERBS, Statement, Token, canonical, read
from swarmlore.domain.language.tokenizer import stem

MAX_CHARS = 4000
"""Longer texts are equal only if their words are identical."""
MAX_WORDING = 1
"""Ordinary words that may be missing without a loss of content."""
MAX_VALUE = 2
"""Most words of a replaced value; a longer replacement is another thought."""
NOWHERE = -1
"""Position of words that stand in different places in the two texts."""
_ALIKE = {
    **dict.fromkeys(("if", "when", "whenever", "while", "where"), "if"),
    **dict.fromkeys(("in", "on", "at", "within"), "in"),
    **dict.fromkeys(("because", "since", "as"), "because"),
}


class Slot(NamedTuple):
    """A place where the new text has other words than the old one. `kind`: opposed, value, name or thought."""

    kind: str
    old: tuple[Token, ...]
    new: tuple[Token, ...]
    old_at: int
    new_at: int

    def __str__(self) -> str:
        return f"{self.kind}: {_shown(self.old) or '…'} → {_shown(self.new) or '…'}"


class Difference(NamedTuple):
    """All differences from the old text to the new one."""

    slots: tuple[Slot, ...] = ()
    added: tuple[Token, ...] = ()
    removed: tuple[Token, ...] = ()
    order: str = ""
    modality: str = ""
    spelling: str = ""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return every difference that keeps the two texts from counting as the same."""
        found = [str(slot) for slot in self.slots]
        found += [f"added: {token.written}" for token in self.added if token.weighty]
        found += [f"missing: {token.written}" for token in self.removed if token.weighty]
        found += filter(None, (self.order, self.modality, self.spelling))
        return tuple(found)

    @property
    def drops(self) -> bool:
        """Return whether the new text leaves out more than one ordinary word."""
        return len(self.removed) > MAX_WORDING or any(token.weighty for token in self.removed)

    @property
    def corrects(self) -> bool:
        """Return whether the new text replaces a part of the old one by something else."""
        return bool(self.order or self.modality or self.spelling) or any(slot.kind != "thought" for slot in self.slots)

    @property
    def opposes(self) -> bool:
        """Return whether the new text says the opposite somewhere."""
        return bool(self.modality) or any(slot.kind == "opposed" for slot in self.slots)


_UNKNOWN = Difference((Slot("thought", (), (), NOWHERE, NOWHERE),))


def _shown(tokens: tuple[Token, ...]) -> str:
    return " ".join(f"{token.bound} {token.written or token.word}".strip() for token in tokens)


@lru_cache(maxsize=512)
def compare(new: str, old: str) -> Difference:
    """Return the differences between two short texts that are more than wording."""
    if max(len(new), len(old)) > MAX_CHARS:
        return Difference() if new.split() == old.split() else _UNKNOWN
    here, there = read(new), read(old)
    slots, added, removed = _align(here, there)
    slots += _pair_up(added, removed)
    slots += _reversed_words(here, there, added, removed)
    if added and removed:
        kind = "name" if len(added) == len(removed) == 1 and added[0].kind == removed[0].kind else "thought"
        slots.append(Slot(kind, tuple(removed), tuple(added), NOWHERE, NOWHERE))
        added, removed = [], []
    order = _order(here, there)
    return Difference(tuple(slots), tuple(added), tuple(removed), order, _modality(here, there), _spelling(here, there))


def _align(here: Statement, there: Statement) -> tuple[list[Slot], list[Token], list[Token]]:
    """Align two statements: return slots with other words, words only the new one has, words only the old one has."""
    if here.keys == there.keys:
        return [], [], []
    from difflib import SequenceMatcher  # only for texts that differ

    extra, lost = Counter(here.keys) - Counter(there.keys), Counter(there.keys) - Counter(here.keys)
    slots: list[Slot] = []
    added: list[Token] = []
    removed: list[Token] = []
    for _, old_from, old_to, new_from, new_to in SequenceMatcher(None, there.keys, here.keys, False).get_opcodes():
        old = _take_tokens(there.tokens[old_from:old_to], lost)
        new = _take_tokens(here.tokens[new_from:new_to], extra)
        if not any(map(_is_light, old)) or not any(map(_is_light, new)):
            old = [token for token in old if not _is_light(token)]
            new = [token for token in new if not _is_light(token)]
        if old and new:
            slots.append(Slot(_kind_of(old, new), tuple(old), tuple(new), old_from, new_from))
        else:
            added += new
            removed += old
    return slots, added, removed


def _is_light(token: Token) -> bool:
    """Return whether a token is a bare all, any or some, which matters only where one replaces another."""
    return token.word in statements.LIGHT and not token.bound


def _take_tokens(tokens: tuple[Token, ...], wanted: Counter[str]) -> list[Token]:
    """Return the tokens counted in `wanted`, each as often as counted there, and reduce the counts."""
    found = []
    for token in tokens:
        if wanted[token.key] > 0:
            wanted[token.key] -= 1
            found.append(token)
    return found


def _kind_of(old: list[Token], new: list[Token]) -> str:
    """Return the kind of a replacement: opposed, value, name or thought."""
    if any(_opposed(a, b) for a in old for b in new):
        return "opposed"
    kinds, others = {token.kind for token in old}, {token.kind for token in new}
    if not {"number", "code"}.isdisjoint(kinds & others):
        return "value"
    if (kinds != {"word"} and others != {"word"}) or max(len(old), len(new)) <= MAX_VALUE:
        return "name"
    return "thought"


def _opposed(a: Token, b: Token) -> bool:
    """Return whether two tokens are the same word negated on one side, or known opposites."""
    return (a.word == b.word and a.bound != b.bound) or b.word in statements.OPPOSITES.get(a.word, ())


def _pair_up(added: list[Token], removed: list[Token]) -> list[Slot]:
    """Pair added with missing words that replace each other although they stand in different places."""
    slots = []
    for new in tuple(added):
        for old in removed:
            if _opposed(old, new) or (new.kind == old.kind and new.kind in ("number", "code")):
                slots.append(Slot(_kind_of([old], [new]), (old,), (new,), NOWHERE, NOWHERE))
                added.remove(new)
                removed.remove(old)
                break
    return slots


def _reversed_words(here: Statement, there: Statement, added: list[Token], removed: list[Token]) -> list[Slot]:
    """Find words whose opposite is a small word of the other text: "turn it on", "turn it off"."""
    slots = []
    for tokens, own, other in ((added, here, there), (removed, there, here)):
        for token in tuple(tokens):
            opposites = statements.OPPOSITES.get(token.word)
            if opposites and not opposites.isdisjoint(map(statements.canonical, other.words - own.words)):
                new = tokens is added
                slots.append(Slot("opposed", () if new else (token,), (token,) if new else (), NOWHERE, NOWHERE))
                tokens.remove(token)
    return slots


def _modality(here: Statement, there: Statement) -> str:
    """Describe a change between must and may; '' where one of the texts states neither."""
    if here.modality and there.modality and here.modality != there.modality:
        return f"opposed: {there.modality} → {here.modality}"
    return ""


def _spelling(here: Statement, there: Statement) -> str:
    """Describe a quoted word that both texts have in different letters: `Foo` and `foo`."""
    quoted = {token.key: token.written for token in there.tokens if token.quoted}
    for token in here.tokens:
        if token.quoted and quoted.get(token.key, token.written) != token.written:
            return f"spelling: {quoted[token.key]} → {token.written}"
    return ""


def _order(here: Statement, there: Statement) -> str:
    """Describe a change of word order, unless only phrases such as "in CI" or "before x" moved."""
    common = Counter(here.keys) & Counter(there.keys)
    new = [token for token in _take_tokens(here.tokens, common.copy()) if not _is_light(token)]
    old = [token for token in _take_tokens(there.tokens, common.copy()) if not _is_light(token)]
    if [token.key for token in new] == [token.key for token in old]:
        return ""
    runs = _runs(new, old)
    groups: dict[str, list[int]] = {}
    for run in runs:
        place, before = run[0]
        groups.setdefault(_opening_word(new[place], old[before]), []).append(before)
    if all(places == sorted(places) for places in groups.values()):
        return ""
    # "Do not commit x" and "x must not be committed": in the passive, "by" marks the subject.
    if len(runs) <= 3 and here.passive != there.passive:
        return ""
    return f"order: {_shown(tuple(old))} → {_shown(tuple(new))}"


def _runs(new: list[Token], old: list[Token]) -> list[list[tuple[int, int]]]:
    """Split the new words into runs that stand together in the old text too; each word as (new, old) position."""
    free = {place: token.key for place, token in enumerate(old)}
    runs: list[list[tuple[int, int]]] = []
    after = -1
    for place, token in enumerate(new):
        if free.get(after) != token.key:
            places = [there for there, key in free.items() if key == token.key]
            after = next((there for there in places if old[there].opener == token.opener), places[0])
            runs.append([])
        runs[-1].append((place, after))
        del free[after]
        after += 1
    return runs


def _opening_word(new: Token, old: Token) -> str:
    """Return the word that opens a movable phrase such as "in CI"; '' if none begins at this token.

    Phrases with the same opening must keep their order: "a on x, b on y" is not "a on y, b on x".
    """
    if new.bound:
        return new.bound
    kind = _ALIKE.get(new.opener, new.opener)
    return kind if new.opener in statements.OPENERS and kind == _ALIKE.get(old.opener, old.opener) else ""


_TAG_WORDS = {
    "todo": "todo|remember|don'?t forget",
    "typescript": "typescript|ts",
    "javascript": "javascript|js",
    "python": "python",
    "runtime": "bun|node|deno",
    "frontend": "react|vue|svelte|angular",
    "git": "git|github|gitlab",
    "container": "docker|kubernetes|k8s",
    "database": "sql|postgres|mysql|sqlite",
    "testing": "test|spec|vitest|jest|mocha",
    "ci-cd": "ci|cd|pipeline|workflow|action",
    "security": "security|auth|token|password|encrypt",
    "performance": "performance|latency|throughput|cache",
    "api": "api|rest|graphql|grpc|endpoint",
    "opencode-swarm": "swarm|architect|agent|hook|plan",
}

_SAME_WORDS = 0.9
"""Share of equal words above which one negation makes a contradiction."""
_WINDOW = 3
_SAME_SUBJECT = 0.6
_NEWS = frozenset("now currently today already instead anymore again since".split())
"""Words that only say that something is new."""

_PAIRS = (
    ("always", "never"),
    ("must", "must not"),
    ("must", "should not"),
    ("enable", "disable"),
    ("use", "avoid"),
    ("use", "not use"),
    ("recommended", "not recommended"),
)
_OBJECT_VERBS = frozenset(("use", "avoid", "not use", "enable", "disable"))
"""Verbs that contradict only with the same object; sharing a place is not enough."""
_FORMS = {
    **dict.fromkeys(("use", "uses", "using", "used"), "use"),
    **dict.fromkeys(("avoid", "avoids", "avoided", "avoiding"), "avoid"),
    **dict.fromkeys(("enable", "enables", "enabled", "enabling"), "enable"),
    **dict.fromkeys(("disable", "disables", "disabled", "disabling"), "disable"),
    **dict.fromkeys(("recommend", "recommends", "recommended"), "recommended"),
    **{word: word for word in ("always", "never", "must", "should", "not")},
}
_GLUE = frozenset(("be", "been", "being", "ever"))
_DENIED = {"use": "not use", "recommended": "not recommended", "enable": "disable", "disable": "enable", "avoid": "use"}
_PART = re.compile(r"[.;!?\n](?=\s|$)|[\w'’]+")
_PREPOSITIONS = frozenset(
    ("in", "on", "at", "for", "with", "during", "when", "if", "inside", "under", "to", "from", "by")
)

# Several subjects can do these: with another subject it is another lesson, not a correction.
_EXCLUSIVE = (
    "own maintain approve review lead handle contain hold store define host serve generate produce create publish"
)
_EXCLUSIVE_VERBS = frozenset(map(stem, _EXCLUSIVE.split()))
_CONDITIONS = frozenset(("for", "of", "if", "when", "whenever", "while", "during", "within"))
_PLACES = frozenset(("in", "on"))
_SCOPED = "use prefer avoid enable disable set add need require run call must should allow"
_SCOPED_VERBS = frozenset(map(stem, _SCOPED.split()))
_ASSIGNING = frozenset(("is", "to"))
_COLLECTING = frozenset(map(canonical, ("need", "require", "support", "include", "accept", "provide", "has")))
_DIGITS = re.compile(r"\d+")
_NUMBERED = frozenset(("error", "code", "status", "exit", "issu", "step", "phas", "level", "ticket", "pr", "chapter"))

Context = tuple[frozenset[str], frozenset[str]]
"""The content words before and after a polarity word."""
Polarity = dict[str, list[Context]]


@lru_cache(maxsize=1)
def _tag_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((tag, re.compile(rf"\b(?:{found})\b", re.IGNORECASE)) for tag, found in _TAG_WORDS.items())


@lru_cache(maxsize=1024)
def infer_tags(text: str) -> tuple[str, ...]:
    """Return the topics that a text names by whole words, in a fixed order."""
    text = text.replace("’", "'")
    return tuple(tag for tag, pattern in _tag_patterns() if pattern.search(text))


def differences(new: str, old: str) -> tuple[str, ...]:
    """Return the differences that keep two texts from meaning the same: values, names, negations, opposites, order."""
    return compare(new, old).reasons


def contradicts(new: str, old: str, *, shared_entity: bool = False) -> str:
    """Return why two texts cannot both be followed, or ''."""
    here, there = _polarity(new), _polarity(old)
    if here and there and (shared_entity or not set(infer_tags(new)).isdisjoint(infer_tags(old))):
        for one, other in _PAIRS:
            if _meet(here, there, one, other) or _meet(here, there, other, one):
                return f"{one} / {other}"
    if _is_negated(new) == _is_negated(old):
        return ""
    words, others = content_words(new), content_words(old)
    # "Disable x" and "do not enable x" also differ in one negation, but are equal.
    if len(words & others) > _SAME_WORDS * len(words | others) and differences(new, old):
        return "the same words, one of the texts negated"
    return ""


def _is_negated(text: str) -> bool:
    return any(word in NEGATIONS or word.startswith("avoid") for word in _spoken(text))


@lru_cache(maxsize=1024)
def _spoken(text: str) -> tuple[str, ...]:
    """Return the lower-case words, contractions split in two, and "." where a sentence ends."""
    words: list[str] = []
    for part in _PART.findall(text.lower().replace("’", "'")):
        bare = part.replace("'", "")
        if bare in CONTRACTIONS:
            words += [CONTRACTIONS[bare], "not"]
        elif bare == "cannot":
            words += ["can", "not"]
        else:
            words.append(part if part.isalnum() else bare or ".")
    return tuple("." if word in (";", "!", "?", "\n") else word for word in words)


@lru_cache(maxsize=1024)
def _polarity(text: str) -> Polarity:
    """Return the polarity words of a text (always, never, use, …), each with the words around its occurrences."""
    words = _spoken(text)
    chains = list(_chains(words))
    marks: Polarity = {}
    for start, end in chains:
        edges = [edge for chain in chains if chain != (start, end) for edge in chain]
        for name in _names(words[start:end]):
            marks.setdefault(name, []).append(_context(words, start, end, edges, name in _OBJECT_VERBS))
    return marks


def _chains(words: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Return the spans of adjacent polarity words: "must not be used" is one span."""
    start = 0
    while start < len(words):
        end = start
        while end < len(words) and (words[end] in _FORMS or (end > start and words[end] in _GLUE)):
            end += 1
        if end > start:
            yield start, end
        start = max(end, start + 1)


def _names(chain: tuple[str, ...]) -> list[str]:
    """Name the polarities in one span: "must not" does not contain "must", nor "never use" "use"."""
    names: list[str] = []
    denied = False
    for form in filter(None, (_FORMS.get(word) for word in chain)):
        if form in ("not", "never"):
            if names and names[-1] in ("must", "should"):
                names[-1] += " not"
            elif form == "never":
                names.append(form)
            denied = True
        elif form != "use" or "avoid" not in names[-1:]:
            names.append(_DENIED.get(form, form) if denied else form)
    return ["must" if name == "should" else name for name in names]


def _context(words: tuple[str, ...], start: int, end: int, edges: list[int], objects: bool) -> Context:
    """Return the content words within three words of a span; for verbs with an object, only that object."""
    left = max([start - _WINDOW, 0, *(edge for edge in edges if edge <= start)])
    right = min([end + _WINDOW, len(words), *(edge for edge in edges if edge >= end)])
    after = _until(words[end:right], _PREPOSITIONS if objects else frozenset())
    before = tuple(reversed(_until(tuple(reversed(words[left:start])), frozenset())))
    if objects:
        return frozenset(), _topics(after) or _topics(before)
    return _topics(before), _topics(after)


def _until(words: tuple[str, ...], ends: frozenset[str]) -> tuple[str, ...]:
    """Return the words before the first sentence end or word of `ends`."""
    return tuple(takewhile(lambda word: word != "." and word not in ends, words))


def _topics(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(canonical(word) for word in words if word not in STOP_WORDS and word not in _FORMS)


def _meet(here: Polarity, there: Polarity, one: str, other: str) -> bool:
    """Return whether one text uses `one` where the other uses `other` in similar context; False if reversed too."""
    if one in there and other in here:
        return False
    return any(_overlap(a, b) for a in here.get(one, ()) for b in there.get(other, ()))


def _overlap(a: Context, b: Context) -> bool:
    """Return whether two contexts share a word and have no different subject (secrets must not, config files must)."""
    if a[0] and b[0] and a[0].isdisjoint(b[0]):
        return False
    return not (a[0] | a[1]).isdisjoint(b[0] | b[1])


@lru_cache(maxsize=512)
def same_subject(new: str, old: str) -> bool:
    """Return whether two texts are about the same thing, so that the later one can replace the earlier."""
    if max(len(new), len(old)) > MAX_CHARS:
        return False
    here, there, difference = read(new), read(old), compare(new, old)
    swap = _is_swap(difference)
    if not swap and any(_is_elsewhere(slot, here, there) for slot in difference.slots):
        return False
    kinds = [slot.kind for slot in difference.slots]
    several = len(kinds) > 1 and not swap
    if several and "opposed" not in kinds and ("name" in kinds or "thought" in kinds):
        return False  # a value changed together with the thing that has it
    values = [slot for slot in difference.slots if not several or slot.kind in ("opposed", "value")]
    words = _words_without(here, {token.key for slot in values for token in slot.new})
    others = _words_without(there, {token.key for slot in values for token in slot.old})
    shared = len(words & others)
    if not swap and _changes(difference) > 1:
        return False  # "staging is on" and "production is off" both hold: a correction changes one thing
    return shared > 0 and shared >= _SAME_SUBJECT * min(len(words), len(others))


def _changes(difference: Difference) -> int:
    """Count the changes: replaced words, words turned into their opposite, and a change between must and may."""
    count = int(bool(difference.modality))
    for slot in difference.slots:
        sides = [[token for token in side if token.word not in _NEWS] for side in (slot.old, slot.new)]
        old, new = ({token.word: token.key for token in side} for side in sides)
        replaced = max(len(old.keys() - new.keys()), len(new.keys() - old.keys()))
        count += replaced + sum(old[word] != new[word] for word in old.keys() & new.keys())
    return count


def _is_swap(difference: Difference) -> bool:
    """Return whether the same words only changed places: "x before y", "y before x"."""
    new = sorted(token.word for slot in difference.slots for token in slot.new)
    return new == sorted(token.word for slot in difference.slots for token in slot.old)


def _words_without(statement: Statement, keys: set[str]) -> frozenset[str]:
    """Return the words of a statement except those of the given keys and "use"."""
    return frozenset(token.word for token in statement.tokens if token.key not in keys and token.word != "use")


def _is_elsewhere(slot: Slot, here: Statement, there: Statement) -> bool:
    """Return whether the replaced words say where or for whom the statement holds, so that both can be true."""
    scopes = any(a.word != b.word and {a.word, b.word} <= SCOPES for a in slot.old for b in slot.new)
    if scopes and _opener(here.tokens, slot.new_at) not in _ASSIGNING:
        return True
    if slot.kind == "opposed" or not slot.old or not slot.new:
        return False
    opener = _opener(here.tokens, slot.new_at)
    if slot.new[0].kind != "number" and opener == _opener(there.tokens, slot.old_at):
        ordered = not here.verb_at and here.verb.split(" ")[0] in _SCOPED_VERBS
        if opener in _CONDITIONS or (ordered and opener in _PLACES):
            return True
    # Some verbs take several things: "needs a" and "needs b" can both be true.
    collects = slot.kind == "name" and slot.new_at > 0 and here.tokens[slot.new_at - 1].word in _COLLECTING
    return collects or _is_other_subject(slot, here, there)


def _is_other_subject(slot: Slot, here: Statement, there: Statement) -> bool:
    """Return whether the subject was replaced and the verb is not one of those that only one subject does."""
    if not (0 <= slot.new_at < here.verb_at and 0 <= slot.old_at < there.verb_at):
        return False
    token = slot.new[0]
    if token.kind == "number":
        return slot.new_at > 0 and here.tokens[slot.new_at - 1].word in _NUMBERED
    if token.opener not in ("", "^", ",", "and") or token.written.startswith("-"):
        return False
    if _DIGITS.sub("", token.word) == _DIGITS.sub("", slot.old[0].word):
        return False  # jdk-17 and jdk-21
    return not here.verb.endswith(" the") and here.verb not in _EXCLUSIVE_VERBS


def _opener(tokens: tuple[Token, ...], place: int) -> str:
    """Return the small word that opens the phrase of the token at `place`."""
    for token in reversed(tokens[max(0, place - 2) : place + 1]):
        if token.opener or token.word in VERBS:
            return token.opener
    return ""
