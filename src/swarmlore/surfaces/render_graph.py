"""The graph in words: what was written, and communities with their reports."""

from __future__ import annotations

from collections.abc import Mapping

from swarmlore.surfaces.page import Page, clean


def written(path: str, counts: Mapping[str, int], page: Page) -> str:
    """What `visualize` says when it is done."""
    if not counts["entities"]:
        return f"Nothing is connected yet; {clean(path)} says how to begin."
    parts = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    return f"Wrote {page.paint('bold', clean(path))}: {parts}."
