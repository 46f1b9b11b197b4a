"""A program written for Agent Swarm's memory, unchanged: its routes, its bodies, its answers."""

from __future__ import annotations

import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from conftest import LEAD
from serving import Server
from swarmlore.lore import Lore
from swarmlore.store.memories import COLUMNS

FIX = "The API requires the Bearer prefix on all auth headers. Without it, you get a misleading 403 instead of 401."
NOTE = {"content": FIX, "name": "auth-header-fix", "scope": "agent", "source": "manual"}


def index(server: Server, token: str, **more: Any) -> tuple[int, Any]:
    return server.ask("/api/memory/index", {**NOTE, **more}, token)


def test_the_story_of_a_worker(any_server: Server) -> None:
    """Index, find, list, read, delete, with its own names."""
    token = any_server.token("worker-1")
    mine = {"X-Agent-ID": "worker-1"}
    status, told = any_server.ask("/api/memory/index", {**NOTE, "agentId": "worker-1"}, token, headers=mine)
    assert (status, told["queued"], len(told["memoryIds"])) == (202, True, 1)
    id = told["memoryIds"][0]
    status, found = any_server.ask("/api/memory/search", {"query": "auth header bearer", "intent": "fix it"}, token)
    assert status == 200
    first = found["results"][0]
    assert (first["id"], first["name"], first["source"], first["scope"]) == (id, "auth-header-fix", "manual", "agent")
    assert first["content"] == FIX
    status, listed = any_server.ask("/api/memory/list", {}, token)
    assert {name: listed[name] for name in ("total", "limit", "offset", "mode")} == {"total": 1, "limit": 20, "offset": 0, "mode": "list"}  # fmt: skip
    status, got = any_server.ask(f"/api/memory/{id}", token=token)
    assert (status, got["memory"]["content"], got["memory"]["accessCount"]) == (200, FIX, 1)
    assert any_server.ask(f"/api/memory/{id}", token=token, method="DELETE") == (200, {"deleted": True})
    assert any_server.ask("/api/memory/search", {"query": "auth header bearer"}, token)[1] == {"results": []}


def test_private_is_private_to_leads_too_and_shared_is_seen_by_all(any_server: Server) -> None:
    mine, other = any_server.token("worker-1"), any_server.token("worker-2")
    lead = any_server.token("boss", role="lead")
    private = index(any_server, mine)[1]["memoryIds"][0]
    shared = index(any_server, mine, scope="swarm", content="Deployments go out on Tuesdays, never on Fridays")[1][
        "memoryIds"
    ][0]
    for token in (other, lead):
        assert any_server.ask(f"/api/memory/{private}", token=token)[0] == 404
        assert any_server.ask(f"/api/memory/{shared}", token=token)[0] == 200
        assert any_server.ask("/api/memory/list", {}, token)[1]["total"] == 1
    assert any_server.ask(f"/api/memory/{shared}", token=other, method="DELETE")[0] == 403
    assert any_server.ask(f"/api/memory/{shared}", token=lead, method="DELETE")[0] == 200


def test_a_file_that_is_indexed_again_takes_its_own_place(any_server: Server) -> None:
    token = any_server.token("worker-1")
    file = {"source": "file_index", "sourcePath": "/workspace/personal/memory/auth.md"}
    first = index(any_server, token, **file)[1]["memoryIds"]
    again = index(any_server, token, **file, content=FIX + " Ask for a new token in that case.")[1]["memoryIds"]
    assert again == first
    assert any_server.ask("/api/memory/list", {"sourcePath": file["sourcePath"]}, token)[1]["total"] == 1


def test_a_long_text_is_kept_in_pieces(server: Server) -> None:
    token = server.token("worker-1")
    text = "\n\n".join(f"## Part {number}\n\n" + f"Sentence number {number} of the whole. " * 40 for number in range(4))
    status, told = index(server, token, content=text, source="task_completion", sourceTaskId="T-1")
    assert status == 202
    assert len(told["memoryIds"]) == 4
    found = server.ask("/api/memory/list", {"source": "task_completion"}, token)[1]["results"]
    assert {(item["chunkIndex"], item["totalChunks"], item["sourceTaskId"]) for item in found} == {(n, 4, "T-1") for n in range(4)}  # fmt: skip
    assert all(item["expiresAt"] for item in found)


COPY = """
WITH RECURSIVE copy (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM copy WHERE number < :many)
INSERT INTO memory ({names}, id, handle) SELECT {names}, 'copy-' || number, 'copy-' || number FROM memory, copy
WHERE id = :id
"""


def crowd(server: Server, id: str, many: int) -> None:
    """So many newer memories like one, as a year of work would leave them."""
    names = ", ".join(("partition", *(name for name in COLUMNS if name not in ("id", "handle")), "session", "more"))
    with Lore.open(server.home, cwd="/", caller=LEAD, env=server.env) as lore, lore.store.engine.writing():
        lore.store.act_for(LEAD)
        lore.store.engine.run(COPY.format(names=names), {"many": many, "id": id})


def test_a_list_finds_what_fits_under_however_many_others(any_server: Server) -> None:
    many, token, path = 10_100, any_server.token("worker-1"), "/workspace/personal/memory/auth.md"
    (private,) = index(any_server, token, source="file_index", sourcePath=path)[1]["memoryIds"]
    task = {"content": "Task: fix the login\n\nOutput:\nThe client adds the prefix now", "source": "task_completion"}
    (kept,) = index(any_server, token, **task, scope="swarm")[1]["memoryIds"]
    other = {"content": "Deployments go out on Tuesdays, never on Fridays", "scope": "swarm"}
    (shared,) = index(any_server, any_server.token("worker-2"), **other)[1]["memoryIds"]
    crowd(any_server, shared, many)

    def listed(**asked: Any) -> tuple[int, list[str]]:
        status, told = any_server.ask("/api/memory/list", asked, token)
        assert status == 200, told
        return told["total"], [item["id"] for item in told["results"]]

    assert listed(scope="agent") == listed(sourcePath=path) == (1, [private])
    assert listed(source="task_completion") == (1, [kept])
    assert listed(agentId="worker-1") == (2, [kept, private])
    assert listed(agentId="worker-1", scope="swarm", limit=1) == (1, [kept])
    assert listed(agentId="worker-1", offset=1) == (2, [private])
    assert listed(agentId="worker-1", sourcePath="/elsewhere.md") == (0, [])
    assert listed(scope="swarm", offset=many) == (many + 2, [shared, kept])
    assert listed(source="manual", limit=1) == (many + 1, [f"copy-{many}"])


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("index", {}),
        ("index", {**NOTE, "content": ""}),
        ("index", {**NOTE, "scope": "hive"}),
        ("index", {**NOTE, "source": "web"}),
        ("index", {**NOTE, "tags": "one"}),
        ("search", {}),
        ("search", {"query": "x", "limit": 21}),
        ("search", {"query": "x", "limit": 0}),
        ("search", {"query": "x", "scope": "mine"}),
        ("list", {"limit": 101}),
        ("list", {"offset": -1}),
        ("re-embed", {"batchSize": 0}),
    ],
)
def test_what_it_would_refuse_is_refused(server: Server, path: str, body: dict[str, Any]) -> None:
    token = server.token("worker-1")
    assert server.ask(f"/api/memory/{path}", body, token)[0] == 400
    assert server.ask("/api/memory/list", {}, token)[1]["total"] == 0


def test_nobody_speaks_for_another(server: Server) -> None:
    token = server.token("worker-1")
    assert index(server, token, agentId="worker-2")[0] == 403
    assert server.ask("/api/memory/search", {"query": "x y"}, token, headers={"X-Agent-ID": "worker-2"})[0] == 403
    assert server.ask("/api/memory/list", {"agentId": "worker-2"}, token)[0] == 403


def test_vectors_are_made_anew_later(server: Server) -> None:
    token = server.token("worker-1")
    index(server, token)
    assert server.ask("/api/memory/re-embed", {}, token) == (202, {"started": True, "totalMemories": 1})


def test_a_foreign_id_is_not_found(server: Server) -> None:
    token = server.token("worker-1")
    for id in ("nothing", "00000000-0000-0000-0000-000000000000", "%2e%2e", "a%20b"):
        assert server.ask(f"/api/memory/{id}", token=token)[0] in (400, 404)
        assert server.ask(f"/api/memory/{id}", token=token, method="DELETE")[0] in (400, 404)


def asked(server: Server, method: str, path: str, token: str, body: Any = None) -> tuple[int, Any]:
    """As a program of theirs asks: the standard library, their headers, whatever it adds."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "X-Agent-ID": "worker-1"}
    data = None if body is None else json.dumps(body).encode()
    url = f"http://localhost:{server.port}/api/memory/{path}"
    try:
        with urlopen(Request(url, data, headers, method=method), timeout=120) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_their_hooks_and_runners_ask_unchanged(server: Server) -> None:
    """A file is indexed after it was written, a finished task is kept, and the next one begins with what fits it."""
    token = server.token("worker-1")
    file = {
        "name": "auth",
        "source": "file_index",
        "sourcePath": "/workspace/personal/memory/auth.md",
        "scope": "agent",
    }
    status, told = asked(server, "POST", "index", token, {"agentId": "worker-1", "content": FIX, **file})
    assert (status, told["queued"]) == (202, True)
    task = {"name": "Task: fix the login", "source": "task_completion", "sourceTaskId": "T-7", "scope": "swarm"}
    text = "Task: fix the login\n\nOutput:\nThe header was sent without its prefix; the client adds it now."
    status, kept = asked(server, "POST", "index", token, {"content": text, **task, "persistMemory": True})
    assert status == 202
    asks = {"query": "the login sends a wrong auth header", "intent": "begin a task", "limit": 5, "scope": "all"}
    status, found = asked(server, "POST", "search", token, asks)
    assert status == 200
    assert {"id", "name", "content", "similarity", "source", "scope", "tags"} <= set(found["results"][0])
    assert {item["id"] for item in found["results"]} == {*told["memoryIds"], *kept["memoryIds"]}
    status, page = asked(server, "POST", "list", token, {"scope": "swarm", "limit": 1, "offset": 0})
    assert (status, page["total"], page["limit"], page["mode"]) == (200, 1, 1, "list")
    [id] = kept["memoryIds"]
    assert asked(server, "GET", id, token)[1]["memory"]["sourceTaskId"] == "T-7"
    assert asked(server, "DELETE", id, token) == (200, {"deleted": True})
    status, gone = asked(server, "GET", id, token)
    assert (status, bool(gone["error"])) == (404, True)
    assert asked(server, "POST", "search", "wrong", asks)[0] == 401
