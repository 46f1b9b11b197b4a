"""What a rating and the end of a task are worth, by tables of values; and what becomes of them in a store."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line import Run
from conftest import ALICE, BOB, LEAD, a_memory, quick_env
from swarmlore.domain.policy import outcomes
from swarmlore.domain.policy.outcomes import Usage, outcome_score, rated, verdict_of, with_credit, with_outcome
from swarmlore.domain.records import Caller, Outcomes
from swarmlore.errors import Conflict, InvalidInput, NotFound
from swarmlore.frozen import replace
from swarmlore.lore import Lore

LESSON = "Snapshot tests are recorded with make snap-record, never by hand"
CUE = "record the snapshot tests again"
MINUTE = 60_000


@pytest.mark.parametrize(
    ("success", "duration_ms", "errors", "retries", "score", "verdict"),
    [
        (True, 3 * MINUTE, 1, 0, 0.92, "helpful"),  # the example that the seed sums up wrongly
        (True, 0, 0, 0, 1.0, "helpful"),
        (True, 5 * MINUTE - 1, 0, 0, 1.0, "helpful"),
        (True, 5 * MINUTE, 0, 0, 0.92, "helpful"),
        (True, 30 * MINUTE, 0, 0, 0.92, "helpful"),
        (True, 30 * MINUTE + 1, 0, 0, 0.84, "helpful"),
        (True, 31 * MINUTE, 3, 2, 0.54, "neutral"),
        (True, 31 * MINUTE, 2, 1, 0.7, "helpful"),
        (True, 31 * MINUTE, 3, 1, 0.62, "neutral"),
        (False, 0, 0, 0, 0.6, "neutral"),
        (False, 6 * MINUTE, 2, 1, 0.38, "harmful"),
        (False, 6 * MINUTE, 2, 0, 0.44, "neutral"),
        (False, 31 * MINUTE, 3, 2, 0.14, "harmful"),
        (True, None, 0, 0, 1.0, "helpful"),
        (False, None, 0, 0, 0.5, "neutral"),
        (False, None, 1, 0, 0.4, "harmful"),
    ],
)
def test_the_score_of_an_outcome(
    success: bool, duration_ms: int | None, errors: int, retries: int, score: float, verdict: str
) -> None:
    assert outcome_score(success, duration_ms, errors, retries) == score
    assert verdict_of(score) == verdict


def test_a_memory_rises_slowly_and_sinks_quickly() -> None:
    memory = a_memory(LESSON)
    up = rated(memory, True, 10.0)
    assert (up.feedback_score, up.feedback_count, up.last_validated_at) == (1.1, 1, 10.0)
    down = rated(up, False, 20.0)
    assert (down.feedback_score, down.feedback_count, down.last_validated_at) == (0.55, 2, 10.0)


@pytest.mark.parametrize(("helpful", "end"), [(True, outcomes.MOST_FEEDBACK), (False, outcomes.LEAST_FEEDBACK)])
def test_feedback_stays_a_number_that_can_be_ranked_by(helpful: bool, end: float) -> None:
    memory = a_memory(LESSON)
    for _ in range(1000):
        memory = rated(memory, helpful, 1.0)
    assert memory.feedback_score == end
    assert memory.feedback_count == 1000


@pytest.mark.parametrize(
    ("verdict", "counted"),
    [
        ("helpful", Outcomes(shown=1, applied=1, succeeded_after=1)),
        ("harmful", Outcomes(shown=1, applied=1, failed_after=1)),
        ("neutral", Outcomes()),
    ],
)
def test_what_a_task_adds_to_the_counters(verdict: str, counted: Outcomes) -> None:
    assert with_outcome(a_memory(LESSON), verdict, Usage(applied=True, unseen=True)).outcomes == counted


def test_a_cue_becomes_a_situation_only_where_the_memory_helped() -> None:
    memory = a_memory(LESSON)
    cues = {CUE: "prompt", "E1: it broke": "tool-failed", "short": "prompt", "": "session-start"}
    helped = with_credit(memory, "helpful", cues, 5.0, Usage(cited=True))
    assert [(item.text, item.via, item.at) for item in helped.situations] == [
        (CUE, "prompt", 5.0),
        ("E1: it broke", "error", 5.0),
    ]
    assert with_credit(helped, "helpful", cues, 6.0, Usage(cited=True)).situations == helped.situations
    assert with_credit(memory, "harmful", cues, 5.0, Usage(cited=True)).situations == ()
    assert with_credit(memory, "neutral", cues, 5.0, Usage(cited=True, applied=True)) == memory


# In a store, on both engines


@pytest.fixture
def memory_of(engine_name: str, tmp_path: Path) -> Iterator[list[Lore]]:
    """Opens a memory for a caller; see `open_for`."""
    opened: list[Lore] = []
    yield opened
    for lore in opened:
        lore.close()


@pytest.fixture
def learner(engine_name: str, tmp_path: Path, memory_of: list[Lore]) -> Lore:
    env = quick_env()
    if engine_name == "postgres":
        from databases import server

        server().empty()
        env["SWARMLORE_STORE_URL"] = server().url
    memory_of.append(Lore.open(tmp_path / "home", cwd=tmp_path, caller=ALICE, env=env))
    return memory_of[0]


def test_a_rating_is_in_the_history_and_can_be_undone_and_redone(learner: Lore) -> None:
    memory = learner.remember(LESSON).memory
    after = learner.rate(memory.handle, helpful=False)
    assert learner.get(memory.id).feedback_score == after.feedback_score == 0.5
    assert [row.action for row in learner.history(memory.id)] == ["added", "rated harmful"]
    undone = learner.undo()
    assert (learner.get(memory.id).feedback_score, learner.get(memory.id).feedback_count) == (1.0, 0)
    learner.undo(undone.operation)
    assert (learner.get(memory.id).feedback_score, learner.get(memory.id).feedback_count) == (0.5, 1)


def test_a_rating_stands_in_the_way_of_no_other_undo_and_survives_it(learner: Lore) -> None:
    memory = learner.remember(LESSON).memory
    hidden = learner.forget(memory.id)
    forgot = learner.history(memory.id)[-1].operation
    learner.rate(hidden.id, helpful=True)
    learner.undo(forgot)
    now = learner.get(memory.id)
    assert (now.forgotten_at, now.feedback_score) == (None, 1.1)


def test_of_two_ratings_the_older_cannot_be_taken_back_alone(learner: Lore) -> None:
    memory = learner.remember(LESSON).memory
    learner.rate(memory.id, helpful=True)
    first = learner.history(memory.id)[-1].operation
    learner.rate(memory.id, helpful=False)
    with pytest.raises(Conflict):
        learner.undo(first)
    learner.undo()
    learner.undo(first)
    assert learner.get(memory.id).feedback_score == 1.0


def test_what_was_shown_is_counted_and_what_was_used_is_rated(learner: Lore) -> None:
    used = learner.remember(LESSON).memory
    learner.remember("Snapshot tests of the mobile app live in a folder called mobile-shots")
    shown = learner.quote(learner.recall("snapshot tests"), CUE, session="s1").receipt.shown
    assert len(shown) == 2
    told = learner.outcome(True, session="s1", duration_ms=1000, summary=f"as [{used.handle}] says")
    assert (told.score, told.verdict, told.cited) == (1.0, "helpful", (used.id,))
    assert set(told.shown) == {item.memory for item in shown}
    now = learner.get(used.id)
    assert now.outcomes == Outcomes(shown=1, cited=1, succeeded_after=1)
    assert (now.feedback_score, [item.text for item in now.situations]) == (1.1, [CUE])
    [other] = [item for item in learner.list() if item.id != used.id]
    assert other.outcomes == Outcomes(shown=1, succeeded_after=1)
    assert (other.feedback_score, other.situations, other.version) == (1.0, (), 1)
    assert learner.outcomes("s1") == (told,)


def test_a_failure_halves_what_was_applied(learner: Lore) -> None:
    memory = learner.remember(LESSON).memory
    learner.block(CUE, session="s1")
    told = learner.outcome(False, session="s1", duration_ms=31 * MINUTE, errors=3, retries=2, applied=[memory.handle])
    assert told.verdict == "harmful"
    now = learner.get(memory.id)
    assert (now.feedback_score, now.outcomes) == (0.5, Outcomes(shown=1, applied=1, failed_after=1))
    learner.undo(told.id)
    assert learner.get(memory.id).feedback_score == 1.0


def test_a_neutral_end_changes_no_memory(learner: Lore) -> None:
    memory = learner.remember(LESSON).memory
    learner.block(CUE, session="s1")
    before = learner.get(memory.id)
    assert learner.outcome(False, session="s1", duration_ms=1, applied=[memory.handle]).verdict == "neutral"
    after = learner.get(memory.id)
    assert replace(after, access_count=0, last_accessed_at=None) == replace(
        before, access_count=0, last_accessed_at=None
    )


def test_one_task_of_a_session_is_credited_once(learner: Lore) -> None:
    memory = learner.remember(LESSON).memory
    learner.block(CUE, session="s1")
    for task in ("", "", "second"):
        learner.outcome(True, session="s1", task=task, duration_ms=1, applied=[memory.handle])
    now = learner.get(memory.id)
    assert (now.feedback_count, now.outcomes.shown) == (2, 1)
    assert len(learner.outcomes()) == 3


def test_an_outcome_that_was_taken_back_can_be_told_anew(learner: Lore) -> None:
    memory = learner.remember("Integration tests need the redis container: run make up first").memory
    first = learner.outcome(True, session="s1", task="t1", applied=[memory.id])
    assert not first.told_before
    assert learner.outcome(True, session="s1", task="t1", applied=[memory.id]).told_before
    learner.undo(first.id)
    again = learner.outcome(True, session="s1", task="t1", applied=[memory.id])
    assert (again.told_before, learner.get(memory.id).feedback_count) == (False, 1)
    assert learner.get(memory.id).outcomes == Outcomes(shown=1, applied=1, succeeded_after=1)


def test_an_undone_outcome_takes_its_counts_back_and_a_redone_one_brings_them_again(learner: Lore) -> None:
    memory = learner.remember(LESSON).memory
    learner.block(CUE, session="s1")
    told = learner.outcome(False, session="s1", errors=4, retries=3)
    assert learner.get(memory.id).outcomes == Outcomes(shown=1, failed_after=1)
    undone = learner.undo(told.id)
    assert learner.get(memory.id).outcomes == Outcomes(shown=1)
    learner.undo(undone.operation)
    assert learner.get(memory.id).outcomes == Outcomes(shown=1, failed_after=1)


def test_a_showing_counts_whether_or_not_anybody_tells_how_its_task_ended(learner: Lore) -> None:
    memory = learner.remember(LESSON).memory
    for session in ("s1", "s2", "s3"):
        learner.block(CUE, session=session)
    learner.outcome(True, session="s1", duration_ms=1)
    assert learner.get(memory.id).outcomes == Outcomes(shown=3, succeeded_after=1)


def test_nobody_takes_the_credit_of_anothers_session(learner: Lore, memory_of: list[Lore], tmp_path: Path) -> None:
    memory = learner.remember(LESSON).memory
    learner.block(CUE, session="s1")
    env = quick_env(**({"SWARMLORE_STORE_URL": learner.settings.store.url} if learner.settings.store.url else {}))
    memory_of.append(Lore.open(tmp_path / "home", cwd=tmp_path, caller=BOB, env=env))
    memory_of[-1].outcome(False, session="s1", errors=5, retries=5, summary=f"it was {memory.handle}")
    assert learner.get(memory.id).feedback_count == 0
    learner.outcome(True, session="s1", applied=[memory.id])
    assert learner.get(memory.id).feedback_score == 1.1


def test_one_task_without_a_session_is_credited_once(learner: Lore) -> None:
    memory = learner.remember(LESSON).memory
    for _ in range(3):
        learner.outcome(True, task="t1", applied=[memory.id])
    assert learner.get(memory.id).feedback_count == 1


def test_figures_that_nobody_reports_are_those_of_the_session(learner: Lore) -> None:
    session = learner.start_session("s1", errors=3, retries=2, cited=[])
    told = learner.outcome(False, session="s1")
    assert (told.errors, told.retries) == (3, 2)
    assert told.duration_ms == pytest.approx(1000 * (told.at - session.started_at), abs=1)
    assert learner.outcome(False, session="s1", errors=0, retries=0).errors == 0
    assert learner.outcome(False, session="s1", task="one of several").errors == 0


def test_a_mention_that_was_counted_before_is_rated_and_not_counted_again(learner: Lore) -> None:
    memory = learner.remember(LESSON).memory
    learner.block(CUE, session="s1")
    learner.start_session("s1", cited=[memory.handle])
    told = learner.outcome(True, session="s1", duration_ms=1)
    assert told.cited == (memory.id,)
    now = learner.get(memory.id)
    assert (now.feedback_score, now.outcomes.cited, now.outcomes.shown) == (1.1, 0, 1)
    with learner.store.engine.writing():
        learner.store.count_outcomes(replace(now, outcomes=replace(now.outcomes, cited=1)))  # as hooks had done
    learner.undo(told.id)
    assert learner.get(memory.id).outcomes == Outcomes(shown=1, cited=1)


def test_outcomes_go_with_a_store_that_is_copied(learner: Lore, memory_of: list[Lore], tmp_path: Path) -> None:
    memory = learner.remember(LESSON).memory
    told = learner.outcome(True, session="s1", applied=[memory.handle], summary="it was done", files=["a.py"])
    env = quick_env(**({"SWARMLORE_STORE_URL": learner.settings.store.url} if learner.settings.store.url else {}))
    memory_of.append(Lore.open(tmp_path / "home", cwd=tmp_path, caller=LEAD, env=env))
    assert memory_of[-1].migrate_store(str(tmp_path / "copy")).different == ()
    memory_of.append(Lore.open(tmp_path / "copy", cwd=tmp_path, caller=ALICE, env=quick_env()))
    assert memory_of[-1].outcomes() == (told,)


def test_an_undo_without_a_name_passes_over_outcomes(learner: Lore) -> None:
    memory = learner.remember(LESSON).memory
    learner.outcome(True, applied=[memory.handle])
    assert learner.get(memory.id).feedback_score == 1.1
    learner.undo()
    assert learner.get(memory.id).forgotten_at is not None


def test_another_agent_sees_neither_the_outcomes_nor_the_private_memories(
    learner: Lore, memory_of: list[Lore], tmp_path: Path
) -> None:
    private = learner.remember(LESSON, tier="agent").memory
    learner.outcome(True, applied=[private.handle])
    env = quick_env(**({"SWARMLORE_STORE_URL": learner.settings.store.url} if learner.settings.store.url else {}))
    memory_of.append(Lore.open(tmp_path / "home", cwd=tmp_path, caller=BOB, env=env))
    bob = memory_of[-1]
    assert bob.outcomes() == ()
    with pytest.raises(NotFound):
        bob.rate(private.id, helpful=False)
    with pytest.raises(NotFound):
        bob.outcome(True, applied=[private.id])


@pytest.mark.parametrize(
    "facts",
    [
        {"errors": -1},
        {"duration_ms": float("nan")},
        {"duration_ms": 10**400},
        {"failure_mode": "bad luck"},
        {"failure_mode": "timeout"},
        {"summary": 3},
        {"colour": "red"},
    ],
    ids=str,
)
def test_a_wrong_report_is_refused(lore: Lore, facts: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        lore.outcome(True, **facts)
    assert lore.outcomes() == ()


def test_a_rating_is_a_yes_or_a_no(lore: Lore) -> None:
    memory = lore.remember(LESSON).memory
    with pytest.raises(InvalidInput):
        lore.rate(memory.id, helpful="yes")  # type: ignore[arg-type]


def test_long_reports_are_cut_and_secrets_taken_out(lore: Lore) -> None:
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    told = lore.outcome(True, summary=f"{secret} " + "x" * 10_000, files=[f"{number}.py" for number in range(500)])
    assert secret not in told.summary
    assert (len(told.summary), len(told.files)) == (4_000, 100)


# What to begin with


def test_prime_shows_the_stack_what_stands_and_what_is_new(lore: Lore, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    proven = lore.remember("Run make bootstrap before the first build", kind="commitment", status="promoted").memory
    for number in range(8):
        lore.remember(f"Service s{number * 31} answers on port {2000 + number * 13} only")
    lore.remember("The web client needs npm ci, never npm install", scope="stack:node")
    begin = lore.prime()
    assert begin.stacks == ("python",)
    assert begin.relevant[0].memory.id == proven.id
    assert (len(begin.relevant), len(begin.recent)) == (5, 4)
    ids = [hit.memory.id for hit in (*begin.relevant, *begin.recent)]
    assert len(set(ids)) == len(ids)
    assert all("npm" not in hit.memory.text for hit in (*begin.relevant, *begin.recent))


def test_prime_with_a_topic_shows_what_fits_it(lore: Lore) -> None:
    lore.remember("Run make bootstrap before the first build", status="promoted")
    about = lore.remember(LESSON).memory
    begin = lore.prime("snapshot tests")
    assert [hit.memory.id for hit in begin.relevant] == [about.id]
    assert [hit.memory.text for hit in begin.recent] == ["Run make bootstrap before the first build"]


def test_prime_in_an_empty_memory_is_empty(lore: Lore) -> None:
    begin = lore.prime()
    assert (begin.relevant, begin.recent) == ((), ())


# Proposals

SAID = """User: update the reference images
Assistant: I edited the files under snapshots/.
User: No, never edit the snapshot files by hand, always use make snap-record.
"""


# As commands


def test_the_commands_say_what_happened(run: Run) -> None:
    handle = run("remember", LESSON, "--json").json["memory"]["handle"]
    assert "helped" in run("rate", handle, "--helpful").out
    assert run("rate", handle, "--harmful", "--json").json["memory"]["feedback_score"] == 0.55
    told = run("outcome", "--success", "--duration-ms", "180000", "--errors", "1", "--json").json
    assert (told["score"], told["verdict"], told["class"]) == (0.92, "helpful", "helpful")
    ended = run("outcome", "--failed", "--errors", "3", "--retries", "2", "--applied", handle, "--summary", "it broke")
    assert "harmful" in ended.out
    assert re.search(r"undo [0-9a-f-]{36}", ended.out)
    assert "none was credited" in run("outcome", "--success").out
    assert "no memory changed" in run("outcome", "--failed").out
    assert run("outcome", "--success", "--failure-mode", "timeout").code == 2
    assert LESSON in run("prime").out
    assert LESSON in run("prime", "snapshot", "tests").out
    assert "make snap-record" in run("reflect", "-", stdin=SAID.encode()).out


def test_a_rating_needs_a_direction_and_an_outcome_an_end(run: Run) -> None:
    assert run("rate", "3f9a2c").code == 2
    assert run("rate", "3f9a2c", "--helpful", "--harmful").code == 2
    assert run("outcome").code == 2
    assert run("outcome", "--failed", "--failure-mode", "bad luck").code == 2


def test_nobody_is_anybody(tmp_path: Path) -> None:
    """A caller without a name can report, and is credited nothing that is private."""
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=Caller("p", ""), env=quick_env()) as lore:
        assert lore.outcome(True).verdict == "helpful"
