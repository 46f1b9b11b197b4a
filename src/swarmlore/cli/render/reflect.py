"""Text of `reflect`: proposals with their diffs, the result of an answer, the status, and consolidation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import MULTILINE, split

from swarmlore.cli.layout import Page, clean, hang, many, say, table
from swarmlore.domain.records import Proposal, Reflection
from swarmlore.frozen import TYPE_CHECKING, frozen

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.notes.reflect.apply import Applied
    from swarmlore.notes.reflect.reflections import Decided


_LEVELS = {"high": "green", "medium": "yellow", "low": "dim"}
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_ACTIONS = {"new": "new", "add": "added to", "update": "more for", "link": "new, linked with"}


@frozen
class Result:
    """What one run of `reflect` did and which proposals it shows."""

    made: Reflection | None = None
    finished: tuple[Applied, ...] = ()
    shown: tuple[Proposal, ...] = ()
    decided: Decided | None = None
    low: int = 0
    asks: bool = False  # a question follows


def result(done: Result, page: Page) -> str:
    """Render what was finished, reflected, proposed and decided, with hints on how to go on."""
    parts: list[str] = []
    parts += [part for applied in done.finished for part in _applied(applied, page)]
    parts += [_reflection(done.made, page)] if done.made else []
    parts += _proposals(done, page)
    if done.decided:
        parts += _decided(done.decided, page)
    elif not done.shown:
        parts.append("Nothing is proposed.")
    if done.low:
        waits = many(done.low, "proposal", "proposals")
        parts.append(say(f"{waits} of low confidence: swarmlore reflect --review", page, style="dim"))
    if done.shown and not done.decided and not done.asks:
        parts.append(say("A person decides: swarmlore reflect --review, or --answer 1,3 at a terminal.", page))
    return "\n\n".join(parts)


def _proposals(done: Result, page: Page) -> list[str]:
    """Render open proposals by number; older and new ones get a headline each if both exist."""
    current = done.made.id if done.made else ""
    before = [_proposal(item, page) for item in done.shown if item.reflection != current]
    new = [_proposal(item, page) for item in done.shown if item.reflection == current]
    if not current or not before:
        return before + new
    heads = [page.paint("bold", head) for head in ("Open from before", "New")]
    return [heads[0], *before, *([heads[1], *new] if new else [])]


def _reflection(made: Reflection, page: Page) -> str:
    """Render what a reflection looked at, its signals and how many proposals it made."""
    of = (
        f"session {clean(made.session)}" if made.session else {"items": "prepared learnings"}.get(made.source, "a text")
    )
    client = f" ({clean(made.client)})" if made.client else ""
    counts = ", ".join(f"{count} {level}" for level, count in made.signals.items())
    lines = [f"Reflected on {of}{client}: {many(sum(made.signals.values()), 'signal')} ({counts} confidence)."]
    known = f"; {made.known} known, waiting or rejected already" if made.known else ""
    better = f"; a language model worded {made.improved}" if made.improved else ""
    lines.append(f"{many(len(made.proposals), 'proposal')}{known}{better}.")
    lines += [f"episode: {clean(made.episode)}"] if made.episode else []
    lines += [f"left out: {clean(why)}" for why in made.refused]
    return "\n".join(say(line, page) for line in lines)


def _proposal(item: Proposal, page: Page) -> str:
    level = page.paint(_LEVELS.get(item.level, "dim"), item.level)
    head = f"{page.paint('bold', f'{item.number}  {item.label}')}  {item.route} · {level}"
    about = f" · {clean(item.category)}" if item.category not in ("", "Unknown") else ""
    similar = f" {clean(item.similar)}" if item.similar and item.action in ("link", "update") else ""
    action = _ACTIONS.get(item.action, item.action)
    lines = [hang(f"{head}{about} · ", f"{action}{similar or ' ' + clean(item.target)}", page, 3)]
    lines.append(hang("   ", item.title, page, 3))
    if item.quote:
        lines.append(hang("   said: ", f"“{item.quote}”", page, 9, "dim"))
    if item.why:
        lines.append(hang("   why: ", item.why, page, 8, "dim"))
    if item.conflict:
        lines.append(hang(f"   {page.paint('red', 'conflict:')} ", item.conflict, page, 13))
    if item.state == "prepared" or (item.by and item.state == "pending"):
        lines.append(hang("   ", item.reason or f"prepared by {item.by}", page, 3, "cyan"))
    elif item.reason:
        lines.append(hang(f"   {page.paint('red', 'cannot be added:')} ", item.reason, page, 20))
    return "\n".join([*lines, *(f"   {line}" for line in _diff(item.diff, page))])


def _diff(text: str, page: Page) -> Iterable[str]:
    """Colour a diff; a hunk that repeats an earlier one, for another file, is replaced by a remark."""
    seen: set[str] = set()
    for part in split(r"^(?=--- )", text, flags=MULTILINE):
        head, lines = part.splitlines()[:2], part.splitlines()[2:]
        yield from (page.paint("bold", clean(line)) for line in head)
        if (hunk := "\n".join(lines)) in seen:
            yield page.paint("dim", "  the same lines as above")
            continue
        seen.add(hunk)
        for line in lines:
            style = _COLOURS.get(line[:1], "")
            yield page.paint(style, clean(line)) if style else clean(line)


def _decided(decided: Decided, page: Page) -> list[str]:
    names = ", ".join(item.label for item in decided.proposals) or "nothing"
    if decided.applied is not None:
        return _applied(decided.applied, page)
    if decided.verb == "prepare":
        return [f"Kept as advice: {names}. Nothing is written: a person confirms it with swarmlore reflect --review"]
    return [f"Rejected, and not proposed again: {names}."]


def _applied(done: Applied, page: Page) -> list[str]:
    """Render which proposals were written, in which commits, and what is left to do."""
    lines = []
    for item in done.proposals:
        word = {"applied": "green", "failed": "red"}.get(item.state, "yellow")
        state = {"applied": "written", "failed": "not written", "approved": "not finished"}.get(item.state, item.state)
        lines.append(hang(f"{page.paint(word, state)}  {item.label}  ", clean(item.target), page, 4))
        if item.state == "failed":
            lines.append(say(item.reason, page, 4))
    for repository, commit in done.approval.commits.items():
        lines.append(say(f"commit {commit[:10]} in {repository} (to take it back: git revert {commit[:10]})", page))
    lines += [page.paint("yellow", say(problem, page)) for problem in done.approval.problems]
    lines += [say(note, page, style="dim") for note in done.notes]
    return ["\n".join(lines)] if lines else []


def switched(on: bool, page: Page) -> str:
    """Render the new state of automatic reflection."""
    if on:
        text = "On: each session that ends or is cut is looked at, and the next one says what waits for you."
        return "\n".join(
            [say(text, page), say("Nothing is changed without your answer: swarmlore reflect --review", page)]
        )
    return say("Off: sessions are looked at when you ask: swarmlore reflect", page)


def status(state: Mapping[str, Any], page: Page) -> str:
    """Render the counters of reflection over all projects, and what is open in this one."""
    metrics = state["metrics"]
    rows = [
        ("unasked", "on" if state["auto"] else "off"),
        ("last", metrics.at),
        ("sessions", f"{metrics.sessions:,}"),
        ("signals", f"{metrics.signals:,} ({_counts(metrics.confidence)})"),
        ("proposed", f"{metrics.proposed:,}"),
        ("accepted", f"{metrics.accepted:,} ({metrics.acceptance_rate:.0%})"),
        ("by type", _counts(metrics.types)),
        ("by scope", _counts(metrics.scopes)),
        ("agents", _counts(metrics.agents)),
        ("skills made", f"{metrics.skills:,}"),
        (
            "open here",
            f"{_counts(state['open']) or 'none'}"
            + (f", {state['open_low']} of low confidence" if state["open_low"] else ""),
        ),
        (
            "decided here",
            _counts({name: count for name, count in state["proposals"].items() if name not in ("pending", "prepared")}),
        ),
        ("not finished", str(state["unfinished"] or "")),
        ("older tool", f"{state['older_pending']} wait in ~/.reflect" if state["older_pending"] else ""),
        ("memories", f"{state['stats'].get('live', 0):,}"),
        (
            "notes",
            _counts(
                {name: count for name, count in (state["stats"].get("notes") or {}).items() if isinstance(count, int)}
            ),
        ),
    ]
    return "\n".join([page.paint("bold", "Reflection, over all projects"), *table(rows, page)])


def _counts(values: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {clean(name)}" for name, count in values.items() if count)


def consolidation(plan: Any, page: Page) -> str:
    """Render what other worktrees would bring into the main one."""
    lines = [f"{many(len(plan.trees), 'other work tree')} of {clean(plan.main)}; {plan.known} known there already."]
    lines += [line for change in plan.changes for line in _diff(change.diff, page)]
    lines += [f"left out, {clean(item.path)}:{item.line} says otherwise: {clean(item.text)}" for item in plan.opposed]
    lines += [f"no room for: {clean(item.text)}" for item in plan.no_room]
    lines += [f"refused: {clean(what)}: {clean(why)}" for what, why in plan.refused]
    return "\n".join(lines if plan.changes else [*lines, "There is nothing to bring in."])
