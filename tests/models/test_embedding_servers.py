"""The embedder that asks a server: a real server on this machine, which behaves and misbehaves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servers
from swarmlore.errors import ConfigError, Unavailable
from swarmlore.lore import Lore
from swarmlore.models.embedding import BATCH
from swarmlore.models.openai import OpenAIEmbedder
from waiting import wait_until


@pytest.fixture
def server() -> Iterator[servers.ModelServer]:
    with servers.running(servers.embeddings()) as running:
        yield running


@pytest.fixture
def ask(server: servers.ModelServer) -> Callable[..., OpenAIEmbedder]:
    """An embedder for the server, which waits without waiting."""

    def make(**options: Any) -> OpenAIEmbedder:
        waits: list[float] = []
        embedder = OpenAIEmbedder({"base_url": server.url + "/v1", "model": "m", **options}, waits.append)
        embedder.waits = waits  # type: ignore[attr-defined]
        return embedder

    return make


@pytest.mark.parametrize(
    "options",
    [
        {"model": ""},
        {"model": 5},
        {"base_url": "ftp://x.example"},
        {"base_url": "file:///etc/passwd"},
        {"base_url": "x.example/v1"},
        {"base_url": "http://"},
        {"base_url": "http://user:secret@x.example/v1"},
        {"base_url": "http://x.example/v1?key=secret"},
        {"base_url": "http://x.example/ v1"},
        {"base_url": "http://x.example:port"},
        {"base_url": "http://bücher.example"},
        {"base_url": "http://[::1"},
        {"api_key_env": "sk-secret"},
        {"timeout_s": -1},
        {"timeout_s": math.nan},
        {"timeout_s": "soon"},
        {"batch": 1.5},
        {"batch": True},
        {"dimension": -1},
    ],
)
def test_an_option_that_cannot_be_used_is_a_setting_to_correct(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        OpenAIEmbedder({"model": "m", **options})
    assert "secret" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize("unsaid", [None, "", 0])
def test_an_option_left_empty_is_not_said(unsaid: object) -> None:
    keys = ("timeout_s", "batch", "dimension", "max_chars")
    OpenAIEmbedder({"model": "m", **dict.fromkeys(keys, unsaid)})


def expected(texts: list[str], dimension: int = 4) -> Any:
    rows = np.array([servers.vector_of(text, dimension) for text in texts])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_a_server_is_asked_in_batches_and_its_answers_come_back_in_order(server: Any, ask: Any) -> None:
    texts = ["a", "bb", "ccc", "dddd", "eeeee"]
    embedder = ask(batch=2)
    vectors = embedder.embed(texts)
    np.testing.assert_allclose(vectors, expected(texts), atol=1e-6)
    assert vectors.dtype == np.float32
    assert embedder.dimension == 4
    assert [seen.body["input"] for seen in server.seen] == [["a", "bb"], ["ccc", "dddd"], ["eeeee"]]
    assert {seen.path for seen in server.seen} == {"/v1/embeddings"}
    assert server.seen[0].body == {"model": "m", "input": ["a", "bb"], "encoding_format": "float"}


@pytest.mark.parametrize(
    "reply",
    [
        servers.embeddings(lambda items: items[::-1]),
        servers.embeddings(packed=True),
        servers.embeddings(lambda items: [{"embedding": item["embedding"]} for item in items]),
    ],
    ids=["another order", "base64", "no index"],
)
def test_answers_are_read_in_every_common_form(server: Any, ask: Any, reply: servers.Reply) -> None:
    server.then(reply)
    np.testing.assert_allclose(ask().embed(["a", "bb", "ccc"]), expected(["a", "bb", "ccc"]), atol=1e-6)


def test_no_text_asks_nobody(server: Any, ask: Any) -> None:
    assert ask(dimension=7).embed([]).shape == (0, 7)
    assert server.seen == []


def test_texts_are_sent_valid_not_empty_and_not_too_long(server: Any, ask: Any) -> None:
    ask(max_chars=100).embed(["", "\ud800", "x" * 5000])
    assert server.seen[0].body["input"] == [" ", "\ufffd", "x" * 100]


def test_a_size_is_asked_for_only_if_it_was_said(server: Any, ask: Any) -> None:
    for embedder in (ask(), ask(dimension=4)):
        embedder.embed(["a"])
        embedder.embed(["b"])
    assert [seen.body.get("dimensions") for seen in server.seen] == [None, None, 4, 4]


def test_the_key_goes_into_the_header_only_where_it_is_named(
    server: Any, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-home")
    monkeypatch.setenv("MY_KEY", "sk-mine\n")
    ask().embed(["a"])
    ask(api_key_env="MY_KEY").embed(["a"])
    assert [seen.headers.get("authorization") for seen in server.seen] == [None, "Bearer sk-mine"]


@pytest.mark.parametrize("key", ["", "two words", "line\nbreak", "schlüssel"])
def test_a_missing_or_odd_key_is_reported_by_its_variable(
    server: Any, ask: Any, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("MY_KEY", key)
    with pytest.raises(Unavailable, match="MY_KEY") as caught:
        ask(api_key_env="MY_KEY").embed(["a"])
    assert not key or key not in servers.everything_said(caught.value)
    assert server.seen == []


def test_a_server_that_recovers_is_asked_again_after_growing_waits(server: Any, ask: Any) -> None:
    server.then(servers.status(500), servers.reset)
    embedder = ask()
    np.testing.assert_allclose(embedder.embed(["a"]), expected(["a"]), atol=1e-6)
    assert embedder.waits == [0.5, 1.0]


def test_a_server_that_asks_for_time_gets_it_within_ours(server: Any, ask: Any) -> None:
    server.then(servers.status(429, Retry_After="7"))
    patient = ask()
    patient.embed(["a"])
    assert patient.waits == [7.0]
    server.then(servers.status(429, Retry_After="900"))
    hurried = ask()
    with pytest.raises(Unavailable, match="status 429"):
        hurried.embed(["a"])
    assert hurried.waits == []


@pytest.mark.parametrize(
    ("reply", "attempts"),
    [
        (servers.status(500), 3),
        (servers.status(503, Retry_After="soon"), 3),
        (servers.status(429), 3),
        (servers.reset, 3),
        (servers.break_off, 3),
        (servers.status(400), 1),
        (servers.status(401), 1),
        (servers.status(404), 1),
        (servers.status(307, Location="/v1/embeddings"), 1),
        (servers.raw(b"<html>"), 1),
        (servers.raw(b"\xff\xfe"), 1),
        (servers.raw(b"[" * 100_000), 1),
        (servers.echo_as_page, 1),
        (servers.as_json([]), 1),
        (servers.as_json({"data": None}), 1),
        (servers.as_json({"data": ["x", "y"]}), 1),
        (servers.embeddings(lambda items: items[:1]), 1),
        (servers.embeddings(lambda items: [*items, items[0]]), 1),
        (servers.embeddings(lambda items: [items[0], items[0]]), 1),
        (servers.embeddings(lambda items: [{**item, "index": []} for item in items]), 1),
        (servers.embeddings(lambda items: [{**item, "embedding": []} for item in items]), 1),
        (servers.embeddings(lambda items: [{**item, "embedding": None} for item in items]), 1),
        (servers.embeddings(lambda items: [{**item, "embedding": "?"} for item in items]), 1),
        (servers.embeddings(lambda items: [{**item, "embedding": ["1", "2", "3", "4"]} for item in items]), 1),
        (servers.embeddings(lambda items: [items[0], {**items[1], "embedding": [1.0]}]), 1),
        (servers.embeddings(lambda items: [items[0], {**items[1], "embedding": [math.nan] * 4}]), 1),
        (servers.embeddings(lambda items: [items[0], {**items[1], "embedding": [0.0] * 4}]), 1),
        (servers.embeddings(lambda items: [items[0], {**items[1], "embedding": [10**400] * 4}]), 1),
        (servers.embeddings(dimension=5), 1),
    ],
)
def test_a_failing_server_is_unavailable_and_nothing_private_is_said(
    server: Any, ask: Any, monkeypatch: pytest.MonkeyPatch, reply: servers.Reply, attempts: int
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    server.usual = reply
    with pytest.raises(Unavailable) as caught:
        ask(api_key_env="MY_KEY", dimension=4).embed(["my private words", "more private words"])
    assert caught.value.hint
    assert len(server.seen) == attempts
    said = servers.everything_said(caught.value)
    assert "sk-very-secret" not in said
    assert "private words" not in said


def test_a_redirect_is_reported_and_not_followed(server: Any, ask: Any) -> None:
    server.then(servers.status(308, Location=f"{server.url}/v1/embeddings"))
    with pytest.raises(Unavailable, match=r"redirect \(308\), which is not followed") as caught:
        ask().embed(["a"])
    assert caught.value.hint == "put the final address in base_url"
    assert len(server.seen) == 1


def test_a_dimension_once_learnt_does_not_change(server: Any, ask: Any) -> None:
    embedder = ask()
    embedder.embed(["a"])
    server.then(servers.embeddings(dimension=6))
    with pytest.raises(Unavailable, match="6 dimensions instead of 4"):
        embedder.embed(["a"])
    assert embedder.dimension == 4


@pytest.mark.parametrize("reply", [servers.stall, servers.drip_headers, servers.drip_body])
def test_a_slow_server_is_left_in_time(server: Any, ask: Any, reply: servers.Reply) -> None:
    server.usual = reply
    with pytest.raises(Unavailable, match=r"did not answer within 0\.2 s"):
        ask(timeout_s=0.2).embed(["a"])
    assert not server.released.is_set()  # it goes on being slow
    wait_until(lambda: server.seen, "the request is read")
    assert len(server.seen) == 1


def test_an_answer_without_end_is_not_read_to_the_end(server: Any, ask: Any) -> None:
    sent: list[int] = []

    def endless(handler: servers.Handler, body: Any) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        while not server.released.is_set():
            sent.append(handler.wfile.write(b" " * 1_000_000))

    server.usual = endless
    with pytest.raises(Unavailable, match="more than 33554432 bytes"):
        ask().embed(["a"])
    assert sum(sent) < 80_000_000


def test_nobody_listening_is_unavailable() -> None:
    with servers.running(servers.reset) as gone:
        url = gone.url
    with pytest.raises(Unavailable, match="ConnectionRefusedError") as caught:
        OpenAIEmbedder({"base_url": url, "model": "m"}, lambda wait_s: None).embed(["a"])
    assert "check that the server runs" in caught.value.hint


def test_https_is_never_spoken_in_the_clear(server: Any, ask: Any) -> None:
    with pytest.raises(Unavailable):
        ask(base_url=server.url.replace("http:", "https:")).embed(["private"])
    assert server.seen == []


# Texts that wait for their vector, from batch to batch


LATER = 150


@pytest.fixture
def waiting(server: servers.ModelServer, tmp_path: Path) -> Iterator[Lore]:
    """A home in which many texts wait, and whose embedder is the server."""
    kind = {"SWARMLORE_EMBEDDER_KIND": "openai", "SWARMLORE_EMBEDDER_MODEL": "m"}
    env = {"HOME": str(tmp_path), **kind, "SWARMLORE_EMBEDDER_BASE_URL": server.url + "/v1"}
    env["SWARMLORE_EMBEDDER_BATCH"] = str(BATCH)
    with Lore.open(tmp_path / "home", cwd=tmp_path, env=env) as lore:
        for number in range(LATER):
            lore.remember(f"Machine {number} of the laboratory is kept in room {number * 7}", defer=True)
        yield lore
        server.usual = servers.embeddings()


def left(lore: Lore) -> int:
    return lore.store.count_pending().get("embed", (0, 0))[0]


def test_all_that_waits_gets_its_vector_batch_by_batch(waiting: Lore, server: Any) -> None:
    assert waiting.catch_up(LATER - 1) == LATER - 1
    assert left(waiting) == 1
    assert waiting.catch_up(10_000) == 1
    assert waiting.catch_up(10_000) == left(waiting) == 0
    asked = [text for seen in server.seen for text in seen.body["input"]]
    assert len(asked) == len({*asked}) == LATER, "each once, although the next are asked for before these are stored"
    assert waiting.store.count_vectors() == LATER


def test_what_follows_a_failure_is_left_as_it_was(waiting: Lore, server: Any) -> None:
    server.then(servers.embeddings())
    server.usual = servers.status(400)
    assert waiting.catch_up(10_000) == 0
    assert waiting.store.count_vectors() == BATCH
    attempts = [row[2] for row in waiting.store.pending("embed", LATER)]
    assert len(attempts) == LATER - BATCH
    assert sorted(attempts) == [0] * (LATER - 2 * BATCH) + [1] * BATCH
