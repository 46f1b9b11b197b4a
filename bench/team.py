"""A team's store against a file: the same memories, the same questions, one run.

    python bench/team.py                  # 100,000 memories of two projects
    python bench/team.py --rows 5000      # a quick look

The file is filled first and then copied to a server of our own with `migrate-store`'s code. Vectors are synthetic
beyond the first 2,000. The server is a PostgreSQL with its default settings on the same machine.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import corpus
import speed
from databases import server
from swarmlore.domain.records import Caller, Draft
from swarmlore.lore import Lore
from swarmlore.store.copy import copy
from swarmlore.store.store import Store
from swarmlore.store.vectors.in_database import RemoteVectors

LARGE = Caller("git.example/large", "bench", "worker", 2)
SMALL = Caller("git.example/small", "bench", "worker", 2)


def open_lore(home: str, caller: Caller, url: str = "") -> Lore:
    return Lore.open(home, cwd=home, caller=caller, env={"SWARMLORE_STORE_URL": url})


def fill(home: str, rows: int) -> None:
    """Three of four memories in one project, the rest in another; every one with a vector."""
    for caller, count, seed in ((LARGE, rows * 3 // 4, 1), (SMALL, rows // 4, 2)):
        with open_lore(home, caller) as lore:
            lore.remember_many(Draft(text) for text in corpus.lessons(count, seed))
            speed.fill_vectors(lore)


def move(home: str) -> dict[str, Any]:
    """Copy to the server; how fast, and whether both sides are the same."""
    source, target = Store.open(home, 0.0), Store.connect(server().url, 0.0)
    source.act_for(LARGE)
    began = time.perf_counter()
    told = copy(source, target)
    seconds = time.perf_counter() - began
    source.close()
    target.close()
    server().admin("VACUUM ANALYZE")
    return {"memories": told.written, "different": len(told.different), "per_s": round(told.written / seconds)}


def recall_cost(home: str) -> dict[str, Any]:
    """The median of the same questions on both, for the larger project."""
    asked = corpus.questions(40)
    found = {}
    for name, url in (("sqlite", ""), ("postgres", server().url)):
        with open_lore(home, LARGE, url) as lore:
            for query in asked[:5]:
                lore.recall(query)
            found[name] = speed.median_ms(lambda query, lore=lore: lore.recall(query), asked)
            lore.embedding._embedder = None  # closing has nothing to catch up with
    ratio = found["postgres"] / found["sqlite"]
    return {**{f"{name}_ms": round(ms, 1) for name, ms in found.items()}, "ratio": round(ratio, 2)}


def index_recall(home: str) -> list[dict[str, Any]]:
    """What the database's index finds of the exact 10 and 50 nearest, under row-level security."""
    results = []
    for caller in (LARGE, SMALL):
        with open_lore(home, caller, server().url) as lore:
            embedder: Any = lore.embedding.embedder()
            index = RemoteVectors(lore.store, embedder.name, embedder.dimension)
            queries = embedder.embed(corpus.questions(60, seed=9))
            visible = lore.store.visible(caller)
            results.append({"project": caller.project, "visible": len(index), **compare(lore, index, queries, visible)})
            lore.embedding._embedder = None
    return results


def compare(lore: Lore, index: RemoteVectors, queries: np.ndarray, visible: list[int]) -> dict[str, Any]:
    shares: dict[int, list[float]] = {10: [], 30: [], 50: []}
    times: dict[str, list[float]] = {"exact_ms": [], "index_ms": []}
    for query in queries:
        asked = index._asked(query, visible, 50)
        began = time.perf_counter()
        exact = [int(row[0]) for row in lore.store.ask("nearest_texts", **asked)]
        middle = time.perf_counter()
        with lore.store.engine.reading():
            lore.store.ask("search_widely")
            rows = lore.store.ask_sized("nearest_by_index", index.dimension, **asked)
        quick = [int(row[0]) for row in rows]
        times["exact_ms"].append((middle - began) * 1000)
        times["index_ms"].append((time.perf_counter() - middle) * 1000)
        for size, found in shares.items():
            found.append(len(set(exact[:size]) & set(quick[:size])) / max(1, len(exact[:size])))
    return {
        **{f"recall@{size}": round(float(np.mean(found)), 3) for size, found in shares.items()},
        **{name: round(float(np.median(values)), 1) for name, values in times.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        fill(home, args.rows)
        results: dict[str, Any] = {"rows": args.rows, "threads": 1, "migrate_store": move(home)}
        print(json.dumps(results), flush=True)
        results["recall"] = recall_cost(home)
        results["index"] = index_recall(home)
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
