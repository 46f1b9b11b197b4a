"""Promises that several parts keep together; each of these was broken once."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import ALICE, BOB, LEAD, NOW, PERSON, quick_env
from swarmlore.domain.records import Caller, Draft
from swarmlore.errors import InvalidInput
from swarmlore.frozen import replace
from swarmlore.lore import Lore

PORT = "The staging database listens on port 54321"
MINILM = {"SWARMLORE_EMBEDDER_KIND": "minilm"}


class Clock:
    now = NOW

    def __call__(self) -> float:
        return self.now


def open_as(home: Path, caller: Caller = ALICE, clock: Clock | None = None, **env: str) -> Lore:
    return Lore.open(home / "home", cwd=home, caller=caller, env=quick_env(**env), clock=clock or Clock())


def test_a_deferred_correction_wins_over_what_it_corrects(tmp_path: Path) -> None:
    with open_as(tmp_path, **MINILM) as lore:
        lore.remember_many(
            [Draft("Webhook deliveries are retried 3 times"), Draft("Webhook deliveries are retried 5 times")]
        )
        lore.reindex()
        assert [memory.text for memory in lore.list()] == ["Webhook deliveries are retried 5 times"]


def test_a_block_keeps_to_the_scopes_of_the_project(tmp_path: Path) -> None:
    with open_as(tmp_path, **MINILM) as lore:
        lore.remember("Run cargo nextest for the flaky integration suite of the parser", scope="stack:rust")
        assert lore.recall("cargo nextest for the flaky integration suite") == ()
        assert lore.block("cargo nextest for the flaky integration suite of the parser").text == ""


def test_a_text_that_expired_can_be_told_again(tmp_path: Path) -> None:
    clock = Clock()
    with open_as(tmp_path, clock=clock) as lore:
        lore.remember(PORT, ttl_s=3600.0)
        clock.now += 7200
        assert lore.remember(PORT).outcome == "added"
        assert len(lore.recall("staging database port")) == 1


def test_saying_it_again_renews_its_life_and_its_trust(tmp_path: Path) -> None:
    with open_as(tmp_path) as lore:
        lore.remember(PORT, ttl_s=3600.0, trust=0)
    with open_as(tmp_path, PERSON) as lore:
        told = lore.remember(PORT)
        assert (told.outcome, told.memory.expires_at, told.memory.trust) == ("confirmed", None, 3)


def test_the_same_text_in_another_scope_is_another_memory(lore: Lore) -> None:
    lore.remember(PORT, scope="stack:rust")
    assert lore.remember(PORT).outcome == "added"
    assert len(lore.recall("staging database port")) == 1


def test_our_own_block_is_never_captured_again(tmp_path: Path) -> None:
    with open_as(tmp_path) as lore:
        lore.remember(PORT)
        block = lore.block("which port does the staging database listen on?").text
        assert "54321" in block
        with pytest.raises(InvalidInput):
            lore.remember(block)
        told = lore.remember("Deploys are frozen on Fridays by the release team", situation=block)
        assert told.memory.situations == ()


def test_erasing_takes_former_wordings_and_reasons_with_it(tmp_path: Path) -> None:
    with open_as(tmp_path) as lore:
        lore.remember(PORT)
        now = lore.remember(PORT.replace("54321", "65432")).memory
        lore.forget(now.id, erase=True)
        assert lore.list(status="any") == ()
    for path in (tmp_path / "home").rglob("*"):
        if path.is_file():
            assert b"54321" not in path.read_bytes()
            assert b"65432" not in path.read_bytes()


def test_erasing_a_session_reaches_what_was_only_hidden(lore: Lore) -> None:
    lore.remember("We talked about the exporter", source="transcript", source_ref={"session": "s9"})
    assert len(lore.forget_origin(session="s9")) == 1
    assert len(lore.forget_origin(session="s9", erase=True)) == 1


def test_settling_is_done_in_the_authors_name_and_is_not_the_callers_to_undo(tmp_path: Path) -> None:
    with open_as(tmp_path, BOB, **MINILM) as lore:
        lore.remember("Run the database migrations before the integration tests", defer=True, tier="agent")
        theirs = lore.remember("Run database migrations before integration tests", defer=True, tier="agent").memory
    with open_as(tmp_path, ALICE, **MINILM) as lore:
        mine = lore.remember("Use pnpm in the frontend workspace").memory
        lore.reindex()
        assert [memory.id for memory in lore.undo()] == [mine.id]
    with open_as(tmp_path, BOB) as lore:
        assert {row.by for row in lore.history(theirs.id)} == {"bob"}


def test_after_a_compaction_a_memory_is_shown_again_at_once(tmp_path: Path) -> None:
    with open_as(tmp_path) as lore:
        lore.remember(PORT)
        cue = "which port does the staging database listen on?"
        shown = [
            bool(lore.block(cue, session="s", trigger=trigger).text)
            for trigger in ("prompt", "prompt", "compaction", "prompt")
        ]
        assert shown == [True, False, True, False]


def test_without_the_hive_nothing_of_it_is_read(tmp_path: Path) -> None:
    with open_as(tmp_path) as lore:
        hive = lore.remember("Pin the base images by digest in every project", tier="hive").memory
    with open_as(tmp_path, SWARMLORE_KNOWLEDGE_HIVE_ENABLED="false") as lore:
        assert lore.list() == ()
        assert lore.stats()["live"] == 0
        with pytest.raises(Exception, match="no memory"):
            lore.get(hive.id)


def test_counts_and_receipts_reveal_nothing_private(tmp_path: Path) -> None:
    with open_as(tmp_path, BOB) as lore:
        lore.remember("My private note: the staging database listens on 5433", tier="agent")
        assert lore.block("where does the staging database listen?", session="s").receipt.shown
    with open_as(tmp_path, LEAD) as lore:
        assert lore.stats()["waiting_for_vector"] == 0
        assert [item for receipt in lore.receipts() for item in (*receipt.shown, *receipt.cut)] == []


def test_one_that_contradicts_several_takes_the_place_of_all(tmp_path: Path) -> None:
    with open_as(tmp_path) as lore:
        lore.remember("Always use pnpm to install packages of the web client", tier="hive")
        lore.remember("Always use pnpm to install packages of the web client in CI")
    with open_as(tmp_path, PERSON) as lore:
        said = lore.remember("Never use pnpm to install packages of the web client").memory
        assert [hit.memory.id for hit in lore.recall("use pnpm to install packages of the web client", limit=50)] == [
            said.id
        ]


def test_what_is_derived_has_the_lowest_trust_of_its_origins(lore: Lore) -> None:
    turn = lore.remember("We talked about the exporter", source="transcript").memory
    derived = lore.remember("The exporter writes UTF-8 with a BOM", source_ref={"derived_from": [turn.id]}).memory
    assert (turn.trust, derived.trust) == (1, 1)


def test_a_learned_comment_gets_its_key(lore: Lore) -> None:
    told = lore.remember("TaskGroup requires @Sendable closures in strict concurrency mode.", source="learned_comment")
    assert told.memory.key == "learned-taskgroup-requires-sendable-closures-in-strict-concurrency"


def test_undo_can_be_repeated_step_by_step(lore: Lore) -> None:
    lore.remember(PORT)
    lore.remember(PORT.replace("54321", "65432"))
    lore.undo()
    assert [memory.text for memory in lore.list()] == [PORT]
    lore.undo()
    assert lore.list() == ()


def test_a_correction_keeps_what_was_known_about_its_subject(lore: Lore) -> None:
    lore.remember(PORT, kind="correction", category="tooling", tags=["database"], situation="connection refused")
    told = lore.remember(PORT.replace("54321", "65432")).memory
    assert (told.kind, told.category, told.tags) == ("correction", "tooling", ("database",))
    assert [situation.text for situation in told.situations] == ["connection refused"]


def test_limits_of_the_knowledge_profile_act_in_it_only(tmp_path: Path) -> None:
    env = {"SWARMLORE_KNOWLEDGE_CONTEXT_BUDGET_THRESHOLD": "5000"}
    with open_as(tmp_path, **env) as lore:
        lore.remember(PORT)
        assert lore.block("which port does the staging database listen on?", chars_left=1000).text
    with open_as(tmp_path, replace(ALICE, agent="carol"), SWARMLORE_RECALL_PROFILE="knowledge", **env) as lore:
        assert not lore.block("which port does the staging database listen on?", chars_left=1000).text
