"""The languages that the clients speak with a model: what they ask, and how they are answered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4


@dataclass(frozen=True)
class Offer:
    """A tool that a request offers. Codex puts the tools of one MCP server into a namespace."""

    name: str
    namespace: str = ""
    custom: bool = False

    @property
    def full_name(self) -> str:
        return f"{self.namespace}__{self.name}" if self.namespace else self.name


@dataclass(frozen=True)
class Call:
    """A tool that the model wants to use."""

    offer: Offer
    args: dict[str, Any] | str
    id: str = field(default_factory=lambda: uuid4().hex[:20])


@dataclass(frozen=True)
class Answer:
    """What the model says, and how large it claims the request was: that decides about compaction."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    tokens: int = 100
    hold: bool = False


@dataclass(frozen=True)
class Said:
    """One text of a request with the role that it has there; results of tools have the role `tool`."""

    role: str
    text: str


Events = list[dict[str, Any]]


class Anthropic:
    """Anthropic Messages."""

    def speaks(self, path: str) -> bool:
        return path.endswith("/messages")

    def streams(self, path: str, body: dict[str, Any]) -> bool:
        return bool(body.get("stream"))

    def texts(self, body: dict[str, Any]) -> Iterator[Said]:
        yield from _said("system", body.get("system"))
        for message in body.get("messages", ()):
            yield from _said(message["role"], message["content"])

    def offers(self, body: dict[str, Any]) -> Iterator[Offer]:
        for tool in body.get("tools") or ():
            yield Offer(tool["name"])

    def whole(self, body: dict[str, Any], answer: Answer) -> dict[str, Any]:
        text = [{"type": "text", "text": answer.text}] if answer.text else []
        calls = [
            {"type": "tool_use", "id": f"toolu_{call.id}", "name": call.offer.name, "input": call.args}
            for call in answer.calls
        ]
        return {
            "id": f"msg_{uuid4().hex}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": [*text, *calls],
            "stop_reason": "tool_use" if calls else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": answer.tokens, "output_tokens": 20},
        }

    def stream(self, body: dict[str, Any], answer: Answer) -> Events:
        whole = self.whole(body, answer)
        events: Events = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}]
        for index, block in enumerate(whole["content"]):
            events += _block_events(index, block)
        ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        return [
            *events,
            {"type": "message_delta", "delta": ending, "usage": whole["usage"]},
            {"type": "message_stop"},
        ]


def _block_events(index: int, block: dict[str, Any]) -> Events:
    if block["type"] == "text":
        empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    return [
        {"type": "content_block_start", "index": index, "content_block": empty},
        {"type": "content_block_delta", "index": index, "delta": delta},
        {"type": "content_block_stop", "index": index},
    ]


class Responses:
    """OpenAI Responses."""

    def speaks(self, path: str) -> bool:
        return path.endswith("/responses")

    def streams(self, path: str, body: dict[str, Any]) -> bool:
        return bool(body.get("stream"))

    def texts(self, body: dict[str, Any]) -> Iterator[Said]:
        yield from _said("system", body.get("instructions"))
        for item in body.get("input", ()):
            if "output" in item:
                yield from _said("tool", item["output"])
            elif "content" in item:
                yield from _said(item.get("role", ""), item["content"])
            elif item.get("type", "").endswith("_call"):
                yield Said("assistant", str(item.get("arguments", item.get("input"))))

    def offers(self, body: dict[str, Any]) -> Iterator[Offer]:
        for tool in body.get("tools") or ():
            if tool.get("type") == "namespace":
                yield from (Offer(inner["name"], tool["name"]) for inner in tool["tools"])
            elif "name" in tool:
                yield Offer(tool["name"], custom=tool["type"] == "custom")

    def whole(self, body: dict[str, Any], answer: Answer) -> dict[str, Any]:
        items = [_message(answer.text)] if answer.text else []
        return {
            "id": f"resp_{uuid4().hex}",
            "object": "response",
            "created_at": 0,
            "model": body.get("model"),
            "status": "completed",
            "output": [*items, *map(_call, answer.calls)],
            "usage": {
                "input_tokens": answer.tokens,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 20,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": answer.tokens + 20,
            },
        }

    def stream(self, body: dict[str, Any], answer: Answer) -> Events:
        whole = self.whole(body, answer)
        begun = {**whole, "status": "in_progress", "output": [], "usage": None}
        events: Events = [{"type": "response.created", "response": begun}]
        for index, item in enumerate(whole["output"]):
            events.append({"type": "response.output_item.added", "output_index": index, "item": _empty(item)})
            if item["type"] == "message":
                text = item["content"][0]["text"]
                place = {"item_id": item["id"], "output_index": index, "content_index": 0}
                events.append({"type": "response.output_text.delta", **place, "delta": text})
            events.append({"type": "response.output_item.done", "output_index": index, "item": item})
        events.append({"type": "response.completed", "response": whole})
        return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _message(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    made = {"type": "message", "id": f"msg_{uuid4().hex}", "role": "assistant", "status": "completed"}
    return {**made, "content": content}


def _call(call: Call) -> dict[str, Any]:
    common = {"id": f"fc_{call.id}", "call_id": f"call_{call.id}", "name": call.offer.name, "status": "completed"}
    if call.offer.custom:
        return {"type": "custom_tool_call", **common, "input": call.args}
    space = {"namespace": call.offer.namespace} if call.offer.namespace else {}
    return {"type": "function_call", **common, **space, "arguments": json.dumps(call.args)}


def _empty(item: dict[str, Any]) -> dict[str, Any]:
    nothing: dict[str, dict[str, Any]] = {
        "message": {"content": []},
        "function_call": {"arguments": ""},
        "custom_tool_call": {"input": ""},
    }
    return {**item, **nothing[item["type"]]}


class Chat:
    """OpenAI chat completions."""

    def speaks(self, path: str) -> bool:
        return path.endswith("/chat/completions")

    def streams(self, path: str, body: dict[str, Any]) -> bool:
        return bool(body.get("stream"))

    def texts(self, body: dict[str, Any]) -> Iterator[Said]:
        for message in body.get("messages", ()):
            yield from _said(message["role"], message.get("content"))
            for call in message.get("tool_calls") or ():
                yield Said("assistant", call["function"]["arguments"])

    def offers(self, body: dict[str, Any]) -> Iterator[Offer]:
        for tool in body.get("tools") or ():
            if "function" in tool:
                yield Offer(tool["function"]["name"])

    def whole(self, body: dict[str, Any], answer: Answer) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
        if answer.calls:
            message["tool_calls"] = _chat_calls(answer)
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if answer.calls else "stop"}
        return {**_chat(body, "chat.completion"), "choices": [choice], "usage": _chat_usage(answer)}

    def stream(self, body: dict[str, Any], answer: Answer) -> Events:
        said: dict[str, Any] = {"role": "assistant", "content": answer.text}
        if answer.calls:
            said["tool_calls"] = [{"index": place, **call} for place, call in enumerate(_chat_calls(answer))]
        ended = "tool_calls" if answer.calls else "stop"
        base = _chat(body, "chat.completion.chunk")
        return [
            {**base, "choices": [{"index": 0, "delta": said, "finish_reason": None}]},
            {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": ended}]},
            {**base, "choices": [], "usage": _chat_usage(answer)},
        ]


def _chat(body: dict[str, Any], kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{uuid4().hex}", "object": kind, "created": 0, "model": body.get("model")}


def _chat_calls(answer: Answer) -> Events:
    return [
        {
            "id": f"call_{call.id}",
            "type": "function",
            "function": {"name": call.offer.name, "arguments": json.dumps(call.args)},
        }
        for call in answer.calls
    ]


def _chat_usage(answer: Answer) -> dict[str, int]:
    return {"prompt_tokens": answer.tokens, "completion_tokens": 20, "total_tokens": answer.tokens + 20}


class Gemini:
    """Gemini's generateContent; whether it streams stands in the path."""

    def speaks(self, path: str) -> bool:
        return path.endswith((":generateContent", ":streamGenerateContent"))

    def streams(self, path: str, body: dict[str, Any]) -> bool:
        return path.endswith(":streamGenerateContent")

    def texts(self, body: dict[str, Any]) -> Iterator[Said]:
        yield from self._parts("system", body.get("systemInstruction") or {})
        for content in body.get("contents", ()):
            yield from self._parts("assistant" if content.get("role") == "model" else "user", content)

    def _parts(self, role: str, content: dict[str, Any]) -> Iterator[Said]:
        for part in content.get("parts", ()):
            if "text" in part:
                yield Said(role, part["text"])
            elif "functionCall" in part:
                yield Said(role, json.dumps(part["functionCall"].get("args"), ensure_ascii=False))
            elif "functionResponse" in part:
                yield from (Said("tool", text) for text in _strings(part["functionResponse"].get("response")))

    def offers(self, body: dict[str, Any]) -> Iterator[Offer]:
        for tool in body.get("tools") or ():
            yield from (Offer(function["name"]) for function in tool.get("functionDeclarations", ()))

    def whole(self, body: dict[str, Any], answer: Answer) -> dict[str, Any]:
        calls = [{"functionCall": {"name": call.offer.name, "args": call.args}} for call in answer.calls]
        parts = [*([{"text": answer.text}] if answer.text else []), *calls]
        used = {"promptTokenCount": answer.tokens, "candidatesTokenCount": 20, "totalTokenCount": answer.tokens + 20}
        said = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        return {"candidates": [said], "usageMetadata": used, "modelVersion": "scripted", "responseId": uuid4().hex}

    def stream(self, body: dict[str, Any], answer: Answer) -> Events:
        return [self.whole(body, answer)]


def _strings(value: object) -> Iterator[str]:
    """Every text in an object, whatever its form."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def _said(role: str, content: object) -> Iterator[Said]:
    """The texts in a content, whatever its form: a text, a list of parts, parts in parts."""
    if isinstance(content, str):
        yield Said(role, content)
    elif isinstance(content, list):
        for part in content:
            yield from _said(role, part)
    elif isinstance(content, dict):
        if content.get("type") == "tool_use":
            yield Said(role, json.dumps(content["input"], ensure_ascii=False))
        else:
            inner = "tool" if content.get("type") == "tool_result" else role
            yield from _said(inner, content.get("text", content.get("content")))
