"""Running the server: one per home, on an address that was chosen with care, until it is told to end."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import ssl

from swarmlore.clients.hook.spool import HAVE_LOCKS, locked
from swarmlore.errors import Conflict, InvalidInput, StoreError
from swarmlore.exchange.foreign import TOOL_SETS, compat
from swarmlore.frozen import TYPE_CHECKING, frozen
from swarmlore.server.http import routes, streams
from swarmlore.server.http.app import App
from swarmlore.server.http.guard import LOOPBACK, Door
from swarmlore.server.http.log import Telling

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import uvicorn

    from swarmlore.server.service import Hall


LOCK = "serve.lock"
DRAIN_S = 5
BACKLOG = 512
MOST_RATE = 1_000_000.0


@frozen
class Place:
    """Where a server listens, and how."""

    host: str = "127.0.0.1"
    port: int = 8787
    names: tuple[str, ...] = ()
    cert: str = ""
    key: str = ""
    public: bool = False
    plain: bool = False  # over the network without encryption, because something in front of it does that
    rate: float = 100.0
    burst: float = 200.0
    works: bool = True  # whether it has a worker beside it

    @property
    def is_local(self) -> bool:
        return self.host in LOOPBACK

    def check(self) -> None:
        """Refuse an address that others can reach, unless both is said: that it is meant, and how it is kept safe."""
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
        name = self.names[0] if self.names else self.host
        return f"http{'s' if self.cert else ''}://{f'[{name}]' if ':' in name else name}:{port}"


class OnlyOne:
    """The right to serve a home: a lock that dies with its process."""

    def __init__(self, home: str) -> None:
        path = os.path.join(home, LOCK)
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        if HAVE_LOCKS and not locked(self._fd):
            os.close(self._fd)
            raise Conflict(f"a server for {home} is running already", "end that one first, or choose another home")

    def close(self) -> None:
        os.close(self._fd)


def listening(place: Place) -> socket.socket:
    """A socket that is bound, so that the port is known before anybody is told."""
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    # Named as TCP, without which asyncio leaves small answers to wait for 40 ms until the last one was acknowledged.
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
    telling: Telling,
    ready: Callable[[str], None],
) -> None:
    """Serve until SIGTERM or SIGINT; what was begun is brought to its end."""
    from swarmlore.server.service import Hall

    place.check()
    hall = Hall(home, env)
    try:
        only = OnlyOne(hall.home)
    except BaseException:
        hall.close(0)
        raise
    sock = listening(place)
    try:
        app = make_app(hall, place, telling)
        asyncio.run(_serve(app, hall, telling, sock, place, lambda: ready(place.url(sock.getsockname()[1]))))
    finally:
        sock.close()
        hall.close(DRAIN_S)
        only.close()
        telling.close()


def make_app(hall: Hall, place: Place, telling: Telling) -> App:
    names = (*place.names, place.host, *(LOOPBACK if place.is_local else ()))
    app = App(hall, Door(names), telling, rate=place.rate, burst=place.burst)
    routes.add_routes(app, hall, telling)
    compat(TOOL_SETS["agent-swarm"]).add(app, hall)
    routes.add_hook_routes(app, hall)
    streams.add(app, hall)
    return app


def _configured(app: App, place: Place) -> uvicorn.Config:
    """How the requests are read: plainly, and nothing is told about the program that reads them."""
    import uvicorn

    from swarmlore.server.http.connection import Line, make_room

    make_room()
    config = uvicorn.Config(
        app,
        http=Line,
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
    app: App, hall: Hall, telling: Telling, sock: socket.socket, place: Place, ready: Callable[[], None]
) -> None:
    import uvicorn

    from swarmlore.server.http.local_daemon import Beside, Household
    from swarmlore.server.http.mcp_endpoint import Tools

    server = uvicorn.Server(_configured(app, place))
    telling.overhear("uvicorn", "asyncio")
    Telling.hush("mcp")
    loop = asyncio.get_running_loop()

    def end() -> None:
        server.should_exit = True
        app.ending.set()

    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, end)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    household = Household(hall, telling, loop)
    worker = Beside(hall.home, team=hall.writer.store.engine.remote) if place.works else None
    try:
        await asyncio.to_thread(household.open)
        async with Tools(hall) as tools:
            app.mounted["/mcp"] = tools.handle
            gc.collect()
            gc.freeze()  # what is there by now stays: to look through it again would hold up everybody for a moment
            ready()
            await server.serve(sockets=[sock])
    finally:
        await household.close()
        if worker is not None:
            await asyncio.to_thread(worker.close)
