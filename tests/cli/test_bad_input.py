"""Whatever is given: an answer or an error of ours with a hint, never a traceback, and nothing half done."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conftest import ALICE, BOB, PERSON, examples, quick_env
from homes import LESSON, in_memory
from odd_strings import ODD
from swarmlore import config
from swarmlore.domain.policy.gate import check_structure
from swarmlore.domain.records import PROFILES, Draft
from swarmlore.errors import InvalidInput, NotFound, Rejected, SwarmloreError
from swarmlore.lore import Lore
from swarmlore.main import main

TEXTS = examples(5_000)
EXIT_CODES = range(2, 10)  # those of our classes; 1 would be an error nobody foresaw
BEGINNINGS = ("", "Always run ", "Use pnpm for everything in the workspace called ")

# Every character there is: lone surrogates, NUL and code points without a character too.
any_text = st.text(st.characters(exclude_categories=()), max_size=60)
many = settings(max_examples=TEXTS, deadline=None, database=None)


def batches(size: int) -> settings:
    """As many examples as make up all texts, where one example holds `size` of them."""
    return settings(max_examples=TEXTS // size, deadline=None, database=None)


def texts(size: int) -> st.SearchStrategy[list[str]]:
    return st.lists(any_text, min_size=size, max_size=size)


@pytest.fixture(scope="module")
def fast_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with in_memory(tmp_path_factory.mktemp("fast")) as folder:
        yield folder


@pytest.fixture(scope="module")
def lore(fast_home: Path) -> Iterator[Lore]:
    """A memory that takes in whatever the tests give it."""
    with Lore.open(fast_home / "lore", cwd=fast_home, caller=ALICE, env=quick_env()) as opened:
        opened.remember(LESSON, tags=["release"])
        yield opened
        assert opened.store.engine.check() == []


@pytest.fixture(scope="module")
def small(fast_home: Path) -> Iterator[Lore]:
    """A memory that is only asked."""
    with Lore.open(fast_home / "small", cwd=fast_home, caller=ALICE, env=quick_env()) as opened:
        opened.remember(LESSON, tags=["release"], situation="make: no rule to make target release")
        opened.remember("Port 5433 is the one of the test database", entities=["feature:database"], tier="hive")
        opened.remember("Naïve 日本語 tests need the locale en_US.UTF-8 in CI", tier="agent")
        yield opened


def attempt(call: Callable[[], Any]) -> Any:
    """What a call answers, or the error it refuses with; anything else but ours is a failure of the test."""
    try:
        return call()
    except SwarmloreError as error:
        refusal = error
    assert refusal.message
    assert refusal.hint
    return refusal


def state(lore: Lore) -> tuple[int, ...]:
    """The last row numbers: every change adds an audit row. Refused texts are listed apart and do not count."""
    last = ", ".join(f"(SELECT coalesce(max(seq), 0) FROM {table})" for table in ("memory", "audit", "receipt"))
    [row] = lore.store.engine.run(f"SELECT {last}, (SELECT count(*) FROM session)")
    return row


def left_alone(lore: Lore, call: Callable[[], Any]) -> Any:
    """`attempt`, and a refusal has changed nothing."""
    before = state(lore)
    found = attempt(call)
    if isinstance(found, SwarmloreError):
        assert state(lore) == before
    return found


def is_storable(text: str) -> bool:
    return text == text.encode("utf-8", "replace").decode("utf-8") and bool(text.strip())


# Texts of every kind


@given(any_text, st.sampled_from(BEGINNINGS))
@many
def test_any_text_is_remembered_or_refused(lore: Lore, text: str, beginning: str) -> None:
    told = left_alone(lore, lambda: lore.remember(beginning + text))
    if isinstance(told, SwarmloreError):
        assert isinstance(told, (Rejected, InvalidInput))
        return
    assert is_storable(told.memory.text)
    found = lore.store.get(ALICE, told.memory.id)
    assert found is not None
    assert found.text == told.memory.text


@given(any_text, st.sampled_from(PROFILES))
@many
def test_any_text_can_be_looked_for(small: Lore, text: str, profile: str) -> None:
    hits = attempt(lambda: small.recall(text, profile=profile))
    if isinstance(hits, SwarmloreError):
        assert isinstance(hits, InvalidInput)
        assert not text.strip()
    else:
        assert all(math.isfinite(hit.score) for hit in hits)


@given(texts(5))
@batches(5)
def test_any_text_is_a_cue(small: Lore, cues: list[str]) -> None:
    blocks = [small.block(cue, trigger="error") for cue in cues]
    assert all(block.text or block.receipt.reason for block in blocks)
    assert small.receipts(limit=len(cues)) == tuple(block.receipt for block in reversed(blocks))


@given(any_text)
@many
def test_any_text_as_an_id_is_unknown_or_refused(lore: Lore, ref: str) -> None:
    for call in (lore.get, lore.history, lore.forget, lore.end_session):
        assert isinstance(left_alone(lore, lambda call=call: call(ref)), (InvalidInput, NotFound))  # type: ignore[misc]
    if ref:  # nothing means the last operation
        assert isinstance(left_alone(lore, lambda: lore.undo(ref)), (InvalidInput, NotFound))
    told = left_alone(lore, lambda: lore.remember(LESSON, id=ref))
    assert isinstance(told, InvalidInput) or told.outcome == "confirmed"


@given(texts(5))
@batches(5)
def test_any_text_as_a_tag_comes_back_or_is_refused(lore: Lore, small: Lore, tags: list[str]) -> None:
    for tag in tags:
        told = left_alone(lore, lambda tag=tag: lore.remember(f"{LESSON} {state(lore)[0]}", tags=[tag]))  # type: ignore[misc]
        if not isinstance(told, SwarmloreError) and told.outcome == "added":
            assert len(told.memory.tags) == 1
            assert is_storable(told.memory.tags[0])
            assert lore.store.get(ALICE, told.memory.id) == told.memory
        attempt(lambda tag=tag: small.list(tags=[tag], session=tag, owner=tag))  # type: ignore[misc]
    attempt(lambda: small.recall("release build", tags=tags, phase=tags[0], mode="keyword"))
    attempt(lambda: small.recall("release build", entities=tags, mode="keyword"))


@pytest.mark.parametrize("field", ["title", "situation", "key", "category", "source_ref", "extra"])
@given(data=st.data())
@settings(max_examples=150, deadline=None, database=None)
def test_any_text_in_the_other_fields(lore: Lore, field: str, data: st.DataObject) -> None:
    text = data.draw(any_text)
    value = {"deep": [text, {text: text}]} if field in ("source_ref", "extra") else text
    told = left_alone(lore, lambda: lore.remember(f"{LESSON} {state(lore)[0]}", source="note", **{field: value}))
    if not isinstance(told, SwarmloreError):
        assert lore.store.get(ALICE, told.memory.id) == told.memory


@given(texts(50))
@batches(50)
def test_many_texts_are_imported_each_stored_or_counted_as_refused(lore: Lore, lines: list[str]) -> None:
    told = lore.remember_many(Draft(text=line, source="note", tags=("import",)) for line in lines)
    assert told.stored + len(told.rejected) == len(lines)
    assert all(why for _, why in told.rejected)


def test_odd_strings_pass_every_door(fast_home: Path, small: Lore) -> None:
    with Lore.open(fast_home / "odd", cwd=fast_home, caller=ALICE, env=quick_env()) as lore:
        for text in ODD:
            for source in ("manual", "note"):
                left_alone(lore, lambda: lore.remember(text, source=source))  # noqa: B023 - called at once
            left_alone(lore, lambda: lore.remember(LESSON, tags=[text], title=text, situation=text))  # noqa: B023
            for profile in PROFILES:
                attempt(lambda: small.recall(text, profile=profile))  # noqa: B023
            attempt(lambda: lore.recall(text))  # noqa: B023
            for call in (lore.get, lore.history, lore.forget, lore.end_session, lore.block, lore.start_session):
                attempt(lambda: call(text))  # noqa: B023
        assert lore.store.engine.check() == []
        assert len(lore.list(limit=1000)) > 100


# Sizes and numbers


@pytest.mark.parametrize(
    ("text", "source", "error"),
    [
        ("", "manual", InvalidInput),
        (" \n\t ", "manual", InvalidInput),
        ("\u200b\u2060", "note", InvalidInput),
        ("x" * 14, "manual", Rejected),
        ("x" * 281, "manual", Rejected),
        ("word " * 13_107 + "w", "note", None),
        ("word " * 13_107 + "wo", "note", Rejected),
        ("x" * 1_000_000, "note", Rejected),
        ("x" * 1_000_000, "manual", Rejected),
        ("\0" * 65_537, "note", Rejected),
        ("é" * 65_537, "note", Rejected),
        ("[" * 65_537, "note", Rejected),
    ],
    ids=lambda value: f"{len(value)}" if isinstance(value, str) and len(value) > 20 else None,
)
def test_lengths(lore: Lore, text: str, source: str, error: type[Exception] | None) -> None:
    assert len(text) in (0, 2, 3, 4, 14, 281, 65_536, 65_537, 1_000_000)
    told = left_alone(lore, lambda: lore.remember(text, source=source))
    assert isinstance(told, error) if error else told.outcome == "added"


def test_a_megabyte_is_looked_for_in_time(lore: Lore) -> None:
    for text in ("x" * 1_000_000, "word " * 200_000, "\ud800" * 1_000_000, '"' * 1_000_000, "a\u0301" * 500_000):
        attempt(lambda: lore.recall(text))  # noqa: B023 - called at once
        lore.block(text)
        assert isinstance(attempt(lambda: lore.get(text)), InvalidInput)  # noqa: B023


NUMBERS = (math.nan, math.inf, -math.inf, -1, -0.5, 2**63, 2**70, -(2**70), 1e300, 5e-324)


@pytest.mark.parametrize("field", ["confidence", "ttl_s", "created_at", "trust"])
def test_numbers_out_of_range_are_refused(lore: Lore, field: str) -> None:
    for value in (*NUMBERS, "1", "nan", b"1", True, [1]):
        told = left_alone(lore, lambda: lore.remember(LESSON + field, **{field: value}))  # noqa: B023 - called at once
        in_range = (field, value) in (("confidence", 5e-324), ("ttl_s", 5e-324), ("created_at", 5e-324)) or (
            field == "created_at" and value in (-1, -0.5)
        )
        assert isinstance(told, SwarmloreError) != in_range, value


@pytest.mark.parametrize("limit", [*NUMBERS, 0, 1001, 10**9])
def test_a_limit_out_of_range_is_refused(lore: Lore, limit: float) -> None:
    assert isinstance(attempt(lambda: lore.recall("release", limit=limit)), InvalidInput)  # type: ignore[arg-type]
    for call in (lore.sessions, lore.rejected, lambda count: lore.receipts("", count), lambda n: lore.list(offset=n)):
        attempt(lambda: call(limit))  # type: ignore[arg-type,operator] # noqa: B023 - called at once


@pytest.mark.parametrize(
    "id",
    [
        *("../../etc/passwd", "../x", "a/b", "a b", "a\0b", "é", "x" * 129, "\ud800", "-rf;"),
        *(".", "..", "...", "-", "--", "_", ":", "._:-"),
    ],
)
def test_an_id_that_could_be_a_path_or_worse_is_not_kept(lore: Lore, id: str) -> None:
    draft = Draft("Ids of others are kept as they are", id=id)
    refused = left_alone(lore, lambda: lore.remember(draft.text, id=id))
    assert isinstance(refused, InvalidInput)
    assert "letter or digit" in refused.hint
    assert lore.remember_many([draft]).stored == 0
    with pytest.raises(InvalidInput):
        check_structure(draft, lesson=True)


@pytest.mark.parametrize(
    "id", ["7", "a", ".a", "..1", "elsewhere:1", "0190b3c4-7d5e-7f60-8a1b-2c3d4e5f6071", "x" * 128]
)
def test_an_id_of_another_system_is_kept(lore: Lore, id: str) -> None:
    assert lore.remember(f"What was known elsewhere as {id}", source="note", id=id).memory.id == id


# Words from a list: what nothing can fit is a slip and not a question


@pytest.mark.parametrize(
    ("wrong", "message", "hint"),
    [
        ({"status": "activ"}, "unknown status: activ", "one of: candidate, established"),
        ({"status": "forgoten"}, "unknown status: forgoten", "did you mean: forgotten; one of: candidate"),
        ({"tier": "Swarm"}, "unknown tier: Swarm", "did you mean: swarm; one of: agent, swarm, hive"),
        ({"kind": "decison"}, "unknown kind: decison", "did you mean: decision; one of: correction, "),
        ({"source": "manuel"}, "unknown source: manuel", "did you mean: manual; one of: manual, "),
        ({"kinds": "decision"}, "list has no 'kinds'", "did you mean: kind; one of: tier, tiers, kind, "),
    ],
)
def test_a_list_of_what_cannot_be_is_refused(small: Lore, wrong: dict[str, str], message: str, hint: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        small.list(**wrong)
    assert caught.value.message == message
    assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize("status", ["", "candidate", "superseded", "forgotten", "any"])
def test_a_list_of_what_can_be_is_answered(small: Lore, status: str) -> None:
    assert isinstance(small.list(status=status, tier="swarm", kind="gap", source="note", category="anything"), tuple)


@pytest.mark.parametrize(
    ("wrong", "message", "hint"),
    [
        ({"kinds": ["decision", "nope"]}, "unknown kind: nope", "one of: correction, decision, "),
        ({"tiers": ["hives"]}, "unknown tier: hives", "did you mean: hive; one of: agent, swarm, hive"),
        ({"sources": ["notes"]}, "unknown source: notes", "did you mean: note; one of: manual, "),
        (
            {"mode": "keywords"},
            "unknown mode: keywords",
            "did you mean: keyword; one of: hybrid, keyword, naive, local, global",
        ),
        ({"profile": "learning"}, "unknown profile: learning", "did you mean: learnings; one of: default, "),
    ],
)
def test_a_question_for_what_cannot_be_is_refused(small: Lore, wrong: Any, message: str, hint: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        small.recall("release build", **wrong)
    assert caught.value.message == message
    assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize("headroom", [5, 35, 1.01, -0.1, math.nan, math.inf])
def test_a_headroom_is_a_share(small: Lore, headroom: float) -> None:
    before = len(small.receipts())
    with pytest.raises(InvalidInput, match="is not a share") as caught:
        small.block("release build", headroom=headroom)
    assert "0.35" in caught.value.hint
    assert len(small.receipts()) == before
    for share in (0, 0.5, 1, None):
        assert small.block("release build", headroom=share).receipt.reason


def test_a_block_of_an_unknown_profile_is_refused_even_where_it_would_be_silent(small: Lore) -> None:
    for cue, headroom in (("release build", 1.0), ("release build", 0.01), ("", 1.0)):
        with pytest.raises(InvalidInput, match="unknown profile: beds") as caught:
            small.block(cue, profile="beds", headroom=headroom)
        assert caught.value.hint.startswith("did you mean: beads; one of: ")


def test_a_lesson_of_what_cannot_be_is_refused_with_what_was_meant(lore: Lore) -> None:
    with pytest.raises(InvalidInput) as caught:
        lore.remember(LESSON, kind="decison")
    assert caught.value.hint.startswith("did you mean: decision; one of: ")
    with pytest.raises(Rejected) as refused:
        lore.remember(LESSON, category="tseting")
    assert refused.value.hint.startswith("did you mean: testing; one of: ")


def test_a_taken_id_is_a_conflict_and_changes_nothing(lore: Lore) -> None:
    lore.remember("Ids of other systems are kept as they come", id="other:1")
    told = left_alone(lore, lambda: lore.remember("Quite another thing under the same name", id="other:1"))
    assert isinstance(told, SwarmloreError)
    assert told.exit_code == 6
    assert lore.get("other:1").text == "Ids of other systems are kept as they come"


# Wrong types, as a program in Python can give them

WRONG: tuple[Any, ...] = (
    *(None, 0, 1, -1, 2**70, 1.5, math.nan, True, b"bytes", "", "text", "\ud800", "a\0b", [], ["a", None], [["x"]]),
    *((), ("x",), {}, {"a": 1}, {1: {2: object()}}, object(), object, len, {"x"}, range(3)),
)
CALLS: dict[str, Callable[[Lore, Any], Any]] = {
    "remember": lambda lore, wrong: lore.remember(wrong),
    **{
        f"remember {name}": (lambda lore, wrong, name=name: lore.remember(LESSON + name, **{name: wrong}))
        for name in (*Draft.__slots__, "session", "defer")
        if name != "text"
    },
    "remember_many": lambda lore, wrong: lore.remember_many(wrong),
    "remember_many of": lambda lore, wrong: lore.remember_many([wrong]),
    "recall": lambda lore, wrong: lore.recall(wrong),
    **{
        f"recall {name}": (lambda lore, wrong, name=name: lore.recall("release build", **{name: wrong}))
        for name in (
            "limit",
            "profile",
            "mode",
            "kinds",
            "categories",
            "tags",
            "entities",
            "tiers",
            "sources",
            "scopes",
        )
    },
    "recall phase": lambda lore, wrong: lore.recall("release build", profile="knowledge", phase=wrong),
    "recall all_projects": lambda lore, wrong: lore.recall("release build", all_projects=wrong),
    "block": lambda lore, wrong: lore.block(wrong),
    **{
        f"block {name}": (lambda lore, wrong, name=name: lore.block("release build", **{name: wrong}))
        for name in ("trigger", "session", "headroom", "chars_left", "profile", "scopes")
    },
    **{
        name: (lambda lore, wrong, name=name: getattr(lore, name)(wrong))
        for name in ("get", "history", "forget", "undo", "sessions", "rejected", "end_session", "backups_holding")
    },
    "receipts": lambda lore, wrong: lore.receipts(wrong),
    "receipts limit": lambda lore, wrong: lore.receipts("", wrong),
    "start_session": lambda lore, wrong: lore.start_session(wrong),
    **{
        f"start_session {name}": (lambda lore, wrong, name=name: lore.start_session("s", **{name: wrong}))
        for name in ("client", "cwd", "other")
    },
    "forget_origin session": lambda lore, wrong: lore.forget_origin(session=wrong),
    "forget_origin source": lambda lore, wrong: lore.forget_origin(source=wrong),
    **{
        f"list {name}": (lambda lore, wrong, name=name: lore.list(**{name: wrong}))
        for name in ("tier", "kind", "category", "source", "session", "owner", "status", "tags", "limit", "offset")
    },
}


@pytest.mark.parametrize("name", CALLS)
def test_a_value_of_the_wrong_type_is_refused_or_harmless(name: str, fast_home: Path) -> None:
    unforeseen = []
    with Lore.open(fast_home / "types", cwd=fast_home, caller=BOB, env=quick_env()) as lore:
        for wrong in WRONG:
            try:
                left_alone(lore, lambda: CALLS[name](lore, wrong))  # noqa: B023 - called at once
            except Exception as error:  # noqa: BLE001 - all of them are to be seen at once
                unforeseen.append(f"{wrong!r:.30}: {type(error).__name__}: {error!s:.60}")
        assert lore.store.engine.check() == []
    assert unforeseen == []


def test_a_taken_id_in_an_import_is_counted_as_refused(lore: Lore) -> None:
    lore.remember("The first lesson under this name stays as it is", id="import:1")
    told = lore.remember_many(
        [
            Draft("Wheels are cached in the folder called wheelhouse"),
            Draft("Quite another lesson comes under the same name", id="import:1"),
            Draft("The linter is run by a hook before each commit"),
        ]
    )
    assert (told.stored, [place for place, _ in told.rejected]) == (2, [2])
    assert lore.get("import:1").text == "The first lesson under this name stays as it is"


@pytest.mark.parametrize("home", ["a\0b", "/tmp/\ud800", "/dev/null/x"])
def test_a_home_that_can_be_none_is_refused(fast_home: Path, home: str) -> None:
    found = attempt(lambda: Lore.open(home, cwd=fast_home, caller=ALICE, env=quick_env()))
    assert isinstance(found, SwarmloreError)


@given(any_text.map(lambda text: text.replace("\0", "")))
@settings(max_examples=examples(300), deadline=None, database=None)
@example("\ud800")
@example("a\x7fb")
@example("a\x85b")
def test_a_setting_that_was_written_comes_back(fast_home: Path, text: str) -> None:
    """Whatever its value is; and what was written before it is still there."""
    home = str(fast_home / "settings")
    os.makedirs(home, exist_ok=True)
    config.write_value(home, "recall.limit", "7")
    written = attempt(lambda: config.write_value(home, "writer.model", text))
    loaded = config.load(home, "", {})
    assert loaded.recall.limit == 7
    assert isinstance(written, SwarmloreError) or loaded.writer.model == text


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "/dev/null", "/", "."])
def test_a_backup_has_a_name_that_can_be_one(lore: Lore, path: str) -> None:
    assert isinstance(left_alone(lore, lambda: lore.backup(path)), SwarmloreError)


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "/dev/null", "/", ".", "", "missing", "x" * 5000])
def test_only_a_backup_is_restored(lore: Lore, path: str) -> None:
    assert isinstance(left_alone(lore, lambda: Lore.restore_backup(path, lore.home)), SwarmloreError)


# The command line


@dataclass
class Reply:
    code: int
    out: str
    err: str


Run = Callable[..., Reply]


@pytest.fixture(scope="module")
def run(fast_home: Path) -> Iterator[Run]:
    """The command line in this process, with a home and a project of its own and without vectors."""
    patch = pytest.MonkeyPatch()
    for name in ("CLAUDECODE", "CODEX_SANDBOX", "CODEX_THREAD_ID", "OPENCODE", "GEMINI_CLI", "COPILOT_CLI"):
        patch.delenv(name, raising=False)
    patch.setenv("SWARMLORE_HOME", str(fast_home / "cli"))
    patch.setenv("SWARMLORE_EMBEDDER_KIND", "none")
    (fast_home / "project").mkdir()

    def call(*words: str, stdin: bytes = b"") -> Reply:
        out, err = io.StringIO(), io.StringIO()
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([*words, "--project", str(fast_home / "project")])
        return Reply(code, out.getvalue(), err.getvalue())

    yield call
    patch.undo()


def assert_told(reply: Reply) -> None:
    """Success, or what happened and what to do; continued lines are indented."""
    assert "Traceback" not in reply.out + reply.err
    if reply.code == 0:
        return
    assert reply.code in EXIT_CODES, reply
    if reply.out:  # a word may be --json
        told = json.loads(reply.out)
        assert told["error"] and told["hint"] and told["exit_code"] == reply.code
        return
    heads = [line.split(" ")[0] for line in reply.err.splitlines() if not line.startswith(" ")]
    assert heads == ["error:", "hint:"], reply.err


WAYS: tuple[tuple[str, ...], ...] = (
    ("remember", "{}"),
    ("remember", "--file={}"),
    ("remember", LESSON, "--tag={}", "--title={}"),
    ("remember", LESSON, "--situation={}", "--session={}"),
    ("remember", LESSON + " again", "--key={}", "--category={}"),
    ("remember", LESSON, "--entity={}"),
    ("recall", "{}"),
    ("recall", "release", "--tag={}", "--category={}", "--phase={}"),
    ("recall", "release", "--entity={}"),
    ("recall", "{}", "--block", "--session={}", "--trigger={}"),
    ("get", "{}"),
    ("history", "{}"),
    ("forget", "{}"),
    ("forget", "--session={}", "--erase", "--yes"),
    ("forget", "--source={}"),
    ("undo", "{}"),
    ("list", "--session={}", "--tag={}", "--owner={}", "--category={}"),
    ("list", "--limit={}"),
    ("receipts", "--session={}"),
    ("config", "{}"),
    ("config", "recall.limit", "{}"),
    ("restore-backup", "{}", "--yes"),
    ("{}",),
)


@given(words=st.sampled_from(WAYS), text=any_text.map(lambda text: text.replace("\0", "")))
@settings(max_examples=examples(1_200), deadline=None, database=None)
def test_any_word_on_the_command_line_is_answered(run: Run, words: tuple[str, ...], text: str) -> None:
    reply = run(*(word.replace("{}", text) for word in words))
    assert_told(reply)


def test_odd_strings_on_the_command_line(run: Run, fast_home: Path) -> None:
    odd = [text for text in ODD if "\0" not in text and len(text.encode()) < 100_000]  # what a command can be given
    for text in odd:
        assert_told(run("remember", "--", text))
        assert_told(run("recall", "--", text))
        assert_told(run("remember", LESSON, f"--tag={text}"))
        assert_told(run("get", "--", text))
    path = fast_home / "odd.txt"
    path.write_text("\n".join(odd), encoding="utf-8", newline="")
    reply = run("remember", "--file", str(path), "--each-line", "--json")
    assert reply.code == 0
    told = json.loads(reply.out)
    assert told["stored"] > 50
    assert all(item["reason"] for item in told["rejected"])


@given(st.binary(max_size=200) | any_text.map(lambda text: text.encode("utf-8", "surrogatepass")))
@settings(max_examples=examples(400), deadline=None, database=None)
def test_any_bytes_in_a_file_or_on_standard_input_are_answered(run: Run, fast_home: Path, content: bytes) -> None:
    path = fast_home / "bytes.txt"
    path.write_bytes(content)
    assert_told(run("remember", "--file", str(path)))
    assert_told(run("remember", "-", stdin=content))
    assert_told(run("remember", "--file", str(path), "--each-line"))
    assert_told(run("recall", "-", stdin=content))


@given(texts(50).map(lambda lines: "\n".join(lines).encode("utf-8", "replace")))
@batches(50)
def test_any_lines_are_imported_from_a_file(run: Run, fast_home: Path, content: bytes) -> None:
    path = fast_home / "lines.txt"
    path.write_bytes(content)
    assert_told(run("remember", "--file", str(path), "--each-line"))


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/dev/null", 2),
        ("/dev/zero", 2),
        ("/", 2),
        (".", 2),
        ("/nowhere/at/all", 4),
        ("", 4),
        ("a\udcffb", 4),
        ("x" * 5000, 2),
        ("../../../../../../../etc/../dev/null", 2),
        ("/proc/self/mem", 2),
        (sys.executable, 2),
    ],
)
@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs the devices of a Unix")
def test_files_that_are_none(run: Run, path: str, code: int) -> None:
    for more in ([], ["--each-line"]):
        reply = run("remember", "--file", path, *more)
        assert_told(reply)
        assert reply.code == code


@pytest.mark.parametrize("limit", ["-1", "0", "1.5", "nan", "", "1" * 30, "00000000019" + "9" * 30, "9" * 5000, "٣"])
def test_a_limit_that_is_none_is_refused_on_the_command_line(run: Run, limit: str) -> None:
    for words in (["recall", "release"], ["list"], ["receipts"]):
        reply = run(*words, f"--limit={limit}")
        assert_told(reply)
        assert reply.code == 2


@pytest.mark.parametrize(
    "words", [["list", "--offset=-1"], ["remember", LESSON, "--ttl=nan"], ["remember", LESSON, "--ttl=1e999"],
              ["remember", LESSON, "--ttl=-1d"], ["remember", LESSON, "--confidence=inf"],
              ["recall", "x", "--block", "--headroom=nan"], ["recall", "x", "--block", "--headroom=1e999%"],
              ["remember", LESSON, "--tag=--"], ["list", "--session=--"], ["recall", "x", "--entity=--"]],
    ids=lambda words: words[-1],
)  # fmt: skip
def test_values_that_are_none_are_refused_on_the_command_line(run: Run, words: list[str]) -> None:
    reply = run(*words)
    assert_told(reply)
    assert reply.code in (2, 3)


@pytest.mark.skipif(os.name != "posix", reason="only there arguments are bytes")
def test_a_process_given_bytes_that_are_no_text(fast_home: Path) -> None:
    """Arguments and names of files are bytes there; those of an old encoding are no UTF-8."""
    home = os.fsencode(fast_home / "bytes")
    program = [os.fsencode(sys.executable), b"-c", b"import sys; from swarmlore.main import main; sys.exit(main())"]
    env = {**os.environb, b"SWARMLORE_EMBEDDER_KIND": b"none", b"SWARMLORE_HOME": home}

    def process(*words: bytes, **more: bytes) -> tuple[int, bytes]:
        done = subprocess.run([*program, *words], capture_output=True, env=env, timeout=60, check=False)
        assert b"Traceback" not in done.stderr
        return done.returncode, done.stderr

    assert process(b"remember", b"The folder f\xfc\xdfe holds the old fonts of the site")[0] == 0
    assert process(b"get", b"\xff\xfe")[0] == 2
    assert process(b"remember", LESSON.encode(), b"--session", b"\xff")[0] == 2
    assert process(b"list", b"--home", home + b"-\xff")[0] == 8
    assert process(b"remember", b"--file", b"/nowhere/\xff")[0] == 4


@pytest.mark.skipif(os.name != "posix", reason="only there names are bytes")
def test_a_folder_whose_name_is_no_text_has_a_memory_too(fast_home: Path) -> None:
    folder = os.fsdecode(os.fsencode(fast_home / "project") + b"-f\xfc\xdfe")
    os.makedirs(folder, exist_ok=True)
    with Lore.open(fast_home / "bytes", cwd=folder, env=quick_env()) as lore:
        lore.remember("Fonts of the old site are in this folder")
        assert [memory.text for memory in lore.list()] == ["Fonts of the old site are in this folder"]


def test_a_person_is_not_spared(fast_home: Path) -> None:
    with Lore.open(fast_home / "person", cwd=fast_home, caller=PERSON, env=quick_env()) as lore:
        for text in ("\ud800" * 30, "'; DROP TABLE memory; --", '" OR body : *', "NEAR(a b)", "^a + -b {c d}:", "*"):
            left_alone(lore, lambda: lore.remember(text, source="note"))  # noqa: B023 - called at once
            lore.recall(text, all_projects=True)
