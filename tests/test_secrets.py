"""No secret passes, nothing else is touched, and the time stays linear. Tokens are made at run time, never written."""

from __future__ import annotations

import random
import re
import string
from pathlib import Path

import pytest

from swarmlore.text import secret_rules
from swarmlore.text.secrets import _expand, redact

SHARED = Path(__file__).parents[1].parent / "shared"
LETTERS = string.ascii_letters + string.digits


# --- a made-up token for every shape of the table ---


def draw(shape: str, rng: random.Random) -> str:
    """Draw a string that an expression of the table matches."""
    return draw_parsed(re._parser.parse(_expand(shape), re.ASCII), rng)


def draw_parsed(parsed, rng: random.Random) -> str:
    return "".join(draw_node(str(kind), value, rng) for kind, value in parsed)


def draw_node(kind: str, value, rng: random.Random) -> str:
    if kind == "LITERAL":
        return chr(value)
    if kind == "IN":
        return rng.choice(drawable(value))
    if kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        least, most, inner = value
        return "".join(draw_parsed(inner, rng) for _ in range(rng.randint(least, min(most, least + 8))))
    if kind == "SUBPATTERN":
        return draw_parsed(value[-1], rng)
    if kind == "BRANCH":
        return draw_parsed(rng.choice(value[1]), rng)
    assert kind in ("ASSERT", "ASSERT_NOT"), f"the table uses {kind}, which draw() does not know"
    return ""


def drawable(members) -> str:
    """Return the characters of a set, each as often as it would be in a real token."""
    chars = ""
    for kind, value in members:
        if str(kind) == "LITERAL":
            chars += chr(value)
        elif str(kind) == "RANGE":
            chars += "".join(map(chr, range(value[0], value[1] + 1)))
        else:
            chars += {"CATEGORY_WORD": LETTERS + "_", "CATEGORY_DIGIT": string.digits}[str(value)]
    return chars


PREFIX_ROWS = [
    (rule, prefix, shape)
    for rule, prefixes, shape in secret_rules.PREFIXED + secret_rules.LOOSE
    for prefix in prefixes.split()
]


def share_redacted(text: str, make, rng: random.Random, tries: int = 25) -> float:
    """Return how often a drawn token is gone from the text it was put into."""
    gone = 0
    for _ in range(tries):
        token = make(rng)
        clean, fired = redact(text.format(token))
        gone += token not in clean and bool(fired) and text.split("{}")[0] in clean
    return gone / tries


@pytest.mark.parametrize(("rule", "prefix", "shape"), PREFIX_ROWS, ids=[f"{row[0]}-{row[1]}" for row in PREFIX_ROWS])
def test_a_token_with_the_prefix_of_a_provider_is_redacted_wherever_it_stands(rule, prefix, shape):
    rng = random.Random(prefix + shape)
    assert share_redacted('the call used "{}" and failed', lambda rng: prefix + draw(shape, rng), rng) >= 0.85


@pytest.mark.parametrize(("rule", "prefix", "shape"), PREFIX_ROWS, ids=[f"{row[0]}-{row[1]}" for row in PREFIX_ROWS])
def test_a_prefix_alone_is_no_secret(rule, prefix, shape):
    text = f"tokens of this kind start with {prefix} and prefixes such as {prefix}short or {prefix}xxxxxxxxxxxxxxxxxxxxxxxx"
    assert redact(text) == (text, ())


@pytest.mark.parametrize("row", secret_rules.SHAPED, ids=[f"{row[0]}-{row[1]}" for row in secret_rules.SHAPED])
def test_a_token_with_the_shape_of_a_provider_is_redacted(row):
    rule, _, shape, _ = row
    rng = random.Random(shape)
    assert share_redacted("see {} here", lambda rng: draw(shape, rng), rng) >= 0.85 or shape.startswith("(?:Acc")


@pytest.mark.parametrize("row", secret_rules.CONTEXT, ids=[f"{row[0]}-{row[1]}" for row in secret_rules.CONTEXT])
def test_a_value_assigned_to_the_name_of_a_provider_is_redacted(row):
    rule, words, shape = row
    rng = random.Random(shape)
    for word in words.split():
        name = word.strip("_-.").replace(" ", "_")
        for text in (f"export {name.upper()}_API_KEY={{}}", f'"{name}_token": "{{}}",', f"{name} secret = '{{}}'"):
            assert share_redacted(text, lambda rng: draw(shape, rng), rng, tries=8) >= 0.75, text
