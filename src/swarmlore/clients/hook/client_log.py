"""Read from the end of a client's log what its hooks do not report: a command's exit code, the agent's last message."""

from __future__ import annotations

import os
import re
import stat

_TAIL = 131_072  # bytes read from the end of a transcript: enough for the last command and its output
_LINES = 40
# Commands that print files or text: an error in their output is not their own.
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
    """Return whether the end of a command's output shows that the command itself failed."""
    if not output or re.match(rf"\s*{_READERS}", command):
        return False
    lines = output.rstrip().split("\n")[-_LINES:]
    sign = re.compile("|".join(_SIGNS))
    return any(sign.match(line.strip()[:400]) for line in lines)


def exit_code(transcript: str, call: str) -> int | None:
    """Return the exit code of a call from the end of the client's transcript; None if it is not there."""
    if not transcript or not re.fullmatch(r"[\w.:-]{4,128}", call):
        return None
    lines = [line for line in _end_of(transcript).split(b"\n") if call.encode() in line]
    # Quotes inside an output are escaped, so an output cannot fake an exit code.
    codes = [match for line in lines if (match := re.search(rb'(?<!\\)"exit_code":\s{0,4}(-?\d{1,5})', line))]
    return int(codes[-1][1]) if codes else None


def last_line(transcript: str, beginning: bytes) -> bytes:
    """Return the last complete line of a transcript that begins with these bytes; b"" if it is not near the end."""
    if not transcript:
        return b""
    lines = _end_of(transcript).split(b"\n")[:0:-1]
    return next((line for line in lines if line.startswith(beginning)), b"")


def _end_of(path: str) -> bytes:
    """Return the last part of a file; b"" if it is not a regular file of this user."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    except (OSError, ValueError):
        return b""
    try:
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode) or (hasattr(os, "geteuid") and facts.st_uid != os.geteuid()):
            return b""
        return os.pread(fd, _TAIL, max(0, facts.st_size - _TAIL))
    except OSError:  # a file of /proc, which looks regular and cannot be read
        return b""
    finally:
        os.close(fd)
