"""The form in which the end of a task is kept, for those who write it and those who show it. Pure."""

from __future__ import annotations

HAPPENED = ("task_completion", "session_summary", "transcript")  # what happened rather than what to know
OUTPUT_MARK, FAILED_MARK = "\n\nOutput:\n", "\n\nFailure reason:\n"
FAILED_NOTE = "This task failed. Avoid what is described here when a similar one is begun."
