"""Judge a value: is it random enough to be a secret, or a placeholder, an identifier, a variable, a word?"""

from __future__ import annotations

from functools import cache

from swarmlore.text import secret_words

# Letters and digits become a, A and 0, so that changes of kind can be counted as pairs.
_KINDS = dict.fromkeys(range(97, 123), "a") | dict.fromkeys(range(65, 91), "A") | dict.fromkeys(range(48, 58), "0")
_KINDS |= dict.fromkeys(map(ord, "_./:\\ "), "-")  # what joins words; other symbols say nothing
_COUNT = "abcdefghijklmnopqrstuvwxyz 01234567890"

# Log odds, in units of 0.3, that two neighbours were drawn and not written, by their kinds; for letters of one word see
# LETTER_PAIRS. From _RANDOM on a whole value counts as drawn.
_KIND_ODDS = {"aA": 6, "a0": 12, "A0": 12, "0a": 12, "0A": 12, "00": 3}
_JOINT = -8
_RANDOM = 16
_SHORTEST = 8


@cache
def words_of(text: str) -> frozenset[str]:
    """The words of a list of `secret_words` as a set, made once."""
    return frozenset(text.split())


def is_spread(value: str) -> bool:
    """Tell whether a value uses at least five characters about equally (the inverse Simpson index)."""
    return len(value) ** 2 >= 5 * sum(value.count(char) ** 2 for char in set(value))


def is_placeholder(value: str) -> bool:
    """Tell whether a value is a variable, a template or an example that stands for a secret."""
    if not value or value[0] in "{<[(" or value[-1] in ">}" or _is_variable(value):
        return True
    if value[0] in "*@" and not is_random(value[1:]):
        return True
    lower = value.lower()
    if lower in words_of(secret_words.PLACEHOLDER_WORDS) or any(
        map(lower.__contains__, words_of(secret_words.PLACEHOLDER_PARTS))
    ):
        return True
    return _has_long_repeat(value)


def _is_variable(value: str) -> bool:
    """Tell whether a value is `$NAME`, `$1`, `%NAME%` or holds `${…}`, `$(…)`."""
    if value[0] == "$" and value[1:].replace("_", "").isalnum():
        return True
    return "${" in value or "$(" in value or (len(value) > 2 and value[0] == value[-1] == "%")


def _has_long_repeat(value: str) -> bool:
    return any(value.count(char) >= 12 and char * 12 in value for char in set(value))


def is_varied(value: str) -> bool:
    """Tell whether a value that already has a provider's shape can be a real one."""
    return bool(value) and is_spread(value) and not is_placeholder(value)


def is_random(value: str) -> bool:
    """Tell whether a value looks drawn at random: its neighbouring characters are not those of words and names."""
    kinds = value.translate(_KINDS)
    letters = kinds.count("a") + kinds.count("A")
    # A time stamp has two letters.
    if letters <= 2 and not (letters and is_hash(value)):
        return False
    if letters + kinds.count("0") < _SHORTEST or _odds(value.lower(), kinds) < _RANDOM:
        return False
    return is_varied(value) and not _is_counted(value) and not value.endswith(("Key", "Token", "Secret"))  # a class


@cache
def _pair_odds() -> dict[str, int]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    pairs = (first + second for first in letters for second in letters)
    return {pair: 11 - 2 * int(common) for pair, common in zip(pairs, secret_words.LETTER_PAIRS, strict=True)}


def _odds(lower: str, kinds: str) -> int:
    """Add up how much likelier each pair of neighbours is in a drawn value than in the names of real code."""
    pairs = _pair_odds()
    odds = 0
    for at in range(len(kinds) - 1):
        kind = kinds[at : at + 2]
        odds += _KIND_ODDS[kind] if kind in _KIND_ODDS else _JOINT if "-" in kind else pairs.get(lower[at : at + 2], 0)
    return odds


def is_drawn(value: str) -> bool:
    """Tell whether a value looks drawn at random, be it of digits alone."""
    return is_random(value) or (value.isdigit() and len(value) >= 12 and is_varied(value) and not _is_counted(value))


def _is_counted(value: str) -> bool:
    """Tell whether most of a value counts up the alphabet or the digits, as `abcd1234` does."""
    lower = value.lower()
    steps = sum(lower[at : at + 2] in _COUNT for at in range(len(lower) - 1))
    return steps * 10 >= len(value) * 7


def has_telling_kinds(value: str) -> bool:
    """Tell whether a value has a digit or cases that change to and fro, which plain words and names have not."""
    kinds = value.translate(_KINDS)
    return "0" in kinds or "AaA" in kinds


def is_password(value: str) -> bool:
    """Tell whether a value assigned to a password is one: mixed kinds of characters or drawn, no identifier or word."""
    if len(value) < 6 or is_placeholder(value) or "://" in value or value.startswith(("/", "./", "../", "~/")):
        return False
    kinds = value.translate(_KINDS)
    symbols = sum(value.count(char) for char in "!@#$%^&*~+?")
    if symbols:
        return len(set(value)) >= 5 and ("a" in kinds or "A" in kinds)
    changed = any(map(kinds.count, ("a0", "0a", "A0", "0A")))
    return is_drawn(value) or (len(value) >= 7 and changed and len(set(value)) >= 5 and "(" not in value)


def is_hash(value: str) -> bool:
    """Tell whether a value may as well be a hash or a UUID, or says itself that it is one, or a file."""
    named = value.startswith(("sha1", "sha256", "sha384", "sha512", "h1:", "md5", "data:"))
    return named or not value.lower().strip("0123456789abcdef-_")
