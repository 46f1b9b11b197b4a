"""Words without their inflection, for comparing statements.

Gentler than the stems of full-text search (`text.words`): those may fold "policy" and "police", here that would make
two different lessons the same.
"""

from __future__ import annotations

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
    """The part of a lower-case word that its forms share. Not a linguist's stem: it only has to be equal for them."""
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
