"""mcp: the tools for one agent, over standard input and output."""

from __future__ import annotations

import argparse
import os
import time

from swarmlore.frozen import TYPE_CHECKING
from swarmlore.server.mcp.tools import DEFAULT, NAMES
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.surfaces.cli.elsewhere import URL
from swarmlore.surfaces.cli.parsing import chosen

if TYPE_CHECKING:
    from swarmlore.server.daemon_lock import Elected
    from swarmlore.server.mcp.proxy import Handover, Proxy

PAUSE_S, PATIENCE_S = 0.05, 1.0  # with a process that has the place of the warm one and does not listen yet
EXAMPLES = ("swarmlore mcp", "swarmlore mcp --client claude", "swarmlore mcp --tools lane,swarm-mail")


def arguments(parser: argparse.ArgumentParser) -> None:
    which = "tools under the names of other systems, instead of our own: " + ", ".join(NAMES)
    parser.add_argument("--tools", action="append", metavar="SET", help=f"{which}; may be repeated")
    parser.add_argument("--client", default="mcp", metavar="NAME", help="which client starts it, as claude or codex")


def run(desk: Desk) -> int:
    from swarmlore.clients.hook.home import usual_home

    home = os.path.abspath(desk.home) if desk.home else usual_home(desk.args.client, os.environ)
    tools = chosen("--tools", desk.args.tools, NAMES)
    if os.environ.get(URL):  # also where `install` wrote a home into the command: it is where this machine keeps things
        from swarmlore.server.mcp.remote_proxy import run_away

        return run_away(os.environ, home, () if tools == (DEFAULT,) else tools)
    from swarmlore.clients.hook.home import socket_path
    from swarmlore.server.mcp.proxy import Proxy
    from swarmlore.server.mcp.server import Context, hello, passed_on

    context = Context(desk.folder, desk.args.client, passed_on(os.environ), () if tools == (DEFAULT,) else tools)
    handover, place = _turn(Proxy(socket_path(home), hello(context)), home)
    if handover is None:
        return 0
    from swarmlore.server.mcp.host import Memory, Warm

    memory = Memory(home, context)
    warm = Warm(place, memory)
    from swarmlore.server.mcp.host import serve  # the SDK: only where this process has to speak the protocol itself

    return serve(context, handover, memory, warm)


def _turn(proxy: Proxy, home: str) -> tuple[Handover | None, Elected | None]:
    """Stay a proxy while there is a warm process; else what to go on with, and its place if that is free."""
    from swarmlore.server.daemon_lock import is_starting
    from swarmlore.server.mcp.host import elected

    deadline = time.monotonic() + PATIENCE_S
    while (handover := proxy.run()) is not None:
        place = elected(home)
        if proxy.served:
            deadline = time.monotonic() + PATIENCE_S
        if place is not None or (time.monotonic() > deadline and not is_starting(home)):
            return handover, place
        time.sleep(PAUSE_S)  # another one is about to listen
    return None, None
