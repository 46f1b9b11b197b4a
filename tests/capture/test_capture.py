"""What happens in a session is remembered, with the situation it was learned in, and comes back when it matters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hook_runs import Hooks, payload
from repositories import a_repository
from swarmlore.capture.answering import answer
from swarmlore.capture.lore_pool import LorePool
from swarmlore.capture.pipeline import SpoolReader
from swarmlore.clients import client
from swarmlore.clients.hook import event as e
from swarmlore.clients.hook import spool
from swarmlore.clients.hook.event_from_payload import make_event
from swarmlore.clients.hook.home import spool_dir
from swarmlore.domain.records import Memory, Receipt
from swarmlore.lore import Lore
from waiting_jobs import do_jobs


class Work:
    """Sessions of clients in one project, without processes: events go the same way as from a hook."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home = home
        self.folder = folder
        self.now = 1_800_000_000.0
        self._count = 0

    def send(self, event: str, client_name: str = "claude", session: str = "s1", **facts: Any) -> str:
        """Report an event; returns the context that answers it."""
        self.now += 20
        self._count += 1
        module = client(client_name)
        assert module is not None
        unique = {"tool_use_id": f"t{self._count}", "prompt_id": f"p{self._count}", "turn_id": f"p{self._count}"}
        data = {**unique, **payload(event, session, cwd=str(self.folder)), **facts}
        made = make_event(module, client_name, event, data, self.now)
        spool.append(spool_dir(str(self.home)), e.to_plain(made))
        with self.open() as lore:
            siblings = LorePool(lore)
            assert SpoolReader(lore, siblings).drain().bad == 0
            do_jobs(lore)
            return answer(siblings.of_actor(made), made, "keyword")

    def prompt(self, text: str, **facts: Any) -> str:
        return self.send("UserPromptSubmit", prompt=text, **facts)

    def shell(self, command: str, output: str = "", error: str = "", **facts: Any) -> str:
        given = {"tool_name": "Bash", "tool_input": {"command": command}}
        if error:
            return self.send("PostToolUseFailure", **given, error=error, **facts)
        return self.send("PostToolUse", **given, tool_response={"stdout": output, "stderr": ""}, **facts)

    def open(self) -> Lore:
        env = {"SWARMLORE_EMBEDDER_KIND": "none", "SWARMLORE_ROLE": "lead"}
        return Lore.open(self.home, cwd=self.folder, env=env, clock=lambda: self.now)

    def memories(self) -> list[Memory]:
        with self.open() as lore:
            return list(lore.list())

    def receipts(self) -> list[Receipt]:
        with self.open() as lore:
            return list(lore.receipts())

    def state(self, session: str = "s1") -> dict[str, Any]:
        with self.open() as lore, lore.acting():
            return dict(next(item.extra for item in lore.store.sessions(lore.caller) if item.id == session))

    def problems(self) -> list[Any]:
        return spool.problems(spool_dir(str(self.home)))


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    for name in ("SWARMLORE_AGENT", "SWARMLORE_PROJECT", "SWARMLORE_ROLE"):
        monkeypatch.delenv(name, raising=False)
    return Work(tmp_path / "home", a_repository(tmp_path / "shop"))


def test_a_correction_in_a_prompt_is_remembered_with_the_task_it_belongs_to(work: Work) -> None:
    work.prompt("install the dependencies of the web client")
    work.prompt("No, use pnpm here, never npm: the lockfile is pnpm's")
    (memory,) = work.memories()
    assert "pnpm" in memory.text
    assert memory.kind == "correction"
    assert (memory.tier, memory.owner, memory.status) == ("swarm", "claude", "candidate")
    assert memory.trust <= 2
    assert memory.auto_generated
    assert [item.text for item in memory.situations] == ["install the dependencies of the web client"]
    assert memory.source_ref["session"] == "s1"


def test_a_request_is_no_lesson(work: Work) -> None:
    for text in ("fix the failing test in the cart", "don't commit yet", "no worries, go on", "why is this slow?"):
        work.prompt(text)
    assert work.memories() == []


def test_the_next_session_of_any_client_begins_with_the_lesson(work: Work) -> None:
    work.prompt("No, use pnpm here, never npm: the lockfile is pnpm's")
    assert "pnpm" in work.send("SessionStart", session="s2", source="startup")
    assert "pnpm" in work.send("SessionStart", "codex", session="s3", source="startup")


def test_a_lesson_is_not_told_to_the_session_that_taught_it_until_it_is_compacted(work: Work) -> None:
    assert work.prompt("No, use pnpm here, never npm: the lockfile is pnpm's") == ""
    assert work.prompt("install the lodash package with npm or pnpm") == ""
    assert "pnpm" in work.send("SessionStart", source="compact")


def test_a_memory_comes_once_a_session_and_again_after_a_compaction(work: Work) -> None:
    with work.open() as lore:
        lore.remember("Integration tests need the redis container: run make up first")
    cue = "the integration tests fail without the redis container"
    assert "make up" in work.prompt(cue)
    assert work.prompt(cue) == ""
    assert "make up" in work.send("SessionStart", source="compact")
    assert "make up" in work.prompt(cue, session="s2")


def test_a_sub_agent_is_given_what_its_parent_was(work: Work) -> None:
    with work.open() as lore:
        lore.remember("Integration tests need the redis container: run make up first")
    work.prompt("the integration tests fail without the redis container")
    assert "make up" in work.send("SubagentStart", agent_id="a1", agent_type="general-purpose")


def test_an_unrelated_prompt_gets_nothing_and_a_receipt_says_why(work: Work) -> None:
    with work.open() as lore:
        lore.remember("Integration tests need the redis container: run make up first")
    assert work.prompt("write a haiku about autumn leaves") == ""
    receipt = work.receipts()[0]
    assert receipt.shown == ()
    assert receipt.trigger == "prompt"
    assert receipt.reason


def test_a_failed_tool_brings_back_what_is_known_about_the_error(work: Work) -> None:
    with work.open() as lore:
        text = "ECONNREFUSED on port 6379 means that redis is not running: make up starts it"
        lore.remember(text, situation="Error: connect ECONNREFUSED 127.0.0.1:6379", situation_via="error")
    error = "npm test\nError: connect ECONNREFUSED 127.0.0.1:6379\n    at TCPConnectWrap"
    assert "make up" in work.shell("npm test", error=error)
    assert work.receipts()[0].trigger == "error"


def test_codex_reports_a_failure_as_any_other_output(work: Work) -> None:
    given = {"tool_name": "Bash", "tool_input": {"command": "pytest"}}
    work.send("PostToolUse", "codex", **given, tool_response="ModuleNotFoundError: No module named 'shop'")
    work.send("PostToolUse", "codex", **given, tool_response="3 passed in 0.1s")
    state = work.state()
    assert (state["errors"], state["tool_calls"]) == (1, 2)


def test_a_failure_that_was_overcome_becomes_a_lesson(work: Work) -> None:
    work.prompt("run the tests")
    work.shell("pytest", error="Exit code 1\nModuleNotFoundError: No module named 'shop'")
    work.shell("uv run pytest", output="12 passed in 0.40s")
    (memory,) = work.memories()
    assert "uv run pytest" in memory.text
    assert memory.situations[0].via == "error"
    assert "ModuleNotFoundError" in memory.situations[0].text


def test_a_learned_comment_is_a_memory_and_a_line_in_the_beads_folder(work: Work) -> None:
    (work.folder / ".beads").mkdir()
    work.shell('bd comment BD-7 "LEARNED: The API test is slow because the fixture reloads the schema each time"')
    (memory,) = work.memories()
    assert memory.text == "The API test is slow because the fixture reloads the schema each time"
    assert memory.source == "learned_comment"
    assert memory.key.startswith("learned-the-api-test-is-slow")
    assert memory.source_ref["bead"] == "BD-7"
    assert {"api", "test"} <= set(memory.tags)
    (line,) = (work.folder / ".beads" / "memory" / "knowledge.jsonl").read_text().splitlines()
    assert json.loads(line)["bead"] == "BD-7"


def test_a_file_that_memories_cite_brings_them_before_a_tool_touches_it(work: Work) -> None:
    path = work.folder / "src" / "totals.py"
    path.parent.mkdir()
    path.write_text("def total():\n    return 1\n")
    with work.open() as lore:
        lore.remember("Totals are rounded half up, as the tax office wants it", citations=("src/totals.py:1-2",))
    read = {"tool_name": "Read", "tool_input": {"file_path": str(path)}}
    assert "tax office" in work.send("PreToolUse", **read)
    assert work.send("PreToolUse", **read) == ""
    elsewhere = {"tool_name": "Read", "tool_input": {"file_path": str(work.folder / "src" / "other.py")}}
    assert work.send("PreToolUse", **elsewhere) == ""


def test_a_tool_that_touches_nothing_of_the_project_has_no_receipt(work: Work) -> None:
    work.send("PreToolUse", tool_name="Read", tool_input={"file_path": "/etc/hosts"})
    work.send("PreToolUse", tool_name="Bash", tool_input={"command": "ls"})
    assert work.receipts() == []


def test_a_handle_in_the_agents_words_counts_as_cited_once(work: Work) -> None:
    with work.open() as lore:
        memory = lore.remember("Integration tests need the redis container: run make up first").memory
    work.prompt("the integration tests fail without the redis container")
    work.send("Stop", last_assistant_message=f"I started redis, as [{memory.handle}] says.")
    work.send("Stop", last_assistant_message=f"As said: {memory.handle}. And abcdef1 is a commit.")
    (found,) = work.memories()
    assert found.outcomes.cited == 1
    assert work.state()["cited"] == [memory.handle]


def test_a_session_is_counted(work: Work) -> None:
    work.send("SessionStart", source="startup")
    work.prompt("run the tests")
    work.shell("pytest -q", error="Exit code 1\n1 failed")
    work.shell("pytest -q", error="Exit code 1\n1 failed")
    work.shell("ls", output="a")
    work.send("SessionEnd", reason="other")
    state = work.state()
    counted = {name: state[name] for name in ("prompts", "tool_calls", "errors", "retries")}
    assert counted == {"prompts": 1, "tool_calls": 3, "errors": 2, "retries": 1}
    with work.open() as lore:
        (session,) = lore.sessions()
    assert session.ended_at is not None
    assert session.client == "claude"


def test_what_the_transcript_shows_is_learned_at_the_end(work: Work, tmp_path: Path) -> None:
    transcript = tmp_path / "s1.jsonl"
    said = "The root cause was that the worker reads its configuration before the secrets are mounted."
    turns = [
        {"type": "user", "message": {"role": "user", "content": "why does the worker crash at start"}},
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": said}]}},
    ]
    transcript.write_text(
        "".join(json.dumps({**turn, "sessionId": "s1", "uuid": str(i)}) + "\n" for i, turn in enumerate(turns))
    )
    work.send("SessionEnd", transcript_path=str(transcript), reason="other")
    assert any("secrets are mounted" in memory.text for memory in work.memories())
    assert work.problems() == []


def test_an_event_that_cannot_be_digested_does_not_hold_up_the_others(work: Work, tmp_path: Path) -> None:
    work.send("SessionEnd", transcript_path=str(tmp_path), reason="other")
    work.send("SessionEnd", session="s2", transcript_path="/dev/zero", reason="other")
    work.prompt("No, use pnpm here, never npm: the lockfile is pnpm's", session="s3")
    assert len(work.memories()) == 1


def test_no_byte_of_a_secret_stays_by_any_door(work: Work, tmp_path: Path) -> None:
    token = "ghp_" + "Zx81kLmQ0pTr5VbYn3Wd7Jf2Hs9Gc4Ea6Uio"
    (work.folder / ".beads").mkdir()
    work.prompt(f"No, always log in with {token} here, never with the old password of the registry")
    work.shell(f'bd comment BD-1 "LEARNED: the registry wants the token {token} in the header of each request"')
    work.shell("curl registry", error=f"Exit code 22\ncurl: (22) 401, Authorization: Bearer {token}")
    work.shell(f"curl -H 'Authorization: Bearer {token}' registry", output=f"ok {token}")
    note = work.folder / "shared" / "memory" / "registry.md"
    note.parent.mkdir(parents=True)
    note.write_text(f"# Registry\n\nThe registry of this project is used with the token {token}, from the vault.\n")
    work.send("PostToolUse", tool_name="Write", tool_input={"file_path": str(note), "content": note.read_text()})
    said = f"The root cause was that the registry client in client.py sends {token} only to https addresses."
    transcript = tmp_path / "s1.jsonl"
    turn = {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": said}]}}
    transcript.write_text(json.dumps({**turn, "sessionId": "s1", "uuid": "u"}) + "\n")
    work.send("SessionEnd", transcript_path=str(transcript), reason=token)
    files = [path for folder in (work.home, work.folder / ".beads") for path in folder.rglob("*") if path.is_file()]
    assert len(work.memories()) >= 3
    assert not [path for path in files if token.encode() in path.read_bytes()]
    assert not [path for path in files if token[4:20].encode() in path.read_bytes()]


def test_what_a_hook_left_behind_is_digested_with_the_next_event(work: Work) -> None:
    hooks = Hooks(work.home, work.folder)
    hooks.run("PostToolUse", payload("PostToolUse", tool_name="Bash", tool_use_id="t", tool_input={"command": "ls"}))
    assert spool.has_events(spool_dir(str(work.home)))
    work.prompt("hello")
    assert work.state()["tool_calls"] == 1


def transcript_of(path: Path, *turns: tuple[str, str]) -> str:
    """A transcript of what was said, as Claude Code keeps it."""
    lines = [
        {"type": role, "uuid": str(number), "message": {"role": role, "content": [{"type": "text", "text": text}]}}
        for number, (role, text) in enumerate(turns)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def test_a_session_that_says_it_again_on_another_day_confirms_nothing(work: Work, tmp_path: Path) -> None:
    said = "No, use pnpm here, never npm: the lockfile is pnpm's"
    found = "The root cause was that the worker reads its configuration before the secrets are mounted."
    path = transcript_of(tmp_path / "s1.jsonl", ("user", "install it"), ("user", said), ("assistant", found))
    work.prompt(said)
    for _ in range(3):  # resumed again and again
        work.send("SessionEnd", transcript_path=path, reason="other")
        work.now += 86_400
    assert {memory.text[:14] for memory in work.memories()} == {"Use pnpm here,", "The root cause"}
    assert [memory.confirmed_by for memory in work.memories()] == [(), ()]
    assert work.state()["lessons"] == 1  # by its prompt; the other one was extracted later


def test_another_session_on_another_day_confirms(work: Work) -> None:
    work.prompt("No, use pnpm here, never npm: the lockfile is pnpm's")
    work.now += 86_400
    work.prompt("No, use pnpm here, never npm: the lockfile is pnpm's", session="s2")
    (memory,) = work.memories()
    assert len(memory.confirmed_by) == 1


def test_whoever_prompts_a_sub_agent_is_no_person(work: Work) -> None:
    work.prompt("build the web client")
    said = "No, use pnpm here, never npm: the lockfile is pnpm's"
    work.prompt(said, client_name="codex", session="s2", agent_id="a1")
    work.prompt(said, agent_id="a1")
    work.send("SubagentStop", agent_id="a1", last_assistant_message="I used npm, as always.")
    assert work.memories() == []
    assert work.state()["last_prompt"] == "build the web client"
    assert "last_said" not in work.state()


def test_what_a_sub_agent_was_shown_it_can_cite_and_cannot_confirm(work: Work) -> None:
    with work.open() as lore:
        memory = lore.remember("Integration tests need the redis container: run make up first").memory
    assert memory.handle in work.send("SubagentStart", agent_id="a1", agent_type="general-purpose")
    work.now += 86_400
    work.shell(f"bd comment b-1 'LEARNED: {memory.text}'", agent_id="a1")
    work.send("SubagentStop", agent_id="a1", last_assistant_message=f"Done, as [{memory.handle}] says.")
    (found,) = work.memories()
    assert found.confirmed_by == ()
    assert found.outcomes.cited == 1


def test_a_secret_between_colours_is_in_no_memory(work: Work, tmp_path: Path) -> None:
    token = "ghp_" + "Zx81kLmQ0pTr5VbYn3Wd7Jf2Hs9Gc4Ea6Uio"
    painted = f"{token[:4]}\x1b[m\x1b[K{token[4:]}"
    path = transcript_of(
        tmp_path / "s1.jsonl", ("user", painted), ("assistant", f"The root cause was the key {painted} in config.toml")
    )
    work.prompt(f"No, never use {painted} here, always use the vault")
    work.send("SessionEnd", transcript_path=path, reason="other")
    assert work.memories()
    for file in work.home.rglob("*"):
        assert not file.is_file() or token[4:].encode() not in file.read_bytes()


@pytest.mark.parametrize(("used", "given"), [(100_000, True), (256_000, False)])
def test_the_fuller_the_context_the_less_is_given(work: Work, tmp_path: Path, used: int, given: bool) -> None:
    info = {"last_token_usage": {"total_tokens": used}, "model_context_window": 258_400}
    record = {"type": "event_msg", "payload": {"type": "token_count", "info": info}}
    transcript = tmp_path / "rollout-2026-11-15-s1.jsonl"
    transcript.write_text(json.dumps(record) + "\n")
    with work.open() as lore:
        lore.remember("Integration tests need the redis container: run make up first")
    cue = "the integration tests fail without the redis container"
    assert bool(work.prompt(cue, client_name="codex", transcript_path=str(transcript))) is given
    receipt = work.receipts()[0]
    assert receipt.headroom == pytest.approx(1 - used / 258_400)
    assert given or "room" in receipt.reason or "context" in receipt.reason


def test_a_sub_agent_acts_under_its_own_name_and_its_parent_keeps_the_session(work: Work) -> None:
    work.prompt("build the web client")
    sub = {"agent_id": "a1", "agent_type": "reviewer"}
    work.shell('bd comment BD-7 "LEARNED: The API test is slow because the fixture reloads the schema"', **sub)
    (memory,) = work.memories()
    assert memory.owner == "claude/reviewer"
    work.send("SubagentStart", session="s2", **sub)
    assert work.receipts()[0].agent == "claude/reviewer"
    with work.open() as lore:
        assert {session.agent for session in lore.sessions()} == {"claude"}
    assert work.state()["tool_calls"] == 1


def test_what_to_know_comes_before_what_happened(work: Work) -> None:
    happened = (
        "Session: run pytest for the basket module; pytest was run for the basket module, and the basket module is fine"
    )
    with work.open() as lore:
        lore.remember(happened, source="session_summary")
        lore.remember("Never run pytest in the basket module directly: make check sets the fixtures up")
        for trigger, first in (("prompt", "Never run"), ("task", "Session:")):
            block = lore.block("run pytest for the basket module", trigger=trigger, session=trigger)
            shown = [lore.get(item.handle).text for item in block.receipt.shown]
            assert [len(shown), shown[0].startswith(first)] == [2, True]
