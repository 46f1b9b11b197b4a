"""Judge a value: is it random enough to be a secret, or a placeholder, an identifier, a variable, a word?"""

from __future__ import annotations

from functools import cache

from swarmlore.text import secret_rules, secret_words

# Letters and digits become a, A and 0, so that changes of kind can be counted as pairs.
_KINDS = dict.fromkeys(range(97, 123), "a") | dict.fromkeys(range(65, 91), "A") | dict.fromkeys(range(48, 58), "0")
_COUNT = "abcdefghijklmnopqrstuvwxyz 01234567890"
_DIGIT_CHANGES = ("a0", "0a", "A0", "0A")

# A prefix shorter than this, or one that other secrets may start with, does not claim a value for its provider.
_CLAIM_LENGTH = 4
_COMMON_PREFIXES = frozenset(
    {"key-", "key_", "api-", "secret_", "pat.", "sat.", "sdk-", "mob-", "v1.0-", "AAAA", "oauth:", "1000.", "access-"}
)


@cache
def words_of(name: str) -> frozenset[str]:
    """Return a word list of `secret_words` as a set."""
    return frozenset(getattr(secret_words, name).split())


@cache
def _claims() -> tuple[str, ...]:
    prefixes = {prefix for _, listed, _ in secret_rules.PREFIXED for prefix in listed.split()}
    long = {prefix for prefix in prefixes if len(prefix) >= _CLAIM_LENGTH} - _COMMON_PREFIXES
    return (*sorted(long), *secret_rules.CLAIMED.split())


def is_claimed(value: str) -> bool:
    """Tell whether a value starts with a prefix whose provider has its own rule, which then alone decides."""
    return value.startswith(_claims())


def is_spread(value: str) -> bool:
    """Tell whether a value uses at least five characters about equally (the inverse Simpson index)."""
    return len(value) ** 2 >= 5 * sum(value.count(char) ** 2 for char in set(value))


def is_placeholder(value: str) -> bool:
    """Tell whether a value is a variable, a template or an example that stands for a secret."""
    if not value or value[0] in "{<[*(@" or value[-1] in ">}" or _is_variable(value):
        return True
    lower = value.lower()
    if lower in words_of("PLACEHOLDER_WORDS") or any(map(lower.__contains__, words_of("PLACEHOLDER_PARTS"))):
        return True
    return _has_long_repeat(value) or _is_cut_uuid(lower)


def _is_variable(value: str) -> bool:
    """Tell whether a value is `$NAME`, `$1`, `%NAME%` or holds `${…}`, `$(…)`."""
    if value[0] == "$" and value[1:].replace("_", "").isalnum():
        return True
    return "${" in value or "$(" in value or (len(value) > 2 and value[0] == value[-1] == "%")


def _is_cut_uuid(lower: str) -> bool:
    """Tell whether a value ends in a UUID that lost its last characters: it was shortened to be shown."""
    parts = lower.rsplit("-", 4)
    if [len(part) for part in parts[1:4]] != [4, 4, 4] or len(parts) < 5 or len(parts[4]) >= 12:
        return False
    start = parts[0][-8:]
    return not parts[0][-9:-8].isalnum() and not set(start + "".join(parts[1:])) - set("0123456789abcdef")


def _has_long_repeat(value: str) -> bool:
    return any(value.count(char) >= 12 and char * 12 in value for char in set(value))


def is_varied(value: str) -> bool:
    """Tell whether a value that already has a provider's shape can be a real one."""
    return bool(value) and is_spread(value) and not is_placeholder(value)


def is_random(value: str) -> bool:
    """Tell whether a value looks drawn at random: letters, digits and cases change more often than in any name."""
    kinds = value.translate(_KINDS)
    letters = kinds.count("a") + kinds.count("A")
    length = letters + kinds.count("0")
    # A time stamp has two letters.
    return length >= 10 and letters > 2 and _is_mixed(kinds, length) and is_varied(value) and not _is_counted(value)


def _is_mixed(kinds: str, length: int) -> bool:
    """Tell whether kinds of characters change often enough; the measures come from drawn tokens of 10 to 64."""
    by_digit = sum(map(kinds.count, _DIGIT_CHANGES))
    changes = by_digit + kinds.count("aA")
    if by_digit == 0:
        return length >= 20 and "AaA" in kinds and changes * 8 >= length
    if length >= 20 and "a" not in kinds and len(kinds) == length:
        return by_digit >= 2  # base32 has few digits
    # Against dotted names such as `ed25519.PrivateKey`.
    rarest = 4 if "." in kinds and length < 40 else 7
    often = by_digit >= 3 and changes * rarest >= length
    return often or changes * (4 if length >= 16 else 3) >= length


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
    """Tell whether a value assigned to a password is one: mixed kinds of characters, and no identifier or word."""
    if len(value) < 6 or is_placeholder(value) or "://" in value or value.startswith(("/", "./", "../", "~/")):
        return False
    kinds = value.translate(_KINDS)
    symbols = sum(value.count(char) for char in "!@#$%^&*~+?")
    if symbols:
        return len(set(value)) >= 5 and ("a" in kinds or "A" in kinds)
    changes = sum(map(kinds.count, _DIGIT_CHANGES))
    return len(value) >= 7 and changes >= 1 and len(set(value)) >= 5 and "(" not in value
