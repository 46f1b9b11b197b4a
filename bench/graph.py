"""What the graph is worth and what it costs, through the real product.

    python bench/graph.py                # with and without: linked notes, and this project's own docs and history
    python bench/graph.py --read         # the same by who says what notes are about: sidecar, model, rules
    python bench/graph.py --tune         # shares of the graph in `hybrid`, on the half that is for choosing
    python bench/graph.py --cost [N]     # 10,000 notes: rebuild, one changed note, the modes against search without it
    python bench/graph.py --cost --words # the same without vectors, which makes the search without a graph cheapest

Half of the linked notes (by topic) are for choosing, the other half is only looked at. Direct questions say what their
note says; connected ones say what another note says, which leads there by entities and relations.
"""

from __future__ import annotations

import json
import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from swarmlore.domain.records import Caller, Draft
from swarmlore.frozen import replace
from swarmlore.lore import Lore
from swarmlore.retrieval.candidates import Connections

ROOT = Path(__file__).parents[1]
NOTES = Path(__file__).parent / "data" / "linked_notes.txt"
MOST_HISTORY = 400
WORDS = (  # that the model knows: invented ones are cut into many pieces, and embedding them takes minutes more
    "cache queue token index render deploy batch socket worker thread memory buffer signal packet header cookie server "
    "client router filter parser loader logger runner script module branch commit review release version upgrade "
    "schema column record cursor backup restore replica leader quorum ticket metric report sample budget window "
    "button layout dialog colour letter number string object method layer kernel driver device sensor camera mirror "
    "bridge tunnel gate lock door fence guard watch alarm timer clock morning summer winter river forest island "
    "garden kitchen bottle silver copper marble paper pencil basket ladder hammer engine wheel brake track station"
)
ENV = {"SWARMLORE_EMBEDDER_KIND": "none"} if "--words" in sys.argv else {}
Question = tuple[str, str, str, int]  # text, id of the answer, direct or connected, half


def linked_notes() -> tuple[list[Draft], list[Question]]:
    """The notes with what was written down about them, and the questions."""
    drafts: list[Draft] = []
    questions: list[Question] = []
    halves: dict[str, int] = {}
    for topic, block in enumerate(NOTES.read_text(encoding="utf-8").split("\n\n")):
        for line in block.splitlines():
            mark, _, rest = line.partition(" ")
            if mark == "note":
                id, title, text = (part.strip() for part in rest.split("|"))
                halves[id] = topic % 2
                drafts.append(a_note(id, title, text, {"entities": [], "relations": []}))
            elif mark == "e":
                drafts[-1].extra["graph"]["entities"].extend(map(entity, rest.split(", ")))
            elif mark == "r":
                drafts[-1].extra["graph"]["relations"].append(relation(rest))
            elif mark in ("?", "??"):
                text, _, id = rest.rpartition(" > ")
                questions.append(
                    (text.strip(), id.strip(), "direct" if mark == "?" else "connected", halves[id.strip()])
                )
    return drafts, questions


def a_note(id: str, title: str, text: str, graph: dict[str, Any] | None = None) -> Draft:
    extra = {"graph": graph} if graph is not None else {}
    ref = {"path": f"docs/solutions/{id}.md", "note": id}
    return Draft(text, title=title, source="note", id=id, source_ref=ref, extra=extra)


def entity(said: str) -> dict[str, str]:
    found = re.fullmatch(r"(.+) \((\w+)\)", said.strip())
    assert found, said
    return {"name": found[1], "type": found[2], "description": ""}


def relation(said: str) -> dict[str, Any]:
    source, kind, rest = said.split(" > ")
    found = re.fullmatch(r"(.+) \((\d+)\)", rest.strip())
    assert found, said
    return {"source": source.strip(), "target": found[1], "type": kind, "description": "", "strength": int(found[2])}


def history() -> list[tuple[str, str]]:
    """(subject, body) of this project's commits: the body is remembered, the subject asked."""
    told = subprocess.run(
        ["git", "log", "--format=%s%x1f%b%x1e"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    pairs = (part.strip().partition("\x1f")[::2] for part in told.split("\x1e"))
    return [(subject, " ".join(body.split())[:1500]) for subject, body in pairs if len(body.split()) > 15][
        :MOST_HISTORY
    ]


def sections() -> list[tuple[str, str]]:
    """(heading, text) of this project's documents: the text is remembered, page and heading asked."""
    found = []
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for part in re.split(r"(?m)^##+ ", page.read_text(encoding="utf-8"))[1:]:
            heading, _, text = part.partition("\n")
            if len(text.split()) > 15 and len(heading.split()) > 1:
                found.append((f"{page.stem}: {heading}", " ".join(text.split())[:1500]))
    return found


def filled(home: str, drafts: Iterable[Draft]) -> Lore:
    lore = Lore.open(home, cwd=home, caller=Caller("bench", "bench", "worker", 2), env=ENV)
    lore.remember_many(list(drafts))
    lore.embedding.catch_up(10**9)
    lore.writing.settle()
    return lore


def places(lore: Lore, questions: Iterable[Question], mode: str, rules: Connections) -> Iterator[int]:
    """The place of the answer among the first ten; 0 where it is not."""
    lore.recaller._gatherer.connections = rules
    for text, id, *_ in questions:
        ids = [hit.memory.id for hit in lore.recall(text, 10, mode=mode)]
        yield ids.index(id) + 1 if id in ids else 0


def told(found: Iterable[int]) -> str:
    found = list(found)
    first = sum(place == 1 for place in found) / len(found)
    five = sum(0 < place <= 5 for place in found) / len(found)
    rank = sum(1 / place for place in found if place) / len(found)
    return f"n {len(found):3}   first {first:.3f}   recall@5 {five:.3f}   MRR {rank:.3f}"


def own_set() -> tuple[list[Draft], list[Question]]:
    drafts, questions = [], []
    for name, pairs in (("history", history()), ("docs", sections())):
        for number, (asked, text) in enumerate(pairs):
            id = f"{name}-{number}"
            drafts.append(a_note(id, "", text))
            questions.append((asked, id, name, number % 2))
    return drafts, questions


WITHOUT = Connections(joining=0)
WAYS = (
    ("naive", "naive", WITHOUT),
    ("hybrid without the graph", "hybrid", WITHOUT),
    ("hybrid", "hybrid", Connections()),
    ("local", "local", Connections()),
    ("global", "global", Connections()),
)
TRIED = [
    (f"named {named} mentioned {mentioned} joining {joining}", "hybrid", Connections(named, mentioned, joining))
    for joining in (2, 3)
    for named, mentioned in ((1.0, 0.8), (1.6, 1.2), (2.0, 1.6))
]


def quality(tune: bool) -> None:
    drafts, questions = linked_notes()
    more, own = own_set()
    with tempfile.TemporaryDirectory() as home, filled(home, [*drafts, *more]) as lore:
        print(f"{len(drafts)} linked notes among {len(more)} pieces of this project's docs and history")
        for half, name in ((0, "for choosing"),) if tune else ((0, "for choosing"), (1, "held out")):
            for kind in ("direct", "connected", "history", "docs"):
                asked = [item for item in (*questions, *own) if item[2] == kind and item[3] == half]
                for label, mode, rules in (*WAYS[1:2], *TRIED) if tune else WAYS:
                    print(f"{name:13} {kind:10} {label:36} {told(places(lore, asked, mode, rules))}", flush=True)


class Saying:
    """A model that says what the sidecar says: how much of that is believed without one is what is measured."""

    name = "saying"

    def __init__(self, graph: dict[str, Any]) -> None:
        self._graph = graph

    def complete(self, system: str, user: str, *, max_tokens: int = 512) -> str:
        return json.dumps(self._graph)


def read_by_model(draft: Draft) -> Draft:
    from swarmlore.notes.graph_extraction import find_graph
    from swarmlore.notes.rows import plain

    return replace(draft, extra={"graph": plain(find_graph(Saying(draft.extra["graph"]), draft.title, draft.text))})


def origins() -> None:
    """What `hybrid` finds by who said what the notes are about."""
    drafts, questions = linked_notes()
    more, _ = own_set()
    guessed = [replace(draft, extra={}) for draft in drafts]
    ways = (("sidecar", drafts), ("model", list(map(read_by_model, drafts))), ("rules", guessed))
    for name, told_by in ways:
        with tempfile.TemporaryDirectory() as home, filled(home, [*told_by, *more]) as lore:
            for kind in ("direct", "connected"):
                asked = [item for item in questions if item[2] == kind]
                print(f"{name:9} {kind:10} {told(places(lore, asked, 'hybrid', Connections()))}", flush=True)


def many_notes(count: int) -> Iterator[Draft]:
    """Notes over topics with entities of their own, a few that all share, and relations."""
    chance = random.Random(7)
    words = WORDS.split()
    tools = ["docker", "postgres", "redis", "python", "kafka", "nginx", "react", "rust"]
    for number in range(count):
        topic = number % max(1, count // 40)
        names = [f"topic {topic} part {chance.randrange(30)}" for _ in range(4)]
        graph = {
            "entities": [
                {"name": name, "type": "concept", "description": ""} for name in (*names, chance.choice(tools))
            ],
            "relations": [
                {"source": names[0], "target": names[1], "type": "caused_by", "description": "", "strength": 7},
                {"source": names[2], "target": names[1], "type": "solves", "description": "", "strength": 8},
            ],
        }
        said = " ".join(chance.choices(words, k=30))
        yield a_note(f"n{number}", f"Note {number} on {names[0]}", f"{said} concerns {names[0]} and {names[3]}.", graph)


def timed(work: Any, times: int = 1) -> float:
    spent = []
    for number in range(times):
        began = time.perf_counter()
        work(number)
        spent.append(time.perf_counter() - began)
    return statistics.median(spent)


def cost(count: int) -> None:
    with tempfile.TemporaryDirectory() as home, filled(home, many_notes(count)) as lore:
        from swarmlore.retrieval import graph as graph_communities

        rebuild = timed(lambda _: lore.store.reindex_words())
        partitions = lore.store.visible(lore.caller)
        found = timed(lambda _: graph_communities.ensure(lore.store, partitions))
        print(f"{count} notes: all indexes anew {rebuild:.2f} s, communities {found:.2f} s")
        again = timed(lambda _: graph_communities.ensure(lore.store, partitions), 5)

        def change(number: int) -> None:
            with lore.store.operation(lore._operation("bench")) as operation:
                before = lore.store.resolve(lore.caller, f"n{number}")
                lore.store.revise(
                    operation, before, replace(before, text=before.text + f" changed {number}"), "changed"
                )

        changed = timed(change, 50)
        ratio = (changed + again) / (rebuild + found)
        print(
            f"one changed note {changed * 1e3:.1f} ms and {again * 1e3:.1f} ms for its communities: 1/{1 / ratio:.0f}"
        )
        asked = [f"what solves topic {n * 7 % 100} part {n % 30} with cache" for n in range(40)]
        for text in asked[:5]:
            lore.recall(text)
        spent: dict[str, list[float]] = {}
        for text in asked:  # all ways in turn: what else the machine does meets each of them
            for name, mode, rules in (WAYS[1], WAYS[0], *WAYS[2:]):
                lore.recaller._gatherer.connections = rules
                spent.setdefault(name, []).append(timed(lambda _, text=text, mode=mode: lore.recall(text, mode=mode)))
        base = statistics.median(spent[WAYS[1][0]])
        for name, times in spent.items():
            middle = statistics.median(times)
            print(f"{name:26} p50 {middle * 1e3:6.1f} ms   {middle / base:.2f}x")


if __name__ == "__main__":
    if "--cost" in sys.argv:
        given = [int(word) for word in sys.argv if word.isdigit()]
        cost(given[0] if given else 10_000)
    elif "--read" in sys.argv:
        origins()
    else:
        quality("--tune" in sys.argv)
