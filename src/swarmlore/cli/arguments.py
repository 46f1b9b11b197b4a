"""Argument parser of one command, its error messages and hints, and the types of option values."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence

from swarmlore.cli.command_table import COMMANDS, load_command
from swarmlore.cli.layout import Page, hang
from swarmlore.domain.language.display import choices_hint, closest
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, NoReturn


HELP_WIDTH = 100  # columns when the output is no terminal
LONGEST_NUMBER = 18  # digits that are parsed; no option takes so many
# The beginnings of argparse's own messages.
UNKNOWN = "unrecognized arguments: "
REQUIRED = "the following arguments are required: "
WITH_VALUE = ("--home", "--project")
_MARK = "\0"  # cannot occur in a word of a command line
_PROJECT: dict[str, Any] = {"metavar": "PATH", "help": "work as if from this folder"}
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}


class Parser(argparse.ArgumentParser):
    """ArgumentParser that raises InvalidInput with a hint, where argparse would print usage and exit."""

    _words: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        problem, _, choices = message.partition(" (choose from ")
        if choices:
            allowed = choices.rstrip(")").replace("'", "").split(", ")
            raise InvalidInput(problem, choices_hint(problem.rpartition(": ")[2].strip("'"), allowed))
        strange = problem.partition(UNKNOWN)[2].split() or self._words
        flag = next((word for word in strange if self._is_unknown(word)), "")
        named = [word for word in problem.split() if word in self._option_string_actions]
        hint = suggest_flag(flag, named) or suggest_flag(flag, self._option_string_actions)
        raise InvalidInput(self._without_optional(problem), hint or self._verbs(problem) or f"see: {self.prog} --help")

    def _without_optional(self, problem: str) -> str:
        """Drop optional words from "required" messages: argparse lists them when options may stand between words."""
        head, required, names = problem.partition(REQUIRED)
        optional = {action.metavar for action in self._actions if action.nargs == "*"}
        return head + required + ", ".join(name for name in names.split(", ") if name not in optional)

    def _verbs(self, problem: str) -> str:
        """List the choices for a missing word, or return an empty text if it has none."""
        missing = problem.partition(REQUIRED)[2].split(", ")
        limited = [action for action in self._get_positional_actions() if action.choices and action.metavar in missing]
        return "one of: " + ", ".join(map(str, limited[0].choices or ())) if limited else ""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Keep the words for `error`: if an argument is missing, a mistyped option is probably the reason."""
        self._words = list(args or ())
        return super().parse_known_args(args, namespace)

    def _is_unknown(self, word: str) -> bool:
        return word.startswith("-") and word.partition("=")[0] not in self._option_string_actions

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """Refuse --tag=--: before Python 3.13 argparse turns that value into an empty list."""
        if action.option_strings and arg_strings == ["--"]:
            self.error(f"argument {action.option_strings[0]}: expected one argument")
        return super()._get_values(action, arg_strings)


def suggest_flag(typed: str, flags: Iterable[str]) -> str:
    """Return a hint with the long options closest to a mistyped one, compared without their dashes."""
    names = [flag[2:] for flag in flags if flag.startswith("--")]
    fits = closest(typed.lstrip("-").partition("=")[0], names)
    return "did you mean: " + " or ".join(f"--{name}" for name in fits) if fits else ""


def split_command(words: Sequence[str]) -> tuple[str, list[str]]:
    """Split off the command: the first word that is neither an option nor an option's value. Return it and the rest."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in WITH_VALUE else 1
    if at >= len(words):
        return "", list(words)
    return words[at], [*words[:at], *words[at + 1 :]]


def parse(name: str, words: Sequence[str], width: int = 0) -> argparse.Namespace:
    """Parse the arguments of a command; some commands allow words on both sides of an option."""
    parser = parser_of(name, width)
    if not load_command(name).mixed:
        return parser.parse_args(words)
    return _unmarked(parser.parse_intermixed_args(_marked(words)))


def _marked(words: Sequence[str]) -> list[str]:
    """Mark words after `--` that begin with a dash, so that argparse does not take them for options.

    With mixed words and options argparse parses twice, and the second pass no longer sees the `--`.
    """
    at = words.index("--") if "--" in words else len(words)
    return [*words[:at], *(_MARK + word if word.startswith("-") else word for word in words[at + 1 :])]


def _unmarked(args: argparse.Namespace) -> argparse.Namespace:
    """Remove the marks of `_marked` from parsed values."""
    for name, value in vars(args).items():
        if isinstance(value, str):
            setattr(args, name, value.removeprefix(_MARK))
        elif isinstance(value, list):
            setattr(args, name, [item.removeprefix(_MARK) if isinstance(item, str) else item for item in value])
    return args


def parser_of(name: str, width: int = 0) -> Parser:
    """Build the parser of one command, with the options all commands share; `width` is the width of its help."""
    command, width = load_command(name), width or HELP_WIDTH
    parser = Parser(
        prog=f"swarmlore {name}",
        description=hang("", COMMANDS[name][0].upper() + COMMANDS[name][1:] + ".", Page(width), 0),
        epilog="examples:\n" + "\n".join(f"  {line}" for line in command.examples),
        allow_abbrev=False,
        formatter_class=lambda prog: _Formatter(prog, max_help_position=min(32, width // 3), width=width),
    )
    command.arguments(parser)
    common = parser.add_argument_group("everywhere")
    common.add_argument("--json", action="store_true", help="one JSON document on standard output")
    common.add_argument("--home", metavar="PATH", help="where the memory lives (else SWARMLORE_HOME)")
    common.add_argument("--project", **(command.project or _PROJECT))
    return parser


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Help formatter that leaves examples unwrapped, for copying, and never breaks file or option names."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        from textwrap import wrap

        return wrap(" ".join(text.split()), width, break_long_words=False, break_on_hyphens=False)


def count(text: str) -> int:
    """Parse a whole number from 1 to 999999999."""
    if not text.isascii() or not text.isdigit() or not int(text[:LONGEST_NUMBER]):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    if len(text) > LONGEST_NUMBER or int(text) >= 10**9:
        raise argparse.ArgumentTypeError(f"{text[:LONGEST_NUMBER]}… is too large: at most 999999999")
    return int(text)


def natural(text: str) -> int:
    """Parse a whole number from 0 to 999999999."""
    if text == "0":
        return 0
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return count(text)


def number(text: str) -> float:
    """Parse a decimal number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def share(text: str) -> float:
    """Parse a share from 0 to 1, written as 0.35 or 35%."""
    value = number(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    if not 0.0 <= value <= 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share from 0 to 1")
    return value


def duration(text: str) -> float:
    """Parse a duration into seconds: plain seconds, or a number with the unit s, m, h, d or w."""
    unit = _UNITS.get(text[-1:].lower())
    value = number(text if unit is None else text[:-1]) * (unit or 1.0)
    if not 0.0 < value < 1e11:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time to live; for example 30m, 12h, 7d, 2w")
    return value


def items(values: Iterable[str] | None) -> tuple[str, ...]:
    """Return the distinct values of an option that may be repeated and may hold commas."""
    parts = (part.strip() for value in values or () for part in value.split(","))
    return tuple(dict.fromkeys(part for part in parts if part))


def chosen(option: str, values: Iterable[str] | None, possible: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct values of an option like `items`; raise InvalidInput unless each is a possible one."""
    given = items(values)
    for item in given:
        if item not in possible:
            raise InvalidInput(f"argument {option}: invalid choice: {item!r}", choices_hint(item, possible))
    return given


def refuse_options_of_others(args: argparse.Namespace, verb: str, verbs_of: Mapping[str, Sequence[str]]) -> None:
    """Raise InvalidInput for an option that belongs to another verb, where it would be silently ignored."""
    for option, verbs in verbs_of.items():
        if getattr(args, option) not in (None, False) and verb not in verbs:
            flag = "--" + option.replace("_", "-")
            raise InvalidInput(f"{flag} does not belong to {verb}", f"it belongs to {' and '.join(verbs)}")
