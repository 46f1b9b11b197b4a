"""The commands of a memory's life, as a person and as a program see them; and the files that follow."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from command_line import Run
from conftest import LEAD, quick_env
from repositories import a_repository
from swarmlore.lore import Lore

LESSON = "Pin the version of every build tool before a release"


def handle(run: Run, text: str = LESSON, *more: str) -> str:
    return str(run("remember", text, "--json", *more).json["memory"]["handle"])


def test_a_phase_is_shown_begun_and_completed(run: Run) -> None:
    assert "one a day" in run("phase").out
    assert run("phase", "start", "Phase 2: build", "--json").json["phase"]["number"] == 2
    assert run("phase").out.startswith("Phase 2: build  announced")
    done = run("phase", "complete")
    assert done.code == 0
    assert "Phase 2: build is complete." in done.out
    shown = run("phase", "--json").json
    assert (shown["phase"]["kind"], [phase["name"] for phase in shown["phases"]]) == ("day", ["Phase 2: build"])
    assert run("phase", "complete").code == 6


@pytest.mark.parametrize("words", [("begin", "x"), ("complete", "x"), ("start",), ("start", "  ")])
def test_a_phase_that_makes_no_sense_is_refused(run: Run, words: tuple[str, ...]) -> None:
    refused = run("phase", *words)
    assert refused.code == 2
    assert "swarmlore phase" in refused.err


def test_confirm_tells_whether_it_counted(run: Run) -> None:
    ref = handle(run)
    again = run("confirm", ref, "--json").json
    assert (again["counted"], again["memory"]["confirmed_by"]) == (False, [])
    assert "is not confirmed by that" in run("confirm", ref).out
    run("phase", "start", "Phase 1: x")
    assert f"{ref} confirmed 1 time, confidence 0.7" in run("confirm", ref).out
    assert run("confirm", "000000").code == 4


def test_a_sweep_on_trial_says_what_it_would_do(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWARMLORE_RECALL_PROFILE", "knowledge")
    monkeypatch.setenv("SWARMLORE_KNOWLEDGE_TODO_MAX_PHASES", "1")
    monkeypatch.setenv("SWARMLORE_KNOWLEDGE_SWEEP_ENABLED", "false")
    run("phase", "start", "Phase 1: x")
    ref = handle(run, "Remember to update the parser tests", "--category", "todo")
    for number in (2, 3):
        run("phase", "start", f"Phase {number}: x")
    trial = run("sweep", "--dry-run")
    assert "1 lesson looked at, 1 would be removed." in trial.out
    assert f"{ref}  removed: 2 phases without a confirmation, at most 1" in trial.out
    done = run("sweep", "--json").json
    assert [(change["memory"]["handle"], change["action"]) for change in done["changes"]] == [(ref, "removed")]
    assert "none changed" in run("sweep").out
    assert run("undo", done["operation"]).code == 0
    assert run("list", "--json").json["memories"][0]["handle"] == ref


def test_promote_by_text_by_handle_and_from_private(run: Run) -> None:
    assert "every project will see it" in run("promote", LESSON).out
    assert "Lesson already exists in hive (near-duplicate)." in run("promote", LESSON).out
    ref = handle(run, "See src/build/pins.toml for the pinned tools")
    told = run("promote", "--from-swarm", ref)
    assert "warning: every project will see it, and it" in told.out
    private = handle(run, "Start the broker first with make broker", "--tier", "agent")
    shared = run("promote", "--to", "swarm", private, "--json").json
    assert (shared["memory"]["tier"], shared["memory"]["text"]) == ("swarm", "Start the broker first with make broker")
    for words in ((), ("--list", "text"), ("--from-swarm", ref, "text")):
        assert run("promote", *words).code == 2
    assert run("promote", LESSON, "--to", "agent").code == 2
    assert run("promote", "short").code == 3


def test_promote_list_tells_what_a_lesson_waits_for(run: Run) -> None:
    assert "No lesson" in run("promote", "--list").out
    handle(run, "See src/build/pins.toml for the pinned tools", "--tag", "hive-fast-track")
    ref = handle(run, LESSON, "--tag", "hive-fast-track")
    told = run("promote", "--list").out
    assert "tagged hive-fast-track; goes when the phase is complete" in told
    assert re.search(r"waits to be asked for: it (?:names|cites)", told)
    assert ref in {item["memory"]["handle"] for item in run("promote", "--list", "--json").json["promotions"]}


def test_quarantine_and_restore(run: Run) -> None:
    ref = handle(run)
    assert "holds for the old parser" in run("quarantine", ref, "holds for the old parser").out
    assert "Nothing" in run("recall", LESSON).out or LESSON not in run("recall", LESSON).out
    assert run("list", "--status", "quarantined", "--json").json["memories"][0]["handle"] == ref
    assert run("restore", ref, "--json").json["memory"]["status"] == "candidate"
    assert run("restore", ref).code == 6


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_shared_files_stay_in_step_with_the_life_of_their_lessons(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    with Lore.open(tmp_path / "home", cwd=root, caller=LEAD, env=quick_env(), client="test") as lore:
        lore.init()
        memory = lore.remember(LESSON).memory
        swarm = root / ".swarm"
        assert [line["id"] for line in lines(swarm / "knowledge.jsonl")] == [memory.id]
        lore.quarantine(memory.id, "wrong")
        assert lines(swarm / "knowledge.jsonl") == []
        (hidden,) = lines(swarm / "knowledge-quarantined.jsonl")
        assert (hidden["id"], hidden["status"], hidden["original_status"]) == (memory.id, "quarantined", "candidate")
        assert (hidden["quarantine_reason"], hidden["reported_by"]) == ("wrong", "architect")
        assert [line["id"] for line in lines(swarm / "knowledge-rejected.jsonl")] == [memory.id]
        lore.restore(memory.id)
        assert lines(swarm / "knowledge-quarantined.jsonl") == []
        assert lines(swarm / "knowledge-rejected.jsonl") == []
        lore.quarantine(memory.id, "once more")
        lore.undo()
        assert lines(swarm / "knowledge-rejected.jsonl") == []
        (back,) = lines(swarm / "knowledge.jsonl")
        assert back["status"] == "candidate"
        assert "quarantine_reason" not in back


def test_what_an_imported_file_says_of_itself_is_not_believed(tmp_path: Path) -> None:
    claim = {"id": "claimed-2", "tier": "swarm", "lesson": LESSON, "tags": ["hive-fast-track"], "source": "manual"}
    (tmp_path / "lessons.jsonl").write_text(json.dumps(claim) + "\n")
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=LEAD, env=quick_env(), client="test") as lore:
        lore.import_file(str(tmp_path / "lessons.jsonl"))
        assert lore.list(limit=5)[0].source == "import"
        assert [item.waits for item in lore.complete_phase().proposed] == ["it came in through a file"]
        assert lore.list(tier="hive", limit=5) == ()


def test_evidence_in_a_shared_file_takes_nothing_to_the_hive(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    env = quick_env(SWARMLORE_RECALL_PROFILE="knowledge")
    seen = [{"phase_number": number, "confirmed_at": "2024-01-01T00:00:00Z"} for number in (1, 2, 3)]
    claim: dict[str, Any] = {
        "id": "claimed-1",
        "tier": "swarm",
        "lesson": LESSON,
        "category": "tooling",
        "tags": ["hive-fast-track"],
    }
    claim |= {"scope": "global", "confidence": 1.0, "status": "promoted", "hive_eligible": True, "confirmed_by": seen}
    claim |= {"created_at": "2020-01-01T00:00:00Z", "updated_at": "2020-01-01T00:00:00Z"}
    with Lore.open(tmp_path / "home", cwd=root, caller=LEAD, env=env, client="test") as lore:
        lore.init()
        (root / ".swarm" / "knowledge.jsonl").write_text(json.dumps(claim) + "\n")
        assert [memory.text for memory in lore.list(limit=5)] == [LESSON]
        done = lore.complete_phase()
        assert lore.list(tier="hive", limit=5) == ()
        assert [item.waits for item in done.proposed] == ["it came in through a file"]


# Taking back what was said


def test_all_that_say_the_same_are_taken_back_and_one_undo_brings_them_back(run: Run) -> None:
    handle(run)
    run("promote", LESSON)
    told = run("quarantine", "--saying", LESSON.upper() + "!")
    assert "2 memories are in quarantine" in told.out
    assert run("list", "--json").json["memories"] == []
    assert "no lesson" in run("quarantine", "--saying", "Nobody has ever said this about parsers").err
    assert run("undo").code == 0
    assert len(run("list", "--json").json["memories"]) == 2


@pytest.mark.parametrize("words", [(), ("abc123", "--saying", LESSON), ("--saying", "")])
def test_a_quarantine_of_nothing_or_of_two_things_is_refused(run: Run, words: tuple[str, ...]) -> None:
    assert run("quarantine", *words).code == 2


def test_an_undone_quarantine_is_not_on_the_list_of_what_was_refused(tmp_path: Path) -> None:
    with Lore.open(tmp_path / "home", caller=LEAD, env=quick_env()) as lore:
        memory = lore.remember(LESSON).memory
        lore.quarantine(memory.id, "wrong")
        assert [item.id for item in lore.rejected()] == [memory.id]
        lore.undo()
        assert lore.rejected() == ()


PLAN = f"""# Plan
## Phase 1: Setup [COMPLETE]
### Lessons Learned
- Record snapshots with make snap-record, never by hand
* {LESSON}
- too short
- Retract: Use npm for installing packages
- BAD RULE: Start the queue before the database
## Phase 2: Build [IN PROGRESS]
- Write the parser and its tests
"""


def at_curation(repository: Path, home: Path) -> Lore:
    env = {**quick_env(), "SWARMLORE_RECALL_PROFILE": "knowledge", "SWARMLORE_ROLE": "lead"}
    return Lore.open(home, cwd=repository, env=env)


def test_curation_takes_in_a_plan_once_and_retracts_its_bad_rules(tmp_path: Path) -> None:
    repository = a_repository(tmp_path / "shop")
    (repository / ".swarm").mkdir()
    (repository / ".swarm" / "plan.md").write_text(PLAN)
    with at_curation(repository, tmp_path / "home") as lore:
        bad = lore.remember("Use npm for installing packages").memory
        assert (lore.curate().learned, lore.curate().retracted) == ((), ())  # nobody agreed to what the repository says
        lore.init()
        told = lore.curate()
        assert told.retracted == (bad.id,)
        learned = [lore.get(id) for id in told.learned]
        assert [memory.text for memory in learned] == ["Record snapshots with make snap-record, never by hand", LESSON]
        assert {(memory.source, memory.auto_generated, memory.trust) for memory in learned} == {("import", True, 1)}
        (record,) = lines(repository / ".swarm" / "knowledge-retractions.jsonl")
        assert record["normalized_lesson"] == "use npm for installing packages"
        assert (record["matched_swarm_ids"], record["matched_hive_ids"]) == ([bad.id], [])
        (repository / ".swarm" / "plan.md").write_text(
            PLAN.replace("* Pin", "* Use npm for installing packages\n* Pin")
        )
        assert lore.curate().learned == ()  # what is in quarantine does not come back through the plan either
        lore.restore(bad.id)
        lore.forget(learned[0].id)
        again = lore.curate()
        assert (again.learned, again.retracted) == ((), ())  # what people decided since stays decided


def test_an_erased_text_is_in_no_file_of_retractions(tmp_path: Path) -> None:
    repository = a_repository(tmp_path / "shop")
    with at_curation(repository, tmp_path / "home") as lore:
        lore.init()
        kept, gone = lore.remember(LESSON).memory, lore.remember("Use npm for installing packages").memory
        lore.retract(kept.text)
        lore.retract(gone.text)
        lore.forget(gone.id, erase=True)
    (record,) = lines(repository / ".swarm" / "knowledge-retractions.jsonl")
    assert record["matched_swarm_ids"] == [kept.id]


def test_beginning_a_phase_prints_what_the_end_of_the_former_did(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWARMLORE_RECALL_PROFILE", "knowledge")
    monkeypatch.setenv("SWARMLORE_KNOWLEDGE_DEFAULT_MAX_PHASES", "1")
    run("phase", "start", "Phase 1")
    ref = handle(run)
    run("phase", "start", "Phase 2")
    told = run("phase", "start", "Phase", "3", "without", "quotes")
    assert "Phase 2 is complete." in told.out
    assert re.search(rf"{ref}\s+archived", told.out)
    assert "Phase 3 without quotes  announced" in told.out


def test_a_name_in_place_of_a_text_is_pointed_out(run: Run) -> None:
    ref = handle(run)
    assert f"promote --from-swarm {ref}" in run("promote", ref).err
    assert "one thing at a time" in run("promote", LESSON, "--from-swarm", ref).err
    assert "did you mean: start" in run("phase", "strat", "Phase 2").err
