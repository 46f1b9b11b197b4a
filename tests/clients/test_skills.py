"""The skills: texts that a model reads whole, and whose every command has to exist."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from test_installing import Machine, a_machine, tree

from skill_files import HOW_MANY, skills_in
from swarmlore.cli.arguments import parse, split_command
from swarmlore.clients import installer_of
from swarmlore.clients.install import locations, manifest
from swarmlore.clients.install.locations import NAMES, PARTS, shared_skills
from swarmlore.clients.install.status import Activity, status_of
from swarmlore.domain.records import KINDS
from swarmlore.notes.entities_sidecar import ENTITY_TYPES, RELATION_TYPES, parse_sidecar
from swarmlore.notes.note_format import CATEGORIES, missing_for_add, parse_note, problems
from swarmlore.server.mcp.tools import BY_NAME

MOST_LINES = 120
WIDTH = 130
MOST_DESCRIBED = 330  # characters of one skill; of all, what Codex shows of everybody's is 8,000
# What a client would put something else in the place of, if it stood in a skill: output, arguments, a file.
EXPANDED = re.compile(r"!`|\$(?:\d|[A-Z]|\{)|(?<![\w`])@[\w./~]")
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
TEXTS = {Path(file.path).parts[-2]: file.text for file in shared_skills("/person")}
every = pytest.mark.parametrize("name", NAMES)


@pytest.fixture
def machine() -> Iterator[Machine]:
    with a_machine() as made:
        yield made


def head_of(name: str) -> dict[str, str]:
    """What a client reads before it offers the skill, by a parser that is not ours."""
    return dict(yaml.safe_load(TEXTS[name].split("---\n")[1]))


def body_of(name: str) -> str:
    return TEXTS[name].split("---\n", 2)[2]


def lines_of(name: str) -> list[str]:
    """Every command line of ours in a skill, in a fence or in a sentence."""
    body = body_of(name)
    fenced = [line for words, text in FENCED.findall(body) if not words for line in text.splitlines()]
    found = [*fenced, *INLINE.findall(FENCED.sub("", body))]
    return list(dict.fromkeys(line for line in found if line.startswith("swarmlore ")))


COMMANDS = [(name, line) for name in NAMES for line in lines_of(name)]


def test_there_is_one_folder_for_each() -> None:
    folder = Path(locations.__file__).parent / "templates"
    assert sorted(path.name for path in (folder / "skills").iterdir()) == sorted(NAMES)
    assert {path.name for path in (folder / "parts").iterdir()} == set(PARTS.values())
    assert {"reflect", "research", "prime", "instincts", "recall", "swarm", "memory-catcher", "compound-docs"} == set(
        NAMES
    )


@every
def test_a_skill_is_called_as_its_folder_and_says_when_to_use_it(name: str) -> None:
    head = head_of(name)
    assert head["name"] == name and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) and len(name) <= 64
    assert set(head) == {"name", "description", "argument-hint"}
    assert " Use it " in head["description"] and len(head["description"]) <= MOST_DESCRIBED
    assert not set(head["description"]) & set("<>&'\"")  # some clients would show them escaped


@every
def test_a_model_reads_it_whole(name: str) -> None:
    assert len(TEXTS[name].splitlines()) <= MOST_LINES
    said = [line for line in body_of(name).splitlines() if line[:1].isalpha() and not line.startswith("swarmlore ")]
    assert max(map(len, said)) <= WIDTH


@every
def test_no_client_puts_something_else_into_it(name: str) -> None:
    assert EXPANDED.findall(body_of(name)) == []
    assert "{{" not in TEXTS[name] and "<$" not in TEXTS[name]


@pytest.mark.parametrize(("name", "line"), COMMANDS)
def test_its_commands_are_there(name: str, line: str) -> None:
    command, words = split_command(shlex.split(line)[1:])
    parse(command, words)


def test_every_skill_names_commands() -> None:
    assert {name for name, _ in COMMANDS} == set(NAMES)


@every
def test_the_tools_that_it_names_are_offered(name: str) -> None:
    said = re.findall(r"\btools? ((?:`\w+`(?:, | and | or )?)+)", body_of(name))
    named = {tool for words in said for tool in re.findall(r"`(\w+)`", words)}
    assert named <= set(BY_NAME)


@every
def test_the_skills_that_it_names_are_there(name: str) -> None:
    named = {word[1:].split()[0] for word in INLINE.findall(FENCED.sub("", body_of(name))) if word.startswith("/")}
    assert named <= set(NAMES)


@every
def test_it_says_what_to_do_without_the_program_and_who_wrote_it(name: str) -> None:
    assert "say so in one sentence and go on\nwithout" in TEXTS[name]
    assert "Written by swarmlore install for the tool whose settings are in .agents and ~/.agents;" in TEXTS[name]
    assert TEXTS[name].endswith("-->\n")


@pytest.mark.parametrize("name", ["reflect", "memory-catcher", "swarm"])
def test_what_belongs_in_memory_and_what_does_not_is_said_in_full(name: str) -> None:
    flat = " ".join(TEXTS[name].split())
    for words in (
        *("what the user put right", "a problem that was solved", "a mistake that was made", "how to avoid it"),
        *("patterns and conventions of the code base", "key paths", "quirks of the shell", "settings that matter"),
        *("the state of this session", "work in progress", "AGENTS.md, CLAUDE.md", "from a single file", "secrets"),
    ):
        assert words in flat


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("reflect", ("You never approve anything yourself", "Ask once, and wait", "whole diff")),
        ("instincts", ("Show it in full", "and ask")),
        ("research", ("Ask the user before `--web`",)),
        ("compound-docs", ("Show both files in full and ask", "only after a yes")),
        ("swarm", ("Never give yourself a role",)),
    ],
)
def test_a_person_decides(name: str, words: tuple[str, ...]) -> None:
    flat = " ".join(TEXTS[name].split())
    assert [part for part in words if part not in flat] == []


@pytest.mark.parametrize("name", ["recall", "prime", "research", "instincts", "memory-catcher", "swarm"])
def test_what_comes_back_is_data(name: str) -> None:
    assert re.search(r"\b(?:is|are) data\b", " ".join(TEXTS[name].split()))


def test_the_answers_of_an_approval_are_all_named() -> None:
    for answer in ("Y", "N", "modify", "1,3", "k2", "all-knowledge", "all-behavioral"):
        assert f"`{answer}`" in TEXTS["reflect"]


def test_the_kinds_are_ours() -> None:
    assert set(re.findall(r"\| `(\w+)` \| 0", TEXTS["memory-catcher"])) <= set(KINDS)


def test_the_items_that_a_model_prepares_are_json() -> None:
    (items,) = (json.loads(text) for words, text in FENCED.findall(body_of("reflect")) if words == "json")
    assert [item["route"] for item in items] == ["knowledge", "behavioral"]


def test_the_note_that_it_draws_is_a_whole_one() -> None:
    drawn = dict(FENCED.findall(body_of("compound-docs")))
    note = parse_note(drawn["markdown"].replace("YYYY-MM-DD", "2026-03-16"))
    assert problems(note, strict=True) == () and missing_for_add(note) == ()
    assert re.findall(r"^## (\w+)$", note.body, re.MULTILINE) == ["Problem", "Solution", "Context"]
    assert set(CATEGORIES) <= set(INLINE.findall(body_of("compound-docs")))


def test_the_sidecar_that_it_draws_names_all_types() -> None:
    drawn = dict(FENCED.findall(body_of("compound-docs")))["yaml"]
    sidecar = parse_sidecar(drawn)
    assert [entity.name for entity in sidecar.entities] == ["block_on"]
    assert [(relation.kind, relation.strength) for relation in sidecar.relations] == [("caused_by", 9)]
    assert " | ".join(ENTITY_TYPES) in drawn and " | ".join(RELATION_TYPES) in drawn


# Where they are


def test_each_client_has_each_skill_once(machine: Machine) -> None:
    machine.install()
    made = [name for name, (_, content) in tree(machine.user).items() if content and name.endswith("SKILL.md")]
    assert sorted(made) == sorted(path for folder in (".agents", ".claude", ".copilot") for path in skills_in(folder))


def test_a_project_has_them_where_its_clients_look(machine: Machine) -> None:
    where = machine.where(project=True)
    machine.install(where=where)
    made = [name for name, (_, content) in tree(machine.project).items() if content and name.endswith("SKILL.md")]
    assert sorted(made) == sorted(path for folder in (".agents", ".claude", ".github") for path in skills_in(folder))
    machine.uninstall(where=where)
    assert tree(machine.project) == {}


def test_who_had_one_skill_is_told_that_some_are_missing_and_gets_them(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locations, "NAMES", ("recall",))
    machine.install()
    monkeypatch.undo()
    assert len(machine.plan().changes) == 3 * (HOW_MANY - 1)
    machine.install()
    machine.uninstall()
    assert tree(machine.user) == {}


def test_a_changed_skill_stays_and_the_others_go(machine: Machine) -> None:
    machine.install()
    mine = machine.user / ".agents/skills/reflect/SKILL.md"
    mine.write_text(mine.read_text() + "and my own rule\n")
    notes = machine.uninstall().notes
    assert [note for note in notes if str(mine) in note]
    assert {name for name, (_, content) in tree(machine.user).items() if content} == {".agents/skills/reflect/SKILL.md"}


def test_skills_of_an_older_release_are_named_in_one_line_and_renewed(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locations, "ABOUT", "older")
    monkeypatch.setattr(locations, "_template", lambda *names: f"{names[-2]} as it was\n")
    machine.install("codex")
    monkeypatch.undo()
    kept = manifest.read(str(machine.home))
    (level,) = status_of(installer_of("codex"), [machine.where()], kept, Activity()).levels
    (said,) = (problem for problem in level.problems if "another release" in problem)
    assert said.endswith(f"and {HOW_MANY - 1} more are of another release: swarmlore install codex")
    machine.install("codex")
    assert (machine.user / ".agents/skills/swarm/SKILL.md").read_text() == TEXTS["swarm"]


def test_codex_is_said_to_show_the_skills_of_both(machine: Machine) -> None:
    project, codex = machine.where(project=True), installer_of("codex")
    assert not [line for line in codex.to_do(project) if "skills" in line]
    machine.install("codex")
    assert [line for line in codex.to_do(project) if "/skills, keep one of both" in line]
