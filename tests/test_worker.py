"""The worker as real processes: whatever a job does, and whoever is killed, each effect happens once and nothing is stuck."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import worker_process
from command_line import Run, process
from conftest import ALICE, quick_env
from hook_runs import Hooks, payload
from swarmlore import Lore
from swarmlore.capture.digest import Digester
from swarmlore.hooks import spool
from swarmlore.hooks.places import spool_dir
from swarmlore.records import Job
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

    def begin(env: dict[str, str], *, until_empty: bool = False) -> subprocess.Popen[bytes]:
        running.append(start(home, env, until_empty=until_empty))
        return running[-1]

    yield begin
    for worker in running:
        worker.kill()
        worker.wait()


def wait_for(what: Callable[[], object], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.02)


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
        ("hangs", "it took longer than 0.5 s"),
        ("exits", "the handler ended its process (exit code 3)"),
        ("leaves", "SystemExit: as a program would"),
        ("allocates", "MemoryError"),
    ],
)
def test_poison_is_given_up_after_its_attempts_and_holds_up_no_other_job(
    home: Path, url: str, started: Started, kind: str, error: str
) -> None:
    env = environment(url, JOB_S=0.5 if kind == "hangs" else 20.0, ATTEMPTS=2)
    with opened(home, env) as lore:
        put(lore, kind)
        put(lore, "good", "behind it")
        worker = started(env)
        wait_for(lore.dead_letters)
        wait_for(lambda: job_of(lore, "behind it").state == "done")
        assert worker.poll() is None
        (dead,) = lore.dead_letters()
        assert (dead.kind, dead.attempts, dead.error) == (kind, 2, error)
        assert effects(lore) == ["behind it"]


def test_a_job_of_an_unknown_kind_is_left_to_those_who_know_it(home: Path, started: Started) -> None:
    env = environment()
    with opened(home, env) as lore:
        put(lore, "stranger")
        put(lore, "good")
        assert started(env, until_empty=True).wait(20) == 0
        assert (job_of(lore, "stranger").state, job_of(lore, "good").state) == ("waiting", "done")


# Who is killed


@needs_proc
def test_the_job_of_a_killed_worker_is_done_by_another_once(
    home: Path, tmp_path: Path, url: str, started: Started
) -> None:
    env = environment(url, LEASE_S=2.0)
    began = tmp_path / "began"
    with opened(home, env) as lore:
        put(lore, "slow", began=str(began), seconds=1.5)
        first = started(env)
        wait_for(lambda: began.exists() and began.read_text())
        child = int(began.read_text())
        began.unlink()
        first.kill()
        first.wait()
        wait_for(lambda: not lives(child), 2.0)
        started(env)
        wait_for(lambda: job_of(lore, "slow").state == "done")
        assert job_of(lore, "slow").attempts == 2
        assert effects(lore) == ["slow"]


@needs_proc
def test_a_worker_that_slept_through_its_lease_has_no_effect(
    home: Path, tmp_path: Path, url: str, started: Started
) -> None:
    env = environment(url, LEASE_S=1.0)
    began = tmp_path / "began"
    with opened(home, env) as lore:
        put(lore, "slow", began=str(began), seconds=0.5)
        first = started(env)
        wait_for(lambda: began.exists() and began.read_text())
        child = int(began.read_text())
        for pid in (first.pid, child):
            os.kill(pid, signal.SIGSTOP)
        started(env)
        wait_for(lambda: job_of(lore, "slow").state == "done")
        fence = job_of(lore, "slow").fence
        for pid in (child, first.pid):
            os.kill(pid, signal.SIGCONT)
        put(lore, "good", "afterwards")
        wait_for(lambda: job_of(lore, "afterwards").state == "done")
        time.sleep(1.0)
        assert effects(lore) == ["afterwards", "slow"]
        assert (job_of(lore, "slow").state, job_of(lore, "slow").fence) == ("done", fence)


def test_a_long_job_is_kept_by_renewing_its_lease(home: Path, tmp_path: Path, url: str, started: Started) -> None:
    env = environment(url, LEASE_S=0.9)
    with opened(home, env) as lore:
        put(lore, "slow", began=str(tmp_path / "began"), seconds=3.0)
        started(env)
        started(env)
        wait_for(lambda: job_of(lore, "slow").state == "done")
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
        wait_for(began.exists)
        worker.terminate()
        assert worker.wait(7) == 0
        assert (job_of(lore, "slow").state, job_of(lore, "behind it").state) == ("done", "waiting")


# When it looks


def test_an_idle_worker_is_woken_by_a_new_job(home: Path, url: str, started: Started) -> None:
    env = environment(url, POLL_S=5.0)
    with opened(home, env) as lore:
        put(lore, "good", "first")
        started(env)
        wait_for(lambda: job_of(lore, "first").state == "done")
        time.sleep(1.0)  # it has nothing to do now, and would look again in five seconds
        began = time.monotonic()
        put(lore, "good", "second")
        wait_for(lambda: job_of(lore, "second").state == "done")
        assert time.monotonic() - began < 3.0


def test_a_worker_outlives_a_server_that_is_restarted(home: Path, started: Started) -> None:
    from databases import server

    server().empty()
    env = environment(server().url)
    with opened(home, env) as lore:
        put(lore, "good", "before")
        worker = started(env)
        wait_for(lambda: job_of(lore, "before").state == "done")
        server().restart("immediate")
        lore.store.look(lambda: put(lore, "good", "after"))
        wait_for(lambda: job_of(lore, "after").state == "done", 40.0)
        assert worker.poll() is None
        assert effects(lore) == ["after", "before"]


@needs_proc
def test_an_idle_worker_costs_next_to_nothing(home: Path, started: Started) -> None:
    worker = started(environment())
    wait_for(lambda: _children(worker.pid))
    time.sleep(1.0)
    pids = [worker.pid, *_children(worker.pid)]
    before = sum(map(_cpu_s, pids))
    time.sleep(2.0)
    assert sum(map(_cpu_s, pids)) - before < 0.1


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _cpu_s(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


# Ours


def test_the_command_does_what_is_due_and_tells_how_much(run: Run) -> None:
    run("remember", "Snapshot tests are recorded with make snap-record")
    with Lore.open() as lore:
        lore.enqueue("sweep", {}, "by hand")
    done = process("worker", "--until-empty", "--json")
    assert (done.returncode, done.stdout, done.stderr) == (0, '{\n  "done": 1,\n  "failed": 0\n}\n', "")


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
            wait_for(lambda: lore.stats()["jobs_waiting"] + lore.stats()["jobs_running"] == 0)
            lore.enqueue("sweep", {}, "meanwhile")
            wait_for(lambda: lore.stats()["jobs_waiting"] + lore.stats()["jobs_running"] == 0)
        assert lore.store.done_since(0.0) == 2


def test_a_warm_process_makes_the_vectors_that_were_left_for_later(tmp_path: Path) -> None:
    home, env = tmp_path / "home", {"SWARMLORE_EMBEDDER_KIND": "minilm"}
    with Lore.open(home, cwd=tmp_path, caller=ALICE, env=env) as lore, warm(home, tmp_path, **env):
        lore.remember("Snapshot tests are recorded with make snap-record, never by hand", defer=True)
        wait_for(lambda: lore.stats()["waiting_for_vector"] == 0)
        wait_for(lambda: lore.store.done_since(0.0) == 1)


def test_a_hook_without_a_warm_process_leaves_one_behind_that_does_jobs(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Lore.open(home, cwd=tmp_path, caller=ALICE, env=quick_env()) as lore:
        lore.enqueue("sweep", {}, "k")
        Hooks(home, tmp_path).run("UserPromptSubmit", payload("UserPromptSubmit", prompt="hello"))
        wait_for(lambda: lore.store.done_since(0.0) == 1)


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
        assert Digester(lore).drain().counts == (0, 0, 0)
        assert spool.waits(spool_dir(str(home)))
        said = {check.name: check for check in lore.doctor()}
        assert said["queue"].state == "warn" and "spool" in said["queue"].message
        lore.store.engine.run("DELETE FROM job")
        assert Digester(lore).drain().new == 1
        assert "pnpm" in lore.list()[0].text


def test_doctor_tells_what_was_given_up_and_who_works(home: Path, started: Started) -> None:
    env = environment(ATTEMPTS=1)
    with opened(home, env) as lore:
        assert {c.name: (c.state, c.message) for c in lore.doctor()}["worker"] == ("ok", "none in the last day")
        put(lore, "raises")
        assert started(env, until_empty=True).wait(20) == 0
        told = {check.name: check for check in lore.doctor()}
        assert told["dead letters"].state == "warn"
        assert told["dead letters"].message == "1 job given up; the last: RuntimeError: it cannot be done"
        assert told["worker"].message.startswith("last seen ")


def test_the_handlers_of_the_tests_are_not_those_of_the_product() -> None:
    from swarmlore.records import JOB_KINDS
    from swarmlore.worker.handlers import HANDLERS

    assert set(HANDLERS) == set(JOB_KINDS)
    assert not set(HANDLERS) & set(worker_process.HANDLERS)
