"""One line per search of notes in `metrics.jsonl`, for whoever switched it on: when, by which client, what for."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping

from swarmlore.domain.json_codec import iso
from swarmlore.domain.policy.gate import scrub_text
from swarmlore.errors import SwarmloreError
from swarmlore.workspace.files import Folder
from swarmlore.workspace.project import client_of

FILE = "metrics.jsonl"
MOST_BYTES = 10_000_000
QUERY_CHARS = 500
_HARNESSES = ("claude", "codex", "copilot")


def record(root: str, env: Mapping[str, str], now: float, **facts: str | float) -> None:
    """Add one line; a full file is put aside first. What cannot be written is nobody's loss."""
    client = client_of(env)
    told: dict[str, str | float | None] = {"ts": iso(now), "harness": client if client in _HARNESSES else "other"}
    query = scrub_text(str(facts.pop("query", "")))[:QUERY_CHARS]
    line = json.dumps({**told, "query": query, **facts}, ensure_ascii=False) + "\n"
    with contextlib.suppress(SwarmloreError, OSError):
        os.makedirs(root, exist_ok=True)
        with Folder(root) as folder, folder.lock():
            if folder.size(FILE) >= MOST_BYTES:
                folder.rename(FILE, f"metrics-{now:.0f}.jsonl.bak")
            folder.append(FILE, line.encode("utf-8"), mode=0o600)
