"""Hooks in a file of our own, as Copilot CLI reads them: under each event a list of handlers, without groups."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.installing.calls import Call, Target, hook_call, hook_line
from swarmlore.installing.entries import HOOKS, Hook, mend_lines, need, prune, set_to

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.installing.json_text import JsonSheet, Path

VERSION: Path = ("version",)
FORM = 1
LINE = "bash"


@frozen
class FlatHooks:
    """Shell lines under `hooks.<event>`, behind those of others; the file says which form it has."""

    client: str
    target: Target
    hooks: tuple[Hook, ...]

    def put(self, sheet: JsonSheet) -> None:
        if sheet.at(VERSION) is None:
            sheet.put(VERSION, FORM)
            sheet.made.append(VERSION)
        sheet.ensure(HOOKS, {})
        need(sheet, HOOKS, dict)
        for hook in self.hooks:
            path = (*HOOKS, hook.event)
            sheet.ensure(path, [])
            need(sheet, path, list)
            self._put(sheet, path, hook)

    def _put(self, sheet: JsonSheet, path: Path, hook: Hook) -> None:
        values: dict[str, Any] = {"type": "command", LINE: hook_line(self.client, hook.event, self.target)}
        values |= {"timeoutSec": hook.timeout_s, **({"matcher": hook.matcher} if hook.matcher else {})}
        own = list(self._own(sheet, hook.event))
        if not own:
            sheet.append(path, values)
            return
        for place in reversed(own[1:]):
            sheet.remove(place)
        for key, value in values.items():
            set_to(sheet, (*own[0], key), value)

    def mend(self, sheet: JsonSheet) -> str:
        lines = [(*place, LINE) for hook in self.hooks for place in self._own(sheet, hook.event)]
        return mend_lines(sheet, self.client, lines)

    def take(self, sheet: JsonSheet, made: Collection[Path] | None) -> None:
        events, held = sheet.at(HOOKS), bool(made)
        for event in list(events) if isinstance(events, dict) else []:
            own = list(self._own(sheet, event))
            for place in reversed(own):
                sheet.remove(place)
            if own or made:
                prune(sheet, (*HOOKS, event), made)
                held = True
        if held:
            prune(sheet, HOOKS, made)
        if sheet.data == {"version": FORM} and (made is None or VERSION in made):  # it says nothing else
            sheet.remove(VERSION)

    def found(self, sheet: JsonSheet) -> tuple[int, int]:
        return sum(any(True for _ in self._own(sheet, hook.event)) for hook in self.hooks), len(self.hooks)

    def calls(self, sheet: JsonSheet) -> Iterator[Call]:
        events = sheet.at(HOOKS)
        for event in events if isinstance(events, dict) else ():
            for place in self._own(sheet, event):
                if call := hook_call(sheet.at((*place, LINE)), self.client):
                    yield call

    def says(self, going: bool) -> str:
        events = ", ".join(hook.event for hook in self.hooks)
        runs = f"; each runs: {hook_line(self.client, 'EVENT', self.target)}"
        return f"hooks at {events}" + ("" if going else runs)

    def _own(self, sheet: JsonSheet, event: str) -> Iterator[Path]:
        """Where our handlers of an event are, whatever else is there."""
        handlers = sheet.at((*HOOKS, event))
        for place, handler in enumerate(handlers if isinstance(handlers, list) else ()):
            if isinstance(handler, dict) and hook_call(handler.get(LINE), self.client):
                yield (*HOOKS, event, place)
