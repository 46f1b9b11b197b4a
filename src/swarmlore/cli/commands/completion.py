"""Command `completion`: scripts for bash, zsh and fish, generated from the parsers so that they stay complete."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from swarmlore.cli.arguments import WITH_VALUE, parser_of
from swarmlore.cli.command_table import COMMANDS, load_command
from swarmlore.cli.console import Console

SHELLS = ("bash", "zsh", "fish")
COMPLETION_EXAMPLES = (
    'eval "$(swarmlore completion bash)"',
    "swarmlore completion zsh > ~/.zfunc/_swarmlore",
    "swarmlore completion fish > ~/.config/fish/completions/swarmlore.fish",
)
# Each script finds the command first: options may stand before it, some of them with a value.
_BASH = """\
_swarmlore() {{
  local word command= skip= current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    [[ $skip && $word != = ]] && {{ skip=; continue; }}
    case $word in {with_value}|=) skip=1 ;; -*) ;; *) command=$word; break ;; esac
  done
  [[ $before == = ]] && before=${{COMP_WORDS[COMP_CWORD-2]}}
  [[ $current == = ]] && current=
  COMPREPLY=()
  [[ $skip ]] && return
  case "$command $before" in
{values}
  esac
  case $command in
    "") COMPREPLY=($(compgen -W "$([[ $current == -* ]] && echo {flags} || echo {commands})" -- "$current")) ;;
{options}
  esac
}}
complete -o default -F _swarmlore swarmlore
"""
_ZSH = """\
#compdef swarmlore
_swarmlore() {{
  local word command= skip= before=$words[CURRENT-1]
  local -a summaries
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    [[ -n $skip ]] && {{ skip=; continue }}
    case $word in ({with_value}) skip=1 ;; (-*) ;; (*) command=$word; break ;; esac
  done
  if [[ $PREFIX == --*=* ]]; then
    before=${{PREFIX%%=*}}
    compset -P 1 '*='
  fi
  if [[ $before == ({with_value}) ]]; then
    _files -/
    return
  fi
  case "$command $before" in
{values}
  esac
  if [[ $PREFIX != -* && -n $command ]]; then
    _files
    return
  fi
  case $command in
    ("")
      if [[ $PREFIX == -* ]]; then
        compadd -- {flags}
        return
      fi
      summaries=(
{commands}
      )
      _describe command summaries ;;
{options}
  esac
}}
# As a file in $fpath this is the body of the function, whose first call has to answer; elsewhere it is registered.
if [[ $funcstack[1] == _swarmlore ]]; then
  _swarmlore "$@"
else
  compdef _swarmlore swarmlore
fi
"""
_FISH = """\
function __swarmlore_command
    set -l words (commandline -opc)[2..-1]
    set -l skip no
    for word in $words
        if test $skip = yes
            set skip no
            continue
        end
        switch $word
            case {with_value}
                set skip yes
            case '-*'
            case '*'
                echo $word
                return
        end
    end
    echo ''
end
function __swarmlore_at
    contains -- "$argv[1]" (__swarmlore_command)
end
"""
_FLAGS = "--help --version --json --home --project"  # offered before a command


def completion_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="one of: " + ", ".join(SHELLS))


def run_completion(console: Console) -> int:
    script = {"bash": bash, "zsh": zsh, "fish": fish}[console.args.shell]()
    return console.show(
        lambda: {"shell": console.args.shell, "script": script}, lambda _: script.rstrip("\n"), whole=True
    )


def bash() -> str:
    """Return the completion script for bash."""
    values = [
        f'    "{command} {flag}") COMPREPLY=($(compgen -W "{" ".join(choices)}" -- "$current")); return ;;'
        for command, flag, choices in _choices()
    ]
    options = [_bash_options(command, flags) for command, flags in _flags()]
    return _BASH.format(
        commands=" ".join(COMMANDS), values="\n".join(values), options="\n".join(options), **_common("|")
    )


def _bash_options(command: str, flags: list[str]) -> str:
    answer = 'COMPREPLY=($(compgen -W "{}" -- "$current"))'
    words = f" || {answer.format(' '.join(_words(command)))}" if _words(command) else ""
    return f"    {command}) [[ $current == -* ]] && {answer.format(' '.join(flags))}{words} ;;"


def zsh() -> str:
    """Return the completion script for zsh."""
    commands = [f"        {_quoted(f'{name}:{summary}')}" for name, summary in COMMANDS.items()]
    values = [
        f'    ("{command} {flag}") compadd -- {" ".join(choices)}; return ;;' for command, flag, choices in _choices()
    ]
    values += [
        f'    ("{command} "*) [[ $PREFIX == -* ]] || {{ compadd -- {" ".join(words)}; return }} ;;'
        for command in COMMANDS
        if (words := _words(command))
    ]
    options = [f"    ({command}) compadd -- {' '.join(flags)} ;;" for command, flags in _flags()]
    return _ZSH.format(
        commands="\n".join(commands), values="\n".join(values), options="\n".join(options), **_common("|")
    )


def fish() -> str:
    """Return the completion script for fish."""
    lines = [
        f"complete -c swarmlore -n '__swarmlore_at \"\"' -l {flag[2:]}{' -r' if flag in WITH_VALUE else ''}"
        for flag in _FLAGS.split()
    ]
    lines += [
        f"complete -c swarmlore -n '__swarmlore_at \"\"' -f -a {name} -d {_quoted(summary)}"
        for name, summary in COMMANDS.items()
    ]
    for command in COMMANDS:
        seen = f"complete -c swarmlore -n '__swarmlore_at {command}'"
        for action in _actions(command):
            takes = f" -x -a '{' '.join(action.choices)}'" if action.choices else " -r" if action.nargs != 0 else ""
            names = "".join(f" -l {flag[2:]}" for flag in action.option_strings if flag.startswith("--"))
            lines.append(seen + (names or " -f") + takes)
        if words := _words(command):
            lines.append(f"{seen} -f -a '{' '.join(words)}'")
    return _FISH.format(**_common(" ")) + "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Quote a text as one word for any of the shells."""
    return "'" + text.replace("'", "'\\''") + "'"


def _common(between: str) -> dict[str, str]:
    return {"with_value": between.join(WITH_VALUE), "flags": _FLAGS}


def _flags() -> Iterator[tuple[str, list[str]]]:
    """Yield each command with its long options."""
    for command in COMMANDS:
        yield command, [flag for action in _actions(command) for flag in action.option_strings if flag[:2] == "--"]


def _words(command: str) -> tuple[str, ...]:
    """Return the words that may follow a command, if it takes several from a list."""
    return load_command(command).offered


def _choices() -> Iterator[tuple[str, str, list[str]]]:
    """Yield command, option (for the first word the command itself) and the values that may follow."""
    for command in COMMANDS:
        for action in _actions(command):
            if action.choices:
                yield command, (action.option_strings or [command])[0], list(action.choices)


def _actions(command: str) -> list[argparse.Action]:
    """Return the options of a command, and its words that are chosen from a list."""
    every = parser_of(command)._actions  # argparse has no public list of what a parser takes
    return [action for action in every if action.option_strings or action.choices]
