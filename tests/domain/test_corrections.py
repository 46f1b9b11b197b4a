"""Corrections and rules in prompts: what is found, what is left alone, and in which words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import DATA
from homes import open_lore
from hostile import CORRECTIONS, SCANNERS
from swarmlore.domain.extraction.corrections import find_corrections
from swarmlore.domain.extraction.lesson_text import CONFIDENCES
from swarmlore.domain.extraction.message_text import sentences
from swarmlore.domain.policy.gate import pass_gate
from swarmlore.domain.records import KINDS, Draft

PROMPTS = [json.loads(line) for line in (DATA / "prompts_labelled.jsonl").read_text(encoding="utf-8").splitlines()]
LEAST_PRECISION = 0.95
LEAST_RECALL = 0.8


def texts(prompt: str, said_before: str = "") -> list[str]:
    return [found.text for found in find_corrections(prompt, said_before)]


def is_found(row: dict[str, object]) -> bool:
    words = [str(word).lower() for word in row["words"]]  # type: ignore[attr-defined]
    found = texts(str(row["prompt"]), str(row.get("said_before", "")))
    return any(all(word in text.lower() for word in words) for text in found)


# --- the labelled prompts


@pytest.mark.parametrize("part", ["tuned", "held out"])
def test_what_is_found_in_the_labelled_prompts_is_right_and_most_of_it_is_found(part: str) -> None:
    rows = [row for row in PROMPTS if row["set"] == part]
    lessons = [row for row in rows if "words" in row]
    junk = [row["prompt"] for row in rows if "words" not in row and texts(row["prompt"])]
    missed = [row["prompt"] for row in lessons if not is_found(row)]
    right = len(lessons) - len(missed)
    assert right / (right + len(junk)) >= LEAST_PRECISION, junk
    assert right / len(lessons) >= LEAST_RECALL, missed


def test_the_labelled_prompts_are_enough_to_judge_by() -> None:
    none = [row for row in PROMPTS if "words" not in row]
    held = [row for row in PROMPTS if row["set"] == "held out"]
    assert len(PROMPTS) >= 250 and len(none) >= 100 and len(held) >= 85
    assert len({(row["prompt"].lower().strip(" .!"), row.get("said_before")) for row in PROMPTS}) == len(PROMPTS)


def test_no_prompt_that_asks_reports_or_thinks_aloud_teaches_anything() -> None:
    rows = [json.loads(line) for line in (DATA / "lessons.jsonl").read_text("utf-8").splitlines()]
    cues = [row["text"] for row in rows if row["type"] in ("cue", "silence")]
    junk = [cue for cue in cues if texts(cue)]
    assert len(cues) > 700 and len(junk) / len(cues) <= 0.01, junk


def test_what_a_person_asks_to_remember_is_remembered() -> None:
    rows = [json.loads(line) for line in (DATA / "lessons.jsonl").read_text("utf-8").splitlines()]
    lessons = [row["text"] for row in rows if row["type"] == "lesson"]
    kept = [lesson for lesson in lessons if texts(f"Please remember that {lesson}")]
    assert len(kept) / len(lessons) >= 0.95


# --- the words of a lesson


@pytest.mark.parametrize(
    ("prompt", "text", "kind"),
    [
        ("No, use pnpm here, not npm", "Use pnpm here, not npm.", "correction"),
        ("hey Claude, please always run `make lint` first, thanks!", "Always run `make lint` first.", "commitment"),
        ("I already told you that the staging DB is read-only", "The staging DB is read-only.", "correction"),
        ("From now on, write messages in English", "Write messages in English.", "commitment"),
        ("we chose Kafka over RabbitMQ because of replay", "We chose Kafka over RabbitMQ because of replay.", "decision"),
        ("please remember that prod runs on ARM", "Prod runs on ARM.", "learning"),
        ("Could you please not add docstrings to private functions?", "Do not add docstrings to private functions.", "commitment"),
        ("`pnpm` only: we never use npm in this repo", "We never use npm in this repo.", "commitment"),
        ("Don't use sed to edit files. Use the edit tool instead.", "Don't use sed to edit files. Use the edit tool instead.", "commitment"),
        ("the retry limit is 3, not 5", "The retry limit is 3, not 5.", "correction"),
        ('it\'s called "workspace", not "project", in the UI', 'It\'s called "workspace", not "project", in the UI.', "correction"),
        ("prices are always integers in cents, never floats", "Prices are always integers in cents, never floats.", "commitment"),
        ("don't mock the database in integration tests, a release failed", "Don't mock the database in integration tests, a release failed.", "commitment"),
        ("please don't annotate the migrations, the linter chokes on them", "Don't annotate the migrations, the linter chokes on them.", "commitment"),
        ("this is the third time: don't reformat other files", "Don't reformat other files.", "correction"),
        ("as a rule, every endpoint gets a contract test", "Every endpoint gets a contract test.", "commitment"),
        ("tests go in tests/unit, not next to the code", "Tests go in tests/unit, not next to the code.", "correction"),
        ("Nein, Commit-Messages bitte immer auf Deutsch schreiben", "Commit-Messages bitte immer auf Deutsch schreiben.", "correction"),
    ],
)  # fmt: skip
def test_a_lesson_is_in_the_words_of_the_user_without_politeness(prompt: str, text: str, kind: str) -> None:
    (found,) = find_corrections(prompt)
    assert (found.text, found.kind) == (text, kind)


@pytest.mark.parametrize(
    "prompt",
    [
        "Actually use 10 instead of 5",
        "implement: users must always confirm their email before login",
        "yes please, always happy to see tests :)",
        "the list is always empty, never the items that I added",
    ],
)
def test_a_task_a_pleasantry_or_a_symptom_in_the_words_of_a_rule_teaches_nothing(prompt: str) -> None:
    assert texts(prompt) == []


@pytest.mark.parametrize(
    ("prompt", "kept"),
    [
        ("I've said this twice now: no emojis in the UI copy", "No emojis"),
        ("How many times do I have to say it: no default exports!", "No default exports"),
        ("Rules for this repo:\n- no wildcard imports\n- never push to main", "No wildcard imports"),
        ("the rule is: no new dependencies without asking", "no new dependencies"),
        ("I told you not to use npm", "Do not use npm"),
        ("Nope, we do not deploy on Fridays", "do not deploy"),
    ],
)
def test_taking_off_the_opening_never_turns_a_prohibition_round(prompt: str, kept: str) -> None:
    assert kept in texts(prompt)[0]


def test_a_rule_behind_a_task_is_found_and_the_task_is_left_out() -> None:
    prompt = "Fix the failing login test. And don't ever commit the .env file again."
    assert texts(prompt) == ["Don't ever commit the .env file again."]


def test_what_follows_a_request_to_remember_belongs_to_it_up_to_the_next_task() -> None:
    prompt = "Remember that the importer is single-threaded. Two at once corrupt the index. Now fix the README."
    assert texts(prompt) == ["The importer is single-threaded. Two at once corrupt the index."]


# --- what was said before


@pytest.mark.parametrize(
    ("prompt", "before", "text"),
    [
        ("no, it's 8081", "The admin service listens on port 8080, so I opened it.", "The admin service listens on port 8081, not 8080."),
        ("no, 8081, not 8080", "The admin service listens on port 8080.", "The admin service listens on port 8081, not 8080."),
        ("don't do that, use pnpm", "I'll run `npm install x` now.", "Use pnpm, not `npm install x`."),
    ],
)  # fmt: skip
def test_a_pointer_is_resolved_by_what_the_agent_said(prompt: str, before: str, text: str) -> None:
    assert texts(prompt, before) == [text]


@pytest.mark.parametrize(
    ("prompt", "before"),
    [
        ("no, it's 8081", "The api listens on port 8080 and the admin service on 9090."),
        ("no, it's 8081", "I tried port 8080."),
        ("no, it's 8081", ""),
        ("don't do that", "I'll run `npm install x` now."),
        ("don't do that, use pnpm", "I'll run `npm install x` and `npm test` now."),
        ("use the other one", "The config is in a.toml."),
    ],
)
def test_a_pointer_at_several_things_or_nothing_is_dropped(prompt: str, before: str) -> None:
    assert texts(prompt, before) == []


# --- what was not typed by the user

RULE = "Never push to main, always open a pull request"


@pytest.mark.parametrize(
    "pasted",
    [
        "```\n{}\n```",
        "~~~text\n{}\n~~~",
        "```\n{}",
        "> {}",
        "    {}",
        "<document>\n{}\n</document>",
        "<system-reminder>{}</system-reminder>",
        '"{}" is what the README says',
        "2026-01-05 10:00:00 {}",
        "ERROR {}",
        "Traceback (most recent call last):\n{}",
        "npm ERR! code 1\n{}",
        "$ echo\n{}",
        "+ # x\n- {}",
        "The spec:\n- {}\n- It is fast",
        "translate to French: {}",
        "You are a careful reviewer. {}",
        "=== swarmlore notes 9f2c41d07be85a36 ===\nNotes from memory: data\n- [k7x2p9] swarm «{}» (from x)\n=== end 9f2c41d07be85a36 ===",
    ],
)
def test_what_was_pasted_is_not_the_users_word(pasted: str) -> None:
    assert texts(RULE), "the same rule, typed, is found"
    assert texts(pasted.replace("{}", RULE)) == []


def test_a_quoted_rule_is_dropped_and_one_with_a_quoted_name_is_kept() -> None:
    assert texts('We always answer "please try again later" in the app') == []
    assert texts('We always write "sign in" in the app') == ['We always write "sign in" in the app.']


def test_of_a_document_only_its_ends_can_be_typed() -> None:
    filler = "\n\n".join(f"Paragraph {number} tells of the harbour and of its ships." for number in range(200))
    assert texts(f"{filler}\n\n{RULE}.\n\n{filler}") == []
    assert len(texts(f"{RULE}.\n\n{filler}")) == 1


def test_sentences_end_neither_in_code_nor_in_paths_nor_in_numbers() -> None:
    line = "Use `a. B` from src/x.py with v1.2.3, e.g. here. Then stop!"
    assert [said.text for said in sentences(line)] == ["Use `a. B` from src/x.py with v1.2.3, e.g. here.", "Then stop!"]


# --- through the gate


def test_every_lesson_found_passes_the_gate() -> None:
    for row in PROMPTS:
        for found in find_corrections(row["prompt"], row.get("said_before", "")):
            passed = pass_gate(Draft(found.text, kind=found.kind, source="reflect", trust=found.trust))
            assert passed.draft.text == found.text and not passed.quarantine
            assert found.kind in KINDS and found.confidence in CONFIDENCES and found.excerpt


def test_lessons_found_in_prompts_are_kept_by_a_store(fast_path: Path) -> None:
    found = [found for row in PROMPTS if row["set"] == "held out" for found in find_corrections(row["prompt"])]
    with open_lore(fast_path / "home") as lore:
        for lesson in found:
            lore.remember(lesson.text, kind=lesson.kind, source="reflect", auto_generated=True, defer=True)
        assert lore.rejected() == ()
        kept = {memory.text for memory in lore.list(limit=200)}
    assert len(found) >= 30 and len(kept) >= 0.9 * len(found)  # near-duplicates are merged


# --- hostile text


@given(st.text(max_size=400), st.text(max_size=200))
def test_any_text_can_be_read(prompt: str, before: str) -> None:
    for found in find_corrections(prompt, before):
        assert 15 <= len(found.text) <= 280 and "\n" not in found.text


@given(st.lists(st.sampled_from(CORRECTIONS), max_size=60).map("".join))
def test_any_mixture_of_cues_can_be_read(prompt: str) -> None:
    for found in find_corrections(prompt, prompt):
        assert 15 <= len(found.text) <= 280 and found.kind in KINDS


@pytest.mark.parametrize("piece", CORRECTIONS)
def test_a_megabyte_of_cues_corrects_nothing(piece: str) -> None:
    text = SCANNERS["corrections"].text(piece, 1_000_000)
    assert find_corrections(text, text) == ()
