"""What users and programs see, compared whole with golden files: a change that only moves code must not touch them."""

from __future__ import annotations

import inspect
import json
import re
import shlex
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from test_installing import Machine, tree

import swarmlore
from command_line import Run
from conftest import DATA, connect
from goldens import Names, check, check_document, shape
from swarmlore import errors
from swarmlore.cli.arguments import parser_of
from swarmlore.cli.command_table import COMMANDS
from swarmlore.clients import CLIENTS, client, sender
from swarmlore.clients.hook import event as e
from swarmlore.clients.hook.event_from_payload import make_event
from swarmlore.config import Settings
from swarmlore.domain import records
from swarmlore.domain.json_codec import code_of
from swarmlore.frozen import fields
from swarmlore.lore import Lore
from swarmlore.server.http.routes import described
from swarmlore.server.mcp.tools import PROFILES, instructions, listing
from test_docs import an_error, error_classes

ROOT = Path(__file__).parents[1]
BLOCK = "=== swarmlore notes 0123456789abcdef ===\n- [k7x2p9] swarm «Never use tabs.»\n=== end 0123456789abcdef ===\n"
PAGE = """---
title: tokio runtime panic
key_insight: one runtime per test
category: debugging-sessions
tags: [rust, tokio]
---
## Problem
A second runtime inside an async test panics.
## Solution
Use the test attribute of the runtime.
"""
NEXT_LINE = "\n"
TEXTS = (".md", ".jsonl", ".yaml", ".yml", ".json", ".toml", ".txt")

# One story over all commands; what a person types, in order. `{1}` is the handle of the first memory.
STORY = """
remember "Snapshot tests are recorded with make snap-record, never by hand" --kind correction --tag testing
remember "The staging database listens on port 5432" --category tooling
remember "Use pnpm, not npm, in the frontend workspace" --tier agent
recall "how are snapshot tests recorded?" --explain
recall "zebra crossing"
get {1}
list
rate {1} --helpful
outcome --success --applied {1} --summary "recorded the snapshots"
inject --agent w1 --category best-practice "Flash the boards with cargo flash --release only"
confirm {1}
phase
phase start "importer"
phase complete
sweep
promote --list
quarantine {2} "no longer true"
restore {2}
curate
history {1}
why {1}
rate {1} --harmful
undo
stale
receipts
report
stats
visualize --output graph.html
forget {3}
remember "Deploys go out with make ship on Tuesdays"
undo
prime
prime snapshots
research "how are snapshot tests recorded?"
reflect talk.txt
reflect --review
instincts add "Run make lint before each commit"
instincts
learnings add page.md
learnings list
search-learnings panic
context
context add "Use tabs in Makefiles" --section environment --yes
project
init --yes
sync
trust --yes
export lessons.jsonl
export lane.jsonl --format lane
export mem0.jsonl --format mem0
export graph.jsonl --format mcp-memory
export shared.jsonl --format shared
export notes --format notes
export rules.yaml --format instincts
import lessons.jsonl
import broken.jsonl
migrate
swarm knowledge
merge-driver lessons.jsonl lessons.jsonl lessons.jsonl .swarm/knowledge.jsonl
mail register --task importer
mail send --to bob --subject "New schema" "Run make schema first"
mail inbox
mail dead
token create --agent tester
token list
worker --until-empty
status
config recall.limit
config recall.limit 8
doctor
reindex
backup
restore-backup nothing.db --yes
migrate-store copy
install claude --yes
uninstall --yes
"""
# Never end, or speak another protocol; each has tests of its own.
WITHOUT_DOCUMENT = {"hook", "serve", "mcp", "completion"}
WRONG = """
recal x
remember
remember "short"
remember "Run rm -rf / before each build to begin anew"
remember "Use tabs in Makefiles, never spaces" --kind nonsense
remember "Use tabs in Makefiles, never spaces" --kindd correction
recall snapshot --limit 0
recall snapshot --mode nonsense
get nothing
get a b
forget
forget nothing
undo nothing
history nothing
rate nothing --helpful
export lessons.jsonl --format nonsense
import missing.jsonl
import lessons.bin
config nonsense.key
config recall.limit many
config recall.limit 1000000
restore-backup missing.db
migrate-store .
install nonsense
mail send --to bob
token revoke nothing
phase complete
promote x
reflect --answer 99
instincts review nothing --reinforce
learnings add missing.md
learnings entities missing.md
context add ""
trust nonsense
worker --kind nonsense
outcome
prime --nonsense
completion nonsense
merge-driver a b
"""


@pytest.fixture
def person(world: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with files in it, of a person who uses Claude Code."""
    monkeypatch.setenv("SWARMLORE_AGENT", "tester")
    monkeypatch.setenv("SWARMLORE_ROLE", "lead")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    (world / "user" / ".claude").mkdir()
    project = world / "project"
    (project / ".git").mkdir()
    (project / ".git" / "config").write_text('[remote "origin"]\n\turl = https://git.example/alpha.git\n')
    (project / "page.md").write_text(PAGE)
    (project / "talk.txt").write_text("User: No, always run the tests before you commit.\n")
    (project / "broken.jsonl").write_text('{"id": 1}\nnonsense\n')
    (project / "lessons.bin").write_bytes(bytes(range(256)))
    return world


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder in which the name of a socket is never too long for one."""
    with tempfile.TemporaryDirectory(prefix="g", dir="/tmp") as folder:
        yield Path(folder)


def told(run: Run, line: str, names: Names, *more: str) -> tuple[int, str, str]:
    reply = run(*shlex.split(line), *more)
    return reply.code, names.plain(reply.out), names.plain(reply.err)


def test_the_help_of_every_command(run: Run) -> None:
    parts = [run("--help").out, *(parser_of(name).format_help() for name in COMMANDS)]
    if sys.version_info < (3, 13):  # where argparse writes options another way
        check("help.txt", f"{'-' * 100}\n".join(parts))


def test_the_documents_of_every_command(run: Run, person: Path) -> None:
    names, found, handles = Names(world=person, python=sys.executable), {}, []
    for line in STORY.strip().splitlines():
        words = [word.format("", *handles) for word in shlex.split(line)]
        reply = run(*words, "--json")
        document = json.loads(reply.out) if reply.out.strip() else {}
        handles += [document["memory"]["handle"]] if words[0] == "remember" else []
        said = names.plain(document["error"]) if reply.code else ""
        found[line] = {"exit": reply.code, "document": shape(document), "error": said}
    check_document("documents.json", found)
    written = [path for path in sorted((person / "project").rglob("*")) if path.suffix in TEXTS and path.is_file()]
    files = {names.plain(str(path.relative_to(person))): names.plain(path.read_text()) for path in written}
    check_document("files.json", files)
    assert {shlex.split(line)[0] for line in STORY.strip().splitlines()} | WITHOUT_DOCUMENT == set(COMMANDS)


def test_what_wrong_commands_are_told(run: Run, person: Path) -> None:
    names = Names(world=person, python=sys.executable)
    lines = []
    for line in WRONG.strip().splitlines():
        code, out, err = told(run, line, names)
        lines.append(f"$ swarmlore {line}\n{out}{err}[{code}]\n")
    check("wrong_commands.txt", NEXT_LINE.join(lines))


def test_the_kinds_of_errors() -> None:
    kinds = {
        kind.__name__: {
            "exit_code": kind.exit_code,
            "http_status": kind.http_status,
            "code": code_of(an_error(kind)),
            "kind_of": kind.__mro__[1].__name__,
        }
        for kind in error_classes()
    }
    assert set(kinds) == {name for name, kind in vars(errors).items() if isinstance(kind, type)}
    check_document("errors.json", kinds)


def test_the_settings() -> None:
    check_document(
        "settings.json",
        {value.name: {"default": value.value, "help": value.help} for value in Settings().values()},
    )


def test_the_commands_and_entry_points_of_the_package() -> None:
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = {"commands": sorted(package["scripts"]), "extras": sorted(package["optional-dependencies"])}
    check_document("package.json", found)


def test_the_python_api() -> None:
    methods = {name: method for name, method in inspect.getmembers(Lore) if not name.startswith("_")}
    found = {
        "swarmlore": swarmlore.__all__,
        "Lore": {name: takes(one) if callable(one) else "" for name, one in methods.items()},
        "records": {
            name: [field.name for field in fields(kind)]
            for name, kind in vars(records).items()
            if isinstance(kind, type) and kind.__module__ == records.__name__
        },
        "documented": sorted(documented_imports()),
    }
    check_document("python.json", found)


def takes(method: Callable[..., Any]) -> str:
    """The parameters of a method, without the names of their types."""
    signature = inspect.signature(method)
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()]
    return str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))


def documented_imports() -> Iterator[str]:
    """Every import that the documentation shows; each must work."""
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for line in re.findall(r"^from swarmlore[\w.]* import [\w, ]+$", page.read_text(), flags=re.MULTILINE):
            exec(line, {})
            yield line


def test_the_description_of_the_server() -> None:
    document = json.loads(json.dumps(described()))
    document["info"]["version"] = "<version>"
    check_document("openapi.json", document)


@pytest.mark.parametrize("tools", ["", *PROFILES])
def test_the_tools_of_a_set(tools: str) -> None:
    chosen = [tools] if tools else []
    check_document(f"mcp/{tools or 'usual'}.json", {"instructions": instructions(chosen), "tools": listing(chosen)})


@pytest.mark.parametrize("name", sorted(path.name for path in (DATA / "clients" / "payloads").iterdir()))
def test_the_events_that_payloads_become(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", "/home/dev")
    monkeypatch.chdir("/")
    found: dict[str, Any] = {}
    for path in sorted((DATA / "clients" / "payloads" / name).glob("*.json")):
        payload = json.loads(path.read_text())
        if not isinstance(payload, dict):
            continue
        door = name.split("-")[0] if name.split("-")[0] in CLIENTS else "claude"
        module = client(sender(door, payload))
        assert module is not None
        event_name = str(payload.get("hook_event_name") or path.name.split(".")[0].split("_")[-1])
        event = make_event(module, door, event_name, {"session_id": "s1", "cwd": "/", **payload}, 1000.0)
        found[path.name] = {**e.to_plain(event), "id": "<id>", "is_answered": e.is_answered(event)}
    check_document(f"events/{name}.json", found)


@pytest.mark.parametrize("name", list(CLIENTS))
def test_the_answers_of_hooks(name: str) -> None:
    module = client(name)
    assert module is not None
    moments = {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "BeforeAgent", "Stop", "chat.message"}
    answers = {moment: module.encode(moment, BLOCK, "") for moment in sorted(moments)}
    answers["with a notice"] = module.encode("SessionStart", BLOCK, "one line")
    check_document(f"answers/{name}.json", answers)


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "copilot", "opencode"])
@pytest.mark.parametrize("place", ["person", "project"])
def test_the_files_of_clients(name: str, place: str, short_path: Path) -> None:
    machine = Machine(short_path)
    machine.install(name, where=machine.where(project=place == "project"))
    names = Names(user=machine.user, home=machine.home, project=machine.project)
    written = {**tree(machine.user), **tree(machine.project)}
    texts = {path: content.decode() for path, (_, content) in written.items() if content and "skills/" not in path}
    found = {path: names.plain(text) for path, text in texts.items()}
    check_document(f"install/{name}_{place}.json", found)


def test_the_schema_of_sqlite(lore: Lore, tmp_path: Path) -> None:
    lore.close()
    database = apsw.Connection(str(tmp_path / "home" / "lore.db"), flags=apsw.SQLITE_OPEN_READONLY)
    rows = database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name").fetchall()
    database.close()
    check("schema_sqlite.sql", NEXT_LINE.join(f"{sql};" for (sql,) in rows) + NEXT_LINE)


def test_the_schema_of_postgres() -> None:
    from databases import server

    connect().close()
    tables = server().admin(
        "SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns "
        "WHERE table_schema = 'swarmlore' ORDER BY 1, ordinal_position"
    )
    indexes = server().admin(  # those of vectors are made when the first vector of a size comes, by other tests too
        "SELECT indexdef FROM pg_indexes WHERE schemaname = 'swarmlore' AND indexname !~ '^embedding_near_' ORDER BY 1"
    )
    policies = server().admin(
        "SELECT tablename, policyname, cmd, qual, with_check FROM pg_policies WHERE schemaname = 'swarmlore' ORDER BY 1, 2"
    )
    rows = [" | ".join(map(str, row)) for row in (*tables, *indexes, *policies)]
    check("schema_postgres.txt", NEXT_LINE.join(rows) + NEXT_LINE)
