"""A memory whose changes are made by the server that runs on this home, so that there is one writer.

Everything else is read from the store itself. Where the server does not take a change (it has ended, it has other
settings, it would have to load a model first), the command makes it alone. A change that may have been made is not
made again: its name is looked for in the store.
"""

from __future__ import annotations

import json
import os
import time

from swarmlore.clients.hook.home import socket_path
from swarmlore.clients.hook.socket import answer_on, connect
from swarmlore.errors import StoreBusy
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Self

    from swarmlore.lore import Lore


HERE = "here"  # under this name the store keeps what was answered to commands
CONNECT_S = 2.0
ANSWER_S = 35.0
LOOK_S = 5.0  # for an answer that was kept before the server ended
# Changes that are small and do not depend on vectors; those that do, the server takes where it has the model.
HANDED = (
    *("remember", "rate", "outcome", "apply", "forget", "forget_origin", "undo", "confirm", "start_phase"),
    *("complete_phase", "promote", "quarantine", "restore", "retract", "register", "send", "read", "ack"),
    *("delete_mail", "enqueue", "retry", "discard", "inject"),
)
NAMING = ("remember", "register", "send", "enqueue")  # after which a project must be found again under a new name


class Nearby:
    """A `Lore` whose changes go through the server of its home."""

    def __init__(self, lore: Lore, profile: str = "") -> None:
        self._lore = lore
        self._profile = profile

    def __enter__(self) -> Self:
        self._lore.__enter__()
        return self

    def __exit__(self, *how: object) -> None:
        self._lore.__exit__(*how)

    def __getattr__(self, name: str) -> Any:
        own = getattr(self._lore, name)
        return (lambda *args, **given: self._hand_over(name, own, args, given)) if name in HANDED else own

    def _hand_over(self, name: str, own: Callable[..., Any], args: tuple[Any, ...], given: Mapping[str, Any]) -> Any:
        if name in NAMING:
            self._lore._keep_names()  # as the call itself would, in the folder of the command
        from swarmlore.server.client.calls import body_of, result_of

        body, key = body_of(name, args, given), os.urandom(16).hex()
        told = self._told(name, body, key)
        if told is None:
            return own(*args, **given)
        if "status" in told:
            from swarmlore.server.client.http import error_of

            raise error_of(int(told["status"]), told.get("problem"))
        return result_of(name, told["answer"])

    def _told(self, name: str, body: dict[str, Any], key: str) -> dict[str, Any] | None:
        """What the server says; None where it has not done it, and will not."""
        sock = connect(socket_path(self._lore.home), CONNECT_S)
        if sock is None:
            return None
        caller = self._lore.caller
        who = {"project": caller.project, "agent": caller.agent, "role": caller.role, "trust": caller.trust}
        where = {"folder": self._lore.project.root, "profile": self._profile, "settings": mark(self._lore)}
        request = {"op": "ask", "verb": name, "given": body, "caller": who, "key": key, **where}
        try:
            sock.settimeout(ANSWER_S)
            sock.sendall(json.dumps(request, separators=(",", ":")).encode() + b"\n")
            told = answer_on(sock, time.monotonic() + ANSWER_S)
        except (OSError, ValueError):
            told = None
        finally:
            sock.close()
        if told is None:
            return self._kept(name, body, key)
        return told if told.get("ok") else None

    def _kept(self, name: str, body: dict[str, Any], key: str) -> dict[str, Any] | None:
        """No answer came: the change was made if its answer is in the store. A server that lives may still make it."""
        deadline = time.monotonic() + LOOK_S
        while True:
            with self._lore.acting():
                found = self._lore.store.answer_to(HERE, key, asked(name, body, self._profile))
            if found is not None:
                return {"ok": True, "answer": json.loads(found)}
            if connect_fails(self._lore.home):
                return None
            if time.monotonic() > deadline:
                raise StoreBusy("the server took too long", "see with swarmlore list whether it was done")
            time.sleep(0.1)


def connect_fails(home: str) -> bool:
    """Whether nobody is there any more."""
    sock = connect(socket_path(home), CONNECT_S)
    if sock is None:
        return True
    sock.close()
    return False


def asked(name: str, body: Mapping[str, Any], profile: str) -> str:
    """By what a request is told from another one of the same name."""
    import hashlib

    return hashlib.sha256(json.dumps([name, body, profile], sort_keys=True).encode()).hexdigest()


def mark(lore: Lore) -> str:
    """The settings of a memory, to be compared: a server with others would do another thing."""
    import hashlib

    return hashlib.sha256(repr(lore.settings).encode("utf-8", "replace")).hexdigest()
