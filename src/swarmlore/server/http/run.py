"""Runs the HTTP server: one per home, on a checked address, until SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import ssl

from swarmlore.clients.hook.spool import HAVE_LOCKS, try_lock
from swarmlore.errors import Conflict, InvalidInput, StoreError
from swarmlore.exchange import TOOL_SETS, compat
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.server.http import routes, streams
from swarmlore.server.http.app import App
from swarmlore.server.http.guard import LOOPBACK, RequestGuard
from swarmlore.server.http.log import RequestLog

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import uvicorn

    from swarmlore.server.service import Backend


LOCK = "serve.lock"
DRAIN_S = 5
BACKLOG = 512
MOST_RATE = 1_000_000.0


@frozen
class Place:
    """The address and the options of a server."""

    host: str = "127.0.0.1"
    port: int = 8787
    names: tuple[str, ...] = ()
    cert: str = ""
    key: str = ""
    public: bool = False
    plain: bool = False  # over the network without TLS, because a proxy in front of it encrypts
    rate: float = 100.0
    burst: float = 200.0
    works: bool = True  # whether it starts a worker process

    @property
    def is_local(self) -> bool:
        return self.host in LOOPBACK

    def check(self) -> None:
        """Raise InvalidInput if others can reach the address, unless `public` and a certificate (or `plain`) are
        set."""
        if not 1 <= self.rate <= MOST_RATE:  # NaN fails here too
            raise InvalidInput(f"--rate {self.rate:g} is out of range", f"from 1 to {MOST_RATE:g} requests a second")
        if bool(self.cert) != bool(self.key):
            raise InvalidInput("a certificate needs its key", "give both: --tls-cert FILE --tls-key FILE")
        if self.is_local:
            return
        if not self.public:
            raise InvalidInput(f"{self.host} can be reached from other machines", "if that is meant, add --public")
        if not self.cert and not self.plain:
            hint = "give --tls-cert FILE --tls-key FILE, or --plain where a proxy in front of it encrypts"
            raise InvalidInput("tokens would go over the network in clear text", hint)

    def url(self, port: int) -> str:
        """Return the URL of the server at this port."""
        name = self.names[0] if self.names else self.host
        return f"http{'s' if self.cert else ''}://{f'[{name}]' if ':' in name else name}:{port}"


class ServerLock:
    """Exclusive lock to serve a home; it ends with its process."""

    def __init__(self, home: str) -> None:
        path = os.path.join(home, LOCK)
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        if HAVE_LOCKS and not try_lock(self._fd):
            os.close(self._fd)
            raise Conflict(f"a server for {home} is running already", "end that one first, or choose another home")

    def close(self) -> None:
        os.close(self._fd)


def listening(place: Place) -> socket.socket:
    """Return a bound socket, so that the port is known before it is announced."""
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    # IPPROTO_TCP explicitly: else asyncio sets no TCP_NODELAY, and small answers wait 40 ms for an acknowledgement.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((place.host, place.port))
        made.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        made.close()
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise StoreError(f"cannot listen at {place.host}:{place.port}: {why}", "choose another --port") from error
    return made


def run(
    home: str | None,
    place: Place,
    env: Mapping[str, str],
    telling: RequestLog,
    ready: Callable[[str], None],
) -> None:
    """Serve until SIGTERM or SIGINT, and finish running requests."""
    from swarmlore.server.service import Backend

    place.check()
    backend = Backend(home, env)
    try:
        lock = ServerLock(backend.home)
    except BaseException:
        backend.close(0)
        raise
    sock = listening(place)
    try:
        app = make_app(backend, place, telling)
        asyncio.run(_serve(app, backend, telling, sock, place, lambda: ready(place.url(sock.getsockname()[1]))))
    finally:
        sock.close()
        backend.close(DRAIN_S)
        lock.close()
        telling.close()


def make_app(backend: Backend, place: Place, telling: RequestLog) -> App:
    """Build the application with all its routes."""
    names = (*place.names, place.host, *(LOOPBACK if place.is_local else ()))
    app = App(backend, RequestGuard(names), telling, rate=place.rate, burst=place.burst)
    routes.add_routes(app, backend, telling)
    compat(TOOL_SETS["agent-swarm"]).add(app, backend)
    routes.add_hook_routes(app, backend)
    streams.add(app, backend)
    return app


def _configured(app: App, place: Place) -> uvicorn.Config:
    """Return the uvicorn configuration: no proxy headers, no header that names the program."""
    import uvicorn

    from swarmlore.server.http.connection import LimitedProtocol, make_room

    make_room()
    config = uvicorn.Config(
        app,
        http=LimitedProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=60,
        timeout_graceful_shutdown=DRAIN_S,
        ssl_certfile=place.cert or None,
        ssl_keyfile=place.key or None,
    )
    try:
        config.load()
    except (OSError, ssl.SSLError) as error:
        raise InvalidInput("the certificate cannot be read", "check --tls-cert and --tls-key") from error
    return config


async def _serve(
    app: App, backend: Backend, telling: RequestLog, sock: socket.socket, place: Place, ready: Callable[[], None]
) -> None:
    import uvicorn

    from swarmlore.server.http.local_daemon import LocalDaemon, WorkerProcess
    from swarmlore.server.http.mcp_endpoint import McpEndpoint

    server = uvicorn.Server(_configured(app, place))
    telling.overhear("uvicorn", "asyncio")
    RequestLog.hush("mcp")
    loop = asyncio.get_running_loop()

    def end() -> None:
        server.should_exit = True
        app.ending.set()

    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, end)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    local_daemon = LocalDaemon(backend, telling, loop)
    worker = WorkerProcess(backend.home, team=backend.writer.store.engine.remote) if place.works else None
    try:
        await asyncio.to_thread(local_daemon.open)
        async with McpEndpoint(backend) as tools:
            app.mounted["/mcp"] = tools.handle
            gc.collect()
            gc.freeze()  # keep the long-lived objects out of later garbage collections, which stop all requests
            ready()
            await server.serve(sockets=[sock])
    finally:
        await local_daemon.close()
        if worker is not None:
            await asyncio.to_thread(worker.close)
