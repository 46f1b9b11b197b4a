"""What commands of this machine hand over to the server of their home, over the socket of their user."""

from __future__ import annotations

import json
from concurrent.futures import TimeoutError as TookTooLong

from swarmlore.domain.records import Caller, make
from swarmlore.errors import InvalidInput, SwarmloreError
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.remote.nearby import HANDED, asked, mark
from swarmlore.surfaces.http.asking import told
from swarmlore.surfaces.http.own_routes import document
from swarmlore.verbs.table import verb_named

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.lore import Lore
    from swarmlore.serving.hall import Hall

WAIT_S = 30.0
WITH_VECTORS = ("remember", "promote", "inject")
ALONE = {"ok": False, "error": "do it alone"}  # the same command, without us


class _Unlike(Exception):
    """This server would not do the same as the command."""


class CommandDesk:
    """Takes changes in turn with those of everybody else."""

    def __init__(self, hall: Hall) -> None:
        self._hall = hall

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """What became of a change: its document, or the error; or that the command had better make it itself."""
        try:
            verb, given, caller = self._read(request)
            folder, profile, key = (str(request.get(name, "")) for name in ("folder", "profile", "key"))
        except (InvalidInput, _Unlike, SwarmloreError):
            return ALONE
        work = self._work(verb, given, str(request.get("settings")))
        named = (key, asked(verb, given, profile))
        try:
            done = self._hall.write_here(caller, folder, profile, named, work).result(WAIT_S)
            return {"ok": True, "answer": json.loads(done)}
        except (_Unlike, TookTooLong) as error:
            return ALONE if isinstance(error, _Unlike) else {"ok": True, **_busy()}
        except SwarmloreError as error:
            return {"ok": True, "status": error.http_status, "problem": told(error)}

    def _read(self, request: dict[str, Any]) -> tuple[str, dict[str, Any], Caller]:
        verb = str(request.get("verb"))
        if verb not in HANDED or self._hall.writer.store.engine.remote:
            raise _Unlike
        who = request.get("caller")
        caller: Caller = make(Caller, who if isinstance(who, dict) else {}, "a caller")
        return verb, verb_named(verb).checked(request.get("given")), caller

    def _work(self, verb: str, given: dict[str, Any], settings: str) -> Any:
        def work(lore: Lore) -> str:
            if mark(lore) != settings or (verb in WITH_VECTORS and self._needs_model(lore, given)):
                raise _Unlike
            return json.dumps(document(verb, getattr(lore, verb)(**given)))

        return work

    def _needs_model(self, lore: Lore, given: dict[str, Any]) -> bool:
        """Whether a vector is to be made, and the model for it is not here: loading it would keep everybody waiting."""
        return not given.get("defer") and lore.settings.embedder.kind != "none" and not lore.embedding.loaded


def _busy() -> dict[str, Any]:
    return {
        "status": 503,
        "problem": {"error": "that took too long", "hint": "try again in a moment", "code": "STORE_BUSY"},
    }
