"""The whole way: lessons learned in session one by different doors, their cues in session two. How many arrive?

    python bench/doors.py

Thirty lessons of three projects of tests/data/lessons.jsonl are taught through hooks (LEARNED comments, the user's
own words), the MCP tool `remember` and memory files, among the near misses and fillers of their projects. Then each of
their cues comes through a hook in a session of its own, once with a warm process and once without: as a prompt, as the
output of a failed command, as a change to a file. What counts is the text that the client is handed.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import json
import shlex
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from hooks import warm
from swarmlore.clients.hook.home import socket_path, spool_dir
from swarmlore.domain.records import Draft
from swarmlore.lore import Lore
from timing import SCRIPT, environment

DATA = Path(__file__).parents[1] / "tests" / "data" / "lessons.jsonl"
PROJECTS, LESSONS = 3, 10
DOORS = ("comment", "prompt", "tool", "file")
Rows = list[dict[str, Any]]


class Desk:
    """A project folder of one home, and its hooks."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home, self.folder = str(home), folder
        folder.mkdir(exist_ok=True)
        self._count = 0

    def hook(self, event: str, session: str, **facts: Any) -> str:
        """The context that a hook hands to its client."""
        self._count += 1
        unique = {"tool_use_id": f"{session}-t{self._count}", "prompt_id": f"{session}-p{self._count}"}
        data = {"session_id": session, "cwd": str(self.folder), "hook_event_name": event, **unique, **facts}
        places = ["--home", self.home, "--socket", socket_path(self.home), "--spool", spool_dir(self.home)]
        command = [SCRIPT, "hook", "claude", event, *places]
        done = subprocess.run(
            command, input=json.dumps(data).encode(), capture_output=True, env=environment(), check=True
        )
        return json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"] if done.stdout else ""

    def teach(self, door: str, number: int, text: str) -> None:
        session = f"first-{self.folder.name}"
        if door == "comment":
            command = f"bd comment BD-{number} {shlex.quote(f'LEARNED: {text}')}"
            self.hook("PostToolUse", session, tool_name="Bash", tool_input={"command": command}, tool_response="ok")
        elif door == "prompt":
            self.hook("UserPromptSubmit", session, prompt=f"Please remember that {text}")
        elif door == "file":
            path = self.folder / "shared" / "memory" / f"note-{number}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"# Note {number}\n\n{text}\n")
            self.hook("PostToolUse", session, tool_name="Write", tool_input={"file_path": str(path), "content": text})
        else:
            with Lore.open(self.home, cwd=self.folder, client="claude") as lore:
                lore.remember(text, session=session)

    def ask(self, cue: dict[str, Any], session: str) -> str:
        """The cue at the moment at which it would come."""
        if cue["via"] == "prompt":
            return self.hook("UserPromptSubmit", session, prompt=cue["text"])
        if cue["via"] == "error":
            given = {"tool_name": "Bash", "tool_input": {"command": "make"}}
            return self.hook("PostToolUseFailure", session, **given, error=cue["text"])
        path, _, change = cue["text"].partition(": ")
        given = {"file_path": str(self.folder / path), "old_string": "", "new_string": change}
        return self.hook("PreToolUse", session, tool_name="Edit", tool_input=given)


def chosen(rows: Rows) -> dict[str, Rows]:
    """The first lessons of the first projects, by project."""
    found: dict[str, Rows] = defaultdict(list)
    for row in rows:
        if row["type"] == "lesson" and (row["project"] in found or len(found) < PROJECTS):
            found[row["project"]].append(row)
    return {project: lessons[:LESSONS] for project, lessons in found.items()}


def teach(rows: Rows, lessons: dict[str, Rows], desks: dict[str, Desk]) -> dict[str, str]:
    """Fill each project with what else is known there, then teach its lessons; which door each lesson came by."""
    doors: dict[str, str] = {}
    for project, desk in desks.items():
        taught = {lesson["id"] for lesson in lessons[project]}
        others = [row for row in rows if row.get("project") == project and row.get("id") not in taught]
        with Lore.open(desk.home, cwd=desk.folder, client="claude") as lore:
            lore.remember_many(Draft(row["text"]) for row in others)
        for lesson in lessons[project]:
            door = DOORS[len(doors) % len(DOORS)]
            doors[lesson["id"]] = door
            desk.teach(door, len(doors), lesson["text"])
    return doors


def arrived(context: str, text: str) -> bool:
    """Whether the block holds the lesson; marks and links are written in another way there."""
    words = "".join(char if char.isalnum() else " " for char in text).split()
    shown = set("".join(char if char.isalnum() else " " for char in context).split())
    return sum(word in shown for word in words) >= 0.8 * len(words)


def asked(rows: Rows, lessons: dict[str, Rows], desks: dict[str, Desk], doors: dict[str, str], way: str) -> Any:
    texts = {lesson["id"]: (project, lesson["text"]) for project, found in lessons.items() for lesson in found}
    hits: dict[str, list[bool]] = defaultdict(list)
    for number, cue in enumerate(row for row in rows if row["type"] == "cue" and row["lesson"] in texts):
        project, text = texts[cue["lesson"]]
        hit = arrived(desks[project].ask(cue, f"{way}-{number}"), text)
        for name in ("all", f"cue: {cue['via']}", f"door: {doors[cue['lesson']]}"):
            hits[name].append(hit)
    silences = [row for row in rows if row["type"] == "silence"][:40]
    desk = next(iter(desks.values()))
    quiet = [desk.ask({"via": "prompt", "text": row["text"]}, f"{way}-q{n}") == "" for n, row in enumerate(silences)]
    shown = {name: f"{sum(found)} of {len(found)}" for name, found in sorted(hits.items())}
    return {**shown, "silence prompts with an empty block": f"{sum(quiet)} of {len(quiet)}"}


def main() -> None:
    rows = [json.loads(line) for line in DATA.read_text().splitlines()]
    with tempfile.TemporaryDirectory() as root:
        home = Path(root).resolve() / "home"
        lessons = chosen(rows)
        desks = {project: Desk(home, home.parent / project) for project in lessons}
        doors = teach(rows, lessons, desks)
        with Lore.open(home, cwd=home.parent) as lore:
            lore.reindex()
        results = {"without a warm process": asked(rows, lessons, desks, doors, "cold")}
        with warm(str(home)):
            results["with a warm process"] = asked(rows, lessons, desks, doors, "warm")
    json.dump(results, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
