"""The files of agents, as five clients keep them: which is meant by a name, and one more line in it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from conftest import PERSON, quick_env
from reflecting import RULE, World, answer
from repositories import NEUTRAL, git
from swarmlore.errors import Conflict, NotFound, SwarmloreError
from swarmlore.notes.reflect.targets import Places, declared_name, with_line

CODEX = 'name = "reviewer"\ndescription = "reviews"\ndeveloper_instructions = """\nYou review.\n"""\n\n[mcp_servers.x]\ncommand = "y"\n'
PAGE = "---\nname: reviewer\ndescription: Use when: a diff is there\n---\n\nYou review.\n"
SAID = "User: never approve a diff without running the tests."


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    for name, value in NEUTRAL.items():
        monkeypatch.setenv(name, value)
    return World(tmp_path, quick_env())


@pytest.mark.parametrize("level", ["project", "user"])
@pytest.mark.parametrize(
    ("project", "user", "text"),
    [
        (".claude/agents/reviewer.md", ".claude/agents/reviewer.md", PAGE),
        (".claude/agents/team/first.md", ".claude/agents/team/first.md", PAGE),
        (".codex/agents/first.toml", ".codex/agents/reviewer.toml", CODEX),
        (".gemini/agents/reviewer.md", ".gemini/agents/reviewer.md", PAGE),
        (".github/agents/reviewer.agent.md", ".copilot/agents/reviewer.agent.md", "You review.\n"),
        (".opencode/agents/reviewer.md", ".config/opencode/agent/reviewer.md", "---\nmode: all\n---\nYou review.\n"),
    ],
)
def test_the_file_of_an_agent_is_found_for_each_client(
    world: World, level: str, project: str, user: str, text: str
) -> None:
    path = world.project / project if level == "project" else world.user / user
    path.parent.mkdir(parents=True)
    path.write_text(text)
    git(world.project, "add", ".")
    git(world.project, "commit", "-q", "--allow-empty", "-m", "agents")
    lore = world.open(PERSON)
    [made] = lore.reflect(SAID, agent="reviewer").proposals
    assert made.target == (project if level == "project" else f"~/{user}")
    answer(lore, "Y")
    assert "- Never approve a diff without running the tests." in path.read_text()
    assert git(world.project, "status", "--short") == ""


def test_the_agent_of_the_client_that_had_the_session_is_meant(world: World) -> None:
    world.write(".claude/agents/reviewer.md", PAGE)
    world.write(".codex/agents/reviewer.toml", CODEX)
    places = Places.of(str(world.project), world.env)
    assert places.agent_file("reviewer") == ("project", ".claude/agents/reviewer.md")
    assert places.agent_file("reviewer", "codex") == ("project", ".codex/agents/reviewer.toml")
    assert places.agents() == ["reviewer"]


def test_a_client_that_lives_elsewhere_is_looked_for_there(world: World) -> None:
    elsewhere = world.folder / "codex"
    (elsewhere / "agents").mkdir(parents=True)
    (elsewhere / "agents" / "a.toml").write_text(CODEX)
    lore = world.open(PERSON, CODEX_HOME=str(elsewhere))
    [made] = lore.reflect(SAID, agent="reviewer").proposals
    assert made.target == str(elsewhere / "agents" / "a.toml")
    with pytest.raises(NotFound, match="reviewer"):
        world.open(PERSON).reflect(SAID, agent="reviewer")


@pytest.mark.parametrize(
    ("client", "name"),
    [
        ("claude", "CLAUDE.md"),
        ("gemini", "GEMINI.md"),
        ("codex", "AGENTS.md"),
        ("copilot", "AGENTS.md"),
        ("", "AGENTS.md"),
    ],
)
def test_a_first_file_of_instructions_is_one_that_the_client_reads(world: World, client: str, name: str) -> None:
    places = Places.of(str(world.project), world.env)
    assert places.instructions(client) == name
    world.write("AGENTS.md", "# Guide\n")
    assert places.instructions(client) == "AGENTS.md"


@pytest.mark.parametrize(
    ("text", "path", "name"),
    [
        (PAGE, "a.md", "reviewer"),
        ("\ufeff---\nname: 'x y' # z\n---\n", "a.md", "x y"),
        ("---\ntools: a\n---\nname: no\n", "a.md", ""),
        ("name: no\n", "a.md", ""),
        ("---\nname: endless\n", "a.md", ""),
        (CODEX, "a.toml", "reviewer"),
        ("name = 3\n", "a.toml", ""),
    ],
)
def test_the_name_that_a_file_declares(text: str, path: str, name: str) -> None:
    assert declared_name(text, path) == name


@pytest.mark.parametrize("quotes", ['"""', "'''"])
@pytest.mark.parametrize("line", ["- Use `C:\\temp`", '- Say "no"', '- Never """ three', "- Größe"])
def test_a_line_in_toml_is_read_as_it_was_said(quotes: str, line: str) -> None:
    text = CODEX.replace('"""', quotes)
    more = with_line(text, "a.toml", "## Learned rules", line)
    told = tomllib.loads(more)
    assert told["developer_instructions"] == f"You review.\n\n## Learned rules\n\n{line}\n"
    assert {**told, "developer_instructions": ""} == {**tomllib.loads(text), "developer_instructions": ""}
    assert with_line(more, "a.toml", "## Learned rules", line) == more
    twice = with_line(more, "a.toml", "## Learned rules", "- another")
    assert tomllib.loads(twice)["developer_instructions"].endswith(f"{line}\n- another\n")


@pytest.mark.parametrize(
    "text",
    [
        'developer_instructions = "one line"\n',
        'developer_instructions = """\nends behind words"""\n',
        "name = 'x'\n",
        "no toml at all\n",
        'developer_instructions = """\nopen\n',
    ],
)
def test_instructions_that_take_no_line_are_left_alone(text: str) -> None:
    with pytest.raises(SwarmloreError):
        with_line(text, "a.toml", "## Learned rules", "- x")


def test_a_text_between_single_quotes_cannot_hold_them() -> None:
    with pytest.raises(Conflict):
        with_line(CODEX.replace('"""', "'''"), "a.toml", "## Learned rules", "- a '''")


def test_a_head_that_is_no_yaml_stays_as_it_is() -> None:
    more = with_line(PAGE, "a.md", "## Learned rules", f"- {RULE['text']}")
    assert more == f"{PAGE}\n## Learned rules\n\n- {RULE['text']}\n"
