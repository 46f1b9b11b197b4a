"""The layout shows the architecture: imports point one way, pure rooms stay pure, files and functions stay small."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "swarmlore"
FILES = sorted(SRC.rglob("*.py"))

# From the bottom up. A module may import from its own room and from lower ones.
ROOMS = {
    "frozen": 0,
    "errors": 0,
    "records": 1,
    "codec": 2,
    "text": 2,
    "rules": 3,
    "typed": 3,
    "meanwhile": 2,
    "config": 4,
    "git": 3,
    "project": 4,
    "identity": 4,
    "store": 4,
    "stats": 5,
    "undoing": 5,
    "providers": 4,
    "late": 4,
    "moving": 5,
    "vectors": 5,
    "embedding": 6,
    "graph": 6,
    "advice": 6,
    "belonging": 5,
    "backups": 6,
    "freshness": 6,
    "remember": 6,
    "codebase": 7,
    "stack": 8,
    "candidates": 7,
    "recall": 8,
    "writing": 7,
    "doctor": 7,
    "learning": 7,
    "patterns": 6,
    "why": 7,
    "curating": 9,
    "research": 9,
    "prime": 9,
    "note_places": 6,
    "note_versions": 7,
    "reflect": 10,
    "connecting": 10,
    "reporting": 7,
    "reported": 8,
    "inject": 9,
    "phases": 6,
    "promoting": 8,
    "life": 9,
    "aside": 9,
    "formats": 5,
    "sharing": 8,
    "memory_files": 6,
    "notes": 9,
    "indexing": 8,
    "instincts": 8,
    "auto_memory": 7,
    "project_memory": 7,
    "memory_overflow": 6,
    "ingesting": 8,
    "entry_merge": 8,
    "consolidating": 9,
    "note_exchange": 9,
    "bringing": 10,
    "giving": 10,
    "context_tier": 10,
    "migrating": 9,
    "mail": 9,
    "access": 5,
    "spending": 5,
    "reading": 8,
    "catching": 9,
    "waiting": 10,
    "reindexing": 9,
    "parts": 10,
    "installing": 11,
    "living": 11,
    "errands": 11,
    "receiving": 11,
    "studies": 11,
    "lore": 12,
    "hooks": 5,
    "loop": 8,
    "capture": 13,
    "worker": 14,
    "warm": 15,
    "verbs": 13,
    "remote": 14,
    "serving": 16,
    "surfaces": 17,
    "main": 18,
    "__main__": 19,
    "__init__": 19,
}
PURE = ("frozen", "errors", "records", "codec", "text", "rules")
NOT_PURE = {"os", "sys", "io", "socket", "subprocess", "random", "secrets", "pathlib", "shutil", "tempfile", "sqlite3"}
# `surfaces/http` is asked over the network, `remote` asks a server of the same program there.
LOCAL = ("hooks", "warm")  # speak with processes of the same user, over a socket in a folder
NETWORK = {"http", "urllib", "socket", "ssl", "requests", "httpx"}


def room_of(path: Path) -> str:
    return path.relative_to(SRC).with_suffix("").parts[0]


def imports_of(path: Path) -> list[str]:
    """Every module a file imports, also inside functions; blocks for type checkers do not count."""
    found: list[str] = []
    for node in ast.walk(_without_type_checking(ast.parse(path.read_text(encoding="utf-8")))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found += (
                [node.module] if node.module != "swarmlore" else [f"swarmlore.{alias.name}" for alias in node.names]
            )
    return found


def _without_type_checking(tree: ast.Module) -> ast.Module:
    class Drop(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> ast.AST | None:
            named = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
            return None if named else self.generic_visit(node)

    return ast.fix_missing_locations(Drop().visit(tree))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_imports_point_downwards(path: Path) -> None:
    own = ROOMS[room_of(path)]
    for name in imports_of(path):
        parts = name.split(".")
        if parts[0] == "swarmlore" and len(parts) > 1:
            assert parts[1] in ROOMS, f"{name} is in no room"
            assert ROOMS[parts[1]] <= own, f"{path.relative_to(SRC)} imports upwards: {name}"
            if ROOMS[parts[1]] == own:
                assert parts[1] == room_of(path), (
                    f"{path.relative_to(SRC)} reaches into a room of its own height: {name}"
                )


@pytest.mark.parametrize("path", [p for p in FILES if room_of(p) in PURE], ids=lambda path: str(path.relative_to(SRC)))
def test_pure_rooms_do_no_input_or_output(path: Path) -> None:
    reached = {name.split(".")[0] for name in imports_of(path)} & NOT_PURE
    assert not reached, f"{path.name} imports {reached}"
    calls = {ast.unparse(node.func) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)}
    assert not calls & {"open", "time.time", "time.monotonic", "print", "input"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_only_providers_reach_the_network_and_only_the_store_speaks_sql(path: Path) -> None:
    if room_of(path) not in ("providers", "remote") and path.parent.name != "http":
        local = {"socket"} if room_of(path) in LOCAL else set()
        reached = {name.split(".")[0] for name in imports_of(path)} & NETWORK - local
        assert not reached, f"{path.name} imports {reached}"
    if room_of(path) != "store":
        assert "apsw" not in {name.split(".")[0] for name in imports_of(path)}
    assert "sqlite3" not in imports_of(path)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_files_stay_small(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 700


def test_functions_stay_short() -> None:
    lengths = sorted(
        node.end_lineno - node.lineno + 1
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.end_lineno
    )
    assert lengths[int(len(lengths) * 0.9)] <= 30
    assert lengths[-1] <= 80


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys; import swarmlore; print([m for m in sys.modules if m.startswith('swarmlore.')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_a_small_command_loads_neither_numpy_nor_the_model() -> None:
    code = "import sys; import swarmlore.lore; print(sorted({'numpy', 'onnxruntime', 'tokenizers'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


TESTS = Path(__file__).parent
CLOCKS = {"monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime", "timeit", "time"}
MAY_READ_A_CLOCK = {"waiting.py"}  # it waits for what others do, with a patience that no test asserts


@pytest.mark.parametrize("path", sorted(TESTS.rglob("*.py")), ids=lambda path: str(path.relative_to(TESTS)))
def test_no_test_measures_time(path: Path) -> None:
    """A busy machine is no bug: work is counted (`counting.py`), time is measured in `bench/`."""
    if path.name not in MAY_READ_A_CLOCK:
        assert clock_readings(path.read_text(encoding="utf-8")) == []


def clock_readings(text: str) -> list[str]:
    """Clocks that are read, by line. The time of day may be stored, but not be compared or subtracted."""
    found = []
    tree = ast.parse(text)
    compared = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub))
        for inner in ast.walk(node)
    }
    own = _imported_clocks(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (name := _clock(node.func, own)):
            is_date = name in ("time", "time_ns")
            if not is_date or id(node) in compared:
                found.append(f"{node.lineno}: {ast.unparse(node.func)}()")
    return found


def _clock(function: ast.expr, own: dict[str, str]) -> str:
    """The name of the clock that a call reads; ''."""
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        name, of_module = function.attr, function.value.id in ("time", "timeit")
    else:
        name, of_module = own.get(function.id, "") if isinstance(function, ast.Name) else "", True
    return name if of_module and name.removesuffix("_ns") in CLOCKS else ""


def _imported_clocks(tree: ast.Module) -> dict[str, str]:
    """Clocks that were imported by name, by the name they have here."""
    return {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in ("time", "timeit")
        for alias in node.names
    }


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("import time\nbegan = time.monotonic()\n", ["2: time.monotonic()"]),
        ("from time import perf_counter as now\nassert now() < 3\n", ["2: now()"]),
        ("import time\nassert time.process_time_ns() < 3\n", ["2: time.process_time_ns()"]),
        ("import time\nassert time.time() - began < 3\n", ["2: time.time()"]),
        ("import time\nevent = {'at': time.time()}\ntime.sleep(0.1)\n", []),
    ],
)
def test_clock_readings_are_found(code: str, lines: list[str]) -> None:
    assert clock_readings(code) == lines
