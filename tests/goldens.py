"""Golden files: what users and programs see, as it is today; `make golden` writes them anew.

A change of one of these files belongs in the commit that changes the behaviour, so that a review sees both.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "golden"
WRITE = "WRITE_GOLDEN"  # the environment variable that `make golden` sets
_UUID = r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
_TIME = r"\b20\d\d-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?"


def check(name: str, found: str) -> None:
    """Compare a text with its golden file."""
    path = FOLDER / name
    if os.environ.get(WRITE):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(found, encoding="utf-8")
    assert path.exists(), f"{name} is missing: make golden"
    assert found == path.read_text(encoding="utf-8"), f"{name} differs; if that is intended: make golden"


def check_document(name: str, found: Any) -> None:
    """Compare a JSON document with its golden file."""
    check(name, json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def shape(value: Any) -> Any:
    """The keys and types of a JSON value; the items of a list are merged into one."""
    if isinstance(value, dict):
        return {key: shape(one) for key, one in value.items()}
    if isinstance(value, list):
        return [merged([shape(one) for one in value])] if value else []
    return "null" if value is None else {bool: "boolean", int: "number", float: "number", str: "text"}[type(value)]


def merged(shapes: list[Any]) -> Any:
    """One shape for several values of the same place."""
    if all(isinstance(one, dict) for one in shapes):
        keys = {key for one in shapes for key in one}
        return {key: merged([one[key] for one in shapes if key in one]) for key in keys}
    distinct = sorted({json.dumps(one, sort_keys=True) for one in shapes})
    return json.loads(distinct[0]) if len(distinct) == 1 else " | ".join(distinct).replace('"', "")


class Names:
    """Gives everything that differs between two runs a name, the same one for the same thing."""

    def __init__(self, **places: object) -> None:
        self._places = sorted(((str(path), f"<{name}>") for name, path in places.items()), key=lambda p: -len(p[0]))
        self._known: dict[str, str] = {}

    def plain(self, text: str) -> str:
        """The text with places, ids, handles, times and durations named."""
        for path, name in self._places:
            text = text.replace(path, name)
        text = re.sub(_UUID, lambda match: self._name(match[0], "id"), text)
        for handle in [known for known in self._known if len(known) == 36]:
            text = text.replace(handle[-6:], f"{self._known[handle][:-1]} handle>")
        text = re.sub(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{40}\b|\b[0-9a-f]{32}\b|\b[0-9a-f]{16}\b", "<digest>", text)
        text = re.sub(r"\b(inst|ep)-20\d{6}-[0-9a-f]{6}\b", r"<\1>", text)
        text = re.sub(r"-[0-9a-f]{6}(?=[.\s\"]|$)", "-<handle>", text)  # in the names of pages
        text = re.sub(_TIME, "<time>", text)
        text = re.sub(r"\b1[6-9]\d{8}(?:\d{3}|\.\d+)?\b", "<time>", text)  # seconds or milliseconds since 1970
        text = re.sub(r"\bseconds: [\d.]+", "seconds: <n>", text)
        return re.sub(r"\b\d+(?:\.\d+)? ?(ms|s|MB|kB|GB)\b", r"<n> \1", text)

    def _name(self, found: str, kind: str) -> str:
        return self._known.setdefault(found, f"<{kind} {len(self._known) + 1}>")
