"""Lexical similarity of short texts (Jaccard over word pairs and content words), and index keys for candidates."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from zlib import crc32

_WORD = re.compile(r"\w+")
_NOT_WORD = re.compile(r"[^\w\s]")

_STOPS = """
    a about above across actually after again all along also although am an and another any are around as at b back be
    because been before being below between both but by c came can come could d did do does doing done down during e
    each either else etc even ever every few for from further get gets getting go goes going got had has have having he
    her here him his how however i if in into is it its itself just keep let ll m made make makes many may maybe me
    might more most much my n need needs of off often on once one ones only onto or other our out over own per please
    put rather re really s same she should since so some still such t take than that the their them then there these
    they this those though through thus to too toward towards under until up upon us v ve very via was way we well were
    what when where whether which while who whose why will with within would yet you your yours
"""
STOP_WORDS = frozenset(_STOPS.split())

_NEGATIONS = """
    aren aint arent cannot cant couldn couldnt didn didnt doesn doesnt don dont hasn hasnt haven havent isn isnt lest
    mustn mustnt neither never no nobody none nor not nothing nowhere shouldn shouldnt unless wasn wasnt weren werent
    without won wont wouldn wouldnt
"""
NEGATIONS = frozenset(_NEGATIONS.split())

_POLARITY = """
    always avoid avoided avoiding avoids disable disabled disables disabling enable enabled enables enabling must
    recommend recommended recommends should use used uses using
"""
POLARITY_WORDS = frozenset(_POLARITY.split())

# Words so common in coding lessons that they hardly identify one.
_COMMON = """
    add agent api app build call change check class client code command commit config create data database db default
    deploy docker ensure error fail field file fix flag folder function git import install key line log module name
    node npm option package path port prefer project python query remove repo request return run script server service
    set setting start step string table task test time tool type update user value version write
"""
COMMON_WORDS = frozenset(_COMMON.split())

_LEFT_OUT = STOP_WORDS | NEGATIONS | POLARITY_WORDS

MAX_SHINGLES = 24
MAX_SHINGLED_CHARS = 1000
"""Longer texts are raw material, and equal only if identical, which a hash decides."""

_LEAST_WORD_KEYS = 4
_BIGRAM_SALT = crc32(b"word pair")
_WORD_SALT = crc32(b"content word")
_LATE = 1 << 32
"""Offset that sorts the key of a common word behind all rarer ones."""


def normalize(text: str) -> str:
    """Return a text in lower case, with punctuation replaced and single spaces."""
    return " ".join(_NOT_WORD.sub(" ", text.lower()).split())


def word_bigrams(text: str) -> frozenset[tuple[str, str]]:
    """Return the adjacent word pairs of the normalised text."""
    words = normalize(text).split()
    return frozenset(pairwise(words))


def jaccard_bigram(a: str, b: str) -> float:
    """Return the share of common word pairs; for texts of one word, whether the words are equal."""
    pairs_a, pairs_b = word_bigrams(a), word_bigrams(b)
    if not pairs_a or not pairs_b:
        return float(normalize(a) == normalize(b))
    return len(pairs_a & pairs_b) / len(pairs_a | pairs_b)


@lru_cache(maxsize=2048)
def content_words(text: str) -> frozenset[str]:
    """Return the words that carry the topic: no stop words, negations or polarity words, plurals as singulars."""
    return frozenset(_singular(word) for word in _WORD.findall(text.lower()) if word not in _LEFT_OUT)


def _singular(word: str) -> str:
    if word[-1] != "s" or len(word) < 4 or word[-2] in "sui":
        return word
    return word[:-3] + "y" if word.endswith("ies") and len(word) > 4 else word[:-1]


@lru_cache(maxsize=64)  # needed twice per memory: to find neighbours and to be indexed
def shingles(text: str) -> tuple[int, ...]:
    """Return index keys: texts with word-pair Jaccard ≥ .6 or content-word Jaccard ≥ .5 share one (up to 280
    characters).

    A prefix filter: all texts order their parts the same way, rare-looking ones first. Of n parts, those that a similar
    text must share cannot all lie behind the first n - ceil(threshold · n) + 1. Long lessons have more keys than the
    cap allows; then word pairs go first.
    """
    if len(text) > MAX_SHINGLED_CHARS:
        return ()
    words = _WORD.findall(text.lower())
    pairs = _pair_keys(words)
    topics = _topic_keys(words)
    return (*pairs[: MAX_SHINGLES - min(len(topics), _LEAST_WORD_KEYS)], *topics)[:MAX_SHINGLES]


def _pair_keys(words: list[str]) -> list[int]:
    if len(words) < 2:
        return [crc32(word.encode(), _BIGRAM_SALT) for word in words]
    keys = set()
    before = words[0]
    stopped = before in STOP_WORDS
    for word in words[1:]:
        key = crc32(f"{before} {word}".encode(), _BIGRAM_SALT)
        stops = word in STOP_WORDS
        keys.add(key + _LATE if stopped and stops else key)
        before, stopped = word, stops
    # n - ceil(3n / 5) + 1, in whole numbers
    return [key % _LATE for key in sorted(keys)[: len(keys) * 2 // 5 + 1]]


def _topic_keys(words: list[str]) -> list[int]:
    keys = set()
    for word in words:
        if word not in _LEFT_OUT and not word[0].isdigit():
            word = _singular(word)
            late = 2 if word in COMMON_WORDS else len(word) < 6
            keys.add(crc32(word.encode(), _WORD_SALT) + late * _LATE)
    # n - ceil(n / 2) + 1, in whole numbers
    return [key % _LATE for key in sorted(keys)[: len(keys) // 2 + 1]]
