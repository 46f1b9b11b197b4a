"""Mail and the queue, on both engines: what one agent leaves for another, and what is left for the worker."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from clones import Clone
from conftest import ALICE, BOB, LEAD, NOBODY, NOW, OTHER, PERSON, new_id, quick_env
from swarmlore.domain.policy.gate import scrub_text, scrub_value
from swarmlore.domain.records import Caller, Job
from swarmlore.errors import Ambiguous, Conflict, InvalidInput, NotAllowed, NotFound
from swarmlore.frozen import replace
from swarmlore.lore import Lore
from swarmlore.memory.mail import MOST_BODY, MOST_JOB
from swarmlore.store.jobs import LOST, Terms
from swarmlore.store.store import Store
from waiting import wait_until

LEASE_S = 30.0
ME = Terms("me", ("extract", "sweep"), LEASE_S)
YOU = Terms("you", ("extract", "sweep"), LEASE_S)
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def a_job(key: str = "", caller: Caller = ALICE, kind: str = "extract") -> Job:
    who = {"project": caller.project, "agent": caller.agent, "role": caller.role, "trust": caller.trust}
    return Job(new_id(), kind, {"text": "what was learned"}, key, **who, folder="/repo", queued_at=NOW)  # type: ignore[arg-type]


@pytest.fixture
def open_lore(open_store: Callable[[], Store], tmp_path: Path) -> Callable[[Caller], Lore]:
    """Lores of several callers over one and the same store, with a clock that stands still."""
    from swarmlore import config
    from swarmlore.workspace.project import find_project

    def of(caller: Caller) -> Lore:
        settings = config.load(str(tmp_path), "", quick_env())
        return Lore(str(tmp_path), open_store(), caller, settings, find_project(str(tmp_path)), lambda: NOW)

    return of


# Jobs and leases


def test_a_job_comes_back_as_it_was_queued(store: Store) -> None:
    job = store.put_job(a_job("k"), NOW)
    leased = store.claim(ME, NOW)
    assert leased == replace(job, state="running", attempts=1, owner="me", fence=1)


def test_what_was_queued_is_told_however_short_the_wait_is(open_store: Callable[[], Store]) -> None:
    """Else a worker whose wait ends at that moment sleeps until its next look."""
    store, other = open_store(), open_store()
    watch = store.engine.watch()
    try:
        assert not watch.wait(0.05)
        other.put_job(a_job(), NOW)
        wait_until(lambda: watch.wait(0.0), "the job is told", pause_s=0.0)
        assert not watch.wait(0.0)
    finally:
        watch.close()


def test_jobs_are_taken_oldest_first_and_each_by_one(store: Store) -> None:
    ids = [store.put_job(a_job(), NOW).id for _ in range(3)]
    taken = [job.id for terms in (ME, YOU, ME) if (job := store.claim(terms, NOW))]
    assert taken == ids
    assert store.claim(YOU, NOW) is None


def test_only_the_asked_kinds_are_taken(store: Store) -> None:
    store.put_job(a_job(kind="embed"), NOW)
    assert store.claim(ME, NOW) is None
    assert store.due_in(ME, NOW) is None


def test_a_key_is_taken_once_while_it_waits_runs_is_done_or_given_up(store: Store) -> None:
    first = store.put_job(a_job("k"), NOW)
    assert store.put_job(a_job("k"), NOW) == first
    job = store.claim(ME, NOW)
    assert job is not None
    assert store.put_job(a_job("k"), NOW).state == "running"
    assert store.finish(job, NOW + 1)
    assert store.put_job(a_job("k"), NOW + 2).state == "done"
    assert store.claim(ME, NOW + 3) is None


def test_the_same_key_of_another_agent_or_project_is_another_job(store: Store) -> None:
    ids = {store.put_job(a_job("k", caller), NOW).id for caller in (ALICE, BOB, OTHER)}
    assert len(ids) == 3


def test_jobs_without_a_key_are_all_taken(store: Store) -> None:
    assert store.put_job(a_job(), NOW) != store.put_job(a_job(), NOW)
    assert store.queue_length(10) == 2


def test_a_done_job_can_be_asked_for_again(store: Store) -> None:
    store.put_job(a_job("k"), NOW)
    job = store.claim(ME, NOW)
    assert job is not None and store.finish(job, NOW)
    assert store.put_job(a_job("k"), NOW + 5, again=True).state == "waiting"
    once_more = store.claim(ME, NOW + 5)
    assert once_more is not None and (once_more.attempts, once_more.fence) == (1, 2)


def test_a_job_that_is_asked_for_again_while_it_runs_runs_once_more(store: Store) -> None:
    store.put_job(a_job("k"), NOW)
    job = store.claim(ME, NOW)
    assert job is not None
    store.put_job(a_job("k"), NOW, again=True)
    assert store.claim(YOU, NOW) is None
    assert store.finish(job, NOW + 1)
    again = store.claim(YOU, NOW + 1)
    assert again is not None and store.finish(again, NOW + 2)
    assert store.claim(YOU, NOW + 3) is None


def test_what_is_done_keeps_nothing_of_what_it_held(store: Store) -> None:
    store.put_job(a_job("k"), NOW)
    job = store.claim(ME, NOW)
    assert job is not None and store.finish(job, NOW)
    assert store.put_job(a_job("k"), NOW).body == {}


def test_a_lease_that_is_renewed_is_kept(store: Store) -> None:
    store.put_job(a_job(), NOW)
    job = store.claim(ME, NOW)
    assert job is not None
    assert store.renew(job, NOW + 20, LEASE_S)
    assert store.claim(YOU, NOW + 45) is None
    assert store.finish(job, NOW + 45)


@pytest.mark.parametrize("taken", [False, True], ids=["nobody has it", "another has it"])
def test_a_worker_whose_lease_expired_can_do_nothing_for_the_job(store: Store, taken: bool) -> None:
    store.put_job(a_job(), NOW)
    late = store.claim(ME, NOW)
    assert late is not None
    then = NOW + LEASE_S + 1
    other = store.claim(YOU, then) if taken else None
    effects: list[str] = []
    assert not store.renew(late, then, LEASE_S)
    assert not store.finish(late, then)
    with pytest.raises(Conflict):
        store.once(late, "effect", lambda: effects.append("done"), then, LEASE_S)
    assert effects == []
    if other is not None:
        assert store.fail(late, "me!", then, pause_s=0, attempts=5) == ""
        assert store.once(other, "effect", lambda: "done", then, LEASE_S) == "done"
        assert store.finish(other, then)


def test_the_fence_tells_two_leases_of_one_owner_apart(store: Store) -> None:
    store.put_job(a_job(), NOW)
    old = store.claim(ME, NOW)
    new = store.claim(ME, NOW + LEASE_S)
    assert old is not None and new is not None and new.fence > old.fence
    then = NOW + LEASE_S + 1
    assert not store.renew(old, then, LEASE_S)
    assert store.fail(old, "me!", then, pause_s=0, attempts=5) == ""
    with pytest.raises(Conflict):
        store.once(old, "effect", lambda: None, then, LEASE_S)
    assert not store.finish(old, then)
    assert store.finish(new, then)


def test_a_job_is_given_up_after_five_attempts_with_its_error(store: Store) -> None:
    id = store.put_job(a_job(), NOW).id
    now = NOW
    for attempt in range(1, 6):
        job = store.claim(ME, now)
        assert job is not None and job.attempts == attempt
        state = store.fail(job, f"try {attempt}", now, pause_s=10, attempts=5)
        assert state == ("dead" if attempt == 5 else "waiting")
        assert store.claim(ME, now + 9) is None
        now += 10
    assert store.claim(ME, now + 1000) is None
    (dead,) = store.dead_jobs(ALICE)
    assert (dead.id, dead.attempts, dead.error) == (id, 5, "try 5")


def test_a_job_that_kills_its_worker_is_given_up_as_well(store: Store) -> None:
    store.put_job(a_job(), NOW)
    leases = [store.claim(ME, NOW + number * LEASE_S) for number in range(7)]
    assert [job.attempts for job in leases if job] == [1, 2, 3, 4, 5]
    (dead,) = store.dead_jobs(ALICE)
    assert (dead.attempts, dead.error) == (5, LOST)


def test_an_effect_happens_once_however_often_it_is_tried(store: Store) -> None:
    store.put_job(a_job(), NOW)
    job = store.claim(ME, NOW)
    assert job is not None
    assert [store.once(job, "k", lambda: "done", NOW, LEASE_S) for _ in range(3)] == ["done", None, None]


def test_an_effect_that_failed_did_not_happen(store: Store) -> None:
    store.put_job(a_job(), NOW)
    job = store.claim(ME, NOW)
    assert job is not None

    def broken() -> None:
        store.put_job(a_job("made"), NOW)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        store.once(job, "k", broken, NOW, LEASE_S)
    assert store.queue_length(10) == 1
    assert store.once(job, "k", lambda: "done", NOW, LEASE_S) == "done"


def test_with_its_last_effect_a_job_is_done_or_neither(store: Store, open_store: Callable[[], Store]) -> None:
    store.put_job(a_job("k"), NOW)
    job = store.claim(ME, NOW)
    assert job is not None

    def broken() -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        store.once(job, "effect", broken, NOW, LEASE_S, last=True)
    assert store.put_job(a_job("k"), NOW).state == "running"
    assert store.once(job, "effect", lambda: "done", NOW, LEASE_S, last=True) == "done"
    assert open_store().put_job(a_job("k"), NOW).state == "done"
    assert store.finish(job, NOW + 2 * LEASE_S)  # as its worker says afterwards
    assert not open_store().finish(job, NOW)


def test_a_lesson_of_a_job_that_fails_half_way_reaches_no_shared_file(tmp_path: Path) -> None:
    clone = Clone(tmp_path)
    with clone.open() as lore:
        lore.remember("Migrations run with alembic upgrade head before the tests")
        lore.enqueue("extract", {}, "k")
        job = lore.store.claim(ME, clone.clock.now)
        assert job is not None

        def store() -> None:
            lore.remember("Snapshot tests are recorded with make snap-record, never by hand")

        def broken() -> None:
            store()
            raise RuntimeError

        with pytest.raises(RuntimeError):
            lore.once(job, broken)
        assert len(lore.list()) == 1 and "snap-record" not in clone.file.read_text()
        lore.once(job, store)
        assert len(lore.list()) == 2 and "snap-record" in clone.file.read_text()


def test_the_effects_of_two_agents_do_not_hide_each_other(store: Store) -> None:
    for caller in (ALICE, BOB):
        store.put_job(a_job("k", caller), NOW)
        job = store.claim(ME, NOW)
        assert job is not None
        assert store.once(job, "same", lambda: "done", NOW, LEASE_S) == "done"


def test_a_clock_that_was_ahead_keeps_no_job_from_being_done(store: Store) -> None:
    orphan, failed = store.put_job(a_job(), NOW), store.put_job(a_job(), NOW)
    assert store.claim(ME, NOW) is not None  # whose worker dies
    job = store.claim(ME, NOW)
    assert job is not None
    store.fail(job, "later", NOW, pause_s=60, attempts=5)
    before = NOW - 86_400
    assert store.due_in(YOU, before) == 0
    taken = [store.claim(YOU, before) for _ in range(2)]
    assert [job.id for job in taken if job] == [orphan.id, failed.id]


def test_the_next_look_is_when_a_pause_or_a_lease_ends(store: Store) -> None:
    assert store.due_in(ME, NOW) is None
    store.put_job(a_job(), NOW)
    assert store.due_in(ME, NOW) == 0
    job = store.claim(ME, NOW)
    assert job is not None
    assert store.due_in(ME, NOW) == LEASE_S
    store.fail(job, "later", NOW, pause_s=7, attempts=5)
    assert store.due_in(ME, NOW) == 7


def test_jobs_survive_the_process_that_queued_them(open_store: Callable[[], Store]) -> None:
    first = open_store()
    job = first.put_job(a_job("k"), NOW)
    first.close()
    assert open_store().claim(ME, NOW) == replace(job, state="running", attempts=1, owner="me", fence=1)


def test_what_is_long_done_is_forgotten(store: Store) -> None:
    store.put_job(a_job("k"), NOW)
    job = store.claim(ME, NOW)
    assert job is not None
    store.once(job, "effect", lambda: None, NOW, LEASE_S)
    store.finish(job, NOW)
    store.seen_worker("me", "host", 1, NOW + 13 * 86_400)
    assert store.put_job(a_job("k"), NOW).state == "done"
    store.seen_worker("me", "host", 1, NOW + 40 * 86_400)
    assert store.put_job(a_job("k"), NOW).state == "done"  # a clock that is ahead for a moment takes nothing
    do_one(store, "later", NOW + 40 * 86_400)
    store.seen_worker("me", "host", 1, NOW + 40 * 86_400)
    assert store.put_job(a_job("k"), NOW).state == "waiting"


def do_one(store: Store, key: str, at: float, effect: str = "another effect") -> None:
    store.put_job(a_job(key), at)
    job = store.claim(ME, at)
    assert job is not None
    store.once(job, effect, lambda: None, at, LEASE_S)
    assert store.finish(job, at)


def test_what_a_job_did_stays_known_as_long_as_it_can_be_tried_again(store: Store) -> None:
    store.put_job(a_job("k"), NOW)
    job = store.claim(ME, NOW)
    assert job is not None
    store.once(job, "effect", lambda: None, NOW, LEASE_S)
    store.fail(job, "no", NOW, pause_s=0, attempts=1)
    do_one(store, "later", NOW + 90 * 86_400)
    store.seen_worker("me", "host", 1, NOW + 90 * 86_400)
    store.retry_job(ALICE, job.id, NOW + 90 * 86_400)
    again = store.claim(ME, NOW + 90 * 86_400)
    assert again is not None
    told = store.once(again, "effect", lambda: "twice", NOW + 90 * 86_400, LEASE_S)
    assert told is None


# Clocks


@pytest.mark.parametrize("back", [0.5, 10.0, 1_800.0, 1e6])
def test_a_clock_that_steps_back_delays_no_new_job(store: Store, back: float) -> None:
    store.put_job(a_job(), NOW)
    assert store.due_in(ME, NOW - back) == 0
    assert store.claim(ME, NOW - back) is not None


@pytest.mark.parametrize(("back", "taken"), [(LEASE_S / 2, False), (1.5 * LEASE_S, True), (1_800.0, True)])
def test_a_lease_of_a_clock_that_was_ahead_lasts_twice_its_time_at_most(store: Store, back: float, taken: bool) -> None:
    store.put_job(a_job(), NOW)
    store.claim(ME, NOW)
    assert (store.claim(YOU, NOW - back) is not None) == taken
    assert taken or store.claim(YOU, NOW - back + 2 * LEASE_S) is not None


def test_a_pause_of_a_clock_that_was_ahead_is_over(store: Store) -> None:
    store.put_job(a_job(), NOW)
    job = store.claim(ME, NOW)
    assert job is not None
    store.fail(job, "no", NOW, pause_s=16, attempts=5)
    assert store.claim(ME, NOW - 10) is None
    assert store.claim(ME, NOW - 1_800) is not None


def test_a_job_that_is_given_back_has_its_attempt_back(store: Store) -> None:
    store.put_job(a_job(), NOW)
    for _ in range(10):
        job = store.claim(ME, NOW)
        assert job is not None and job.attempts == 1
        assert store.release(job, NOW)
        assert not store.release(job, NOW)
    job = store.claim(YOU, NOW)
    assert job is not None
    assert store.claim(ME, NOW + 2 * LEASE_S) is not None
    assert not store.release(job, NOW + 2 * LEASE_S)


# Dead letters


def dead(store: Store, caller: Caller = ALICE) -> Job:
    job = store.put_job(a_job("", caller), NOW)
    leased = store.claim(ME, NOW)
    assert leased is not None
    store.fail(leased, "it cannot be read: private words", NOW, pause_s=0, attempts=1)
    return job


def test_a_dead_letter_can_be_tried_anew_or_thrown_away(open_lore: Callable[[Caller], Lore]) -> None:
    lore = open_lore(ALICE)
    first, second = dead(lore.store), dead(lore.store)
    assert {job.id for job in lore.dead_letters()} == {first.id, second.id}
    assert lore.retry(first.id).state == "waiting"
    assert lore.discard(second.id).id == second.id
    assert lore.dead_letters() == ()
    again = lore.store.claim(ME, NOW)
    assert again is not None and (again.id, again.attempts) == (first.id, 1)
    with pytest.raises(NotFound):
        lore.retry(first.id)


def test_an_agent_sees_its_own_dead_letters_and_a_lead_those_of_the_project(
    open_lore: Callable[[Caller], Lore],
) -> None:
    job = dead(open_lore(ALICE).store)
    assert [found.id for found in open_lore(BOB).dead_letters()] == []
    assert [found.id for found in open_lore(OTHER).dead_letters()] == []
    with pytest.raises(NotFound):
        open_lore(BOB).discard(job.id)
    assert open_lore(ALICE).dead_letters()[0].body == {"text": "what was learned"}
    for caller in (LEAD, PERSON):
        (found,) = open_lore(caller).dead_letters()
        assert (found.id, found.body, found.error) == (job.id, {}, "it cannot be read")


# Messages


def test_a_message_is_in_the_inbox_of_each_recipient_and_of_nobody_else(open_lore: Callable[[Caller], Lore]) -> None:
    sent = open_lore(ALICE).send(["bob", "lead"], "The schema has changed", "Run make schema", thread="schema")
    for caller in (BOB, LEAD):
        (found,) = open_lore(caller).inbox()
        assert found == replace(sent, body="")
        assert open_lore(caller).read(sent.id) == replace(sent, read_at=NOW)
    for caller in (ALICE, PERSON, OTHER, replace(BOB, project=OTHER.project)):
        assert open_lore(caller).inbox() == ()
        with pytest.raises(NotFound):
            open_lore(caller).read(sent.id)
        with pytest.raises(NotFound):
            open_lore(caller).ack(sent.id)


def test_reading_and_acknowledging_are_noted_once_and_for_each_recipient(open_lore: Callable[[Caller], Lore]) -> None:
    sent = open_lore(ALICE).send(["bob", "lead"], "Please look", ack_required=True)
    bob = open_lore(BOB)
    bob.read(sent.id)
    assert [item.id for item in bob.inbox(unread_only=True)] == [sent.id]
    assert bob.ack(sent.id).acked_at == NOW
    assert bob.inbox(unread_only=True) == ()
    assert open_lore(LEAD).inbox()[0].read_at is None
    assert (bob.stats()["mail"], bob.stats()["mail_unread"]) == (1, 0)


def test_the_inbox_is_newest_first_and_can_be_narrowed_to_what_is_urgent(open_lore: Callable[[Caller], Lore]) -> None:
    alice, bob = open_lore(ALICE), open_lore(BOB)
    for number, importance in enumerate(["urgent", "low", "normal", "high", "normal", "normal"]):
        alice.send(["bob"], f"number {number}", importance=importance)
    assert [item.subject for item in bob.inbox()] == [f"number {number}" for number in (5, 4, 3, 2, 1)]
    assert [item.subject for item in bob.inbox(urgent_only=True)] == ["number 0"]


def test_the_beginning_of_an_id_is_enough_where_it_fits_one(open_lore: Callable[[Caller], Lore]) -> None:
    sent = [open_lore(ALICE).send(["bob"], f"number {number}") for number in range(2)]
    bob = open_lore(BOB)
    with pytest.raises(Ambiguous):
        bob.read(sent[0].id[:3])
    assert bob.read(sent[1].id[:-1]).subject == "number 1"


def test_agents_of_a_project_know_each_other(open_lore: Callable[[Caller], Lore]) -> None:
    open_lore(ALICE).register(program="claude", task="the importer")
    open_lore(ALICE).register(program="claude", task="the exporter")
    open_lore(BOB).register(model="m")
    told = {(agent.name, agent.program, agent.model, agent.task) for agent in open_lore(LEAD).agents()}
    assert told == {("alice", "claude", "", "the exporter"), ("bob", "", "m", "")}
    assert open_lore(OTHER).agents() == ()


def test_secrets_are_redacted_in_all_that_is_stored(open_lore: Callable[[Caller], Lore]) -> None:
    lore = open_lore(ALICE)
    sent = lore.send(["bob"], f"token {SECRET}", f"use {SECRET}", thread=SECRET)
    lore.register(task=f"with {SECRET}")
    job = lore.enqueue("extract", {"transcript": [{"text": f"export TOKEN={SECRET}"}]}, SECRET)
    rows = [str(lore.store.engine.run(f"SELECT * FROM {table}")) for table in ("message", "recipient", "job", "agent")]
    assert all(SECRET not in text for text in (*rows, str(sent), str(job)))
    assert "[redacted:" in sent.body and "[redacted:" in str(job.body)


def test_no_byte_of_a_secret_reaches_the_files_of_a_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Lore.open(home, cwd=tmp_path, caller=ALICE, env=quick_env()) as lore:
        lore.send(["bob"], f"token {SECRET}", f"use {SECRET}")
        lore.enqueue("extract", {f"name {SECRET}": {"text": SECRET}}, SECRET)
        job = lore.store.claim(ME, lore.store.engine.now())
        assert job is not None
        assert holding(home, SECRET) == []
    assert holding(home, SECRET) == []


def holding(home: Path, text: str) -> list[str]:
    """The files with these bytes in them."""
    return [path.name for path in home.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


def test_what_is_erased_is_erased_from_mail_and_jobs_too(open_lore: Callable[[Caller], Lore], tmp_path: Path) -> None:
    text = 'The "staging" database lives on host galaxy-nine behind the old gateway'
    lore = open_lore(ALICE)
    told = lore.remember(text)
    lore.enqueue("extract", {"transcript": [f"he said: {text}, and left"]}, "k")
    lore.send(["bob"], "s", f"note: {text}")
    lore.forget(told.memory.id, erase=True)
    job = lore.store.claim(ME, NOW)
    assert job is not None and job.body == {"transcript": ["he said: [erased], and left"]}
    assert open_lore(BOB).read(open_lore(BOB).inbox()[0].id).body == "note: [erased]"
    assert holding(tmp_path, "galaxy-nine") == []


def test_what_is_erased_is_found_by_its_words_where_it_was_said_in_other_ones(
    open_lore: Callable[[Caller], Lore], tmp_path: Path
) -> None:
    lore = open_lore(ALICE)
    told = lore.remember("Never commit what the galaxy-nine generator writes into the proto folder.")
    said = "No, never commit what the galaxy-nine\u00a0generator writes into the proto folder!"
    lore.enqueue("extract", {"turns": [{"role": "user", "text": said}, {"role": "user", "text": "go on"}]}, "k")
    lore.send(["memory-catcher"], "notes", json.dumps({"evaluation": said, "success": True}))
    lore.outcome(success=True, summary="the proto folder", evaluation=said, task="t")
    lore.forget(told.memory.id, erase=True)
    job = lore.store.claim(ME, NOW)
    assert job is not None and [turn["text"] for turn in job.body["turns"]] == ["[erased]", "go on"]
    assert holding(tmp_path, "galaxy-nine") == []


def test_erasing_changes_nobody_elses_mail_or_jobs(open_lore: Callable[[Caller], Lore]) -> None:
    text = "The staging database lives on host galaxy-nine behind the old gateway"
    told = open_lore(ALICE).remember(text)
    between_others = open_lore(BOB).send(["carol"], "s", text)
    elsewhere = open_lore(OTHER).send(["alice"], "s", text)
    job = open_lore(BOB).enqueue("extract", {"text": text}, "k")
    open_lore(ALICE).forget(told.memory.id, erase=True)
    assert open_lore(BOB).sent(ref=between_others.id)[0].message.body == text
    assert open_lore(OTHER).sent(ref=elsewhere.id)[0].message.body == text
    assert [kept.body for kept in open_lore(BOB).jobs() if kept.id == job.id] == [{"text": text}]


@pytest.mark.parametrize("name", ["José Ä", "my  agent", "a  b", "x" * 120])
def test_who_registered_can_be_written_to_by_that_very_name(open_lore: Callable[[Caller], Lore], name: str) -> None:
    own = open_lore(replace(BOB, agent=unicodedata.normalize("NFD", name)))
    known = own.register().name
    open_lore(ALICE).send([known], "s", "text")
    assert [message.subject for message in own.inbox()] == ["s"]


def test_a_job_that_waits_takes_what_is_queued_again_under_its_key(store: Store) -> None:
    store.put_job(a_job("k"), NOW)
    told = store.put_job(replace(a_job("k"), body={"text": "more"}), NOW + 1, again=True)
    assert told.body == {"text": "more"}
    assert [job.body for job in store.open_jobs(ALICE, 5)] == [{"text": "more"}]


def test_undo_takes_back_what_the_caller_did_and_not_what_was_done_for_it(
    open_lore: Callable[[Caller], Lore],
) -> None:
    lore = open_lore(ALICE)
    mine = lore.remember("Prefer small commits with one reason each in this repository").memory
    lore.enqueue("extract", {}, "k")
    job = lore.store.claim(ME, lore.store.engine.now)
    assert job is not None
    later = "The staging database listens on port 5433 since the move"
    lore.once(job, lambda: lore.remember(later, auto_generated=True))
    lore.undo()
    assert not lore.get(mine.id).live
    assert [memory.text for memory in lore.list()] == [later]


def test_a_session_that_is_forgotten_teaches_nothing_any_more(open_lore: Callable[[Caller], Lore]) -> None:
    lore = open_lore(ALICE)
    for session in ("s1", "s2"):
        lore.enqueue("extract", {"session": session, "turns": []}, session)
    asked = lore.send(["memory-catcher"], "memory-catcher-extract", '{"success": true, "summary": "s"}')
    running = lore.store.claim(ME, NOW)
    assert running is not None and running.body["session"] == "s1"
    lore.forget_origin(session="s1")
    with pytest.raises(Conflict):
        lore.once(running, lambda: None)
    lore.forget_origin(source=asked.id, erase=True)
    assert [job.key for job in lore.jobs()] == ["s2"]
    assert lore.sent() == ()


def test_a_message_that_asked_for_a_job_is_acknowledged_and_emptied_with_it(
    open_lore: Callable[[Caller], Lore],
) -> None:
    lore = open_lore(ALICE)
    sent = lore.send(["memory-catcher"], "memory-catcher-extract", '{"success": true, "summary": "s"}')
    job = lore.store.claim(ME, NOW)
    assert job is not None and lore.store.finish(job, NOW)
    (told,) = lore.sent(ref=sent.id)
    assert told.message.body == "" and told.deliveries[0].acked_at == NOW


def test_mail_that_was_read_goes_after_its_time_and_unread_mail_later(open_lore: Callable[[Caller], Lore]) -> None:
    lore, day = open_lore(ALICE), 86_400
    old = lore.send(["bob"], "old", "text")
    lore.send(["bob"], "older, unread", "text")
    open_lore(BOB).read(old.id)
    subjects = []
    for at in (NOW + 80 * day, NOW + 91 * day, NOW + 361 * day):
        with lore.store.queueing():
            lore.store.prune_mail(ALICE, at, 90)
        subjects.append([item.message.subject for item in lore.sent()])
    assert subjects == [["older, unread", "old"], ["older, unread"], []]


def test_what_waits_in_a_project_is_found_when_it_gets_another_name(
    open_store: Callable[[], Store], tmp_path: Path
) -> None:
    store = open_store()
    caller = replace(ALICE, project=store.join_projects(["/repo/.git"], NOW))
    store.put_job(replace(a_job("k"), project=caller.project), NOW)
    later = open_store()
    root = later.join_projects(["example.com/x/y", "/repo/.git"], NOW)
    later.put_job(replace(a_job("l"), project=root), NOW)
    assert {job.key for job in open_store().open_jobs(replace(ALICE, project=root), 5)} == {"k", "l"}


@pytest.mark.parametrize(
    ("to", "subject", "body", "more"),
    [
        ([], "s", "b", {}),
        ([""], "s", "b", {}),
        (["x" * 200], "s", "b", {}),
        (["bob"] * 51, "s", "b", {}),
        (["bob"], "x" * 600, "b", {}),
        (["bob"], "s", "x" * (MOST_BODY + 1), {}),
        (["bob"], "s", "ü" * (MOST_BODY // 2 + 1), {}),
        (["bob"], "s", "half \ud800", {}),
        (["bob"], "s", 5, {}),
        *((["bob"], " ", body, {}) for body in ("", " \n", "\x00", "\x1f", "\x7f", "\x80", "\x85", "\u200b", "\ufeff")),
        *((["bob"], mark, " ", {}) for mark in ("\x80", "\u200b\u200b")),
        (["bob"], None, "b", {}),
        ([3], "s", "b", {}),
        (["bob"], "s", "b", {"importance": "huge"}),
        (["bob"], "s", "b", {"thread": "x" * 600}),
    ],
)
def test_odd_mail_is_refused_with_a_hint(lore: Lore, to: object, subject: object, body: object, more: dict) -> None:
    with pytest.raises(InvalidInput) as refused:
        lore.send(to, subject, body, **more)  # type: ignore[arg-type]
    assert refused.value.hint
    assert lore.store.engine.run("SELECT count(*) FROM message") == [(0,)]


def nested(depth: int) -> dict:
    value: dict = {}
    for _ in range(depth):
        value = {"deeper": value}
    return value


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("explode", {}),
        ("extract", "no mapping"),
        ("extract", {"text": "x" * (MOST_JOB + 1)}),
        ("extract", {"number": float("nan")}),
        ("extract", {"thing": object()}),
        ("extract", nested(100_000)),
    ],
    ids=["kind", "text", "large", "nan", "object", "deep"],
)
def test_odd_jobs_are_refused_with_a_hint(lore: Lore, kind: str, body: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        lore.enqueue(kind, body)  # type: ignore[arg-type]
    assert refused.value.hint


@pytest.mark.parametrize("ref", ["", "  ", "'; DROP TABLE job; --", "x" * 65, "%", None, 5])
def test_odd_ids_are_refused(lore: Lore, ref: object) -> None:
    for verb in (lore.read, lore.ack, lore.retry, lore.discard):
        with pytest.raises((InvalidInput, NotFound)):
            verb(ref)  # type: ignore[arg-type]


def test_mail_needs_a_name(open_lore: Callable[[Caller], Lore]) -> None:
    nobody = open_lore(NOBODY)
    for act in (nobody.register, nobody.inbox, lambda: nobody.send(["bob"], "s")):
        with pytest.raises(NotAllowed):
            act()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('{"summary": "done", "error_count": 2}', {"outcome": {"summary": "done", "error_count": 2}}),
        ("not json", {"outcome": {}, "text": "not json"}),
        ("[1, 2]", {"outcome": {}, "text": "[1, 2]"}),
        ("[" * 60_000, {"outcome": {}, "text": "[" * 60_000}),
    ],
    ids=["json", "text", "list", "deep"],
)
def test_mail_to_the_memory_catcher_asks_for_one_extraction(lore: Lore, body: str, expected: dict) -> None:
    sent = lore.send(["memory-catcher"], "memory-catcher-extract", body)
    job = lore.store.claim(ME, lore.store.engine.now() + 1)
    assert job is not None
    assert (job.kind, job.key) == ("extract", f"mail:{sent.id}")
    assert job.body == {"mail": sent.id, "from": "alice", **expected}


def test_other_mail_to_the_memory_catcher_is_only_mail(lore: Lore) -> None:
    lore.send(["memory-catcher"], "hello", "{}")
    lore.send(["bob"], "memory-catcher-extract", "{}")
    assert lore.store.queue_length(10) == 0


@pytest.mark.parametrize("char", ["\0", "\x1b", "\x07", "\x08", "\x7f", "\x80"])
def test_control_characters_reach_nobody(open_lore: Callable[[Caller], Lore], char: str) -> None:
    sent = open_lore(ALICE).send(["bob"], f"a{char}b", f"c{char}d\n", thread=f"e{char}f")
    found = open_lore(BOB).read(sent.id)
    assert (found.subject, found.body, found.thread) == ("ab", "cd\n", "ef")
    assert open_lore(ALICE).enqueue("extract", {"output": f"g{char}h"}, f"i{char}j").key == "ij"


# Round trips

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
quick = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


@quick
@given(subject=TEXTS, body=TEXTS)
@example(subject="", body="\x1b")
@example(subject="\x80", body="\x7f")
def test_any_text_comes_back_as_it_was_cleaned(open_lore: Callable[[Caller], Lore], subject: str, body: str) -> None:
    cleaned, title = (
        scrub_text("".join(char for char in text if char in "\t\n\r" or ord(char) not in (*range(32), 127)))
        for text in (body, subject)
    )
    if not (title.strip() or cleaned.strip()):
        with pytest.raises(InvalidInput):
            _kept(open_lore, ALICE).send(["bob"], subject, body)
        return
    sent = _kept(open_lore, ALICE).send(["bob"], subject, body)
    assert sent.body == cleaned
    assert _kept(open_lore, BOB).read(sent.id) == replace(sent, read_at=NOW)


@quick
@given(body=st.dictionaries(TEXTS, VALUES, max_size=4), key=TEXTS.filter(lambda key: len(key.encode()) < 500))
def test_any_json_comes_back_as_it_was_cleaned(
    open_lore: Callable[[Caller], Lore], body: dict[str, Any], key: str
) -> None:
    lore = _kept(open_lore, ALICE)
    job = lore.enqueue("extract", body, key, again=True)
    assert job.body == scrub_value(body)
    leased = lore.store.claim(ME, NOW)
    assert leased is not None and leased == replace(job, state="running", attempts=1, owner="me", fence=leased.fence)
    assert lore.store.finish(leased, NOW)


_open: dict[tuple[int, Caller], Lore] = {}


def _kept(open_lore: Callable[[Caller], Lore], caller: Caller) -> Lore:
    """One for all examples of a test."""
    key = (id(open_lore), caller)
    if key not in _open:
        _open[key] = open_lore(caller)
    return _open[key]


# On a server


def test_the_database_shows_an_inbox_to_its_agent_only_and_jobs_to_their_login_only(tmp_path: Path) -> None:
    """Statements that forget whose rows they want."""
    from databases import LOGIN, server

    server().empty()
    server().admin("DROP ROLE IF EXISTS stranger")
    server().admin("CREATE ROLE stranger LOGIN; GRANT swarmlore_app TO stranger")
    own = Store.connect(server().url, NOW)
    other = Store.connect(server().url.replace(f"{LOGIN}:@", "stranger:@"), NOW)
    env = quick_env(SWARMLORE_STORE_URL=server().url)
    with Lore.open(tmp_path, cwd=tmp_path, caller=ALICE, env=env) as lore:
        lore.send(["bob"], "for bob")
        lore.enqueue("extract", {}, "k")
    try:
        for caller, messages, jobs in ((ALICE, 1, 1), (BOB, 1, 0), (LEAD, 0, 0), (PERSON, 0, 0), (OTHER, 0, 0)):
            own.act_for(caller)
            counts = [
                own.engine.run(f"SELECT count(*) FROM {table}")[0][0] for table in ("message", "recipient", "job")
            ]
            assert counts == [messages, messages, jobs], caller
        assert (own.queue_length(9), other.queue_length(9)) == (1, 0)
        assert other.claim(ME, NOW) is None
        taken = other.claim(replace(ME, team=True), own.engine.now())
        assert taken is not None and taken.agent == "alice"
    finally:
        own.close()
        other.close()
        server().admin("DROP ROLE stranger")


def test_an_agent_of_the_same_login_can_be_called_by_its_short_name(tmp_path: Path) -> None:
    from databases import server

    server().empty()
    env = quick_env(SWARMLORE_STORE_URL=server().url, SWARMLORE_PROJECT="p")
    with Lore.open(tmp_path / "a", cwd=tmp_path, env={**env, "SWARMLORE_AGENT": "alice"}) as lore:
        assert lore.send(["bob", "ada/claude", "memory-catcher"], "s").to == (
            "tester/bob",
            "ada/claude",
            "memory-catcher",
        )
    with Lore.open(tmp_path / "b", cwd=tmp_path, env={**env, "SWARMLORE_AGENT": "bob"}) as lore:
        assert [item.sender for item in lore.inbox()] == ["tester/alice"]
