"""Named SQL: `common.sql` and the engine's own file, loaded once."""

from __future__ import annotations

import os
from functools import cache

SQL_DIR = os.path.join(os.path.dirname(__file__), "sql")
_MARK = "-- name: "


def parse(text: str) -> dict[str, str]:
    """The statements of a file by their names."""
    queries: dict[str, str] = {}
    for block in text.split(_MARK)[1:]:
        name, _, body = block.partition("\n")
        queries[name.strip()] = body.strip()
    return queries


@cache
def load(engine: str) -> dict[str, str]:
    """Every statement this engine runs; its own ones win over the common ones."""
    return {**parse(_read("common.sql")), **parse(_read(f"{engine}.sql"))}


def migrations(engine: str) -> list[tuple[int, str, str]]:
    """(number, name, script) of every migration, in order."""
    folder = os.path.join(SQL_DIR, "migrations", engine)
    names = sorted(name for name in os.listdir(folder) if name.endswith(".sql"))
    return [(int(name[:4]), name[5:-4], _read(os.path.join("migrations", engine, name))) for name in names]


def _read(name: str) -> str:
    with open(os.path.join(SQL_DIR, name), encoding="utf-8") as file:
        return file.read()
