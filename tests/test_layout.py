"""The layout shows the architecture: imports point one way, pure packages stay pure, modules and functions stay small."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "swarmlore"
TESTS = Path(__file__).parent

# From the top down: a module imports from its own package and from those that stand further down. The last rows are
# leaves that everybody may use.
LAYERS = (
    ("__main__", "__init__"),
    ("main",),
    ("compat",),
    ("cli",),
    ("server",),
    ("lore",),
    ("capture",),
    ("research",),
    ("notes",),
    ("exchange",),
    ("memory",),
    ("retrieval",),
    ("models",),
    ("store",),
    ("clients",),
    ("workspace",),
    ("config",),
    ("domain",),
    ("errors", "background"),
    ("frozen",),
)
HEIGHT = {name: len(LAYERS) - place for place, names in enumerate(LAYERS) for name in names}
# Imports against the rule that are still there; a module here, what it imports there. This list only shrinks.
KNOWN: dict[str, tuple[str, ...]] = {
    "capture.answering": ("lore",),
    "capture.extract": ("lore",),
    "capture.lore_pool": ("lore",),
    "capture.pipeline": ("lore",),
    "notes.graph_extraction": ("lore",),
    "notes.reflect.apply": ("lore",),
    "notes.reflect.collect": ("lore",),
    "notes.reflect.propose": ("lore",),
    "notes.reflect.reflections": ("lore",),
}

MOST_ENTRIES = 22
MOST_MODULES = 330
MOST_LINES = 900
P90_LINES = 20
MOST_PARAMETERS = 6
MOST_NAME = 80  # characters of the name of a test
# Functions with more parameters than that; this list only shrinks too.
WIDE = {
    "cli.commands.reflect._show_result",
    "cli.render.report_html._bar",
    "domain.policy.context_block.compose",
    "domain.policy.deduplication.decide",
    "exchange.admit.__init__",
    "lore.index_text",
    "lore.opening.open",
    "memory.curation.__init__",
    "memory.promotion.__init__",
    "memory.write.__init__",
    "notes.memory_files.__init__",
    "notes.notes.__init__",
    "notes.project_memory.consolidate.__init__",
    "notes.project_memory.transfer.__init__",
    "notes.sync.__init__",
    "retrieval.prime.prime",
    "retrieval.recall.__init__",
    "server.http.routes._run_once",
}
NOT_PURE = {"os", "sys", "io", "socket", "subprocess", "random", "secrets", "pathlib", "shutil", "tempfile", "sqlite3"}
NOT_PURE_CALLS = {"open", "time.time", "time.monotonic", "print", "input"}
NETWORK = {"http", "urllib", "socket", "ssl", "requests", "httpx"}


@cache
def modules() -> dict[str, ast.Module]:
    """Every module by its dotted name below `swarmlore`, parsed."""
    return {_name(path): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SRC.rglob("*.py"))}


def _name(path: Path) -> str:
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def imported(tree: ast.Module) -> set[str]:
    """What a module imports, inside functions and for type checkers too; ours without the name of the package."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    ours = set(modules())
    result = set()
    for name in found:
        inner = name.removeprefix("swarmlore.")
        if inner == name:
            result.add(name)
        else:
            result.add(inner if inner in ours else inner.rpartition(".")[0] or inner)
    return result


def package(name: str) -> str:
    return name.partition(".")[0]


def test_imports_point_downwards() -> None:
    against = {
        (name, other)
        for name, tree in modules().items()
        for other in imported(tree)
        if package(name) in HEIGHT and package(other) in HEIGHT and package(other) != package(name)
        if HEIGHT[package(name)] <= HEIGHT[package(other)]
    }
    known = {(name, other) for name, others in KNOWN.items() for other in others}
    assert sorted(against - known) == [], "imports that point upwards"
    assert sorted(known - against) == [], "no longer there: take them from the list"


def test_the_domain_does_no_input_or_output_and_reads_no_clock() -> None:
    found = []
    for name, tree in modules().items():
        if package(name) == "domain":
            found += [f"{name} imports {other}" for other in imported(tree) if other.split(".")[0] in NOT_PURE]
            calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
            found += [f"{name} calls {call}" for call in calls & NOT_PURE_CALLS]
    assert found == []


def test_modules_stay_small() -> None:
    lengths = {str(path.relative_to(SRC)): len(path.read_text("utf-8").splitlines()) for path in SRC.rglob("*.py")}
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_functions_stay_short() -> None:
    lengths = sorted(
        node.end_lineno - node.lineno + 1
        for tree in modules().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.end_lineno
    )
    assert lengths[int(len(lengths) * 0.9)] <= P90_LINES
    assert lengths[-1] <= 80


def test_functions_take_few_parameters() -> None:
    found = {
        f"{name}.{node.name}"
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and parameters(node) > MOST_PARAMETERS
    }
    assert sorted(found - WIDE) == [], "too many parameters"
    assert sorted(WIDE - found) == [], "no longer so: take them from the list"


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return sum(one.arg not in ("self", "cls") for one in every)


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Imports that are known to point upwards are left out: each of them would close a circle."""
    known = {(name, other) for name, others in KNOWN.items() for other in others}
    uses = {name: {other for other in imported(tree) if (name, other) not in known} for name, tree in modules().items()}
    assert circles({name: {other for other in others if other in uses} - {name} for name, others in uses.items()}) == []


def circles(uses: dict[str, set[str]]) -> list[list[str]]:
    """The modules of each cycle: what is left after modules that import nothing, or that nobody imports, are taken off."""
    left = dict(uses)
    while True:
        used = {other for others in left.values() for other in others}
        ends = {name for name, others in left.items() if not others & left.keys() or name not in used}
        if not ends:
            return [sorted(left)] if left else []
        left = {name: others for name, others in left.items() if name not in ends}


def test_there_are_few_entries_and_modules() -> None:
    entries = [path for path in SRC.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    assert len(entries) <= MOST_ENTRIES
    assert {package(name) for name in modules()} <= set(HEIGHT)
    assert len(modules()) <= MOST_MODULES


def test_only_models_and_server_reach_the_network_and_only_the_store_speaks_sql() -> None:
    may = {"models": NETWORK, "clients.hook.socket": {"socket"}, "server": NETWORK}
    sql = ("store", "workspace.foreign_sqlite", "exchange.sqlite_tables")
    found = []
    for name, tree in modules().items():
        reached = {other.split(".")[0] for other in imported(tree)}
        allowed = {one for place, ones in may.items() if f"{name}.".startswith(f"{place}.") for one in ones}
        found += [f"{name} imports {one}" for one in reached & NETWORK - allowed]
        if "sqlite3" in reached or ("apsw" in reached and not any(f"{name}.".startswith(f"{one}.") for one in sql)):
            found.append(f"{name} speaks SQL")
    assert found == []


def test_names_of_tests_are_short() -> None:
    names = [
        node.name
        for path in TESTS.rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    assert [name for name in names if len(name) > MOST_NAME] == []


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys; import swarmlore; print([m for m in sys.modules if m.startswith('swarmlore.')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_a_small_command_loads_neither_numpy_nor_the_model() -> None:
    code = "import sys; import swarmlore.lore; print(sorted({'numpy', 'onnxruntime', 'tokenizers'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


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
