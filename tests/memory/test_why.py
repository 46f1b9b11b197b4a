"""A memory explained: where from, what it did, why it ranks as it does, what would remove it; on both engines."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import Run
from conftest import ALICE, BOB, NOW, PERSON, Open, a_memory
from swarmlore.domain.policy.lifecycle import LifeTerms
from swarmlore.domain.records import Memory, Outcomes
from swarmlore.errors import NotFound
from swarmlore.memory.explain import endings

DAY = 86_400.0
SNAP = "Snapshot tests are recorded with make snap-record"
CUE = "record the snapshot tests again"
TERMS = LifeTerms()


def test_a_memory_tells_its_origin_its_showings_and_what_came_of_them(open_as: Open) -> None:
    lore = open_as(ALICE)
    memory = lore.remember(SNAP, source_ref={"session": "s0", "task": "t7"}).memory
    for session in ("s1", "s1", "s2"):
        lore.quote(lore.recall("snapshot tests"), CUE, session=session)
    lore.outcome(True, session="s1", duration_ms=1, applied=[memory.handle])
    lore.outcome(False, session="s2", duration_ms=10**8, errors=9, retries=9)
    found = lore.why(memory.handle)
    origin = {"source": "manual", "by": "alice", "trust": 2, "project": ALICE.project, "session": "s0", "task": "t7"}
    assert found.origin == origin
    shown = found.showings
    assert (shown.times, shown.sessions, shown.last_at, shown.cut) == (3, 2, NOW, 0)
    assert found.outcomes == {"shown": 3, "applied": 1, "succeeded_after": 1, "failed_after": 1}
    assert [change.action for change in found.changes] == ["added", "rated helpful"]
    assert {part.name for part in found.parts} >= {"feedback"}
    assert found.factor > 1
    assert lore.get(memory.id).access_count == 1  # explaining is no access; this look is the first


def test_what_other_agents_were_shown_is_for_a_lead_or_a_person_to_know(open_as: Open) -> None:
    alice = open_as(ALICE)
    memory = alice.remember(SNAP).memory
    alice.quote(alice.recall("snapshot tests"), CUE, session="s1")
    assert open_as(BOB).why(memory.id).showings.times == 0
    assert open_as(PERSON).why(memory.id).showings.times == 1


def test_what_took_the_place_of_a_memory_is_named_and_what_is_private_is_not(open_as: Open) -> None:
    alice = open_as(ALICE)
    old = alice.remember("Always commit the generated client code to git").memory
    new = alice.remember("Never commit the generated client code to git").memory
    assert alice.why(old.id).links == {"superseded by": (new.handle,)}
    assert alice.why(old.id).ends == ("another memory took its place",)
    assert alice.why(new.id).links == {"supersedes": (old.handle,)}
    private = alice.remember(SNAP, tier="agent").memory
    with pytest.raises(NotFound):
        open_as(BOB).why(private.id)


@pytest.mark.parametrize(
    ("memory", "profile", "first"),
    [
        (a_memory(SNAP), "default", "age does not: a person or an agent wrote it to be kept"),
        (a_memory(SNAP, status="promoted"), "knowledge", "age does not: it is promoted"),
        (a_memory(SNAP), "knowledge", "more than 10 phases without a confirmation, by a sweep"),
        (a_memory(SNAP, max_phases=4), "knowledge", "more than 4 phases without a confirmation, by a sweep"),
        (a_memory(SNAP, category="todo"), "knowledge", "more than 3 phases without a confirmation, by a sweep"),
        (
            a_memory(SNAP, confidence=0.9, outcomes=Outcomes(shown=5, succeeded_after=4, failed_after=1)),
            "knowledge",
            "age does not: it is evergreen",
        ),
        (
            a_memory(SNAP, source="reflect"),
            "default",
            "`curate` would recommend archiving it after 30 days in which nobody is shown it",
        ),
        (
            a_memory(SNAP, source="reflect", updated_at=NOW - 31 * DAY),
            "default",
            "`curate` recommends archiving it, unless somebody was shown it",
        ),
        (a_memory(SNAP, expires_at=NOW + DAY), "default", "it expires on 2027-01-16"),
        (a_memory(SNAP, expires_at=NOW), "default", "its time is over"),
        (a_memory(SNAP, valid_from=NOW + DAY), "default", "it holds from 2027-01-16 on"),
        (a_memory(SNAP, forgotten_at=NOW), "default", "it was forgotten on 2027-01-15"),
        (a_memory(SNAP, status="archived"), "default", "it is archived: no query shows it"),
        (
            a_memory(SNAP, status="quarantined", extra={"quarantine_reason": "wrong since May"}),
            "default",
            "it is quarantined: wrong since May",
        ),
    ],
)
def test_what_would_remove_a_memory_first(memory: Memory, profile: str, first: str) -> None:
    assert endings(memory, NOW, TERMS, profile)[0] == first


def test_a_lesson_that_misleads_says_so() -> None:
    bad = a_memory(SNAP, outcomes=Outcomes(shown=9, applied=5, succeeded_after=1, failed_after=8))
    assert any("recommends archiving it: it was followed often" in line for line in endings(bad, NOW, TERMS, "default"))


def test_the_command_says_it_in_a_few_lines(run: Run) -> None:
    Path("a.py").write_text("one\n")
    handle = run("remember", SNAP, "--cite", "a.py", "--json").json["memory"]["handle"]
    run("rate", handle, "--harmful")
    Path("a.py").write_text("two\n")
    lines = run("why", handle).out.splitlines()
    assert len(lines) <= 15
    told = {line.split()[0]: line for line in lines if line.startswith("  ") and line[2] != " "}
    assert list(told) == ["from", "changed", "did", "ranks", "code", "ends"]
    assert "told by cli, trust 2" in told["from"]
    assert "never shown; rated 1 time, score 0.5" in told["did"]
    assert "feedback ×0.920" in told["ranks"]
    assert "freshness ×0.900" in told["ranks"]
    assert "a.py changed" in told["code"]
    document = run("why", handle, "--json").json
    assert (document["memory"]["handle"], document["showings"]["times"]) == (handle, 0)
    assert run("why", "nothing").code != 0
