"""A shell command as a call: what is set up for it, through what it is run, the program, its options and operands."""

from __future__ import annotations

import re
from collections.abc import Sequence

from swarmlore.frozen import frozen, replace

SPACE = " \t\r"
OPERATORS = ";&|\n()"
BREAKS = SPACE + OPERATORS + "<>"
MOST_DEEP = 8  # substitutions inside of each other
_IN_DOUBLE = '"\\$`'  # what a backslash protects between double quotes
_IN_DOCUMENT = "\\$`"
_PLAIN = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_CODES = {"x": (2, 16), "u": (4, 16), "U": (8, 16)}  # how many digits of which base


@frozen
class Command:
    """One command: its words without their quotes, and what it is given to read where the text says it."""

    words: tuple[str, ...]
    given: str = ""


def commands(text: str) -> list[Command]:
    """Every command in a text, also those inside of groups and substitutions, about in the order they run."""
    reader = _Reader(text)
    reader.read()
    return [Command(tuple(open.words), open.given or "") for open in reader.every]


class _Open:
    """A command while it is read: a here-document comes after its line has ended."""

    __slots__ = ("before", "given", "words")

    def __init__(self, before: _Open | None = None) -> None:
        self.words: list[str] = []
        self.given: str | None = None
        self.before = before  # what is piped into it

    def settle(self) -> None:
        """Take what the command before prints, where that is known and nothing else is given."""
        if self.before is not None and self.given is None:
            self.given = _printed(self.before)


class _Reader:
    def __init__(self, text: str, at: int = 0, depth: int = 0) -> None:
        self.text = text
        self.at = at
        self.depth = depth
        self.own: list[_Open] = []
        self.every: list[_Open] = []  # with those of substitutions
        self.open = _Open()
        self.groups = 0
        self.documents: list[tuple[_Open, str, bool, bool]] = []  # their text begins after this line

    # Commands

    def read(self) -> None:
        """Read to the end or, in a substitution, past the parenthesis that closes it."""
        closed = False
        while not closed and self.at < len(self.text):
            char = self.text[self.at]
            if char in SPACE:
                self.at += 1
            elif char == "#":  # a word is read whole, so this one begins a comment
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
        """One of ; & | newline and parentheses, doubled or not; whether it closes a substitution."""
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

    # Here-documents

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
            if self.depth and line.startswith(end + ")"):  # written by many, understood by most shells
                self.at = stop - len(line) + len(end)
                break
            self.at = min(stop + 1, len(self.text))
            if line.rstrip("\r") == end:
                break
            lines.append(line)
        return lines

    # Words

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
        """What stands for a dollar sign that was just passed."""
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
        """What a command in parentheses prints, if the text says it, else the text from `begin` as it is."""
        inner = _Reader(self.text, self.at + 1, self.depth + 1)
        inner.read()
        self.at = inner.at
        self.every += inner.every
        said = _printed(inner.own[0]) if len(inner.own) == 1 else None
        if said is None:
            said = next((command.given for command in inner.own if command.given), None)
        return self.text[begin : self.at] if said is None else said.rstrip("\n")

    def _escaped(self) -> str:
        """The text of $'…'."""
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
    """What a command prints, where its words and what it is given say that; else None."""
    name, *rest = command.words
    if name == "cat" and all(word == "-" for word in rest):
        return command.given
    if name == "echo":
        flags = [word for word in rest[:1] if word in ("-n", "-e", "-E", "-ne", "-en")]
        words = " ".join(rest[len(flags) :])
        return decoded(words) if flags and "e" in flags[0] else words
    return _formatted(rest) if name == "printf" else None


def _formatted(rest: Sequence[str]) -> str | None:
    """printf without a number or a width: a text, or each word as it is."""
    if not rest:
        return None
    if "%" not in rest[0]:
        return decoded(rest[0])
    form = rest[0].replace("\\n", "")
    return " ".join(rest[1:]) if form in ("%s", "%b") else None


def decoded(text: str) -> str:
    r"""A text with the escapes of C in it: \n, \x41, \u00e9, \101 and the like."""
    parts: list[str] = []
    at = 0
    while (found := text.find("\\", at)) >= 0 and found + 1 < len(text):
        char, size = _escape(text, found + 1)
        parts += (text[at:found], char)
        at = found + 1 + size
    return "".join((*parts, text[at:]))


def _escape(text: str, at: int) -> tuple[str, int]:
    """The character that an escape stands for, and how long it is without its backslash."""
    mark = text[at]
    if mark in _PLAIN:
        return _PLAIN[mark], 1
    skip, (most, base) = (1, _CODES[mark]) if mark in _CODES else (0, (3, 8))
    digits = _digits(text[at + skip : at + skip + most], base)
    if not digits:
        return (mark if mark in "\\'\"?" else "\\" + mark), 1
    code = int(digits, base)
    return (chr(code) if 0 < code < 0x110000 else "\ufffd"), skip + len(digits)


def _digits(text: str, base: int) -> str:
    allowed = "01234567" if base == 8 else "0123456789abcdefABCDEF"
    return text[: next((at for at, char in enumerate(text) if char not in allowed), len(text))]


def _unescaped(text: str, protected: str) -> str:
    parts: list[str] = []
    at = 0
    while (found := text.find("\\", at)) >= 0:
        after = text[found + 1 : found + 2]
        keep = "" if after == "\n" else after if after and after in protected else "\\" + after
        parts += (text[at:found], keep)
        at = found + 2
    return "".join((*parts, text[at:]))


COMMAND_CHARS = 2_000  # longer ones are scripts
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
        *(
            "uv run",
            "poetry run",
            "pipenv run",
            "pdm run",
            "hatch run",
            "rye run",
            "pixi run",
            "bundle exec",
            "pnpm exec",
        ),
        *("pnpm dlx", "yarn exec", "npm exec", "mise exec", "direnv exec"),
    )
)
_PYTHONS = ("python", "python3", "py")


@frozen
class Call:
    """One command of a line. `before` are the commands that set it up, each as its words."""

    program: str
    options: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    runner: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    before: tuple[tuple[str, ...], ...] = ()

    @property
    def shown(self) -> str:
        """The call as it can be typed, without its surroundings."""
        return show_words(self.words)


def read_call(command: str) -> Call | None:
    """The call that a command line is about; nothing for scripts and for lines that only set something up."""
    if len(command) > COMMAND_CHARS:
        return None
    before: list[tuple[str, ...]] = []
    for found in commands(command):
        if not found.words or len(found.words) > MOST_WORDS:
            continue
        call = _call(found.words)
        if call and call.program not in _SETTING_UP:
            return replace(call, before=tuple(before))
        before.append(found.words)
    return None


def call_like(command: str, other: Call) -> Call | None:
    """The call of a line that does what another one did: the same program with the same first operand."""
    if len(command) > COMMAND_CHARS:
        return None
    before: list[tuple[str, ...]] = []
    for found in commands(command):
        if not found.words or len(found.words) > MOST_WORDS:
            continue
        call = _call(found.words)
        if call and call.program == other.program and call.operands[:1] == other.operands[:1]:
            return replace(call, before=tuple(before))
        before.append(found.words)
    return None


def set_up(command: str) -> tuple[str, ...]:
    """The words of the first command of a line that does more than move to another folder or speak."""
    if len(command) > COMMAND_CHARS:
        return ()
    if exported := re.fullmatch(r"\s*export (\w{1,60})=[\"']?(\$\([^()`\n]{1,80}\))[\"']?\s*", command):
        return "export", f"{exported[1]}={exported[2]}"  # its value is a command too, but not the one that matters
    every = [found.words for found in commands(command) if found.words and len(found.words) <= MOST_WORDS]
    return next((words for words in every if words[0] not in ("cd", "pushd", "echo", "true", "sleep", "set")), ())


def show_words(words: Sequence[str]) -> str:
    """Words as a command line on one line; empty where they cannot be shown."""
    if any(not word.isprintable() or "`" in word or len(word) > LONGEST_WORD for word in words):
        return ""
    return " ".join(word if word and " " not in word else _quoted(word) for word in words)


def _quoted(word: str) -> str:
    name, sign, value = word.partition("=")
    if word.startswith("$("):
        return f'"{word}"'  # quoted otherwise it would not be replaced
    if sign and name.replace("-", "").isidentifier():
        return f"{name}={_quoted(value)}"
    return f'"{word}"' if "'" in word else f"'{word}'"


def _call(words: tuple[str, ...]) -> Call | None:
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
    """How many words only run the rest."""
    if len(words) > 2 and words[0].rpartition("/")[2] in _PYTHONS and words[1] == "-m":
        return 2
    if tuple(words[:2]) == ("uv", "pip"):
        return 1
    if len(words) > 2 and " ".join(words[:2]) in _RUNNING:
        return 2
    return 1 if len(words) > 1 and words[0] in _RUNNERS else 0


def is_setting(word: str) -> bool:
    """Whether it sets a variable: NAME=value."""
    name, sign, _ = word.partition("=")
    return bool(sign) and name.isidentifier()
