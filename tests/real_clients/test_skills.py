"""Skills in the real clients: each is offered, called by its name, read by the model, and followed to its effect.

The scripted model types no command of its own: it takes the lines that the skill gives it, and fills in what was left open.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from real_clients.conftest import INSTALL, NewWorld
from real_clients.model import Request, Step
from real_clients.runners import CLIENTS, Client, Session
from real_clients.world import PROGRAM, World, soon
from swarmlore.clients.install.locations import NAMES, shared_skills

WRAPPER = '#!/bin/sh\nexport SWARMLORE_HOME={home}\nexec {program} "$@"\n'  # as a shell finds the program and its home
LESSON = "Snapshots of the checkout page are recorded with make snap-record, never by hand"
KINDS = {kind.name: kind for kind in CLIENTS}
TEXTS = {file.path.split("/")[-2]: file.text for file in shared_skills("/person")}
DESCRIBED = {name: text.split("description: ")[1].split("\n")[0] for name, text in TEXTS.items()}
Effect = Callable[[World, Session], None]


@dataclass(frozen=True)
class Use:
    """A person's words to a skill, what the model takes from its text, and what has to come of it."""

    client: str
    skill: str
    words: str
    steps: Callable[[Client], list[Step]]
    effect: Effect


@pytest.fixture(scope="module")
def skilled(new_world: NewWorld) -> World:
    world = new_world()
    wrapper = world.project / "bin" / "swarmlore"
    wrapper.write_text(WRAPPER.format(home=world.lore, program=PROGRAM))
    wrapper.chmod(0o755)
    (world.project / "src/auth").mkdir(parents=True)
    (world.project / "src/auth/service.ts").write_text("export const EARLY_S = 300\n")
    world.swarmlore(*INSTALL)
    world.swarmlore("remember", "--kind", "correction", LESSON)
    return world


def typed(client: Client, start: str, *changes: tuple[str, str]) -> Step:
    """The model runs the line of the skill that begins so, with some words in place of others."""
    plain = client.shell("COMMAND")

    def args(request: Request) -> dict[str, str]:
        found = re.search(re.escape(start) + r"[^`\n]*", request.text)
        assert found, f"no line {start!r} was told"
        line = found[0]
        for old, new in changes:
            assert old in line, f"{old!r} is not in {line!r}"
            line = line.replace(old, new)
        return {name: line if value == "COMMAND" else value for name, value in dict(plain.args).items()}  # type: ignore[arg-type]

    return replace(plain, args=args)


def told(session: Session) -> str:
    """What the tools answered, as the last request has it."""
    return session.requests[-1].of("tool")


def memories(world: World, agent: str = "") -> list[dict[str, object]]:
    return list(json.loads(world.swarmlore("list", "--limit", "500", "--json", agent=agent).stdout)["memories"])


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("---\n", 2)[2].splitlines() if line.strip()]


# What comes of them


def the_lesson_is_found(world: World, session: Session) -> None:
    assert "make snap-record" in told(session)


def the_rule_is_in_the_file(world: World, session: Session) -> None:
    written = (world.project / ".agents" / "instincts.yaml").read_text()
    assert "Use pnpm instead of npm in this shop" in written
    assert "confidence: 0.7" in written


def the_lesson_is_stored(world: World, session: Session) -> None:
    (found,) = (memory for memory in memories(world) if "OAuth tokens need a refresh" in str(memory["text"]))
    assert (found["kind"], found["confidence"], found["entities"]) == ("correction", 0.85, ["feature:auth"])
    assert found["trust"] == 2


def the_report_waits_for_the_worker_or_is_done(world: World, session: Session) -> None:
    world.swarmlore("worker", "--until-empty")
    assert [memory for memory in memories(world) if "barcode scanner" in str(memory["text"])]


def the_mail_is_there(world: World, session: Session) -> None:
    inbox = json.loads(world.swarmlore("mail", "inbox", "--json", agent="bob").stdout)
    assert "New schema" in json.dumps(inbox)


def the_note_is_found_by_its_symptom(world: World, session: Session) -> None:
    note = world.project / "docs/solutions/debugging-sessions/nested-runtime-panic.md"
    assert note.is_file() and note.with_suffix(".entities.yaml").is_file()
    assert "Nested runtime panic from block_on" in told(session)


def the_report_is_written(world: World, session: Session) -> None:
    (report,) = (world.project / "research").iterdir()
    assert "make snap-record" in report.read_text()
    assert str(report.relative_to(world.project)) in told(session)


def it_waits_for_a_person(world: World, session: Session) -> None:
    """The proposals are kept; the person's answer, which the agent passes on, prepares and changes no file."""
    assert "+- Run make check before every commit in this shop." in told(session)
    client, before = KINDS["claude"](world), world.prints()
    client.run("1", typed(client, 'swarmlore reflect --answer "1,3"', ("1,3", "1")), Step("Noted."), resume=session.id)
    kept = json.loads(world.swarmlore("reflect", "--review", "--json").stdout)["proposals"]
    assert sorted(proposal["state"] for proposal in kept) == ["pending", "prepared"]
    changed = {path for path, content in world.prints().items() if before.get(path) != content}
    assert not {path for path in changed if path.startswith("project/") and not path.startswith("project/bin")}


def a_note(client: Client) -> list[Step]:
    """The model writes both files as the skill draws them, after the user said yes."""
    folder = "docs/solutions/debugging-sessions"
    base = client.shell("COMMAND")

    def args(request: Request) -> dict[str, str]:
        note, sidecar = (
            re.search(rf"```{kind}\n(.*?)\n```", request.text, re.DOTALL)[1]  # type: ignore[index]
            for kind in ("markdown", "yaml")
        )
        command = (
            f"mkdir -p {folder} && cat > {folder}/nested-runtime-panic.md <<'END'\n"
            f"{note.replace('YYYY-MM-DD', '2026-03-16')}\nEND\n"
            f"cat > {folder}/nested-runtime-panic.entities.yaml <<'END'\n{sidecar}\nEND\n"
        )
        return {name: command if value == "COMMAND" else value for name, value in dict(base.args).items()}  # type: ignore[arg-type]

    return [replace(base, args=args), typed(client, 'swarmlore recall "Cannot start a runtime')]


SNAP = ("how are snapshot tests updated", "recording snapshots of the checkout page")
TOKENS = ("how are tokens refreshed, and why every five minutes", "how are snapshots of the checkout page recorded")
RULE = ('"RULE"', '"Use pnpm instead of npm in this shop"')
ITEMS = ("/tmp/items.json", "items.json")
TWO_ITEMS = """cat > items.json <<'END'
[{"route": "behavioral", "text": "Run make check before every commit in this shop."},
 {"route": "instinct", "text": "Use make snap-record instead of editing snapshots."}]
END"""
REPORT = ('"summary": "…"', '"summary": "Wired the barcode scanner to the stock form of the shop"')
FINDING = ('"evaluation": "…"', '"evaluation": "The barcode scanner needs a carriage return after each code"')

USES = [
    Use(
        "claude",
        "reflect",
        "",
        lambda it: [it.shell(TWO_ITEMS), typed(it, "swarmlore reflect --from", ITEMS)],
        it_waits_for_a_person,
    ),
    Use(
        "claude",
        "memory-catcher",
        "the token task is done",
        lambda it: [typed(it, 'swarmlore recall "OAuth'), typed(it, 'swarmlore remember "OAuth')],
        the_lesson_is_stored,
    ),
    Use(
        "codex",
        "research",
        "how are snapshots made",
        lambda it: [typed(it, 'swarmlore research "how are tokens', TOKENS)],
        the_report_is_written,
    ),
    Use(
        "codex",
        "prime",
        "snapshots",
        lambda it: [Step(tool=r"swarmlore__prime$", args={"topic": "snapshots of the checkout page"})],
        the_lesson_is_found,
    ),
    Use(
        "gemini",
        "instincts",
        "add use pnpm",
        lambda it: [typed(it, "swarmlore instincts add", RULE)],
        the_rule_is_in_the_file,
    ),
    Use("gemini", "compound-docs", "yes, write it", a_note, the_note_is_found_by_its_symptom),
    Use(
        "copilot",
        "swarm",
        "tell bob about the schema",
        lambda it: [typed(it, "swarmlore mail register"), typed(it, "swarmlore mail send --to bob")],
        the_mail_is_there,
    ),
    Use(
        "copilot",
        "recall",
        "snapshots",
        lambda it: [typed(it, 'swarmlore recall "how are', SNAP)],
        the_lesson_is_found,
    ),
    Use(
        "opencode",
        "memory-catcher",
        "the scanner task is done",
        lambda it: [typed(it, "swarmlore mail send --to memory-catcher", REPORT, FINDING)],
        the_report_waits_for_the_worker_or_is_done,
    ),
    Use(
        "opencode",
        "prime",
        "snapshots of the checkout page",
        lambda it: [Step(tool=r"swarmlore_prime$", args={"topic": "snapshots of the checkout page"})],
        the_lesson_is_found,
    ),
]


@pytest.mark.parametrize("use", USES, ids=[f"{use.client}-{use.skill}" for use in USES])
def test_a_skill_is_offered_once_and_read_and_does_what_it_says(use: Use, skilled: World) -> None:
    client = KINDS[use.client](skilled)
    session = client.use(use.skill, use.words, *use.steps(client), Step("Done."))
    offered = session.first.text + json.dumps(session.first.body.get("tools"))
    counts = {name: offered.count(words) for name, words in DESCRIBED.items()}
    own = counts.pop(use.skill)
    assert own == 1 + offered.count(TEXTS[use.skill].rstrip())  # Codex gives a skill with its head
    assert counts == dict.fromkeys(counts, 1) and {*counts, use.skill} == set(NAMES)
    read = session.requests[-1].text
    assert [line for line in lines(TEXTS[use.skill]) if line not in read and "Written by" not in line] == []
    use.effect(skilled, session)
    assert learned_from(use.skill, client) == []


def learned_from(skill: str, client: Client) -> list[str]:
    """Memories, the client's own too, that hold a line of a skill: it is full of rules, and some clients send it in the
    person's name."""
    world = client.world
    assert soon(lambda: not world.processes()), world.processes()
    world.swarmlore("worker", "--until-empty")
    kept = [memory for memory in memories(world, client.name) if memory["source"] not in ("manual", "note")]
    said = [" ".join(line.split()) for line in lines(TEXTS[skill]) if len(line) > 40]
    return [text for text in (" ".join(str(memory).split()) for memory in kept) if any(line in text for line in said)]
