"""The file of an agent, as a client keeps it: a page of Markdown, or (Codex) a table of TOML whose instructions are a
text between three quotes. Only its name is read, and only lines are added."""

from __future__ import annotations

import re

from swarmlore.errors import Conflict
from swarmlore.formats.frontmatter import Page, read_page, with_added
from swarmlore.formats.markdown import lines_of
from swarmlore.formats.yaml_text import Unreadable

INSTRUCTIONS = "developer_instructions"
_HEAD_CHARS = 20_000
_NAME = re.compile(r"^name[ \t]*:[ \t]*[\"']?([^\"'#\r\n]{1,200}?)[\"']?[ \t]*(?:#.*)?$", re.MULTILINE)
_OPENING = re.compile(rf"^[ \t]*{INSTRUCTIONS}[ \t]*=[ \t]*(\"\"\"|''')[ \t]*\r?\n", re.MULTILINE)
_KEY = re.compile(rf"^[ \t]*{INSTRUCTIONS}[ \t]*=", re.MULTILINE)


def declared_name(text: str, path: str) -> str:
    """The name that a file gives its agent, which counts for more than the file's own; '' where it gives none."""
    if path.endswith(".toml"):
        found = _parsed(text).get("name")
        return found if isinstance(found, str) else ""
    if not text.removeprefix("\ufeff").startswith("---"):
        return ""
    head = text[: max(0, text.find("\n---", 3, _HEAD_CHARS))]
    told = _NAME.search(head)
    return told[1].strip() if told else ""


def with_line(text: str, path: str, heading: str, line: str) -> str:
    """The file with one more line below a heading of its instructions; the same where it stands there."""
    return _in_toml(text, heading, line) if path.endswith(".toml") else with_added(opened(text), heading, line)


def opened(text: str) -> Page:
    """A page whose head need not be YAML: clients take heads that a strict reader refuses, and none of it changes."""
    try:
        return read_page(text)
    except Unreadable:
        spans = list(lines_of(text, int(text.startswith("\ufeff"))))[1:]
        end = next((end for start, end in spans if text[start:end].rstrip() in ("---", "...")), None)
        if end is None:
            raise
        return Page(text, None, end)


def _in_toml(text: str, heading: str, line: str) -> str:
    before = _parsed(text)
    start, end, quotes = _span(text)
    told = _escaped(line, quotes)
    inner = text[start:end]
    if told in (known.strip() for known in inner.splitlines()):
        return text
    more = with_added(Page(inner, None, 0), heading, told)
    after = text[:start] + more + ("" if more.endswith("\n") else "\n") + text[end:]
    if {**_parsed(after), INSTRUCTIONS: ""} != {**before, INSTRUCTIONS: ""}:
        raise Conflict("the instructions cannot be added to", "add it by hand")
    return after


def _span(text: str) -> tuple[int, int, str]:
    """Where the instructions stand between their quotes, which are on lines of their own."""
    found = _OPENING.search(text)
    quotes = found[1] if found else ""
    end = _closing(text, found.end(), quotes) if found else -1
    if found is None or end < 0 or text[text.rfind("\n", 0, end) + 1 : end].strip():
        how = f'put them between """ and """, each on a line of its own, below {INSTRUCTIONS} ='
        what = f"{INSTRUCTIONS} of this file take no further line" if _KEY.search(text) else f"it has no {INSTRUCTIONS}"
        raise Conflict(what, how)
    return found.end(), text.rfind("\n", 0, end) + 1, quotes


def _closing(text: str, start: int, quotes: str) -> int:
    """Where the quotes end; in a text between double ones a backslash takes the next character along."""
    if quotes == "'''":
        return text.find(quotes, start)
    for found in re.compile(r"\\.|\"\"\"", re.DOTALL).finditer(text, start):
        if found[0] == quotes:
            return found.start()
    return -1


def _escaped(line: str, quotes: str) -> str:
    if quotes == '"""':
        return line.replace("\\", "\\\\").replace('"""', '""\\"')
    if "'''" in line:
        raise Conflict("a text between ''' cannot hold '''", "say it in other words")
    return line


def _parsed(text: str) -> dict[str, object]:
    import tomllib

    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError):
        raise Unreadable("it is no TOML", "mend the file") from None
