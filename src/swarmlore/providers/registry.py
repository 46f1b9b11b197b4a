"""From the kind in the settings to an embedder or writer; a module is imported when its kind is opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from swarmlore.errors import ConfigError, Unavailable

if TYPE_CHECKING:
    from swarmlore.providers.base import Embedder, Writer

NONE = "none"
EMBEDDERS: dict[str, str] = {
    "minilm": "swarmlore.providers.minilm:MiniLM",
    "openai": "swarmlore.providers.openai:OpenAIEmbedder",
    "wordllama": "swarmlore.providers.wordllama:WordLlama",
    "fastembed": "swarmlore.providers.fastembed:FastEmbed",
    NONE: "",
}
WRITERS: dict[str, str] = {
    "openai": "swarmlore.providers.openai:OpenAIWriter",
    "anthropic": "swarmlore.providers.anthropic:AnthropicWriter",
    NONE: "",
}


def open_embedder(kind: str, options: Mapping[str, Any]) -> Embedder | None:
    """The embedder of a kind; None for "none": text search only."""
    return cast("Embedder | None", _open(kind, options, EMBEDDERS, "embedders"))


def open_writer(kind: str, options: Mapping[str, Any]) -> Writer | None:
    """The writer of a kind; None for "none": rules only."""
    return cast("Writer | None", _open(kind, options, WRITERS, "writers"))


def _open(kind: str, options: Mapping[str, Any], table: Mapping[str, str], group: str) -> object:
    if kind == NONE:
        return None
    make = _builtin(table[kind]) if kind in table else _third_party(kind, table, f"swarmlore.{group}")
    return make(options)


def _builtin(where: str) -> Callable[[Mapping[str, Any]], object]:
    module, _, name = where.partition(":")
    make: Callable[[Mapping[str, Any]], object] = getattr(import_module(module), name)
    return make


def _third_party(kind: str, table: Mapping[str, str], group: str) -> Callable[[Mapping[str, Any]], object]:
    """What an installed package offers under an entry point; it is called with the options, like ours."""
    from importlib.metadata import entry_points

    offered = entry_points(group=group)
    if kind not in offered.names:
        kinds = ", ".join(sorted(offered.names | set(table)))
        raise ConfigError(f"unknown kind {kind!r} in {group}", f"choose one of: {kinds}")
    try:
        make: Callable[[Mapping[str, Any]], object] = offered[kind].load()
    except (ImportError, AttributeError) as error:
        raise Unavailable(f"the package that offers {kind!r} cannot be loaded", "reinstall that package") from error
    return make
