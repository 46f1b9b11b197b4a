"""Swarmlore: the memory that coding agents share.

The package is lazy: importing it loads no other module, so that a hook starts in the time of a bare interpreter.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # not from typing: importing the package must cost nothing

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.domain.policy.lifecycle import Phase as Phase
    from swarmlore.domain.records import Agent as Agent
    from swarmlore.domain.records import AuditRow as AuditRow
    from swarmlore.domain.records import Block as Block
    from swarmlore.domain.records import Caller as Caller
    from swarmlore.domain.records import Draft as Draft
    from swarmlore.domain.records import Hit as Hit
    from swarmlore.domain.records import Memory as Memory
    from swarmlore.domain.records import Receipt as Receipt
    from swarmlore.domain.records import Remembered as Remembered
    from swarmlore.lore import Lore as Lore

__version__ = "0.1.0"
_RECORDS = "swarmlore.domain.records"
# Public names and where they live.
_PUBLIC = {
    "Lore": "swarmlore.lore",
    **dict.fromkeys(("Agent", "AuditRow", "Block", "Caller", "Check", "Citation", "Cited", "Confirmation"), _RECORDS),
    **dict.fromkeys(("Delivery", "Draft", "Hit", "Job", "Memory", "Message", "Outcome", "Part", "Proposal"), _RECORDS),
    **dict.fromkeys(("Query", "Receipt", "Reflection", "Rejection", "Remembered", "Session", "Situation"), _RECORDS),
    "Brought": "swarmlore.exchange.import_files",
    "Hits": "swarmlore.retrieval.recall",
    "Imported": "swarmlore.memory.write",
    "Pattern": "swarmlore.retrieval.patterns",
    "Phase": "swarmlore.domain.policy.lifecycle",
    "Primed": "swarmlore.retrieval.prime",
    "Promotion": "swarmlore.memory.promotion",
    "RemoteLore": "swarmlore.server.client.remote_lore",
    "Undone": "swarmlore.memory.quarantine",
    "Why": "swarmlore.memory.explain",
}
# Modules that programs may have imported from where 0.1 documented them; until 0.3.
_FORMER = {
    "swarmlore.records": _RECORDS,
    "swarmlore.providers": "swarmlore.models",
    "swarmlore.providers.base": "swarmlore.models.providers",
    "swarmlore.remote": "swarmlore.server.client",
    "swarmlore.remote.lore": "swarmlore.server.client.remote_lore",
}
__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if place := _PUBLIC.get(name):
        return getattr(import_module(place), name)
    if f"swarmlore.{name}" in _FORMER:
        return import_module(f"swarmlore.{name}")
    raise AttributeError(f"module 'swarmlore' has no attribute {name!r}")


class _FormerPlaces:
    """Finder for modules that moved: the import works, with a DeprecationWarning."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> Any:
        if name not in _FORMER:
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, _FormerPlaces(), is_package=True)  # type: ignore[arg-type]  # loads by two methods

    def create_module(self, spec: Any) -> Any:
        import warnings
        from importlib import import_module
        from types import ModuleType

        place = _FORMER[spec.name]
        warnings.warn(f"{spec.name} is {place} now; the old name goes with 0.3", DeprecationWarning, stacklevel=2)
        made = ModuleType(spec.name)
        made.__getattr__ = lambda name: getattr(import_module(place), name)  # type: ignore[method-assign]
        return made

    def exec_module(self, module: Any) -> None:
        """Nothing is run: names are looked up where they are now."""


sys.meta_path.append(_FormerPlaces)
