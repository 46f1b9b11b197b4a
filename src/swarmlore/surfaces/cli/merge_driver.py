"""merge-driver: what git calls to merge two versions of a ledger."""

from __future__ import annotations

import argparse

from swarmlore.surfaces.cli.desk import Desk

EXAMPLES = ("swarmlore merge-driver base ours theirs .swarm/knowledge.jsonl",)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("base", metavar="BASE", help="the common ancestor; not needed, but git gives it")
    parser.add_argument("ours", metavar="OURS", help="our version; the result is written there")
    parser.add_argument("theirs", metavar="THEIRS", help="the other version")
    parser.add_argument("name", metavar="NAME", nargs="?", default="", help="the file's name in the repository")


def run(desk: Desk) -> int:
    from swarmlore.exchange.merge_driver import merge_files

    count = merge_files(desk.args.ours, desk.args.theirs, desk.args.name)
    return desk.show(lambda: {"lines": count}, lambda _: "")
