"""Read the output of failed commands, and find what made the same command work afterwards.

Only differences that a later session would meet again are lessons: another way to start a program, a variable, an
option, something installed or started in between. Edited code, typing errors, retries and reading commands are not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from swarmlore.domain.extraction.lesson_text import MAX_CHARS, CandidateLesson
from swarmlore.domain.language.shell import Call, call_like, is_setting, read_call, setup_command, show_words
from swarmlore.domain.language.tokenizer import split_words
from swarmlore.frozen import frozen

# Optional lines after the printed output, in this order.
_GEMINI = (
    r"(?:\nError: [^\n]{0,400})?(?:\nExit Code: (-?\d{1,9}))?(?:\nSignal: [^\n]{0,40})?"
    r"(?:\nBackground PIDs: [\d, ]{0,400})?(?:\nProcess Group PGID: \d{1,12})?\s*\Z"
)
_COPILOT = r"\s*<(?:shellId: \S{1,40} completed|exited) with exit code (-?\d{1,9})>\s*\Z"
_WRAPPING = r"</?untrusted_context>"
_TAIL = 2_000


def gemini_ending(answer: str) -> tuple[str, int | None]:
    """Split Gemini CLI tool output into the printed text and the exit code, which Gemini omits if it is zero."""
    answer = without_wrapping(answer)
    ending = re.search(_GEMINI, answer[-_TAIL:])
    body = answer[: len(answer) - len(ending[0])] if ending else answer
    return body.removeprefix("Output: ").strip(), int(ending[1]) if ending and ending[1] else None


def without_wrapping(answer: str) -> str:
    """Remove the `untrusted_context` tags from a tool answer of Gemini CLI."""
    return re.sub(_WRAPPING, "", answer).strip()


def copilot_ending(answer: str) -> tuple[str, int | None]:
    """Split Copilot CLI tool output into the printed text and the exit code, if it has one."""
    ending = re.search(_COPILOT, answer[-_TAIL:])
    return (answer[: len(answer) - len(ending[0])], int(ending[1])) if ending else (answer, None)


READ_CHARS = 65_536  # characters read at either end of an output: the error is near one of them
_LINE_CHARS = 400
_LAST_LINES = 2  # last lines that are kept if no line looks like an error

# Parts that vary between runs: pattern, replacement.
_VOLATILE = (
    (r"\x1b(?:\[[0-9;?]{0,20}[ -/]{0,3}[@-~]|\][^\x07\x1b]{0,200}\x07?)", ""),
    (r"^\s*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?\s*", ""),
    (r"^\s*\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?\s*", ""),
    (r"(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm)/[^\s:'\")\]>]{1,200}", "<tmp>"),
    (r"[A-Za-z]:\\Users\\[^\\\s]{1,60}\\AppData\\Local\\Temp\\[^\s:'\")]{1,200}", "<tmp>"),
    (r"\b0x[0-9a-fA-F]{4,16}\b", "0x…"),
    (r"\s*\(?\bin \d{1,6}(?:\.\d{1,6})? ?(?:ms|s|sec|seconds|minutes)\b\)?", ""),
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?Z?\b", "<time>"),
    (r"\bpid[ =:]\d{1,10}\b", "pid"),
    (r"^E\s{2,}", ""),
    (r"^\s*Exit code \d{1,3}\s*$", ""),  # a client adds this line to every failure
    (r"^(?:/\S{1,40}/)?(?:ba|da|k|z)?sh: line \d{1,6}: ", ""),
)
# By rank: exceptions, first messages of a compiler or command, words that merely suggest a failure.
_THROWN = (
    r"\s{0,12}(?:Uncaught |Unhandled |Caused by: |thread '[^']{1,40}' panicked at |panic: )?[\w.$]{0,120}(?:Error"
    r"|Exception|Failure|Panic)\b(?::|\s*$)"
)
_SAID = (
    r"(?:^|\s|\[)(?:error|fatal|fatal error|ERR!|ERROR|FATAL)(?:\[\w{1,12}\]|\s?\w{0,10}\d{1,6})?\]?\s?(?:[:!]|\s)"
    r"|^\S{1,80}: (?:\S{1,60}: )?(?:command not found|No such file|Permission denied|cannot )"
)
_TROUBLE = (
    r"\b(?:not found|no such|cannot|can't|could not|couldn't|failed|failure|denied|refused|unsupported|not supported"
    r"|missing|required|undefined|unable|invalid|unknown|panic|externally-managed|not configured|not installed|too old"
    r"|unauthori[sz]ed|forbidden|timed out)\b"
)
_NOISE = (
    r"\s*(?:at \S|File \"|\^|~|-{3,}|={3,}|make(?:\[\d\])?: \*\*\*|npm ERR! (?:code|errno|path|A complete log)|npm"
    r" error (?:code|errno|path|A complete log)|Traceback|\d+ (?:failed|passed|error)|note:|help:|warning:)"
)


def error_excerpt(output: str, limit: int = 300) -> str:
    """Return the most informative lines of an output in order, within `limit` characters; the same for every run."""
    lines = _lines(output)
    kept: set[int] = set()
    room = limit
    for place in _by_rank(lines):
        if room > len(lines[place]) or not kept:
            kept.add(place)
            room -= len(lines[place]) + 1
    return "\n".join(lines[place] for place in sorted(kept))[:limit]


def stable_lines(output: str) -> str:
    """Return all distinct lines of an output without times, addresses and other parts that vary between runs."""
    return "\n".join(_lines(output))


def error_line(output: str, limit: int = 120) -> str:
    """Return the one most informative line of an output."""
    lines = _lines(output)
    line = lines[_by_rank(lines)[0]] if lines else ""
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _lines(output: str) -> list[str]:
    """Return the distinct lines of an output without the parts that vary between runs."""
    if len(output) > 2 * READ_CHARS:
        output = f"{output[:READ_CHARS]}\n{output[-READ_CHARS:]}"
    lines: dict[str, None] = {}
    for line in output.splitlines():
        line = line[:_LINE_CHARS]
        for pattern, put in _VOLATILE:
            line = _compiled(pattern).sub(put, line)
        if line.strip():
            lines[" ".join(line.split())] = None
    return list(lines)


def _by_rank(lines: list[str]) -> list[int]:
    """Return the indices of the informative lines, best first; without any, those of the last lines."""
    thrown = _matching_indices(lines, _THROWN)[::-1]  # the last exception is the one that ended the program
    reported = _matching_indices(lines, _SAID)
    trouble = _matching_indices(lines, _TROUBLE)
    ranked = list(dict.fromkeys([*thrown[:1], *reported, *trouble, *thrown[1:]]))
    return ranked or list(range(len(lines)))[-_LAST_LINES:][::-1]


def _matching_indices(lines: list[str], pattern: str) -> list[int]:
    """Return the indices of the lines that match a pattern and are no noise."""
    telling, noise = _compiled(pattern), _compiled(_NOISE)
    return [place for place, line in enumerate(lines) if telling.search(line) and not noise.match(line)]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


ERROR_CHARS = 120
COMMAND_CHARS = 100
MOST_BETWEEN = 12
SHORT = 3  # words of an error with at most this many letters are ignored
WRITING = "write"

# Programs that only read: another argument gives another result, which is no lesson.
_LOOKING = frozenset(
    "cat ls grep egrep rg ag find fd head tail sed awk wc diff less more tree which type stat file jq cut sort uniq"
    " curl wget ping cp mv rm touch tee test [ git gh man xxd strings ps kill".split()
)
_HARMLESS = frozenset("cd pushd echo true sleep set export mkdir".split())
_CHECKING = frozenset("pytest jest vitest mocha rspec tox eslint ruff mypy tsc flake8 black prettier time".split())
_LOOKS_AT = frozenset(
    "get describe logs log status show list ls ps view info version config heads history --version --help -h lint test"
    " check fmt format diff plan inspect env".split()
)
# Programs that can replace each other.
_FAMILIES = tuple(
    frozenset(line.split())
    for line in (
        "npm pnpm yarn bun", "pip pip3 uv poetry", "python python3 py pypy", "make gmake just task ninja",
        "mvn mvnw", "gradle gradlew",
        "jest vitest mocha", "docker podman", "flake8 ruff pylint", "terraform tofu", "node bun deno tsx ts-node",
    )
)  # fmt: skip
# Options that do not change whether a program works.
_MINOR = tuple("-v -vv -vvv -q -qq -s -x --verbose --quiet --silent --lf --ff --tb --color --maxfail".split())
_FIXING = frozenset(
    "--fix --write --apply --in-place --update --autofix --fix-all -w -i -u -a -A --updateSnapshot".split()
)
_INSTALLERS = frozenset(
    "pip pip3 npm pnpm yarn bun brew apt apt-get apk dnf yum pacman cargo go gem bundle uv poetry conda npx".split()
)
_INSTALLING = frozenset("install add sync i ci restore download fetch -S get".split())
_STARTING = frozenset(
    "docker docker-compose podman systemctl service brew pg_ctl redis-server minikube kind colima supabase".split()
)
_STARTS = frozenset("up start run restart".split())
_PREPARING = frozenset(
    "init login migrate generate gen build configure setup bootstrap dependency deps certs codegen venv allow trust"
    " link".split()
)
# Errors of the code itself.
_OF_CODE = (
    "assertionerror", "assert ", "failed ", "fail ", "mismatched types", "syntaxerror", "expected ';'", "error ts",
    "error[e", "typeerror", "nameerror", "indentationerror", "undefined reference", "compilation failed", "expected ",
)  # fmt: skip
# Errors of a temporary state, such as a wrong folder or a taken port.
_TEMPORARY = ("cd: ", "address already in use", "eaddrinuse", "no space left on device", "connection reset by peer")
# Words of so many errors that a match with one means nothing.
_ANY_ERROR = frozenset(
    "error errors fatal failed failure exception cannot could found file files directory such module named test tests"
    " line code exit missing unknown invalid required version status command python node".split()
)
_MISTYPED = (
    "command not found",
    "is not a git command",
    "no such file",
    "unknown command",
    "unrecognized",
    "not recognized",
    "missing script",
)


@frozen
class Attempt:
    """One tool use. A failed one has an error, or an output that describes it."""

    tool: str = ""
    command: str = ""
    files: tuple[str, ...] = ()
    error: str = ""
    output: str = ""
    at: float = 0.0


def find_fix(failed: Attempt, between: Sequence[Attempt], succeeded: Attempt) -> CandidateLesson | None:
    """Return the lesson of a failure that a later command resolved, or None if no lesson is certain."""
    broke = read_call(failed.command)
    worked = (call_like(succeeded.command, broke) if broke else None) or read_call(succeeded.command)
    failure = failed.error or failed.output
    error = error_line(failure, ERROR_CHARS).rstrip(" .;:")
    if broke is None or worked is None or not error or _is_no_lesson(broke, worked, error):
        return None
    if any(attempt.tool == WRITING or _edits(attempt.command) for attempt in between):
        return None
    way = _other_call(broke, worked, error) or _preparation(broke, worked, between, error)
    return _lesson(broke, error, way, error_excerpt(failure)) if way else None


def _is_no_lesson(broke: Call, worked: Call, error: str) -> bool:
    """Tell whether a failure teaches nothing: a reading command, a bug in the code, a typing error."""
    low = error.lower()
    if broke.program in _LOOKING or worked.program in _LOOKING or low.startswith(_OF_CODE):
        return True
    if any(sign in low for sign in _TEMPORARY):
        return True
    return any(sign in low for sign in _MISTYPED) and _is_mistyped(broke.words, worked.words)


# --- differences between the two calls


def _other_call(broke: Call, worked: Call, error: str) -> str:
    """Return how to call the same thing so that it works; "" if the call is the same or about another thing."""
    if _target(broke, worked) != _target(worked, broke):
        return ""
    if _program(broke) != _program(worked):
        return _works_text(worked) if _can_replace(_program(worked), _program(broke), error) else ""
    if _leaves_out(broke, worked):
        return ""  # a superfluous option was a mistake of the caller
    added = set(_options(worked, broke)) - set(_options(broke, worked))
    if added and added <= _FIXING:
        return ""  # an option that fixes or accepts what the program reported
    if (
        _options(broke, worked) != _options(worked, broke)
        or broke.settings != worked.settings
        or broke.runner != worked.runner
    ):
        return _works_text(worked)
    if broke.program != worked.program:  # ./gradlew, .venv/bin/pytest
        return _works_text(worked)
    moved = _changed_folder(worked)
    return f"`cd {moved} && {worked.shown}` works" if moved and moved != _changed_folder(broke) else ""


def _works_text(worked: Call) -> str:
    """Return "`command` works", with the commands that the same line ran before it."""
    steps = [words for words in worked.before if words[0] not in _LOOKING | _HARMLESS]
    shown = " && ".join(map(show_words, [*steps, worked.words]))
    complete = worked.shown and all(map(show_words, steps))
    return f"`{shown}` works" if complete and len(shown) <= COMMAND_CHARS else ""


def _can_replace(other: str, program: str, error: str) -> bool:
    """Tell whether one program replaces another: a known pair, another version, or named by the error."""
    known = any(other in family and program in family for family in _FAMILIES)
    return known or other.startswith(program) or program.startswith(other) or other.lower() in split_words(error)


def _target(call: Call, other: Call) -> tuple[str, ...]:
    """Return the operands that a call works on; the value of an option counts as part of the option."""
    compose = ("compose",) if call.program == "docker-compose" else ()
    return compose + tuple(word for word in call.operands if not _is_value(word, call, other))


def _is_value(word: str, call: Call, other: Call) -> bool:
    """Tell whether a word is the value of the option before it, unless the other call has it without an option."""
    return _follows_option(word, call) and (word not in other.operands or _follows_option(word, other))


def _follows_option(word: str, call: Call) -> bool:
    """Tell whether a word follows an option that may take a value."""
    place = call.words.index(word)
    before = call.words[place - 1] if place else ""
    return before.startswith("-") and "=" not in before and before not in _MINOR and before != "-m"


def _options(call: Call, other: Call) -> tuple[str, ...]:
    """Return the relevant options of a call and their values."""
    found = (word for word in call.options if word.partition("=")[0] not in _MINOR)
    values = (word for word in call.operands if _is_value(word, call, other))
    return (*sorted(found), *values)


def _leaves_out(broke: Call, worked: Call) -> bool:
    """Tell whether the call that worked differs only by fewer options."""
    fewer = set(_options(worked, broke)) < set(_options(broke, worked))
    return fewer and worked.settings == broke.settings and worked.runner == broke.runner


def _program(call: Call) -> str:
    """Return the name of a program without its path; `docker-compose` counts as `docker`."""
    name = call.program.rpartition("/")[2]
    return "docker" if name == "docker-compose" else name


def _changed_folder(call: Call) -> str:
    """Return the folder inside the project that a command line changes to first."""
    moved = [words[1] for words in call.before if words[0] in ("cd", "pushd") and len(words) == 2]
    inside = moved and not moved[-1].startswith(("/", "~", "$", "-", "..")) and show_words(moved[-1:]) == moved[-1]
    return moved[-1].rstrip("/") if inside else ""


# --- commands between failure and success


def _preparation(broke: Call, worked: Call, between: Sequence[Attempt], error: str) -> str:
    """Return what was installed, set or started before the same call worked, or ""."""
    if broke.words[len(broke.settings) :] != worked.words[len(worked.settings) :]:
        return ""
    steps = [setup_command(attempt.command) for attempt in between[-MOST_BETWEEN:] if not attempt.error]
    line = [words for words in worked.before if words not in broke.before and words[0] not in ("cd", "pushd")]
    steps += line
    own = frozenset(split_words(" ".join(broke.words)))
    named = frozenset(word for word in split_words(error) if len(word) > SHORT) - own - _ANY_ERROR
    fit = (words for words in steps if words and (_prepares(words, error) or _mentions_error(words, named)))
    telling = list(dict.fromkeys(fit)) or _only_change(steps, line, broke)
    shown = [show_words(words) for words in telling if words[0] not in (".", "source") or len(telling) == 1]
    if not 0 < len(shown) <= 2 or not all(0 < len(step) <= COMMAND_CHARS for step in shown):
        return ""
    return "run " + " and ".join(f"`{step}`" for step in shown) + " first"


def _only_change(steps: Sequence[Sequence[str]], line: Sequence[Sequence[str]], broke: Call) -> list[tuple[str, ...]]:
    """Return the only change made between failure and success, if there was exactly one."""
    deeds = list(dict.fromkeys(tuple(words) for words in steps if words and not _only_reads(words)))
    same = len(deeds) == 1 and _program(broke) == deeds[0][0].rpartition("/")[2] and deeds[0] not in line
    return deeds if len(deeds) == 1 and not same else []


def _only_reads(words: Sequence[str]) -> bool:
    """Tell whether a command only reads or checks things."""
    program = words[0].rpartition("/")[2]
    return program in _LOOKING | _HARMLESS | _CHECKING or bool(_LOOKS_AT.intersection(words[1:3]))


def _prepares(words: Sequence[str], error: str) -> bool:
    """Tell whether a command is of a kind that makes others work: install, start, set a variable, log in."""
    words = (
        [word for word in words if not is_setting(word) and word != "sudo"]
        if not is_setting(words[-1])
        else list(words)
    )
    program, rest = words[0].rpartition("/")[2], words[1:]
    if program == "export" or is_setting(words[0]):
        return any(is_setting(word) for word in words)
    if program in (".", "source"):
        return True
    if program in _LOOKING:
        return False
    if program in _INSTALLERS and _INSTALLING.intersection(rest):
        return True
    if program in _STARTING and _STARTS.intersection(rest):
        return True
    return bool(_PREPARING.intersection(rest)) or (len(words) > 1 and " ".join(words[:2]).lower() in error.lower())


def _mentions_error(words: Sequence[str], named: frozenset[str]) -> bool:
    """Tell whether a command mentions what the error names, such as the process that holds a lock."""
    program = words[0].rpartition("/")[2]
    return program not in _LOOKING | _INSTALLERS and any(word in named for word in split_words(" ".join(words[1:])))


def _edits(command: str) -> bool:
    """Tell whether a command changes files of the project."""
    call = read_call(command) if command else None
    if call is None:
        return False
    in_place = call.program in ("sed", "perl") and any(
        option.startswith("-i") or option == "-pi" for option in call.options
    )
    return (
        in_place
        or call.program in ("patch", "apply_patch", "tee")
        or call.words[:2] in (("git", "apply"), ("git", "checkout"))
    )


# --- typing errors


def _is_mistyped(broke: Sequence[str], worked: Sequence[str]) -> bool:
    """Tell whether two commands differ in one word, by a typing error."""
    if len(broke) != len(worked):
        return False
    different = [(word, other) for word, other in zip(broke, worked, strict=True) if word != other]
    return (
        len(different) == 1
        and _is_typing_error(*different[0])
        and not any(set(different[0]) <= family for family in _FAMILIES)
    )


def _is_typing_error(word: str, other: str) -> bool:
    """Tell whether two words differ by at most two letters, as typing errors do."""
    if abs(len(word) - len(other)) > 2:
        return False
    start = next(
        (place for place, pair in enumerate(zip(word, other, strict=False)) if pair[0] != pair[1]),
        min(len(word), len(other)),
    )
    a, b = word[start:], other[start:]
    end = next(
        (place for place, pair in enumerate(zip(a[::-1], b[::-1], strict=False)) if pair[0] != pair[1]),
        min(len(a), len(b)),
    )
    left = (a[: len(a) - end], b[: len(b) - end])
    return max(map(len, left)) <= 2 and not any(character.isdigit() for part in left for character in part)


# --- composing the lesson


def _lesson(broke: Call, error: str, way: str, excerpt: str) -> CandidateLesson | None:
    """Compose the one-line lesson within its maximum length, cutting the error before the command."""
    shown = broke.shown
    if not 0 < len(shown) <= COMMAND_CHARS:
        return None
    frame = len(f"`{shown}` fails here with ; {way}.")
    error = error.replace("`", "'")
    if frame + len(error) > MAX_CHARS:
        error = error[: MAX_CHARS - frame - 1].rstrip() + "…"
    if len(error) < 8:
        return None
    text = f"`{shown}` fails here with {error}; {way}."
    return CandidateLesson(text, "correction", "high", excerpt, trust=1, situation=excerpt, situation_via="error")
