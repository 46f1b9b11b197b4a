"""hook: what a client runs at moments of a session. `main` has a shorter way to it; this is for who asks what it is."""

from __future__ import annotations

import argparse

from swarmlore.surfaces.cli.desk import Desk

EXAMPLES = ("swarmlore hook claude SessionStart",)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("client", metavar="CLIENT", help="claude, codex, gemini, copilot or opencode")
    parser.add_argument(
        "event", nargs="?", metavar="EVENT", help="the client's own name of the event; its payload is on the input"
    )
    parser.add_argument(
        "--lines", action="store_true", help="events come as lines of JSON until the input ends (OpenCode's plugin)"
    )
    parser.add_argument("--socket", metavar="PATH", help="where the warm process listens (install writes it)")
    parser.add_argument("--spool", metavar="PATH", help="where events wait that nobody took (install writes it)")


def run(desk: Desk) -> int:
    from swarmlore.clients.hook.main import run as serve
    from swarmlore.server.hook_fallback import answer, digest_afterwards

    given = {"--home": desk.home, "--socket": desk.args.socket, "--spool": desk.args.spool}
    options = [word for name, value in given.items() if value for word in (name, value)]
    event = "--lines" if desk.args.lines else desk.args.event or ""
    return serve([desk.args.client, event, *options], answer, digest_afterwards)
