"""Writers: real requests to a real server on this machine, and typed answers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import servers
from swarmlore.errors import ConfigError, Unavailable
from swarmlore.models.anthropic import AnthropicWriter
from swarmlore.models.openai import OpenAIWriter
from swarmlore.models.providers import WRITERS, Writer, ask_json, open_writer

SOURCE = Path(__file__).parents[2] / "src"
KINDS: dict[str, Any] = {"openai": OpenAIWriter, "anthropic": AnthropicWriter}
GOOD = {"openai": servers.chat("an answer"), "anthropic": servers.messages({"type": "text", "text": "an answer"})}
BOTH = pytest.mark.parametrize("kind", ["openai", "anthropic"])


@pytest.fixture
def server() -> Iterator[servers.ModelServer]:
    with servers.running(servers.status(500)) as running:
        yield running


@pytest.fixture
def ask(server: servers.ModelServer) -> Callable[..., Any]:
    """A writer of a kind for the server, which waits without waiting."""

    def make(kind: str, **options: Any) -> Any:
        waits: list[float] = []
        writer = KINDS[kind]({"base_url": server.url + "/v1", "model": "m", **options}, waits.append)
        writer.waits = waits
        return writer

    return make


# --- what is sent and what comes back -------------------------------------------------------------------------------


def test_an_openai_server_is_asked_in_its_words(server: Any, ask: Any) -> None:
    server.usual = GOOD["openai"]
    assert ask("openai").complete("be brief", "why?", max_tokens=9) == "an answer"
    (seen,) = server.seen
    assert seen.path == "/v1/chat/completions"
    turns = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "why?"}]
    assert seen.body == {"model": "m", "messages": turns, "max_tokens": 9}


def test_an_openai_server_may_want_other_fields(server: Any, ask: Any) -> None:
    server.usual = GOOD["openai"]
    ask("openai", temperature=0, max_tokens_field="max_completion_tokens").complete("", "why?")
    turns = [{"role": "user", "content": "why?"}]
    assert server.seen[0].body == {"model": "m", "messages": turns, "max_completion_tokens": 512, "temperature": 0}


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/"])
def test_anthropic_is_asked_in_its_words(server: Any, ask: Any, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setenv("MY_KEY", "sk-mine")
    server.usual = GOOD["anthropic"]
    writer = ask("anthropic", base_url=server.url + path, api_key_env="MY_KEY")
    assert writer.complete("be brief", "why?", max_tokens=9) == "an answer"
    (seen,) = server.seen
    assert seen.path == "/v1/messages"
    assert (seen.headers["x-api-key"], seen.headers["anthropic-version"]) == ("sk-mine", "2023-06-01")
    assert "authorization" not in seen.headers
    assert seen.body == {
        "model": "m",
        "max_tokens": 9,
        "system": "be brief",
        "messages": [{"role": "user", "content": "why?"}],
    }


def test_anthropic_text_blocks_are_joined_and_thinking_is_left_out(server: Any, ask: Any) -> None:
    blocks = [
        {"type": "thinking", "text": "hm"},
        {"type": "text", "text": "an "},
        {"type": "text", "text": "answer"},
    ]
    server.usual = servers.messages(*blocks)
    assert ask("anthropic").complete("", "why?") == "an answer"
    assert "system" not in server.seen[0].body


@BOTH
def test_lone_surrogates_never_reach_a_server(server: Any, ask: Any, kind: str) -> None:
    server.usual = GOOD[kind]
    ask(kind).complete("", "a\ud800b")
    assert server.seen[0].body["messages"] == [{"role": "user", "content": "a\ufffdb"}]


@BOTH
def test_the_home_key_stays_at_home(server: Any, ask: Any, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-home")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-home")
    server.usual = GOOD[kind]
    ask(kind).complete("", "why?")
    assert "sk-home" not in str(server.seen[0].headers)


@BOTH
def test_at_home_a_missing_key_is_named_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.delenv(f"{kind.upper()}_API_KEY", raising=False)
    writer = open_writer(kind, {"model": "m"})
    assert isinstance(writer, Writer)
    with pytest.raises(Unavailable, match=f"{kind.upper()}_API_KEY is not set"):
        writer.complete("", "why?")


# --- failures -------------------------------------------------------------------------------------------------------


@BOTH
def test_a_busy_server_is_asked_again(server: Any, ask: Any, kind: str) -> None:
    server.usual = GOOD[kind]
    server.then(servers.status(529), servers.status(429, Retry_After="2"))
    writer = ask(kind)
    assert writer.complete("", "why?") == "an answer"
    assert writer.waits == [0.5, 2.0]


@BOTH
@pytest.mark.parametrize(
    ("reply", "attempts"),
    [
        (servers.status(500), 3),
        (servers.reset, 3),
        (servers.break_off, 3),
        (servers.status(401), 1),
        (servers.status(302, Location="http://127.0.0.1:1/"), 1),
        (servers.echo_as_page, 1),
        (servers.raw(b" " * 4_200_000), 1),
        (servers.as_json("text"), 1),
        (servers.as_json({}), 1),
        (servers.as_json({"choices": [], "content": []}), 1),
        (servers.as_json({"choices": [{"message": None}], "content": [None]}), 1),
        (servers.as_json({"choices": [{"message": {"content": None}}], "content": [{"type": "text"}]}), 1),
        (servers.as_json({"choices": [{"message": {"content": " \n"}}], "content": [{"type": "text", "text": ""}]}), 1),
        (servers.as_json({"choices": [{"message": {"content": 5}}], "content": [{"type": "text", "text": 5}]}), 1),
        (servers.as_json({"choices": [{"message": {"content": []}}], "content": [{"type": "tool_use"}]}), 1),
    ],
)
def test_a_failing_server_is_unavailable_and_nothing_private_is_said(
    server: Any, ask: Any, monkeypatch: pytest.MonkeyPatch, kind: str, reply: servers.Reply, attempts: int
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    server.usual = reply
    with pytest.raises(Unavailable) as caught:
        ask(kind, api_key_env="MY_KEY").complete("private order", "private words")
    assert caught.value.hint
    assert len(server.seen) == attempts
    said = servers.everything_said(caught.value)
    assert "sk-very-secret" not in said
    assert "private" not in said


@BOTH
@pytest.mark.parametrize("reply", [servers.stall, servers.drip_headers, servers.drip_body])
def test_a_slow_server_is_left_in_time(server: Any, ask: Any, kind: str, reply: servers.Reply) -> None:
    server.usual = reply
    with pytest.raises(Unavailable, match=r"did not answer within 0\.2 s"):
        ask(kind, timeout_s=0.2).complete("", "why?")
    assert not server.released.is_set()  # it goes on being slow


# --- the registry ---------------------------------------------------------------------------------------------------


def test_none_is_no_writer() -> None:
    assert open_writer("none", {}) is None


def test_an_unknown_kind_is_refused_with_the_kinds_there_are() -> None:
    with pytest.raises(ConfigError, match="'gpt'") as caught:
        open_writer("gpt", {})
    assert all(kind in caught.value.hint for kind in WRITERS)


@pytest.mark.parametrize(
    ("kind", "options", "name"),
    [
        ("openai", {"model": "qwen", "base_url": "http://localhost:11434/v1"}, "openai:qwen@localhost:11434"),
        ("anthropic", {"model": "claude"}, "anthropic:claude@api.anthropic.com"),
    ],
)
def test_a_writer_has_a_name(kind: str, options: dict[str, Any], name: str) -> None:
    writer = open_writer(kind, options)
    assert writer is not None
    assert writer.name == name


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("openai", {}),
        ("anthropic", {}),
        ("openai", {"model": "m", "temperature": 3}),
        ("openai", {"model": "m", "max_tokens_field": "tokens"}),
        ("anthropic", {"model": "m", "base_url": "ws://x.example"}),
    ],
)
def test_an_option_that_cannot_be_used_is_a_setting_to_correct(kind: str, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        open_writer(kind, options)
    assert caught.value.hint


@BOTH
def test_a_writer_needs_the_standard_library_only(kind: str) -> None:
    code = f"""
import sys; sys.path.insert(0, {str(SOURCE)!r})
from swarmlore.models.providers import open_writer
print(open_writer({kind!r}, {{"model": "m"}}).name, "numpy" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.strip() == f"{kind}:m@api.{kind}.com False"


# --- typed answers --------------------------------------------------------------------------------------------------


class Says:
    """A writer that always says the same and remembers what it was told."""

    name = "says"

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.told = ""

    def complete(self, system: str, user: str, *, max_tokens: int = 512) -> str:
        self.told = system
        return self.answer


KEYS: dict[str, type] = {"same": bool, "score": float, "count": int, "why": str, "tags": list}
OBJECT = '{"same": true, "score": 1, "count": 2, "why": "a {brace} and \\"quote\\"", "tags": ["x"]}'
READ = {"same": True, "score": 1.0, "count": 2, "why": 'a {brace} and "quote"', "tags": ["x"]}


@pytest.mark.parametrize(
    "answer",
    [
        OBJECT,
        f"  {OBJECT}\n",
        f"```json\n{OBJECT}\n```",
        f"Sure! Here it is:\n```\n{OBJECT}\n```\nAnything else?",
        f"The set {{a, b}} is meant.\n{OBJECT}",
        f'<think>maybe {{"same": false}}?</think>\n{OBJECT}',
        OBJECT.replace("{", '{"more": {"deep": 1}, ', 1),
    ],
)
def test_one_object_is_found_whatever_stands_around_it(answer: str) -> None:
    read = ask_json(Says(answer), "decide", "a or b", KEYS)
    assert read == READ
    assert type(read["score"]) is float


def test_the_writer_is_told_the_keys() -> None:
    says = Says('{"same": true}')
    ask_json(says, "decide", "a or b", {"same": bool})
    assert says.told == 'decide\nAnswer with one JSON object and nothing else. Its keys: "same" (bool).'


@pytest.mark.parametrize(
    ("answer", "keys"),
    [
        ("no", {"a": int}),
        ("", {"a": int}),
        ("[1]", {"a": int}),
        ('{"a": 1', {"a": int}),
        ('{"a": 1} or {"a": 2}', {"a": int}),
        ('{"b": 1}', {"a": int}),
        ('{"a": "1"}', {"a": int}),
        ('{"a": null}', {"a": str}),
        ('{"a": true}', {"a": int}),
        ('{"a": true}', {"a": float}),
        ('{"a": 1}', {"a": bool}),
        ('{"a": 1.0}', {"a": int}),
        ('{"a": NaN}', {"a": float}),
        ('{"a": [NaN]}', {"a": list}),
        ('{"a": 1e999}', {"a": float}),
        (f'{{"a": {10**400}}}', {"a": float}),
        ('{"a": {}}', {"a": list}),
        ('<think>{"a": 1}', {"a": int}),
        ('{"a": ' * 5000, {"a": int}),
        (" " * 70_000 + '{"a": 1}', {"a": int}),
    ],
)
def test_any_other_answer_is_unavailable_and_not_repeated(answer: str, keys: dict[str, type]) -> None:
    with pytest.raises(Unavailable) as caught:
        ask_json(Says(answer + " private"), "decide", "private", keys)
    assert caught.value.hint
    assert "private" not in servers.everything_said(caught.value)


def test_a_typed_answer_comes_through_a_real_server(server: Any, ask: Any) -> None:
    server.usual = servers.chat('```json\n{"operation": "UPDATE"}\n```')
    assert ask_json(ask("openai"), "decide", "a or b", {"operation": str}) == {"operation": "UPDATE"}
