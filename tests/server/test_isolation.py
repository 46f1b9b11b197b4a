"""What one agent keeps to itself comes out of no door, to nobody, in no form: no text, id, count, notice or error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from isolating import World, askers_of, filled, plainly

# What can be asked without a name of something. Each is asked before and after somebody had secrets.
SHOWS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "v1": [
        ("recall", {"query": "$word deployment of billing"}),
        ("recall", {"query": "deployment of billing", "mode": "naive", "limit": 20}),
        ("recall", {"query": "$word billing", "mode": "keyword", "limit": 20}),
        ("recall", {"query": "$word payments", "mode": "local"}),
        ("recall", {"query": "$word payments", "mode": "global"}),
        ("recall", {"query": "billing", "tiers": ["agent"]}),
        ("recall", {"query": "billing", "entities": ["feature:payments"], "profile": "lane"}),
        ("list", {}),
        ("list", {"status": "any", "limit": 100}),
        ("list", {"status": "forgotten"}),
        ("list", {"status": "quarantined"}),
        ("list", {"owner": "alice", "tier": "agent"}),
        ("list", {"session": "$session"}),
        ("list", {"path": "/m/a.md"}),
        ("list", {"tiers": ["agent", "hive"], "sources": ["manual", "file_index"]}),
        ("count", {"owner": "alice"}),
        ("count", {"session": "$session"}),
        ("count", {"path": "/m/a.md", "status": "any"}),
        ("list", {"tags": ["deploy"]}),
        ("count", {}),
        ("count", {"status": "any"}),
        ("count", {"status": "forgotten"}),
        ("count", {"tier": "agent"}),
        ("stats", {}),
        ("report", {}),
        ("receipts", {"limit": 100}),
        ("receipts", {"session": "$session"}),
        ("outcomes", {"limit": 100}),
        ("sessions", {"limit": 100}),
        ("rejected", {}),
        ("jobs", {}),
        ("inbox", {}),
        ("sent", {}),
        ("agents", {}),
        ("promotions", {}),
        ("patterns", {}),
        ("stale", {}),
    ],
    "api": [
        ("POST search", {"query": "$word deployment of billing", "limit": 20}),
        ("POST list", {}),
        ("POST list", {"scope": "agent"}),
        ("POST list", {"sourcePath": "/m/a.md"}),
        ("POST list", {"source": "file_index"}),
        ("POST re-embed", {}),
    ],
    "mcp:lane": [
        ("semantic-memory_stats", {}),
        ("semantic-memory_list", {"limit": 100}),
        ("hivemind_stats", {}),
    ],
    "mcp:knowledge": [("knowledge_query", {"limit": 100})],
    "mcp:swarm-mail": [("swarmmail_inbox", {})],
    "cli": [
        ("stats|--json", {}),
        ("list|--all|--json", {}),
        ("receipts|--json", {}),
        ("export", {}),
    ],
}
SHOWS["lore"] = SHOWS["v1"]
# What an outcome, a session or a job tells of an agent's work is the lead's business; a private memory never is.
OF_THE_PROJECT = ("receipts", "outcomes", "sessions", "jobs", "stats", "report", "receipts|--json", "stats|--json")
# What names a private thing, or says it again. Each is asked of what is there and of what nowhere is.
NAMES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "v1": [
        *((verb, {"ref": ref}) for verb in ("get", "history", "why") for ref in ("$id", "$handle", "$prefix")),
        *((verb, {"ref": "$id"}) for verb in ("forget", "confirm", "archive", "quarantine", "restore")),
        ("forget", {"ref": "$handle", "erase": True}),
        ("rate", {"ref": "$id", "helpful": False}),
        ("edit", {"ref": "$id", "text": "Another text for a memory of somebody else"}),
        ("acknowledge", {"ref": "$id", "how": "applied"}),
        ("promote", {"text": "$id", "to": "swarm"}),
        ("promote", {"text": "$id", "from_swarm": True}),
        ("undo", {"operation": "$operation"}),
        ("forget_origin", {"session": "$session"}),
        ("forget_origin", {"source": "$id", "erase": True}),
        ("retract", {"text": "$same"}),
        ("outcome", {"success": True, "applied": ["$id"]}),
        ("outcome", {"success": True, "session": "$session"}),
        ("end_session", {"id": "$session"}),
        ("start_session", {"id": "$session"}),
        *((verb, {"ref": "$mail"}) for verb in ("read", "ack", "delete_mail")),
        *((verb, {"ref": "$job"}) for verb in ("retry", "discard")),
        ("block", {"cue": "$word deployment of billing", "session": "$session"}),
        ("before_task", {"task": "rotate $word keys"}),
        ("prime", {"topic": "$word"}),
        ("remember", {"text": "$same"}),
        ("remember", {"text": "$same", "tier": "agent"}),
        ("remember", {"text": "Integration tests of $word services never need the staging flag", "tier": "agent"}),
        ("remember", {"text": "$stored", "tier": "agent", "key_": "$key"}),
        ("index_text", {"text": "# $word\n\nBilling is deployed by hand.", "source": "file_index", "path": "/m/a.md"}),
    ],
    "api": [
        ("GET {id}", {"id": "$id"}),
        ("GET {id}", {"id": "$handle"}),
        ("DELETE {id}", {"id": "$id"}),
        ("POST index", {"content": "$same", "name": "$word", "scope": "agent", "source": "manual"}),
        ("POST list", {"query": "$word"}),
    ],
    "mcp:": [
        ("recall", {"query": "$word deployment"}),
        ("get", {"id": "$handle"}),
        ("get", {"id": "$id"}),
        ("forget", {"id": "$id"}),
        ("rate", {"id": "$id", "helpful": True}),
        ("remember", {"text": "$same", "tier": "agent"}),
        ("prime", {"topic": "$word"}),
    ],
    "mcp:knowledge": [
        ("knowledge_recall", {"query": "$word deployment"}),
        ("knowledge_remove", {"id": "$id"}),
        ("knowledge_archive", {"id": "$id"}),
        ("knowledge_ack", {"id": "$id", "result": "applied"}),
        ("knowledge_receipt", {"trace_id": "$trace", "applied": [{"id": "$id", "how": "x"}]}),
        ("knowledge_add", {"lesson": "$same", "category": "testing"}),
    ],
    "mcp:lane": [
        ("memory-lane_find", {"query": "$word deployment"}),
        ("memory-lane_find", {"query": "deployment", "entities": ["$word"]}),
        ("memory-lane_store", {"information": "$same", "type": "learning"}),
        ("memory-lane_feedback", {"id": "$id", "signal": "harmful"}),
        ("semantic-memory_get", {"id": "$id"}),
        ("semantic-memory_remove", {"id": "$id"}),
        ("semantic-memory_validate", {"id": "$id"}),
        ("semantic-memory_upsert", {"information": "$same"}),
        ("hivemind_find", {"query": "$word", "fts": True}),
    ],
    "mcp:agent-swarm": [
        ("memory-search", {"query": "$word deployment"}),
        ("memory-get", {"memoryId": "$id"}),
        ("memory-delete", {"memoryId": "$id"}),
        ("memory-edit", {"memoryId": "$id", "content": "Another text for it"}),
        ("memory_rate", {"id": "$id", "useful": False}),
        ("memory-store", {"content": "$same"}),
    ],
    "mcp:swarm-mail": [("swarmmail_read_message", {"message_id": "$mail"}), ("swarmmail_ack", {"message_id": "$mail"})],
    "cli": [
        ("get|{id}", {"id": "$id"}),
        ("get|{id}|--json", {"id": "$handle"}),
        ("history|{id}", {"id": "$id"}),
        ("why|{id}", {"id": "$id"}),
        ("forget|{id}|--yes", {"id": "$id"}),
        ("rate|{id}|--helpful", {"id": "$id"}),
        ("undo|{id}", {"id": "$operation"}),
        ("recall|{word}", {"word": "$word"}),
        ("remember|{text}|--tier|agent|--json", {"text": "$same"}),
    ],
}
NAMES["lore"] = [(what, given) for what, given in NAMES["v1"] if "key_" not in given]


SAID = (  # what stores a text
    *("remember", "index_text", "POST index", "knowledge_add", "memory-lane_store", "semantic-memory_upsert"),
    "memory-store",
)


def cases(table: dict[str, list[tuple[str, dict[str, Any]]]]) -> Any:
    found = [
        pytest.param(engine, door, asker, number, id=f"{engine}-{door}-{asker}-{what}-{number}".replace("|", " "))
        for engine in ("sqlite", "postgres")
        for door, asked in table.items()
        for asker in askers_of(door, engine)
        for number, (what, _) in enumerate(asked)
    ]
    return pytest.mark.parametrize(("engine", "door", "asker", "number"), found)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], World]]:
    """One for each engine, made when it is first asked for."""
    made: dict[str, World] = {}

    def one(engine: str) -> World:
        if engine not in made:
            made[engine] = World(engine, tmp_path_factory.mktemp("isolation"))
            made[engine].open()
            made[engine].before = _everything(made[engine], tools=True) | _everything(made[engine])
            made[engine].keep_secrets()
            made[engine].after = _everything(made[engine]) | _everything(made[engine], tools=True)
        return made[engine]

    yield one
    for world in made.values():
        world.close()


def _everything(world: World, *, tools: bool = False) -> dict[tuple[str, str, int], tuple[Any, str]]:
    """All answers; those of tools last, as they leave receipts."""
    return {
        (door, asker, number): world.ask(door, asker, what, filled(given, world.refs))
        for door, asked in SHOWS.items()
        if door.startswith("mcp") == tools
        for asker in askers_of(door, world.engine)
        for number, (what, given) in enumerate(asked)
    }


@cases(SHOWS)
def test_what_is_shown_is_the_same_whether_somebody_has_secrets(
    worlds: Callable[[str], World], engine: str, door: str, asker: str, number: int
) -> None:
    world = worlds(engine)
    what, given = SHOWS[door][number]
    status, told = world.after[door, asker, number]
    echoed = {"word": world.refs["word"], "session": world.refs["session"]} if "$" in str(given) else {}
    assert leaks(world, told, echoed) == []
    before = world.before[door, asker, number]
    if asker in ("lead", "person") and what in OF_THE_PROJECT:
        return
    assert (status, plainly(told, {})) == (before[0], plainly(before[1], {}))


@cases(NAMES)
def test_what_is_private_is_answered_like_what_is_not_there(
    worlds: Callable[[str], World], engine: str, door: str, asker: str, number: int
) -> None:
    world = worlds(engine)
    what, given = NAMES[door][number]
    told = _answered(world, door, asker, what, filled(given, world.refs))
    assert leaks(world, told[1], world.refs) == []
    like = _answered(world, door, asker, what, filled(given, world.made_up))
    if asker in ("lead", "person") and what == "outcome":
        return  # who leads may report for another's session, and is told which shared memories it was shown
    assert (told[0], plainly(told[1], world.refs)) == (like[0], plainly(like[1], world.made_up))


def _answered(world: World, door: str, asker: str, what: str, given: dict[str, Any]) -> tuple[Any, str]:
    """What is answered; what was stored by it is taken back, so that the next one finds everything as it was."""
    told = world.ask(door, asker, what, given)
    if any(text in SAID for text in (what, what.partition("|")[0])) and '"error"' not in told[1]:
        world.ask(*(("cli", asker, "undo", {}) if door == "cli" else ("lore", asker, "undo", {})))
    return told


def leaks(world: World, told: str, said: dict[str, str]) -> list[str]:
    """What of the secrets stands in an answer, beside what whoever asked said themselves."""
    for value in sorted(said.values(), key=len, reverse=True):
        told = told.replace(value, "REF")
    return [secret for secret in world.hidden if secret in told]
