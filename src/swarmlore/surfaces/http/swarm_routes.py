"""The routes of Agent Swarm's memory, `/api/memory/*`: its bodies, its answers and its status codes, by its rules.

A program written for that system asks here unchanged. Whose memory it is says the token; an `X-Agent-ID` or `agentId`
that names somebody else is refused, unless a lead speaks for another agent about what all may see.
"""

from __future__ import annotations

from functools import partial

from swarmlore.domain.records import STRATEGY_SOURCE
from swarmlore.errors import InvalidInput, NotAllowed, NotFound
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces.http.app import Route, soon
from swarmlore.surfaces.http.own_routes import WAIT_S
from swarmlore.surfaces.mcp.sets.agent_swarm_calls import SOURCES, TIERS, record, result_of
from swarmlore.surfaces.mcp.sets.saying import found
from swarmlore.verbs.schema import check

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from swarmlore.domain.records import Memory
    from swarmlore.lore import Lore
    from swarmlore.serving.hall import Hall
    from swarmlore.surfaces.http.app import App, Request

    Work = Callable[..., Any]  # of a memory and what was given

PROFILE = "swarm"
_TEXT: dict[str, Any] = {"type": "string", "maxLength": 1_000_000}
_NAME: dict[str, Any] = {"type": ["string", "null"], "maxLength": 4_096}
_SCOPE: dict[str, Any] = {"type": "string", "enum": list(TIERS)}
_SOURCE: dict[str, Any] = {"type": "string", "enum": list(SOURCES)}
_TAGS: dict[str, Any] = {"type": "array", "items": {"type": "string", "maxLength": 200}, "maxItems": 50}
_INDEX = {
    "agentId": _NAME,
    "content": _TEXT,
    "name": _TEXT,
    "scope": {"type": "string", "enum": ["agent", "swarm"]},
    "source": _SOURCE,
    "sourceTaskId": _NAME,
    "sourcePath": _NAME,
    "tags": _TAGS,
    "persistMemory": {"type": "boolean"},
    "contextKey": _NAME,
}
_SEARCH = {
    "query": _TEXT,
    "intent": _NAME,
    "limit": {"type": "integer", "minimum": 1, "maximum": 20},
    "scope": _SCOPE,
    "source": _SOURCE,
}
_LIST = {
    "query": _NAME,
    "agentId": _NAME,
    "scope": _SCOPE,
    "source": _SOURCE,
    "sourcePath": _NAME,
    "limit": {"type": "integer", "minimum": 1, "maximum": 100},
    "offset": {"type": "integer", "minimum": 0, "maximum": 10_000_000},
}
_EMBED = {"agentId": _NAME, "batchSize": {"type": "integer", "minimum": 1, "maximum": 100}}


def add(app: App, hall: Hall, wait_s: float = WAIT_S) -> None:
    """Let the application answer here."""

    def told(work: Work, takes: Mapping[str, Any], needs: tuple[str, ...], *, reads: bool) -> Callable[[Request], Any]:
        async def handle(request: Request) -> Any:
            given = _checked(request, await request.json(), takes, needs)
            return await soon(_asked(hall, request, partial(work, given=given), reads=reads), wait_s)

        return handle

    def named(work: Work) -> Callable[[Request], Any]:
        async def handle(request: Request) -> Any:
            _check_agent(request, None)
            id = request.path_values["id"]
            return await soon(_asked(hall, request, partial(work, id=id), reads=False), wait_s)

        return handle

    app.routes += [
        Route("POST", "/api/memory/index", told(_index, _INDEX, ("content", "name", "scope", "source"), reads=False)),
        Route("POST", "/api/memory/search", told(_search, _SEARCH, ("query",), reads=True)),
        Route("POST", "/api/memory/list", told(_list, _LIST, (), reads=True)),
        Route("POST", "/api/memory/re-embed", told(_embed, _EMBED, (), reads=False)),
        Route("GET", "/api/memory/{id}", named(_get)),
        Route("DELETE", "/api/memory/{id}", named(_delete)),
    ]


def _asked(hall: Hall, request: Request, work: Callable[[Lore], Any], *, reads: bool) -> Any:
    by = hall.read_by if reads else hall.write_by
    return by(request.token, partial(_by_rules, work))


def _by_rules(work: Callable[[Lore], Any], lend: Callable[[str], Lore]) -> Any:
    return work(lend(PROFILE))


def _checked(request: Request, body: Any, takes: Mapping[str, Any], needs: tuple[str, ...]) -> dict[str, Any]:
    """What was asked, without what nobody here knows: newer programs may say more."""
    if not isinstance(body, dict):
        raise InvalidInput("the body is no object", "send a JSON object")
    given = {name: value for name, value in body.items() if name in takes and value is not None}
    for name, value in given.items():
        check(name, value, takes[name])
    if missing := [name for name in needs if not given.get(name)]:
        raise InvalidInput(f"{missing[0]} is required", f"it takes: {', '.join(takes)}")
    _check_agent(request, given.get("agentId"))
    return given


def _check_agent(request: Request, named: str | None) -> None:
    """Nobody speaks for another agent; a lead may name one, and sees of it what all may see."""
    said = {name for name in (named, request.header(b"x-agent-id")) if name}
    if said - {request.token.agent} and request.token.role != "lead":
        raise NotAllowed("this token is another agent's", f"it is for {request.token.agent}")


def _index(lore: Lore, given: dict[str, Any]) -> Any:
    made = lore.index_text(
        given["content"],
        title=given["name"],
        tier=given["scope"],
        source=given["source"],
        path=given.get("sourcePath", ""),
        task=given.get("sourceTaskId", ""),
        tags=given.get("tags", []),
    )
    return 202, {"queued": True, "memoryIds": [memory.id for memory in made]}


def _search(lore: Lore, given: dict[str, Any]) -> Any:
    asked: dict[str, Any] = {
        "tiers": TIERS[given.get("scope", "all")],
        "sources": SOURCES.get(given.get("source", ""), ()),
    }
    lore.embedding.awaited()
    hits = lore.recall(given["query"], given.get("limit", 5), **asked)
    recent = any(part.name == "recent" for hit in hits for part in hit.explanation)
    results = [result_of(hit, ranked=not recent) for hit in hits]
    return {"results": [{"similarity": 0.0, **item} for item in results]}  # their programs compare it with a bound


def _list(lore: Lore, given: dict[str, Any]) -> Any:
    limit, offset = given.get("limit", 20), given.get("offset", 0)
    place = {"limit": limit, "offset": offset}
    if given.get("query"):
        hits = _search(lore, {**given, "limit": offset + limit})["results"]
        return {"results": hits[offset:], "total": len(hits), **place, "mode": "semantic"}
    wanted = _filter(given)
    page = [record(memory) for memory in lore.list(**wanted, **place)]
    return {"results": page, "total": lore.count(**wanted), **place, "mode": "list"}


def _filter(given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "tiers": TIERS[given.get("scope", "all")],
        "sources": SOURCES.get(given.get("source", ""), ()),
        "owner": given.get("agentId", ""),
        "path": given.get("sourcePath", ""),
        "without": STRATEGY_SOURCE,  # in no list of theirs, whatever is asked for
    }


def _embed(lore: Lore, given: dict[str, Any]) -> Any:
    total = lore.count() or 0
    lore.embed_later()
    return 202, {"started": True, "totalMemories": total}


def _get(lore: Lore, id: str) -> Any:
    return {"memory": record(lore.get(_there(lore, id).id))}


def _delete(lore: Lore, id: str) -> Any:
    lore.forget(_there(lore, id).id)
    return {"deleted": True}


def _there(lore: Lore, id: str) -> Memory:
    """The memory of an id; what was deleted is not there, although we can bring it back."""
    memory = found(lore, id)
    if memory is None:
        raise NotFound("Memory not found", "POST /api/memory/list shows the ids")
    return memory
