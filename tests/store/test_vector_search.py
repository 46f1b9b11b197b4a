"""Large stores as their users meet them: the worker makes the index, answers stay the same, `doctor` measures it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from conftest import ALICE, BOB, a_memory, an_operation, engine_env
from swarmlore.domain.records import Check, Hit
from swarmlore.lore import Lore
from swarmlore.models import embedding
from swarmlore.store.vectors.in_database import RemoteVectors
from swarmlore.store.vectors.local import VectorIndex
from waiting_jobs import do_jobs

THINGS = "cache queue parser socket router ledger mirror broker cursor schema".split()
DEEDS = "times out after upgrades|needs a lock before writes|drops its state on restart|breaks with odd names".split(
    "|"
)
LESSONS = [f"The {one} of the {other} {deed}" for one in THINGS[:4] for other in THINGS[4:8] for deed in DEEDS]
FEW = {"SWARMLORE_EMBEDDER_KIND": "wordllama", "SWARMLORE_RECALL_EXACT_ROWS": "30"}


@pytest.fixture
def env(engine_name: str) -> dict[str, str]:
    return {**engine_env(engine_name), **FEW}


def open_large(home: Path, env: dict[str, str], **more: str) -> Lore:
    return Lore.open(home, cwd=home.parent, caller=ALICE, env={**env, **more})


def fill(lore: Lore) -> None:
    """Lessons with their vectors, every fourth one private; the last ones wait for theirs."""
    with lore.acting(), lore.store.operation(an_operation()) as operation:
        for number, text in enumerate(LESSONS):
            lore.store.put(operation, a_memory(text, tier="agent" if number % 4 == 0 else "swarm"))
    lore.embedding.catch_up(len(LESSONS) - 2)
    lore.enqueue("embed")


def told(hits: Iterable[Hit]) -> list[str]:
    return [hit.memory.text for hit in hits]


def checks(lore: Lore) -> dict[str, Check]:
    return {check.name: check for check in lore.doctor() if check.name.startswith("vector ")}


def test_the_worker_makes_the_index_and_answers_stay_as_they_were(tmp_path: Path, env: dict[str, str]) -> None:
    home = tmp_path / "home"
    with open_large(home, env) as lore:
        fill(lore)
        kinds = [job.kind for job in do_jobs(lore, ("embed", "index"))]
        remote = lore.store.engine.remote
        assert kinds == (["embed"] if remote else ["embed", "index"])
        assert (home / "vectors.idx").exists() is not remote
        index = lore.embedding.index()
        assert isinstance(index, RemoteVectors) or (isinstance(index, VectorIndex) and index.kept is not None)
        asked = [LESSONS[3], "why does the socket lose what it knew", "odd names in the router"]
        answers = [told(lore.recall(text, limit=10, mode="naive")) for text in asked]
        found = checks(lore)["vector search"]
        assert found.state == "ok"
        assert "recall@30 is " in found.message
        assert float(found.message.split("recall@30 is ")[1][:5]) >= 0.95
        bob = lore.acting_as(BOB, str(tmp_path))
        private = {text for number, text in enumerate(LESSONS) if number % 4 == 0}
        assert not private & {*told(bob.recall(LESSONS[4], limit=30, mode="naive"))}
        assert len(bob.recall(LESSONS[4], limit=30, mode="naive")) == 30
    with open_large(home, env, SWARMLORE_RECALL_APPROXIMATE="false") as lore:
        assert [told(lore.recall(text, limit=10, mode="naive")) for text in asked] == answers
        assert checks(lore) == {"vector search": Check("vector search", "ok", "exact")}


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_doctor_warns_of_an_index_that_finds_too_little_and_reindex_mends_it(
    tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_large(tmp_path / "home", env) as lore:
        fill(lore)
        do_jobs(lore, ("embed", "index"))
        index = lore.embedding.index()
        assert index is not None
        real = type(index).nearest
        with monkeypatch.context() as patch:
            patch.setattr(type(index), "nearest", lambda *asked: (real(*asked)[0][:20], []))
            found = checks(lore)["vector search"]
        assert (found.state, found.hint) == ("warn", "swarmlore reindex")
        lore.reindex()
        assert checks(lore)["vector search"].state == "ok"


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_a_new_file_is_looked_through_beside_questions(
    tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def file_in_use(lore: Lore) -> str:
        index = lore.embedding.index()
        assert isinstance(index, VectorIndex) and index.kept is not None
        return index.kept.head.token

    home = tmp_path / "home"
    monkeypatch.setattr(embedding, "COMING_S", 10.0)
    with open_large(home, env) as lore:
        fill(lore)
        do_jobs(lore, ("embed", "index"))
        former, answers = file_in_use(lore), told(lore.recall(LESSONS[3], limit=10, mode="naive"))
        with open_large(home, env) as other:
            assert other.embedding.build_index(anew=True) == len(LESSONS)
            newer = file_in_use(other)
        assert newer != former
        monkeypatch.setattr(embedding, "COMING_S", 0.0)
        seen = [file_in_use(lore)]
        while seen[-1] != newer and len(seen) < 1000:
            assert told(lore.recall(LESSONS[3], limit=10, mode="naive")) == answers
            seen.append(file_in_use(lore))
        assert seen[-1] == newer and {*seen} <= {former, newer}  # so small a file may be there at once
        assert told(lore.recall(LESSONS[3], limit=10, mode="naive")) == answers


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_a_damaged_file_is_told_and_made_anew_by_the_worker(tmp_path: Path, env: dict[str, str]) -> None:
    home = tmp_path / "home"
    with open_large(home, env) as lore:
        fill(lore)
        do_jobs(lore, ("embed", "index"))
    data = bytearray((home / "vectors.idx").read_bytes())
    data[len(data) // 2] ^= 255
    (home / "vectors.idx").write_bytes(data)
    with open_large(home, env) as lore:
        found = checks(lore)["vector index"]
        assert (found.state, found.hint) == ("warn", "swarmlore reindex")
        assert "vectors.idx is damaged" in found.message
        assert len(lore.recall("the socket of the queue", limit=5)) == 5
    run = [sys.executable, "-m", "swarmlore", "worker", "--until-empty", "--home", str(home)]
    subprocess.run(run, env={**os.environ, **env}, check=True, capture_output=True, cwd=tmp_path)
    with open_large(home, env) as lore:
        assert "vector index" not in checks(lore)
        assert "beside the store" in checks(lore)["vector search"].message


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_erasing_takes_the_file_away_and_a_new_one_follows(tmp_path: Path, env: dict[str, str]) -> None:
    home = tmp_path / "home"
    with open_large(home, env) as lore:
        fill(lore)
        do_jobs(lore, ("embed", "index"))
        (hit,) = lore.recall(LESSONS[7], limit=1)
        vector = lore.embedding.query(LESSONS[7])
        assert vector is not None
        raw = np.asarray(vector.vector, "<f4").tobytes()[:64]
        assert raw in (home / "vectors.idx").read_bytes()
        lore.forget(hit.memory.id, erase=True)
        assert not [name for name in os.listdir(home) if name.startswith("vectors.idx")]
        assert LESSONS[7] not in told(lore.recall(LESSONS[7], limit=20))
        lore.index_later()
        do_jobs(lore, ("index",))
        assert raw not in (home / "vectors.idx").read_bytes()


@pytest.mark.parametrize("engine_name", ["postgres"], indirect=True)
def test_the_database_falls_back_to_exact_search_when_the_index_gives_up(
    tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_large(tmp_path / "home", env) as lore:
        fill(lore)
        index, store, visible = lore.embedding.index(), lore.store, lore.store.visible(ALICE)
        assert isinstance(index, RemoteVectors)
        question = np.full(index.dimension, 0.1, np.float32)
        with lore.acting(), store.engine.reading():
            store.ask("search_widely")
            store.engine.run("SELECT set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true)")
            sql = store._sql["nearest_by_index"].replace("SIZE", str(index.dimension))
            plan = store.engine.run(f"EXPLAIN {sql}", index._query_params(question, visible, 5))
        assert f"embedding_near_{index.dimension}" in str(plan), "made when the first vector of that size came"
        assert lore.embedding.advice() is None
        little = "SELECT set_config('hnsw.iterative_scan', 'off', true), set_config('hnsw.ef_search', '5', true)"
        monkeypatch.setitem(store._sql, "search_widely", little)
        with lore.acting():
            assert len(index.nearest(question, visible, 60)[0]) == 60


@pytest.mark.parametrize("engine_name", ["postgres"], indirect=True)
def test_a_search_asks_the_database_once_how_many_vectors_there_are(
    tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_large(tmp_path / "home", env) as lore:
        fill(lore)
        lore.recall(LESSONS[3])
        asked: list[str] = []
        run = lore.store.engine.run
        monkeypatch.setattr(lore.store.engine, "run", lambda sql, params=None: asked.append(sql) or run(sql, params))
        lore.recall(LESSONS[7])
        assert [asked.count(lore.store._sql[name]) for name in ("seen_partitions", "count_embedded")] == [0, 1]
