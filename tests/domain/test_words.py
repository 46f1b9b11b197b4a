"""The analysis of words that the full-text index, the query side and the rescoring share."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarmlore.domain.language.tokenizer import (
    MAX_QUERY_TERMS,
    STOP_WORDS,
    code_share,
    index_text,
    piece_emphasis,
    query_terms,
    split_words,
    stem_word,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Use the Bearer prefix", ["use", "the", "bearer", "prefix"]),
        ("getHTTPServer", ["get", "http", "server", "gethttpserver"]),
        ("create_task", ["create", "task", "createtask"]),
        ("my-component", ["my", "component", "mycomponent"]),
        ("__init__.py", ["init", "py"]),
        ("MAX_RETRY_COUNT", ["max", "retry", "count", "maxretrycount"]),
        ("SHA256", ["sha", "256", "sha256"]),
        ("v1.31.0", ["1", "31", "0", "1p31p0"]),
        ("python 3.12", ["python", "3", "12", "3p12"]),
        ("src/app/main.go:27", ["src", "app", "main", "go", "27"]),
        ("don't", ["don", "t"]),
        ("café Straße", ["cafe", "strasse"]),
        ("Привет мир", ["привет", "мир"]),
        ("日本語", ["日本", "本語"]),
        ("火", ["火"]),
        ("v2日本の設定", ["v", "2", "v2", "日本", "本の", "の設", "設定"]),
        ("", []),
        ("--- !!", []),
    ],
)
def test_identifiers_numbers_and_scripts_are_split_as_expected(text, words):
    assert split_words(text) == words


def test_a_name_written_in_three_ways_shares_its_words():
    camel, snake, kebab = (set(split_words(name)) for name in ("parcelEvent", "parcel_event", "parcel-event"))
    assert camel == snake == kebab == {"parcel", "event", "parcelevent"}


def test_a_version_is_one_word_beside_its_numbers():
    assert "5p31p2" in query_terms("terraform provider 5.31.2")
    assert "5p31p2" in index_text("stay on v5.31.2").split()


@pytest.mark.parametrize(
    ("word", "stemmed"),
    [
        *(("caresses", "caress"), ("ponies", "poni"), ("cats", "cat"), ("agreed", "agre"), ("feed", "feed")),
        *(("plastered", "plaster"), ("sing", "sing"), ("hopping", "hop"), ("filing", "file"), ("falling", "fall")),
        *(("happy", "happi"), ("sky", "sky"), ("relational", "relat"), ("conditional", "condit")),
        *(("digitizer", "digit"), ("hopefulness", "hope"), ("formalize", "formal"), ("goodness", "good")),
        *(("adjustment", "adjust"), ("adoption", "adopt"), ("probate", "probat"), ("rate", "rate")),
        *(("controller", "control"), ("roll", "roll"), ("migrations", "migrat"), ("k8s", "k8s"), ("is", "is")),
    ],
)
def test_stems_follow_porters_rules(word, stemmed):
    assert stem_word(word) == stemmed


@given(st.lists(st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=14), min_size=1, max_size=40))
def test_stems_agree_with_the_porter_tokenizer_of_sqlite(words):
    tokenize = apsw.Connection(":memory:").fts5_tokenizer("porter", ["unicode61"])
    tokens = tokenize(" ".join(words).encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False)
    assert [token for group in tokens for token in group] == [stem_word(word) for word in words]


def test_query_terms_leave_out_stop_words_and_name_each_stem_once():
    assert query_terms("Why are the tests failing when the test fails?") == ["test", "fail"]


def test_query_terms_leave_out_small_numbers_but_keep_telling_ones():
    assert query_terms("line 27: status 404, 3 retries") == ["line", "statu", "404", "retri"]


@pytest.mark.parametrize(("text", "terms"), [("42", ["42"]), ("the 7 of 12", ["7", "12"]), ("the of", [])])
def test_small_numbers_are_asked_where_nothing_else_is(text, terms):
    assert query_terms(text) == terms


def test_query_terms_are_capped():
    text = " ".join(f"word{letter}{other}x" for letter in "abcdefghij" for other in "klmnopqrst")
    assert len(query_terms(text)) == MAX_QUERY_TERMS
    assert query_terms(text, most=3) == query_terms(text)[:3]


@given(st.text(max_size=300))
def test_every_query_term_of_a_text_is_a_word_of_its_index(text):
    assert set(query_terms(text)) <= set(index_text(text).split())


@given(st.text(max_size=300))
def test_the_index_holds_one_word_per_split_word_and_no_syntax(text):
    words = index_text(text).split(" ") if index_text(text) else []
    assert len(words) == len(split_words(text))
    assert all(word and all(char.isalnum() or not char.isascii() for char in word) for word in words)


@given(st.text(max_size=200))
def test_the_code_share_is_a_share(text):
    assert 0.0 <= code_share(text) <= 1.0


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("", 0.0),
        ("please make the container smaller", 0.0),
        ("open src/app.py", 0.5),
        ("cfg.load(x) --force foo_bar getName", 1.0),
        ("the getName call", 1 / 3),
    ],
)
def test_code_looks_like_code_and_prose_does_not(text, share):
    assert code_share(text) == pytest.approx(share)


def test_an_error_output_has_a_higher_code_share_than_a_question():
    error = 'File "/srv/app/core.py", line 39, in __call__\npsycopg.errors.UndefinedObject: parameter "app.tenant_id"'
    assert code_share(error) > 0.4 > code_share("why does the tenant test return zero rows for everybody")


@pytest.mark.parametrize(
    ("piece", "weight"), [("(", 0.0), ("...", 0.0), ("the", 0.7), ("##ing", 0.7), ("tenant", 1.0), ("42", 1.0)]
)
def test_pieces_that_say_less_count_less(piece, weight):
    assert piece_emphasis(piece) == weight


def test_stop_words_are_words_the_splitter_can_produce():
    assert all(split_words(word) == [word] for word in STOP_WORDS)
