"""What is proposed for a lesson, and which lines of a file it contradicts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostile import SCANNERS, draft_everywhere
from swarmlore.domain.extraction.session_lessons import Lesson, lesson_from
from swarmlore.domain.extraction.signals import scan
from swarmlore.domain.language.display import short_slug
from swarmlore.domain.pages.drafting import (
    InstinctDraft,
    MemoryDraft,
    NoteDraft,
    RuleDraft,
    SkillDraft,
    draft,
    fenced,
    framework_of,
    language_of,
    note_category,
    tags_of,
    title_of,
)
from swarmlore.domain.pages.instincts import CATEGORIES
from swarmlore.domain.pages.routing import ROUTES, Context
from swarmlore.domain.pages.rule_conflicts import Conflict, conflict_with, conflicts_with, says_already
from swarmlore.frozen import replace

CAUSE = Lesson(
    "The root cause was that tokio's runtime was entered twice.",
    level="high",
    category="Architecture",
    speaker="assistant",
    situation="thread 'main' panicked at src/db.rs:14\nCannot start a runtime from within a runtime",
    situation_via="error",
    files=("src/db.rs", "src/main.rs"),
    way="cause",
    fix="Fixed by awaiting the query in place of `block_on`.",
)
WHERE = Context(project="shop", seen=3)


def said(text: str, speaker: str = "user") -> Lesson:
    (signal,) = scan(text, speaker)
    return lesson_from(signal)


# --- notes


def test_a_note_says_what_went_wrong_what_helped_and_where() -> None:
    note = draft(CAUSE, "knowledge", WHERE)
    assert isinstance(note, NoteDraft)
    assert note.fields == {
        "title": "Tokio's runtime was entered twice",
        "category": "debugging-sessions",
        "tags": ["rust", "tokio"],
        "symptoms": ["thread 'main' panicked at src/db.rs:14", "Cannot start a runtime from within a runtime"],
        "root_cause": "Tokio's runtime was entered twice.",
        "key_insight": "The root cause was that tokio's runtime was entered twice. Fixed by awaiting the query in place of `block_on`.",
        "confidence": "high",
        "language": "rust",
        "framework": "tokio",
    }
    assert note.body == (
        "## Problem\n\nThis error came up:\n\n```text\nthread 'main' panicked at src/db.rs:14\n"
        "Cannot start a runtime from within a runtime\n```\n\nThe root cause was that tokio's runtime was entered twice.\n\n"
        "## Solution\n\nFixed by awaiting the query in place of `block_on`.\n\n"
        "## Context\n\nLearned in shop: an agent found it out. Met in 3 sessions. Files: `src/db.rs`, `src/main.rs`.\n"
    )


def test_a_note_names_no_cause_no_symptom_and_no_language_that_nobody_named() -> None:
    note = draft(said("We chose polling over websockets as the proxy closes idle connections."), "knowledge")
    assert isinstance(note, NoteDraft)
    assert (note.root_cause, note.symptoms, note.language, note.framework) == ("", (), "", "")


@pytest.mark.parametrize(
    ("text", "way", "title"),
    [
        ("The root cause was a stale lock.", "cause", "A stale lock"),
        ("Turns out the vendor sends local time.", "found", "The vendor sends local time"),
        ("Fixed by pinning numpy below 2.", "fix", "Pinning numpy below 2"),
        ("We went with Vite, webpack was slow.", "decision", "Vite, webpack was slow"),
        (
            "I chose Decimal over float because of the tax module.",
            "decision",
            "Decimal over float because of the tax module",
        ),
        ("`npm ci` needs a lock file.", "fix", "`npm ci` needs a lock file"),
    ],
)
def test_a_title_is_what_was_found_without_its_opening(text: str, way: str, title: str) -> None:
    assert title_of(Lesson(text, way=way)) == title


@pytest.mark.parametrize(
    ("text", "way", "category", "folder"),
    [
        ("We chose SQLite over Postgres because of one file.", "decision", "Architecture", "architecture-decisions"),
        ("We chose tabs over spaces because of Go.", "decision", "Code Style", "decisions"),
        ("Never share a connection between threads.", "rule", "Architecture", "anti-patterns"),
        ("Always retry with a jitter.", "rule", "Architecture", "patterns"),
        ("Fixed by adding an index, the query was slow.", "fix", "Architecture", "performance-issues"),
        ("The cause was a flaky test.", "cause", "Process", "testing-patterns"),
        ("The cause was a cookie without SameSite.", "cause", "Security", "security-fixes"),
        ("The cause was a wrong offset.", "cause", "Unknown", "debugging-sessions"),
    ],
)
def test_a_note_lies_where_somebody_would_look_for_it(text: str, way: str, category: str, folder: str) -> None:
    assert note_category(Lesson(text, way=way, category=category)) == folder


def test_a_note_quotes_what_was_asked_for_and_nothing_else_that_was_said() -> None:
    asked = "Perfect. But never use npm. Please add the refund endpoint. Thanks!"
    note = draft(Lesson("The root cause was a lock.", way="cause", speaker="assistant", situation=asked), "knowledge")
    assert isinstance(note, NoteDraft)
    assert note.body.startswith(
        "## Problem\n\nIt came up while this was asked for:\n\n> Please add the refund endpoint.\n\nThe root cause was a lock.\n\n"
        "## Solution\n\nNo fix was named beside it.\n\n"
    )


@pytest.mark.parametrize("asked", ["fix it please", "arréglalo porfa", "ok", "any idea? i must leave at five"])
def test_a_request_that_tells_nothing_is_not_quoted(asked: str) -> None:
    note = draft(Lesson("The root cause was a lock.", way="cause", speaker="assistant", situation=asked), "knowledge")
    assert isinstance(note, NoteDraft)
    assert asked not in note.body


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("We decided to use Postgres over Redis because we run it already.", "decision"),
        ("Turns out the proxy strips the header.", "found"),
        ("Always retry with a jitter.", "rule"),
        ("Fixed by adding an index.", "fix"),
    ],
)
def test_no_sentence_is_told_as_the_problem_and_as_its_solution(text: str, way: str) -> None:
    note = draft(Lesson(text, way=way), "knowledge")
    assert isinstance(note, NoteDraft)
    assert note.body.count(text) == 1
    assert note.body.startswith(f"## Problem\n\nWhat led to it was not said.\n\n## Solution\n\n{text}\n\n## Context")


def test_a_title_is_no_half_of_a_sentence() -> None:
    assert title_of(Lesson("Because the upload script passes --acl private.", way="cause")) == (
        "The upload script passes --acl private"
    )


@pytest.mark.parametrize("error", ["a ``` b", "````\nx\n````", "plain", ""])
def test_an_error_stays_inside_its_block(error: str) -> None:
    block = fenced(error).splitlines()
    fence = block[-1]
    assert block[0] == f"{fence}text"
    assert set(fence) == {"`"}
    assert fence not in error


@pytest.mark.parametrize(
    ("files", "text", "language"),
    [
        (("a.py", "b.py", "c.ts"), "", "python"),
        (("Makefile",), "in Rust this is safe", "rust"),
        ((), "golang maps are unordered", "go"),
        ((), "they go there", ""),
        (("x.tar.gz",), "", ""),
    ],
)
def test_the_language_is_that_of_the_files_or_of_the_words(files: tuple[str, ...], text: str, language: str) -> None:
    assert language_of(files, text) == language


def test_tags_and_framework_are_words_that_stand_in_the_text() -> None:
    assert framework_of("The Django admin is slow") == "django"
    assert framework_of("the reaction was slow") == ""
    assert tags_of("Redis and Docker on the CI runner") == ("redis", "docker", "ci", "container", "ci-cd")


# --- the smaller drafts


def test_a_rule_is_one_full_sentence_and_one_line() -> None:
    assert draft(said("please don't ever\npush to main"), "behavioral") is not None
    assert draft(said("ok, and please always squash before you merge"), "behavioral") == RuleDraft(
        "Always squash before you merge.", "- Always squash before you merge."
    )


def test_an_instinct_says_how_it_was_learned() -> None:
    assert draft(said("no, use pnpm, not npm"), "instinct") == InstinctDraft(
        "Use pnpm, not npm.", "project", "tooling", "A person said: no, use pnpm, not npm", "correction", 0.7
    )


def test_an_entry_of_memory_md_is_one_line_in_its_section() -> None:
    assert draft(said("prices are always stored in cents"), "memory", section="Architecture & Patterns") == MemoryDraft(
        "Architecture & Patterns", "Prices are always stored in cents."
    )


def test_a_skill_says_when_it_is_for_and_what_to_do() -> None:
    skill = draft(CAUSE, "skill", WHERE)
    assert isinstance(skill, SkillDraft)
    assert skill.name == "tokio-s-runtime-was-entered-twice"
    assert skill.description == "Use when this shows up: thread 'main' panicked at src/db.rs:14."
    assert skill.steps == (
        "Check that it is the same: `thread 'main' panicked at src/db.rs:14`.",
        "The root cause was that tokio's runtime was entered twice.",
        "Fixed by awaiting the query in place of `block_on`.",
    )
    assert skill.body.startswith(f'---\nname: {skill.name}\ndescription: "Use when')


@pytest.mark.parametrize("target", ["review", "none"])
def test_what_is_only_counted_has_no_draft(target: str) -> None:
    assert draft(CAUSE, target) is None


@pytest.mark.parametrize("target", ["behavioral", "knowledge", "skill", "instinct", "memory"])
def test_no_draft_holds_a_secret(target: str) -> None:
    token = "ghp_" + "x7Qm2LkR9vTz4NcW8sYb1HdF6gJp3KaE5uXo"
    lesson = Lesson(
        f"Fixed by using {token} as the token.", quote=f"using {token}", situation=f"error: {token}", situation_via="error",
        way="fix", fix=f"pass {token}",
    )  # fmt: skip
    assert token not in repr(draft(lesson, target, WHERE))


texts = st.text(max_size=200) | st.sampled_from(["---\ntitle: x", "`" * 7, "## Problem", "a" * 400, "- x\n- y"])


@given(texts, texts, texts, st.sampled_from(ROUTES), st.sampled_from(["prompt", "error"]))
def test_anything_can_be_drafted(text: str, fix: str, situation: str, target: str, via: str) -> None:
    found = draft(Lesson(text, situation=situation, situation_via=via, fix=fix, way="cause"), target, WHERE)
    if isinstance(found, NoteDraft):
        assert len(found.title) <= 110
        assert [line for line in found.body.splitlines() if line in ("## Problem", "## Solution", "## Context")][0:1]
    if isinstance(found, RuleDraft):
        assert "\n" not in found.line
    if isinstance(found, InstinctDraft):
        assert found.category in CATEGORIES
    if isinstance(found, SkillDraft):
        assert len(found.name) <= 50


# --- conflicts

RULES = """# Rules

- Always squash commits before a merge.
- Use npm, not yarn.
- The API listens on port 8080.
* Never add comments to generated code.

```
never run this
```
"""


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("Never squash commits before a merge.", 3),
        ("Do not squash commits before a merge.", 3),
        ("Use yarn, not npm.", 4),
        ("The API listens on port 9090.", 5),
        ("Always add comments to generated code.", 6),
        ("Always run this.", 0),
        ("Always squash commits before a merge.", 0),
        ("Write tests first.", 0),
        ("Never push to main.", 0),
    ],
)
def test_the_line_that_a_rule_contradicts_is_found(rule: str, line: int) -> None:
    found = conflict_with(rule, RULES)
    assert (found.number if found else 0) == line
    assert found is None or (found.reason and found.line == RULES.splitlines()[line - 1].strip())


def test_every_line_that_is_contradicted_is_told_once() -> None:
    text = "- Always use tabs. Always use tabs!\n- nothing\n- We always use tabs."
    assert [found.number for found in conflicts_with("Never use tabs.", text)] == [1, 3]
    assert isinstance(conflict_with("Never use tabs.", text), Conflict)


@pytest.mark.parametrize(
    ("rule", "number"),
    [
        ("always squash commits before a merge", 3),
        ("Use npm and not yarn.", 4),
        ("Never squash commits.", 0),
        ("Be kind.", 0),
    ],
)
def test_what_a_file_says_already_is_known(rule: str, number: int) -> None:
    assert says_already(rule, RULES) == number


@pytest.mark.parametrize("piece", SCANNERS["rules"].pieces)
def test_only_lines_about_the_same_conflict_in_a_long_file(piece: str) -> None:
    text = SCANNERS["rules"].text(piece)
    found = conflicts_with("Never use tabs in this project, always use spaces.", text)
    assert {conflict.line for conflict in found} == ({"- always use tabs"} if "tabs" in piece else set())
    assert says_already("Never use tabs in this project.", text) == 0


@pytest.mark.parametrize("piece", SCANNERS["drafts"].pieces)
def test_a_long_lesson_has_a_short_title_in_every_draft(piece: str) -> None:
    drafts = draft_everywhere(SCANNERS["drafts"].text(piece))
    assert len(drafts) == len(ROUTES)
    assert all(len(made.title) <= 120 for made in drafts if isinstance(made, NoteDraft))


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("The root cause was that block_on is called twice.", "block_on is called twice"),
        ("The root cause was that pnpm hoists nothing.", "pnpm hoists nothing"),
        ("The root cause was that the index is missing.", "The index is missing"),
    ],
)
def test_a_name_at_the_beginning_of_a_title_keeps_its_spelling(text: str, title: str) -> None:
    note = draft(said(text, "assistant"), "knowledge")
    assert isinstance(note, NoteDraft)
    assert (note.title, note.root_cause) == (title, f"{title}.")


def test_an_error_that_a_person_quoted_is_a_symptom_and_a_path_tells_the_language() -> None:
    asked = 'deploy fails with "Cannot start a runtime from within a runtime"'
    lesson = replace(said("The root cause was that block_on is called in src/server.rs.", "assistant"), situation=asked)
    note = draft(lesson, "knowledge")
    assert isinstance(note, NoteDraft)
    assert (note.symptoms, note.language) == (("Cannot start a runtime from within a runtime",), "rust")
    assert asked in note.body


def test_a_short_name_ends_with_a_word() -> None:
    assert short_slug("Use sqlx over diesel because compile-time checks", 40) == "use-sqlx-over-diesel-because-compile"
    assert short_slug("x" * 90, 60) == "x" * 60
    assert short_slug("one two", 7) == "one-two"
