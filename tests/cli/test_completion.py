"""Completion scripts, run by the shells they are for."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from programs import need
from swarmlore.cli import command_table
from swarmlore.cli.arguments import parser_of
from swarmlore.cli.commands import completion

SCRIPTS: dict[str, Callable[[], str]] = {"bash": completion.bash, "zsh": completion.zsh, "fish": completion.fish}
LINES = {
    "swarmlore re": {
        "remember",
        "recall",
        "reflect",
        "receipts",
        "reindex",
        "report",
        "research",
        "restore",
        "restore-backup",
    },
    "swarmlore --json rem": {"remember"},
    "swarmlore --home /tmp rem": {"remember"},
    "swarmlore --home=/tmp --json rem": {"remember"},
    "swarmlore --ver": {"--version"},
    "swarmlore forget --e": {"--erase"},
    "swarmlore remember list --ti": {"--title", "--tier"},
    "swarmlore list --tier ": {"agent", "swarm", "hive"},
    "swarmlore list --tier=s": {"swarm"},
    "swarmlore completion z": {"zsh"},
    "swarmlore install ": {"claude", "codex", "gemini", "copilot", "opencode"},
    "swarmlore install claude --pr": {"--project"},
    "swarmlore --json uninstall claude co": {"codex", "copilot"},
    "swarmlore status ge": {"gemini"},
    "swarmlore --home wor": {"world/"},
    "swarmlore remember --file wor": {"world/"},
}
lines = pytest.mark.parametrize("line", LINES)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a shell works, with one folder in it whose name can be completed."""
    (tmp_path / "world").mkdir()
    return tmp_path


def run(words: list[str], folder: Path, **env: str) -> str:
    variables = {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "dumb", "LC_ALL": "C.UTF-8", **env}
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, cwd=folder, env=variables)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("shell", SCRIPTS)
def test_a_script_knows_every_command_and_option(shell: str) -> None:
    script = SCRIPTS[shell]()
    for name in command_table.COMMANDS:
        assert name in script
        for action in parser_of(name)._actions:
            for flag in action.option_strings:
                wanted = f"-l {flag[2:]}" if shell == "fish" else flag
                assert not flag.startswith("--") or wanted in script


def test_the_flags_without_a_command_are_those_that_stand_before_one() -> None:
    everywhere = {flag for action in parser_of("stats")._actions for flag in action.option_strings if flag[:2] == "--"}
    assert {*completion._FLAGS.split()} == {*everywhere, "--version"}


def test_a_summary_with_an_apostrophe_stays_one_word(folder: Path) -> None:
    printed = "printf '%s' " + completion._quoted('an agent\'s \\ "memory" $HOME')
    for shell in filter(shutil.which, SCRIPTS):
        assert run([shell, "-c", printed], folder) == 'an agent\'s \\ "memory" $HOME'


# bash

# What readline does: it cuts words at = too.
BASH = """
for word in {words}; do COMP_WORDS+=("$word"); done
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_swarmlore
if (( ${{#COMPREPLY[@]}} )); then printf '%s\\n' "${{COMPREPLY[@]}}"
else compgen -d -S / -- "${{COMP_WORDS[COMP_CWORD]}}"
fi
true
"""


@lines
def test_bash_completes(folder: Path, line: str) -> None:
    bash = need("bash")
    words = [shlex.quote(word) for word in line.replace("=", " = ").split(" ")]
    found = run([bash, "-c", completion.bash() + BASH.format(words=" ".join(words))], folder)
    assert set(found.split()) == LINES[line]


# zsh

# An interactive shell in a terminal of its own; what would be offered is written down, then it leaves.
ZSH_INSIDE = """
PROMPT=
fpath=($PWD/functions $fpath)
autoload -Uz compinit && compinit -u -D
[[ -n $EVALUATED ]] && eval "$(<$EVALUATED)"
bindkey '^I' complete-word
comppostfuncs=(exit)
compadd() {
  local -a hits
  [[ " $* " == *" -"[OAD]" "* ]] && { builtin compadd "$@"; return }
  builtin compadd -A hits "$@"
  print -rl -- $hits >> $PWD/found
  builtin compadd "$@"
}
"""
ZSH_OUTSIDE = """
zmodload zsh/zpty
zpty inside zsh -f -i
zpty -w inside "source $PWD/inside.zsh; print rea''dy"
zpty -r -m inside seen '*ready*'
zpty -n -w inside "$LINE"$'\\t'
while zpty -r inside seen; do :; done
true
"""


def zsh_offers(folder: Path, line: str, *, evaluated: bool) -> set[str]:
    zsh = need("zsh")
    (folder / "functions").mkdir()
    script = folder / "script.zsh" if evaluated else folder / "functions" / "_swarmlore"
    script.write_text(completion.zsh())
    (folder / "inside.zsh").write_text(ZSH_INSIDE)
    (folder / "found").touch()
    run([zsh, "-f", "-c", ZSH_OUTSIDE], folder, LINE=line, EVALUATED=str(script) if evaluated else "")
    return set((folder / "found").read_text().split())


@lines
def test_zsh_completes_from_a_file_in_its_path_at_the_first_tab(folder: Path, line: str) -> None:
    assert zsh_offers(folder, line, evaluated=False) == {name.rstrip("/") for name in LINES[line]}


@pytest.mark.parametrize("line", ["swarmlore re", "swarmlore list --tier "])
def test_zsh_completes_after_an_eval(folder: Path, line: str) -> None:
    assert zsh_offers(folder, line, evaluated=True) == LINES[line]


# fish


@lines
def test_fish_completes(folder: Path, line: str) -> None:
    fish = need("fish")
    (folder / "script.fish").write_text(completion.fish())
    found = run([fish, "--no-config", "-c", f"source script.fish; complete -C {shlex.quote(line)}"], folder)
    before = line.rpartition(" ")[2].partition("=")[0] + "=" if "=" in line.rpartition(" ")[2] else ""
    assert {offer.split("\t")[0].removeprefix(before) for offer in found.splitlines()} == LINES[line]
