"""Whole commands against a bare interpreter, interleaved: what the machine does meanwhile hits all of them alike."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

BARE = "python -c pass"
SCRIPT = str(Path(sys.executable).parent / "swarmlore")
Command = Callable[[int], tuple[list[str], bytes]]


def environment(**more: str) -> dict[str, str]:
    """This process's, with compiled modules kept as a user's are."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | more


def interleaved(
    commands: Mapping[str, Command],
    env: Mapping[str, str],
    rounds: int = 25,
    settle: Callable[[], None] = lambda: None,
) -> dict[str, float]:
    """The median milliseconds of each command and of a bare interpreter; a command is made from its round.

    `settle` waits, untimed, for what a command leaves running behind it.
    """
    times: dict[str, list[float]] = {name: [] for name in (BARE, *commands)}
    for number in range(rounds):
        times[BARE].append(_time([sys.executable, "-c", "pass"], b"", env))
        for name, make in commands.items():
            words, given = make(number)
            times[name].append(_time(words, given, env))
            settle()
    return {name: statistics.median(found) * 1000 for name, found in times.items()}


def _time(words: list[str], given: bytes, env: Mapping[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(words, input=given, env=env, capture_output=True, check=True)
    return time.perf_counter() - began


def ratios(found: Mapping[str, float]) -> list[dict[str, float | str]]:
    return [{"command": name, "ms": round(ms, 1), "ratio": round(ms / found[BARE], 2)} for name, ms in found.items()]
