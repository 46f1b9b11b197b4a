"""HTML of `visualize`: the graph as one file with its script and style inside; nothing is fetched.

Texts of memories go in as JSON that cannot end its element, and the script shows them as plain text only. The content
security policy of the page allows this one script and this one style, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from html import escape

from swarmlore.cli.layout import Page, clean
from swarmlore.domain.records import Memory
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from swarmlore.retrieval.graph import Picture


def written(path: str, counts: Mapping[str, int], page: Page) -> str:
    """Render where `visualize` wrote the file and what is in it."""
    if not counts["entities"]:
        return f"Nothing is connected yet; {clean(path)} says how to begin."
    parts = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    return f"Wrote {page.paint('bold', clean(path))}: {parts}."


_PARTS = os.path.join(os.path.dirname(__file__), "visual")
_TEXT_CHARS = 1_200
_FILL = (
    ("Write a note about something that was solved, with what it is about:", "swarmlore remember --note"),
    ("Bring in notes that lie in docs/solutions or in ~/.learnings:", "learnings reindex"),
    ("Or remember lessons; what they name is connected by itself:", 'swarmlore remember "TEXT"'),
)


def lines(picture: Picture, about: str) -> Iterator[bytes]:
    """Yield the HTML document in encoded parts."""
    for part in page(picture, about):
        yield part.encode("utf-8", "replace")


def page(picture: Picture, about: str) -> Iterator[str]:
    """Yield the HTML document in parts; `about` names the project."""
    style, script = _part("graph.css"), _part("graph.js")
    policy = f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none'"
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Swarmlore: what {escape(clean(about))} knows</title><style>{style}</style></head><body>\n"
    )
    yield _body(picture, about) if picture.nodes else _empty(about)
    yield f'<script id="data" type="application/json">{data_text(picture)}</script>\n'
    yield f"<script>{script}</script></body></html>\n"


def data_text(picture: Picture) -> str:
    """Return the graph as JSON, with every character that HTML could interpret escaped."""
    order = sorted(
        range(len(picture.nodes)), key=lambda number: (-picture.nodes[number].count, picture.nodes[number].name)
    )
    data = {
        "nodes": [
            {
                "n": clean(n.name),
                "t": clean(n.type),
                "a": clean(n.about),
                "c": n.count,
                "m": n.notes,
                "x": n.x,
                "y": n.y,
            }
            for n in picture.nodes
        ],
        "edges": [{"s": line.source, "t": line.target, "k": clean(line.kind)} for line in picture.lines],
        "notes": [_note(memory) for memory in picture.notes],
        "order": order,
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def _note(memory: Memory) -> dict[str, Any]:
    path = memory.source_ref.get("path")
    where = path if isinstance(path, str) and path else f"{memory.tier} · {memory.source} · {memory.handle}"
    text = memory.text if len(memory.text) <= _TEXT_CHARS else memory.text[: _TEXT_CHARS - 1] + "…"
    return {"h": clean(memory.title), "x": clean(text), "p": clean(where)}


def _body(picture: Picture, about: str) -> str:
    left = f", {picture.left_out:,} rarer ones left out" if picture.left_out else ""
    counts = (
        f"{len(picture.nodes):,} entities, {len(picture.lines):,} connections, {len(picture.notes):,} memories{left}"
    )
    label = "The graph. Arrow keys move it, plus and minus zoom, n and p walk through the entities."
    return (
        f'<canvas id="graph" tabindex="0" role="img" aria-label="{label}"></canvas>\n'
        f'<section id="top" class="card"><h1>{escape(clean(about))}</h1><p id="counts">{counts}</p>'
        '<input id="search" type="search" placeholder="Search entities ( / )" aria-label="Search entities">'
        '<ul id="found"></ul><div id="types" role="group" aria-label="Types that are shown"></div></section>\n'
        '<nav id="tools" class="card"><button id="in" title="Zoom in (+)" aria-label="Zoom in">+</button>'
        '<button id="out" title="Zoom out (-)" aria-label="Zoom out">−</button>'
        '<button id="all" title="Show all (0)">All</button><button id="theme" title="Dark or light">◐</button></nav>\n'
        '<aside id="panel" class="card" hidden aria-live="polite"><button id="close" aria-label="Close">×</button>'
        '<div id="about"></div></aside>\n'
        '<p id="help" class="card">Drag to move · wheel to zoom · click an entity · / search · n p walk · Esc</p>\n'
    )


def _empty(about: str) -> str:
    steps = "".join(f"<p>{escape(what)}<code>{escape(command)}</code></p>" for what, command in _FILL)
    return (
        f'<main id="empty" class="card"><h1>Nothing is connected yet</h1>'
        f"<p>{escape(clean(about))} has no memories that name a technology, an error, a function or a concept.</p>"
        f"{steps}<p>Then run <code>swarmlore visualize</code> again.</p></main>\n"
    )


def _part(name: str) -> str:
    with open(os.path.join(_PARTS, name), encoding="utf-8") as file:
        return file.read()


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
