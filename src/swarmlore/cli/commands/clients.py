"""mcp: the tools for one agent, over standard input and output."""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import suppress

from swarmlore.cli.arguments import chosen
from swarmlore.cli.command_table import URL
from swarmlore.cli.console import Desk
from swarmlore.cli.render import clients as render_clients
from swarmlore.clients import CLIENTS
from swarmlore.domain.json_codec import plain
from swarmlore.domain.language.display import choices_hint
from swarmlore.errors import InvalidInput, NotFound
from swarmlore.frozen import TYPE_CHECKING, replace
from swarmlore.server.mcp.tools import DEFAULT
from swarmlore.server.mcp.tools import NAMES as SETS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from swarmlore.clients.install.locations import Client, Where
    from swarmlore.clients.install.plan import Plan
    from swarmlore.clients.install.status import Standing
    from swarmlore.lore import Lore
    from swarmlore.server.daemon_lock import Elected
    from swarmlore.server.mcp.proxy import Handover, Proxy


INSTALL_EXAMPLES = (
    "swarmlore install",
    "swarmlore install claude codex --dry-run",
    "swarmlore install claude --project",
)
INSTALL_PROJECT: dict[str, Any] = {
    "nargs": "?",
    "const": "",
    "metavar": "PATH",
    "help": "the files of this project, or of the one at PATH, instead of your own",
}
UNINSTALL_PROJECT = INSTALL_PROJECT
INSTALL_OFFERED = UNINSTALL_OFFERED = STATUS_OFFERED = CLIENTS


def install_arguments(parser: argparse.ArgumentParser) -> None:
    which = f"{', '.join(CLIENTS)}; else those that are found here"
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=which)
    sets = f"which tools the server offers, instead of our own: {', '.join(SETS)}; may be repeated"
    parser.add_argument("--tools", action="append", metavar="SET", help=sets)
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")
    parser.add_argument("--yes", action="store_true", help="go on without asking")


def run_install(desk: Desk) -> int:
    import swarmlore
    from swarmlore.clients import clients_here
    from swarmlore.clients.install import manifest
    from swarmlore.clients.install.locations import find_program
    from swarmlore.clients.install.plan import plan_install
    from swarmlore.clients.install.status import two_memories

    clients = chosen_clients(desk)
    where = place(desk, find_program(sys.argv[0], sys.executable, os.environ.get("PATH")))
    where = replace(where, target=replace(where.target, tools=chosen("--tools", desk.args.tools, SETS)))
    if not clients:
        clients = clients_here(os.environ)
        if not clients:
            others = ", ".join(CLIENTS[1:])
            raise NotFound(
                "no client was found on this machine", f"name it: swarmlore install {CLIENTS[0]}, or {others}"
            )
        desk.note("found here: " + ", ".join(client.title for client in clients))
    kept = manifest.read(home_of(desk))
    plan = plan_install(where, clients, kept, swarmlore.__version__, round(time.time(), 3))
    twice = [text for client in clients for text in two_memories(client, where)]
    plan = replace(plan, notes=(*plan.notes, *twice))
    left = [text for client in clients if client.name in plan.clients for text in client.to_do(where)]
    return carry_out(desk, plan, kept, "Write this?", list(dict.fromkeys(left)))


def carry_out(desk: Desk, plan: Plan, kept: Sequence[Any], question: str, to_do: Sequence[str]) -> int:
    """Show what would change, ask, and do it."""
    doing = bool(plan.changes) and not desk.args.dry_run
    if not desk.json:
        desk.show(dict, lambda page: render_clients.planned(plan, page, every_line=desk.args.dry_run), whole=True)
        for text in render_clients.left_out(plan):
            desk.note(f"left out: {text}")
    if doing:
        if not desk.args.yes:
            desk.note("--dry-run shows every line")
        desk.confirm(question)
    if doing or (plan.kept != tuple(kept) and not desk.args.dry_run):  # else what the list says is no longer true
        apply_plan(plan, home_of(desk), kept)
    desk.show(
        lambda: render_clients.document(plan, to_do, done=doing),
        lambda page: render_clients.carried_out(plan, to_do, page, done=doing),
    )
    return max((error.exit_code for _, error in plan.refused), default=0)


def apply_plan(plan: Plan, home: str, kept: Sequence[Any]) -> None:
    from swarmlore.clients.install.plan import apply
    from swarmlore.lore.opening import make_home

    was_there = os.path.lexists(home)
    make_home(home)
    try:
        apply(plan, home, kept)
    finally:
        if plan.takes_out and not was_there:  # its lock was needed, and nothing is kept in it
            with suppress(OSError):
                os.rmdir(home)


def chosen_clients(desk: Desk) -> tuple[Client, ...]:
    """The clients that were named; `--project claude` names one too, because a project is hardly called so."""

    names = list(desk.args.clients)
    if desk.args.project in CLIENTS:
        names.append(desk.args.project)
        desk.args.project = ""
    return named(names)


def named(names: Sequence[str]) -> tuple[Client, ...]:
    """The clients of these names, in our order."""
    from swarmlore.clients import client_called

    for name in names:
        if name not in CLIENTS:
            raise InvalidInput(f"unknown client: {name}", choices_hint(name, CLIENTS))
    return tuple(client_called(name) for name in CLIENTS if name in names)


def place(desk: Desk, program: str = "") -> Where:
    """The files of the project where `--project` was said, else those of the person."""
    from swarmlore.clients.install.locations import for_person, for_project
    from swarmlore.workspace.project import find_project

    if desk.args.project is not None:
        return for_project(find_project(desk.folder).root, os.environ)
    return for_person(home_of(desk), os.environ, program)


def home_of(desk: Desk) -> str:
    from swarmlore.config import home_dir

    return os.path.abspath(desk.home or home_dir(os.environ))


UNINSTALL_EXAMPLES = ("swarmlore uninstall", "swarmlore uninstall codex --dry-run", "swarmlore uninstall --project")


def uninstall_arguments(parser: argparse.ArgumentParser) -> None:
    which = f"{', '.join(CLIENTS)}; else all that are installed"
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=which)
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")
    parser.add_argument("--yes", action="store_true", help="go on without asking")


def run_uninstall(desk: Desk) -> int:
    from swarmlore.clients import every_client
    from swarmlore.clients.install import manifest
    from swarmlore.clients.install.plan import plan_uninstall
    from swarmlore.clients.install.status import is_installed

    clients, where = chosen_clients(desk), place(desk)
    kept = manifest.read(home_of(desk))
    if not clients:
        clients = tuple(client for client in every_client() if is_installed(client, where, kept))
    return carry_out(desk, plan_uninstall(where, clients, kept), kept, "Take this out?", ())


STATUS_EXAMPLES = ("swarmlore status", "swarmlore status claude --json")
LOOKED_AT = 1000  # sessions and receipts


def status_arguments(parser: argparse.ArgumentParser) -> None:
    which = f"{', '.join(CLIENTS)}; else all of them"
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=which)


def run_status(desk: Desk) -> int:
    from swarmlore.clients import every_client

    names = [client.name for client in named(desk.args.clients) or every_client()]
    if desk.asks_server:
        return _of_server(desk, names)
    with desk.open() as lore:
        home, found = lore.home, [one for one in clients_of(lore) if one.client in names]
    return desk.show(
        lambda: {"home": home, "clients": plain(found)}, lambda page: render_clients.status(home, found, page)
    )


def _of_server(desk: Desk, names: list[str]) -> int:
    """The same where a server is asked: first how it stands."""
    from swarmlore.server.client.remote_lore import standing

    with desk.ask_server() as lore:
        told = standing(lore)
        known = clients_of(lore) if told["token_holds"] else []  # type: ignore[arg-type]
        home, found = lore.home, [one for one in known if one.client in names]
    return desk.show(
        lambda: {"home": home, "server": told, "clients": plain(found)},
        lambda page: render_clients.status(home, found, page, told),
    )


def clients_of(lore: Lore) -> list[Standing]:
    """How every client stands that we know of, for a person and in this project."""
    from swarmlore.clients import every_client
    from swarmlore.clients.install import manifest
    from swarmlore.clients.install.locations import for_person, for_project, user_folder
    from swarmlore.clients.install.status import activity_of, standing

    seen, sessions, receipts = lore.clients(), lore.sessions(LOOKED_AT), lore.receipts(limit=LOOKED_AT)
    home, root = lore.home, lore.project.root
    places = [for_person(home, os.environ, "")]
    if os.path.realpath(root) != os.path.realpath(user_folder(os.environ)):
        places.append(for_project(root, os.environ))
    kept = manifest.read(home)
    return [
        standing(client, places, kept, activity_of(client.name, seen.get(client.name), sessions, receipts))
        for client in every_client()
    ]


HOOK_EXAMPLES = ("swarmlore hook claude SessionStart",)


def hook_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("client", metavar="CLIENT", help="claude, codex, gemini, copilot or opencode")
    parser.add_argument(
        "event", nargs="?", metavar="EVENT", help="the client's own name of the event; its payload is on the input"
    )
    parser.add_argument(
        "--lines", action="store_true", help="events come as lines of JSON until the input ends (OpenCode's plugin)"
    )
    parser.add_argument("--socket", metavar="PATH", help="where the warm process listens (install writes it)")
    parser.add_argument("--spool", metavar="PATH", help="where events wait that nobody took (install writes it)")


def run_hook(desk: Desk) -> int:
    from swarmlore.clients.hook import main, stream
    from swarmlore.server.hook_fallback import answer, digest_afterwards

    given = {"--home": desk.home, "--socket": desk.args.socket, "--spool": desk.args.spool}
    options = [word for name, value in given.items() if value for word in (name, value)]
    serve, event = (stream.run, stream.LINES) if desk.args.lines else (main.run, desk.args.event or "")
    return serve([desk.args.client, event, *options], answer, digest_afterwards)


PAUSE_S, PATIENCE_S = 0.05, 1.0  # with a process that has the place of the warm one and does not listen yet
MCP_EXAMPLES = ("swarmlore mcp", "swarmlore mcp --client claude", "swarmlore mcp --tools lane,swarm-mail")


def mcp_arguments(parser: argparse.ArgumentParser) -> None:
    which = "tools under the names of other systems, instead of our own: " + ", ".join(SETS)
    parser.add_argument("--tools", action="append", metavar="SET", help=f"{which}; may be repeated")
    parser.add_argument("--client", default="mcp", metavar="NAME", help="which client starts it, as claude or codex")


def run_mcp(desk: Desk) -> int:
    from swarmlore.clients.hook.home import usual_home

    home = os.path.abspath(desk.home) if desk.home else usual_home(desk.args.client, os.environ)
    tools = chosen("--tools", desk.args.tools, SETS)
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
