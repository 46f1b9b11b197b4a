"""Simulated agents that ask a server: each request is sent when it is due, whether or not the last was answered.

Latency counts from the moment a request was due, so that a server that falls behind cannot hide it (an open loop).
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

PORTERS = 2  # processes that the agents live in


@dataclass(frozen=True)
class Due:
    """A request, and when it is to be sent."""

    at: float
    agent: int
    kind: str
    path: str
    body: bytes


@dataclass(frozen=True)
class Told:
    """How a request went; `id` is what a write was acknowledged with."""

    agent: int
    kind: str
    seconds: float
    status: int
    id: str = ""
    why: str = ""


class Wire(asyncio.Protocol):
    """One connection. Plain, as what the agents compute is taken from the server that is measured."""

    def __init__(self) -> None:
        self._came = bytearray()
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._came += data
        head, whole, body = self._came.partition(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0) if whole else 1
        if whole and len(body) >= length and self._answer is not None:
            answer, self._answer, self._came = self._answer, None, bytearray()
            answer.set_result((int(lines[0].split()[1]), bytes(body)))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None:
            self._answer.set_exception(exc or ConnectionResetError())
            self._answer = None

    def ask(self, data: bytes) -> asyncio.Future[tuple[int, bytes]]:
        assert self._transport is not None
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(data)
        return self._answer


@dataclass
class Line:
    """The connections of one agent: one is kept, more are made where answers overlap."""

    port: int
    token: str
    free: list[Wire] = field(default_factory=list)

    async def ask(self, path: str, body: bytes) -> tuple[int, bytes]:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        wire = self.free.pop() if self.free else await self._connected()
        told = await wire.ask(head.encode() + body)
        self.free.append(wire)
        return told

    async def _connected(self) -> Wire:
        _, wire = await asyncio.get_running_loop().create_connection(Wire, "127.0.0.1", self.port)
        return wire


def schedule(
    seconds: float, rates: dict[str, float], agents: int, make: Callable[[str], tuple[str, Any]], seed: int
) -> list[Due]:
    """Requests at random moments (a Poisson process per kind), each of a random agent."""
    rng = random.Random(seed)
    found = []
    for kind, rate in rates.items():
        at = rng.expovariate(rate) if rate else seconds
        while at < seconds:
            path, body = make(kind)
            found.append(Due(at, rng.randrange(agents), kind, path, json.dumps(body).encode()))
            at += rng.expovariate(rate)
    return sorted(found, key=lambda due: due.at)


def drive(port: int, tokens: Sequence[str], due: Sequence[Due]) -> list[Told]:
    """Send all of them from a few processes; how each went."""
    context = multiprocessing.get_context("fork")
    start = time.monotonic() + 1.0
    lines, processes = [], []
    for number in range(PORTERS):
        ours, theirs = context.Pipe(duplex=False)
        part = [one for one in due if one.agent % PORTERS == number]
        process = context.Process(target=_porter, args=(port, tokens, part, start, theirs))
        process.start()
        theirs.close()
        lines.append(ours)
        processes.append(process)
    told = [one for line in lines for one in line.recv()]
    for process in processes:
        process.join()
    return told


def _porter(port: int, tokens: Sequence[str], due: Sequence[Due], start: float, line: Any) -> None:
    line.send(asyncio.run(_send(port, tokens, due, start)))


async def _send(port: int, tokens: Sequence[str], due: Sequence[Due], start: float) -> list[Told]:
    agents = [Line(port, token) for token in tokens]
    tasks = []
    for one in due:
        await asyncio.sleep(max(0.0, start + one.at - time.monotonic()))
        tasks.append(asyncio.create_task(_one(agents[one.agent], one, start)))
    return list(await asyncio.gather(*tasks))


async def _one(line: Line, due: Due, start: float) -> Told:
    try:
        status, data = await line.ask(due.path, due.body)
    except OSError as error:
        return Told(due.agent, due.kind, time.monotonic() - start - due.at, 0, why=type(error).__name__)
    took = time.monotonic() - start - due.at
    if status != 200:
        return Told(due.agent, due.kind, took, status, why=str(json.loads(data).get("error")))
    id = json.loads(data)["result"]["memory"]["id"] if due.kind == "write" else ""
    return Told(due.agent, due.kind, took, status, id)


def figures(told: Sequence[Told], kind: str) -> dict[str, float]:
    """How long requests of a kind took, in milliseconds."""
    found = sorted(one.seconds * 1000 for one in told if one.kind == kind)
    return {name: round(found[min(len(found) - 1, int(len(found) * part))], 1) for name, part in PARTS} if found else {}


PARTS = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("worst", 1.0))


def spread(told: Sequence[Told], kind: str) -> float:
    """How much longer the mean wait of the least lucky agent is than that of the luckiest."""
    waits: dict[int, list[float]] = {}
    for one in told:
        if one.kind == kind:
            waits.setdefault(one.agent, []).append(one.seconds)
    means = [statistics.fmean(found) for found in waits.values()]
    return round(max(means) / min(means), 2)
