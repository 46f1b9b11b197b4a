"""YAML written anew: names, texts, lists and tables as lines, so that whoever reads them reads what was meant."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

TRUE = ("true", "yes", "on")
_NOT_WORDS = (*TRUE, "y", "n", "no", "off", "false", "null", "nan", "inf")
# Ends of lines that editors do not show, and what no YAML may hold as it is.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
HIDDEN = re.compile(f"[\x00-\x1f]|{_ESCAPED.pattern}")


def written(values: Mapping[str, Any]) -> str:
    """A new text that says these values, in their order."""
    return "".join(line + "\n" for name, value in values.items() for line in entry_lines(name, value, 0))


def entry_lines(name: str, value: Any, column: int) -> list[str]:
    """A name and its value as lines."""
    head = f"{' ' * column}{named(name)}:"
    return [head, *value_lines(value, column + 2)] if takes_lines(value) else [f"{head} {literal(value)}"]


def value_lines(value: Any, column: int) -> list[str]:
    """A table or a list as lines."""
    if isinstance(value, Mapping):
        return [line for name, inner in value.items() for line in entry_lines(name, inner, column)]
    return [line for item in value for line in item_lines(item, column)]


def item_lines(item: Any, column: int) -> list[str]:
    """An item of a list as lines, after its dash."""
    if not isinstance(item, Mapping) or not item:
        return [f"{' ' * column}- {literal(item)}"]
    first, *others = value_lines(item, column + 2)
    return [" " * column + "- " + first[column + 2 :], *others]


def takes_lines(value: Any) -> bool:
    """Whether a value is written below its name: tables, and lists of tables or sentences."""
    if isinstance(value, Mapping):
        return bool(value)
    return isinstance(value, (list, tuple)) and any(
        isinstance(item, Mapping) or (isinstance(item, str) and item.count(" ") > 1) for item in value
    )


def literal(value: Any) -> str:
    """A value in one line as it is written anew: texts in quotes, names, days and numbers bare."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{named(name)}: {literal(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, str) and not _is_word(value):
        return quoted(value)
    return str(bare(value))


def quoted(text: str) -> str:
    """A text in double quotes."""
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def named(name: str) -> str:
    """A name as it stands before its colon."""
    return name if name[:1].isalpha() and _is_word(name) else quoted(name)


def _is_word(text: str) -> bool:
    """Whether a text means itself without quotes, whoever reads it: a name such as an id, or a day."""
    if not text.isascii() or text.lower() in _NOT_WORDS:
        return False
    if text[:1].isalpha():
        return all(part.isalnum() for part in text.replace("_", "-").split("-"))
    return [len(part) for part in text.split("-")] == [4, 2, 2] and text.replace("-", "").isdigit()


def bare(value: Any) -> Any:
    """A value as the tree tells it."""
    if isinstance(value, Mapping):
        return {str(name): bare(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [bare(item) for item in value]
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    return f"{value:g}" if isinstance(value, float) else str(value)
