"""What people read about agent clients: what would change in their files, and how they stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from swarmlore.cli.layout import Page, ago, clean, hang, many, size, table, when
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.clients.install.plan import Change, Plan
    from swarmlore.clients.install.status import Given, Level, Standing
    from swarmlore.errors import SwarmloreError


SOME = 4  # changed lines of a file that a person reads before saying yes
_SIGNS = {"+": "green", "-": "red"}
_WHOSE = {"user": "your own files", "project": "this project"}


def planned(plan: Plan, page: Page, *, every_line: bool) -> str:
    """Every file with its changed lines; where it is new, goes or changes much, what that means in sentences, unless
    every line is wanted. Files of which the same is said stand together."""
    from itertools import groupby

    sign = page.paint("red", "  - ") if plan.takes_out else page.paint("green", "  + ")
    shown = ((_title(change, page), _lines(change, sign, page, every_line=every_line)) for change in plan.changes)
    alike = groupby(shown, key=lambda one: one[1])
    return "\n\n".join("\n".join([*(title for title, _ in group), *lines]) for lines, group in alike)


def _title(change: Change, page: Page) -> str:
    return f"{page.paint('bold', clean(change.path))} ({_what(change)})"


def _lines(change: Change, sign: str, page: Page, *, every_line: bool) -> list[str]:
    from swarmlore.clients.install.plan import difference

    found = list(difference(change))
    if not every_line and (_what(change) != "changed" or sum(line[0] in _SIGNS for line in found) > SOME):
        return [hang(sign, text, page, 4) for text in change.says]
    return [page.paint(_SIGNS.get(line[0], "dim"), clean(line)) for line in found]


def carried_out(plan: Plan, to_do: Sequence[str], page: Page, *, done: bool) -> str:
    """What became of a plan, and what is left to do."""
    files = many(len(plan.changes), "file")
    if not plan.changes:
        lines = ["Nothing has to be changed."]
    else:
        lines = [f"Changed {files}."] if done else [f"{files} would change; nothing was changed."]
    lines += [hang(page.paint("yellow", "note: "), note, page, 6) for note in plan.notes]
    lines += [hang(page.paint("cyan", "to do: "), text, page, 7) for text in (to_do if plan.changes else ())]
    return "\n".join(lines)


def left_out(plan: Plan) -> Iterator[str]:
    """Each client whose files cannot be used, why, and the way on."""
    from swarmlore.clients import client_called

    for name, error in plan.refused:
        yield f"{client_called(name).title}: {error.message}; {_way_on(error)}"


def _way_on(error: SwarmloreError) -> str:
    """The hint; what it says about changes holds for this client's files alone."""
    from swarmlore.clients.install.entries import UNTOUCHED

    return error.hint.removesuffix(UNTOUCHED).rstrip("; ")


def document(plan: Plan, to_do: Sequence[str], *, done: bool) -> dict[str, Any]:
    """The same for programs."""
    from swarmlore.clients.install.plan import difference

    files = [
        {"client": change.client, "path": change.path, "change": _what(change), "diff": list(difference(change))}
        for change in plan.changes
    ]
    return {
        "clients": list(plan.clients),
        "changed": done,
        "files": files,
        "notes": list(plan.notes),
        "to_do": list(to_do),
        "refused": [
            {"client": name, "error": error.message, "hint": _way_on(error), "exit_code": error.exit_code}
            for name, error in plan.refused
        ],
    }


def _what(change: Change) -> str:
    return "removed" if change.after is None else "new" if change.before is None else "changed"


def status(home: str, found: Sequence[Standing], page: Page, server: Mapping[str, Any] | None = None) -> str:
    lines = [f"memory in {clean(home)}"] if server is None else _server(server, page)
    for one in found:
        lines += ["", page.paint("bold", one.title) + ("" if one.found else page.paint("dim", " (not found here)"))]
        lines += table(_facts(one, page), page)
        lines += [hang("  " + page.paint("cyan", "to do: "), text, page, 9) for text in one.to_do]
    return "\n".join(lines)


def _server(told: Mapping[str, Any], page: Page) -> list[str]:
    """How the server stands that is asked."""
    lines = [f"memory of the server {clean(told['server'])}"]
    if told["token_holds"]:
        lines += table([("answers in", f"{told['ms']:g} ms"), ("as", f"{told['agent']}, {told['role']}"),
                        ("project", told["project"])], page)  # fmt: skip
    else:
        lines.append(hang("  " + page.paint("red", "problem: "), told["problem"], page, 11))
        lines.append(hang("  " + page.paint("cyan", "hint: "), told["hint"], page, 8))
    if told["waiting_bytes"]:
        lines += table([("not sent yet", size(told["waiting_bytes"]))], page)
    return lines


def _facts(one: Standing, page: Page) -> Iterator[tuple[str, str]]:
    for level in one.levels:
        if level.installed != "no" or level.level == "user":
            yield _WHOSE[level.level], _level(level, page)
    done = one.activity
    if not (one.installed or done.all_sessions):
        return
    yield "last event", when(done.last_event_at, page.now) if done.last_event_at else "none yet"
    yield "sessions", f"{done.sessions} in this project, {done.all_sessions} in all"
    yield "last given", _given(done.last_injection, page) if done.last_injection else "nothing yet"
    if done.last_skip:
        yield "last silence", f"{done.last_skip.reason} ({done.last_skip.trigger}, {ago(done.last_skip.at, page.now)})"


def _level(level: Level, page: Page) -> str:
    word = {"yes": "installed", "partly": "installed in part", "no": "not installed"}[level.installed]
    if level.installed == "no":
        return word
    by = f", by version {level.version}" if level.version else ""
    at = f", {ago(level.written_at, page.now)}" if level.written_at else ""
    return f"{word} in {level.folder}{by}{at}"


def _given(given: Given, page: Page) -> str:
    return f"{', '.join(given.handles)} ({given.trigger}, {ago(given.at, page.now)})"
