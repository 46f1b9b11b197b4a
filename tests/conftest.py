"""Fixtures: a real store on a real file, and a Lore that does not load the embedding model unless a test asks."""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from programs import unaccepted
from swarmlore.domain.records import Caller, Memory, uuid7
from swarmlore.lore import Lore
from swarmlore.store.database import Operation
from swarmlore.store.store import Store

# Fixtures of stores to break, of commands, of files, of servers.
pytest_plugins = ("homes", "command_line", "reflecting", "noting", "serving")
DATA = Path(__file__).parent / "data"
NOW = 1_800_000_000.0
ALICE = Caller("git.example/alpha", "alice", "worker", 2)
BOB = Caller("git.example/alpha", "bob", "worker", 2)
LEAD = Caller("git.example/alpha", "lead", "lead", 2)
OTHER = Caller("git.example/beta", "alice", "worker", 2)
NOBODY = Caller("git.example/alpha", "", "worker", 2)
PERSON = Caller("git.example/alpha", "person", "person", 3)

_numbers = itertools.count(1)
Open = Callable[[Caller], Lore]
os.environ.pop("COLUMNS", None)  # what commands print stays whole, also where pytest runs in several processes


def new_id() -> str:
    return uuid7(NOW, next(_numbers).to_bytes(10, "big"))


def an_operation(caller: Caller = ALICE, verb: str = "test", at: float = NOW) -> Operation:
    return Operation(new_id(), at, caller, verb)


def a_memory(
    text: str = "Bearer prefix is needed on every auth header", caller: Caller = ALICE, **fields: object
) -> Memory:
    values = {"project": caller.project, "owner": caller.agent, "created_at": NOW, "updated_at": NOW, **fields}
    return Memory(id=str(values.pop("id", "") or new_id()), text=text, **values)  # type: ignore[arg-type]


@pytest.fixture(params=["sqlite", "postgres"])
def engine_name(request: pytest.FixtureRequest) -> str:
    """Every engine that the contract suite runs on."""
    return str(request.param)


@pytest.fixture
def open_store(engine_name: str, tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """Opens one and the same empty store as often as it is called."""
    opened: list[Store] = []
    if engine_name == "postgres":
        from databases import server

        server().empty()

    def once_more() -> Store:
        opened.append(connect() if engine_name == "postgres" else Store.open(str(tmp_path), NOW))
        return opened[-1]

    yield once_more
    for store in opened:
        store.close()


def connect() -> Store:
    """The store on the tests' server, as a role that is bound by row-level security."""
    from databases import server

    return Store.connect(server().url, NOW)


@pytest.fixture
def store(open_store: Callable[[], Store]) -> Store:
    return open_store()


@cache
def user_home() -> str:
    """The home of whoever runs the program in tests: what it writes there is nobody's."""
    folder = tempfile.mkdtemp(prefix="user")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@pytest.fixture(autouse=True)
def _an_empty_home() -> Iterator[None]:
    """What one test leaves there, the next one does not find."""
    yield
    for name in os.listdir(user_home()):
        path = os.path.join(user_home(), name)
        shutil.rmtree(path, ignore_errors=True) if os.path.isdir(path) else os.unlink(path)


def quick_env(**more: str) -> dict[str, str]:
    """An environment without a model: words only; its user has a home of their own."""
    return {"SWARMLORE_EMBEDDER_KIND": "none", "HOME": user_home(), **more}


@pytest.fixture
def lore(tmp_path: Path) -> Iterator[Lore]:
    """A memory without vectors, in a project of its own, for a worker called alice."""
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=ALICE, env=quick_env()) as opened:
        yield opened


# A shell starts what runs in its background with SIGINT ignored, which every process that a test starts would inherit.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The suite tries the same examples each time; `make fuzz` looks for new ones. No deadlines: a busy machine is no bug.
settings.register_profile(
    "suite",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "fuzz", deadline=None, max_examples=500, stateful_step_count=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")
# Hypothesis also tries constants of every module that happens to be loaded: with several workers those differ each run.
assert callable(providers._get_local_constants), "Hypothesis has renamed it"
_LOADED = providers._get_local_constants
providers._get_local_constants = lambda: _LOADED() if fuzzing() else providers._local_constants


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With CI=true a skip that is not on the list in `programs.py` fails the run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") == "true" and reporter and (found := unaccepted(reporter.stats.get("skipped", ()))):
        print("", "These skips are not accepted; see tests/programs.py:", *found, sep="\n  ")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def fuzzing() -> bool:
    """Whether `make fuzz` runs the tests, which looks for new examples."""
    return settings.get_current_profile_name() == "fuzz"


def examples(whole: int) -> int:
    """How many examples a test with a number of its own runs: all of them in `make fuzz`, else a fifth."""
    return whole if fuzzing() else whole // 5


def engine_env(engine_name: str) -> dict[str, str]:
    """A quick environment over an empty store of an engine."""
    env = quick_env()
    if engine_name == "postgres":
        from databases import server

        server().empty()
        env["SWARMLORE_STORE_URL"] = server().url
    return env


@pytest.fixture
def open_as(engine_name: str, tmp_path: Path) -> Iterator[Open]:
    """Opens the same memory for a caller, at a time that stands still."""
    opened: list[Lore] = []
    env = engine_env(engine_name)

    def open_(caller: Caller) -> Lore:
        opened.append(Lore.open(tmp_path / "home", cwd=tmp_path, caller=caller, env=env, clock=lambda: NOW))
        return opened[-1]

    yield open_
    for lore in opened:
        lore.close()


@pytest.fixture
def proxy() -> Iterator[object]:
    """A line to an empty database that a test can cut."""
    from databases import Proxy, server

    server().empty()
    made = Proxy(server())
    yield made
    made.close()
