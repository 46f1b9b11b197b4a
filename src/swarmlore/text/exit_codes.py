"""How a command ended, where a client writes that behind what the command printed. Pure."""

from __future__ import annotations

import re

# Each line may be there or not, in this order. What was printed stands before all of them.
_GEMINI = (
    r"(?:\nError: [^\n]{0,400})?(?:\nExit Code: (-?\d{1,9}))?(?:\nSignal: [^\n]{0,40})?"
    r"(?:\nBackground PIDs: [\d, ]{0,400})?(?:\nProcess Group PGID: \d{1,12})?\s*\Z"
)
_COPILOT = r"\s*<(?:shellId: \S{1,40} completed|exited) with exit code (-?\d{1,9})>\s*\Z"
_WRAPPING = r"</?untrusted_context>"
_TAIL = 2_000


def gemini_ending(answer: str) -> tuple[str, int | None]:
    """What a command printed, and its exit code where that is told: zero is not."""
    answer = without_wrapping(answer)
    ending = re.search(_GEMINI, answer[-_TAIL:])
    body = answer[: len(answer) - len(ending[0])] if ending else answer
    return body.removeprefix("Output: ").strip(), int(ending[1]) if ending and ending[1] else None


def without_wrapping(answer: str) -> str:
    """The answer of a tool of Gemini without the marks that say whose words it holds."""
    return re.sub(_WRAPPING, "", answer).strip()


def copilot_ending(answer: str) -> tuple[str, int | None]:
    """What a command printed, and its exit code where that is told."""
    ending = re.search(_COPILOT, answer[-_TAIL:])
    return (answer[: len(answer) - len(ending[0])], int(ending[1])) if ending else (answer, None)
