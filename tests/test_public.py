"""The public surface: what programs import, from where, also from where they did before it moved."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import swarmlore
from swarmlore import Lore
from swarmlore.domain import records


def test_every_public_name_is_there() -> None:
    assert [name for name in swarmlore.__all__ if getattr(swarmlore, name, None) is None] == []
    assert swarmlore.Lore is Lore
    assert swarmlore.Memory is records.Memory


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = swarmlore.Nothing
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("swarmlore.nothing")


@pytest.mark.parametrize("place", sorted(swarmlore._FORMER))
def test_a_former_place_works_and_warns(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in swarmlore._FORMER:
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.warns(DeprecationWarning, match="goes with 0.3"):
        found = importlib.import_module(place)
    there = importlib.import_module(swarmlore._FORMER[place])
    names = [name for name in vars(there) if not name.startswith("__")]
    assert [name for name in names if getattr(found, name) is not getattr(there, name)] == []


def test_names_come_from_former_places() -> None:
    code = (
        "from swarmlore.records import Draft; from swarmlore.providers.base import Embedder; import swarmlore.records"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
