"""Runs tool calls as methods of `Lore` and turns results and errors into answers. Imported with the first call."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from swarmlore.domain.json_codec import code_of
from swarmlore.domain.records import Hit
from swarmlore.errors import SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.server.mcp import answers
from swarmlore.server.mcp.answers import Answer
from swarmlore.server.mcp.schema import checked
from swarmlore.server.mcp.tools import tool_named

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.lore import Lore
    from swarmlore.server.mcp.tool_answers import ConnectionState

    Handler = Callable[[Lore, dict[str, Any], str], Answer]


DEBUG = "SWARMLORE_DEBUG"


def answer(open_lore: Callable[[], Lore], name: str, arguments: Mapping[str, Any] | None, session: str) -> Answer:
    """Run a call of one of the eight tools; every error becomes an answer."""

    def work() -> Answer:
        given = checked(tool_named(name), arguments)
        return HANDLERS[name](open_lore(), given, session)

    return _with_errors_as_answers(work)


def answer_in(
    sets: Sequence[str],
    lend: Callable[[str], Lore],
    name: str,
    arguments: Mapping[str, Any] | None,
    talk: ConnectionState,
) -> Answer:
    """Run a call for a connection that asked for tool sets; `lend` opens the memory with the ranking of a profile."""
    from swarmlore.server.mcp.tool_answers import suited
    from swarmlore.server.mcp.tools import DEFAULT, PROFILES, handler_of, set_of

    def work() -> Answer:
        tool, chosen = tool_named(name, sets), set_of(name, sets)
        if chosen == DEFAULT:
            return answer(lambda: lend(""), name, arguments, talk.session)
        given = checked(tool, suited(tool, arguments))
        lore = lend(PROFILES[chosen])
        talk.find_session(lore)
        return handler_of(chosen, name)(lore, given, talk)

    return _with_errors_as_answers(work)


def _with_errors_as_answers(work: Callable[[], Answer]) -> Answer:
    """Run `work` and turn every error into an answer."""
    try:
        return work()
    except SwarmloreError as error:
        return answers.failed(error, code_of(error))
    except Exception as error:  # noqa: BLE001 - an entry point: a message, never a traceback, which can hold the text of a memory
        if os.environ.get(DEBUG):
            import traceback

            traceback.print_exception(error)
        unforeseen = SwarmloreError(f"something unforeseen happened ({type(error).__name__})", f"{DEBUG}=1 shows where")
        return answers.failed(unforeseen, "UNFORESEEN")


def _remember(lore: Lore, given: dict[str, Any], session: str) -> Answer:
    names = ("kind", "category", "tags", "situation", "tier")
    facts: dict[str, Any] = {name: given[name] for name in names if name in given}
    if "cite" in given:
        facts["citations"] = given["cite"]
    if given.get("note"):
        facts["source"] = "note"
    if session:
        facts["source_ref"] = {"session": session}
    return answers.remembered(lore.remember(given["text"], session=session, **facts))


def _recall(lore: Lore, given: dict[str, Any], session: str) -> Answer:
    filters = {name: given[name] for name in ("kinds", "tags") if name in given}
    hits = lore.recall(given["query"], given.get("limit"), **filters)
    return answers.found(hits, lore.quote(hits, given["query"], session=session), (*hits.reports, *hits.notes))


def _get(lore: Lore, given: dict[str, Any], session: str) -> Answer:
    memory = lore.get(given["id"])
    hit = Hit(memory, 0.0, (), lore.cited(memory))
    return answers.whole(hit, lore.quote([hit], memory.handle, trigger="get", session=session))


def _forget(lore: Lore, given: dict[str, Any], _: str) -> Answer:
    return answers.forgotten(lore.forget(given["id"]))


def _rate(lore: Lore, given: dict[str, Any], _: str) -> Answer:
    return answers.rated(lore.rate(given["id"], given["helpful"]), given["helpful"])


def _outcome(lore: Lore, given: dict[str, Any], session: str) -> Answer:
    names = (
        *("summary", "task", "duration_ms", "errors", "retries", "files", "strategy", "evaluation"),
        *("failure_details", "task_type", "tags", "persist"),
    )
    facts = {name: given[name] for name in names if name in given}
    return answers.recorded(lore.outcome(given["success"], session=session, applied=given.get("used", []), **facts))


def _reflect(lore: Lore, given: dict[str, Any], session: str) -> Answer:
    reflections = lore.reflections
    if "answer" in given:
        shown = reflections.open(low=True, reflection=given.get("id", ""))
        return answers.decided(reflections.answer(given["answer"], shown))
    text, items = given.get("text", ""), given.get("items", "")
    made = lore.reflect(text, items=items, session="" if text else session)
    return answers.proposed(made, reflections.open(low=True, reflection=made.id))


def _prime(lore: Lore, given: dict[str, Any], session: str) -> Answer:
    begin = lore.prime(given.get("topic", ""))
    shown = (*begin.patterns, *begin.notes, *begin.relevant, *begin.approaches, *begin.recent)
    block = lore.quote(shown, begin.topic, trigger="prime", session=session)
    return answers.primed(begin, block)


HANDLERS: dict[str, Handler] = {
    "remember": _remember,
    "recall": _recall,
    "get": _get,
    "forget": _forget,
    "rate": _rate,
    "outcome": _outcome,
    "reflect": _reflect,
    "prime": _prime,
}
