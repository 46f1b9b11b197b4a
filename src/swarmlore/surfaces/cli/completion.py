"""completion: scripts for bash, zsh and fish, made from the parsers so that they cannot fall behind."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from swarmlore.surfaces.cli.commands import COMMANDS
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.parsing import parser_of

SHELLS = ("bash", "zsh", "fish")
EXAMPLES = (
    'eval "$(swarmlore completion bash)"',
    "swarmlore completion zsh > ~/.zfunc/_swarmlore",
    "swarmlore completion fish > ~/.config/fish/completions/swarmlore.fish",
)
_BASH = """\
_swarmlore() {{
  local word command= current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case $word in -*) ;; *) command=$word; break ;; esac
  done
  COMPREPLY=()
  case "$command $before" in
{values}
  esac
  case $command in
    "") COMPREPLY=($(compgen -W "{commands}" -- "$current")) ;;
{options}
  esac
}}
complete -o default -F _swarmlore swarmlore
"""
_ZSH = """\
#compdef swarmlore
_swarmlore() {{
  local -a commands
  if (( CURRENT == 2 )); then
    commands=(
{commands}
    )
    _describe command commands
    return
  fi
  case "$words[2] $words[CURRENT-1]" in
{values}
  esac
  if [[ $PREFIX != -* ]]; then
    _files
    return
  fi
  case $words[2] in
{options}
  esac
}}
compdef _swarmlore swarmlore
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="one of: " + ", ".join(SHELLS))


def run(desk: Desk) -> int:
    made = {"bash": bash, "zsh": zsh, "fish": fish}[desk.args.shell]()
    return desk.show(lambda: {"shell": desk.args.shell, "script": made}, lambda _: made.rstrip("\n"))


def bash() -> str:
    values = [
        f'    "{command} {flag}") COMPREPLY=($(compgen -W "{" ".join(choices)}" -- "$current")); return ;;'
        for command, flag, choices in _choices()
    ]
    options = [
        f'    {command}) [[ $current == -* ]] && COMPREPLY=($(compgen -W "{" ".join(flags)}" -- "$current")) ;;'
        for command, flags in _flags()
    ]
    return _BASH.format(commands=" ".join(COMMANDS), values="\n".join(values), options="\n".join(options))


def zsh() -> str:
    commands = [f"      '{name}:{summary}'" for name, summary in COMMANDS.items()]
    values = [
        f'    "{command} {flag}") compadd -- {" ".join(choices)}; return ;;' for command, flag, choices in _choices()
    ]
    options = [f"    {command}) compadd -- {' '.join(flags)} ;;" for command, flags in _flags()]
    return _ZSH.format(commands="\n".join(commands), values="\n".join(values), options="\n".join(options))


def fish() -> str:
    lines = [
        f"complete -c swarmlore -n __fish_use_subcommand -f -a {name} -d '{summary}'"
        for name, summary in COMMANDS.items()
    ]
    for command in COMMANDS:
        seen = f"complete -c swarmlore -n '__fish_seen_subcommand_from {command}'"
        for action in _actions(command):
            takes = f" -x -a '{' '.join(action.choices)}'" if action.choices else " -r" if action.nargs != 0 else ""
            names = "".join(f" -l {flag[2:]}" for flag in action.option_strings if flag.startswith("--"))
            lines.append(seen + (names or " -f") + takes)
    return "\n".join(lines) + "\n"


def _flags() -> Iterator[tuple[str, list[str]]]:
    """Each command with its long options."""
    for command in COMMANDS:
        yield command, [flag for action in _actions(command) for flag in action.option_strings if flag[:2] == "--"]


def _choices() -> Iterator[tuple[str, str, list[str]]]:
    """Command, option (or the command itself for its first word) and what may follow it."""
    for command in COMMANDS:
        for action in _actions(command):
            if action.choices:
                yield command, (action.option_strings or [command])[0], list(action.choices)


def _actions(command: str) -> list[argparse.Action]:
    """Options, and those words of a command that are chosen from a list."""
    every = parser_of(command)._actions  # argparse has no public way to ask a parser what it takes
    return [action for action in every if action.option_strings or action.choices]
