"""Text of `install`, `uninstall` and `status`: planned changes to client files, and the state of each client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from swarmlore.cli.layout import Page, ago, clean, hang, many, size, table, when
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.clients.install.plan import Change, Plan
    from swarmlore.clients.install.status import ClientStatus, Given, Level
    from swarmlore.errors import SwarmloreError


SOME = 4  # changed lines of a file shown before the question; a longer diff is summed up in sentences
_SIGNS = {"+": "green", "-": "red"}
_WHOSE = {"user": "your own files", "project": "this project"}


def planned(plan: Plan, page: Page, *, every_line: bool) -> str:
    """Render the planned change of each file; files with the same change are listed together.

    Small changes are shown as a diff. New, removed or much changed files are described in sentences unless
    `every_line` is set.
    """
    from itertools import groupby

    sign = page.paint("red", "  - ") if plan.takes_out else page.paint("green", "  + ")
    shown = ((_title(change, page), _lines(change, sign, page, every_line=every_line)) for change in plan.changes)
    alike = groupby(shown, key=lambda title_and_lines: title_and_lines[1])
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
    """Render how many files were or would be changed, the notes of the plan, and what is left to do."""
    files = many(len(plan.changes), "file")
    if not plan.changes:
        lines = ["Nothing has to be changed."]
    else:
        lines = [f"Changed {files}."] if done else [f"{files} would change; nothing was changed."]
    lines += [hang(page.paint("yellow", "note: "), note, page, 6) for note in plan.notes]
    lines += [hang(page.paint("cyan", "to do: "), text, page, 7) for text in (to_do if plan.changes else ())]
    return "\n".join(lines)


def left_out(plan: Plan) -> Iterator[str]:
    """Yield a line for each client whose files cannot be changed, with reason and hint."""
    from swarmlore.clients import installer_of

    for name, error in plan.refused:
        yield f"{installer_of(name).title}: {error.message}; {_way_on(error)}"


def _way_on(error: SwarmloreError) -> str:
    """Return the hint of an error, without its remark that nothing was changed: other clients may have been."""
    from swarmlore.clients.install.entries import UNTOUCHED

    return error.hint.removesuffix(UNTOUCHED).rstrip("; ")


def document(plan: Plan, to_do: Sequence[str], *, done: bool) -> dict[str, Any]:
    """Return a plan as a JSON document."""
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


def status(home: str, found: Sequence[ClientStatus], page: Page, server: Mapping[str, Any] | None = None) -> str:
    """Render the home or server in use, then install state and activity of each client."""
    lines = [f"memory in {clean(home)}"] if server is None else _server(server, page)
    for client in found:
        missing = "" if client.found else page.paint("dim", " (not found here)")
        lines += ["", page.paint("bold", client.title) + missing, *table(_facts(client, page), page)]
        lines += [hang("  " + page.paint("cyan", "to do: "), text, page, 9) for text in client.to_do]
    return "\n".join(lines)


def _server(state: Mapping[str, Any], page: Page) -> list[str]:
    """Render the state of the server, and how much waits in the outbox."""
    lines = [f"memory of the server {clean(state['server'])}"]
    if state["token_holds"]:
        lines += table([("answers in", f"{state['ms']:g} ms"), ("as", f"{state['agent']}, {state['role']}"),
                        ("project", state["project"])], page)  # fmt: skip
    else:
        lines.append(hang("  " + page.paint("red", "problem: "), state["problem"], page, 11))
        lines.append(hang("  " + page.paint("cyan", "hint: "), state["hint"], page, 8))
    if state["waiting_bytes"]:
        lines += table([("not sent yet", size(state["waiting_bytes"]))], page)
    return lines


def _facts(client: ClientStatus, page: Page) -> Iterator[tuple[str, str]]:
    """Yield the rows about a client: install levels, last event, sessions, last injection and last silence."""
    for level in client.levels:
        if level.installed != "no" or level.level == "user":
            yield _WHOSE[level.level], _level(level, page)
    done = client.activity
    if not (client.installed or done.all_sessions):
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
