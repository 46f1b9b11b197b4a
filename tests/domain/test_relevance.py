"""The scoring recipe of profile `default`: formulas by tables of values, and what must always hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarmlore.domain.language.late_interaction import (
    MOST_QUERY_PIECES,
    late_scores,
    pack_pieces,
    piece_frequencies,
    piece_ids,
    piece_weights,
    unique_ids,
    unpack_pieces,
)
from swarmlore.domain.policy.ranking import (
    Evidence,
    Relevance,
    bar,
    gate_score,
    idf,
    is_near,
    is_related,
    near_best,
    relevance,
    term_weights,
    with_neighbours,
    with_situations,
    words_score,
    words_weight,
)
from swarmlore.models.embedding import GENERIC_REQUESTS
from swarmlore.retrieval.candidates import rarest_terms

SHARES = st.floats(0, 1)
SCORES = st.lists(st.floats(0, 2), min_size=1, max_size=40)


# Words


@pytest.mark.parametrize(
    ("frequency", "size", "value"),
    [(1, 50, math.log(1 + 49.5 / 1.5)), (25, 50, math.log(2)), (50, 50, math.log(1 + 0.5 / 50.5)), (9, 3, 0.0)],
)
def test_rare_words_have_a_high_idf(frequency, size, value):
    assert idf(frequency, size) == pytest.approx(value)


def test_words_nobody_uses_have_no_weight():
    assert set(term_weights({"known": 2, "unknown": 0}, 50)) == {"known"}


def test_a_store_a_hundred_times_as_large_does_not_double_the_weight_of_a_rare_word():
    small, large = (term_weights({"rare": 1}, size)["rare"] for size in (50, 5_000))
    assert small < large < 2 * small
    assert small == pytest.approx(idf(1, 50) ** 1.5 / math.log(50))


@pytest.mark.parametrize(
    ("words", "score"),
    [
        (["a", "x"], 1.0),
        (["x", "y"], 0.0),
        (["a", "a"], 2 * 2.2 / (2 + 1.2)),
        (["a", "b"], 1.0 + 3.0),
        (["a", "x", "x", "x"], 2.2 / (1 + 1.2 * (0.7 + 0.3 * 2))),
        ([], 0.0),
    ],
)
def test_bm25_by_hand(words, score):
    assert words_score(words, {"a": 1.0, "b": 3.0}, average_length=2) == pytest.approx(score)


@pytest.mark.parametrize(("code", "weight"), [(0.0, 0.0125), (0.25, 0.0375), (0.5, 0.0625), (1.0, 0.0625)])
def test_words_weigh_more_in_cues_that_look_like_code(code, weight):
    assert words_weight(code) == pytest.approx(weight)


# Relevance


@pytest.mark.parametrize(
    ("evidence", "code", "score"),
    [
        (Evidence(words=4.0, cosine=0.5, late=0.6), 0.0, 0.6 + 0.1 + 0.05 - 0.25),
        (Evidence(words=4.0, cosine=0.5, late=0.6), 1.0, 0.6 + 0.1 + 0.25 - 0.25),
        (Evidence(words=0.0, cosine=0.5), 0.0, 0.27 + 0.34 + 0.1 - 0.25),
        (Evidence(words=4.0), 1.0, 0.27 + 0.25 - 0.25),
        (Evidence(late=0.1, cosine=0.0), 0.0, 0.0),
    ],
)
def test_relevance_by_hand(evidence, code, score):
    assert relevance(evidence, code) == pytest.approx(score)


@given(SHARES, SHARES, SHARES, st.floats(0, 20), SHARES)
def test_more_evidence_never_lowers_relevance(cosine, late, more, words, code):
    base = relevance(Evidence(words, cosine, late), code)
    assert relevance(Evidence(words + more, cosine, late), code) >= base
    assert relevance(Evidence(words, cosine + more, late), code) >= base
    assert relevance(Evidence(words, cosine, late + more), code) >= base


@pytest.mark.parametrize(
    ("text", "situations", "score"),
    [(0.4, [], 0.4), (0.4, [0.1], 0.4), (0.4, [0.1, 0.55], 0.6), (0.0, [1.15], 0.5)],
)
def test_the_best_situation_adds_its_share_and_none_takes_away(text, situations, score):
    assert with_situations(text, situations) == pytest.approx(score)


# Neighbours


def test_a_turn_beside_the_best_one_is_lifted():
    scores = [0.9, 0.3, 0.3, 0.3, 0.3]
    places = [("s", 10), ("s", 11), ("s", 13), ("t", 11), None]
    assert with_neighbours(scores, places) == pytest.approx([0.9, 0.3 + 0.25 * 0.6, 0.3, 0.3, 0.3])


def test_memories_outside_sessions_keep_their_scores():
    assert with_neighbours([0.5, 0.2], [None, None]) == [0.5, 0.2]
    assert with_neighbours([], []) == []


@given(SCORES)
def test_neighbours_never_lower_a_score_and_add_at_most_their_share(scores):
    lifted = with_neighbours(scores, [("s", float(place)) for place in range(len(scores))])
    share = Relevance().neighbour_share
    assert all(0 <= new - old <= share * max(scores) + 1e-9 for new, old in zip(lifted, scores, strict=True))


# Silence


@pytest.mark.parametrize(
    ("evidence", "generic", "score"),
    [
        (Evidence(2.0, 0.4, 0.9), 0.0, 0.5),
        (Evidence(2.0, 0.4, 0.9), 0.5, 0.2),
        (Evidence(2.0, 0.4, 0.9), -0.3, 0.5),
        (Evidence(2.0), 0.0, 0.15),
    ],
)
def test_the_gate_looks_at_cosine_words_and_everyday_requests(evidence, generic, score):
    assert gate_score(evidence, generic) == pytest.approx(score)


@pytest.mark.parametrize(
    ("views", "near", "related"),
    [
        ((Evidence(0.0, 0.2),), True, True),
        ((Evidence(0.0, 0.199),), False, False),
        ((Evidence(3.0, 0.1),), False, True),
        ((Evidence(3.0, None),), False, True),
        ((Evidence(0.0, 0.05), Evidence(0.0, 0.4)), True, True),  # a situation counts as the text does
        ((), False, False),
    ],
)
def test_what_is_close_by_meaning_or_shares_a_word(views, near, related):
    assert (is_near(views), is_related(views)) == (near, related)


def test_the_bar_grows_with_the_store_and_levels_off():
    assert bar(1) == bar(10) < bar(50) < bar(600) < bar(3_000) == bar(100_000)
    assert bar(100) == pytest.approx(-0.115 + 0.0756 * math.log(100))


@pytest.mark.parametrize(
    ("scores", "limit", "shown"),
    [([], 5, 0), ([0.5], 5, 1), ([0.5, 0.4, 0.35, 0.29], 5, 3), ([0.5] * 9, 5, 5), ([0.5, 0.2], 5, 1), ([0.5], 0, 0)],
)
def test_only_what_is_near_the_best_is_shown(scores, limit, shown):
    assert near_best(scores, limit) == shown


def test_everyday_requests_are_short_and_different():
    assert len(set(GENERIC_REQUESTS)) == len(GENERIC_REQUESTS) >= 24
    assert all(2 <= len(text.split()) <= 12 for text in GENERIC_REQUESTS)


# Late interaction


def rows(count: int, dimension: int = 384, seed: int = 1) -> np.ndarray:
    found = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


@pytest.mark.parametrize(("count", "dimension"), [(1, 384), (40, 384), (3, 7), (0, 384)])
def test_packed_pieces_come_back_nearly_as_they_went_in(count, dimension):
    pieces = rows(count, dimension)
    matrix, ids = unpack_pieces(pack_pieces(pieces, range(100, 100 + count)))
    assert matrix.shape == (count, dimension)
    assert ids.tolist() == list(range(100, 100 + count))
    assert np.allclose(np.sum(matrix * pieces, axis=1), 1, atol=0.04)


def test_a_packed_piece_takes_half_a_byte_a_dimension_and_four_for_its_id():
    assert len(pack_pieces(rows(30), range(30))) == 5 + 30 * (192 + 4)


def test_a_row_of_zeros_survives_packing():
    matrix, _ = unpack_pieces(pack_pieces(np.zeros((1, 8), np.float32), [3]))
    assert matrix.tolist() == [[0.0] * 8]


def test_late_scores_are_the_weighted_mean_of_bent_best_cosines():
    memory, query = rows(5, seed=2), rows(3, seed=3)
    blob = pack_pieces(memory, range(5))
    weights = np.array([1, 2, 5], np.float32)
    best = (query @ unpack_pieces(blob)[0].T).max(axis=1)
    expected = (weights / weights.sum()) @ np.tanh(2 * np.maximum(best, 0))
    assert late_scores(query, weights, [blob]) == pytest.approx([expected], abs=1e-5)


def test_a_memory_that_holds_the_cue_beats_one_that_does_not():
    query = rows(4)
    holds, other = pack_pieces(np.vstack([rows(6, seed=5), query]), range(10)), pack_pieces(rows(10, seed=6), range(10))
    scores = late_scores(query, np.ones(4, np.float32), [other, holds])
    assert scores[1] > 0.9 > scores[0]


def test_memories_and_cues_without_pieces_score_zero():
    empty, full = pack_pieces(rows(0), []), pack_pieces(rows(2), [1, 2])
    scores = late_scores(rows(1), np.ones(1, np.float32), [empty, full, empty])
    assert scores[[0, 2]].tolist() == [0.0, 0.0]
    assert scores[1] > 0
    assert late_scores(rows(0), np.zeros(0, np.float32), [full]).tolist() == [0.0]
    assert late_scores(rows(1), np.ones(1, np.float32), []).tolist() == []


def test_weightless_pieces_count_alike_rather_than_not_at_all():
    query, blob = rows(2), pack_pieces(rows(4, seed=9), range(4))
    assert late_scores(query, np.zeros(2, np.float32), [blob]) == pytest.approx(
        late_scores(query, np.ones(2, np.float32), [blob])
    )


def test_only_the_heaviest_pieces_of_a_long_cue_are_asked():
    query, blob = rows(MOST_QUERY_PIECES + 20), pack_pieces(rows(6, seed=4), range(6))
    weights = np.linspace(2, 1, len(query), dtype=np.float32)
    kept = late_scores(query[:MOST_QUERY_PIECES], weights[:MOST_QUERY_PIECES], [blob])
    assert late_scores(query, weights, [blob]) == pytest.approx(kept)


def test_rare_pieces_weigh_more_and_weak_ones_less():
    blobs = [pack_pieces(rows(len(ids)), ids) for ids in ([1, 1, 2], [1, 3], [1])]
    frequencies = piece_frequencies(unique_ids(piece_ids(blob)) for blob in blobs)
    assert frequencies[:6].tolist() == [0, 3, 1, 1, 0, 0]
    weights = piece_weights(np.array([1, 2, 5]), frequencies, size=3)
    assert weights == pytest.approx([math.log(1 + 0.5 / 3.5), math.log(1 + 2.5 / 1.5), math.log(1 + 3.5 / 0.5)])
    emphasis = np.array([0, 0.5, 1], np.float32)
    assert piece_weights(np.array([1, 2, 5]), frequencies, 3, emphasis) == pytest.approx(weights * [0, 0.5, 1])


@pytest.mark.parametrize(
    ("frequencies", "chosen"),
    [
        ({"rare": 3, "word": 40, "the": 900}, ["rare", "word"]),
        ({"rare": 3, "word": 97, "the": 900}, ["rare", "word"]),
        ({"rare": 3, "word": 98, "the": 900}, ["rare"]),
        ({"the": 900, "word": 901}, ["the"]),  # one there must be
        ({"unknown": 0, "the": 900}, ["unknown", "the"]),
        ({}, []),
    ],
)
def test_the_rarest_words_are_looked_for_as_far_as_their_rows_can_be_ranked(
    frequencies: dict[str, int], chosen: list[str]
) -> None:
    assert rarest_terms(tuple(frequencies), frequencies, 100) == chosen
