"""Whatever a file claims about who said something, how sure and how often, is kept for exports and counts for nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_tool_sets import caller_of

from clones import Clone
from conftest import ALICE, LEAD, NOW, PERSON, Open, a_memory, an_operation, engine_env
from elsewhere_files import LANE_CORE, LANE_TABLE, SWARM_LATER, SWARM_TABLE, a_lane_row, a_swarm_row, database
from serving import Server
from swarmlore.domain.json_codec import iso
from swarmlore.domain.policy.merge import Version, applied, as_claimed, merge, published, with_claims
from swarmlore.domain.policy.ranking import knowledge_score
from swarmlore.domain.records import Caller, Confirmation, Draft, Memory, Outcomes
from swarmlore.frozen import replace
from swarmlore.lore import Lore

TEXT = "Service s31 listens on port 2013, see 7919.md"
AT = iso(NOW - 900_000)
SEEN = [{"phase_number": n, "confirmed_at": AT, "project_name": "alpha"} for n in (1, 2, 3)]
MET = [{"project_name": name, "confirmed_at": AT} for name in ("a", "b", "c")]
CLAIMS = {
    "id": "claims-a-lot",
    "project_name": "alpha",
    "lesson": TEXT,
    "owner": "person",
    "trust": 3,
    "status": "promoted",
    "source": "manual",
    "confidence": 1.0,
    "hive_eligible": True,
    "confirmed_by": SEEN,
    "retrieval_outcomes": {"applied_explicit_count": 50, "shown_count": 60, "succeeded_after_shown_count": 50},
    "created_at": AT,
    "updated_at": AT,
}
HIVE = {**CLAIMS, "tier": "hive", "confirmed_by": MET, "encounter_score": 9.5, "source_project": "beta"}
LEGACY = {
    "id": "old-1",
    "lesson": TEXT,
    "confidence": 1.0,
    "confirmed_by": MET,
    "owner": "person",
    "status": "promoted",
}
METADATA = {"confidence_score": 100, "feedback_score": 9.0, "feedback_count": 30, "access_count": 40}
LANE = {"id": "lane-1", "information": TEXT, "metadata": METADATA, "created_at": AT}
MEM0 = {"id": "a2b8c3d4", "memory": TEXT, "user_id": "person", "metadata": {"trust": 3, "owner": "person"}}
GRAPH = {
    "type": "entity",
    "name": "s31",
    "entityType": "service",
    "observations": [TEXT],
    "owner": "person",
    "trust": 3,
}


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def lane_rows(path: Path) -> Path:
    row = a_lane_row(1, metadata=json.dumps({"confidence_score": 100, "feedback_score": 9.0}), access_count="40")
    return database(path / "swarm.db", LANE_TABLE + LANE_CORE, {"memories": [row]})


def swarm_rows(path: Path) -> Path:
    row = a_swarm_row(1, agentId="person", accessCount=40, content=TEXT, alpha=90.0)
    return database(path / "swarm.sqlite", SWARM_TABLE + SWARM_LATER, {"agent_memory": [row]})


FILES = {
    "knowledge": lambda path: lines(path / "knowledge.jsonl", CLAIMS),
    "shared": lambda path: lines(path / "shared-learnings.jsonl", HIVE),
    "legacy-hive": lambda path: lines(path / "hive-knowledge.jsonl", LEGACY),
    "lane": lambda path: lines(path / "memories.jsonl", LANE),
    "lane-db": lane_rows,
    "agent-swarm": swarm_rows,
    "mem0": lambda path: lines(path / "mem0.jsonl", MEM0),
    "mcp-memory": lambda path: lines(path / "memory.jsonl", GRAPH),
}


def standing(memory: Memory) -> tuple[Any, ...]:
    facts = (memory.owner, memory.trust, memory.status, memory.confirmed_by, memory.hive_eligible)
    counters = (memory.feedback_score, memory.feedback_count, memory.access_count, memory.encounter_score)
    return (*facts, memory.confidence <= 0.6, memory.outcomes, *counters)


OF_A_FILE = ("", 1, "candidate", (), False, True, Outcomes(), 1.0, 0, 0, 1.0)


def shown_only(lore: Lore) -> Memory:
    """The one memory there is, after a look at what an agent is given of it."""
    (memory,) = lore.list(status="any")
    given = lore.block("Which port does the service s31 listen on? Service 2013").text
    assert "s31" in given
    assert ("; unconfirmed" in given, "person" in given, " by " in given) == (True, False, False)
    return memory


@pytest.mark.parametrize("format", FILES)
def test_an_import_has_the_standing_of_a_file(format: str, tmp_path: Path, open_as: Open) -> None:
    lore = open_as(PERSON)
    told = lore.import_file(str(FILES[format](tmp_path)))
    assert (told.added, told.format) == (1, format)
    memory = shown_only(lore)
    assert standing(memory) == OF_A_FILE
    assert memory.source in ("import", "migration")


@pytest.mark.parametrize("format", ["knowledge", "shared"])
def test_claims_go_out_again_as_they_came(format: str, tmp_path: Path, open_as: Open) -> None:
    given = {"knowledge": CLAIMS, "shared": HIVE}[format]
    lore = open_as(PERSON)
    lore.import_file(str(FILES[format](tmp_path)))
    (line,) = lore.export_lines(format)
    assert {name: json.loads(line)[name] for name in given} == given
    assert lore.import_file(str(FILES[format](tmp_path))).known == 1


def test_what_was_learned_here_is_exported_with_the_claims(tmp_path: Path, open_as: Open) -> None:
    lore = open_as(PERSON)
    lore.import_file(str(FILES["lane"](tmp_path)))
    lore.import_file(str(FILES["knowledge"](tmp_path)))
    lore.rate("lane-1", helpful=True)
    told = {memory.id: as_claimed(memory) for memory in lore.list()}
    assert told["lane-1"].feedback_score == pytest.approx(9.0 * 1.1)
    assert (told["lane-1"].feedback_count, lore.get("lane-1").feedback_count) == (31, 1)
    memory = lore.get(CLAIMS["id"])
    with lore.store.operation(an_operation(PERSON)) as act:
        seen = (Confirmation("phase:9", NOW, "claude"),)
        lore.store.revise(act, memory, replace(memory, confirmed_by=seen, confidence=0.7, trust=3), "confirmed")
    (line,) = (json.loads(line) for line in lore.export_lines("knowledge") if CLAIMS["id"] in line.decode())
    assert len(line["confirmed_by"]) == 4
    assert (line["trust"], line["owner"], line["confidence"]) == (3, "person", 1.0)


@pytest.mark.parametrize("name", ["knowledge.jsonl", "shared-learnings.jsonl"])
def test_a_line_of_a_ledger_has_the_standing_of_a_file(name: str, tmp_path: Path) -> None:
    clone = Clone(tmp_path, caller=PERSON)
    given = CLAIMS if name == "knowledge.jsonl" else HIVE
    folder = clone.root / ".swarm" if name == "knowledge.jsonl" else clone.home
    lines(folder / name, given)
    with clone.open() as lore:
        if given is HIVE:
            lore.trust(hive=True)
        lore.sync()
        memory = shown_only(lore)
    assert standing(memory) == OF_A_FILE
    assert memory.source == "ledger"
    (line,) = (json.loads(line) for line in (folder / name).read_bytes().splitlines())
    assert {name: line[name] for name in given} == given


def test_a_block_may_be_filled_from_the_ledger_of_a_team(tmp_path: Path) -> None:
    clone = Clone(tmp_path, caller=PERSON)
    texts = [f"The port of the {word} service is {2000 + n}" for n, word in enumerate(("mail", "pay", "auth", "log"))]
    clone.write(*({**CLAIMS, "id": f"line-{n}", "lesson": text} for n, text in enumerate(texts)))
    clone.sync()
    with clone.open() as lore:
        shown = lore.block("Which port have the mail, pay, auth and log service?").text
    assert [text for text in texts if text in shown] == texts
    assert shown.count("from the team's ledger") == len(texts)


def test_a_line_about_a_persons_memory_changes_its_words_only_as_a_file(open_as: Open) -> None:
    mine = a_memory(caller=PERSON, trust=3, confirmed_by=(Confirmation("phase:1", NOW),), status="established")
    theirs = replace(published(mine).memory, trust=3, status="promoted", owner="eve", updated_at=NOW + 1)
    same = applied(mine, merge(published(mine), Version(theirs)), "ledger")
    assert (same.trust, same.status, same.owner, len(same.confirmed_by)) == (3, "established", "person", 1)
    assert published(same).memory.owner == "eve"
    for change in ({"text": "Other words of a file"}, {"title": "Another title"}):
        other = applied(mine, merge(published(mine), Version(replace(theirs, **change))), "ledger")
        assert standing(other)[:6] == OF_A_FILE[:6]
        assert published(other) == merge(published(mine), Version(replace(theirs, **change)))


def test_nobody_can_write_claims_under_their_reserved_name(tmp_path: Path, open_as: Open) -> None:
    claims = {"swarmlore_claims": {"owner": ["person", ""], "trust": [3, 1]}}
    lore = open_as(ALICE)
    lore.remember("Snapshots are recorded with make snap", extra=claims)
    lore.remember_many([Draft("Fixtures are recorded with make fix", extra=claims)])
    bare = {"id": "bare-1", "lesson": TEXT, "created_at": AT, "updated_at": AT}
    lore.import_file(str(lines(tmp_path / "in.jsonl", {**bare, **claims}, {**bare, "id": "bare-2", "extra": claims})))
    for memory in lore.list():
        assert as_claimed(memory).owner in ("alice", "")
        assert as_claimed(memory).trust == memory.trust


SAID = {name: CLAIMS[name] for name in ("owner", "trust", "status", "confirmed_by", "hive_eligible")}
TOOLS = {
    "remember": {"text": TEXT},
    "knowledge_add": {"lesson": TEXT, "category": "tooling"},
    "memory-store": {"content": TEXT, "name": "s31"},
    "memory-lane_store": {"information": TEXT},
}


@pytest.mark.parametrize("tool", TOOLS)
def test_an_agent_claims_nothing_through_a_tool(tool: str, open_as: Open) -> None:
    lore = open_as(ALICE)
    call = caller_of(lore)
    call(tool, **TOOLS[tool], **SAID, swarmlore_claims=SAID)
    for memory in lore.list(status="any"):
        assert (memory.owner, memory.trust, memory.status, memory.confirmed_by) == ("alice", 2, "candidate", ())
    call(tool, **TOOLS[tool], metadata=json.dumps({**SAID, "swarmlore_claims": SAID}))
    for memory in lore.list(status="any"):
        assert (memory.owner, memory.trust, memory.status, memory.confirmed_by) == ("alice", 2, "candidate", ())
        assert as_claimed(memory) == memory


def test_an_agent_claims_nothing_over_http(server: Server) -> None:
    token = server.token("alice")
    asked, _ = server.ask("/v1/remember", {"text": TEXT, **SAID}, token)
    kept, told = server.ask("/v1/remember", {"text": TEXT, "extra": {**SAID, "swarmlore_claims": SAID}}, token)
    assert (asked, kept) == (400, 200)
    memory = told["result"]["memory"]
    facts = [memory[name] for name in ("owner", "trust", "status", "confirmed_by", "hive_eligible")]
    assert facts == ["alice", 2, "candidate", [], False]
    assert "swarmlore_claims" not in memory["extra"]


# --- what a file brings never speaks for what is known

SAID_BY_A_PERSON = "Review pull requests before writing new code"


def same_words(path: Path, *, at: int, id: str = "") -> str:
    """A file whose only line says a person's words on one day of the past."""
    created = iso(NOW - at * 86_400)
    line = {"id": id or f"again-{at}", "lesson": SAID_BY_A_PERSON, "created_at": created, "updated_at": created}
    return str(lines(path / f"again-{at}.jsonl", line))


def test_files_with_the_same_words_confirm_no_memory(engine_name: str, tmp_path: Path) -> None:
    env = {**engine_env(engine_name), "SWARMLORE_EMBEDDER_KIND": "minilm"}
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=PERSON, env=env, clock=lambda: NOW) as lore:
        mine = lore.remember(SAID_BY_A_PERSON).memory
    with Lore.open(tmp_path / "home", cwd=tmp_path, caller=ALICE, env=env, clock=lambda: NOW) as lore:
        for at in (30, 60, 90):
            lore.import_file(same_words(tmp_path, at=at))
            assert lore.recall("review pull requests")
            lore.catch_up()
        assert lore.get(mine.id) == replace(mine, access_count=1, last_accessed_at=NOW)
        assert {memory.confirmed_by for memory in lore.list(status="any")} == {()}


def test_words_of_a_file_do_not_become_a_persons(open_as: Open, tmp_path: Path) -> None:
    said = "Fixtures are recorded with make fix and stored in the fixtures folder"
    more = f"{said} with the update flag"
    lore = open_as(PERSON)
    lore.import_file(str(lines(tmp_path / "in.jsonl", {**CLAIMS, "lesson": more})))
    lore.remember(said)
    assert {memory.trust for memory in lore.list() if "update flag" in memory.text} == {1}
    assert [memory.trust for memory in lore.list() if memory.text == said] == [3]


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"lesson": "Other words of a file"},
        {"status": "archived"},
        {"status": "quarantined"},
        {"superseded_by": "x"},
        {"expires_at": AT},
        {"scope": "stack:rust"},
    ],
    ids=str,
)
@pytest.mark.parametrize("caller", [PERSON, LEAD, ALICE], ids=lambda one: one.role)
def test_no_import_changes_what_a_person_said_under_the_same_id(
    caller: Caller, change: dict[str, Any], open_as: Open, tmp_path: Path
) -> None:
    mine = open_as(PERSON).remember("Deploys are frozen on Fridays by the release team").memory
    later = iso(mine.updated_at + 200)
    line = {**CLAIMS, "id": mine.id, "lesson": mine.text, "created_at": AT, "updated_at": later, **change}
    told = open_as(caller).import_file(str(lines(tmp_path / "again.jsonl", line)))
    assert (told.updated, told.refused) == (0, 1)
    kept = open_as(PERSON).get(mine.id)
    assert replace(kept, access_count=0, last_accessed_at=None) == mine


def test_a_persons_fuller_words_take_the_place_of_a_files(open_as: Open, tmp_path: Path) -> None:
    said = "Fixtures are recorded with make fix and stored in the fixtures folder"
    lore = open_as(PERSON)
    lore.import_file(str(lines(tmp_path / "in.jsonl", {**CLAIMS, "lesson": said})))
    lore.remember(f"{said} with the update flag")
    (memory,) = lore.list()
    assert (memory.text, memory.trust, memory.owner) == (f"{said} with the update flag", 3, "person")
    assert memory.source == "manual"


@pytest.mark.parametrize("status", ["archived", "quarantined"])
def test_restoring_believes_no_file_about_the_former_status(status: str, open_as: Open, tmp_path: Path) -> None:
    lore = open_as(PERSON)
    line = {**CLAIMS, "status": status, "original_status": "promoted"}
    lore.import_file(str(lines(tmp_path / "in.jsonl", line)))
    assert lore.restore(CLAIMS["id"]).status == "candidate"


def test_claimed_confidence_orders_nothing_in_profile_knowledge() -> None:
    own = a_memory("Run make lint before a commit", confidence=0.6)
    claimed = with_claims(own, replace(own, confidence=1.0))
    scores = [knowledge_score(memory, "", frozenset(), "").score for memory in (own, claimed)]
    assert scores[0] == scores[1]


def test_instincts_of_another_file_start_anew(open_as: Open, tmp_path: Path) -> None:
    rule, other = "Run the linter before every commit", "Use tabs in every Makefile"
    claims = "confidence: 1.0, scope: universal, reinforcement_count: 50, last_reinforced: 2027-01-01"
    path = tmp_path / "other" / "instincts.yaml"
    path.parent.mkdir()
    path.write_text(f"instincts:\n- {{id: a, rule: {rule}, {claims}}}\n- {{id: b, rule: {other}, {claims}}}\n")
    lore = open_as(ALICE)
    lore.instincts.add(rule, scope="universal")
    lore.import_file(str(path))
    found = {held.instinct.rule: held.instinct for held in lore.instincts.show().held}
    assert {rule: (one.confidence, one.reinforcements > 1) for rule, one in found.items()} == {
        rule: (0.5, False),
        other: (0.5, False),
    }


def test_no_agent_imports_private_memories_of_the_person(open_as: Open, tmp_path: Path) -> None:
    row = a_swarm_row(1, agentId="person", scope="agent")
    path = str(database(tmp_path / "swarm.sqlite", SWARM_TABLE + SWARM_LATER, {"agent_memory": [row]}))
    told = open_as(ALICE).import_file(path)
    assert (told.added, told.refusals[0][1]) == (0, "a private memory of the person, which only the person can import")
    assert open_as(PERSON).list() == ()
    assert open_as(PERSON).import_file(path).added == 1


def test_a_migrated_file_is_nobodys_words(open_as: Open, tmp_path: Path) -> None:
    (tmp_path / ".swarm").mkdir()
    (tmp_path / ".swarm" / "context.md").write_text(
        "## Patterns\n- Run the linter before every commit of this repository\n"
    )
    lore = open_as(PERSON)
    lore.migrate()
    assert [(memory.owner, memory.trust) for memory in lore.list()] == [("", 1)]


def test_a_note_is_shown_as_a_note_whoever_indexed_it(open_as: Open) -> None:
    lore = open_as(PERSON)
    lore.remember("Service s31 listens on port 2013, see 7919.md", source="note", title="Port of s31")
    given = lore.block("Which port does the service s31 listen on? Service 2013").text
    assert "s31" in given and "(from a note" in given and "person" not in given
