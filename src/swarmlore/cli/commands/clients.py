"""Commands `install`, `uninstall`, `status`, `hook` and `mcp`: the connection between agent clients and the memory."""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import suppress

from swarmlore.cli.arguments import chosen
from swarmlore.cli.command_table import URL
from swarmlore.cli.console import Console
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
    from swarmlore.clients.install.status import ClientStatus
    from swarmlore.lore import Lore
    from swarmlore.server.daemon_lock import DaemonLock
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


def run_install(console: Console) -> int:
    import swarmlore
    from swarmlore.clients import installed_clients
    from swarmlore.clients.install import manifest
    from swarmlore.clients.install.locations import find_program
    from swarmlore.clients.install.plan import plan_install
    from swarmlore.clients.install.status import two_memories

    clients = _chosen_clients(console)
    where = _target(console, find_program(sys.argv[0], sys.executable, os.environ.get("PATH")))
    where = replace(where, target=replace(where.target, tools=chosen("--tools", console.args.tools, SETS)))
    if not clients:
        clients = installed_clients(os.environ)
        if not clients:
            others = ", ".join(CLIENTS[1:])
            raise NotFound(
                "no client was found on this machine", f"name it: swarmlore install {CLIENTS[0]}, or {others}"
            )
        console.note("found here: " + ", ".join(client.title for client in clients))
    kept = manifest.read(console.home_folder)
    plan = plan_install(where, clients, kept, swarmlore.__version__, round(time.time(), 3))
    warnings = [text for client in clients for text in two_memories(client, where)]
    plan = replace(plan, notes=(*plan.notes, *warnings))
    to_do = [text for client in clients if client.name in plan.clients for text in client.to_do(where)]
    return _carry_out(console, plan, kept, "Write this?", list(dict.fromkeys(to_do)))


def _carry_out(console: Console, plan: Plan, kept: Sequence[Any], question: str, to_do: Sequence[str]) -> int:
    """Show what a plan would change, ask for confirmation, and apply it."""
    applies = bool(plan.changes) and not console.args.dry_run
    if not console.json:
        console.show(dict, lambda page: render_clients.planned(plan, page, every_line=console.args.dry_run), whole=True)
        for text in render_clients.left_out(plan):
            console.note(f"left out: {text}")
    if applies:
        if not console.args.yes:
            console.note("--dry-run shows every line")
        console.confirm(question)
    if applies or (plan.kept != tuple(kept) and not console.args.dry_run):  # the manifest may be outdated by itself
        apply_plan(plan, console.home_folder, kept)
    console.show(
        lambda: render_clients.document(plan, to_do, done=applies),
        lambda page: render_clients.carried_out(plan, to_do, page, done=applies),
    )
    return max((error.exit_code for _, error in plan.refused), default=0)


def apply_plan(plan: Plan, home: str, kept: Sequence[Any]) -> None:
    """Apply an install plan; an uninstall leaves no home folder that was not there before."""
    from swarmlore.clients.install.plan import apply
    from swarmlore.lore.opening import make_home

    existed = os.path.lexists(home)
    make_home(home)
    try:
        apply(plan, home, kept)
    finally:
        if plan.takes_out and not existed:  # only its lock was needed
            with suppress(OSError):
                os.rmdir(home)


def _chosen_clients(console: Console) -> tuple[Client, ...]:
    """Return the clients that were named, also as `--project claude`: a project is hardly ever called that."""
    names = list(console.args.clients)
    if console.args.project in CLIENTS:
        names.append(console.args.project)
        console.args.project = ""
    return _named(names)


def _named(names: Sequence[str]) -> tuple[Client, ...]:
    """Return the clients with these names, in the order of CLIENTS; raise InvalidInput for an unknown one."""
    from swarmlore.clients import installer_of

    for name in names:
        if name not in CLIENTS:
            raise InvalidInput(f"unknown client: {name}", choices_hint(name, CLIENTS))
    return tuple(installer_of(name) for name in CLIENTS if name in names)


def _target(console: Console, program: str = "") -> Where:
    """Return where client files lie: in the project with --project, else in the user's own folders."""
    from swarmlore.clients.install.locations import for_person, for_project
    from swarmlore.workspace.project import find_project

    if console.args.project is not None:
        return for_project(find_project(console.folder).root, os.environ)
    return for_person(console.home_folder, os.environ, program)


UNINSTALL_EXAMPLES = ("swarmlore uninstall", "swarmlore uninstall codex --dry-run", "swarmlore uninstall --project")


def uninstall_arguments(parser: argparse.ArgumentParser) -> None:
    which = f"{', '.join(CLIENTS)}; else all that are installed"
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=which)
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")
    parser.add_argument("--yes", action="store_true", help="go on without asking")


def run_uninstall(console: Console) -> int:
    from swarmlore.clients import every_client
    from swarmlore.clients.install import manifest
    from swarmlore.clients.install.plan import plan_uninstall
    from swarmlore.clients.install.status import is_installed

    clients, where = _chosen_clients(console), _target(console)
    kept = manifest.read(console.home_folder)
    if not clients:
        clients = tuple(client for client in every_client() if is_installed(client, where, kept))
    return _carry_out(console, plan_uninstall(where, clients, kept), kept, "Take this out?", ())


STATUS_EXAMPLES = ("swarmlore status", "swarmlore status claude --json")
LOOKED_AT = 1000  # newest sessions and receipts that `status` reads


def status_arguments(parser: argparse.ArgumentParser) -> None:
    which = f"{', '.join(CLIENTS)}; else all of them"
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=which)


def run_status(console: Console) -> int:
    from swarmlore.clients import every_client

    names = [client.name for client in _named(console.args.clients) or every_client()]
    if console.asks_server:
        return _of_server(console, names)
    with console.open() as lore:
        home, found = lore.home, [client for client in clients_of(lore) if client.client in names]
    return console.show(
        lambda: {"home": home, "clients": plain(found)}, lambda page: render_clients.status(home, found, page)
    )


def _of_server(console: Console, names: list[str]) -> int:
    """Show the state of the server first, then that of the clients."""
    from swarmlore.server.client.remote_lore import server_state

    with console.ask_server() as lore:
        state = server_state(lore)
        known = clients_of(lore) if state["token_holds"] else []  # type: ignore[arg-type]
        home, found = lore.home, [client for client in known if client.client in names]
    return console.show(
        lambda: {"home": home, "server": state, "clients": plain(found)},
        lambda page: render_clients.status(home, found, page, state),
    )


def clients_of(lore: Lore) -> list[ClientStatus]:
    """Return the install state and recent activity of every known client, for the user and for this project."""
    from swarmlore.clients import every_client
    from swarmlore.clients.install import manifest
    from swarmlore.clients.install.locations import for_person, for_project, user_folder
    from swarmlore.clients.install.status import activity_of, status_of

    seen, sessions, receipts = lore.clients(), lore.sessions(LOOKED_AT), lore.receipts(limit=LOOKED_AT)
    home, root = lore.home, lore.project.root
    places = [for_person(home, os.environ, "")]
    if os.path.realpath(root) != os.path.realpath(user_folder(os.environ)):
        places.append(for_project(root, os.environ))
    kept = manifest.read(home)
    return [
        status_of(client, places, kept, activity_of(client.name, seen.get(client.name), sessions, receipts))
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


def run_hook(console: Console) -> int:
    from swarmlore.clients.hook import main, stream
    from swarmlore.server.hook_fallback import answer, digest_afterwards

    given = {"--home": console.home, "--socket": console.args.socket, "--spool": console.args.spool}
    options = [word for name, value in given.items() if value for word in (name, value)]
    serve, event = (stream.run, stream.LINES) if console.args.lines else (main.run, console.args.event or "")
    return serve([console.args.client, event, *options], answer, digest_afterwards)


# To wait for a process that holds the daemon's lock and does not listen yet.
PAUSE_S, PATIENCE_S = 0.05, 1.0
MCP_EXAMPLES = ("swarmlore mcp", "swarmlore mcp --client claude", "swarmlore mcp --tools lane,swarm-mail")


def mcp_arguments(parser: argparse.ArgumentParser) -> None:
    which = "tools under the names of other systems, instead of our own: " + ", ".join(SETS)
    parser.add_argument("--tools", action="append", metavar="SET", help=f"{which}; may be repeated")
    parser.add_argument("--client", default="mcp", metavar="NAME", help="which client starts it, as claude or codex")


def run_mcp(console: Console) -> int:
    from swarmlore.clients.hook.home import usual_home

    home = os.path.abspath(console.home) if console.home else usual_home(console.args.client, os.environ)
    tools = chosen("--tools", console.args.tools, SETS)
    if os.environ.get(URL):  # even with a --home, which `install` writes into the command for local files
        from swarmlore.server.mcp.remote_proxy import run_remote

        return run_remote(os.environ, home, () if tools == (DEFAULT,) else tools)
    from swarmlore.clients.hook.home import socket_path
    from swarmlore.server.mcp.context import Context, hello, passed_on
    from swarmlore.server.mcp.proxy import Proxy

    context = Context(console.folder, console.args.client, passed_on(os.environ), () if tools == (DEFAULT,) else tools)
    handover, lock = _run_proxy(Proxy(socket_path(home), hello(context)), home)
    if handover is None:
        return 0
    from swarmlore.server.mcp.context import DaemonHost, Memory

    memory = Memory(home, context)
    warm = DaemonHost(lock, memory)
    from swarmlore.server.mcp.host import serve  # the MCP SDK: only if this process has to speak the protocol itself

    return serve(context, handover, memory, warm)


def _run_proxy(proxy: Proxy, home: str) -> tuple[Handover | None, DaemonLock | None]:
    """Proxy to the daemon while there is one. Return the handover for serving here, and the daemon's lock if it was
    free; no handover if the client is done."""
    from swarmlore.server.daemon_lock import is_starting
    from swarmlore.server.mcp.context import become_daemon

    deadline = time.monotonic() + PATIENCE_S
    while (handover := proxy.run()) is not None:
        lock = become_daemon(home)
        if proxy.served:
            deadline = time.monotonic() + PATIENCE_S
        if lock is not None or (time.monotonic() > deadline and not is_starting(home)):
            return handover, lock
        time.sleep(PAUSE_S)  # another process is about to listen
    return None, None
