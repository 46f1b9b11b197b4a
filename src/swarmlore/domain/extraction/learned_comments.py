"""Parse lessons that agents write as comments on beads: `bd comment BD-1 "LEARNED: …"` in a shell command.

Only a command that writes such a comment counts, not one that prints, searches or documents the words. The command
line is untrusted: it is split into words (`shell`), never run. Its texts are cleaned and redacted here, so that
neither a record nor its key ever contains a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from swarmlore.domain.language.display import learned_key
from swarmlore.domain.language.shell import Command, commands
from swarmlore.domain.language.unicode import clean
from swarmlore.domain.security.redaction import redact
from swarmlore.frozen import frozen

BODY_BYTES = 4096
CONTENT_BYTES = 2048
COMMAND_CHARS = 262_144  # longer than any command line of a shell; the rest is not read
BEAD_CHARS = 128
MOST_NESTED = 3  # bash -c "bash -c …"
WORKTREES = ".worktrees/"
TYPES = {"LEARNED": "learned", "INVESTIGATION": "investigation"}
KEYWORDS = (
    *("swift", "swiftui", "appkit", "menubar", "api", "security", "test", "database", "networking", "ui", "layout"),
    *("performance", "crash", "bug", "fix", "workaround", "gotcha", "pattern", "convention", "architecture", "auth"),
    *("middleware", "async", "concurrency", "model", "protocol", "adapter", "scanner", "engine"),
)
_MARK = r"(?<![A-Za-z0-9])(LEARNED|INVESTIGATION):"
_EMPHASIS = ("**", "__", "*", "_", "`")
_CONTROLS = {code: " " for code in (*range(32), 127) if chr(code) not in "\n\t"}

# Words before a command that change how it runs, not which one runs.
_RESERVED = frozenset("if then elif else while until do ! { time".split())
_WRAPPERS = frozenset("env command exec builtin nohup sudo time nice timeout stdbuf".split())
_SHELLS = frozenset("sh bash zsh dash ksh".split())
_PROGRAMS = ("bd", "bd.exe")
# Options of bd, and of its comments, that take the next word as value.
_WITH_VALUE = frozenset(
    "--db --actor --author -a --file -f --lock-timeout --dolt-auto-commit --directory -C --repo".split()
)
_ALONE = frozenset(
    "--json --quiet --verbose --stdin --no-daemon --no-db --no-auto-flush --no-auto-import --readonly --sandbox "
    "--allow-stale --local-time --global --help --version".split()
)


@frozen
class BeadLesson:
    """One lesson with the fields and order of a line in `.beads/memory/knowledge.jsonl`."""

    key: str
    type: str
    content: str
    source: str = "orchestrator"
    tags: tuple[str, ...] = ()
    ts: int = 0
    bead: str = ""


def find_bead_lessons(command: str, cwd: str = "", at: float = 0.0) -> tuple[BeadLesson, ...]:
    """Return the lessons that a shell command writes into comments on beads, in order; most commands have none."""
    if "bd" not in command or not any(f"{word}:" in command for word in TYPES):
        return ()
    found = []
    for bead, text in _comments(commands(command[:COMMAND_CHARS]), MOST_NESTED):
        found += [_learned(type, content, bead, cwd, at) for type, content in lessons(text)]
    return tuple(found)


def _learned(type: str, content: str, bead: str, cwd: str, at: float) -> BeadLesson:
    return BeadLesson(learned_key(content, type), type, content, source_of(cwd), tags_of(type, content), int(at), bead)


def source_of(cwd: str) -> str:
    """Return the role of the author: agents that were sent to work have a worktree of their own."""
    return "supervisor" if WORKTREES in cwd.replace("\\", "/") else "orchestrator"


def tags_of(type: str, content: str) -> tuple[str, ...]:
    """Return the type, then every keyword that occurs in the text as a whole word."""
    words = set(re.findall(r"\w+", content.lower()))
    return (type, *(keyword for keyword in KEYWORDS if keyword in words))


# --- the text of a comment


def lessons(text: str) -> Iterator[tuple[str, str]]:
    """Yield type and content of each lesson, which starts after the last mark of a line and runs to the next mark."""
    text = cut(redact(clean(text.translate(_CONTROLS))[0])[0], BODY_BYTES)
    type, lines = "", list[str]()
    for line in text.split("\n"):
        marked = _after_mark(line)
        if marked is None:
            lines.append(line)
            continue
        yield from _lesson(type, lines)
        type, lines = marked[0], [marked[1]]
    yield from _lesson(type, lines)


def _lesson(type: str, lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield one lesson, cut to its limit, if it has a type and content."""
    content = cut("\n".join(lines).strip(), CONTENT_BYTES)
    if type and content:
        yield type, content


def _after_mark(line: str) -> tuple[str, str] | None:
    """Return the type that the last mark of a line names, and the text after it."""
    marks = list(re.finditer(_MARK, line))
    if not marks:
        return None
    before, after = line[: marks[-1].start()], line[marks[-1].end() :]
    for style in _EMPHASIS:  # **LEARNED:** text
        if before.endswith(style) and after.startswith(style):
            after = after[len(style) :]
            break
    return TYPES[marks[-1][1]], after


def cut(text: str, most: int) -> str:
    """Return the beginning of a text within `most` bytes, without splitting a character."""
    data = text.encode("utf-8", "replace")
    return data[:most].decode("utf-8", "ignore").strip() if len(data) > most else text


# --- the command that writes it


def _comments(found: Sequence[Command], nested: int) -> Iterator[tuple[str, str]]:
    """Yield bead and text of every comment that the commands write."""
    for command in found:
        words = _without_wrappers(command.words)
        name = words[0].replace("\\", "/").rpartition("/")[2] if words else ""
        if name in _PROGRAMS:
            yield from _comment(words[1:], command.given)
        elif nested and (script := _script(name, words[1:], command.given)):
            yield from _comments(commands(script), nested - 1)


def _without_wrappers(words: Sequence[str]) -> Sequence[str]:
    """Return the words from the program name on, without assignments, reserved words, `env`, `timeout 5` and so on."""
    at, wrapped = 0, False
    while at < len(words):
        word = words[at]
        if word in _WRAPPERS:
            wrapped = True
        elif not (word in _RESERVED or _is_assignment(word) or (wrapped and _is_setting(word))):
            break
        at += 1
    return words[at:]


def _is_assignment(word: str) -> bool:
    """Tell whether a word is a variable assignment."""
    name, sign, _ = word.partition("=")
    return bool(sign) and name.isidentifier()


def _is_setting(word: str) -> bool:
    """Tell whether a word is an option of a wrapper, or its number such as 5, 0.5 or 10s."""
    return word.startswith("-") or word.rstrip("smhd").replace(".", "", 1).isdigit()


def _script(name: str, words: Sequence[str], given: str) -> str:
    """Return the commands that a shell is given to run, or ""."""
    if name == "eval":
        return " ".join(words)
    if name not in _SHELLS:
        return ""
    for at, word in enumerate(words):
        if not word.startswith("-"):
            return ""  # a file
        if not word.startswith("--") and "c" in word:
            return words[at + 1] if at + 1 < len(words) else ""
    return given


def _comment(words: Sequence[str], given: str) -> Iterator[tuple[str, str]]:
    """Yield bead and text of a `bd comment` command."""
    rest = _after_verb(words)
    if not rest:
        return
    bead, *texts = _operands(rest) or [""]
    text = " ".join(texts) or (given if _reads_input(rest) else "")
    if text and (is_bead(bead) or bead.startswith("$")):
        yield (bead if is_bead(bead) else ""), text  # the value of a variable is unknown; the lesson still counts


def is_bead(name: str) -> bool:
    """Tell whether a name can be the id of a bead."""
    return 0 < len(name) <= BEAD_CHARS and name.isascii() and all(char.isalnum() or char in "._-" for char in name)


def _after_verb(words: Sequence[str]) -> Sequence[str]:
    """Return the words after `comment` or `comments add`; nothing for other verbs."""
    at, loose = 0, False  # loose: after an unknown option, which may take a value
    while at < len(words):
        word = words[at]
        if word == "comment":
            return words[at + 1 :]
        if word == "comments":
            add = next((place for place in range(at + 1, len(words)) if not words[place].startswith("-")), 0)
            return words[add + 1 :] if add and words[add] == "add" else ()
        if not word.startswith("-") and not loose:
            return ()
        loose = word.startswith("--") and "=" not in word and word not in _ALONE and word not in _WITH_VALUE
        at += 2 if word in _WITH_VALUE else 1
    return ()


def _operands(words: Sequence[str]) -> list[str]:
    """Return the words that are neither options nor their values."""
    found: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            return found + list(words[at + 1 :])
        if word in _WITH_VALUE:
            at += 1
        elif not word.startswith("-") or any(char.isspace() for char in word):
            found.append(word)
        at += 1
    return found


def _reads_input(words: Sequence[str]) -> bool:
    """Tell whether a comment command reads its text from standard input."""
    joined = " ".join(words)
    return "--stdin" in words or any(option in f"{joined} " for option in ("-f - ", "--file - ", "--file=- "))
