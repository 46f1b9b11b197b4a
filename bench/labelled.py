"""Labelled coding sessions, and how each of five clients would have written them down.

A session in `tests/data/sessions/*.txt` begins with `=== name`, then the lessons that should be kept of it, one a line:

    + kinds that fit ; entities, or * where anything goes ; words (alternatives|like this) that must & all be in it

then what happened, marked by the first letter: U the user says, A the agent says, $ a command, > what the tool before
printed, ! the same where it failed, R reads a file, E edits one, T gives a task to a sub-agent. Lines that begin with
two spaces go on with what was said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "tests" / "data" / "sessions"
ROOT = "/home/dev/shop"
CLIENTS = ("claude", "codex", "gemini", "copilot", "opencode")
BEGAN = 1_794_700_000
STEP_S = 20


@dataclass
class Wanted:
    """A lesson that a session teaches."""

    kinds: tuple[str, ...]
    entities: tuple[str, ...] | None
    words: tuple[str, ...]

    def fits(self, text: str) -> bool:
        return all(re.search(word, text, re.IGNORECASE) for word in self.words)


@dataclass
class Step:
    """What somebody said, or one use of a tool."""

    mark: str
    text: str
    printed: list[str] = field(default_factory=list)
    failed: bool = False


@dataclass
class Session:
    name: str
    client: str
    wanted: list[Wanted] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


def read_sessions(path: Path, client: str = "") -> list[Session]:
    """The sessions of one file; it is named after its client, unless another is asked for or a name says it."""
    found: list[Session] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("=== "):
            name, _, said = line[4:].partition(" @")
            found.append(Session(name, client or said or path.stem))
        elif line.strip():
            _take(found[-1], line)
    return found


def _take(session: Session, line: str) -> None:
    mark, text = line[0], line[2:]
    if mark == "+":
        kinds, entities, words = (part.strip() for part in text.split(";"))
        named = None if entities == "*" else tuple(entities.split(","))
        wanted = tuple(word.strip() for word in words.split("&"))
        session.wanted.append(Wanted(tuple(kinds.split(",")), named, wanted))
    elif mark == " ":
        session.steps[-1].text += "\n" + text
    elif mark in ">!":
        session.steps[-1].printed.append(text)
        session.steps[-1].failed |= mark == "!"
    else:
        session.steps.append(Step(mark, text))


def write_session(session: Session, folder: Path) -> Path:
    """The transcript of a session, as its client would have left it."""
    name, records = _WRITERS[session.client](session)
    path = folder / session.name / name
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = isinstance(records, dict)
    lines = [json.dumps(records, indent=2)] if whole else [json.dumps(record) for record in records]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _at(place: int) -> str:
    from swarmlore.domain.json_codec import iso

    return str(iso(BEGAN + STEP_S * place))


def _claude(session: Session) -> tuple[str, list[dict[str, Any]]]:
    records = []
    for place, step in enumerate(session.steps):
        about = {"uuid": f"u{place}", "timestamp": _at(place), "isSidechain": False, "cwd": ROOT}
        if step.mark in "UA":
            role = "user" if step.mark == "U" else "assistant"
            content: Any = step.text if role == "user" else [{"type": "text", "text": step.text}]
            records.append({"type": role, **about, "message": {"role": role, "content": content}})
            continue
        names = {"$": ("Bash", "command"), "R": ("Read", "file_path"), "E": ("Edit", "file_path")}
        name, key = names.get(step.mark, ("Agent", "prompt"))
        value = f"{ROOT}/{step.text}" if key == "file_path" else step.text
        use = {"type": "tool_use", "id": f"toolu_{place}", "name": name, "input": {key: value}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{place}", "content": "\n".join(step.printed)}
        if step.failed:
            result |= {"is_error": True, "content": "Exit code 1\n" + "\n".join(step.printed)}
        records.append({"type": "assistant", **about, "message": {"role": "assistant", "content": [use]}})
        records.append({"type": "user", **about, "message": {"role": "user", "content": [result]}})
    return f"{session.name}.jsonl", records


def _codex(session: Session) -> tuple[str, list[dict[str, Any]]]:
    records: list[dict[str, Any]] = [{"timestamp": _at(0), "type": "session_meta", "payload": {"cwd": ROOT}}]

    def item(place: int, **facts: Any) -> None:
        records.append({"timestamp": _at(place), "type": "response_item", "payload": facts})

    for place, step in enumerate(session.steps):
        id = f"call_{place}"
        if step.mark in "UA":
            role, part = ("user", "input_text") if step.mark == "U" else ("assistant", "output_text")
            item(place, type="message", id=f"m{place}", role=role, content=[{"type": part, "text": step.text}])
            continue
        if step.mark == "E":
            patch = f"*** Begin Patch\n*** Update File: {step.text}\n@@\n-a\n+b\n*** End Patch"
            item(place, type="custom_tool_call", name="apply_patch", input=patch, call_id=id)
            item(place, type="custom_tool_call_output", call_id=id, output="Exit code: 0\nOutput:\nSuccess.")
            continue
        if step.mark == "T":
            item(
                place,
                type="function_call",
                name="spawn_agent",
                arguments=json.dumps({"message": step.text}),
                call_id=id,
            )
            item(place, type="function_call_output", call_id=id, output="started")
            continue
        command = f"cat {step.text}" if step.mark == "R" else step.text
        item(place, type="function_call", name="exec_command", arguments=json.dumps({"cmd": command}), call_id=id)
        head = f"Chunk ID: {place}\nWall time: 0.5 seconds\nProcess exited with code {int(step.failed)}\nOutput:\n"
        item(place, type="function_call_output", call_id=id, output=head + "\n".join(step.printed))
    return f"rollout-2026-11-15T06-33-10-{session.name}.jsonl", records


def _gemini(session: Session) -> tuple[str, list[dict[str, Any]]]:
    records: list[dict[str, Any]] = [{"sessionId": session.name, "startTime": _at(0), "kind": "main"}]
    for place, step in enumerate(session.steps):
        about = {"id": f"m{place}", "timestamp": _at(place)}
        if step.mark == "U":
            records.append({**about, "type": "user", "content": [{"text": step.text}]})
        elif step.mark == "A":
            records.append({**about, "type": "gemini", "content": step.text, "thoughts": []})
        else:
            call, answer = _gemini_call(step, place)
            records.append({**about, "type": "gemini", "content": "", "thoughts": []})
            records.append({**about, "type": "gemini", "content": "", "thoughts": [], "toolCalls": [call]})
            records.append({"id": f"r{place}", "timestamp": _at(place), "type": "user", "content": [answer]})
        records.append({"$set": {"lastUpdated": _at(place)}})
    return "session-2026-11-15T06-34-e61a964f.jsonl", records


def _gemini_call(step: Step, place: int) -> tuple[dict[str, Any], dict[str, Any]]:
    names = {"$": ("run_shell_command", "command"), "R": ("read_file", "file_path"), "E": ("replace", "file_path")}
    name, key = names.get(step.mark, ("delegate_to_agent", "objective"))
    value = f"{ROOT}/{step.text}" if key == "file_path" else step.text
    code = "\nExit Code: 1" if step.failed else ""
    printed = "\n".join(step.printed)
    output = f"Output: {printed or '(empty)'}{code}\nProcess Group PGID: 8250" if step.mark == "$" else printed
    response = {"output": f"<untrusted_context>\n{output}\n</untrusted_context>"}
    answer = {"functionResponse": {"id": f"{name}_{place}", "name": name, "response": response}}
    call = {"id": f"{name}_{place}", "name": name, "args": {key: value}, "result": [answer], "status": "success"}
    return {**call, "timestamp": _at(place), "resultDisplay": printed}, answer


def _copilot(session: Session) -> tuple[str, list[dict[str, Any]]]:
    context = {"cwd": ROOT, "gitRoot": ROOT}
    records: list[dict[str, Any]] = []

    def add(kind: str, place: int, **data: Any) -> None:
        records.append({"type": kind, "data": data, "id": f"e{len(records)}", "timestamp": _at(place)})

    add("session.start", 0, sessionId=session.name, context=context)
    for place, step in enumerate(session.steps):
        if step.mark == "U":
            add("user.message", place, content=step.text, transformedContent=step.text, messageId=f"m{place}")
        elif step.mark == "A":
            add("assistant.message", place, messageId=f"m{place}", content=step.text, toolRequests=[])
        else:
            _copilot_call(step, place, add)
    add("session.shutdown", len(session.steps))
    return "events.jsonl", records


def _copilot_call(step: Step, place: int, add: Callable[..., None]) -> None:
    names = {"$": ("bash", "command"), "R": ("view", "path"), "E": ("edit", "path")}
    name, key = names.get(step.mark, ("task", "prompt"))
    given = {key: f"{ROOT}/{step.text}" if key == "path" else step.text}
    request = {"toolCallId": f"call_{place}", "name": name, "arguments": given, "type": "function"}
    code = int(step.failed)
    printed = "\n".join(step.printed) + (f"\n<shellId: 0 completed with exit code {code}>" if name == "bash" else "")
    add("assistant.message", place, messageId=f"m{place}", content="", toolRequests=[request])
    add("tool.execution_start", place, toolCallId=f"call_{place}", toolName=name, arguments=given)
    more = {"shellExecution": {"exitCode": code}} if name == "bash" else {}
    result = {"content": printed, "detailedContent": printed}
    add("tool.execution_complete", place, toolCallId=f"call_{place}", success=True, result=result, **more)


def _opencode(session: Session) -> tuple[str, dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for place, step in enumerate(session.steps):
        role = "user" if step.mark == "U" else "assistant"
        moment = (BEGAN + STEP_S * place) * 1000
        info = {"role": role, "time": {"created": moment}, "id": f"msg_{place}", "sessionID": session.name}
        part = {"type": "text", "text": step.text} if step.mark in "UA" else _opencode_call(step, place, moment)
        messages.append({"info": info, "parts": [{**part, "id": f"prt_{place}", "messageID": f"msg_{place}"}]})
    times = {"created": BEGAN * 1000, "updated": (BEGAN + STEP_S * len(messages)) * 1000}
    info = {"id": session.name, "directory": ROOT, "title": "A session", "version": "1.18.33", "time": times}
    return "export.json", {"info": info, "messages": messages}


def _opencode_call(step: Step, place: int, moment: int) -> dict[str, Any]:
    names = {"$": ("bash", "command"), "R": ("read", "filePath"), "E": ("edit", "filePath")}
    name, key = names.get(step.mark, ("task", "prompt"))
    given = {key: f"{ROOT}/{step.text}" if key == "filePath" else step.text}
    printed = "\n".join(step.printed)
    metadata = {"output": printed, "exit": int(step.failed)} if name == "bash" else {}
    state = {"status": "completed", "input": given, "output": printed, "metadata": metadata, "title": ""}
    times = {"start": moment, "end": moment + 500}
    return {"type": "tool", "tool": name, "callID": f"call_{place}", "state": {**state, "time": times}}


_WRITERS: dict[str, Callable[[Session], tuple[str, Any]]] = {
    "claude": _claude, "codex": _codex, "gemini": _gemini, "copilot": _copilot, "opencode": _opencode,
}  # fmt: skip


def retold(session: Session, client: str) -> Session:
    """The same session, as another client would have written it down."""
    return replace(session, client=client)


def all_sessions(folder: Path = DATA, only: str = "") -> Iterator[Session]:
    """The forty that the rules were made with, or those of one file."""
    for path in sorted(folder.glob("*.txt")):
        if path.stem == only or (not only and path.stem in CLIENTS):
            yield from read_sessions(path)
