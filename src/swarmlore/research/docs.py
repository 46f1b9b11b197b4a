"""What the docs of a project say: README, docs, and every other page that people wrote for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from swarmlore.frozen import replace
from swarmlore.research.question import Question, Weights
from swarmlore.research.records import Finding
from swarmlore.research.scan import Holding, text_of
from swarmlore.rules.amounts import has_number
from swarmlore.workspace.cited_code import Tree
from swarmlore.workspace.codebase import is_doc, is_readme, parts_of

MOST_PAGES = 60
MOST_CHARS = 300_000
TEXT_CHARS = 420
LEAST = 0.25  # of the question that a passage holds
PER_PAGE = 2
MEMORY = ".agents/MEMORY.md"
NO_NUMBER = 0.75
_OWN = ("research/", "docs/solutions/")  # our own reports, and notes, which are found as what they are
_LESS = ("changelog", "history", "news", "license", "licence")
_SHARES = {"prose": 1.0, "item": 1.0, "row": 0.95, "code": 0.6}


def search_docs(
    tree: Tree, holdings: Sequence[Holding], question: Question, weights: Weights, limit: int, number: bool = False
) -> tuple[Finding, ...]:
    """The passages that hold most of a question, a few of each page; where only a number can answer, rather those that
    hold one."""
    pages = [item for item in holdings if is_doc(item.path) and not item.path.startswith(_OWN)]
    held = {item.path: weights.of([question.terms[number] for number in item.terms]) for item in pages}
    best = sorted(held, key=lambda path: (-held[path], path.count("/"), path))[:MOST_PAGES]
    found = [passage for path in best for passage in _passages(path, text_of(tree, path)[:MOST_CHARS], weights, number)]
    return tuple(sorted(found, key=lambda item: (-item.rank, item.place))[:limit])


def _passages(path: str, text: str, weights: Weights, number: bool) -> Iterator[Finding]:
    """The best passages of one page."""
    share = 0.6 if path.rpartition("/")[2].lower().startswith(_LESS) else 1.1 if is_readme(path) else 1.0
    found = []
    for part in parts_of(text):
        covers = weights.coverage(part.text, part.heading)
        if covers >= LEAST:
            own = Finding(part.text[:TEXT_CHARS], "docs", f"{path}:{part.line}", title=part.heading)
            source = "learnings" if path == MEMORY else "docs"
            how = "an example" if part.kind == "code" else ""
            telling = NO_NUMBER if number and not has_number(part.text) else 1.0
            found.append(replace(own, source=source, how=how, rank=covers * share * telling * _SHARES[part.kind]))
    yield from sorted(found, key=lambda item: (-item.rank, item.place))[:PER_PAGE]


def page_parts(tree: Tree, paths: Sequence[str], most: int) -> Iterator[Finding]:
    """Every passage of the pages at the top of a project and in its docs, to be held against other sources."""
    pages = [path for path in paths if is_doc(path) and not path.startswith(_OWN)]
    pages = [path for path in pages if not path.rpartition("/")[2].lower().startswith(_LESS)]
    for path in sorted(pages, key=lambda path: (path.count("/"), path))[:most]:
        for part in parts_of(text_of(tree, path)[:MOST_CHARS]):
            yield Finding(part.text[:TEXT_CHARS], "docs", f"{path}:{part.line}", title=part.heading)
