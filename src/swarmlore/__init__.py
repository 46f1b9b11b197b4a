"""Swarmlore: the memory that coding agents share.

The package is lazy: importing it loads nothing, so that a hook can start in the time a bare interpreter needs.
"""

from __future__ import annotations

TYPE_CHECKING = False  # not from typing: importing the package must cost nothing

if TYPE_CHECKING:
    from swarmlore.lore import Lore

__version__ = "0.1.0"
__all__ = ["Lore", "__version__"]


def __getattr__(name: str) -> object:
    if name == "Lore":
        from swarmlore.lore import Lore

        return Lore
    raise AttributeError(f"module 'swarmlore' has no attribute {name!r}")
