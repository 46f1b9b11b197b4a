"""Retrieval quality through the real product: `Lore.remember_many`, `Lore.recall`, `Lore.block`, default settings.

    python bench/retrieval.py              # every set
    python bench/retrieval.py lessons      # the real job only

The lessons are in tests/data. The public sets (LoCoMo, LongMemEval, CoSQA) are not part of the project: they are looked
for in ../shared/bench and skipped by name where they are not there. Plain FTS5 (porter, stop words out) and plain
cosine of the same embedder are asked in the same run.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import gzip
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from swarmlore.domain.language.tokenizer import STOP_WORDS
from swarmlore.domain.records import Caller, Draft
from swarmlore.lore import Lore

ROOT = Path(__file__).parents[1]
LESSONS = ROOT / "tests" / "data" / "lessons.jsonl"
PUBLIC = ROOT.parent / "shared" / "bench"
Ranker = Callable[[str], list[str]]


def open_lore(home: str, project: str) -> Lore:
    return Lore.open(home, cwd=home, caller=Caller(project, "bench", "worker", 2), env={})


def fill(lore: Lore, drafts: Iterable[Draft]) -> None:
    """Store through the gate and embed; says so if the gate kept anything back."""
    drafts = list(drafts)
    done = lore.remember_many(drafts)
    lore.embedding.catch_up(10**9)
    lore.writing.settle()
    live = len(lore.list(limit=10**6))
    if live != len(drafts):
        print(f"  ({len(drafts) - live} of {len(drafts)} are not live: {done.outcomes})")


class Plain:
    """The two simple baselines over the same texts."""

    def __init__(self, docs: dict[str, str], embedder: Any) -> None:
        self._ids = list(docs)
        self._embedder = embedder
        self._matrix = embedder.embed(list(docs.values()))
        self._db = apsw.Connection(":memory:")
        self._db.execute("CREATE VIRTUAL TABLE d USING fts5 (t, tokenize = 'porter unicode61')")
        self._db.executemany("INSERT INTO d (rowid, t) VALUES (?, ?)", list(enumerate(docs.values(), start=1)))

    def words(self, query: str) -> list[str]:
        terms = set("".join(c if c.isalnum() else " " for c in query.lower()).split()) - STOP_WORDS
        if not terms:
            return []
        match = " OR ".join(f'"{term}"' for term in sorted(terms))
        rows = self._db.execute("SELECT rowid FROM d WHERE d MATCH ? ORDER BY rank LIMIT 10", (match,))
        return [self._ids[row[0] - 1] for row in rows]

    def cosine(self, query: str) -> list[str]:
        scores = self._matrix @ self._embedder.embed([query])[0]
        return [self._ids[place] for place in np.argsort(-scores)[:10]]


def share(values: list[bool]) -> float:
    return round(100 * sum(values) / max(1, len(values)), 1)


# The real job


def lessons() -> dict[str, Any]:
    rows = [json.loads(line) for line in LESSONS.read_text().splitlines()]
    docs = [row for row in rows if row["type"] in ("lesson", "near", "filler")]
    cues = [row for row in rows if row["type"] == "cue"]
    silence = [row["text"] for row in rows if row["type"] == "silence"]
    home_of = {row["id"]: row["project"] for row in docs}
    projects = sorted(set(home_of.values()))
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as home:
        lores = {project: open_lore(home, project) for project in (*projects, "all")}
        for project, lore in lores.items():
            fill(lore, [_draft(row, project) for row in docs if project in ("all", row["project"])])
        results["in the project"] = _ranks(cues, lambda cue: _asker(lores[home_of[cue["lesson"]]]))
        results["over all"] = _ranks(cues, lambda cue: _asker(lores["all"], "all-"))
        results["block"] = _blocks(cues, silence, lores, home_of, projects)
        embedder = lores["all"].embedding.embedder()
        plain = {p: Plain({r["id"]: r["text"] for r in docs if r["project"] == p}, embedder) for p in projects}
        results["plain FTS5"] = _ranks(cues, lambda cue: plain[home_of[cue["lesson"]]].words)
        results["plain cosine"] = _ranks(cues, lambda cue: plain[home_of[cue["lesson"]]].cosine)
        for lore in lores.values():
            lore.close()
    results["with one situation"] = _situations(docs, cues, home_of)
    return results


def _draft(row: dict[str, Any], project: str, situation: str = "", via: str = "prompt") -> Draft:
    name = f"all-{row['id']}" if project == "all" else row["id"]
    return Draft(row["text"], kind=row["kind"], id=name, situation=situation, situation_via=via)


def _asker(lore: Lore, prefix: str = "") -> Ranker:
    return lambda query: [hit.memory.id.removeprefix(prefix) for hit in lore.recall(query, limit=5)]


def _ranks(cues: list[dict[str, Any]], ranker_of: Callable[[dict[str, Any]], Ranker]) -> dict[str, str]:
    found = [(cue["via"], cue["lesson"], ranker_of(cue)(cue["text"])[:5]) for cue in cues]
    table = {}
    for via in ("all", "prompt", "error", "file"):
        mine = [(gold, ids) for kind, gold, ids in found if via in ("all", kind)]
        first, top = share([ids[:1] == [gold] for gold, ids in mine]), share([gold in ids for gold, ids in mine])
        table[via] = f"{first} / {top}"
    return table


def _blocks(
    cues: list[dict[str, Any]],
    silence: list[str],
    lores: dict[str, Lore],
    home_of: dict[str, str],
    projects: list[str],
) -> dict[str, float]:
    """The shipped bar: how often it is silent, how often the lesson is in the block, and the block's size."""
    silent = [not lores[project].block(text).text for text in silence for project in projects]
    shown = [[item.memory for item in lores[home_of[cue["lesson"]]].block(cue["text"]).receipt.shown] for cue in cues]
    return {
        "silence prompts with an empty block": share(silent),
        "decisive lesson in the block": share([cue["lesson"] in ids for cue, ids in zip(cues, shown, strict=True)]),
        "items in a block that is not empty": round(float(np.mean([len(ids) for ids in shown if ids])), 2),
    }


def _situations(
    docs: list[dict[str, Any]], cues: list[dict[str, Any]], home_of: dict[str, str]
) -> dict[str, dict[str, str]]:
    """Each lesson stored with one of its cues as situation; the other cues are asked."""
    table = {}
    for stored in ("error", "prompt"):
        given = {cue["lesson"]: cue["text"] for cue in cues if cue["via"] == stored}
        with tempfile.TemporaryDirectory() as home:
            lores = {project: open_lore(home, project) for project in sorted(set(home_of.values()))}
            for project, lore in lores.items():
                mine = [row for row in docs if row["project"] == project]
                fill(lore, [_draft(row, project, given.get(row["id"], ""), stored) for row in mine])
            others = [cue for cue in cues if cue["via"] != stored]
            table[f"stored {stored}"] = _ranks(others, lambda cue, mine=lores: _asker(mine[home_of[cue["lesson"]]]))
            for lore in lores.values():
                lore.close()
    return table


# General retrieval


def general(name: str) -> dict[str, Any]:
    with gzip.open(PUBLIC / f"{name}.json.gz") as file:
        data = json.load(file)
    scores: dict[str, list[float]] = {"swarmlore": [], "plain FTS5": [], "plain cosine": []}
    recalls: list[float] = []
    for number, group in enumerate(data["groups"]):
        with tempfile.TemporaryDirectory() as home, open_lore(home, f"{name}-{number}") as lore:
            fill(lore, [_turn(id, text) for id, text in group["docs"].items()])
            plain = Plain(group["docs"], lore.embedding.embedder())
            ours = lambda query, lore=lore: [hit.memory.extra["doc"] for hit in lore.recall(query, limit=10)]  # noqa: E731
            for query in group["queries"]:
                found = ours(query["text"])
                scores["swarmlore"].append(ndcg(found, query["gold"]))
                recalls.append(len(set(found) & set(query["gold"])) / max(1, len(query["gold"])))
                scores["plain FTS5"].append(ndcg(plain.words(query["text"]), query["gold"]))
                scores["plain cosine"].append(ndcg(plain.cosine(query["text"]), query["gold"]))
    table: dict[str, Any] = {way: round(100 * float(np.mean(values)), 1) for way, values in scores.items()}
    return {"nDCG@10": table, "R@10": round(100 * float(np.mean(recalls)), 1)}


def _turn(id: str, text: str) -> Draft:
    """A turn knows its session and place (D1:3, answer_x#4); a function of CoSQA stands alone."""
    for mark in (":", "#"):
        session, found, position = id.partition(mark)
        if found:
            ref = {"session": session, "position": int(position)}
            return Draft(text, source="transcript", source_ref=ref, extra={"doc": id}, ttl_s=10.0**9)
    return Draft(text, source="file_index", source_ref={"path": f"{id}.py"}, extra={"doc": id}, ttl_s=10.0**9)


def ndcg(found: list[str], gold: list[str], at: int = 10) -> float:
    gain = sum(1 / math.log2(place + 2) for place, id in enumerate(found[:at]) if id in gold)
    best = sum(1 / math.log2(place + 2) for place in range(min(at, len(gold))))
    return gain / best if best else 0.0


def main() -> int:
    asked = sys.argv[1:] or ["lessons", "locomo_turn", "longmemeval_turn", "cosqa"]
    for name in asked:
        if name != "lessons" and not (PUBLIC / f"{name}.json.gz").is_file():
            print(f"skipped: {name}.json.gz is not in ../shared/bench")
            continue
        began = time.monotonic()
        result = lessons() if name == "lessons" else general(name)
        print(json.dumps({name: result, "seconds": round(time.monotonic() - began)}, indent=2), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
