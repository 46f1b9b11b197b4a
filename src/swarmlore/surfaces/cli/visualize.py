"""visualize: the graph of what memories mention, as one file for a browser."""

from __future__ import annotations

import argparse
import os

from swarmlore.surfaces.cli.desk import Desk

EXAMPLES = ("swarmlore visualize", "swarmlore visualize --output graph.html --open")
FILE = "swarmlore-graph.html"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", default="", metavar="FILE", help=f"where to write it ({FILE})")
    parser.add_argument("--open", action="store_true", help="show it in the browser")
    parser.add_argument("--yes", action="store_true", help="overwrite a file without asking")


def run(desk: Desk) -> int:
    path = desk.args.output or FILE
    ours = not desk.args.output  # the usual file is made anew each time
    if not (ours or desk.args.yes) and desk.can_ask and os.path.isfile(path):
        desk.confirm(f"{path} is there already. Overwrite it?")
        desk.args.yes = True
    return write(desk, path, overwrite=ours or desk.args.yes)


def write(desk: Desk, path: str, *, overwrite: bool) -> int:
    """Write the file and say so."""
    from swarmlore.domain.language.display import project_name
    from swarmlore.exchange.import_files import write_lines
    from swarmlore.surfaces import render_graph, render_graph_html

    with desk.open() as lore:
        shown = lore.graph.picture()
        about = project_name(lore.caller.project) or "this memory"
    write_lines(path, lambda: render_graph_html.lines(shown, about), overwrite=overwrite, private=True)
    counts = {"entities": len(shown.nodes), "connections": len(shown.lines), "memories": len(shown.notes)}
    desk.show(lambda: {"file": path, **counts}, lambda page: render_graph.written(path, counts, page))
    if desk.args.open:
        _open(desk, path)
    return 0


def _open(desk: Desk, path: str) -> None:
    import pathlib
    import webbrowser

    if not webbrowser.open(pathlib.Path(path).resolve().as_uri()):
        desk.note(f"no browser was found; open {path} yourself")
