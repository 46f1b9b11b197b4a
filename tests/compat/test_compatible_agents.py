"""Agents that know only the tools of another system work unchanged: a whole story for each, in a process of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from mcp_lines import Lines, environment, words
from scripted import Agent, Door
from serving import Server
from swarmlore.lore import Lore
from waiting_jobs import do_jobs

QUICK = {"SWARMLORE_EMBEDDER_KIND": "none"}
BACKPRESSURE = "Prefer stream.Readable.from(generator) over async iterators for backpressure."
BEARER = "The API requires Bearer prefix on all auth headers.\nWithout it, you get a misleading 403 instead of 401."
SEED = "Run make e2e-seed before the browser tests, otherwise all of them fail at the login page"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture(params=["process", "server"])
def door(request: pytest.FixtureRequest, home: Path, project: Path) -> Iterator[Door]:
    """Both ways in: `swarmlore mcp`, and `/mcp` of a server."""
    if request.param == "process":
        yield Door(request.param, home, project, None)
        return
    home.mkdir()
    server = Server(home, environment(), "--rate", "1000", "--no-worker")
    server.start()
    yield Door(request.param, home, project, server)
    server.stop()


def test_an_architect_of_opencode_swarm_adds_recalls_acknowledges_and_removes(door: Door) -> None:
    home, project = door.home, door.project

    async def story(agent: Agent) -> None:
        assert await agent.tools() == [
            *("knowledge_add", "knowledge_recall", "knowledge_query", "knowledge_remove", "knowledge_archive"),
            *("knowledge_ack", "knowledge_receipt"),
        ]
        kept = await agent("knowledge_add", lesson=BACKPRESSURE, category="pattern", tags=["node", "streams"])
        id = kept["id"]
        assert kept == {"success": True, "id": id, "category": "pattern"}
        again = await agent("knowledge_add", lesson=BACKPRESSURE.removesuffix("."), category="pattern")
        assert again == {"success": False, "id": id, "message": "near-duplicate of existing entry"}
        for lesson, category, said in [
            ("short", "pattern", "lesson too short (min 15 chars)"),
            ("x " * 150, "pattern", "lesson too long (max 280 chars)"),
            ("Run the linter before each commit", "colour", "invalid category: colour"),
            ("Empty the cache with rm -rf /var/cache", "tooling", "dangerous command pattern detected"),
        ]:
            told = await agent.refused("knowledge_add", lesson=lesson, category=category)
            assert told == {"success": False, "error": said}
        recalled = await agent("knowledge_recall", query="backpressure with node streams", top_n=3, tier="all")
        assert [(hit["id"], hit["lesson"], hit["category"]) for hit in recalled["results"]] == [
            (id, BACKPRESSURE, "pattern")
        ]
        assert recalled["total"] == 1
        assert (await agent.refused("knowledge_recall", query="ab"))["error"] == (
            "query must be a string with at least 3 characters"
        )
        done = await agent("knowledge_ack", id=id, result="applied", reason="used it in the parser")
        assert done == {"recorded": True, "id": id, "result": "applied"}
        assert (await agent("knowledge_ack", id=id, result="applied"))["reason"] == "duplicate_ack"
        receipt = await agent(
            "knowledge_receipt",
            trace_id=recalled["trace_id"],
            ignored=[{"id": id, "reason": "not_relevant"}],
            new_lessons=[{"lesson": "Pin the base image by digest, because tags move", "category": "tooling"}],
        )
        assert (receipt["recorded"], receipt["ignored"], receipt["new_lessons"][0]["success"]) == (True, 1, True)
        listed = await agent("knowledge_query", tier="swarm", min_score=0.5, status="candidate")
        assert listed["results"][0]["lesson"] == BACKPRESSURE
        assert listed["total"] == 2
        other = receipt["new_lessons"][0]["id"]
        assert (await agent.refused("knowledge_archive", id=other))["error"] == "reason is required"
        purge = await agent.refused("knowledge_archive", id=other, reason="old", mode="purge")
        assert purge["error"] == "purge requires allow_purge:true (admin flag)"
        away = await agent("knowledge_archive", id=other, reason="the image is built elsewhere now")
        assert (away["status"], away["previous_status"]) == ("archived", "candidate")
        assert await agent("knowledge_remove", id=id) == {"success": True, "removed": 1, "remaining": 0}
        assert await agent.refused("knowledge_remove", id=id) == {"success": False, "message": "entry not found"}

    door.play("knowledge", story, "architect")
    with Lore.open(home, cwd=project, env={**QUICK, "SWARMLORE_AGENT": "architect"}) as lore:
        [memory] = lore.list(status="forgotten")
        assert (memory.source, memory.outcomes.applied, memory.outcomes.ignored) == ("knowledge_add", 1, 1)
        assert {receipt.cue for receipt in lore.receipts()} >= {"backpressure with node streams"}


REPORT = {
    "transcript": "User: the tenants see each other\nAssistant: I looked at the cache keys.",
    "summary": "Cache invalidation implemented",
    "evaluation": "The cache key of the sessions must always hold the tenant id, else tenants see each other.",
    "files_touched": ["src/cache/store.ts"],
    "duration_ms": 180000,
    "error_count": 0,
    "retry_count": 0,
    "success": True,
    "bead_id": "bd-123.4",
    "agent_name": "BlueLake",
    "project_key": "/Users/somebody/workspace/swarm-tools",
}


def test_a_worker_of_swarm_tools_can_do_its_whole_job(door: Door) -> None:
    home, project = door.home, door.project

    async def story(agent: Agent) -> None:
        assert {"memory-lane_find", "semantic-memory_find", "swarm_complete", "swarmmail_send"} <= {
            *await agent.tools()
        }
        if not door.is_http:  # there the token says who somebody is
            refused = await agent.refused("swarmmail_send", to=["memory-catcher"], subject="x", body="y")
            assert refused == {"error": "Session not initialized. Call swarmmail_init first."}
        begun = await agent("swarmmail_init", project_path=str(project), agent_name="BlueLake", task_description="auth")
        assert (begun["agent_name"], begun["message"]) == ("BlueLake", "Initialized as BlueLake")
        kept = await agent(
            "memory-lane_store",
            information="OAuth login requires JWT tokens with 5min refresh buffer to prevent race conditions.",
            type="correction",
            entities=["feature:auth"],
            confidence_score=95,
            tags="oauth,jwt",
        )
        id = kept["id"]
        assert kept["message"] == f"Stored memory {id} in collection: memory-lane"
        found = await agent("memory-lane_find", query="what was wrong with the JWT refresh?", limit=3)
        [item] = found["results"]
        assert found["count"] == 1
        assert (item["id"], item["collection"], item["effective_confidence"]) == (id, "memory-lane", 95)
        assert item["metadata"]["memory_type"] == "correction"
        assert item["metadata"]["entity_slugs"] == ["feature:auth"]
        assert item["metadata"]["tags"] == ["oauth", "jwt"]
        rated = await agent("memory-lane_feedback", id=id, signal="helpful")
        assert rated == {
            "success": True,
            "message": f"Recorded helpful feedback for memory {id}",
            "id": id,
            "signal": "helpful",
        }
        assert (await agent("memory-lane_feedback", id="mem_unknown", signal="harmful"))["success"] is False
        [again] = (await agent("semantic-memory_find", query="JWT refresh"))["results"]
        assert again["metadata"]["feedback_score"] == pytest.approx(1.1)
        assert "memory-lane_find" in (await agent("semantic-memory_find", query="JWT refresh"))["_hint"]
        stored = await agent("semantic-memory_store", information="The staging database is reset at two each night")
        assert "memory-lane_store" in stored["_hint"]
        got = await agent("semantic-memory_get", id=stored["id"])
        assert got["metadata"]["memory_type"] == "learning"
        upsert = await agent("semantic-memory_upsert", information="The staging database is reset at two each night")
        assert (upsert["operation"], upsert["memoryId"]) == ("NOOP", stored["id"])
        assert (await agent("semantic-memory_remove", id=stored["id"]))["success"] is True
        assert (await agent.refused("semantic-memory_get", id=stored["id"])) == {"error": "Memory not found"}
        await agent(
            "memory-lane_store", information="Auth tests need a clock", type="decision", entities=["feature:auth-tests"]
        )
        unclear = await agent.refused("memory-lane_find", query="auth", entities=["aut"])
        assert (unclear["success"], unclear["error"]) == (False, "DISAMBIGUATION_REQUIRED")
        assert unclear["ambiguities"] == {"aut": ["feature:auth", "feature:auth-tests"]}
        assert unclear["message"]
        assert unclear["hint"]
        only = await agent("memory-lane_find", entities=["feature:auth-tests"])
        assert [item["content"] for item in only["results"]] == ["Auth tests need a clock"]
        told = await agent(
            "swarm_record_outcome",
            bead_id="cell-abc123",
            duration_ms=180000,
            error_count=2,
            retry_count=0,
            success=True,
            files_touched=["src/auth/service.ts"],
        )
        assert told["outcome"]["scored"]["type"] == "helpful"
        assert told["outcome"]["scored"]["decayed_value"] == pytest.approx(0.92)
        assert [event["criterion"] for event in told["feedback_events"]] == [
            *("type_safe", "no_bugs", "patterns", "readable"),
        ]
        sent = await agent(
            "swarmmail_send",
            to=["memory-catcher"],
            subject="memory-catcher-extract",
            body=json.dumps(REPORT),
            importance="normal",
            ack_required=False,
        )
        assert (sent["success"], sent["recipient_count"]) == (True, 1)
        await agent("swarmmail_send", to=["BlueLake"], subject="to myself", body="hello", importance="urgent")
        inbox = await agent("swarmmail_inbox", limit=50, urgent_only=True)
        [message] = inbox["messages"]
        assert (message["from"], message["subject"], inbox["total"]) == ("BlueLake", "to myself", 1)
        assert "body" not in message
        assert (await agent("swarmmail_read_message", message_id=message["id"]))["body"] == "hello"
        assert (await agent("swarmmail_ack", message_id=message["id"]))["acknowledged"] is True
        assert (await agent.refused("swarmmail_read_message", message_id=42)) == {"error": "Message 42 not found"}

    door.play("lane,swarm-mail", story, "BlueLake")
    with Lore.open(home, cwd=project, client="claude", env={**QUICK, "SWARMLORE_AGENT": "BlueLake"}) as lore:
        [outcome] = lore.outcomes()
        assert outcome.session.startswith("mcp-")
        assert len(outcome.shown) == 3  # what it had found before
    assert learned_by_the_worker(home, project) == [REPORT["evaluation"]]


def learned_by_the_worker(home: Path, project: Path) -> list[str]:
    """What the memory-catcher has taken out of the report, once the queue is empty."""
    with Lore.open(home, cwd=project, env={**QUICK, "SWARMLORE_AGENT": "somebody"}) as lore:
        do_jobs(lore)
        found = lore.recall("tenant id in the cache key", 10, mode="keyword", sources=("reflect",))
        return [hit.memory.text for hit in found]


def test_lead_and_workers_of_agent_swarm_share_private_and_taught_memories(door: Door) -> None:
    ids: dict[str, str] = {}

    async def worker(agent: Agent) -> None:
        kept = await agent("memory-store", content=BEARER, name="auth-header-fix", tags="api, auth")
        [ids["private"]] = kept["memoryIds"]
        shared = await agent("memory-store", content="The mirror is filled by make mirror", scope="swarm")
        [ids["shared"]] = shared["memoryIds"]
        told = await agent("memory-search", query="auth headers", scope="agent", limit=1, intent="fix the login")
        assert told["message"] == "Embedding unavailable (no OPENAI_API_KEY). Showing 1 most recent memories."
        [result] = told["results"]
        assert (result["id"], result["name"], result["scope"]) == (ids["private"], "auth-header-fix", "agent")
        whole = await agent("memory-get", memoryId=ids["private"])
        assert whole["memory"]["content"] == BEARER
        assert (whole["memory"]["accessCount"], whole["memory"]["source"]) == (1, "manual")
        edit = {"memoryId": ids["private"], "mode": "exact", "oldString": "misleading", "newString": "confusing"}
        edited = await agent("memory-edit", **edit, intent="wording", expectedVersion=1)
        assert (edited["version"], edited["changed"]) == (2, True)
        assert "not found" in (await agent.refused("memory-edit", **edit, intent="again"))["message"]
        refused = await agent.refused("inject-learning", agentId="w2", learning=SEED, category="best-practice")
        assert refused["message"] == "Only the lead agent can inject learnings into worker memory."

    async def lead(agent: Agent) -> None:
        told = await agent("inject-learning", agentId="w2", learning=SEED, category="best-practice")
        ids["taught"] = told["memoryId"]
        assert told["message"] == "Learning injected into w2's memory (category: best-practice)."
        memory = (await agent("memory-get", memoryId=ids["taught"]))["memory"]
        assert memory["name"] == f"Lead feedback: best-practice — {SEED[:60]}"
        assert memory["content"] == f"[Lead Feedback — best-practice]\n\n{SEED}"
        assert (memory["agentId"], memory["scope"], memory["source"]) == ("w2", "swarm", "manual")
        assert memory["tags"] == ["best-practice"]
        gone = await agent.refused("memory-get", memoryId=ids["private"])
        assert gone["message"] == f'Memory "{ids["private"]}" not found.'
        assert (await agent("memory-delete", memoryId=ids["shared"]))["success"] is True

    async def other(agent: Agent) -> None:
        seen = json.dumps(await agent("memory-search", query="auth headers", limit=50))
        assert ids["taught"] in seen
        assert ids["private"] not in seen
        assert "Bearer" not in seen
        private = await agent.refused("memory-delete", memoryId=ids["private"])
        nobody = await agent.refused("memory-delete", memoryId="01a1e272-0000-7000-8000-000000000000")
        assert private["message"].replace(ids["private"], "") == nobody["message"].replace(
            "01a1e272-0000-7000-8000-000000000000", ""
        )
        rated = await agent("memory_rate", id=ids["taught"], useful=True, note="it was that")
        assert rated == {"success": True, "message": f"Memory {ids['taught']} rated as useful."}
        mine = await agent("memory-store", content="The seed takes about a minute", scope="swarm")
        ids["mine"] = mine["memoryIds"][0]

    async def last(agent: Agent) -> None:
        told = await agent.refused("memory-delete", memoryId=ids["mine"])
        assert told["message"] == (
            "Permission denied. You can only delete your own memories, or swarm memories if you are the lead."
        )

    with nullcontext() if door.is_http else Lines(door.home, door.project) as warm:
        if warm is not None:
            warm.begin()  # the others are proxies, which start quickly
        door.play("agent-swarm", worker, "w1")
        door.play("agent-swarm", lead, "boss", "lead")
        door.play("agent-swarm", other, "w2")
        door.play("agent-swarm", last, "w1")


# Several at once


@pytest.fixture
def three(home: Path, project: Path) -> Iterator[list[Lines]]:
    """A warm process with our own tools, and two proxies with those of others."""
    both = words(home, "--tools", "swarm-mail", "--tools", "default")
    with (
        Lines(home, project, SWARMLORE_AGENT="one") as ours,
        Lines(home, project, words(home, "--tools", "knowledge"), SWARMLORE_AGENT="two") as knowledge,
        Lines(home, project, both, SWARMLORE_AGENT="three") as mail,
    ):
        yield [ours.begin(), knowledge.begin(), mail.begin()]


def names(lines: Lines) -> list[str]:
    return [tool["name"] for tool in lines.result("tools/list")["tools"]]


def test_each_connection_keeps_its_tools_and_name_when_the_daemon_ends(three: list[Lines]) -> None:
    ours, knowledge, both = three
    assert len(names(ours)) == 8
    assert {name.partition("_")[0] for name in names(knowledge)} == {"knowledge"}
    assert [name for name in names(both) if not name.startswith("swarmmail_")] == names(ours)
    assert knowledge.call("remember", text=SEED)["isError"] is True
    assert ours.call("knowledge_add", lesson=SEED, category="testing")["isError"] is True
    kept = both.call("remember", text=SEED)["structuredContent"]
    found = knowledge.call("knowledge_recall", query="browser tests and the login page")["structuredContent"]
    assert [hit["id"] for hit in found["results"]] == [kept["id"]]
    assert both.call("swarmmail_init", agent_name="BlueLake")["structuredContent"]["agent_name"] == "BlueLake"
    ours.process.kill()
    ours.process.wait(120)
    assert both.call("swarmmail_send", to=["BlueLake"], subject="still here", body="x")["isError"] is False
    inbox = both.call("swarmmail_inbox")["structuredContent"]
    assert [message["from"] for message in inbox["messages"]] == ["BlueLake"]
    assert len(names(knowledge)) == 7


def test_a_home_without_the_named_set_says_which_there_are(home: Path, project: Path) -> None:
    with Lines(home, project, words(home, "--tools", "laned")) as lines:
        assert lines.process.wait(120) == 2
        assert lines.process.stderr is not None
        assert b"did you mean: lane" in lines.process.stderr.read()
