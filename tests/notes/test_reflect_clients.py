"""Sessions of five clients that are looked at unasked: by what each of them really reports, once each."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from test_opencode_transcripts import SESSION, Database, text

from conftest import DATA, NOW, quick_env
from repositories import NEUTRAL, a_repository
from swarmlore.capture.answering import answer as answer_event
from swarmlore.capture.pipeline import SpoolReader
from swarmlore.clients import client as client_module
from swarmlore.clients.hook.event_from_payload import make_event
from swarmlore.lore import Lore
from swarmlore.notes.reflect.collect import load_file, session_in
from swarmlore.server.worker.child import run_due_jobs
from swarmlore.server.worker.handlers import HANDLERS
from swarmlore.workspace.project import find_project

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
import labelled

PAYLOADS = DATA / "clients" / "payloads"
ID = "0bd44edf-e877-478e-b48e-72f7cdb7a833"
CAUSE = "The root cause was that the worker reads its configuration before the secrets are mounted."
RULE = "never push directly to main, always open a pull request."
TALK = f"""=== t
U the nightly import fails, find out why
A {CAUSE} Fixed by waiting for the mount in entrypoint.sh.
U {RULE}
A Understood.
"""
# By client: what it reports when a session is cut, when it ends, when a person says something, and where it can show a
# line in the next one.
CUT = {
    "claude": ("claude-2.1.325/PreCompact.compact", "claude-2.1.325/PostCompact.compact"),
    "codex": ("codex/PreCompact.run2", "codex/PostCompact.run2"),
    "gemini": ("gemini/PreCompress", "gemini/PreCompress"),
    "copilot": ("copilot/agentStop",),
    "opencode": ("opencode/session.compacting.compact", "opencode/event.session.compacted.compact"),
}
END = {
    "claude": "claude/SessionEnd",
    "codex": "codex/SessionEnd",
    "gemini": "gemini/SessionEnd",
    "copilot": "copilot/sessionEnd",
    "opencode": "opencode/dispose",
}
PROMPT = {
    "claude": "claude/UserPromptSubmit",
    "codex": "codex/UserPromptSubmit",
    "gemini": "gemini/BeforeAgent",
    "copilot": "copilot/userPromptSubmitted",
    "opencode": "opencode/chat.message",
}
NEXT = {
    **PROMPT,
    "claude": "claude/SessionStart",
    "codex": "codex/SessionStart",
    "opencode": "opencode/event.session.created",
}
NAMES = {
    "session.compacting": "experimental.session.compacting",
    "event.session.compacted": "session.compacted",
    "event.session.created": "session.start",
}


class Reporting:
    """A client that reports what it does in one project."""

    def __init__(self, client: str, folder: Path) -> None:
        self.client = client
        self.session = SESSION if client == "opencode" else ID
        self.project = a_repository(folder / "project", commit=True)
        self.user = folder / "user"
        self.user.mkdir()
        self.transcript = self._kept(folder)
        self.now = NOW

    def _kept(self, folder: Path) -> str:
        if self.client == "opencode":
            data = self.user / ".local" / "share" / "opencode"
            data.mkdir(parents=True)
            kept = Database(data)
            kept.add("user", text("the nightly import fails, find out why"))
            kept.add("assistant", text(f"{CAUSE} Fixed by waiting for the mount in entrypoint.sh."))
            kept.add("user", text(RULE))
            return f"{kept.path}#{SESSION}"
        source = folder / "talk.txt"
        source.write_text(TALK)
        path = labelled.write_session(labelled.read_sessions(source, self.client)[0], folder)
        if self.client != "copilot":
            return str(path)
        own = self.user / ".copilot" / "session-state" / ID / "events.jsonl"
        own.parent.mkdir(parents=True)
        return str(path.rename(own))

    def event(self, file: str, session: str = "") -> Any:
        """What a payload that was really sent makes, with this project and this session in it."""
        self.now += 5
        told = (PAYLOADS / f"{file}.json").read_text().replace("/home/dev/shop", str(self.project))
        payload = json.loads(told.replace(SESSION, session or self.session))
        payload |= {key: session or self.session for key in ("session_id", "sessionId") if key in payload}
        payload |= {key: self.transcript for key in ("transcript_path", "transcriptPath") if key in payload}
        if self.client == "opencode":
            payload |= {"directory": str(self.project)}
            payload["input"] = payload["input"] or {"sessionID": session or self.session}
        module = client_module(self.client)
        assert module is not None
        name = file.partition("/")[2].removesuffix(".compact").removesuffix(".run2")
        return make_event(module, self.client, NAMES.get(name, name), payload, self.now)


@pytest.mark.parametrize("client", list(CUT))
def test_a_compacted_session_is_reflected_on_once_when_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    for name, value in NEUTRAL.items():
        monkeypatch.setenv(name, value)
    here = Reporting(client, tmp_path)
    monkeypatch.setenv("HOME", str(here.user))
    env = quick_env(SWARMLORE_REFLECT_AUTO="true", HOME=str(here.user))
    home = tmp_path / "home"
    with Lore.open(home, cwd=here.project, client=client, env=env, clock=lambda: here.now) as lore:
        for file in (PROMPT[client], *CUT[client]):
            SpoolReader(lore).digest(here.event(file))
        run_due_jobs(lore, HANDLERS, "test")
        SpoolReader(lore).digest(here.event(END[client]))
        run_due_jobs(lore, HANDLERS, "test")
        begun = here.event(NEXT[client], f"{here.session[:-4]}ffff")
        told = answer_event(lore.beside(find_project(str(here.project)), client, env), begun)
        assert "2 learnings wait" in told
    with Lore.open(home, cwd=here.project, env=env, interactive=True, client="cli") as lore:
        with lore.acting():
            looks = lore.store.reflections(lore.caller)
        assert [one.signals["high"] for one in looks] == [2]
        assert sorted(item.route for item in lore.reflections.open()) == ["behavioral", "knowledge"]


@pytest.mark.parametrize(
    ("client", "path", "session"),
    [
        ("claude", "claude/023bace4-2ce1-4056-865d-cab80f702e66.jsonl", "023bace4-2ce1-4056-865d-cab80f702e66"),
        ("claude", "claude/agent-a66190dae018ae831.jsonl", "agent-a66190dae018ae831"),
        (
            "codex",
            "codex/rollout-2026-11-15T06-33-10-01a1dde8-e719-7143-ab66-27973006882d.jsonl",
            "01a1dde8-e719-7143-ab66-27973006882d",
        ),
        ("copilot", "copilot/events.jsonl", "699ac4c2-c40f-458b-8cfd-93eac5040dd9"),
        ("gemini", "gemini/session-2026-11-15T06-34-e61a964f.jsonl", "e61a964f-2b0a-43a2-b970-06d94512f7dc"),
        ("opencode", "opencode/export.json", "ses_e22167aa3ffeEOGAMKbI84I1AV"),
    ],
)
def test_a_transcript_is_of_the_session_that_hooks_know(client: str, path: str, session: str) -> None:
    full = DATA / "clients" / "transcripts" / path
    heard = load_file(str(full), full.read_text())
    assert (heard.client, heard.session) == (client, session)


def test_a_file_without_an_id_is_named_after_itself_or_its_folder() -> None:
    assert session_in("claude", "/x/y.jsonl", "{}") == "y"
    assert session_in("copilot", "/x/abc/events.jsonl", "") == "abc"
