"""The processes that answer a server's questions: what they find is told here, and none outlives its server."""

from __future__ import annotations

import inspect
import os
import pickle
import signal
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from conftest import quick_env
from serving import LESSON, Server, children_of, server
from swarmlore import errors
from swarmlore.domain.records import Token
from swarmlore.errors import NotFound, StoreBusy, SwarmloreError, Unavailable
from swarmlore.lore import Lore
from swarmlore.server import readers
from swarmlore.server.readers import Reader, how_many
from swarmlore.server.service import FEW_WAITING, OneWriter, open_lore_cache
from swarmlore.store import search
from waiting import wait_until

__all__ = ["server"]
ALICE = Token("t1", "git.example/app", "alice")
KINDS = [kind for kind in vars(errors).values() if inspect.isclass(kind) and issubclass(kind, SwarmloreError)]


def count(lend: object) -> int:
    return Lore.count(lend("")) or 0  # type: ignore[operator]


def pid_of(_: object) -> int:
    return os.getpid()


def look_up(lend: object, ref: str) -> object:
    return lend("").get(ref)  # type: ignore[operator]


def vectors_at_hand(lend: object) -> int:
    """How many vectors are in memory already, without a look at the store."""
    index = lend("").embedding._index  # type: ignore[operator]
    return 0 if index is None else len(index)


def threads_of_a_question(lend: object) -> tuple[list[str], set[str]]:
    """What a question finds, and the threads that it began."""
    began: set[str] = set()
    threading.setprofile(lambda *_: began.add(threading.current_thread().name))  # of each new thread, not of this one
    try:
        hits = lend("").recall("what belongs to snapshot tests")  # type: ignore[operator]
    finally:
        threading.setprofile(None)
    return [hit.memory.text for hit in hits], began


def fail_oddly(_: object) -> None:
    raise KeyError("words of a memory")


def sleep(_: object) -> None:
    time.sleep(30)


def end(_: object) -> None:
    os._exit(1)


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return made(tmp_path, quick_env())


def made(folder: Path, env: dict[str, str]) -> Reader:
    home = folder / "home"
    with Lore.open(home, cwd=folder, env=env):
        pass
    places = (str(Path(__file__).parent), str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", ""))
    paths = os.pathsep.join(places)  # finds what is asked here
    return Reader(str(home), {**os.environ, **env, "PYTHONPATH": paths})


def test_vectors_are_taken_in_while_nobody_asks(tmp_path: Path) -> None:
    env = quick_env(SWARMLORE_EMBEDDER_KIND="minilm")
    reader = made(tmp_path, env)
    try:
        assert reader.ask(ALICE, vectors_at_hand) == 0
        with Lore.open(tmp_path / "home", cwd=tmp_path, env=env) as lore:
            lore.remember(LESSON)
            lore.catch_up()
            index = lore.embedding.index()
            assert index is not None and len(index) == 1
        assert wait_until(lambda: reader.ask(ALICE, vectors_at_hand), "the vector is taken in", pause_s=1.0) == 1
    finally:
        reader.end()


def test_a_question_takes_one_thread_where_others_want_the_processors(tmp_path: Path) -> None:
    env = quick_env(SWARMLORE_EMBEDDER_KIND="minilm")
    reader = made(tmp_path, env)
    try:
        with Lore.open(tmp_path / "home", cwd=tmp_path, env=env) as lore:
            lore.remember(LESSON, tier="hive")
            lore.catch_up()
        texts, began = reader.ask(ALICE, threads_of_a_question)
        assert texts == [LESSON]
        assert began  # meaning is looked for beside the words
        assert reader.ask(ALICE, threads_of_a_question, sparing=True) == ([LESSON], set())
    finally:
        reader.end()


def test_questions_are_sparing_while_writes_wait(tmp_path: Path) -> None:
    env = {
        **os.environ,
        **quick_env(SWARMLORE_EMBEDDER_KIND="minilm"),
        "PYTHONPATH": f"{Path(__file__).parent}{os.pathsep}{Path(__file__).parents[1]}",
    }
    free = threading.Event()
    writer = open_lore_cache(str(tmp_path / "home"), env)
    way = OneWriter(writer, env, 1)
    try:
        assert way.read(ALICE, threads_of_a_question).result(120)[1]
        first = way.write(lambda _: free.wait(120), brief=True)
        wait_until(first.running, "the first write is under way")
        others = [way.write(lambda _: None, brief=True) for _ in range(FEW_WAITING + 1)]
        assert not way.read(ALICE, threads_of_a_question).result(120)[1]
        free.set()
        for write in (first, *others):
            write.result(120)
        assert way.read(ALICE, threads_of_a_question).result(120)[1]
    finally:
        free.set()
        way.close(5.0)
        writer.lore.close()


def is_reader(pid: int) -> bool:
    try:
        return b"swarmlore.server.reader_process" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def test_questions_are_answered_in_another_process(reader: Reader) -> None:
    try:
        assert reader.ask(ALICE, count) == 0
        first = reader.ask(ALICE, pid_of)
        assert first != os.getpid()
        assert reader.ask(ALICE, pid_of) == first
    finally:
        reader.end()


def test_a_reader_that_was_killed_is_replaced_and_the_question_asked_again(reader: Reader) -> None:
    try:
        first = reader.ask(ALICE, pid_of)
        os.kill(first, signal.SIGKILL)
        assert reader.ask(ALICE, pid_of) != first
    finally:
        reader.end()


def test_a_question_that_ends_its_reader_twice_is_given_up(reader: Reader) -> None:
    with pytest.raises(Unavailable, match="ended twice"):
        reader.ask(ALICE, end)
    assert reader.ask(ALICE, count) == 0
    reader.end()


def test_a_question_that_takes_too_long_ends_its_reader(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    first = reader.ask(ALICE, pid_of)
    monkeypatch.setattr(readers, "LONGEST_S", 0.2)
    monkeypatch.setattr(readers, "END_S", 0.1)
    with pytest.raises(StoreBusy, match="too long"):
        reader.ask(ALICE, sleep)
    assert not is_reader(first)


def test_an_error_of_ours_arrives_as_it_was_and_others_by_their_kind_alone(reader: Reader) -> None:
    try:
        with pytest.raises(NotFound) as told:
            reader.ask(ALICE, partial(look_up, ref="0" * 26))
        assert told.value.hint
        with pytest.raises(RuntimeError, match=r"^KeyError$"):
            reader.ask(ALICE, fail_oddly)
    finally:
        reader.end()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_error_can_be_told_to_another_process(kind: type[SwarmloreError]) -> None:
    made = kind("it happened", 2, "do this") if kind is errors.Rejected else kind("it happened", "do this")  # type: ignore[call-arg, arg-type]
    again = pickle.loads(pickle.dumps(made))
    assert (type(again), str(again), again.__dict__) == (kind, str(made), made.__dict__)


def test_readers_end_with_a_server_that_is_killed(server: Server) -> None:
    token = server.token()
    assert server.ask("/v1/remember", {"text": LESSON}, token)[0] == 200
    assert server.ask("/v1/recall", {"query": "snapshot tests"}, token)[1]["result"]
    assert server.process is not None
    found = [pid for pid in children_of(server.process.pid) if is_reader(pid)]
    assert found
    server.stop(signal.SIGKILL)
    wait_until(lambda: not any(map(is_reader, found)), "its readers end")


def test_a_server_goes_on_answering_when_its_readers_are_killed(server: Server) -> None:
    token = server.token()
    assert server.ask("/v1/remember", {"text": LESSON}, token)[0] == 200
    assert server.process is not None
    for _ in range(3):
        for pid in children_of(server.process.pid):
            if is_reader(pid):
                os.kill(pid, signal.SIGKILL)
        assert server.ask("/v1/recall", {"query": "snapshot tests"}, token)[1]["result"][0]["memory"]["text"] == LESSON


@pytest.mark.parametrize(("cores", "many"), [(1, 2), (2, 2), (4, 2), (6, 3), (8, 4), (64, 4)])
def test_half_of_the_cores_answer_questions_but_two_processes_at_least(cores: int, many: int) -> None:
    assert how_many(cores) == many


def test_a_process_that_defers_vectors_queues_them_with_the_model_loaded(tmp_path: Path) -> None:
    with Lore.open(tmp_path / "home", cwd=tmp_path, env={"HOME": str(tmp_path)}) as lore:
        lore.embedding.leave_to_worker()
        assert lore.embedding.awaited() is not None
        lore.remember(LESSON, defer=True)
        assert [job.kind for job in lore.jobs()] == ["embed"]
        assert lore.recall("snapshot tests").notes == ()  # one text that waits for a moment is not worth a word


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread has no priority of its own")
def test_vectors_are_computed_with_what_others_leave_but_stored_without_delay(tmp_path: Path) -> None:
    with Lore.open(tmp_path / "home", cwd=tmp_path, env={"HOME": str(tmp_path)}) as lore:
        lore.embedding.step_back(7)
        assert lore.embedding.rows([LESSON]) is not None
        niceness = {
            thread.name.partition("_")[0]: os.getpriority(os.PRIO_PROCESS, thread.native_id or 0)
            for thread in threading.enumerate()
        }
    assert niceness["swarmlore-model"] == 7
    assert niceness["MainThread"] == os.getpriority(os.PRIO_PROCESS, 0) < 7


def test_many_memories_are_not_counted_anew_after_every_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def counted(lore: Lore) -> int:
        with lore.acting():
            return lore.store.document_frequencies(["port"], lore.store.visible(lore.caller))[1]

    with Lore.open(tmp_path / "home", cwd=tmp_path, env=quick_env()) as lore:
        for number in range(3):
            lore.remember(f"Service number {number} of the cluster listens on port {9000 + number}", key=f"k{number}")
        assert counted(lore) == 3
        lore.remember("The queue of the importer holds a hundred thousand messages")
        assert counted(lore) == 4  # few are always counted
        monkeypatch.setattr(search, "MANY_ROWS", 2)
        lore.remember("Screens of the dashboard are drawn by the browser alone")
        assert counted(lore) == 4
        monkeypatch.setattr(search, "COUNTED_S", 0.0)
        lore.remember("Licences of vendored packages stand in the folder third_party")
        assert counted(lore) == 6


def test_a_common_word_is_not_counted_anew_after_every_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def counted(lore: Lore) -> dict[str, int]:
        with lore.acting():
            return lore.store.document_frequencies(["port", "queue"], lore.store.visible(lore.caller))[0]

    monkeypatch.setattr(search, "MANY_MATCHES", 2)
    with Lore.open(tmp_path / "home", cwd=tmp_path, env=quick_env()) as lore:
        for number in range(3):
            lore.remember(f"Service number {number} of the cluster listens on port {9000 + number}", key=f"k{number}")
        assert counted(lore) == {"port": 3}
        lore.remember("The queue of the importer listens on port 7000 of the same host")
        assert counted(lore) == {"port": 3, "queue": 1}, "what is rare counts at once"
        monkeypatch.setattr(search, "COUNTED_S", 0.0)
        assert counted(lore) == {"port": 4, "queue": 1}
