"""Machines with cables between them, as network namespaces of this one: a real network that can be cut.

A thread that is `inside` a machine, and every process that it starts there, sees only that machine's network; files
are those of the whole system.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from programs import need

CUTS = ("drop", "down", "answers")
_NEWNET = 0x40000000


def why_not() -> str:
    """Why there can be no such network here; '' where there can."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "network namespaces need root"
    need("ip")
    name = f"swlx{os.getpid()}"
    tried = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    subprocess.run(["ip", "netns", "del", name], capture_output=True)
    return tried.stderr.strip()


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Network:
    """Machines by name, all at one switch."""

    def __init__(self, *names: str) -> None:
        self._prefix = f"swl{os.getpid() % 100_000}"
        self._names = names
        self._switch = f"{self._prefix}hub"
        _ip("netns", "add", self._switch)
        _ip("-n", self._switch, "link", "add", "br0", "type", "bridge")
        _ip("-n", self._switch, "link", "set", "br0", "up")
        for name in names:
            self._add(name)

    def _add(self, name: str) -> None:
        own = self._space(name)
        _ip("netns", "add", own)
        _ip("-n", self._switch, "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", own)
        _ip("-n", self._switch, "link", "set", name, "master", "br0", "up")
        _ip("-n", own, "link", "set", "lo", "up")
        _ip("-n", own, "addr", "add", f"{self.address(name)}/24", "dev", "eth0")
        _ip("-n", own, "link", "set", "eth0", "up")

    def _space(self, name: str) -> str:
        return f"{self._prefix}{name}"

    def address(self, name: str) -> str:
        return f"10.77.0.{self._names.index(name) + 1}"

    @contextmanager
    def inside(self, name: str) -> Iterator[None]:
        """This thread, and what it starts, on that machine."""
        with (
            open(f"/proc/self/task/{threading.get_native_id()}/ns/net") as here,
            open(f"/var/run/netns/{self._space(name)}") as there,
        ):
            _enter(there.fileno())
            try:
                yield
            finally:
                _enter(here.fileno())

    def cut(self, name: str, how: str, far: str = "") -> None:
        """`drop`: packets of a machine vanish; `down`: its cable is out; `answers`: only what it sends to `far` is lost."""
        if how == "drop":
            _ip("-n", self._switch, "link", "set", name, "nomaster")
        elif how == "down":
            _ip("-n", self._switch, "link", "set", name, "down")
        else:
            _ip("-n", self._space(name), "route", "add", "blackhole", f"{self.address(far)}/32")

    def mend(self, name: str, how: str, far: str = "") -> None:
        if how == "drop":
            _ip("-n", self._switch, "link", "set", name, "master", "br0")
        elif how == "down":
            _ip("-n", self._switch, "link", "set", name, "up")
        else:
            _ip("-n", self._space(name), "route", "del", "blackhole", f"{self.address(far)}/32")

    def close(self) -> None:
        for name in (*(self._space(name) for name in self._names), self._switch):
            with contextlib.suppress(subprocess.CalledProcessError):
                _ip("netns", "del", name)


def _enter(fd: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(fd, _NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "cannot enter a network")
