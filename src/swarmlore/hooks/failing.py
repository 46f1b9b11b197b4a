"""Whether a command failed, for clients whose hooks pass on what it printed but not how it ended."""

from __future__ import annotations

import re

_LINES = 40
# What these print are other people's errors.
_READERS = r"(?:cat|bat|less|head|tail|grep|rg|ag|sed|awk|jq|echo|printf|ls|find|git (?:log|diff|show|blame|grep))\b"
_SIGNS = (
    r"(?:Process )?[Ee]xit(?:ed with)?(?: code)?:? ?(?:code )?(?:[1-9]\d{0,2})\b",
    r"Traceback \(most recent call last\):",
    r"(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception): ",
    r"(?:error|fatal|panic|ERROR|FATAL)(?:\[\w+\])?: ",
    r"npm (?:ERR!|error) ",
    r"make(?:\[\d+\])?: \*\*\* ",
    r"(?:\S*(?:sh|bash|zsh|dash): )(?:line )?\d*:? ?.*(?:not found|No such file or directory|Permission denied)",
    r"(?:=+ )?(?:\d+ passed, )?[1-9]\d* (?:failed|errors?)\b",
    r"FAILED ",
)


def looks_failed(command: str, output: str) -> bool:
    """Whether the end of an output speaks of a failure of the command itself."""
    if not output or re.match(rf"\s*{_READERS}", command):
        return False
    lines = output.rstrip().split("\n")[-_LINES:]
    sign = re.compile("|".join(_SIGNS))
    return any(sign.match(line.strip()[:400]) for line in lines)
