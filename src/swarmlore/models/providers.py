"""Interfaces of embedders and LLMs, and the table from a configured kind to its class, imported when it is opened."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from swarmlore.errors import ConfigError, Unavailable
from swarmlore.frozen import frozen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    Ids = NDArray[np.int32]


# A typed answer has a few hundred characters; a longer one than this is not searched for the object.
LONGEST_ANSWER = 65_536
THINKING, THINKING_ENDS = "<think>", "</think>"


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors of one space, which `name` identifies: other names' vectors do not compare."""

    name: str
    dimension: int  # 0 until the first answer if only the server knows it

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one float32 row of length 1 per text, in the order of the texts."""


@frozen
class Embedded:
    """The vectors of one text from one forward pass of the model."""

    vector: Vectors  # (dimension,) of length 1, equal to what embed() returns
    pieces: Vectors  # (n, dimension), each row of length 1, without markers, padding and punctuation
    piece_ids: Ids  # (n,) vocabulary ids of the pieces
    emphasis: Vectors  # (n,) the weight of each piece by its kind (domain.language.tokenizer.piece_emphasis)


@runtime_checkable
class TokenEmbedder(Embedder, Protocol):
    """An embedder that also returns the vectors of word pieces; test for it with isinstance."""

    def embed_tokens(self, texts: Sequence[str]) -> list[Embedded]:
        """Return vector and word pieces of each text, from one forward pass."""


@runtime_checkable
class Writer(Protocol):
    """An LLM that answers one prompt."""

    name: str

    def complete(self, system: str, user: str, *, max_tokens: int = 512) -> str:
        """Return the LLM's answer as plain text, never empty."""


def ask_json(llm: Writer, system: str, user: str, keys: Mapping[str, type], *, max_tokens: int = 512) -> dict[str, Any]:
    """Ask an LLM for one JSON object; return its `keys`, checked against their types, or raise Unavailable."""
    wanted = ", ".join(f'"{key}" ({kind.__name__})' for key, kind in keys.items())
    order = f"{system}\nAnswer with one JSON object and nothing else. Its keys: {wanted}."
    answer = llm.complete(order, user, max_tokens=max_tokens)
    found = _objects_in(answer)
    if len(found) != 1:
        raise _unusable(llm, f"holds {len(found)} JSON objects instead of one")
    return {key: _checked(llm, found[0], key, kind) for key, kind in keys.items()}


def _objects_in(answer: str) -> list[dict[str, Any]]:
    """Return the outermost JSON objects of an answer, ignoring prose, code fences and thinking around them."""
    text = answer.rpartition(THINKING_ENDS)[2]
    if len(text) > LONGEST_ANSWER or text.lstrip().startswith(THINKING):
        return []  # cut off while thinking: an object in it is only a draft
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    found: list[dict[str, Any]] = []
    start = text.find("{")
    while start >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
            found.append(value)
        except (ValueError, RecursionError):
            end = start + 1  # a brace in the prose: the object may begin at a later one
        start = text.find("{", end)
    return found


def _refuse_constant(word: str) -> float:
    raise ValueError(word)  # NaN and infinities are not JSON


def _checked(llm: Writer, found: Mapping[str, Any], key: str, kind: type) -> Any:
    """Return one value of an answer; raise Unavailable if it is missing or of the wrong type."""
    if key not in found:
        raise _unusable(llm, f"lacks {key!r}")
    value = found[key]
    if kind is float and isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53:
        value = float(value)
    # bool is an int in Python, but "true" is no count
    fits = isinstance(value, kind) and (kind is bool or kind is object or not isinstance(value, bool))
    if not fits or (isinstance(value, float) and not math.isfinite(value)):
        raise _unusable(llm, f"has no usable {key!r} ({kind.__name__} expected)")
    return value


def _unusable(llm: Writer, what: str) -> Unavailable:
    # The answer itself may repeat private text, so it is not quoted.
    return Unavailable(f"the answer of {llm.name} {what}", "nothing was changed; try again or use a larger model")


def text_option(options: Mapping[str, Any], key: str, default: str = "") -> str:
    """Return the option as trimmed text."""
    value = options.get(key)
    if value is None:
        return default
    if not isinstance(value, str):
        raise ConfigError(f"the option {key} must be text", f'write {key} = "..."')
    return value.strip() or default


def whole_option(options: Mapping[str, Any], key: str, default: int, *, low: int, high: int) -> int:
    """Return the option as an integer from `low` to `high`; 0 counts as unset where it is not allowed."""
    value = options.get(key)
    if value is None or value == "" or (value == 0 and low > 0):
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ConfigError(f"the option {key} must be a whole number from {low} to {high}", f"write {key} = {default}")
    return value


def number_option(options: Mapping[str, Any], key: str, default: float, *, low: float, high: float) -> float:
    """Return the option as a number from `low` to `high`; 0 counts as unset where it is not allowed."""
    value = options.get(key)
    if value is None or value == "" or (value == 0 and low > 0):
        return default
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not number or not low <= value <= high:
        raise ConfigError(f"the option {key} must be a number from {low:g} to {high:g}", f"write {key} = {default:g}")
    return float(value)


NONE = "none"
EMBEDDERS: dict[str, str] = {
    "minilm": "swarmlore.models.minilm:MiniLM",
    "openai": "swarmlore.models.openai:OpenAIEmbedder",
    "wordllama": "swarmlore.models.wordllama:WordLlama",
    "fastembed": "swarmlore.models.fastembed:FastEmbed",
    NONE: "",
}
WRITERS: dict[str, str] = {
    "openai": "swarmlore.models.openai:OpenAIWriter",
    "anthropic": "swarmlore.models.anthropic:AnthropicWriter",
    NONE: "",
}


def open_embedder(kind: str, options: Mapping[str, Any]) -> Embedder | None:
    """Open the embedder of a kind; None for "none", which means search by words only."""
    return cast("Embedder | None", _open(kind, options, EMBEDDERS, "embedders"))


def open_writer(kind: str, options: Mapping[str, Any]) -> Writer | None:
    """Open the LLM of a kind; None for "none", which means heuristics only."""
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
    """Return the factory an installed package registers as entry point; it is called with the options."""
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
