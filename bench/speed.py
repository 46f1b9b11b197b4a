"""Speed as ratios in one run, each against a baseline on the same machine and data.

    python bench/speed.py                 # everything, at 1k, 10k and 100k memories
    python bench/speed.py --rows 1000     # a quick look

One thread for BLAS and the model. The first 2,000 vectors are real; the rest are the same ones with noise, so that
filling the store does not take longer than measuring it.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import numpy as np

import corpus
from swarmlore.domain.language.late_interaction import pack_pieces, unique_ids
from swarmlore.domain.language.tokenizer import query_terms
from swarmlore.domain.records import Caller, Draft
from swarmlore.lore import Lore

CALLER = Caller("bench", "bench", "worker", 2)
REAL_VECTORS = 2_000


def open_lore(home: str) -> Lore:
    return Lore.open(home, cwd=home, caller=CALLER, env={})


def median_ms(action: Callable[[Any], object], inputs: list[Any]) -> float:
    times = []
    for item in inputs:
        began = time.perf_counter()
        action(item)
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000


def grow(lore: Lore, rows: int, seed: int) -> float:
    """Add lessons through the whole gate, vectors deferred; returns lessons per second."""
    drafts = [Draft(text) for text in corpus.lessons(rows, seed)]
    began = time.perf_counter()
    done = lore.remember_many(drafts)
    rate = rows / (time.perf_counter() - began)
    assert done.outcomes.get("added", 0) + done.outcomes.get("linked", 0) > rows * 0.98, done.outcomes
    return rate


def fill_vectors(lore: Lore) -> None:
    """Give every waiting memory a vector and pieces."""
    embedder: Any = lore.embedding.embedder()
    real = embedder.embed_tokens(corpus.lessons(REAL_VECTORS, 99))
    rng = np.random.default_rng(5)
    while waiting := lore.store.pending("embed", 5000):
        with lore.store.engine.writing():
            for memory, cue, _, _ in waiting:
                base = real[int(rng.integers(len(real)))]
                noisy = base.vector + rng.standard_normal(embedder.dimension).astype(np.float32) * 0.02
                found = lore.store.text_of(memory, cue)
                vector = {
                    "text": found[0] if found else "",
                    "provider": embedder.name,
                    "dimension": embedder.dimension,
                    "data": (noisy / np.linalg.norm(noisy)).astype("<f4").tobytes(),
                    "pieces": pack_pieces(base.pieces, base.piece_ids),
                    "piece_ids": unique_ids(base.piece_ids),
                }
                lore.store.put_vector(memory, cue, vector)


def recall_ratio(lore: Lore, home: str, rows: int) -> dict[str, float]:
    """Lore.recall against the raw full-text query and the raw matrix product it cannot do without."""
    asked = corpus.questions(40)
    for query in asked[:5]:
        lore.recall(query)
    ours = median_ms(lambda query: lore.recall(query), asked)
    raw = apsw.Connection(str(Path(home) / "lore.db"), flags=apsw.SQLITE_OPEN_READONLY)
    sql = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 50"
    matrix = np.stack(
        [np.frombuffer(row[0], np.float32) for row in raw.execute("SELECT data FROM embedding LIMIT ?", (rows,))]
    )
    embedder: Any = lore.embedding.embedder()
    vectors = {query: embedder.embed([query])[0] for query in asked}

    def words(query: str) -> object:
        return raw.execute(sql, (" OR ".join(f'"{term}"' for term in query_terms(query)),)).fetchall()

    def product(query: str) -> object:
        scores = matrix @ vectors[query]
        return np.argpartition(scores, -50)[-50:]

    for query in asked[:5]:
        words(query), product(query)
    words_ms, product_ms = median_ms(words, asked), median_ms(product, asked)
    embed_ms = median_ms(lambda query: embedder.embed([query]), asked)
    raw.close()
    return {
        "rows": rows,
        "recall_ms": round(ours, 2),
        "raw_fts5_ms": round(words_ms, 2),
        "raw_product_ms": round(product_ms, 2),
        "embed_query_ms": round(embed_ms, 2),
        "ratio": round(ours / (words_ms + product_ms), 2),
    }


def remember_ratio(lore: Lore) -> dict[str, float]:
    """Durable single remembers with embedding, against the bare embedder on the same texts."""
    texts = corpus.lessons(120, 777)
    embedder: Any = lore.embedding.embedder()
    lore.recall(texts[0])  # a process that recalls has its vectors loaded
    for text in texts[:10]:
        embedder.embed([text])
    began = time.perf_counter()
    for text in texts[:60]:
        embedder.embed([text])
    bare = 60 / (time.perf_counter() - began)
    began = time.perf_counter()
    for text in texts[60:]:
        lore.remember(text)
    ours = 60 / (time.perf_counter() - began)
    return {"bare_embedder_per_s": round(bare, 1), "remember_per_s": round(ours, 1), "ratio": round(ours / bare, 2)}


def memory_use(home: str) -> dict[str, float]:
    """Resident memory of a process that has recalled from the store, beyond one that only loaded the model."""
    code = (
        f"import os,sys,json\nos.environ['OMP_NUM_THREADS']='1'\nsys.path[:0]=[{str(Path(__file__).parent)!r}]\n"
        "from speed import open_lore\n"
        f"lore=open_lore({home!r})\nlore.embedding.query('hello')\n"
        "rss=lambda: int(open('/proc/self/statm').read().split()[1])*os.sysconf('SC_PAGE_SIZE')/1e6\n"
        "model=rss()\nlore.recall('which retry budget does the worker need')\n"
        "lore.recall('build matrix of the mobile build')\nprint(json.dumps([model, rss()]))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    model, used = json.loads(out)
    return {"model_mb": round(model), "with_store_mb": round(used), "beyond_model_mb": round(used - model)}


def start_up(home: str) -> list[dict[str, Any]]:
    """Whole commands against a bare interpreter, medians of 15."""
    script = str(Path(sys.executable).parent / "swarmlore")
    cached = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env = {**cached, "SWARMLORE_HOME": home, "SWARMLORE_PROJECT": "bench", "SWARMLORE_AGENT": "bench"}
    handle = json.loads(_run([script, "list", "--limit", "1", "--json"], env))
    ref = (handle[0] if isinstance(handle, list) else handle["memories"][0])["handle"]
    rng = random.Random(3)
    commands: dict[str, Callable[[int], list[str]]] = {
        "python -c pass": lambda _: [sys.executable, "-c", "pass"],
        "get": lambda _: [script, "get", ref],
        "list": lambda _: [script, "list"],
        "stats": lambda _: [script, "stats"],
        "remember --defer": lambda _: [script, "remember", "--defer", corpus.lesson(rng)],
        "recall": lambda _: [script, "recall", "which retry budget does the payment worker need"],
    }
    found = {
        name: median_ms(lambda n, make=make: _run(make(n), env), list(range(15))) for name, make in commands.items()
    }
    bare = found["python -c pass"]
    return [{"command": name, "ms": round(ms, 1), "ratio": round(ms / bare, 2)} for name, ms in found.items()]


def _run(command: list[str], env: dict[str, str]) -> str:
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    args = parser.parse_args()
    results: dict[str, Any] = {"threads": 1, "recall": []}
    with tempfile.TemporaryDirectory() as home:
        have = 0
        for rows in sorted(args.rows):
            with open_lore(home) as lore:
                results["filled_per_s"] = round(grow(lore, rows - have, seed=rows))
                fill_vectors(lore)
                have = rows
                results["recall"].append(recall_ratio(lore, home, rows))
                print(json.dumps(results["recall"][-1]), flush=True)
        results["memory"] = memory_use(home)
        results["start_up"] = start_up(home)
        with open_lore(home) as lore:
            results["remember"] = remember_ratio(lore)
            results["import_per_s"] = round(grow(lore, 3_000, seed=31))
            lore.embedding._embedder = None  # closing must not embed the import
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
