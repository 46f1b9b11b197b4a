"""Recall through Lore, with the real embedder."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ALICE, NOW, PERSON, quick_env
from swarmlore.domain.records import PROFILES, Caller, Draft, Hit, Memory, Query
from swarmlore.errors import Ambiguous, InvalidInput
from swarmlore.frozen import replace
from swarmlore.lore import Lore
from swarmlore.retrieval.recall import final_hits

LESSONS = {
    "snap": "Snapshot tests are recorded with make snap-record, never by hand",
    "port": "The staging database listens on port 5433",
    "pnpm": "Use pnpm, not npm, in the frontend workspace",
    "lint": "Run ruff check before every commit, the CI rejects unformatted code",
    "jwt": "JWT refresh happens five minutes before expiry to avoid race conditions",
    "utf8": "The exporter writes UTF-8 with a byte order mark because Excel needs it",
}
DAY = 86_400.0


class Clock:
    now = NOW

    def __call__(self) -> float:
        return self.now


def open_with(home: Path, caller: Caller = ALICE, clock: Clock | None = None, **env: str) -> Lore:
    return Lore.open(home, cwd=home.parent, caller=caller, env=env, clock=clock or Clock())


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lore]:
    with open_with(tmp_path_factory.mktemp("recall") / "home") as lore:
        for id, text in LESSONS.items():
            lore.remember(
                text, id=id, tags=[id], kind="correction" if id == "snap" else "learning", entities=[f"feature:{id}"]
            )
        yield lore


def ids(hits: tuple[Hit, ...]) -> list[str]:
    return [hit.memory.id for hit in hits]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("which package manager for the web client?", "pnpm"),
        ("psycopg.OperationalError: connection to server at staging, port 5432 failed", "port"),
        ("format the code before I push", "lint"),
        ("tokens expire while a request is running", "jwt"),
        ("umlauts are broken when the csv is opened in Excel", "utf8"),
    ],
)
def test_a_question_in_other_words_finds_its_lesson(filled: Lore, question: str, answer: str) -> None:
    assert ids(filled.recall(question, limit=1)) == [answer]


def test_every_hit_explains_itself(filled: Lore) -> None:
    hit = filled.recall("record the snapshot tests")[0]
    names = {part.name for part in hit.explanation}
    assert {"words", "meaning", "pieces"} <= names
    terms = ("words", "meaning", "pieces", "situation", "chance", "graph")
    added = [part.value for part in hit.explanation if part.name in terms]
    factors = [part.value for part in hit.explanation if part.name not in terms]
    assert hit.score == pytest.approx(sum(added) * math.prod(factors), rel=1e-3)


def test_the_modes_look_where_they_say(filled: Lore) -> None:
    assert ids(filled.recall("pnpm", mode="keyword")) == ["pnpm"]
    by_meaning = filled.recall("install javascript dependencies", mode="naive", limit=1)
    assert ids(by_meaning) == ["pnpm"]
    assert not [part for part in by_meaning[0].explanation if part.name == "words" and part.value > 0.2]
    assert filled.recall("zzz qqq", mode="keyword") == ()


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_answers(filled: Lore, profile: str) -> None:
    hits = filled.recall("snapshot tests recorded", profile=profile, limit=3)
    assert hits
    if profile != "knowledge":  # ranks by category, confidence and tags alone
        assert hits[0].memory.id == "snap"


def test_filters_keep_what_was_asked_for(filled: Lore) -> None:
    assert ids(filled.recall("tests", kinds=["correction"])) == ["snap"]
    assert ids(filled.recall("tests", tags=["lint"])) == ["lint"]
    assert ids(filled.recall("anything at all", entities=["feature:jwt"])) == ["jwt"]
    assert ids(filled.recall("anything at all", entities=["jwt"])) == ["jwt"]
    assert filled.recall("tests", sources=["transcript"]) == ()
    assert filled.recall("tests", tiers=["hive"]) == ()


@pytest.mark.parametrize(
    "bad", [{"limit": 0}, {"limit": 1001}, {"profile": "best"}, {"mode": "psychic"}, {"colour": "red"}]
)
def test_bad_questions_say_what_is_possible(filled: Lore, bad: dict[str, object]) -> None:
    with pytest.raises(InvalidInput) as caught:
        filled.recall("tests", **bad)  # type: ignore[arg-type]
    assert caught.value.hint
    with pytest.raises(InvalidInput):
        filled.recall("  ")


def test_what_shares_neither_a_word_nor_a_meaning_is_left_out(filled: Lore) -> None:
    hits = filled.recall("record the snapshot tests", limit=len(LESSONS))
    assert ids(hits)[0] == "snap"
    assert 0 < len(hits) < len(LESSONS)
    assert min(hit.score for hit in hits) > 0
    assert filled.recall("anything at all") == ()
    assert ids(filled.recall("anything at all", tags=["jwt"])) == ["jwt"]  # what is named is not unrelated
    assert len(filled.recall("anything at all", profile="swarm", limit=len(LESSONS))) == len(LESSONS)


def test_an_unrelated_memory_still_takes_the_place_of_one_that_it_corrects() -> None:
    old = Memory("old", "Always use vitest for the unit tests of the web client", trust=1)
    new = Memory("new", "Never use vitest for the unit tests of the web client", trust=3)
    other = Memory("other", "The exporter writes UTF-8 with a byte order mark")
    hits = [Hit(old, 0.4), Hit(new, 0.0), Hit(other, 0.0)]
    assert ids(tuple(final_hits(hits, Query("vitest"), NOW, 0.0))) == ["new"]


def test_a_situation_finds_what_the_words_do_not(tmp_path: Path) -> None:
    with open_with(tmp_path / "home") as lore:
        lore.remember("The parser keeps comments in a side table for the formatter", id="other")
        lore.remember("Documentation is built with mkdocs in strict mode", id="docs")
        cue = "please update the reference images"
        assert lore.recall(cue, limit=1)[0].memory.id != "snap"
        lore.remember(LESSONS["snap"], id="snap", situation="update the reference images of the components")
        hits = lore.recall(cue, limit=3)
        assert hits[0].memory.id == "snap"
        assert "situation" in {part.name for part in hits[0].explanation}


def test_a_block_is_fenced_receipted_shown_once_and_silent_otherwise(tmp_path: Path) -> None:
    with open_with(tmp_path / "home") as lore:
        for id, text in LESSONS.items():
            lore.remember(text, id=id)
        block = lore.block("the snapshot tests fail, record them again", session="s1")
        assert LESSONS["snap"] in block.text
        assert block.receipt.shown[0].memory == "snap"
        assert lore.receipts()[0] == block.receipt
        again = lore.block("record the snapshot tests once more", session="s1")
        assert LESSONS["snap"] not in again.text
        silent = lore.block("thanks, that looks good", session="s2")
        assert (silent.text, silent.receipt.shown) == ("", ())
        assert "relevant" in silent.receipt.reason
        tight = lore.block("record the snapshot tests", session="s3", headroom=0.01)
        assert tight.text == ""
        assert len(lore.receipts()) == 4


def test_of_two_that_contradict_only_one_is_shown_whatever_their_tier(tmp_path: Path) -> None:
    with open_with(tmp_path / "home") as lore:
        lore.remember("Always use vitest for the unit tests of the web client", tier="hive")
    with open_with(tmp_path / "home", PERSON) as lore:
        said = lore.remember("Never use vitest for the unit tests of the web client").memory
        assert ids(lore.recall("vitest for unit tests of the web client", limit=5)) == [said.id]


def test_validity_expiry_and_scope_are_obeyed(tmp_path: Path) -> None:
    clock = Clock()
    (tmp_path / "pyproject.toml").write_text("")
    with open_with(tmp_path / "home", clock=clock) as lore:
        lore.remember("Staging deploys use make ship-staging", id="brief", ttl_s=3600.0)
        lore.remember("Python services are deployed by make ship-python", id="python", scope="stack:python")
        lore.remember("Rust services are deployed by make ship-rust", id="rust", scope="stack:rust")
        assert set(ids(lore.recall("how to deploy, make ship"))) == {"brief", "python"}
        clock.now += 2 * 3600
        assert ids(lore.recall("how to deploy, make ship")) == ["python"]
        assert lore.get("brief").id == "brief"


def test_an_old_correction_beats_yesterdays_chatter(tmp_path: Path) -> None:
    with open_with(tmp_path / "home") as lore:
        lore.remember(
            "Record snapshot tests with make snap-record", id="old", kind="correction", created_at=NOW - 365 * DAY
        )
        lore.remember(
            "We talked about the snapshot tests for a while", id="chat", source="transcript", created_at=NOW - DAY
        )
        assert ids(lore.recall("how are snapshot tests recorded?"))[0] == "old"


def test_changing_the_embedder_re_embeds_while_recall_works(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with open_with(home) as lore:
        for id, text in LESSONS.items():
            lore.remember(text, id=id)
    with open_with(home, SWARMLORE_EMBEDDER_KIND="wordllama") as lore:
        assert ids(lore.recall("snapshot tests recorded", limit=1)) == ["snap"]
        steps: list[tuple[int, int]] = []
        done = lore.reindex(lambda done, total: steps.append((done, total)))
        assert done["embedded"] == len(LESSONS)
        assert steps[-1] == (len(LESSONS), len(LESSONS))
        provider = lore.embedding.embedder()
        assert provider is not None
        assert lore.store.count_vectors(provider.name) == len(LESSONS)
        assert ids(lore.recall("snapshot tests recorded", limit=1)) == ["snap"]


def test_without_an_embedder_words_answer_and_it_is_said(tmp_path: Path) -> None:
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=ALICE, env=quick_env()) as lore:
        lore.remember(LESSONS["snap"])
        hits = lore.recall("snapshot tests")
        assert len(hits) == 1
        assert "words only" in hits.notes[0]


def test_a_failing_embedder_loses_nothing_and_is_reported(tmp_path: Path) -> None:
    env = {
        "SWARMLORE_EMBEDDER_KIND": "openai",
        "SWARMLORE_EMBEDDER_BASE_URL": "http://127.0.0.1:9/v1",
        "SWARMLORE_EMBEDDER_MODEL": "m",
        "SWARMLORE_EMBEDDER_TIMEOUT_S": "0.2",
    }
    with open_with(tmp_path / "home", **env) as lore:
        lore.remember(LESSONS["snap"], id="snap")
        assert ids(lore.recall("snapshot tests")) == ["snap"]
        assert lore.stats()["waiting_for_vector"] == 1
        assert {check.name: check.state for check in lore.doctor()}["embedder"] == "fail"
    with open_with(tmp_path / "home") as lore:
        assert lore.reindex()["embedded"] == 1


def test_a_semantic_duplicate_is_recognised_when_its_vector_arrives(tmp_path: Path) -> None:
    with open_with(tmp_path / "home") as lore:
        first = lore.remember("Always run the database migrations before the integration tests").memory
        again = lore.remember("Always run database migrations before integration tests")
        assert (again.outcome, again.memory.id) in (("confirmed", first.id), ("updated", first.id))
        assert len(lore.list()) == 1


def test_ambiguous_entities_ask(tmp_path: Path) -> None:
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=ALICE, env=quick_env()) as lore:
        lore.remember("Sessions last for 15 minutes only", entities=["feature:auth-session", "feature:auth-token"])
        with pytest.raises(Ambiguous) as caught:
            lore.recall("how long", entities=["auth"])
        assert caught.value.code == "DISAMBIGUATION_REQUIRED"


def test_a_person_can_ask_all_projects_an_agent_cannot(tmp_path: Path) -> None:
    other = Caller("git.example/beta", "bob", "worker", 2)
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=other, env=quick_env()) as lore:
        lore.remember(LESSONS["port"], id="port")
        lore.remember("A private note about the port 5433", id="private", tier="agent")
    for caller, found in ((PERSON, ["port"]), (ALICE, []), (replace(ALICE, role="lead"), [])):
        with Lore.open(tmp_path / "home", cwd=tmp_path, caller=caller, env=quick_env()) as lore:
            assert ids(lore.recall("port 5433", all_projects=True)) == found


def test_what_was_just_imported_is_compared_fairly_at_once(tmp_path: Path) -> None:
    lines = ["Always run the database migrations before the integration tests", "Staging deploys need --canary or hang"]
    with Lore.open(tmp_path, cwd=tmp_path, caller=ALICE, env={}) as lore:
        lore.remember("The worker queue drops messages larger than 256 KB")
        lore.remember_many([Draft(line) for line in lines])
        hits = lore.recall("do I need to migrate the database for integration tests?")
        assert hits[0].memory.text == lines[0]
        assert "estimated" not in " ".join(part.note for hit in hits for part in hit.explanation)
        assert lore.store.count_pending().get("embed", (0, 0))[0] == 0


def test_when_many_texts_wait_for_their_vector_the_answer_says_so(tmp_path: Path) -> None:
    with Lore.open(tmp_path, cwd=tmp_path, caller=ALICE, env={}) as lore:
        lore.remember_many(Draft(f"Run make seed-{n} before the {n}th login test of the shop") for n in range(60))
        hits = lore.recall("which seed does the 7th login test need?")
        assert hits.notes == ("many texts wait for their vector and are found by words only: swarmlore reindex",)
        assert lore.recall("which seed does the 7th login test need?", mode="keyword").notes == ()
        lore.embedding._embedder = None  # closing has nothing to catch up with


@pytest.mark.parametrize(("profile", "part", "value"), [("knowledge", "tags", 0.25), ("learnings", "tags", 1.1)])
@pytest.mark.parametrize("tag", ["deploy", "memory", "testing", "retries"])
def test_a_tag_that_a_question_names_is_matched_as_it_is_written(
    lore: Lore, profile: str, part: str, value: float, tag: str
) -> None:
    lore.remember("The docs are shipped by make ship-docs", tags=[tag])
    [hit] = lore.recall(f"docs {tag}", profile=profile, mode="keyword")
    assert {item.name: item.value for item in hit.explanation}[part] == pytest.approx(value)


def test_without_vectors_profile_swarm_gives_the_newest_of_what_was_asked_for(lore: Lore) -> None:
    mine = lore.remember("The green vault is opened by the green key", tier="agent").memory.id
    lore.remember("The mirror of the docs is filled by make mirror")
    assert [hit.memory.id for hit in lore.recall("anything", 1, "swarm", tiers=("agent",))] == [mine]
