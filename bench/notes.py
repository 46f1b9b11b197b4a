"""Ten thousand notes: taking all of them in, one that was edited, finding some; as ratios in one run.

    python bench/notes.py                    # 10,000 notes
    python bench/notes.py --notes 1000
    python bench/notes.py --vectors          # shorter notes, embedded too: minutes

The notes are made by a generator: linked, with heads as people write them, half of them with a sidecar. What is
measured goes through `lore.notes` and `lore.recall`, as a user's command does. Limits: a changed note costs at most a
fiftieth of all notes. `search-learnings` reads files only.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from swarmlore.lore import Lore
from swarmlore.notes.file_search import scan
from swarmlore.notes.notes import Notes

MOST_OF_ALL = 1 / 50
CATEGORIES = ("debugging-sessions", "patterns", "decisions", "architecture-decisions", "build-errors", "tooling-setup")
TECHNOLOGIES = "tokio sqlx postgres redis react vite docker pytest numpy kafka nginx terraform sqlite grpc".split()
TROUBLES = "panic timeout deadlock leak race crash mismatch overflow stall retry corruption regression".split()
PARTS = "worker handler cache session queue index parser router scheduler loader migration snapshot".split()
ACTIONS = "pin rebuild flush split guard batch replay throttle shard warm isolate validate".split()


def make(folder: Path, count: int, seed: int = 7, *, short: bool = False) -> list[Path]:
    """Notes below a folder, each linked to two earlier ones; short ones have their first section only."""
    rng = random.Random(seed)
    made: list[Path] = []
    for number in range(count):
        tech, trouble, part, action = (rng.choice(words) for words in (TECHNOLOGIES, TROUBLES, PARTS, ACTIONS))
        category = rng.choice(CATEGORIES)
        links = [path.name for path in rng.sample(made, min(2, len(made)))]
        path = folder / category / f"{tech}-{part}-{trouble}-{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = _note(number, category, tech, trouble, part, action, links, rng)
        path.write_text(text.partition("\n## Solution")[0] + "\n" if short else text, encoding="utf-8")
        if number % 2 == 0:
            sidecar = path.with_name(f"{path.stem}.entities.yaml")
            sidecar.write_text(_sidecar(number, tech, trouble, part, action), encoding="utf-8")
        made.append(path)
    return made


def _note(
    number: int, category: str, tech: str, trouble: str, part: str, action: str, links: list[str], rng: random.Random
) -> str:
    other = rng.choice(TECHNOLOGIES)
    return f"""---
title: "{tech} {part} {trouble} number {number}"
category: {category}
tags: [{tech}, {part}]
symptoms:
  - "{trouble} in the {part} under load {number}"
root_cause: "The {part} shares one {other} connection"
key_insight: "{action} the {part} before {tech} starts"
created: "2026-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}"
confidence: {rng.choice(("high", "medium", "low"))}
language: {rng.choice(("rust", "python", "typescript", "go"))}
links: [{", ".join(links)}]
---

## Problem
The {part} ends with a {trouble} when {tech} and {other} start together. Seen {rng.randint(2, 40)} times in a week.

## Solution
{action.capitalize()} the {part} first: `make {action}-{part}`. Then start {tech} with one worker, and {other} after it.

## Context
Holds for {tech} {rng.randint(1, 9)}.{rng.randint(0, 20)}; see also {", ".join(links) or "nothing else"}.
"""


def _sidecar(number: int, tech: str, trouble: str, part: str, action: str) -> str:
    return f"""document_id: note-{number}
entities:
  - name: {tech}
    type: technology
    description: "what the {part} runs on"
  - name: "{part} {trouble}"
    type: error
  - name: "{action} first"
    type: pattern
relationships:
  - source: "{action} first"
    target: "{part} {trouble}"
    type: solves
    strength: 8
  - source: "{part} {trouble}"
    target: {tech}
    type: caused_by
"""


def timed(work: Callable[[], object]) -> float:
    """Seconds of computing: what else the machine does would count many times more for the long run than the short."""
    began = time.process_time()
    work()
    return time.process_time() - began


def edits(notes: Notes, paths: list[Path], times: int) -> Iterator[float]:
    """Seconds from an edit of one note until the memory has it."""
    for path in random.Random(3).sample(paths, times):
        path.write_text(path.read_text(encoding="utf-8") + "\nIt was seen once more.\n", encoding="utf-8")
        yield timed(notes.refresh)


def searches(lore: Lore, mode: str, times: int) -> float:
    """Median seconds of a search."""
    rng = random.Random(5)
    asked = [f"{rng.choice(TROUBLES)} in the {rng.choice(PARTS)} with {rng.choice(TECHNOLOGIES)}" for _ in range(times)]
    return statistics.median(timed(lambda query=query: lore.notes.search(query, mode)) for query in asked)  # type: ignore[misc]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument(
        "--vectors", action="store_true", help="embed them too, which takes minutes; the notes are shorter then"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        return measure(Path(place), args.notes, vectors=args.vectors)


def measure(place: Path, count: int, *, vectors: bool) -> int:
    project = place / "project"
    paths = make(project / "docs" / "solutions", count, short=vectors)
    env = {"HOME": str(place / "user"), **({} if vectors else {"SWARMLORE_EMBEDDER_KIND": "none"})}
    with Lore.open(place / "home", cwd=project, env=env) as lore:
        first = timed(lore.notes.refresh)
        again = timed(lore.notes.reindex)
        nothing = statistics.median(timed(lore.notes.refresh) for _ in range(5))
        one = statistics.median(edits(lore.notes, paths, 7))
        if vectors:
            spent = timed(lore.reindex)
            print(f"vectors             {spent:9.2f} s   {spent / count * 1000:.1f} ms each", flush=True)
        keyword, naive = searches(lore, "keyword", 21), searches(lore, "naive", 21)
    read = statistics.median(
        timed(lambda: scan(str(project / "docs" / "solutions"), "redis deadlock")) for _ in range(3)
    )
    print(f"{count:,} notes, half of them with a sidecar")
    print(f"all, the first time {first:9.2f} s   {first / count * 1000:.2f} ms each")
    print(f"all, once more      {again:9.2f} s   {again / first:.2f} of the first time")
    print(f"none changed        {nothing:9.3f} s   1/{first / nothing:.0f} of all")
    print(f"one changed         {one:9.3f} s   1/{first / one:.0f} of all (limit 1/{1 / MOST_OF_ALL:.0f})")
    print(f"search keyword      {keyword * 1000:9.1f} ms  p50")
    print(f"search naive        {naive * 1000:9.1f} ms  p50{'' if vectors else ', by words: no vectors here'}")
    print(f"search-learnings    {read * 1000:9.1f} ms  p50, from the files alone")
    if one > first * MOST_OF_ALL:
        print("FAIL: one changed note costs more than a fiftieth of all notes")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
