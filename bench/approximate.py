"""Vectors of large stores: exact search in memory against the mapped file with its index of short codes.

    python bench/approximate.py [--rows 100000 1000000] [--texts 2000] [--folder DIR]

Vectors of real texts are few, so many are made of them: two each, mixed by chance, and a little noise; the questions
are real. Each way runs in a process of its own, which tells what it takes of the memory. Times are told beside that of
the bare matrix product in the same process: ratios travel, milliseconds do not.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import corpus
from swarmlore.config import RecallSettings
from swarmlore.models.providers import open_embedder
from swarmlore.store.store import Store
from swarmlore.store.vectors.file_builder import build, find
from swarmlore.store.vectors.local import VectorIndex

PROVIDER, SIZE = "bench", 384
PARTITIONS = (1, 2)  # a project's swarm, which all ask for, and notes of others, a tenth
QUESTIONS = 100
TOP = 30
AT_ONCE = 20_000
ADD = """
INSERT INTO embedding (memory_seq, situation_seq, partition, live, change, provider, dimension, data, piece_ids)
VALUES (:seq, 0, :partition, 1, :seq, :provider, :size, :data, x'')
"""


def real_vectors(texts: int) -> tuple[np.ndarray, np.ndarray]:
    embedder = open_embedder("minilm", {})
    assert embedder is not None
    made = [embedder.embed(corpus.lessons(texts, 5)[at : at + 256]) for at in range(0, texts, 256)]
    return np.vstack(made), embedder.embed(corpus.questions(QUESTIONS))


def fill(home: Path, real: np.ndarray, rows: int) -> None:
    """A store that has vectors only; they are what is measured."""
    rng = np.random.default_rng(1)
    store = Store.open(str(home), 0.0)
    for start in range(0, rows, AT_ONCE):
        many = min(AT_ONCE, rows - start)
        share = rng.uniform(0.55, 0.95, (many, 1)).astype(np.float32)
        one, other = (real[rng.integers(len(real), size=many)] for _ in range(2))
        mixed = share * one + (1 - share) * other + 0.01 * rng.standard_normal((many, SIZE)).astype(np.float32)
        mixed /= np.linalg.norm(mixed, axis=1, keepdims=True)
        kind = {"provider": PROVIDER, "size": SIZE}
        listed = [
            {"seq": start + at + 1, "partition": PARTITIONS[at % 10 == 0], "data": row.tobytes(), **kind}
            for at, row in enumerate(mixed)
        ]
        with store.engine.writing(durable=False):
            store.engine.run_many(ADD, listed)
    store.close()


def megabytes(name: str) -> float:
    """VmRSS, of which RssFile is mapped and shared, and the most there ever was: VmHWM."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(name + ":"))


def measure(home: str, way: str) -> dict[str, float]:
    """One way of searching, in this process."""
    began = time.perf_counter()
    store = Store.open(home, 0.0)
    if way == "build":
        rows = build(store, home)
        return {"rows": rows, "s": time.perf_counter() - began, "peak_mb": resource.getrusage(0).ru_maxrss / 1024}
    kept = find(store, home, PROVIDER)[1] if way == "file" else None
    exact_rows = {"exact": sys.maxsize, "bits": 0}.get(way, RecallSettings().exact_rows)
    index = VectorIndex(PROVIDER, SIZE, exact_rows, kept)
    index.refresh(store)
    opened = time.perf_counter() - began
    questions = np.load(Path(home) / "questions.npy")
    before = {"open_s": opened, "rss_mb": megabytes("VmRSS")}
    found, times = asked(index, questions)
    after = {"own_mb": megabytes("RssAnon"), "shared_mb": megabytes("RssFile")}
    if way == "exact":
        np.save(Path(home) / "found.npy", np.array(found))
        matrix = index._matrix[: len(index)]
        raw = sorted(timed(lambda: matrix @ questions[0]) for _ in range(20))[10]
        return {**before, **after, **times, "raw_ms": 1e3 * raw}
    wanted = np.load(Path(home) / "found.npy")
    recall = np.mean([len({*one} & {*other}) / TOP for one, other in zip(found, wanted.tolist(), strict=True)])
    return {**before, **after, **times, "recall": float(recall)}


def timed(work: object) -> float:
    began = time.perf_counter()
    work()  # type: ignore[operator]
    return time.perf_counter() - began


def asked(index: VectorIndex, questions: np.ndarray) -> tuple[list[list[int]], dict[str, float]]:
    found, times = [], []
    index.nearest(questions[0], PARTITIONS[:1], TOP)
    for question in questions:
        began = time.perf_counter()
        texts, _ = index.nearest(question, PARTITIONS[:1], TOP)
        times.append(1e3 * (time.perf_counter() - began))
        found.append([row for row, _ in texts])
    times.sort()
    return found, {"p50_ms": times[len(times) // 2], "p99_ms": times[int(0.99 * len(times))]}


def bench(home: Path, rows: int, real: np.ndarray, questions: np.ndarray) -> None:
    fill(home, real, rows)
    np.save(home / "questions.npy", questions)
    raw = 0.0
    for way in ("exact", "bits", "build", "file"):
        command = [sys.executable, __file__, "--measure", way, "--folder", str(home)]
        told = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        raw = told.get("raw_ms", raw)
        if "p50_ms" in told:
            told["p50_to_raw"] = told["p50_ms"] / raw
        if way == "build":
            told["file_mb"] = (home / "vectors.idx").stat().st_size / 2**20
        print(rows, way, json.dumps({name: round(value, 3) for name, value in told.items()}), flush=True)
        assert told.get("recall", 1.0) >= 0.95, told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--texts", type=int, default=2_000)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--measure", default="", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(args.folder, args.measure)))
        return
    real, questions = real_vectors(args.texts)
    for rows in args.rows:
        place = Path(tempfile.mkdtemp(dir=args.folder))
        try:
            bench(place, rows, real, questions)
        finally:
            shutil.rmtree(place)


if __name__ == "__main__":
    main()
