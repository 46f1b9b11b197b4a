"""One look over all lessons: what it finds by tables of cases, and deciding by number in a store, on both engines."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import servers
from command_line import Run
from conftest import ALICE, BOB, LEAD, NOW, PERSON, a_memory, an_operation, engine_env, quick_env
from swarmlore.domain.policy import curation
from swarmlore.domain.policy.curation import Finding, in_order, judged, may_be_unused, merged_text, pairs, useless
from swarmlore.domain.policy.lifecycle import LifeTerms
from swarmlore.domain.records import Caller, Confirmation, Memory, Outcomes
from swarmlore.errors import Conflict, InvalidInput, NotAllowed, NotFound
from swarmlore.frozen import replace
from swarmlore.lore import Lore
from swarmlore.memory import curation as curated
from swarmlore.memory.curation import Curated, Kept, Recommendation

DAY = 86_400.0
TERMS = LifeTerms()
ALWAYS = "Always commit the generated client code to git"
NEVER = "Never commit the generated client code to git"
SNAP = "Snapshot tests are recorded with make snap-record"
SNAP_AGAIN = "Snapshot tests are recorded with make snap-record, never by hand"


# What two lessons are to each other


@pytest.mark.parametrize(
    ("one", "other", "what", "action"),
    [
        (a_memory(ALWAYS), a_memory(NEVER), "contradiction", "supersede"),
        (a_memory(ALWAYS), a_memory(NEVER, tier="hive"), "contradiction", "decide"),
        (a_memory(ALWAYS), a_memory(NEVER, scope="stack:python"), "contradiction", "decide"),
        (a_memory(SNAP), a_memory(SNAP), "duplicate", "merge"),
        (a_memory(SNAP), a_memory(SNAP, scope="stack:python"), None, None),
        (a_memory(SNAP), a_memory(SNAP, tier="agent"), None, None),
        (a_memory(SNAP), a_memory(SNAP, tier="hive", project="git.example/beta"), "known in the hive", "meet"),
        (a_memory(SNAP), a_memory(SNAP, tier="hive"), None, None),
        (
            a_memory("Redis listens on port 6379 in staging"),
            a_memory("Redis listens on port 6380 in staging"),
            None,
            None,
        ),
        (a_memory(SNAP), a_memory("Deploy with make ship after the tests are green"), None, None),
    ],
)
def test_what_two_lessons_are_to_each_other(one: Memory, other: Memory, what: str | None, action: str | None) -> None:
    for pair in ((one, other), (other, one)):
        found = judged(*pair, frozenset({ALICE.project}))
        assert (found and found.what, found and found.action) == (what, action)


def test_a_meeting_that_was_counted_is_not_found_again() -> None:
    hive = a_memory(
        SNAP, tier="hive", project="git.example/beta", confirmed_by=(Confirmation("git.example/alpha", NOW),)
    )
    assert judged(a_memory(SNAP), hive, frozenset({"git.example/alpha"})) is None


def test_of_two_that_contradict_the_better_proven_one_stays() -> None:
    trusted, newer = a_memory(ALWAYS, trust=3), a_memory(NEVER, trust=2, created_at=NOW + 1)
    found = judged(newer, trusted)
    assert found is not None
    assert [memory.text for memory in found.memories] == [ALWAYS, NEVER]


def test_a_less_trusted_text_does_not_change_the_other() -> None:
    assert merged_text(a_memory(SNAP, trust=3), a_memory(SNAP_AGAIN, trust=2)) == ""
    assert merged_text(a_memory(SNAP_AGAIN, trust=3), a_memory(SNAP, trust=2)) == SNAP_AGAIN
    for pair in ((SNAP, SNAP_AGAIN), (SNAP_AGAIN, SNAP)):
        assert merged_text(*(a_memory(text, trust=2) for text in pair)) == SNAP_AGAIN


def test_lessons_that_are_linked_are_looked_at_though_they_share_no_phrase() -> None:
    one, other = a_memory("Use tabs"), a_memory("Spaces it is")
    assert list(pairs([one, other])) == []
    assert list(pairs([one, other], [(other.id, one.id), (one.id, "gone")])) == [(one, other)]


def test_ten_thousand_lessons_of_one_form_are_looked_over_in_bounded_work() -> None:
    lessons = [a_memory(f"Service s{n * 31} listens on port {2000 + n * 13} only", id=f"m{n}") for n in range(10_000)]
    lessons += [a_memory(SNAP, id="x1"), a_memory(SNAP_AGAIN, id="x2")]
    found = list(pairs(lessons))
    assert len(found) <= curation.MOST_PAIRS
    assert any({one.id, other.id} == {"x1", "x2"} for one, other in found)


# What is wrong with one lesson


@pytest.mark.parametrize(
    ("outcomes", "flagged"),
    [
        (Outcomes(shown=10, applied=5, succeeded_after=3, failed_after=7), True),  # exactly .3
        (Outcomes(shown=10, applied=4, succeeded_after=0, failed_after=10), False),
        (Outcomes(shown=10, applied=5, succeeded_after=4, failed_after=6), False),
        (Outcomes(shown=2, applied=5, succeeded_after=0, failed_after=2), False),
        (Outcomes(shown=9, applied=9), False),
    ],
)
def test_a_lesson_that_was_followed_and_did_not_help(outcomes: Outcomes, flagged: bool) -> None:
    assert (useless(a_memory(SNAP, outcomes=outcomes), TERMS) is not None) == flagged


@pytest.mark.parametrize(
    ("count", "score", "flagged"), [(2, 0.25, True), (2, 0.5, True), (2, 0.55, False), (1, 0.5, False), (0, 1.0, False)]
)
def test_a_lesson_that_misled_those_who_used_it(count: int, score: float, flagged: bool) -> None:
    rated = a_memory(SNAP, feedback_count=count, feedback_score=score)
    assert (useless(rated, TERMS) is not None) == flagged


@pytest.mark.parametrize(
    ("fields", "unused"),
    [
        ({}, True),
        ({"updated_at": NOW - 29 * DAY}, False),
        ({"updated_at": NOW - 30 * DAY}, True),
        ({"source": "manual"}, False),
        ({"trust": 3}, False),
        ({"status": "promoted"}, False),
        ({"access_count": 1}, False),
        ({"outcomes": Outcomes(shown=1)}, False),
        ({"confirmed_by": (Confirmation("day:2026-01-01", NOW),)}, False),
    ],
    ids=str,
)
def test_which_lessons_may_be_called_unused(fields: dict[str, object], unused: bool) -> None:
    given = {"source": "reflect", "trust": 2, "created_at": NOW - 99 * DAY, "updated_at": NOW - 99 * DAY, **fields}
    assert may_be_unused(a_memory(SNAP, **given), NOW, TERMS) == unused


def test_findings_come_by_urgency_a_memory_in_one_of_them_and_few_of_a_kind() -> None:
    one, other, third = (a_memory(text) for text in (SNAP, SNAP_AGAIN, ALWAYS))
    found = [
        Finding("never shown", "archive", (one,), ""),
        Finding("duplicate", "merge", (one, other), ""),
        Finding("low utility", "archive", (other,), ""),
        *(Finding("never shown", "archive", (a_memory(SNAP),), "") for _ in range(4)),
        Finding("contradiction", "decide", (one, third), ""),
    ]
    kept, left = in_order(found, 3)
    assert [item.what for item in kept] == ["contradiction", "low utility", *["never shown"] * 3]
    assert left == {"never shown": 2}


# In a store, on both engines

Open = Callable[..., Lore]


@pytest.fixture
def open_as(engine_name: str, tmp_path: Path) -> Iterator[Open]:
    """Opens the same memory for a caller at a time."""
    opened: list[Lore] = []
    env = engine_env(engine_name)
    (tmp_path / "project").mkdir()

    def open_(caller: Caller = PERSON, at: float = NOW, **more: str) -> Lore:
        home, folder = tmp_path / "home", tmp_path / "project"
        opened.append(Lore.open(home, cwd=folder, caller=caller, env={**env, **more}, clock=lambda: at))
        return opened[-1]

    yield open_
    for lore in opened:
        lore.close()


def put(lore: Lore, text: str, caller: Caller = ALICE, **fields: object) -> Memory:
    """A lesson as another way than the gate could have brought it in: a file, an older version."""
    memory = a_memory(text, caller, **{"trust": caller.trust, **fields})
    return lore.store.perform(an_operation(caller), lambda act: lore.store.put(act, memory))


def kinds(found: Curated) -> list[tuple[int, str, str]]:
    return [(item.number, item.what, item.action) for item in found.recommendations]


def only(found: Curated) -> Recommendation:
    [item] = found.recommendations
    return item


def test_a_look_changes_nothing_and_tells_both_texts_with_their_evidence(open_as: Open) -> None:
    lore = open_as()
    said = put(lore, ALWAYS, PERSON, confidence=0.9)
    agent = put(lore, NEVER, BOB, outcomes=Outcomes(shown=4, succeeded_after=1, failed_after=3))
    before = lore.list(status="any", limit=100)
    item = only(lore.curate())
    assert (item.what, item.action) == ("contradiction", "supersede")
    assert [(e.handle, e.text, e.trust, e.confidence, e.helped, e.hurt) for e in item.memories] == [
        (said.handle, ALWAYS, 3, 0.9, 0, 0),
        (agent.handle, NEVER, 2, 0.5, 1, 3),
    ]
    assert lore.list(status="any", limit=100) == before
    assert lore.curate().recommendations == (item,)


def test_a_contradiction_that_the_gate_linked_is_surfaced(open_as: Open) -> None:
    person, agent = open_as(PERSON), open_as(ALICE)
    kept = person.remember(ALWAYS).memory
    assert agent.remember(NEVER).outcome == "linked"
    item = only(person.curate())
    assert (item.what, item.memories[0].handle) == ("contradiction", kept.handle)


def test_what_is_applied_is_what_was_shown_in_one_operation_that_can_be_undone(open_as: Open) -> None:
    lore = open_as()
    stays, goes = put(lore, ALWAYS, PERSON), put(lore, NEVER, BOB)
    first, second = put(lore, SNAP, tags=("a",)), put(lore, SNAP_AGAIN, tags=("b",), created_at=NOW + 1)
    assert kinds(lore.curate()) == [(1, "contradiction", "supersede"), (2, "duplicate", "merge")]
    done = lore.apply([2, 1])
    assert done.numbers == (1, 2)
    assert (lore.get(goes.id).status, lore.get(goes.id).superseded_by) == ("superseded", stays.id)
    live = {memory.id: memory for memory in lore.list()}
    assert set(live) == {stays.id, second.id}
    assert (live[second.id].text, live[second.id].tags) == (SNAP_AGAIN, ("b", "a"))
    assert [row.reason for row in lore.history(goes.id)][-1] == "curated: contradiction"
    assert lore.curate().recommendations == ()
    lore.undo(done.operation)
    assert {memory.id for memory in lore.list()} == {stays.id, goes.id, first.id, second.id}


def test_what_changed_meanwhile_is_not_applied_and_neither_is_the_rest(open_as: Open) -> None:
    lore = open_as()
    put(lore, ALWAYS, PERSON)
    goes = put(lore, NEVER, BOB)
    put(lore, SNAP)
    put(lore, SNAP_AGAIN)
    assert len(lore.curate().recommendations) == 2
    lore.rate(goes.id, helpful=True)
    before = lore.list(status="any", limit=100)
    with pytest.raises(Conflict, match="recommendation 1 is about has changed"):
        lore.apply([1, 2])
    assert lore.list(status="any", limit=100) == before
    assert lore.apply([2]).numbers == (2,)


def test_a_memory_that_is_gone_is_a_change_too(open_as: Open) -> None:
    lore = open_as()
    put(lore, SNAP)
    other = put(lore, SNAP_AGAIN)
    assert kinds(lore.curate()) == [(1, "duplicate", "merge")]
    lore.store.perform(an_operation(PERSON, "erase"), lambda act: lore.store.erase(act, lore.get(other.id)))
    with pytest.raises(Conflict):
        lore.apply([1])


def test_numbers_that_nobody_was_shown_are_refused(open_as: Open) -> None:
    lore = open_as()
    with pytest.raises(NotFound):
        lore.apply([1])
    put(lore, SNAP)
    put(lore, SNAP_AGAIN)
    lore.curate()
    for wrong in ([], [0], [2], [1, 2], [True], ["1"], [-1]):
        with pytest.raises(InvalidInput):
            lore.apply(wrong)
    assert lore.apply([1]).numbers == (1,)
    with pytest.raises(Conflict, match="was applied"):
        lore.apply([1])


def test_a_contradiction_across_tiers_is_a_persons_to_decide(open_as: Open) -> None:
    lore = open_as()
    put(lore, ALWAYS, PERSON)
    put(lore, NEVER, Caller("git.example/beta", "carol", "worker", 2), tier="hive")
    assert kinds(lore.curate()) == [(1, "contradiction", "decide")]
    with pytest.raises(InvalidInput, match="yours to decide"):
        lore.apply([1])


def test_a_worker_may_look_and_not_decide_about_others(open_as: Open) -> None:
    worker = open_as(ALICE)
    put(worker, SNAP, BOB)
    put(worker, SNAP_AGAIN, BOB)
    assert kinds(worker.curate()) == [(1, "duplicate", "merge")]
    with pytest.raises(NotAllowed):
        worker.apply([1])
    lead = open_as(LEAD)
    lead.curate()
    assert lead.apply([1]).numbers == (1,)


def test_what_is_private_to_another_is_in_no_recommendation(open_as: Open) -> None:
    lore = open_as(PERSON)
    put(lore, SNAP, BOB, tier="agent")
    put(lore, SNAP_AGAIN, BOB, tier="agent")
    assert lore.curate().scanned == 0
    assert kinds(open_as(BOB).curate()) == [(1, "duplicate", "merge")]


def test_a_lesson_that_misleads_is_archived_on_advice_unless_it_did_better_since(open_as: Open) -> None:
    lore = open_as()
    bad = Outcomes(shown=9, applied=6, succeeded_after=1, failed_after=8)
    memory = put(lore, SNAP, outcomes=bad)
    assert kinds(lore.curate()) == [(1, "low utility", "archive")]
    lore.store.count_outcomes(replace(memory, outcomes=replace(bad, shown=10, succeeded_after=2)))
    with pytest.raises(Conflict):
        lore.apply([1])
    lore.curate()
    assert SNAP in lore.block("record the snapshot tests with make snap-record").text  # another showing says nothing
    done = lore.apply([1])
    assert [item.status for item in done.memories] == ["archived"]
    assert lore.list() == ()


def test_a_lesson_whose_code_changed_is_archived_on_advice_unless_the_code_is_back(
    open_as: Open, tmp_path: Path
) -> None:
    code = tmp_path / "project" / "a.py"
    code.write_text("one\ntwo\nthree\n")
    lore = open_as()
    lore.remember("The importer reads two lines at a time", citations=["a.py:1-2"])
    assert lore.curate().recommendations == ()
    code.write_text("all of it is new\n")
    assert (only(lore.curate()).what, only(lore.curate()).reason) == ("stale", "a.py:1-2 has changed")
    code.write_text("one\ntwo\nthree\n")
    os.utime(code, (NOW, NOW))
    with pytest.raises(Conflict):
        lore.apply([1])
    code.unlink()
    assert only(lore.curate()).reason == "a.py:1-2 is gone"
    assert [item.status for item in lore.apply([1]).memories] == ["archived"]


def test_never_shown_memories_are_proposed_for_archiving(
    open_as: Open,
) -> None:
    old = {"source": "reflect", "created_at": NOW - 60 * DAY, "updated_at": NOW - 60 * DAY}
    lore = open_as(ALICE)
    unused, shown = put(lore, SNAP, **old), put(lore, "Deploy with make ship after the tests", **old)
    put(lore, "The cache needs a restart on Mondays", **{**old, "source": "manual"})
    lore.quote([hit for hit in lore.recall("deploy with make ship") if hit.memory.id == shown.id])
    item = only(lore.curate())
    assert (item.what, item.memories[0].handle) == ("never shown", unused.handle)
    lore.get(unused.id)
    lore.apply([1])
    assert lore.get(unused.id).status == "archived"


def test_what_was_shown_meanwhile_is_not_unused_any_more(open_as: Open) -> None:
    lore = open_as(ALICE)
    put(lore, SNAP, source="reflect", created_at=NOW - 60 * DAY, updated_at=NOW - 60 * DAY)
    assert only(lore.curate()).what == "never shown"
    lore.quote(lore.recall("snapshot tests"))
    with pytest.raises(Conflict):
        lore.apply([1])


def test_a_lesson_that_qualifies_for_the_hive_is_proposed_and_promoted(open_as: Open) -> None:
    lore = open_as()
    put(lore, "Prefer small commits over large ones when you review", PERSON, created_at=NOW - 91 * DAY)
    item = only(lore.curate())
    assert (item.what, item.action) == ("ready for the hive", "promote")
    done = lore.apply([1])
    assert [(m.tier, m.status, m.confidence) for m in done.memories] == [("hive", "candidate", 0.5)]
    assert lore.curate().recommendations == ()
    lore.undo(done.operation)
    assert lore.list(tier="hive") == ()


def test_where_the_project_says_so_lessons_go_to_the_hive_by_themselves(open_as: Open) -> None:
    lore = open_as(PERSON, NOW, SWARMLORE_LIFE_HIVE="auto")
    put(lore, "Prefer small commits over large ones when you review", PERSON, created_at=NOW - 91 * DAY)
    found = lore.curate()
    assert (len(found.promoted), found.recommendations) == (1, ())
    assert [memory.id for memory in lore.list(tier="hive")] == list(found.promoted)


def test_a_project_that_never_shares_is_not_asked_to(open_as: Open) -> None:
    lore = open_as(PERSON, NOW, SWARMLORE_LIFE_HIVE="never")
    put(lore, "Prefer small commits over large ones when you review", PERSON, created_at=NOW - 91 * DAY)
    assert lore.curate().recommendations == ()


def test_a_meeting_with_the_hive_is_counted_on_advice(open_as: Open) -> None:
    lore = open_as()
    hive = put(lore, SNAP, Caller("git.example/beta", "carol", "worker", 2), tier="hive")
    put(lore, SNAP)
    assert kinds(lore.curate()) == [(1, "known in the hive", "meet")]
    lore.apply([1])
    now = lore.get(hive.id)
    assert ([item.where for item in now.confirmed_by], now.encounter_score) == ([PERSON.project], 1.05)
    assert lore.curate().recommendations == ()


def test_erasing_drops_what_was_kept(open_as: Open, tmp_path: Path) -> None:
    lore = open_as()
    put(lore, SNAP)
    other = put(lore, SNAP_AGAIN)
    lore.curate()
    [kept] = (tmp_path / "home").glob("curated-*.json")
    assert "napshot" not in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600
    lore.forget(other.id, erase=True)
    assert not kept.exists()


def test_a_list_that_is_not_in_our_form_is_none(open_as: Open, tmp_path: Path) -> None:
    lore = open_as()
    put(lore, SNAP)
    put(lore, SNAP_AGAIN)
    lore.curate()
    [kept] = (tmp_path / "home").glob("curated-*.json")
    kept.write_text('[{"number": 1}]')
    with pytest.raises(NotFound):
        lore.apply([1])


texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
kept_ones = st.builds(
    Kept,
    number=st.integers(1, 99),
    what=texts,
    action=texts,
    ids=st.lists(texts, max_size=3).map(tuple),
    mark=texts,
    text=texts,
    by=texts,
    operation=texts,
)


@given(st.lists(kept_ones, max_size=5), texts, texts)
def test_what_is_kept_comes_back_as_it_was_and_to_its_reader_only(kept: list[Kept], project: str, agent: str) -> None:
    with tempfile.TemporaryDirectory() as home:
        curated.write(home, (project, agent), kept)
        assert curated.read(home, (project, agent)) == tuple(kept)
        assert curated.read(home, (project, agent + "x")) == ()
        curated.drop(home)
        assert curated.read(home, (project, agent)) == ()


# With a language model


@pytest.fixture
def model(tmp_path: Path) -> Iterator[servers.ModelServer]:
    with servers.running(servers.chat('{"recommendations": []}')) as running:
        yield running


@pytest.fixture
def advised(tmp_path: Path, model: servers.ModelServer) -> Iterator[Lore]:
    writer = {"KIND": "openai", "MODEL": "m", "BASE_URL": model.url, "TIMEOUT_S": "2"}
    env = quick_env(**{f"SWARMLORE_WRITER_{name}": value for name, value in writer.items()})
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=PERSON, env=env, clock=lambda: NOW) as lore:
        yield lore


def answer(*advice: dict[str, object]) -> servers.Reply:
    return servers.chat(json.dumps({"recommendations": advice}))


def test_a_model_may_add_advice_that_is_marked_with_its_name_and_capped(
    advised: Lore, model: servers.ModelServer
) -> None:
    made = [put(advised, f"Note {n * 7919} says hello to nobody in particular at {n * 31}") for n in range(9)]
    model.then(answer(*({"action": "archive", "ids": [m.handle], "text": "", "reason": "empty"} for m in made)))
    found = advised.curate()
    assert [(item.what, item.action) for item in found.recommendations] == [("advice", "archive")] * 5
    assert all(item.by.startswith("openai:m@") for item in found.recommendations)
    assert len(advised.list()) == 9
    assert advised.apply([2]).memories[0].status == "archived"


def test_a_model_merges_only_what_loses_nothing(advised: Lore, model: servers.ModelServer) -> None:
    one = put(advised, "Record snapshot tests with make snap-record")
    other = put(advised, "Look for the new images in the folder shots")
    both = "Record snapshot tests with make snap-record; look for the new images in the folder shots"
    ids = [one.handle, other.handle]
    model.then(answer({"action": "merge", "ids": ids, "text": both, "reason": "one topic"}))
    assert only(advised.curate()).text == both
    assert advised.apply([1]).memories[0].text == both


@pytest.mark.parametrize(
    "advice",
    [
        {"action": "merge", "ids": ["A", "B"], "text": "Snapshots are a thing that exists", "reason": "x"},
        {"action": "merge", "ids": ["A", "B"], "text": "rm -rf / after each snapshot test", "reason": "x"},
        {"action": "merge", "ids": ["A"], "text": "Record snapshot tests with make snap-record", "reason": "x"},
        {"action": "merge", "ids": ["A", "A"], "text": "Record snapshot tests with make snap-record", "reason": "x"},
        {"action": "erase", "ids": ["A"], "text": "", "reason": "x"},
        {"action": "archive", "ids": ["nobody"], "text": "", "reason": "x"},
        {"action": "archive", "ids": "A", "text": "", "reason": "x"},
        {"action": "archive", "ids": [["A"]], "text": "", "reason": "x"},
    ],
    ids=str,
)
def test_what_a_model_may_not_do_is_left_out(
    advised: Lore, model: servers.ModelServer, advice: dict[str, object]
) -> None:
    one = put(advised, "Record snapshot tests with make snap-record")
    other = put(advised, "The folder shots holds every snapshot of the tests")
    text = json.dumps(advice).replace('"A"', f'"{one.handle}"').replace('"B"', f'"{other.handle}"')
    model.then(servers.chat(f'{{"recommendations": [{text}, 7]}}'))
    found = advised.curate()
    assert (found.recommendations, found.notes) == ((), ())


def test_a_model_that_fails_is_a_note_and_no_failure(advised: Lore, model: servers.ModelServer) -> None:
    put(advised, SNAP)
    put(advised, SNAP_AGAIN)
    put(advised, "The cache needs a restart on Mondays")
    model.usual = servers.chat("no idea")
    found = advised.curate()
    assert [item.what for item in found.recommendations] == ["duplicate"]
    assert found.notes[0].startswith("the language model added nothing: ")


# As a command


def test_the_command_shows_recommendations_by_number_and_applies_some(run: Run) -> None:
    assert "There is nothing to decide." in run("curate").out
    run("remember", SNAP, "--scope", "stack:python")
    Path("a.py").write_text("one\n")
    handle = run("remember", "The importer reads one line at a time", "--cite", "a.py", "--json").json["memory"][
        "handle"
    ]
    Path("a.py").write_text("two\n")
    shown = run("curate").out
    assert "1  stale: a.py has changed" in shown
    assert f"→ archive {handle}" in shown
    assert "curate --apply 1,3" in shown
    [item] = run("curate", "--json").json["recommendations"]
    assert (item["number"], item["memories"][0]["handle"]) == (1, handle)
    assert run("curate", "--apply", "4").code != 0
    assert run("curate", "--apply", "one").code != 0
    reply = run("curate", "--apply", "1", "--json")
    assert (reply.code, reply.json["numbers"], reply.json["memories"][0]["status"]) == (0, [1], "archived")
    assert run("undo").code == 0
    assert run("get", handle, "--json").json["status"] == "candidate"
