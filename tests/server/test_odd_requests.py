"""Odd values in every field of every verb: refused in words or taken as they are; never a failure of the server."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from itertools import count, islice
from typing import Any

import pytest

from conftest import engine_env, fuzzing
from odd_strings import ODD
from serving import LESSON, Server
from swarmlore.compat.agent_swarm_tools import _EMBED, _INDEX, _LIST, _SEARCH
from swarmlore.domain.language.unicode import clean
from swarmlore.lore.verbs import verbs
from swarmlore.server.mcp.schema import Tool
from swarmlore.server.mcp.tools import BY_NAME, DEFAULT, NAMES, tools_in

RAW = (b'"\\ud800"', b'"\\u0000"', b'"\\udc00\\ud800"', b"NaN", b"-Infinity", b"1e400", b"-1", b"1" * 400, b"0.1", b"null", b"true", b"[]", b"{}", b'["\\ud800"]', b"[[]]", b"[null]", b"1" * 30, b'{"a":{"b":[1]}}')  # fmt: skip
ACCEPT = {"Accept": "application/json, text/event-stream"}
PLAUSIBLE = {"string": "01a1e313", "integer": 1, "number": 1.0, "boolean": True, "array": ["x"], "object": {}}


@pytest.fixture(scope="module")
def odd() -> list[str]:
    return list(ODD)


class Line:
    """One connection that is kept."""

    def __init__(self, server: Server, token: str) -> None:
        self.server = server
        self.step = 1  # of so many fields one is tried
        self._made = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
        self._head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **ACCEPT}

    def ask(self, verb: str, data: bytes) -> tuple[int, Any]:
        return self.post(f"/v1/{verb}", data)

    def post(self, path: str, data: bytes) -> tuple[int, Any]:
        self._made.request("POST", path, data, self._head)
        answer = self._made.getresponse()
        return answer.status, json.loads(answer.read())

    def close(self) -> None:
        self._made.close()


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def line(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    home = tmp_path_factory.mktemp("odd") / "home"
    home.mkdir()
    server = Server(home, engine_env(request.param), "--rate", "100000", "--no-worker")
    server.start()
    made = Line(server, server.token("odd", role="lead", project="git.example/odd"))
    made.step = 1 if request.param == "sqlite" or LONG else 4
    yield made
    made.close()
    server.stop()


def given(verb: str) -> dict[str, Any]:
    """A call with something plausible for all that it needs."""
    known = verbs()[verb]
    return {name: known.example.get(name, _plausible(known.takes[name])) for name in known.required}


def _plausible(schema: Any) -> Any:
    kind = schema.get("type", "object")
    return schema["enum"][-1] if "enum" in schema else PLAUSIBLE[kind if isinstance(kind, str) else kind[0]]


FIELDS = [(verb, name) for verb, known in verbs().items() for name in known.takes]
STEP = 7
LONG = fuzzing()


def _texts(place: int, odd: list[str]) -> Iterator[str]:
    """Some of the strings for each field, so that all of them come somewhere."""
    return islice((odd[(place * STEP + number) % len(odd)] for number in count()), STEP)


def test_odd_texts_in_every_field(line: Line, odd: list[str]) -> None:
    failed = []
    for place, (verb, name) in enumerate(FIELDS[:: line.step]):
        listed = verbs()[verb].takes[name].get("type") == "array"
        for text in _texts(place, odd):
            body = {**given(verb), name: [text] if listed else text}
            status, told = line.ask(verb, json.dumps(body).encode())
            if status >= 500 or (status != 200 and not {"error", "hint", "code"} <= set(told)):
                failed.append((verb, name, text[:80], status, told))
    assert failed == []


def test_odd_values_in_every_field(line: Line) -> None:
    failed = []
    for place, (verb, name) in enumerate(FIELDS[:: line.step]):
        for value in RAW[place % 3 :: 3]:
            whole = json.dumps({**given(verb), name: "HERE"}).encode().replace(b'"HERE"', value)
            status, told = line.ask(verb, whole)
            if status >= 500 or (status != 200 and not {"error", "hint", "code"} <= set(told)):
                failed.append((verb, name, value[:40], status, told))
    assert failed == []


def test_what_is_taken_comes_back_as_the_gate_left_it(line: Line, odd: list[str]) -> None:
    wrong = []
    for number, text in enumerate(text for text in odd[:: 9 * line.step] if len(text) < 150):
        said = f"Service number {number} of the fleet answers with {text} at the end"
        status, told = line.ask("remember", json.dumps({"text": said, "tier": "agent"}).encode())
        if status == 200 and told["result"]["outcome"] == "added" and not told["result"]["redacted"]:
            kept = line.ask("get", json.dumps({"ref": told["result"]["memory"]["id"]}).encode())[1]["result"]["text"]
            if kept != told["result"]["memory"]["text"] or kept != clean(said)[0].strip():
                wrong.append((said, kept))
        elif status not in (200, 400, 422):
            wrong.append((said, status))
    assert wrong == []


SETS = [name for name in NAMES if name != DEFAULT]
TOOLS = [("", tool) for tool in BY_NAME.values()] + [(name, tool) for name in SETS for tool in tools_in(name).values()]
OF_TOOLS = [(chosen, tool, name) for chosen, tool in TOOLS for name in tool.takes]


def test_odd_texts_in_every_field_of_every_tool(line: Line, odd: list[str]) -> None:
    failed = []
    for place, (chosen, tool, name) in enumerate(OF_TOOLS[:: line.step]):
        for text in islice(_texts(place, odd), 2):
            told = _called(line, chosen, tool, {name: text})
            if "UNFORESEEN" in str(told) or "result" not in told:
                failed.append((tool.name, name, text[:80], told))
    assert failed == []


def _called(line: Line, chosen: str, tool: Tool, odd: dict[str, Any]) -> Any:
    plausible = {name: _plausible(tool.takes[name]) for name in tool.required}
    params = {"name": tool.name, "arguments": {**plausible, **odd}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return line.post(f"/mcp?tools={chosen}", json.dumps(call).encode())[1]


def test_odd_texts_in_the_routes_of_agent_swarm(line: Line, odd: list[str]) -> None:
    note = {
        "content": "Tests are recorded by hand",
        "name": "tests",
        "scope": "agent",
        "source": "manual",
        "query": "x",
    }
    failed = []
    for path, takes in (("index", _INDEX), ("search", _SEARCH), ("list", _LIST), ("re-embed", _EMBED)):
        for place, name in enumerate(takes):
            for text in _texts(place, odd):
                status, told = line.post(f"/api/memory/{path}", json.dumps({**note, name: text}).encode())
                if status >= 500:
                    failed.append((path, name, text[:80], told))
    assert failed == []


def test_nothing_of_that_reached_what_others_have(line: Line) -> None:
    steady = line.server
    other = steady.token("calm", project="git.example/calm")
    steady.ask("/v1/remember", {"text": LESSON}, other)
    line.ask("forget_origin", b'{"source": "%"}')
    line.ask("retract", json.dumps({"text": "' OR 1=1 --"}).encode())
    assert steady.ask("/v1/count", {"tier": "swarm"}, other)[1] == {"result": 1}
