"""Tokenizer of full-text search: split identifiers, fold case, stem words, and make bigrams of CJK text.

Both engines, queries and rescoring use this one analysis. The full-text index stores `index_text`, so that its own
tokenizer only splits at spaces and every engine counts the same words.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_FORMS = """
    ran:run built:build wrote:write written:write sent:send kept:keep broke:break broken:break made:make making:make
    found:find took:take taken:take gave:give given:give chose:choose chosen:choose held:hold lost:lose went:go goes:go
    threw:throw thrown:throw led:lead meant:mean used:use using:use uses:use done:do began:begin begun:begin hung:hang
    got:get bound:bind news:news gone:go seen:see ran:run shown:show
"""
_IRREGULAR = dict(pair.split(":") for pair in _FORMS.split())
_VOWELS = frozenset("aeiouy")


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return a stem shared by the forms of a lower-case word. Not linguistic: it only has to be equal for them."""
    word = _IRREGULAR.get(word, word)
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    word = _without_s(word)
    for ending in ("ing", "ed"):
        base = word.removesuffix(ending)
        if base != word and len(base) > 2 and not word.endswith("eed") and not _VOWELS.isdisjoint(base):
            word = base[:-1] if base[-1] == base[-2] and base[-1] not in "lsz" else base
            break
    return word[:-1] if len(word) > 3 and word[-1] == "e" else word


def _without_s(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word[:-1] if word[-1] == "s" and word[-2] not in "sui" else word


MAX_QUERY_TERMS = 48
"""Most terms of a query; more cost time, and an error output that long repeats itself."""

_STOPS = """
    a about above after again against all also am an and any anybody anyone anything are aren as at be because been
    before being below between both but by can cannot could couldn d did didn do does doesn doing don down during each
    either else ever every everybody everyone everything few for from further get gets getting give given go goes going
    gone got had hadn has hasn have haven having he her here hers herself hey hi him himself his how i if in into is isn
    it its itself just let lets ll m may maybe me might mine more most much must my myself need needs neither no nobody
    none nor not nothing now of off ok okay on once one only onto or other others our ours ourselves out over own per
    please quite re really s said same say says shall she should shouldn since so some somebody someone something still
    such t than thank thanks that the their theirs them themselves then there these they thing things this those though
    through thus to too under until up upon us ve very via was wasn way we were weren what when where whether which
    while who whom whose why will with within without won would wouldn yes yet you your yours yourself yourselves
"""
STOP_WORDS = frozenset(_STOPS.split())

# A chunk is a word, an identifier joined by single underscores or hyphens, or a dotted number.
_CHUNK = re.compile(r"[vV]?\d+(?:\.\d+)+|[^\W_]+(?:[-_][^\W_]+)*")
# A capital before a small letter begins the next part: HTTPServer is http and server.
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_JOINT = re.compile(r"[-_]")
# Compiled on first use: few commands meet such texts.
_WIDE = r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
_CODE_LIKE = r"\S*(?:[a-z][A-Z]|[A-Z]{2}[a-z]|\w[_/\\.:=@#]\w|--?\w|\w\(|[{}<>\[\]|;`$*\\]|\d)\S*"
_LONGEST_NOISE = 2  # digits
_WEAK_PIECE = 0.7


def split_words(text: str) -> list[str]:
    """Return all words in order, in lower case; an identifier gives its parts and then their join."""
    words: list[str] = []
    for chunk in _CHUNK.findall(text if text.isascii() else _plain(text)):
        if chunk.isascii() and chunk.isalpha() and (chunk.islower() or chunk[1:].islower() or chunk.isupper()):
            words.append(chunk.lower())
        else:
            words.extend(_parts(chunk))
    return words


@lru_cache(maxsize=8192)
def _parts(chunk: str) -> tuple[str, ...]:
    """Return the parts of an identifier, number or run of wide characters, and their join if there are several."""
    if "." in chunk:
        numbers = chunk.lstrip("vV").split(".")
        return (*numbers, "p".join(numbers))
    if not chunk.isascii() and re.search(_WIDE, chunk):
        return tuple(_wide_words(chunk))
    parts = _PART.findall(chunk.lower() if chunk.isupper() else chunk) if chunk.isascii() else _JOINT.split(chunk)
    parts = [part.casefold() for part in parts]
    return (*parts, "".join(parts)) if len(parts) > 1 else tuple(parts)


def _wide_words(chunk: str) -> list[str]:
    """Split CJK text, which has no spaces, into overlapping pairs of characters."""
    words: list[str] = []
    end = 0
    for run in re.finditer(_WIDE, chunk):
        words.extend(split_words(chunk[end : run.start()]))
        letters = run.group()
        words.extend(letters[i : i + 2] for i in range(max(1, len(letters) - 1)))
        end = run.end()
    return words + split_words(chunk[end:])


def _plain(text: str) -> str:
    """Return a text without accents and compatibility forms, so that `café` equals `cafe`."""
    decomposed = unicodedata.normalize("NFKD", text)
    bare = "".join(char for char in decomposed if not unicodedata.combining(char))
    return unicodedata.normalize("NFKC", bare)


def query_terms(text: str, most: int = MAX_QUERY_TERMS) -> list[str]:
    """Return the stems to search for, each once, in order; without stop words and small numbers."""
    stems = dict.fromkeys(stem_word(word) for word in split_words(text) if word not in STOP_WORDS)
    # Line numbers, counts and parts of versions match by chance, so they are used only if there is nothing else.
    telling = [word for word in stems if len(word) > _LONGEST_NOISE or not word.isdecimal()]
    return (telling or list(stems))[:most]


def query_words(text: str) -> frozenset[str]:
    """Return the words of a query, as written and as stems, because tags are not stemmed."""
    return frozenset((*query_terms(text), *(word for word in split_words(text) if word not in STOP_WORDS)))


def index_text(text: str) -> str:
    """Return the text stored in the full-text index: the stems of all words, separated by spaces."""
    return " ".join(map(stem_word, split_words(text)))


def code_share(text: str) -> float:
    """Return the share of a text's words that look like code or machine output, 0 to 1."""
    words = re.findall(r"\S+", text)
    like = re.compile(_CODE_LIKE)
    return sum(like.fullmatch(word) is not None for word in words) / len(words) if words else 0.0


def piece_emphasis(piece: str) -> float:
    """Return the weight of an embedder's word piece: 0 for punctuation, less for stop words and continuations."""
    if piece.startswith("##"):
        return _WEAK_PIECE
    if not any(map(str.isalnum, piece)):
        return 0.0
    return _WEAK_PIECE if piece in STOP_WORDS else 1.0


# Porter's stemmer (1980): each step removes or replaces the longest ending that fits, if enough is left.
_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble", "alli": "al",
    "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al",
    "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble", "logi": "log",
}  # fmt: skip
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_DROPPED = "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize"
_STEP_4 = dict.fromkeys(_DROPPED.split(), "")
_LONGEST_ENDING = 7


@lru_cache(maxsize=16384)
def stem_word(word: str) -> str:
    """Return a word without its English endings (Porter); words with digits or other letters stay unchanged."""
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    word = _without_plural(word)
    word = _without_past(word)
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    for endings, least in ((_STEP_2, 1), (_STEP_3, 1), (_STEP_4, 2)):
        word = _swap_ending(word, endings, least)
    return _without_final(word)


def _shape(word: str) -> str:
    """Return a word as c (consonant) and v (vowel) letters; y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    """Count how often consonants follow vowels: roughly the number of syllables."""
    return _shape(word).count("vc")


def _ends_short(word: str) -> bool:
    """Return whether a word ends in consonant, vowel, consonant, as `hop` does and `snow` or `box` do not."""
    return _shape(word)[-3:] == "cvc" and word[-1] not in "wxy"


def _without_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    for ending in ("ed", "ing"):
        rest = word.removesuffix(ending)
        if rest != word:
            return _mended(rest) if "v" in _shape(rest) else word
    return word


def _mended(rest: str) -> str:
    """Restore a word after -ed or -ing was removed: `hopp` becomes hop, `fil` becomes file."""
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if rest[-2:-1] == rest[-1:] and rest[-1:] not in "aeioulsz":
        return rest[:-1]
    return rest + "e" if _measure(rest) == 1 and _ends_short(rest) else rest


def _swap_ending(word: str, endings: dict[str, str], least: int) -> str:
    """Replace the longest known ending of a word, if the rest has at least `least` syllables."""
    for size in range(min(_LONGEST_ENDING, len(word) - 1), 1, -1):
        ending = word[-size:]
        if ending in endings:
            rest = word[:-size]
            fits = _measure(rest) >= least and (ending != "ion" or rest.endswith(("s", "t")))
            return rest + endings[ending] if fits else word
    return word


def _without_final(word: str) -> str:
    """Remove a silent e and the second of two final l."""
    if word.endswith("e"):
        rest = word[:-1]
        syllables = _measure(rest)
        if syllables > 1 or (syllables == 1 and not _ends_short(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
