from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarmlore.domain.language.similarity import jaccard_bigram
from swarmlore.domain.policy.contradiction import differences
from swarmlore.domain.policy.deduplication import CONTRADICTION, Decision, Neighbour, decide, parse_decision

DATA = Path(__file__).parents[1] / "data"
CORRECTIONS = [json.loads(line) for line in (DATA / "corrections.jsonl").read_text("utf-8").splitlines()]
SAME = [json.loads(line) for line in (DATA / "same.jsonl").read_text("utf-8").splitlines()]
COSINES = (0.86, 0.93, 0.96, 0.99, 0.999)
CLASSES = {
    *("negation", "order", "number", "version", "port", "name", "path", "flag", "polarity", "unit", "boolean"),
}


def judge(new: str, old: str, similarity: float, *, trust: int = 2, old_trust: int = 2, **how) -> Decision:
    neighbour = Neighbour("old", old, similarity, old_trust)
    return decide(new, trust, [neighbour], **{"profile": "default", "measure": "cosine", **how})


def all_decisions(new: str, old: str, **trusts: int) -> list[Decision]:
    """By every cosine, by words before a vector exists, and in profiles lane and knowledge."""
    words = jaccard_bigram(new, old)
    decisions = [judge(new, old, cosine, profile=name, **trusts) for cosine in COSINES for name in ("default", "lane")]
    decisions.append(judge(new, old, words, measure="jaccard", **trusts))
    decisions.append(judge(new, old, words, measure="jaccard", profile="knowledge", **trusts))
    return decisions


def test_the_pairs_cover_every_class_and_are_lessons():
    assert len(CORRECTIONS) >= 100
    assert {pair["class"] for pair in CORRECTIONS} == CLASSES
    assert all(15 <= len(pair[side]) <= 280 for pair in [*CORRECTIONS, *SAME] for side in ("old", "new"))


@pytest.mark.parametrize("pair", CORRECTIONS, ids=lambda pair: f"{pair['class']}: {pair['new']}")
def test_a_correction_is_never_taken_for_the_same_nor_joined_with_what_it_corrects(pair):
    for new, old in ((pair["new"], pair["old"]), (pair["old"], pair["new"])):
        for decision in all_decisions(new, old):
            assert decision.operation in ("ADD", "DELETE", "LINK", "REJECT") or decision.text == new


@pytest.mark.parametrize("pair", CORRECTIONS, ids=lambda pair: f"{pair['class']}: {pair['new']}")
def test_a_correction_of_lower_trust_replaces_nothing(pair):
    operations = {decision.operation for decision in all_decisions(pair["new"], pair["old"], trust=1, old_trust=3)}
    assert operations <= {"ADD", "LINK", "REJECT"}


def test_most_corrections_supersede_what_they_correct():
    superseded = [pair for pair in CORRECTIONS if judge(pair["new"], pair["old"], 0.96).operation == "DELETE"]
    assert len(superseded) >= 0.88 * len(CORRECTIONS)


def test_independent_facts_of_the_same_form_never_replace_each_other():
    """Losing a fact is worse than keeping an outdated one beside its correction."""
    lines = (Path(__file__).parents[1] / "data" / "independent.jsonl").read_text(encoding="utf-8").splitlines()
    lost = []
    for pair in map(json.loads, lines):
        one, other = pair["one"], pair["other"]
        for measure, similarity in (("jaccard", jaccard_bigram(one, other)), ("cosine", 0.9), ("cosine", 0.97)):
            near = [Neighbour("x", one, similarity, 2)]
            decision = decide(other, 2, near, profile="default", measure=measure)
            lost += [pair] if decision.operation in ("DELETE", "NOOP") else []
    assert not lost


def test_most_paraphrases_confirm():
    confirmed = [pair for pair in SAME if judge(pair["new"], pair["old"], 0.97).operation == "NOOP"]
    assert len(confirmed) >= 0.95 * len(SAME)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The staging database listens on port 5432", "The production database listens on port 5433"),
        ("The staging API key is in Vault", "The production API key is in Vault"),
        ("Use tabs in Go files", "Use tabs in Makefiles"),
        ("The auth service needs JWT_SECRET", "The billing service needs JWT_SECRET"),
        ("HTTP 401 means the token expired", "HTTP 403 means the role is missing"),
        ("Run unit tests with pytest", "Run e2e tests with playwright"),
        ("Redis cache keys need a TTL", "Redis cache keys need a tenant prefix"),
        ("On Linux install libpq-dev", "On macOS install libpq"),
        ("Set the read timeout to 30 s", "Set the write timeout to 60 s"),
        ("If the build hangs, clear the cache", "If the deploy hangs, clear the cache"),
        ("For uploads use multipart", "For exports use streaming"),
        ("docker build needs --platform on M1", "docker run needs --platform on M1"),
        ("Set min pool size to 5", "Set max pool size to 20"),
        ("Login page tests are flaky on Firefox", "Login page tests are flaky on Safari"),
    ],
)
def test_two_facts_that_can_both_be_true_stay_beside_each_other(old, new):
    operations = {decision.operation for decision in all_decisions(new, old)}
    assert operations == {"ADD"}


@pytest.mark.parametrize(
    ("new", "similarity", "measure", "operation"),
    [
        ("Run `make fmt` before every commit.", 0.999, "cosine", "NOOP"),
        ("run make fmt, before every commit", 0.1, "cosine", "NOOP"),
        ("run make fmt, before every commit", 1.0, "jaccard", "NOOP"),
        ("Always run make fmt before each commit", 0.95, "cosine", "NOOP"),
        ("Always run make fmt before each commit", 0.9499, "cosine", "UPDATE"),
        ("Always run make fmt before each commit", 0.85, "cosine", "UPDATE"),
        ("Always run make fmt before each commit", 0.8499, "cosine", "ADD"),
        ("Always run make fmt before each commit", 0.6, "jaccard", "UPDATE"),
        ("Always run make fmt before each commit", 0.99, "jaccard", "UPDATE"),
        ("Always run make fmt before each commit", 0.5999, "jaccard", "ADD"),
        ("Never run make fmt before each commit", 0.2, "cosine", "DELETE"),
        ("Never run make fmt before each commit", 0.999, "cosine", "DELETE"),
        ("The importer ignores empty lines", 0.2, "cosine", "ADD"),
    ],
)
def test_thresholds_count_only_where_nothing_differs(new, similarity, measure, operation):
    assert judge(new, "Run make fmt before every commit", similarity, measure=measure).operation == operation


def test_a_text_that_covers_the_old_one_replaces_it():
    new = "Run make fmt and make lint before every commit and every push"
    decision = judge(new, "Run make fmt before every commit", 0.97)
    assert decision == Decision("UPDATE", "old", new, reason="says it again with more or other words")


def test_texts_that_complete_each_other_are_joined():
    decision = judge(
        "Snapshots are kept on the shared drive", "Snapshots are recorded with make snap-record, monthly", 0.9
    )
    assert decision.operation == "UPDATE"
    assert decision.text == (
        "Snapshots are recorded with make snap-record, monthly; Snapshots are kept on the shared drive"
    )


def test_what_would_be_too_long_is_linked():
    old = "Snapshots are recorded with make snap-record, monthly, " + "and reviewed by whoever changed a component " * 4
    decision = judge("Snapshots are kept on the shared drive of the design people, in yearly folders", old.strip(), 0.9)
    assert (decision.operation, decision.link) == ("LINK", "elaborates")


def test_long_texts_that_differ_stand_beside_each_other():
    old = "The importer reads one line after the other. " * 100
    decision = judge(old + "It stops at the first empty one.", old, 0.99)
    assert (decision.operation, decision.link) == ("LINK", "elaborates")
    assert judge(old + " ", old, 0.99).operation == "NOOP"


def test_a_shorter_text_keeps_the_longer_one():
    old = "Run make fmt before every commit and look at the changes"
    decision = judge("Run make fmt before every commit", old, 0.9)
    assert (decision.operation, decision.text) == ("UPDATE", old)


def test_a_text_of_lower_trust_rewrites_nothing():
    old = "Run make fmt before every commit"
    assert judge("Always run make fmt before each commit", old, 0.9, trust=1, old_trust=3).text == old
    more = judge("Run make fmt and make lint before every commit", old, 0.9, trust=1, old_trust=3)
    assert (more.operation, more.link) == ("LINK", "elaborates")


@pytest.mark.parametrize(("trust", "old_trust", "operation"), [(2, 2, "DELETE"), (3, 2, "DELETE"), (1, 2, "LINK")])
def test_a_contradiction_supersedes_what_is_not_trusted_more(trust, old_trust, operation):
    old, new = "Always run the test suite in CI", "Never run the test suite in CI"
    decision = judge(new, old, 0.96, trust=trust, old_trust=old_trust)
    assert (decision.operation, decision.target) == (operation, "old")
    assert decision.link == ("contradicts" if operation == "LINK" else "")
    assert decision.reason


def test_a_contradiction_about_something_else_is_linked():
    old = "Use vitest for every test of the web app and of its packages"
    new = "Avoid vitest where a test needs a real browser with its own profile"
    decision = judge(new, old, 0.6)
    assert (decision.operation, decision.link) == ("LINK", "contradicts")


@pytest.mark.parametrize(
    ("new", "operation"),
    [
        ("Always run the unit tests before pushing any code", "NOOP"),
        ("Always run the unit tests before pushing code to main and please tell everyone", "ADD"),
        ("Always run the unit tests before pushing code 3 times", "ADD"),
        ("Never run the unit tests before pushing code", "REJECT"),
        ("Docker needs a cache", "ADD"),
    ],
)
def test_profile_knowledge_decides_by_words_alone(new, operation):
    old = "Always run the unit tests before pushing code"
    for similarity in (0.0, 0.99):
        assert judge(new, old, similarity, profile="knowledge").operation == operation


def test_profile_knowledge_says_why_it_refuses():
    decision = judge("Never cache the npm token in CI", "Always cache the npm token in CI", 0, profile="knowledge")
    assert decision == Decision("REJECT", "old", reason=CONTRADICTION)
    assert CONTRADICTION == "lesson contradicts an existing lesson with shared tags"


@pytest.mark.parametrize(("old", "operation"), [("docker-compose", "ADD"), ("kubernetes", "NOOP")])
def test_single_words_are_duplicates_only_where_they_are_equal(old, operation):
    assert judge("Kubernetes!", old, 1.0, profile="knowledge").operation == operation


def test_the_threshold_for_word_pairs_can_be_set():
    old, new = "Always run the unit tests before pushing code", "Run the unit tests before pushing"
    assert judge(new, old, 0, profile="knowledge", dedup_threshold=0.9).operation == "ADD"
    assert judge(new, old, 0, profile="knowledge", dedup_threshold=0.6).operation == "NOOP"


@pytest.mark.parametrize(("old", "operation"), [("A long turn.", "NOOP"), ("a long turn", "ADD")])
def test_raw_material_is_the_same_only_where_it_is_identical(old, operation):
    assert judge("A long turn.", old, 1.0, lesson=False).operation == operation


def test_confirmation_goes_before_contradiction_and_that_before_merging():
    neighbours = [
        Neighbour("more", "Run the test suite in CI and on every laptop", 0.9, 2),
        Neighbour("against", "Never run the test suite in CI", 0.895, 2),
        Neighbour("same", "Always run the test suite in CI.", 0.89, 2),
    ]
    text = "Always run the test suite in CI"
    for count, (operation, target) in enumerate([("UPDATE", "more"), ("DELETE", "against"), ("NOOP", "same")], start=1):
        decision = decide(text, 2, neighbours[:count], profile="default", measure="cosine")
        assert (decision.operation, decision.target) == (operation, target)


def test_without_neighbours_everything_is_new():
    assert decide("Anything at all", 2, [], profile="default", measure="cosine").operation == "ADD"


@given(st.text(max_size=200), st.text(max_size=200), st.sampled_from(COSINES))
def test_whatever_the_texts_a_confirmation_means_that_nothing_differs(new, old, cosine):
    if judge(new, old, cosine).operation == "NOOP":
        assert differences(new, old) == ()


NEIGHBOURS = [Neighbour("a", "Run make fmt before every commit", 0.96, 2), Neighbour("b", "Use port 5432", 0.9, 3)]


@pytest.mark.parametrize(
    ("text", "answer", "operation"),
    [
        ("Run make fmt before each commit", {"operation": "NOOP", "target": "a"}, "NOOP"),
        ("Run make fmt after each commit", {"operation": "NOOP", "target": "a"}, None),
        ("Never run make fmt before each commit", {"operation": "NOOP", "target": "a"}, None),
        ("Never run make fmt before each commit", {"operation": "DELETE", "target": "a"}, "DELETE"),
        ("Use port 5433", {"operation": "DELETE", "target": "b"}, "LINK"),
        ("Use port 5433", {"operation": "DELETE", "target": "a"}, None),
        ("Use port 5433", {"operation": "ADD"}, "ADD"),
        ("use port 5432.", {"operation": "ADD"}, None),
        ("Use port 5433", {"operation": "NOOP", "target": "c"}, None),
        ("Use port 5433", {"operation": "NOOP", "target": ["a"]}, None),
        ("Use port 5433", {"operation": "ERASE", "target": "a"}, None),
        ("Use port 5433", {"operation": None}, None),
        ("Use port 5433", {}, None),
    ],
)
def test_a_model_may_decide_but_not_over_a_difference_or_a_higher_trust(text, answer, operation):
    decision = parse_decision(answer, NEIGHBOURS, text=text, trust=2)
    assert (decision.operation if decision else None) == operation


@pytest.mark.parametrize(
    ("merged", "accepted"),
    [
        ("Run make fmt and make lint before every commit", True),
        ("Run make fmt before every commit", False),
        ("Run make lint before every commit", False),
        ("short", False),
        ("Run make fmt and make lint before every commit" + "!" * 280, False),
        (None, False),
    ],
)
def test_a_model_may_merge_texts_only_if_nothing_is_lost(merged, accepted):
    answer = {"operation": "UPDATE", "target": "a", "text": merged, "reason": "both belong together"}
    decision = parse_decision(answer, NEIGHBOURS, text="Run make fmt and make lint before a commit", trust=2)
    expected = Decision("UPDATE", "a", str(merged), "both belong together") if accepted else None
    assert decision == expected
