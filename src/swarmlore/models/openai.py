"""Embedder and LLM of servers with OpenAI's API: OpenAI, Ollama, LM Studio, vLLM, llama.cpp and others."""

from __future__ import annotations

import time
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from swarmlore.errors import ConfigError, Unavailable
from swarmlore.models.http_client import Server, post_json, read_server
from swarmlore.models.local_files import clean, need_packages, unit_rows
from swarmlore.models.providers import number_option, text_option, whole_option

if TYPE_CHECKING:
    from swarmlore.models.providers import Vectors

HOME = "https://api.openai.com/v1"
KEY_ENV = "OPENAI_API_KEY"
MEGABYTE = 1024 * 1024
CHECK_MODEL = "check that base_url and model name an embedding model"
TOKEN_FIELDS = ("max_tokens", "max_completion_tokens")


class OpenAIEmbedder:
    """Vectors from an /embeddings endpoint. The dimension is taken from the first answer unless an option sets it."""

    def __init__(self, options: Mapping[str, Any], sleep: Callable[[float], None] = time.sleep) -> None:
        need_packages({"numpy": "numpy"}, "pip install numpy")
        self._server = read_server(options, HOME, KEY_ENV, 30, 32 * MEGABYTE)
        self._model = need_model(options)
        self._batch = whole_option(options, "batch", 32, low=1, high=4096)
        self._longest = whole_option(options, "max_chars", 6000, low=100, high=1_000_000)
        self._sleep = sleep
        self._lock = Lock()
        self.name = f"openai:{self._model}@{self._server.host}"
        self._wanted = self.dimension = whole_option(options, "dimension", 0, low=0, high=65_536)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one float32 row of length 1 per text, in the order of the texts."""
        import numpy as np

        parts = [self._ask(texts[at : at + self._batch]) for at in range(0, len(texts), self._batch)]
        return np.concatenate(parts) if parts else np.empty((0, self.dimension), np.float32)

    def _ask(self, texts: Sequence[str]) -> Vectors:
        # Many servers reject an empty text, none a space.
        inputs = [clean(text, self._longest) or " " for text in texts]
        payload: dict[str, Any] = {"model": self._model, "input": inputs, "encoding_format": "float"}
        if self._wanted:  # only if configured: servers reject it for models of fixed size
            payload["dimensions"] = self._wanted
        answer = post_json(self._server, "/embeddings", payload, self._sleep)
        return self._checked(_rows(answer, len(inputs), self._server))

    def _checked(self, rows: Vectors) -> Vectors:
        """Return the rows as unit vectors; raise Unavailable if their dimension differs from that of earlier rows."""
        with self._lock:
            if self.dimension not in (0, rows.shape[1]):
                what = f"{self.name} returned {rows.shape[1]} dimensions instead of {self.dimension}"
                raise Unavailable(what, "correct the option dimension, or embed everything again for the new model")
            vectors = unit_rows(rows, self.name)
            self.dimension = rows.shape[1]
        return vectors


class OpenAIWriter:
    """The LLM of a /chat/completions endpoint."""

    def __init__(self, options: Mapping[str, Any], sleep: Callable[[float], None] = time.sleep) -> None:
        self._server = read_server(options, HOME, KEY_ENV, 60, 4 * MEGABYTE)
        self._model = need_model(options)
        self._sleep = sleep
        self._temperature = number_option(options, "temperature", -1, low=0, high=2)
        self._field = text_option(options, "max_tokens_field", TOKEN_FIELDS[0])
        self.name = f"openai:{self._model}@{self._server.host}"
        if self._field not in TOKEN_FIELDS:
            raise ConfigError("max_tokens_field is not one a server knows", f"choose one of: {', '.join(TOKEN_FIELDS)}")

    def complete(self, system: str, user: str, *, max_tokens: int = 512) -> str:
        """Return the LLM's answer as plain text, never empty."""
        turns = (("system", system), ("user", user))
        messages = [{"role": role, "content": clean(text, len(text))} for role, text in turns if text]
        payload: dict[str, Any] = {"model": self._model, "messages": messages, self._field: max_tokens}
        if self._temperature >= 0:
            payload["temperature"] = self._temperature
        return spoken(self.name, _content(post_json(self._server, "/chat/completions", payload, self._sleep)))


def need_model(options: Mapping[str, Any]) -> str:
    """Return the option `model`, or raise ConfigError if it is missing."""
    model = text_option(options, "model")
    if not model:
        raise ConfigError("this provider needs the option model", 'write model = "<a model the server offers>"')
    return model


def spoken(name: str, answer: object) -> str:
    """Return an answer if it is text and not blank; otherwise raise Unavailable."""
    if not isinstance(answer, str) or not answer.strip():
        raise Unavailable(f"{name} did not answer with text", "check model; a thinking model may need more max_tokens")
    return answer


def _content(answer: Any) -> object:
    try:
        return answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        return None


def _rows(answer: Any, count: int, server: Server) -> Vectors:
    """Return the vectors of an answer in the order of the texts, whatever order the server chose."""
    import numpy as np

    items = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise Unavailable(f"{server.host} did not answer with embeddings", CHECK_MODEL)
    # As text, because a broken server may put anything there.
    placed = {str(item.get("index", place)): item.get("embedding") for place, item in enumerate(items)}
    order = [str(place) for place in range(count)]
    if len(items) != count or set(placed) != set(order):
        raise Unavailable(f"{server.host} did not answer with one vector for each of {count} texts", CHECK_MODEL)
    try:
        rows = np.array([_row(placed[place]) for place in order], np.float32)
    except (ValueError, TypeError, OverflowError):
        rows = np.empty(0, np.float32)
    if rows.ndim != 2 or not rows.shape[1]:
        raise Unavailable(f"{server.host} answered with vectors that cannot be read", CHECK_MODEL)
    return rows


def _row(value: object) -> Any:
    """Decode one vector: a list of numbers, or base64 of little-endian float32."""
    import numpy as np

    if isinstance(value, str):
        return np.frombuffer(b64decode(value, validate=True), np.dtype("<f4"))
    if not isinstance(value, list) or not all(isinstance(x, int | float) for x in value):
        raise TypeError
    return value
