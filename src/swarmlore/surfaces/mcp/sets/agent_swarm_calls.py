"""What the memory tools of Agent Swarm do: its rules (profile swarm), its answers, its words."""

from __future__ import annotations

from collections.abc import Mapping

from swarmlore.domain.extraction.lesson_text import ONLY_LEADS
from swarmlore.domain.json_codec import iso
from swarmlore.domain.policy.gate import scrub_text
from swarmlore.domain.records import LESSON_SOURCES, Hit, Memory
from swarmlore.errors import NotAllowed, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces.mcp.sets.saying import Talk, fetched, found, said, shown, tame

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.lore import Lore
    from swarmlore.surfaces.mcp.answers import Answer
    from swarmlore.surfaces.mcp.sets import Handler

CONTENT_CHARS = 500  # of one result among others; memory-get has the rest
NAME_CHARS = 200
TIERS = {"all": (), "agent": ("agent",), "swarm": ("swarm", "hive")}
# Which of our sources each of theirs stands for; what is none of these was put there on purpose.
SOURCES = {
    "file_index": ("file_index", "note"),
    "session_summary": ("session_summary", "transcript"),
    "task_completion": ("task_completion", "outcome"),
    "manual": LESSON_SOURCES,
}
NO_VECTORS = "Embedding unavailable (no OPENAI_API_KEY). Showing {} most recent memories."
NO_AGENT = "Agent ID required. Are you registered in the swarm?"
NOT_YOURS = "Permission denied. You can only delete your own memories, or swarm memories if you are the lead."
NOT_YOURS_TO_EDIT = "Permission denied. You can only edit your own memories unless you are the lead."


def _reply(lore: Lore, message: str, *, success: bool = True, **more: Any) -> Answer:
    return said({"yourAgentId": lore.caller.agent, "success": success, "message": message, **more})


def _missing(lore: Lore, id: str) -> Answer:
    return _reply(lore, f'Memory "{id}" not found.', success=False)


# Find


def _search(lore: Lore, given: dict[str, Any], talk: Talk) -> Answer:
    query, scope = given["query"], given.get("scope", "all")
    asked: dict[str, Any] = {"tiers": TIERS[scope], "sources": SOURCES.get(given.get("source", ""), ())}
    lore.embedding.awaited()  # without it the newest would be shown, whatever they say
    hits, _ = shown(lore, lore.recall(query, given.get("limit", 10), **asked), query, talk)
    recent = any(part.name == "recent" for hit in hits for part in hit.explanation)
    echo = scrub_text(query)[:CONTENT_CHARS]
    message = NO_VECTORS.format(len(hits)) if recent else f'Found {len(hits)} memories matching "{echo}".'
    return _reply(lore, message, results=[result_of(hit, ranked=not recent) for hit in hits])


def result_of(hit: Hit, *, ranked: bool) -> dict[str, Any]:
    """One hit as Agent Swarm tells it; `ranked` where it was found by its meaning."""
    memory = hit.memory
    values: dict[str, Any] = {"id": memory.id, "name": _name(memory), "summary": None}
    values |= {"content": tame(memory.text, CONTENT_CHARS), "source": _source(memory), "scope": _scope(memory)}
    values |= {"tags": [tame(tag) for tag in memory.tags], "createdAt": iso(memory.created_at)}
    if not ranked:
        return values
    raw = next((part.value for part in hit.explanation if part.name == "similarity"), hit.score)
    score = round(hit.score, 6)
    return {**values, "similarity": score, "rawSimilarity": round(raw, 6), "compositeScore": score}


def _get(lore: Lore, given: dict[str, Any], talk: Talk) -> Answer:
    memory = fetched(lore, given["memoryId"], talk)
    if memory is None:
        return _missing(lore, given["memoryId"])
    return _reply(lore, f'Memory "{_name(memory)}" retrieved.', memory=record(memory))


def record(memory: Memory) -> dict[str, Any]:
    """One memory as Agent Swarm writes it."""
    ref = memory.source_ref
    return {
        "id": memory.id,
        "agentId": memory.owner or None,
        "scope": _scope(memory),
        "name": _name(memory),
        "content": tame(memory.text),
        "summary": None,
        "source": _source(memory),
        "sourceTaskId": ref.get("task"),
        "sourcePath": ref.get("path") or ref.get("file"),
        "chunkIndex": ref.get("chunk", 0),
        "totalChunks": ref.get("chunks", 1),
        "tags": [tame(tag) for tag in memory.tags],
        "createdAt": iso(memory.created_at),
        "updatedAt": iso(memory.updated_at),
        "accessedAt": iso(memory.last_accessed_at or memory.created_at),
        "expiresAt": iso(memory.expires_at),
        "accessCount": memory.access_count,
        "version": memory.version,
    }


def _name(memory: Memory) -> str:
    """Its title, else how it begins."""
    lines = (line for line in memory.text.splitlines() if line.strip())
    return tame((memory.title.strip() or next(lines, "")).replace("\n", " "), NAME_CHARS)


def _scope(memory: Memory) -> str:
    return "agent" if memory.tier == "agent" else "swarm"


def _source(memory: Memory) -> str:
    return next((theirs for theirs, ours in SOURCES.items() if memory.source in ours), "manual")


# Store and change


def _store(lore: Lore, given: dict[str, Any], talk: Talk) -> Answer:
    scope, content = given.get("scope", "agent"), given["content"]
    if not lore.caller.agent:
        return _reply(lore, NO_AGENT, success=False)
    origin = {"task": given.get("taskId"), "session": talk.session}
    facts = {"tier": scope, "title": given.get("name", ""), "tags": given.get("tags", [])}
    facts["source_ref"] = {name: value for name, value in origin.items() if value}
    try:
        told = lore.remember(content, session=talk.session, **facts)
    except SwarmloreError as refusal:
        return _reply(lore, f"Memory store failed: {refusal.message}", success=False)
    if told.outcome == "quarantined":
        return _reply(lore, f"Memory store failed: {told.reason}", success=False)
    message = f'Memory "{_name(told.memory)}" stored as 1 chunk(s) in {scope} scope.'
    return _reply(lore, message, memoryIds=[told.memory.id], chunks=1, queued=True)


def _edit(lore: Lore, given: dict[str, Any], _: Talk) -> Answer:
    id = given["memoryId"]
    if (memory := found(lore, id)) is None:
        return _missing(lore, id)
    text, problem = _edited(memory.text, given)
    if problem:
        return _reply(lore, f"Memory edit failed: {problem}", success=False)
    if text == memory.text:
        return _changed(lore, memory, memory)
    try:
        after = lore.edit(memory.id, text, version=given.get("expectedVersion"), reason=given.get("intent", ""))
    except NotAllowed as refusal:
        return _reply(lore, refusal.message if "file" in refusal.message else NOT_YOURS_TO_EDIT, success=False)
    except SwarmloreError as refusal:
        return _reply(lore, f"Memory edit failed: {refusal.message}", success=False)
    return _changed(lore, memory, after)


def _changed(lore: Lore, before: Memory, after: Memory) -> Answer:
    changed = after.version != before.version
    message = (
        f'Memory "{after.id}" edited to version {after.version}.' if changed else f'Memory "{after.id}" unchanged.'
    )
    versions: dict[str, Any] = {"previousVersion": before.version, "version": after.version}
    return _reply(lore, message, memory=record(after), changed=changed, **versions)


def _edited(text: str, given: Mapping[str, Any]) -> tuple[str, str]:
    """The text after an edit, or what is wrong with that."""
    if given.get("mode", "replace") == "replace":
        return given.get("content", ""), "" if given.get("content") else "content is required for replace"
    old, new = given.get("oldString", ""), given.get("newString")
    if not old or new is None:
        return "", "oldString and newString are required for exact"
    times = text.count(old)
    if times != 1:
        return "", f"oldString stands there {times} times, not once" if times else "oldString was not found"
    return text.replace(old, new), ""


def _rate(lore: Lore, given: dict[str, Any], _: Talk) -> Answer:
    id = given["id"]
    if found(lore, id) is None:
        return said({"success": False, "message": f'Memory "{id}" not found.'})
    lore.rate(id, given["useful"])
    word = "useful" if given["useful"] else "not useful"
    return said({"success": True, "message": f"Memory {id} rated as {word}."})


# For leads


def _delete(lore: Lore, given: dict[str, Any], _: Talk) -> Answer:
    id = given["memoryId"]
    if (memory := found(lore, id)) is None:
        return _missing(lore, id)
    try:
        lore.forget(memory.id)
    except NotAllowed:
        return _reply(lore, NOT_YOURS, success=False)
    return _reply(lore, f'Memory "{id}" deleted.')


def _inject(lore: Lore, given: dict[str, Any], _: Talk) -> Answer:
    if not lore.caller.leads:
        return _reply(lore, ONLY_LEADS, success=False)
    target, category = given["agentId"], given["category"]
    try:
        told = lore.inject(target, given["learning"], category, tags=given.get("tags", []))
    except SwarmloreError as refusal:
        return _reply(lore, f"Learning not injected: {refusal.message}", success=False)
    if told.outcome == "quarantined":
        return _reply(lore, f"Learning not injected: {told.reason}", success=False)
    message = f"Learning injected into {tame(target, 80)}'s memory (category: {category})."
    return _reply(lore, message, memoryId=told.memory.id)


HANDLERS: dict[str, Handler] = {
    "memory-search": _search,
    "memory-get": _get,
    "memory-delete": _delete,
    "inject-learning": _inject,
    "memory-store": _store,
    "memory-edit": _edit,
    "memory_rate": _rate,
}
