"""Commands `serve`, `token` and `worker`: the HTTP server, its access tokens, and the job worker."""

from __future__ import annotations

import argparse
import os
import sys

from swarmlore import config
from swarmlore.cli.arguments import chosen, natural
from swarmlore.cli.console import Console
from swarmlore.cli.layout import clean
from swarmlore.cli.render import mail
from swarmlore.domain.json_codec import plain
from swarmlore.domain.records import JOB_KINDS, Job
from swarmlore.errors import InvalidInput
from swarmlore.frozen import TYPE_CHECKING
from swarmlore.memory.tokens import ROLES

if TYPE_CHECKING:
    from swarmlore.lore import Lore


SERVE_EXAMPLES = (
    "swarmlore serve",
    "swarmlore serve --port 9000",
    "swarmlore serve --host 10.0.0.5 --public --tls-cert my.pem --tls-key my.key",
)


def serve_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen; 127.0.0.1 by default")
    parser.add_argument("--port", type=natural, default=8787, metavar="N", help="8787 by default; 0 takes a free one")
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


def run_serve(console: Console) -> int:
    from swarmlore.server.http.log import RequestLog
    from swarmlore.server.http.run import Place
    from swarmlore.server.http.run import run as serve

    own = console.args
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
    telling = RequestLog(quiet=own.quiet)
    serve(console.home, place, os.environ, telling, lambda url: _ready(console, url))
    return 0


def _ready(console: Console, url: str) -> None:
    console.show(lambda: {"url": url, "pid": os.getpid()}, lambda _: f"Serving at {url}. Ctrl-C ends it.")
    console.flush()


ACTIONS = ("create", "list", "revoke")
TOKEN_EXAMPLES = (
    "swarmlore token create --agent tester",
    "swarmlore token create --agent planner --role lead --days 30",
    "swarmlore token list",
    "swarmlore token revoke 3f9c1e02ab",
)
TOKEN_MIXED = True


def token_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=ACTIONS, metavar="ACTION", help="one of: " + ", ".join(ACTIONS))
    parser.add_argument("id", nargs="?", default="", metavar="ID", help="revoke: the id that `token list` shows")
    parser.add_argument("--agent", metavar="NAME", help="create: the agent that will hold it")
    parser.add_argument("--role", choices=ROLES, metavar="WORD", help="create: worker (default) or lead")
    parser.add_argument("--folder", metavar="PATH", help="create: where the project lies on the server's machine")
    parser.add_argument("--days", type=float, metavar="N", help="create: how long it holds; else until it is revoked")
    parser.add_argument("--all", action="store_true", help="list: of all projects, for a person")


def run_token(console: Console) -> int:
    _check(console.args)
    with console.open() as lore:
        return {"create": _create, "list": _list, "revoke": _revoke}[console.args.action](console, lore)


def _check(args: argparse.Namespace) -> None:
    """Raise InvalidInput if an option belongs to another action, or the agent or id is missing."""
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


def _create(console: Console, lore: Lore) -> int:
    own = console.args
    token, secret = lore.create_token(
        own.agent, role=own.role or "worker", folder=own.folder or "", days=own.days if own.days is not None else 0.0
    )
    return console.show(
        lambda: {"token": secret, **plain(token)}, lambda page: mail.created(token, secret, page), whole=True
    )


def _list(console: Console, lore: Lore) -> int:
    found, now = lore.tokens(all_projects=console.args.all), lore.now()
    return console.show(
        lambda: {"tokens": [{**plain(token), "holds": token.holds(now)} for token in found]},
        lambda page: mail.listed(found, now, page),
    )


def _revoke(console: Console, lore: Lore) -> int:
    token = lore.revoke_token(console.args.id)
    return console.show(lambda: plain(token), lambda page: mail.revoked(token, page))


WORKER_EXAMPLES = (
    "swarmlore worker",
    "swarmlore worker --until-empty",
    "swarmlore worker --kind extract --kind summarise",
)


def worker_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--until-empty", action="store_true", help="stop when nothing is due any more")
    kinds = ", ".join(JOB_KINDS)
    parser.add_argument("--kind", action="append", choices=JOB_KINDS, metavar="KIND",
                        help=f"only jobs of this kind ({kinds}); may be repeated")  # fmt: skip
    parser.add_argument(
        "--team", action="store_true", help="on a server: the jobs of every login, not only of your own"
    )


def run_worker(console: Console) -> int:
    from swarmlore.server.worker.child import ChildOptions
    from swarmlore.server.worker.handlers import HANDLERS
    from swarmlore.server.worker.supervisor import WITH_PARENT, Worker, new_owner

    kinds = chosen("--kind", console.args.kind, JOB_KINDS) or tuple(HANDLERS)
    home = console.home_folder
    settings = config.load(home, "", os.environ).worker
    stays = not console.args.until_empty
    parent = os.environ.get(WITH_PARENT, "")
    orders = ChildOptions(
        *(home, new_owner(), kinds, console.args.team),
        until_empty=not stays,
        digests=not console.args.kind,
        steps_back=parent.isdigit(),
    )
    worker = Worker(orders, HANDLERS, settings, lambda job, error: _report(console, job, error))
    worker.listen_to_signals()
    if parent.isdigit():
        worker.stay_with(int(parent))
    if stays and sys.stderr.isatty():
        console.note("waiting for jobs; Ctrl-C ends")
    tally = worker.work()
    with console.open() as lore:
        left = lore.waiting_jobs()
    return console.show(
        lambda: {**plain(tally), "waiting": left.get("waiting", 0), "dead": left.get("dead", 0)},
        lambda page: mail.worked(tally, left, page),
    )


def _report(console: Console, job: Job, error: str) -> None:
    """Note the result of a job: failures always, successes only at a terminal."""
    if error:
        console.note(f"{job.kind} {job.handle} of {job.agent or 'nobody'} was not done: {clean(error)}")
    elif sys.stderr.isatty():
        console.note(f"{job.kind} {job.handle} of {job.agent or 'nobody'} is done")
