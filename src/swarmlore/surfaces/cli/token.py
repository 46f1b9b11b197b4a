"""token: who may ask a server, as which agent."""

from __future__ import annotations

import argparse

from swarmlore.domain.json_codec import plain
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.memory.tokens import ROLES
from swarmlore.surfaces import render_tokens
from swarmlore.surfaces.cli.desk import Desk

if TYPE_CHECKING:
    from swarmlore.lore import Lore

ACTIONS = ("create", "list", "revoke")
EXAMPLES = (
    "swarmlore token create --agent tester",
    "swarmlore token create --agent planner --role lead --days 30",
    "swarmlore token list",
    "swarmlore token revoke 3f9c1e02ab",
)
MIXED = True


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=ACTIONS, metavar="ACTION", help="one of: " + ", ".join(ACTIONS))
    parser.add_argument("id", nargs="?", default="", metavar="ID", help="revoke: the id that `token list` shows")
    parser.add_argument("--agent", metavar="NAME", help="create: the agent that will hold it")
    parser.add_argument("--role", choices=ROLES, metavar="WORD", help="create: worker (default) or lead")
    parser.add_argument("--folder", metavar="PATH", help="create: where the project lies on the server's machine")
    parser.add_argument("--days", type=float, metavar="N", help="create: how long it holds; else until it is revoked")
    parser.add_argument("--all", action="store_true", help="list: of all projects, for a person")


def run(desk: Desk) -> int:
    _check(desk.args)
    with desk.open() as lore:
        return {"create": _create, "list": _list, "revoke": _revoke}[desk.args.action](desk, lore)


def _check(args: argparse.Namespace) -> None:
    """What belongs to another action is a slip."""
    allowed = {"create": ("agent", "role", "folder", "days"), "list": ("all",), "revoke": ("id",)}[args.action]
    given = [name for name in ("id", "agent", "role", "folder", "days", "all") if getattr(args, name)]
    for name in given:
        if name not in allowed:
            what = repr(args.id) if name == "id" else f"--{name}"
            raise InvalidInput(f"token {args.action} takes no {what}", "swarmlore token --help")
    if args.action == "create" and not args.agent:
        raise InvalidInput("whose token?", "swarmlore token create --agent NAME")
    if args.action == "revoke" and not args.id:
        raise InvalidInput("which token?", "swarmlore token list shows their ids")


def _create(desk: Desk, lore: Lore) -> int:
    own = desk.args
    token, secret = lore.create_token(
        own.agent, role=own.role or "worker", folder=own.folder or "", days=own.days if own.days is not None else 0.0
    )
    return desk.show(
        lambda: {"token": secret, **plain(token)}, lambda page: render_tokens.created(token, secret, page), whole=True
    )


def _list(desk: Desk, lore: Lore) -> int:
    found, now = lore.tokens(all_projects=desk.args.all), lore.now()
    return desk.show(
        lambda: {"tokens": [{**plain(token), "holds": token.holds(now)} for token in found]},
        lambda page: render_tokens.listed(found, now, page),
    )


def _revoke(desk: Desk, lore: Lore) -> int:
    token = lore.revoke_token(desk.args.id)
    return desk.show(lambda: plain(token), lambda page: render_tokens.revoked(token, page))
