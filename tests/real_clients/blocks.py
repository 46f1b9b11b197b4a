"""What of a request came from memory: a parser of fences that knows nothing of the code that writes them."""

from __future__ import annotations

import re

FENCED = re.compile(r"=== swarmlore notes (?P<fence>\w{8,}) ===\n(?P<inside>.*?)\n=== end (?P=fence) ===", re.DOTALL)
ITEM = re.compile(r"^- \[(?P<handle>\w+)\]", re.MULTILINE)


def blocks(text: str) -> list[str]:
    return [found["inside"] for found in FENCED.finditer(text)]


def fenced(text: str) -> str:
    return "\n".join(blocks(text))


def outside(text: str) -> str:
    return FENCED.sub("", text)


def fences(text: str) -> set[str]:
    """The fences of a text: each block has its own, so that it can be told from one that says the same."""
    return {found["fence"] for found in FENCED.finditer(text)}


def handles(text: str) -> set[str]:
    """The memories that a text shows inside a fence."""
    return set(ITEM.findall(fenced(text)))
