"""What a client's own record says, where its hooks do not: how a command ended, and what the agent said last."""

from __future__ import annotations

import os
import re
import stat

_TAIL = 131_072  # bytes of a transcript: the end of the last command and its output

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


def exit_code(transcript: str, call: str) -> int | None:
    """How a call ended, from the end of the client's own record; None where that does not say."""
    if not transcript or not re.fullmatch(r"[\w.:-]{4,128}", call):
        return None
    lines = [line for line in _end_of(transcript).split(b"\n") if call.encode() in line]
    # Inside of an output the quotes are escaped: it cannot name a code of its own.
    found = [match for line in lines if (match := re.search(rb'(?<!\\)"exit_code":\s{0,4}(-?\d{1,5})', line))]
    return int(found[-1][1]) if found else None


def last_line(transcript: str, beginning: bytes) -> bytes:
    """The last whole line of a client's record that begins so; nothing where there is none near its end."""
    if not transcript:
        return b""
    lines = _end_of(transcript).split(b"\n")[:0:-1]
    return next((line for line in lines if line.startswith(beginning)), b"")


def _end_of(path: str) -> bytes:
    """The last part of a regular file of this user's; nothing of anything else."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    except (OSError, ValueError):
        return b""
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or (hasattr(os, "geteuid") and found.st_uid != os.geteuid()):
            return b""
        return os.pread(fd, _TAIL, max(0, found.st_size - _TAIL))
    except OSError:  # a file that only looks like one, as those of /proc
        return b""
    finally:
        os.close(fd)
