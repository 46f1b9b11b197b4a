"""Shell commands: parse a command line, and find the call that matters, its options and operands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile

from swarmlore.frozen import frozen, replace

SPACE = " \t\r"
OPERATORS = ";&|\n()"
BREAKS = SPACE + OPERATORS + "<>"
MOST_DEEP = 8  # levels of nested substitutions
_IN_DOUBLE = '"\\$`'  # characters that a backslash escapes between double quotes
_IN_DOCUMENT = "\\$`"
_PLAIN = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_OCTAL, _HEX = "01234567", "0123456789abcdefABCDEF"
_CODES = {"x": (2, 16), "u": (4, 16), "U": (8, 16)}  # most digits, base


@frozen
class Command:
    """One command: its words without quotes, and its standard input where the text contains it."""

    words: tuple[str, ...]
    given: str = ""


def commands(text: str) -> list[Command]:
    """Return every command in a text, including those in groups and substitutions, about in the order they run."""
    reader = _Reader(text)
    reader.read()
    return [Command(tuple(open.words), open.given or "") for open in reader.every]


class _Open:
    """A command being parsed: the text of a here-document comes after its line has ended."""

    __slots__ = ("before", "given", "words")

    def __init__(self, before: _Open | None = None) -> None:
        self.words: list[str] = []
        self.given: str | None = None
        self.before = before  # the command piped into it

    def settle(self) -> None:
        """Set the input to the output of the piped command, if that is known and no other input is given."""
        if self.before is not None and self.given is None:
            self.given = _printed(self.before)


class _Reader:
    """Recursive-descent parser of shell text; each substitution has its own parser."""

    def __init__(self, text: str, at: int = 0, depth: int = 0) -> None:
        self.text = text
        self.at = at
        self.depth = depth
        self.own: list[_Open] = []
        self.every: list[_Open] = []  # including those of substitutions
        self.open = _Open()
        self.groups = 0
        self.documents: list[tuple[_Open, str, bool, bool]] = []  # here-documents, whose text begins after this line

    def read(self) -> None:
        """Parse to the end or, in a substitution, past the parenthesis that closes it."""
        closed = False
        while not closed and self.at < len(self.text):
            char = self.text[self.at]
            if char in SPACE:
                self.at += 1
            elif char == "#":  # words are parsed whole, so this begins a comment
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif char in "<>" or self.text.startswith("&>", self.at):
                self._redirect()
            elif char in OPERATORS:
                closed = self._operator(char)
            else:
                self._take_word()
        self._end()
        for command in self.own:
            command.settle()

    def _operator(self, char: str) -> bool:
        """Parse one of ; & | newline and parentheses, single or double; return whether it closes a substitution."""
        twice = self.text.startswith(char * 2, self.at)
        self.at += 1
        if char == "(":
            if twice and not self.open.words:
                self._skip_arithmetic()
                return False
            self.groups += 1
        elif char == ")":
            if self.depth and not self.groups:
                return True
            self.groups = max(0, self.groups - 1)
        elif char != "\n" and (twice or self.text.startswith("|&", self.at - 1)):
            self.at += 1
        self._end(pipe=char == "|" and not twice, newline=char == "\n")
        return False

    def _end(self, *, pipe: bool = False, newline: bool = False) -> None:
        ended = self.open
        if ended.words:
            self.own.append(ended)
            self.every.append(ended)
        if ended.words or not newline:  # after `a |` the line may end before `b`
            self.open = _Open(ended if pipe and ended.words else None)
        if newline:
            self._read_documents()

    def _skip_arithmetic(self) -> None:
        end = self.text.find("))", self.at)
        self.at = len(self.text) if end < 0 else end + 2

    def _redirect(self) -> None:
        begin = self.at
        while self.at < len(self.text) and self.at < begin + 3 and self.text[self.at] in "<>&|":
            self.at += 1
        mark = self.text[begin : self.at]
        if mark in ("<", ">") and self.text.startswith("(", self.at):
            self.open.words.append(self._substitution(begin))
            return
        if mark == "<<":
            self._expect_document()
            return
        self._skip_space()
        word = self._word()
        if mark == "<<<":
            self.open.given = word

    def _expect_document(self) -> None:
        tabs = self.text.startswith("-", self.at)
        self.at += tabs
        self._skip_space()
        begin = self.at
        end = self._word()
        quoted = any(mark in self.text[begin : self.at] for mark in "'\"\\")
        self.documents.append((self.open, end, tabs, quoted))

    def _read_documents(self) -> None:
        waiting, self.documents = self.documents, []
        for command, end, tabs, quoted in waiting:
            body = "\n".join(self._document_lines(end, tabs))
            command.given = body if quoted else _unescaped(body, _IN_DOCUMENT)

    def _document_lines(self, end: str, tabs: bool) -> list[str]:
        lines: list[str] = []
        while self.at < len(self.text):
            stop = self.text.find("\n", self.at)
            stop = len(self.text) if stop < 0 else stop
            line = self.text[self.at : stop]
            line = line.lstrip("\t") if tabs else line
            if self.depth and line.startswith(end + ")"):  # accepted by most shells
                self.at = stop - len(line) + len(end)
                break
            self.at = min(stop + 1, len(self.text))
            if line.rstrip("\r") == end:
                break
            lines.append(line)
        return lines

    def _take_word(self) -> None:
        begin = self.at
        word = self._word()
        number = self.text[begin : self.at].isdigit() and self.text[self.at : self.at + 1] in ("<", ">")
        if not number and (word or self.text[begin : self.at].strip("\\\n")):
            self.open.words.append(word)

    def _word(self) -> str:
        parts: list[str] = []
        while self.at < len(self.text) and (char := self.text[self.at]) not in BREAKS:
            self.at += 1
            if char == "'":
                parts.append(self._single())
            elif char == '"':
                parts.append(self._double())
            elif char == "\\":
                parts.append(self.text[self.at : self.at + 1].replace("\n", ""))
                self.at += 1
            elif char == "$":
                parts.append(self._dollar(bare=True))
            else:
                parts.append(char)
        self.at = min(self.at, len(self.text))
        return "".join(parts)

    def _single(self) -> str:
        begin = self.at
        end = self.text.find("'", begin)
        self.at = len(self.text) if end < 0 else end + 1
        return self.text[begin:end] if end >= 0 else self.text[begin:]

    def _double(self) -> str:
        parts: list[str] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == '"':
                break
            if char == "\\":
                after = self.text[self.at : self.at + 1]
                self.at += 1
                parts.append("" if after == "\n" else after if after and after in _IN_DOUBLE else char + after)
            else:
                parts.append(self._dollar() if char == "$" else char)
        self.at = min(self.at, len(self.text))
        return "".join(parts)

    def _dollar(self, *, bare: bool = False) -> str:
        """Return the expansion of a dollar sign that was just passed."""
        begin, after = self.at - 1, self.text[self.at : self.at + 1]
        if bare and after == "'":
            return self._escaped()
        if bare and after == '"':
            self.at += 1
            return self._double()
        if after != "(" or self.depth >= MOST_DEEP:
            return "$"
        if self.text.startswith("((", self.at):
            self._skip_arithmetic()
            return self.text[begin : self.at]
        return self._substitution(begin)

    def _substitution(self, begin: int) -> str:
        """Return the output of a command in parentheses, if the text determines it, else the text from `begin`."""
        inner = _Reader(self.text, self.at + 1, self.depth + 1)
        inner.read()
        self.at = inner.at
        self.every += inner.every
        output = _printed(inner.own[0]) if len(inner.own) == 1 else None
        if output is None:
            output = next((command.given for command in inner.own if command.given), None)
        return self.text[begin : self.at] if output is None else output.rstrip("\n")

    def _escaped(self) -> str:
        """Return the text of $'…'."""
        begin = self.at + 1
        self.at = begin
        while self.at < len(self.text) and self.text[self.at] != "'":
            self.at += 2 if self.text[self.at] == "\\" else 1
        inside = self.text[begin : self.at]
        self.at = min(self.at + 1, len(self.text))
        return decoded(inside)

    def _skip_space(self) -> None:
        while self.text[self.at : self.at + 1] and self.text[self.at] in SPACE:
            self.at += 1


def _printed(command: _Open) -> str | None:
    """Return the output of a command, if its words and input determine it; else None."""
    name, *rest = command.words
    if name == "cat" and all(word == "-" for word in rest):
        return command.given
    if name == "echo":
        flags = [word for word in rest[:1] if word in ("-n", "-e", "-E", "-ne", "-en")]
        words = " ".join(rest[len(flags) :])
        return decoded(words) if flags and "e" in flags[0] else words
    return _formatted(rest) if name == "printf" else None


def _formatted(rest: Sequence[str]) -> str | None:
    """Return the output of printf without numbers or widths: a text, or each word as it is; else None."""
    if not rest:
        return None
    if "%" not in rest[0]:
        return decoded(rest[0])
    form = rest[0].replace("\\n", "")
    return " ".join(rest[1:]) if form in ("%s", "%b") else None


def decoded(text: str) -> str:
    r"""Return a text with C escapes replaced: \n, \x41, \u00e9, \101 and the like."""
    parts: list[str] = []
    at = 0
    while (found := text.find("\\", at)) >= 0 and found + 1 < len(text):
        char, size = _escape(text, found + 1)
        parts += (text[at:found], char)
        at = found + 1 + size
    return "".join((*parts, text[at:]))


def _escape(text: str, at: int) -> tuple[str, int]:
    """Return the character of an escape, and its length without the backslash."""
    mark = text[at]
    if mark in _PLAIN:
        return _PLAIN[mark], 1
    skip, (most, base) = (1, _CODES[mark]) if mark in _CODES else (0, (3, 8))
    allowed = _OCTAL if base == 8 else _HEX
    digits = "".join(takewhile(lambda char: char in allowed, text[at + skip : at + skip + most]))
    if not digits:
        return (mark if mark in "\\'\"?" else "\\" + mark), 1
    code = int(digits, base)
    return (chr(code) if 0 < code < 0x110000 else "\ufffd"), skip + len(digits)


def _unescaped(text: str, protected: str) -> str:
    """Remove backslashes before line breaks and before the characters in `protected`."""
    parts: list[str] = []
    at = 0
    while (found := text.find("\\", at)) >= 0:
        after = text[found + 1 : found + 2]
        keep = "" if after == "\n" else after if after and after in protected else "\\" + after
        parts += (text[at:found], keep)
        at = found + 2
    return "".join((*parts, text[at:]))


COMMAND_CHARS = 2_000  # longer texts are scripts
MOST_WORDS = 60
LONGEST_WORD = 120

# Programs that only prepare or accompany the call that matters.
_SETTING_UP = frozenset(
    "cd pushd export source . set unset echo true sleep mkdir printf pwd clear ulimit umask".split()
)
# Programs that run another one, alone or with a second word.
_RUNNERS = frozenset("sudo npx bunx uvx xvfb-run nohup time nice doas".split())
_RUNNING = frozenset(
    (
        *("uv run", "poetry run", "pipenv run", "pdm run", "hatch run", "rye run", "pixi run", "bundle exec"),
        *("pnpm exec", "pnpm dlx", "yarn exec", "npm exec", "mise exec", "direnv exec"),
    )
)
_PYTHONS = ("python", "python3", "py")


@frozen
class Call:
    """One call on a command line. `before` are the words of each command that prepares it."""

    program: str
    options: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    runner: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    before: tuple[tuple[str, ...], ...] = ()

    @property
    def shown(self) -> str:
        """Return the call as it can be typed, without the commands around it."""
        return show_words(self.words)


def read_call(command: str) -> Call | None:
    """Return the main call of a command line; None for scripts and for lines that only prepare something."""
    return _first_call(command, lambda call: call.program not in _SETTING_UP)


def call_like(command: str, other: Call) -> Call | None:
    """Return the call of a line with the same program and first operand as another call, or None."""
    return _first_call(command, lambda call: call.program == other.program and call.operands[:1] == other.operands[:1])


def _first_call(command: str, fits: Callable[[Call], bool]) -> Call | None:
    """Return the first call of a command line that fits, with the commands before it; None for scripts."""
    before: list[tuple[str, ...]] = []
    for words in _word_lists(command):
        call = _call(words)
        if call and fits(call):
            return replace(call, before=tuple(before))
        before.append(words)
    return None


def _word_lists(command: str) -> Iterator[tuple[str, ...]]:
    """Return the words of each command of a line; nothing for scripts, and no command of more than 60 words."""
    if len(command) <= COMMAND_CHARS:
        yield from (found.words for found in commands(command) if 0 < len(found.words) <= MOST_WORDS)


def setup_command(command: str) -> tuple[str, ...]:
    """Return the words of the first command of a line that does more than change folder or print."""
    if len(command) > COMMAND_CHARS:
        return ()
    if exported := re.fullmatch(r"\s*export (\w{1,60})=[\"']?(\$\([^()`\n]{1,80}\))[\"']?\s*", command):
        return "export", f"{exported[1]}={exported[2]}"  # the export matters, not the command in its value
    return next(
        (words for words in _word_lists(command) if words[0] not in ("cd", "pushd", "echo", "true", "sleep", "set")), ()
    )


def show_words(words: Sequence[str]) -> str:
    """Format words as one command line; '' if they cannot be shown."""
    if any(not word.isprintable() or "`" in word or len(word) > LONGEST_WORD for word in words):
        return ""
    return " ".join(word if word and " " not in word else _quoted(word) for word in words)


def _quoted(word: str) -> str:
    name, sign, value = word.partition("=")
    if word.startswith("$("):
        return f'"{word}"'  # in single quotes it would not be expanded
    if sign and name.replace("-", "").isidentifier():
        return f"{name}={_quoted(value)}"
    return f'"{word}"' if "'" in word else f"'{word}'"


def _call(words: tuple[str, ...]) -> Call | None:
    """Parse the words of one command into settings, runner, program, options and operands."""
    at = 0
    while at < len(words) and is_setting(words[at]):
        at += 1
    settings, rest = words[:at], words[at:]
    runner: tuple[str, ...] = ()
    while size := _runner_size(rest):
        runner, rest = runner + rest[:size], rest[size:]
        while rest and is_setting(rest[0]):
            settings, rest = (*settings, rest[0]), rest[1:]
    if not rest:
        return None
    options = tuple(word for word in rest[1:] if word.startswith("-"))
    operands = tuple(word for word in rest[1:] if not word.startswith("-"))
    return Call(rest[0], options, operands, settings, runner, words)


def _runner_size(words: Sequence[str]) -> int:
    """Return how many leading words only run the rest, such as `uv run` or `python -m`."""
    if len(words) > 2 and words[0].rpartition("/")[2] in _PYTHONS and words[1] == "-m":
        return 2
    if tuple(words[:2]) == ("uv", "pip"):
        return 1
    if len(words) > 2 and " ".join(words[:2]) in _RUNNING:
        return 2
    return 1 if len(words) > 1 and words[0] in _RUNNERS else 0


def is_setting(word: str) -> bool:
    """Return whether a word sets a variable: NAME=value."""
    name, sign, _ = word.partition("=")
    return bool(sign) and name.isidentifier()
