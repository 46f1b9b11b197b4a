"""reflect --consolidate: what other work trees of a repository have learned, brought into its main one."""

from __future__ import annotations

from swarmlore.domain.json_codec import plain
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.surfaces import render_reflect
from swarmlore.surfaces.cli.desk import Desk

if TYPE_CHECKING:
    from swarmlore.lore import Lore


def run_consolidate(desk: Desk, lore: Lore) -> int:
    """Show what would be added; a person at a terminal is asked, and what is agreed to becomes one commit."""
    plan = lore.context.plan_consolidation()
    wanted = bool(plan.changes) and lore.caller.role == "person" and desk.can_ask and desk.is_seen and not desk.json
    document = {**plain(plan), "changes": [{"path": one.path, "diff": one.diff} for one in plan.changes]}
    desk.show(lambda: document, lambda page: render_reflect.consolidation(plan, page), whole=True)
    if not wanted:
        return 0
    said = desk.ask("Bring these in? [y/N]")
    if (said or "").lower() not in ("y", "yes"):
        desk.note("nothing was changed")
        return 0
    done = lore.context.consolidate()
    # What a client keeps for itself lies in no repository.
    own = tuple(change for change in done.changes if change.root == done.main)
    for note in lore.reflections.commit_changes(done.main, own):
        desk.note(note)
    return 0
