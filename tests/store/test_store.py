"""The contract of the store, on every engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ALICE, BOB, LEAD, NOBODY, NOW, OTHER, PERSON, a_memory, an_operation
from databases import server
from swarmlore.domain.language.tokenizer import query_terms
from swarmlore.domain.records import (
    Caller,
    Citation,
    Confirmation,
    Memory,
    Outcomes,
    Receipt,
    Rejection,
    Session,
    Shown,
    Situation,
)
from swarmlore.errors import Ambiguous, Conflict, NotAllowed, NotFound
from swarmlore.frozen import replace
from swarmlore.memory.report import count_listed
from swarmlore.store.memories import Filter
from swarmlore.store.store import Store


def put(store: Store, memory: Memory, caller: Caller = ALICE) -> Memory:
    with store.operation(an_operation(caller, "remember")) as operation:
        return store.put(operation, memory)


def test_a_memory_comes_back_as_it_went_in(store: Store) -> None:
    memory = a_memory(
        title="Auth",
        kind="correction",
        category="security",
        tags=("auth", "http"),
        entities=("feature:auth",),
        scope="stack:python",
        status="established",
        trust=2,
        source_ref={"session": "s1", "position": 4, "path": "a/b.py"},
        key="learned-bearer",
        confidence=0.8,
        expires_at=NOW + 5,
        valid_from=NOW - 5,
        born_in_phase=3,
        max_phases=7,
        confirmed_by=(Confirmation("day:2026-01-01", NOW, "bob"),),
        feedback_score=1.1,
        feedback_count=1,
        last_validated_at=NOW,
        outcomes=Outcomes(shown=3, cited=1),
        encounter_score=1.5,
        hive_eligible=True,
        auto_generated=True,
        citations=(Citation("src/a.py", 1, 9, "abc", "deadbeef"),),
        situations=(Situation("401 from the gateway", "error", NOW),),
        extra={"lane_version": "1.0.0", "nested": {"a": [1, None, True]}},
    )
    stored = put(store, memory)
    assert store.get(ALICE, memory.id) == stored == replace(memory, handle=stored.handle)
    assert len(stored.handle) >= 6


def test_a_missing_memory_is_none(store: Store) -> None:
    assert store.get(ALICE, "nothing") is None


@pytest.mark.parametrize(
    ("tier", "seen_by"),
    [("agent", {"alice", "other"}), ("swarm", {"alice", "bob", "lead", "nobody", "person"}), ("hive", {"*"})],
)
def test_each_tier_is_seen_by_its_own(store: Store, tier: str, seen_by: set[str]) -> None:
    memory = put(store, a_memory(tier=tier))
    callers = {"alice": ALICE, "bob": BOB, "lead": LEAD, "nobody": NOBODY, "person": PERSON, "other": OTHER}
    seeing = {name for name, caller in callers.items() if store.get(caller, memory.id) is not None}
    assert seeing == (set(callers) if seen_by == {"*"} else seen_by)
    listing = {name for name, caller in callers.items() if store.select(caller, Filter())}
    assert listing == seeing
    terms = query_terms("bearer auth header")
    found = {name for name, caller in callers.items() if store.match_words(terms, store.visible(caller), 5)}
    assert found == seeing
    counted = {name for name, caller in callers.items() if store.counts(caller)}
    assert counted == seeing


def test_a_private_memory_does_not_show_in_prefixes_or_history(store: Store) -> None:
    memory = put(store, a_memory(tier="agent"))
    for ref in (memory.id, memory.handle, memory.id[:13]):
        with pytest.raises(NotFound):
            store.resolve(LEAD, ref)
    with pytest.raises(NotFound):
        store.history(LEAD, memory.id)


def test_handle_id_and_unique_prefix_name_a_memory(store: Store) -> None:
    memory = put(store, a_memory(id="lesson-abc123"))
    for ref in (memory.id, memory.handle, memory.handle.upper(), "lesson-ab"):
        assert store.resolve(ALICE, ref) == memory


def test_an_ambiguous_prefix_names_what_fits(store: Store) -> None:
    one, two = put(store, a_memory(id="lesson-1")), put(store, a_memory(id="lesson-2"))
    with pytest.raises(Ambiguous) as caught:
        store.resolve(ALICE, "lesson-")
    assert set(caught.value.candidates) == {one.id, two.id}


def test_a_taken_handle_grows(store: Store) -> None:
    first = put(store, a_memory(id="018f0000-0000-7000-8000-000000abcdef"))
    second = put(store, a_memory(id="018f0000-0000-7000-8000-111111abcdef"))
    assert (first.handle, second.handle) == ("abcdef", "1abcdef")


def test_a_revision_keeps_the_former_version_in_the_history(store: Store) -> None:
    memory = put(store, a_memory())
    with store.operation(an_operation(BOB, "remember", NOW + 1)) as operation:
        after = store.revise(operation, memory, replace(memory, text="Bearer prefix, always"), "updated", "shorter")
    rows = store.history(ALICE, memory.id)
    assert [(row.action, row.by, row.reason) for row in rows] == [("added", "alice", ""), ("updated", "bob", "shorter")]
    assert rows[1].before is not None and rows[1].before["text"] == memory.text
    assert rows[1].after is not None and rows[1].after["text"] == after.text
    assert after.version == 2


def test_words_follow_the_text(store: Store) -> None:
    memory = put(store, a_memory("Snapshots are recorded with make snap-record"))
    visible = store.visible(ALICE)
    assert store.match_words(query_terms("snapshots"), visible, 5)
    with store.operation(an_operation()) as operation:
        store.revise(operation, memory, replace(memory, text="Fixtures live in tests/data"), "updated")
    assert not store.match_words(query_terms("snapshots"), visible, 5)
    assert store.match_words(query_terms("fixtures"), visible, 5)


@pytest.mark.parametrize("status", ["archived", "quarantined", "deprecated", "superseded"])
def test_what_is_not_live_is_not_found_and_comes_back_when_it_is(store: Store, status: str) -> None:
    memory = put(store, a_memory())
    visible = store.visible(ALICE)
    with store.operation(an_operation()) as operation:
        hidden = store.revise(operation, memory, replace(memory, status=status), "hidden")
    assert not store.match_words(["bearer"], visible, 5)
    assert not store.neighbours(visible[0], memory.text)
    with store.operation(an_operation()) as operation:
        store.revise(operation, hidden, replace(hidden, status="candidate"), "restored")
    assert store.match_words(["bearer"], visible, 5)
    assert store.neighbours(visible[0], memory.text)


def test_user_text_never_becomes_query_syntax(store: Store) -> None:
    put(store, a_memory())
    for text in (
        '"',
        "a AND",
        "NEAR(a b)",
        "col:x",
        "*",
        "^a",
        "-x",
        "(",
        "{title}:a",
        "a\x00b",
        "'; DROP TABLE memory",
    ):
        store.match_words([text], store.visible(ALICE), 5)
        store.match_words(query_terms(text), store.visible(ALICE), 5)
    assert len(store.select(ALICE, Filter())) == 1


def test_neighbours_are_found_by_shared_words_in_their_own_partition_only(store: Store) -> None:
    text = "Always run the database migrations before starting the integration tests"
    near = put(store, a_memory("Always run the database migrations before starting the integration tests again"))
    put(store, a_memory(text, tier="agent"))
    put(store, a_memory(text, OTHER), OTHER)
    put(store, a_memory("Use pnpm instead of npm in this repository"))
    partition = store.partition_of(near)
    assert list(store.neighbours(partition, text).values()) == [near]


def test_list_filters_and_pages(store: Store) -> None:
    for number in range(7):
        put(
            store,
            a_memory(
                f"Lesson number {number} about testing",
                kind="decision" if number % 2 else "insight",
                tags=(f"t{number}",),
            ),
        )
    assert [m.text[14] for m in store.select(ALICE, Filter(limit=3, offset=2))] == ["4", "3", "2"]
    assert len(store.select(ALICE, Filter(kind="decision"))) == 3
    assert [m.tags for m in store.select(ALICE, Filter(tags=("t5",)))] == [("t5",)]
    assert store.select(ALICE, Filter(source="transcript")) == []


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Filter(), ["shared", "kept", "file", "own"]),
        (Filter(tiers=("agent", "hive")), ["file", "own"]),
        (Filter(tier="swarm", tiers=("agent",)), ["shared", "kept", "file", "own"]),
        (Filter(sources=("file_index", "note")), ["file"]),
        (Filter(source="manual", sources=("file_index",)), ["shared", "file", "own"]),
        (Filter(path="notes/a'%.md"), ["kept", "file"]),
        (Filter(path="notes/a"), []),
        (Filter(path="notes/a'%.md", tier="swarm"), ["kept"]),
        (Filter(owner="bob"), ["shared"]),
        (Filter(session="s1"), ["own"]),
        (Filter(owner="alice", without="manual"), ["kept", "file"]),
    ],
)
def test_what_is_listed_is_counted(store: Store, wanted: Filter, found: list[str]) -> None:
    path = {"path": "notes/a'%.md"}
    put(store, a_memory("The first", title="own", tier="agent", source_ref={"session": "s1"}))
    put(store, a_memory("The second", title="file", tier="agent", source="file_index", source_ref=path))
    put(store, a_memory("The third", title="kept", source="task_completion", source_ref=path))
    put(store, a_memory("The fourth", title="shared", owner="bob"), BOB)
    put(store, a_memory("The fifth", title="hidden", owner="bob", tier="agent", source_ref=path), BOB)
    assert [memory.title for memory in store.select(ALICE, wanted)] == found
    assert count_listed(store, ALICE, wanted) == store.count_selected(ALICE, wanted) == len(found)


def test_situations_are_found_and_only_the_newest_eight_stay(store: Store) -> None:
    many = tuple(Situation(f"prompt number{n} zebra{n}", "prompt", NOW + n) for n in range(12))
    memory = put(store, a_memory(situations=many))
    assert [s.at - NOW for s in memory.situations] == [4, 5, 6, 7, 8, 9, 10, 11]
    assert store.get(ALICE, memory.id) == memory
    visible = store.visible(ALICE)
    assert store.match_cues(["zebra11"], visible, 5) and not store.match_cues(["zebra1"], visible, 5)
    with store.operation(an_operation()) as operation:
        fewer = store.revise(operation, memory, replace(memory, situations=many[-2:]), "trimmed")
    assert store.get(ALICE, memory.id) == fewer
    assert not store.match_cues(["zebra5"], visible, 5) and store.match_cues(["zebra10"], visible, 5)


def test_forget_hides_and_undo_brings_back(store: Store) -> None:
    memory = put(store, a_memory())
    forget = an_operation(ALICE, "forget", NOW + 1)
    with store.operation(forget):
        store.forget(forget, memory)
    assert not store.match_words(["bearer"], store.visible(ALICE), 5)
    undo = replace(an_operation(ALICE, "undo", NOW + 2), undoes=forget.id)
    with store.operation(undo):
        restored = store.undo(undo, store.last_operation(ALICE))
    assert [m.forgotten_at for m in restored] == [None]
    assert store.match_words(["bearer"], store.visible(ALICE), 5)


def test_counts_follow_every_change(store: Store) -> None:
    one = put(store, a_memory(id="01900000-0000-7000-8000-000000000001", text="The worker needs the port 8081"))
    two = put(store, a_memory(id="01900000-0000-7000-8000-000000000002", text="Prices are integers in cents"))

    def counted() -> dict[str, tuple[int, int]]:
        return {status: (rows, hidden) for _, status, _, _, _, rows, hidden in store.counts(ALICE)}

    assert counted() == {one.status: (2, 0)}
    act = an_operation(ALICE, "change", NOW + 1)
    with store.operation(act):
        one = store.revise(act, one, replace(one, status="archived"), "archived")
    assert counted() == {two.status: (1, 0), "archived": (1, 0)}
    forget = an_operation(ALICE, "forget", NOW + 2)
    with store.operation(forget):
        two = store.forget(forget, two)
    assert counted() == {two.status: (1, 1), "archived": (1, 0)}
    erase = an_operation(ALICE, "erase", NOW + 3)
    with store.operation(erase):
        store.erase(erase, two)
        store.erase(erase, one)
    assert counted() == {}


def test_undo_of_an_addition_hides_it_and_an_undo_can_be_undone(store: Store) -> None:
    memory = put(store, a_memory())
    undo = replace(an_operation(ALICE, "undo"), undoes=store.last_operation(ALICE))
    with store.operation(undo):
        store.undo(undo, undo.undoes)
    assert store.select(ALICE, Filter()) == []
    redo = replace(an_operation(ALICE, "undo"), undoes=undo.id)
    with store.operation(redo):
        store.undo(redo, undo.id)
    assert [m.id for m in store.select(ALICE, Filter())] == [memory.id]


def test_undo_is_refused_where_a_newer_version_exists_and_changes_nothing(store: Store) -> None:
    first = an_operation(ALICE, "import")
    with store.operation(first):
        one, two = (
            store.put(first, a_memory("First lesson of an import")),
            store.put(first, a_memory("Second lesson here")),
        )
    with store.operation(an_operation(BOB)) as operation:
        store.revise(operation, one, replace(one, category="testing"), "updated")
    undo = replace(an_operation(ALICE, "undo"), undoes=first.id)
    with pytest.raises(Conflict), store.operation(undo):
        store.undo(undo, first.id)
    assert store.get(ALICE, two.id) == two
    assert len(store.history(ALICE, two.id)) == 1


def test_undo_belongs_to_its_author_or_a_lead(store: Store) -> None:
    put(store, a_memory())
    target = store.last_operation(ALICE)
    undo = an_operation(BOB, "undo")
    with pytest.raises(NotAllowed), store.operation(undo):
        store.undo(undo, target)
    with pytest.raises(NotFound), store.operation(undo):
        store.undo(replace(undo, caller=OTHER), target)
    by_lead = an_operation(LEAD, "undo")
    with store.operation(by_lead):
        assert len(store.undo(by_lead, target)) == 1


def test_an_undo_keeps_counting(store: Store) -> None:
    memory = put(store, a_memory())
    with store.operation(an_operation()) as operation:
        store.revise(operation, memory, replace(memory, text="Bearer prefix needed"), "updated")
    store.touch(memory.id, NOW + 9)
    undo = an_operation(ALICE, "undo", NOW + 10)
    with store.operation(undo):
        store.undo(undo, operation.id)
    now = store.get(ALICE, memory.id)
    assert now is not None and (now.text, now.access_count, now.last_accessed_at) == (memory.text, 1, NOW + 9)


def test_nothing_of_a_failed_operation_stays(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.operation(an_operation()) as operation:
        store.put(operation, a_memory())
        raise ZeroDivisionError
    assert store.select(ALICE, Filter()) == []
    assert store.last_operation(ALICE) == ""


def test_one_operation_over_several_transactions_is_undone_whole(store: Store) -> None:
    operation = an_operation(ALICE, "import")
    for text in ("Lesson one of a long import", "Lesson two of a long import"):
        with store.operation(operation):
            store.put(operation, a_memory(text))
    undo = replace(an_operation(ALICE, "undo"), undoes=operation.id)
    with store.operation(undo):
        assert len(store.undo(undo, operation.id)) == 2


def test_an_operation_that_changed_a_memory_twice_is_undone_to_what_was_before(store: Store) -> None:
    old = put(store, a_memory("The oldest of three wordings"))
    operation = an_operation(ALICE, "import")
    with store.operation(operation):
        second = store.revise(operation, old, replace(old, text="The second of three wordings"), "updated")
        store.revise(operation, second, replace(second, text="The third of three wordings"), "updated")
        fresh = store.put(operation, a_memory("Added and superseded at once"))
        store.revise(operation, fresh, replace(fresh, status="superseded"), "superseded")
    undo = replace(an_operation(ALICE, "undo"), undoes=operation.id)
    with store.operation(undo):
        assert len(store.undo(undo, operation.id)) == 2
    assert [memory.text for memory in store.select(ALICE, Filter())] == [old.text]


def test_sessions_that_have_not_ended_are_found(store: Store) -> None:
    session = Session("s1", "claude", ALICE.project, "alice", NOW, None, "/repo", {"model": "x"})
    store.put_session(ALICE, session)
    store.put_session(ALICE, replace(session, id="s2", ended_at=NOW + 1))
    assert store.open_sessions(NOW - 1) == [session]
    assert store.open_sessions(NOW + 1) == []


def test_a_session_and_its_receipts_come_back(store: Store) -> None:
    session = Session("s1", "claude", ALICE.project, "alice", NOW, None, "/repo", {"model": "x"})
    store.put_session(ALICE, session)
    assert store.session(ALICE, "s1") == session
    assert store.session(BOB, "s1") is None and store.sessions(LEAD) == [session]
    for id, tier in (("m1", "swarm"), ("m2", "agent")):
        put(store, a_memory(f"Lesson {id} of the receipt", id=id, tier=tier))
    shown = (Shown("m1", "abcdef", 0.5, ""),)
    receipt = Receipt(
        "r1",
        NOW,
        ALICE.project,
        "alice",
        "s1",
        "prompt",
        "a cue",
        shown,
        (Shown("m2", "fedcba", 0.1, "over budget"),),
        120,
        40,
        "full",
        0.7,
    )
    store.put_receipt(ALICE, receipt)
    assert store.receipts(ALICE) == [receipt]
    assert store.receipts(LEAD, "s1") == [replace(receipt, cue="", cut=())], "nothing private to a lead"
    assert store.receipts(BOB) == [] == store.receipts(OTHER)
    assert store.shown_in(ALICE, "s1") == {"m1"}


def test_after_a_compaction_memories_may_be_shown_again(store: Store) -> None:
    for number, trigger in enumerate(("prompt", "compaction", "prompt")):
        shown = (Shown(f"m{number}", f"h{number}", 1.0),)
        store.put_receipt(ALICE, Receipt(f"r{number}", NOW, ALICE.project, "alice", "s", trigger, "", shown))
    assert store.shown_in(ALICE, "s") == {"m1", "m2"}


def test_only_the_newest_rejections_stay_per_partition(store: Store) -> None:
    for number in range(25):
        store.reject(ALICE, "swarm", Rejection(f"x{number}", "text", "lesson too short (min 15 chars)", 1, NOW))
    store.reject(ALICE, "agent", Rejection("private", "text", "reason", 2, NOW))
    assert [r.id for r in store.rejections(BOB, 50)] == [f"x{n}" for n in range(24, 4, -1)]
    assert "private" in {r.id for r in store.rejections(ALICE, 50)}


def test_an_erased_memory_leaves_no_word_behind(store: Store) -> None:
    memory = put(
        store,
        a_memory("The zyzzyva protocol needs port 4711", situations=(Situation("qwertzuiop failed", "error", NOW),)),
    )
    with store.operation(an_operation()) as operation:
        memory = store.revise(
            operation, memory, replace(memory, text="The zyzzyva protocol needs port 4712"), "updated"
        )
    kept = put(store, a_memory("Another lesson that has to stay"))
    with store.operation(an_operation(ALICE, "erase")) as operation:
        store.erase(operation, memory)
    store.engine.scrub()
    assert store.get(ALICE, memory.id) is None
    assert store.select(ALICE, Filter()) == [kept]
    for place, content in everything_stored(store):
        assert b"zyzzyva" not in content and b"qwertzuiop" not in content and b"4711" not in content, place


def everything_stored(store: Store) -> Iterator[tuple[str, bytes]]:
    """Every file of a store in lower case, or every table of a server."""
    if store.engine.remote:
        for (name,) in server().admin("SELECT tablename FROM pg_tables WHERE schemaname = 'swarmlore'"):
            yield name, repr(server().admin(f"SELECT * FROM swarmlore.{name}")).lower().encode()
        return
    for path in Path(store.engine.facts()["path"]).parent.iterdir():
        yield path.name, path.read_bytes().lower()
