"""An LLM behind Anthropic's messages API."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from swarmlore.frozen import replace
from swarmlore.models.http_client import post_json, read_address, read_server
from swarmlore.models.local_files import clean
from swarmlore.models.openai import MEGABYTE, need_model, spoken

HOME = "https://api.anthropic.com"
KEY_ENV = "ANTHROPIC_API_KEY"
VERSION = "2023-06-01"


class AnthropicWriter:
    """The LLM of a /v1/messages endpoint."""

    def __init__(self, options: Mapping[str, Any], sleep: Callable[[float], None] = time.sleep) -> None:
        server = read_server(options, HOME, KEY_ENV, 60, 4 * MEGABYTE)
        address = read_address(server.address.geturl().removesuffix("/v1"))  # both spellings are common
        headers = {"anthropic-version": VERSION}
        self._server = replace(server, address=address, key_header="x-api-key", key_prefix="", headers=headers)
        self._model = need_model(options)
        self._sleep = sleep
        self.name = f"anthropic:{self._model}@{self._server.host}"

    def complete(self, system: str, user: str, *, max_tokens: int = 512) -> str:
        """Return the LLM's answer as plain text, never empty."""
        messages = [{"role": "user", "content": clean(user, len(user))}]
        payload: dict[str, Any] = {"model": self._model, "max_tokens": max_tokens, "messages": messages}
        if system:
            payload["system"] = clean(system, len(system))
        return spoken(self.name, _text(post_json(self._server, "/v1/messages", payload, self._sleep)))


def _text(answer: Any) -> str | None:
    """Return the joined text blocks of an answer, without thinking and tool blocks; None if it has another shape."""
    try:
        return "".join(block["text"] for block in answer["content"] if block["type"] == "text")
    except (KeyError, TypeError):
        return None
