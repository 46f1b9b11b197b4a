"""`Nearby`: a local `Lore` whose writes go through the server that runs on this home, so that there is one writer.

Reads use the store directly. If the server does not take a write (it ended, has other settings, or would have to load a
model first), the command makes it itself. If no answer came, the store is searched for the request's key, so that no
write is made twice.
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


HERE = "here"  # token name under which the store keeps the answers to commands
CONNECT_S = 2.0
ANSWER_S = 35.0
LOOK_S = 5.0  # wait for an answer in the store
# Small writes; those that need an embedding are taken only if the server has the model loaded.
HANDED = (
    *("remember", "rate", "outcome", "apply", "forget", "forget_origin", "undo", "confirm", "start_phase"),
    *("complete_phase", "promote", "quarantine", "restore", "retract", "register", "send", "read", "ack"),
    *("delete_mail", "enqueue", "retry", "discard", "inject"),
)
NAMING = (
    "remember",
    "register",
    "send",
    "enqueue",
)  # before these the project's names are stored, as it must be found again under a new name


class ServerWriteLore:
    """A `Lore` whose writes go through the server of its home."""

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
        return (lambda *args, **given: self._write(name, own, args, given)) if name in HANDED else own

    def _write(self, name: str, own: Callable[..., Any], args: tuple[Any, ...], given: Mapping[str, Any]) -> Any:
        if name in NAMING:
            self._lore._keep_names()  # as the method itself would, but here the folder is the command's
        from swarmlore.server.client.calls import body_of, result_of

        body, key = body_of(name, args, given), os.urandom(16).hex()
        answer = self._ask_server(name, body, key)
        if answer is None:
            return own(*args, **given)
        if "status" in answer:
            from swarmlore.server.client.http import error_of

            raise error_of(int(answer["status"]), answer.get("problem"))
        return result_of(name, answer["answer"])

    def _ask_server(self, name: str, body: dict[str, Any], key: str) -> dict[str, Any] | None:
        """Send a write to the server and return its answer; None if the server did not make it and will not."""
        sock = connect(socket_path(self._lore.home), CONNECT_S)
        if sock is None:
            return None
        caller = self._lore.caller
        who = {"project": caller.project, "agent": caller.agent, "role": caller.role, "trust": caller.trust}
        where = {
            "folder": self._lore.project.root,
            "profile": self._profile,
            "settings": settings_fingerprint(self._lore),
        }
        request = {"op": "ask", "verb": name, "given": body, "caller": who, "key": key, **where}
        try:
            sock.settimeout(ANSWER_S)
            sock.sendall(json.dumps(request, separators=(",", ":")).encode() + b"\n")
            answer = answer_on(sock, time.monotonic() + ANSWER_S)
        except (OSError, ValueError):
            answer = None
        finally:
            sock.close()
        if answer is None:
            return self._stored_answer(name, body, key)
        return answer if answer.get("ok") else None

    def _stored_answer(self, name: str, body: dict[str, Any], key: str) -> dict[str, Any] | None:
        """After a lost answer, wait for its key in the store; None if it is not there and the server is gone. A live
        server may still make the write."""
        deadline = time.monotonic() + LOOK_S
        while True:
            with self._lore.acting():
                answer = self._lore.store.answer_to(HERE, key, request_fingerprint(name, body, self._profile))
            if answer is not None:
                return {"ok": True, "answer": json.loads(answer)}
            if connect_fails(self._lore.home):
                return None
            if time.monotonic() > deadline:
                raise StoreBusy("the server took too long", "see with swarmlore list whether it was done")
            time.sleep(0.1)


def connect_fails(home: str) -> bool:
    """Tell whether no server listens at the socket of a home."""
    sock = connect(socket_path(home), CONNECT_S)
    if sock is None:
        return True
    sock.close()
    return False


def request_fingerprint(name: str, body: Mapping[str, Any], profile: str) -> str:
    """Return the fingerprint of a request, which distinguishes requests with the same key."""
    import hashlib

    return hashlib.sha256(json.dumps([name, body, profile], sort_keys=True).encode()).hexdigest()


def settings_fingerprint(lore: Lore) -> str:
    """Return the fingerprint of the settings: a server with other settings would handle a write differently."""
    import hashlib

    return hashlib.sha256(repr(lore.settings).encode("utf-8", "replace")).hexdigest()
