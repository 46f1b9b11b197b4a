"""Writes to a team's store: clients of one `swarmlore serve` against as many that write bare rows themselves.

    python bench/team_writes.py                  # 1, 4 and 16 clients, half a minute each
    python bench/team_writes.py --seconds 5      # a quick look

Real processes: a PostgreSQL with its default settings, one server with its worker, and each client in a process of its
own, all on one machine. Every reply comes after a durable commit; afterwards each acknowledged write is looked up. The
bare writers put the same rows (a memory, its words and shingles, its history) into tables without row-level security,
through psycopg, and check nothing. Both are measured in turns, so that whatever else the machine does meets both.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import agents
import swarm
from databases import Server, server

CLIENTS = (1, 4, 16)
BARE = """
    CREATE SCHEMA bare;
    CREATE TABLE bare.memory (
        seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id TEXT UNIQUE, text TEXT, at FLOAT8
    );
    CREATE TABLE bare.posting (term TEXT, seq BIGINT, PRIMARY KEY (term, seq));
    CREATE TABLE bare.shingle (mark BIGINT, seq BIGINT, PRIMARY KEY (mark, seq));
    CREATE TABLE bare.audit (seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id TEXT, what TEXT, at FLOAT8);
    CREATE TABLE bare.operation (id TEXT PRIMARY KEY, at FLOAT8);
    CREATE TABLE bare.pending (seq BIGINT PRIMARY KEY, work TEXT);
"""


def write_bare(number: int, texts: list[str], url: str, seconds: float) -> list[agents.Told]:
    """The rows of a lesson, one transaction each."""
    told = []
    with psycopg.connect(url, autocommit=True) as db:
        until = time.monotonic() + seconds
        while (began := time.monotonic()) < until and texts:
            text, id = texts.pop(), os.urandom(13).hex()
            with db.transaction():
                _put(db, id, text)
            told.append(agents.Told(number, "write", time.monotonic() - began, 200, id))
    return told


def _put(db: psycopg.Connection[Any], id: str, text: str) -> None:
    now = time.time()
    row = db.execute("INSERT INTO bare.memory (id, text, at) VALUES (%s, %s, %s) RETURNING seq", (id, text, now))
    (seq,) = row.fetchone() or (0,)
    marks = [random.getrandbits(60) for _ in range(swarm.SHINGLES)]
    db.execute("INSERT INTO bare.posting SELECT unnest(%s::TEXT[]), %s", (sorted(set(text.lower().split())), seq))
    db.execute("INSERT INTO bare.shingle SELECT unnest(%s::BIGINT[]), %s", (marks, seq))
    db.execute("INSERT INTO bare.audit (id, what, at) VALUES (%s, 'add', %s)", (id, now))
    db.execute("INSERT INTO bare.operation (id, at) VALUES (%s, %s)", (id, now))
    db.execute("INSERT INTO bare.pending (seq, work) VALUES (%s, 'embed')", (seq,))


def figures(told: list[agents.Told], seconds: float) -> dict[str, Any]:
    return {"per_s": round(len(told) / seconds), **agents.figures(told, "write")}


def in_turns(serving: swarm.Server, database: Server, clients: int, seconds: float, rounds: int) -> dict[str, Any]:
    """Both, one after the other, several times."""
    served: list[agents.Told] = []
    bare: list[agents.Told] = []
    for _ in range(rounds):
        part = seconds / rounds
        served += swarm._crowd(swarm._write_through, (serving.port, serving.tokens, part), clients)
        bare += swarm._crowd(write_bare, (database.admin_url, part), clients)
    return {
        "clients": clients,
        "server": figures(served, seconds),
        "bare": figures(bare, seconds),
        "ratio": round(len(served) / len(bare), 2),
        "lost": lost(database, served),
    }


def lost(database: Server, told: list[agents.Told]) -> int:
    there = {str(id) for (id,) in database.admin("SELECT id FROM memory")}
    return len({one.id for one in told} - there)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    database = server()
    database.admin(BARE)
    with tempfile.TemporaryDirectory() as home:
        serving = swarm.Server(Path(home), max(CLIENTS), database.url)
        try:
            swarm._crowd(swarm._write_through, (serving.port, serving.tokens, swarm.WARM_S), 4)
            for clients in CLIENTS:
                print(json.dumps(in_turns(serving, database, clients, args.seconds, args.rounds)), flush=True)
        finally:
            serving.close()


if __name__ == "__main__":
    main()
