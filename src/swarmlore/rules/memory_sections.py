"""The sections of `.agents/MEMORY.md`, in their order."""

from __future__ import annotations

SECTIONS = (
    "Architecture & Patterns",
    "Build & Deploy",
    "Gotchas & Workarounds",
    "Testing",
    "Environment & Config",
)
