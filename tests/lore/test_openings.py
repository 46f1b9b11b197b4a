"""Opening and closing many memories in one process: nothing of them stays but one model."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
from onnxruntime import InferenceSession

from conftest import ALICE, quick_env
from homes import linux
from swarmlore.lore import Lore

MINILM = quick_env(SWARMLORE_EMBEDDER_KIND="minilm")


@pytest.fixture
def refcounts_alone() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def open_minilm(home: Path) -> Lore:
    lore = Lore.open(home, cwd=home.parent, caller=ALICE, env=MINILM)
    lore.remember("Snapshot tests are recorded with make snap-record, never by hand")
    assert lore.recall("update the reference images")
    return lore


def sessions() -> int:
    return sum(isinstance(one, InferenceSession) for one in gc.get_objects())


@pytest.mark.usefixtures("refcounts_alone")
def test_closing_frees_embedder_and_vectors_at_once(tmp_path: Path) -> None:
    lore = open_minilm(tmp_path / "home")
    held = [weakref.ref(lore.embedding.embedder()), weakref.ref(lore.embedding.index())]
    assert all(ref() is not None for ref in held)
    lore.close()
    assert [ref() for ref in held] == [None, None]


@pytest.mark.usefixtures("refcounts_alone")
def test_openings_one_after_the_other_load_one_model(tmp_path: Path) -> None:
    before = sessions()
    for _ in range(3):
        open_minilm(tmp_path / "home").close()
    assert sessions() - before <= 1


@pytest.mark.usefixtures("refcounts_alone")
def test_openings_at_once_load_one_model(tmp_path: Path) -> None:
    before, lores = sessions(), []
    openings = [
        threading.Thread(target=lambda number=number: lores.append(open_minilm(tmp_path / f"home{number}")))
        for number in range(3)
    ]
    for opening in openings:
        opening.start()
    for opening in openings:
        opening.join()
    assert len(lores) == 3 and sessions() - before <= 1
    for lore in lores:
        lore.close()


FORKED = """
import os
from swarmlore.models import minilm
minilm.MiniLM({}).embed(["x"])
with minilm._loading:  # as if another thread were loading
    pid = os.fork()
    if not pid:
        alone = not minilm._loaded
        minilm.MiniLM({}).embed(["y"])
        os._exit(0 if alone else 3)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@linux
def test_a_forked_child_loads_a_model_of_its_own() -> None:
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.returncode) == ("0\n", 0), done.stderr
