"""The worker as real processes: whatever a job does, and whoever is killed, each effect happens once and nothing is stuck."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import worker_process
from command_line import Run, process
from conftest import ALICE, quick_env
from hook_runs import Hooks, payload
from swarmlore.capture.pipeline import SpoolReader
from swarmlore.clients.hook import spool
from swarmlore.clients.hook.home import spool_dir
from swarmlore.domain.records import Job
from swarmlore.errors import Conflict
from swarmlore.frozen import replace
from swarmlore.lore import Lore
from swarmlore.server.worker.handlers import HANDLERS
from swarmlore.store.jobs import Terms
from waiting import PATIENCE_S, wait_until
from warm_process import warm
from worker_process import SENDER, environment, opened, put, start

Started = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def url(engine_name: str) -> str:
    """Where the store is: on a server, or '' for a file."""
    if engine_name == "sqlite":
        return ""
    from databases import server

    server().empty()
    return server().url


@pytest.fixture
def started(home: Path) -> Iterator[Started]:
    """Starts workers, and ends those that are left."""
    running: list[subprocess.Popen[bytes]] = []

    def begin(env: dict[str, str], *, until_empty: bool = False, only_woken: bool = False) -> subprocess.Popen[bytes]:
        running.append(start(home, env, until_empty=until_empty, only_woken=only_woken))
        return running[-1]

    yield begin
    for worker in running:
        worker.kill()
        worker.wait()


def lives(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def job_of(lore: Lore, key: str) -> Job:
    lore.store.act_for(SENDER)
    found = lore.store.ask("job_of_key", project=SENDER.project, agent=SENDER.agent, key=key)
    return Job(*found[0])


def effects(lore: Lore) -> list[str]:
    lore.store.act_for(SENDER)
    return [str(row[0]) for row in lore.store.engine.run("SELECT subject FROM message ORDER BY subject")]


needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="processes are looked up in /proc")


# What a job may do


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("raises", "RuntimeError: it cannot be done"),
        ("hangs", "it took longer than 2 s"),
        ("exits", "the handler ended its process (exit code 3)"),
        ("leaves", "SystemExit: as a program would"),
        ("allocates", "MemoryError"),
    ],
)
def test_poison_is_given_up_after_its_attempts_and_holds_up_no_other_job(
    home: Path, url: str, started: Started, kind: str, error: str
) -> None:
    env = environment(url, JOB_S=2.0 if kind == "hangs" else 60.0, ATTEMPTS=2)
    with opened(home, env) as lore:
        put(lore, kind)
        put(lore, "good", "behind it")
        worker = started(env)
        wait_until(lore.dead_letters, "it is given up")
        wait_until(lambda: job_of(lore, "behind it").state == "done", "the job is done")
        assert worker.poll() is None
        (dead,) = lore.dead_letters()
        assert (dead.kind, dead.attempts, dead.error) == (kind, 2, error)
        assert effects(lore) == ["behind it"]


def test_a_job_of_an_unknown_kind_is_left_to_those_who_know_it(home: Path, started: Started) -> None:
    env = environment()
    with opened(home, env) as lore:
        put(lore, "stranger")
        put(lore, "good")
        assert started(env, until_empty=True).wait(PATIENCE_S) == 0
        assert (job_of(lore, "stranger").state, job_of(lore, "good").state) == ("waiting", "done")


# Who is killed


@needs_proc
def test_the_job_of_a_killed_worker_is_done_by_another_once(
    home: Path, tmp_path: Path, url: str, started: Started
) -> None:
    env = environment(url, LEASE_S=2.0)
    began = tmp_path / "began"
    with opened(home, env) as lore:
        put(lore, "slow", began=str(began), seconds=5.0)
        first = started(env)
        wait_until(lambda: began.exists() and began.read_text(), "the job begins")
        child = int(began.read_text())
        began.unlink()
        first.kill()
        first.wait()
        wait_until(lambda: not lives(child), "the child ends")
        started(env)
        wait_until(lambda: job_of(lore, "slow").state == "done", "the job is done")
        assert job_of(lore, "slow").attempts == 2
        assert effects(lore) == ["slow"]


@needs_proc
def test_a_worker_that_slept_through_its_lease_has_no_effect(
    home: Path, tmp_path: Path, url: str, started: Started
) -> None:
    env = environment(url, LEASE_S=1.0)
    began = tmp_path / "began"
    with opened(home, env) as lore:
        put(lore, "slow", began=str(began), seconds=4.0)
        first = started(env)
        wait_until(lambda: began.exists() and began.read_text(), "the job begins")
        child = int(began.read_text())
        for pid in (first.pid, child):
            os.kill(pid, signal.SIGSTOP)
        started(env)
        wait_until(lambda: job_of(lore, "slow").state == "done", "the job is done")
        fence = job_of(lore, "slow").fence
        for pid in (child, first.pid):
            os.kill(pid, signal.SIGCONT)
        put(lore, "good", "afterwards")
        wait_until(lambda: job_of(lore, "afterwards").state == "done", "the job is done")
        time.sleep(1.0)
        assert effects(lore) == ["afterwards", "slow"]
        assert (job_of(lore, "slow").state, job_of(lore, "slow").fence) == ("done", fence)


def test_a_long_job_is_kept_by_renewing_its_lease(home: Path, tmp_path: Path, url: str, started: Started) -> None:
    env = environment(url, LEASE_S=3.0)
    with opened(home, env) as lore:
        put(lore, "slow", began=str(tmp_path / "began"), seconds=7.0)
        started(env)
        started(env)
        wait_until(lambda: job_of(lore, "slow").state == "done", "the job is done")
        assert job_of(lore, "slow").attempts == 1
        assert effects(lore) == ["slow"]


def test_a_worker_that_is_asked_to_stop_finishes_its_job_and_takes_no_other(
    home: Path, tmp_path: Path, started: Started
) -> None:
    env = environment()
    began = tmp_path / "began"
    with opened(home, env) as lore:
        put(lore, "slow", began=str(began), seconds=1.0)
        put(lore, "good", "behind it")
        worker = started(env)
        wait_until(began.exists, "the job begins")
        worker.terminate()
        assert worker.wait(PATIENCE_S) == 0
        assert (job_of(lore, "slow").state, job_of(lore, "behind it").state) == ("done", "waiting")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_a_job_that_takes_longer_than_a_stop_is_given_back_unharmed(
    home: Path, tmp_path: Path, url: str, started: Started, how: signal.Signals
) -> None:
    env = environment(url, LEASE_S=30.0, JOB_S=60.0)
    began = tmp_path / "began"
    with opened(home, env) as lore:
        put(lore, "slow", began=str(began), seconds=50)
        worker = started(env)
        wait_until(began.exists, "the job begins")
        worker.send_signal(how)
        assert worker.wait(PATIENCE_S) == 0
        job = job_of(lore, "slow")
        assert (job.state, job.attempts, job.error) == ("waiting", 0, "")
        assert lore.store.due_in(Terms("", ("slow",)), lore.store.engine.now()) == 0


def test_who_waited_for_a_lock_leases_from_then_on(home: Path, started: Started) -> None:
    """A lease that began before the wait would be over when it is given."""
    env = environment(LEASE_S=1.0)
    with opened(home, env) as lore, opened(home, env) as other:
        put(lore, "good")
        held, left = threading.Event(), threading.Event()

        def hold() -> None:
            with other.store.engine.writing():
                held.set()
                time.sleep(1.0)
                left.set()

        def now() -> float:
            asked.append(left.is_set())
            return lore.store.engine.now()

        asked: list[bool] = []
        holder = threading.Thread(target=hold)
        holder.start()
        held.wait()
        assert lore.store.claim(Terms("me", ("good",), 1.0), now) is not None
        assert asked and all(asked)  # the time is asked for when the wait is over
        holder.join()


def test_a_sweep_for_a_job_happens_once_and_not_for_a_worker_that_lost_it(url: str, home: Path) -> None:
    env = {**environment(url), "SWARMLORE_RECALL_PROFILE": "knowledge"}
    with opened(home, env) as lore:
        memory = lore.remember("The staging database listens on port 5433", status="candidate").memory
        for phase in ("one", "two", "three"):
            lore.start_phase(phase)
            lore.confirm(memory.id)
        lore.enqueue("sweep", {}, "k")
        terms = Terms("me", ("sweep",), 0.05)
        first = lore.store.claim(terms, lore.store.engine.now)
        time.sleep(0.1)
        second = lore.store.claim(replace(terms, owner="you", lease_s=30.0), lore.store.engine.now)
        assert first is not None and second is not None
        HANDLERS["sweep"](lore, second)
        after = lore.get(memory.id).status
        with pytest.raises(Conflict):
            HANDLERS["sweep"](lore, first)
        assert lore.get(memory.id).status == after
        assert job_of(lore, "k").state == "done"


def test_a_worker_takes_in_what_hooks_left(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "repo"
    folder.mkdir()
    hooks = Hooks(home, folder, SWARMLORE_WORKER_QUEUE_LIMIT="1")
    with opened(home, environment()) as lore:
        put(lore, "good")  # the queue is full
        transcript = tmp_path / "t.jsonl"
        said = {"role": "user", "content": "No, never commit the generated proto files, run make proto instead."}
        line = {"type": "user", "message": said, "sessionId": "s1", "timestamp": "2026-11-15T06:34:45.471Z"}
        transcript.write_text(json.dumps(line) + "\n")
        hooks.run("SessionEnd", payload("SessionEnd", transcript_path=str(transcript), reason="other"))
        assert spool.has_events(spool_dir(str(home)))
        lore.store.engine.run("DELETE FROM job")
    env = {**os.environ, "SWARMLORE_EMBEDDER_KIND": "none"}
    done = process("worker", "--until-empty", "--home", str(home), env=env)
    assert done.returncode == 0 and not spool.has_events(spool_dir(str(home)))
    with Lore.open(home, cwd=folder, env=quick_env()) as lore:
        assert any("make proto" in memory.text for memory in lore.list())


@needs_proc
def test_a_worker_whose_store_was_moved_away_serves_the_one_in_its_place(home: Path, started: Started) -> None:
    env = environment(POLL_S=0.2)
    with opened(home, env) as lore:
        put(lore, "good", "first")
        started(env)
        wait_until(lambda: job_of(lore, "first").state == "done", "the job is done")
    home.rename(home.with_name("elsewhere"))
    with opened(home, env) as lore:
        put(lore, "good", "second")
        wait_until(lambda: job_of(lore, "second").state == "done", "the job is done")


# When it looks


def test_an_idle_worker_is_woken_by_a_new_job(home: Path, url: str, started: Started) -> None:
    env = environment(url)
    with opened(home, env) as lore:
        put(lore, "good", "first")
        started(env, only_woken=True)
        wait_until(lambda: job_of(lore, "first").state == "done", "the job is done")
        time.sleep(1.0)  # it has nothing to do now
        put(lore, "good", "second")
        wait_until(lambda: job_of(lore, "second").state == "done", "the job is done")


def test_a_worker_outlives_a_server_that_is_restarted(home: Path, started: Started) -> None:
    from databases import server

    server().empty()
    env = environment(server().url)
    with opened(home, env) as lore:
        put(lore, "good", "before")
        worker = started(env)
        wait_until(lambda: job_of(lore, "before").state == "done", "the job is done")
        server().restart("immediate")
        lore.store.look(lambda: put(lore, "good", "after"))
        wait_until(lambda: job_of(lore, "after").state == "done", "the job is done")
        assert worker.poll() is None
        assert effects(lore) == ["after", "before"]


@needs_proc
def test_an_idle_worker_costs_next_to_nothing(home: Path, started: Started) -> None:
    worker = started(environment())
    wait_until(lambda: _children(worker.pid), "it has a child")
    time.sleep(1.0)
    pids = [worker.pid, *_children(worker.pid)]
    before = sum(map(_turns, pids))
    time.sleep(2.0)
    assert sum(map(_turns, pids)) - before < 300  # a loop without a pause has tens of thousands


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _turns(pid: int) -> int:
    """How often a process was given a processor, and read from a file."""
    status = Path(f"/proc/{pid}/status").read_text() + Path(f"/proc/{pid}/io").read_text()
    return sum(map(int, re.findall(r"^(?:\w*voluntary_ctxt_switches|syscr):\s*(\d+)", status, re.M)))


# Ours


def test_the_command_does_what_is_due_and_tells_how_much(run: Run) -> None:
    run("remember", "Snapshot tests are recorded with make snap-record")
    with Lore.open() as lore:
        lore.enqueue("sweep", {}, "by hand")
    done = process("worker", "--until-empty", "--json")
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        '{\n  "done": 1,\n  "failed": 0,\n  "waiting": 0,\n  "dead": 0\n}\n',
        "",
    )


def test_the_command_refuses_what_it_does_not_know(run: Run) -> None:
    told = run("worker", "--kind", "extracts", "--json")
    assert told.code == 2
    assert "extract" in told.json["hint"]


def test_a_worker_without_a_store_says_why(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "lore.db").write_bytes(b"not a database at all, but long enough to be looked at" * 40)
    done = process("worker", "--until-empty", "--home", str(home))
    assert done.returncode == 8
    assert "lore.db" in done.stderr and "hint" in done.stderr


def test_vectors_that_were_left_for_later_are_made_by_the_worker(tmp_path: Path) -> None:
    env = {"SWARMLORE_EMBEDDER_KIND": "minilm"}
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=ALICE, env=env) as lore:
        lore.remember("Snapshot tests are recorded with make snap-record, never by hand", defer=True)
        lore.remember("Database migrations run with alembic upgrade head", defer=True)
        assert lore.stats()["waiting_for_vector"] == 2
        assert lore.stats()["jobs_waiting"] == 1
    done = process("worker", "--until-empty", "--home", str(tmp_path / "home"), env={**os.environ, **env})
    assert done.returncode == 0
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=ALICE, env=env) as lore:
        assert lore.stats()["waiting_for_vector"] == 0
        assert lore.stats()["jobs_waiting"] == 0


def test_what_waits_without_a_job_is_embedded_when_a_worker_begins(tmp_path: Path) -> None:
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=ALICE, env=quick_env()) as lore:
        lore.remember("Snapshot tests are recorded with make snap-record, never by hand")
        assert (lore.stats()["waiting_for_vector"], lore.stats()["jobs_waiting"]) == (1, 0)
    env = {**os.environ, "SWARMLORE_EMBEDDER_KIND": "minilm"}
    assert process("worker", "--until-empty", "--home", str(tmp_path / "home"), env=env).returncode == 0
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=ALICE, env=quick_env()) as lore:
        assert lore.stats()["waiting_for_vector"] == 0


def test_jobs_are_done_while_a_warm_process_is_there(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Lore.open(home, cwd=tmp_path, caller=ALICE, env=quick_env()) as lore:
        lore.enqueue("sweep", {}, "before")
        with warm(home, tmp_path):
            wait_until(lambda: lore.stats()["jobs_waiting"] + lore.stats()["jobs_running"] == 0, "no job is left")
            lore.enqueue("sweep", {}, "meanwhile")
            wait_until(lambda: lore.stats()["jobs_waiting"] + lore.stats()["jobs_running"] == 0, "no job is left")
        assert lore.store.done_since(0.0) == 2


def test_a_warm_process_makes_the_vectors_that_were_left_for_later(tmp_path: Path) -> None:
    home, env = tmp_path / "home", {"SWARMLORE_EMBEDDER_KIND": "minilm"}
    with Lore.open(home, cwd=tmp_path, caller=ALICE, env=env) as lore, warm(home, tmp_path, **env):
        lore.remember("Snapshot tests are recorded with make snap-record, never by hand", defer=True)
        wait_until(lambda: lore.stats()["waiting_for_vector"] == 0, "every text has its vector")
        wait_until(lambda: lore.store.done_since(0.0) == 1, "the job is done")


def test_a_hook_without_a_warm_process_leaves_one_behind_that_does_jobs(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Lore.open(home, cwd=tmp_path, caller=ALICE, env=quick_env()) as lore:
        lore.enqueue("sweep", {}, "k")
        Hooks(home, tmp_path).run("UserPromptSubmit", payload("UserPromptSubmit", prompt="hello"))
        wait_until(lambda: lore.store.done_since(0.0) == 1, "the job is done")


# When too much waits


def test_a_full_queue_leaves_events_in_the_spool_and_loses_none(tmp_path: Path) -> None:
    home = tmp_path / "home"
    env = quick_env(SWARMLORE_WORKER_QUEUE_LIMIT="3")
    prompt = payload("UserPromptSubmit", prompt="No, use pnpm here, never npm: the lockfile is pnpm's")
    hooks = Hooks(home, tmp_path, SWARMLORE_WORKER_QUEUE_LIMIT="3")
    with Lore.open(home, cwd=tmp_path, env=env) as lore:
        far = lore.store.engine.now() + 600
        for number in range(3):
            job = lore.enqueue("sweep", {}, f"job-{number}")
            lore.store.engine.run("UPDATE job SET not_before = :far WHERE id = :id", {"far": far, "id": job.id})
        assert lore.queue_full()
        hooks.run("UserPromptSubmit", prompt)
        assert SpoolReader(lore).drain().counts == (0, 0, 0)
        assert spool.has_events(spool_dir(str(home)))
        said = {check.name: check for check in lore.doctor()}
        assert said["queue"].state == "warn" and "spool" in said["queue"].message
        lore.store.engine.run("DELETE FROM job")
        SpoolReader(lore).drain()  # or the process that the hook left behind, where that is quicker
        wait_until(lambda: lore.count() == 1, "the memory is kept")
        assert "pnpm" in lore.list()[0].text


def test_doctor_tells_what_was_given_up_and_who_works(home: Path, started: Started) -> None:
    env = environment(ATTEMPTS=1)
    with opened(home, env) as lore:
        assert {c.name: (c.state, c.message) for c in lore.doctor()}["worker"] == ("ok", "none in the last day")
        put(lore, "raises")
        assert started(env, until_empty=True).wait(PATIENCE_S) == 0
        told = {check.name: check for check in lore.doctor()}
        assert told["dead letters"].state == "warn"
        assert told["dead letters"].message == "1 job given up; the last: RuntimeError: it cannot be done"
        assert told["worker"].message.startswith("last seen ")


def test_the_handlers_of_the_tests_are_not_those_of_the_product() -> None:
    from swarmlore.domain.records import JOB_KINDS
    from swarmlore.server.worker.handlers import HANDLERS

    assert set(HANDLERS) == set(JOB_KINDS)
    assert not set(HANDLERS) & set(worker_process.HANDLERS)


IN_VAIN = """
import os, sys
from swarmlore import config
from swarmlore.server.worker.handlers import HANDLERS
from swarmlore.server.worker.child import ChildOptions
from swarmlore.server.worker.supervisor import Worker
orders = ChildOptions(sys.argv[1], "me", 7, until_empty=True)  # no kinds: its children fail
worker = Worker(orders, HANDLERS, config.load(sys.argv[1], "", os.environ).worker)
worker._worked = bool(sys.argv[2:])  # whether a child did something before
print(worker.work())
"""


@pytest.mark.parametrize("before", [(), ("worked",)])
def test_a_worker_for_a_moment_does_not_try_for_ever(home: Path, before: tuple[str, ...]) -> None:
    """Whatever keeps its children from working, also what nobody foresaw."""
    with opened(home, environment("")) as lore:
        put(lore, "good", "first")
    words = [sys.executable, "-c", IN_VAIN, str(home), *before]
    told = subprocess.run(words, env={**os.environ, **quick_env()}, capture_output=True, text=True, timeout=60)
    assert ("unforeseen" in told.stderr) if not before else (told.stdout.strip() == "Tally(done=0, failed=0)")
