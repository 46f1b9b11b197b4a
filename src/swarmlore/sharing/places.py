"""Where a ledger lies, and whether it differs from what was last seen: asked at every recall, so it loads little."""

from __future__ import annotations

import os

from swarmlore.frozen import frozen
from swarmlore.store.store import Store
from swarmlore.workspace.files import Folder
from swarmlore.workspace.git import merge_under_way


@frozen
class Place:
    """Where a ledger lies and what belongs in it."""

    key: str
    folder: str
    stem: str
    tier: str
    project_name: str

    @property
    def main(self) -> str:
        return f"{self.stem}.jsonl"

    @property
    def quarantined(self) -> str:
        return f"{self.stem}-quarantined.jsonl"

    @property
    def rejected(self) -> str:
        return f"{self.stem}-rejected.jsonl"

    @property
    def unreadable(self) -> str:
        return f"{self.stem}-unreadable.jsonl"

    def stamp(self, folder: Folder) -> str:
        """A text that is another one after the files have changed, or git has stopped while merging: it may leave one
        side of them as it was."""
        return " ".join((folder.stamp(self.main, self.quarantined), *self.merging()))

    def merging(self) -> list[str]:
        """A mark of the merge that is under way, if there is one."""
        mark = "" if self.tier == "hive" else merge_under_way(os.path.dirname(self.folder))
        return [mark] if mark else []

    def differs(self, store: Store, *, changed: bool) -> bool:
        """Whether the files have changed since the last pass, or (if that is asked) the store has."""
        with Folder(self.folder) as folder:
            state = store.ledger_state(self.key)
            if state is None or state.stamp != self.stamp(folder):
                return True
            return changed and state.seen != store.last_audit()
