"""The documentation is tested: what exists is described, what is described exists, what is shown runs."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from swarmlore import errors
from swarmlore.cli.arguments import parser_of
from swarmlore.cli.command_table import COMMANDS
from swarmlore.config import Settings, Value
from swarmlore.domain.json_codec import code_of
from swarmlore.domain.policy import deduplication, gate
from swarmlore.domain.records import Draft, Query
from swarmlore.domain.security import safety
from swarmlore.lore import Lore

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PLACEHOLDER = "3f9a2c"  # a handle in the docs
INTERNAL = {
    "embedding",
    "writing",
    "recaller",
    "injector",
    "learning",
    "indexing",
    "exchange",
    "mail",
    "spending",
    "capped_writer",
}  # parts of Lore that other parts of the product use
pages = pytest.mark.parametrize(
    "page", ["README.md", "docs/quickstart.md", "docs/configuration.md", "docs/python.md", "docs/notes.md"]
)


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def sections(text: str, mark: str = "## ") -> dict[str, str]:
    """Headings of one level with what stands under them."""
    parts = re.split(rf"^{mark}", text, flags=re.MULTILINE)[1:]
    return {part.partition("\n")[0].strip(): part.partition("\n")[2] for part in parts}


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


# Commands


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_every_argument_is_described(name: str) -> None:
    described = sections(read("docs/cli.md"))
    section, everywhere = described[name], described["Everywhere"]
    for action in parser_of(name)._actions:
        names = action.option_strings or [str(action.metavar)]
        for word in names:
            place = everywhere if action.dest in ("help", "json", "home", "project") else section
            assert re.search(rf"`{re.escape(word)}[ `]", place), f"{word} of {name}"


@pytest.mark.parametrize("name", COMMANDS)
def test_no_option_is_described_that_does_not_exist(name: str) -> None:
    section = sections(read("docs/cli.md"))[name]
    known = {flag for action in parser_of(name)._actions for flag in action.option_strings}
    table = re.findall(r"^\| `(--[a-z-]+)", section, flags=re.MULTILINE)
    assert set(table) <= known


# Settings


@pytest.mark.parametrize("value", Settings().values(), ids=lambda value: str(value.name))
def test_every_setting_is_described_with_its_default(value: Value) -> None:
    default = json.dumps(list(value.value) if isinstance(value.value, tuple) else value.value)
    assert f"| `{value.name}` | `{default}` |" in read("docs/configuration.md")


def test_no_setting_is_described_that_does_not_exist() -> None:
    described = set(re.findall(r"^\| `([a-z]+\.[a-z_]+)` \|", read("docs/configuration.md"), flags=re.MULTILINE))
    assert described == {value.name for value in Settings().values()}


# Errors


def error_classes() -> Iterator[type[errors.SwarmloreError]]:
    for value in vars(errors).values():
        if isinstance(value, type) and issubclass(value, errors.SwarmloreError):
            yield value


def an_error(kind: type[Any]) -> errors.SwarmloreError:
    made: errors.SwarmloreError = kind("x", 1) if kind is errors.Rejected else kind("x")
    return made


@pytest.mark.parametrize("kind", list(error_classes()))
def test_every_error_is_described_with_its_codes(kind: type[errors.SwarmloreError]) -> None:
    row = f"| `{kind.__name__}` | {kind.exit_code} | {kind.http_status} | `{code_of(an_error(kind))}` |"
    assert row in read("docs/errors.md")


def test_every_exit_code_is_described() -> None:
    described = {int(code) for code in re.findall(r"^\| (\d+) \|", read("docs/errors.md"), flags=re.MULTILINE)}
    assert described == {0, 130, 141} | {kind.exit_code for kind in error_classes()}


def rejections_of_structure() -> Iterator[str]:
    """What layer 1 says, one draft for each of its rules."""
    long, text = "x" * (gate.MAX_CHARS + 1), "Run make test before each commit"
    drafts = [
        (Draft("short"), True),
        (Draft("long " * 100), True),
        (Draft(""), False),
        (Draft(long), False),
        (Draft(text, category="nonsense"), True),
        (Draft(text, scope="nonsense"), True),
        (Draft(text, confidence=2.0), True),
    ]
    for draft, lesson in drafts:
        with pytest.raises(errors.Rejected) as refused:
            gate.check_structure(draft, lesson=lesson)
        yield refused.value.reason


def test_every_reason_of_the_gate_is_described() -> None:
    text = read("docs/errors.md")
    spoken = [
        *(reason.replace("nonsense", "…") if "category" in reason else reason for reason in rejections_of_structure()),
        *(
            safety.DANGEROUS,
            safety.DEGRADING,
            safety.INJECTION,
            safety.OVERRIDE,
            deduplication.CONTRADICTION,
            gate.VAGUE,
        ),
    ]
    assert [reason for reason in spoken if f"`{reason}`" not in text] == []


def test_layer_1_has_no_reason_that_this_file_does_not_know() -> None:
    layer_1 = [function for name, function in vars(gate).items() if name.startswith(("check_", "_check_"))]
    raised = sum(inspect.getsource(function).count("raise Rejected(") for function in layer_1)
    assert raised == len(list(rejections_of_structure()))


# Python


def public_methods() -> list[str]:
    return [name for name in dir(Lore) if not name.startswith("_") and name not in INTERNAL]


@pytest.mark.parametrize("name", public_methods())
def test_every_public_method_has_a_heading(name: str) -> None:
    headings = re.findall(r"^### (.*)$", read("docs/python.md"), flags=re.MULTILINE)
    assert any(f"`Lore.{name}`" in heading for heading in headings)


def test_no_method_is_described_that_does_not_exist() -> None:
    assert set(re.findall(r"`Lore\.(\w+)`", read("docs/python.md"))) <= set(public_methods())


def test_the_fields_of_a_draft_and_the_filters_of_recall_are_named() -> None:
    described = sections(read("docs/python.md"), "### ")
    for record, place, known in (
        (Draft, described["`Lore.remember`"], ("text",)),
        (Query, described["`Lore.recall`"], ("text",)),
    ):
        names = [name for name in record.__frozen_fields__ if name not in known]
        assert [name for name in names if not re.search(rf"\b{name}\b", place)] == []


@pytest.mark.parametrize("name", ["remember", "remember_many", "recall", "forget", "forget_origin", "undo", "receipts"])
def test_signatures_are_as_they_are_written(name: str) -> None:
    signature = inspect.signature(getattr(Lore, name))
    text = " ".join(sections(read("docs/python.md"), "### ")[f"`Lore.{name}`"].split())
    for parameter in signature.parameters.values():
        if parameter.name == "self":
            continue
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}".replace("'", '"')
        assert f"{parameter.name}{default}" in text


# What is shown, runs


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A shell of a new user: the installed command, an empty home, words only so that it is quick."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SWARMLORE_")}
    path = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", "")))
    return {
        **kept,
        "PATH": path,
        "SWARMLORE_HOME": str(tmp_path / "home"),
        "HOME": str(tmp_path / "user"),
        "SWARMLORE_EMBEDDER_KIND": "none",
        "SWARMLORE_AGENT": "reader",
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "LEARNINGS_HOME": str(tmp_path / "learnings"),
    }


def shell(script: str, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pages
@pytest.mark.skipif(os.name != "posix", reason="the pages are written for a POSIX shell")
def test_the_shell_lines_of_a_page_run_in_a_fresh_home(page: str, tmp_path: Path, env: dict[str, str]) -> None:
    lines = [line for block in blocks(read(page), "sh") for line in block.splitlines() if line.strip()]
    newest = "handle() { swarmlore list --limit 1 --json | sed -n 's/.*\"handle\": \"\\(.*\\)\",/\\1/p'; }\nH=''\n"
    script = newest
    for line in lines:
        if PLACEHOLDER in line and "H=$(handle)" not in script:
            script += "H=$(handle)\n"
        script += line.replace(PLACEHOLDER, '"$H"') + "\n"
    done = shell(script, tmp_path, env)
    assert done.returncode == 0, done.stderr
    assert "error:" not in done.stderr


@pages
def test_the_python_of_a_page_runs(page: str, tmp_path: Path, env: dict[str, str]) -> None:
    for block in blocks(read(page), "python"):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", block],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout


def test_the_toml_of_a_page_is_valid(tmp_path: Path) -> None:
    from swarmlore import config

    for block in blocks(read("docs/configuration.md"), "toml"):
        (tmp_path / "config.toml").write_text(block, encoding="utf-8")
        settings = config.load(str(tmp_path), "", {})
        assert settings.warnings == ()
        assert settings.origins


def test_the_documents_of_the_commands_have_the_keys_that_are_listed(tmp_path: Path, env: dict[str, str]) -> None:
    keys = dict(
        re.findall(r"^\| ([a-z -]+) \| (`.*) \|$", sections(read("docs/cli.md"))["Documents"], flags=re.MULTILINE)
    )
    calls = {
        "remember": "remember 'Run make snap-record for new snapshots'",
        "remember --each-line": "remember 'Run make e2e-seed before the tests' --each-line",
        "recall": "recall snapshots",
        "recall --block": "recall snapshots --block",
        "recall --all": "recall snapshots --all",
        "recall --recent": "recall --recent 3",
        "recall --stats": "recall --stats",
        "list": "list",
        "prime": "prime",
        "research": "research --no-save snapshots",
        "reflect": "reflect <(echo 'User: No, never edit the snapshots by hand, always use make snap-record.')",
        "rate": 'rate $(swarmlore list --json | sed -n \'s/.*"handle": "\\(.*\\)",/\\1/p\' | head -1) --helpful',
        "outcome": "outcome --success",
        "curate": "curate",
        "why": 'why $(swarmlore list --json | sed -n \'s/.*"handle": "\\(.*\\)",/\\1/p\' | head -1)',
        "instincts": "instincts",
        "instincts add": "instincts add 'Use pnpm instead of npm in this project'",
        "instincts promote": "instincts promote",
        "instincts prune": "instincts prune --dry-run",
        "context": "context",
        "context add": "context add 'The staging database is reset every night' --section testing",
        "context check": "context check",
        "context reference": "context reference",
        "learnings search": "learnings search snapshots",
        "learnings add": "learnings add docs/solutions/a.md",
        "learnings reindex": "learnings reindex",
        "learnings stats": "learnings stats",
        "learnings critical-patterns": "learnings critical-patterns",
        "learnings list": "learnings list",
        "learnings entities": "learnings entities docs/solutions/a.md",
        "history": 'history $(swarmlore list --json | sed -n \'s/.*"handle": "\\(.*\\)",/\\1/p\' | head -1)',
        "report": "report",
        "report --check": "report --check",
        "report --html": "report --html report.html",
        "receipts": "receipts",
        "undo": "undo",
        "stale": "stale",
        "stale --follow": "stale --follow",
        "project": "project",
        "init": "init --yes",
        "trust": "trust --yes",
        "sync": "sync",
        "export": "export lessons.jsonl",
        "import": "import lessons.jsonl",
        "migrate": "migrate",
        "swarm": "swarm knowledge",
        "swarm promote": "swarm promote 'Pin the base image by digest, tags move'",
        "swarm curate": "swarm curate",
        "merge-driver": "merge-driver lessons.jsonl lessons.jsonl lessons.jsonl",
        "stats": "stats",
        "prime --task": "prime --task text",
        "inject": "inject --agent worker-1 --category best-practice 'Run make e2e-seed first'",
        "mail register": "mail register",
        "mail agents": "mail agents",
        "mail send": "mail send --to bob --subject hello text",
        "mail inbox": "mail inbox",
        "mail sent": "mail sent",
        "mail delete": 'mail delete $(swarmlore mail sent --json | sed -n \'s/.*"id": "\\(.*\\)",/\\1/p\' | head -1)',
        "mail jobs": "mail jobs",
        "sweep --defer": "sweep --defer",
        "mail dead": "mail dead",
        "worker": "worker --until-empty",
        "install": "install claude --project --yes",
        "uninstall": "uninstall --project --yes",
        "status": "status",
        "doctor": "doctor",
        "config": "config",
        "reindex": "reindex",
        "backup": "backup copy.db",
        "restore-backup": "restore-backup copy.db --yes",
        "migrate-store": "migrate-store copied",
        "forget": "forget --source manual",
        "completion": "completion bash",
        "an error": "get nonsense || true",
    }
    assert set(calls) == set(keys)
    (tmp_path / "docs" / "solutions").mkdir(parents=True)
    note = "---\ntitle: Snapshots\ncategory: testing\nkey_insight: make snap-record\n---\nRun make snap-record for new snapshots.\n"
    (tmp_path / "docs" / "solutions" / "a.md").write_text(note)
    for name, words in calls.items():
        done = shell(f"swarmlore --json {words}", tmp_path, {**env, "SWARMLORE_ROLE": "lead"})
        outermost = re.sub(r"\(.*?\)", "", keys[name]).partition(", or")[0]
        assert set(json.loads(done.stdout)) == set(re.findall(r"`(\w+)`", outermost)), name


def test_links_between_pages_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *DOCS.glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} → {target}"
