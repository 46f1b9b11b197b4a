"""serve: one memory for many agents, over HTTP."""

from __future__ import annotations

import argparse
import os

from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.parsing import place as whole

EXAMPLES = (
    "swarmlore serve",
    "swarmlore serve --port 9000",
    "swarmlore serve --host 10.0.0.5 --public --tls-cert my.pem --tls-key my.key",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen; 127.0.0.1 by default")
    parser.add_argument("--port", type=whole, default=8787, metavar="N", help="8787 by default; 0 takes a free one")
    parser.add_argument(
        "--host-name", action="append", metavar="NAME", help="a name that it answers to; may be repeated"
    )
    parser.add_argument("--public", action="store_true", help="let other machines reach it")
    parser.add_argument(
        "--plain", action="store_true", help="without encryption, where a proxy in front of it encrypts"
    )
    parser.add_argument("--tls-cert", metavar="FILE", help="certificate for https")
    parser.add_argument("--tls-key", metavar="FILE", help="its key")
    parser.add_argument("--rate", type=float, default=100.0, metavar="N", help="requests a second of one token")
    parser.add_argument("--no-worker", action="store_true", help="without a worker beside it; start one elsewhere")
    parser.add_argument("--quiet", action="store_true", help="no log line for each request")


def run(desk: Desk) -> int:
    from swarmlore.server.http.log import Telling
    from swarmlore.server.http.run import Place
    from swarmlore.server.http.run import run as serve

    own = desk.args
    place = Place(
        host=own.host,
        port=own.port,
        names=tuple(own.host_name or ()),
        cert=own.tls_cert or "",
        key=own.tls_key or "",
        public=own.public,
        plain=own.plain,
        rate=own.rate,
        burst=2 * own.rate,
        works=not own.no_worker,
    )
    telling = Telling(quiet=own.quiet)
    serve(desk.home, place, os.environ, telling, lambda url: _ready(desk, url))
    return 0


def _ready(desk: Desk, url: str) -> None:
    desk.show(lambda: {"url": url, "pid": os.getpid()}, lambda _: f"Serving at {url}. Ctrl-C ends it.")
    desk.flush()
