from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from swarmlore.domain.language.display import learned_key, slug
from swarmlore.domain.language.similarity import (
    MAX_SHINGLES,
    STOP_WORDS,
    content_words,
    jaccard_bigram,
    normalize,
    shingles,
    word_bigrams,
)

VOCABULARY = "use the always pnpm docker compose is in build cache a of run tests never npm 9 v2 and it"
WORDS = st.sampled_from(VOCABULARY.split())
TEXTS = st.lists(WORDS, max_size=49).map(" ".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  Use `pnpm`,  not NPM! ", "use pnpm not npm"),
        ("a.b --no-cache", "a b no cache"),
        ("snake_case stays", "snake_case stays"),
        ("Größe, naïve", "größe naïve"),
        ("don't", "don t"),
        ("\n\t", ""),
    ],
)
def test_normalised_text_is_lower_case_words_with_single_spaces(text, expected):
    assert normalize(text) == expected


def test_word_bigrams_are_the_adjacent_pairs():
    assert word_bigrams("Run the tests, run the") == {("run", "the"), ("the", "tests"), ("tests", "run")}
    assert word_bigrams("one") == frozenset()


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("run the unit tests", "Run the unit tests!", 1.0),
        ("a b c d", "a b c e", 0.5),
        ("a b c d e", "a b c d", 0.75),
        ("a b", "c d", 0.0),
        ("docker", "docker", 1.0),
        ("docker", "podman", 0.0),
        ("docker", "docker compose", 0.0),
        ("", "", 1.0),
        ("", "docker compose up", 0.0),
        ("!", "?", 1.0),
    ],
)
def test_jaccard_of_word_pairs_falls_back_to_equal_words(a, b, expected):
    assert jaccard_bigram(a, b) == expected


@given(TEXTS, TEXTS)
def test_jaccard_is_symmetric_and_one_for_equal_texts(a, b):
    assert jaccard_bigram(a, b) == jaccard_bigram(b, a)
    assert 0.0 <= jaccard_bigram(a, b) <= 1.0
    assert jaccard_bigram(a, a.upper()) == 1.0


def test_content_words_carry_the_topic_only():
    assert content_words("You must never use the global caches in Dockerfiles 2") == {
        "global",
        "cache",
        "dockerfile",
        "2",
    }
    assert content_words("Always use pnpm") == content_words("Never use pnpm") == {"pnpm"}


def test_polarity_and_numbers_do_not_keep_two_texts_from_meeting():
    assert set(shingles("always use pnpm")) & set(shingles("never use pnpm 9"))


@pytest.mark.parametrize("size", range(3, 50))
def test_texts_with_jaccard_from_point_six_always_share_a_shingle(size):
    # Stop words only: without topics the word pairs have to do it alone. A slice is the text with its ends cut off.
    for seed in range(30):
        words = random.Random(seed).sample(sorted(STOP_WORDS), size)
        whole, kept = " ".join(words), size - (size - 1) * 2 // 5
        for start in range(size - kept + 1):
            part = " ".join(words[start : start + kept])
            assert jaccard_bigram(whole, part) >= 0.6
            assert set(shingles(whole)) & set(shingles(part))


@pytest.mark.parametrize("seed", range(30))
def test_texts_with_half_their_topics_in_common_always_share_a_shingle(seed):
    topics = random.Random(seed).sample(
        ["kubernetes", "graphql", "token", "test", "redis", "linter", "cache", "proto", "mock", "webhook"], 8
    )
    whole = " 1 ".join(topics)
    for half in combinations(topics, 4):
        # Different numbers between the words, so that no word pair is shared.
        assert jaccard_bigram(whole, " 2 ".join(half)) == 0
        assert set(shingles(whole)) & set(shingles(" 2 ".join(half)))


@given(TEXTS, st.data())
def test_a_text_shares_a_shingle_with_any_near_duplicate(text, data):
    words = text.split()
    place = data.draw(st.integers(0, len(words)))
    other = " ".join([*words[:place], data.draw(WORDS), *words[place + data.draw(st.integers(0, 2)) :]])
    assume(jaccard_bigram(text, other) >= 0.6)
    assert set(shingles(text)) & set(shingles(other))


@given(st.text(max_size=400))
def test_shingles_are_few_and_stable(text):
    keys = shingles(text)
    assert len(keys) <= MAX_SHINGLES
    assert all(0 <= key < 2**32 for key in keys)
    assert shingles(text.upper().lower()) == shingles(text.upper())


def test_shingles_do_not_change_between_versions():
    assert shingles("Use pnpm") == (1635926829, 3707159269)


def test_raw_material_has_no_shingles():
    assert shingles("word " * 201) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tokio: runtime *panic*", "tokio-runtime-panic"),
        ("--a__b--", "a-b"),
        ("Über", "ber"),
        ("", ""),
    ],
)
def test_a_slug_is_lower_case_words_with_hyphens(text, expected):
    assert slug(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "TaskGroup requires @Sendable closures in strict concurrency mode.",
            "learned-taskgroup-requires-sendable-closures-in-strict-concurrency",
        ),
        ("The API test is slow", "learned-the-api-test-is-slow"),
        ("  (quoted) text  ", "learned-quoted-text"),
        ("x" * 80, "learned-" + "x" * 60),
        ("naïve café", "learned-na-ve-caf"),
    ],
)
def test_the_key_of_a_learned_comment_is_the_slug_of_its_beginning(text, expected):
    assert learned_key(text) == expected


def test_lessons_in_other_scripts_do_not_share_a_key():
    one, other = learned_key("Docker のキャッシュを消す前に確認する"), learned_key("Docker のポートは必ず固定する")
    assert one != other
    assert one.startswith("learned-docker-")
