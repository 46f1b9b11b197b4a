"""Cited spans replayed over a repository's own history, judged by `git log -L`; and what checking costs a recall.

    python bench/freshness.py                      # this repository, its last 50 commits
    python bench/freshness.py --repo PATH          # another one
    python bench/freshness.py --cost 1000          # a recall with citations against one without

Spans are cited at several old commits, as the product cites them. Then every later commit is checked out and the
product says what became of each. The judge is git: the commits are chained once more in reverse order, so that
`git log -L` at the old lines walks forward in time and names every step that touches them. Lines that no step touched
are where the hunks above them have pushed them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import corpus
from swarmlore.domain.records import Caller, Citation, Cited, Draft
from swarmlore.lore import Lore
from swarmlore.workspace.cited_code import UNLIMITED, CitationCheck, Tree

STATES = ("unchanged", "moved", "changed", "gone")
IDENTITY = ("-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "core.autocrlf=false")
TEXT = (".py", ".md", ".toml", ".sql", ".txt", ".yml", ".yaml", ".js", ".ts", ".go", ".rs", ".c", ".h", ".sh")


class Replay:
    """A clone whose commits are walked, and the same commits chained in reverse for the judge."""

    def __init__(self, repo: Path, folder: Path, commits: int) -> None:
        self.folder = folder / "clone"
        subprocess.run(["git", "clone", "-q", "--no-checkout", str(repo), str(self.folder)], check=True)
        listed = self.git("rev-list", "--first-parent", "--reverse", "HEAD").split()
        self.commits = listed[-commits:]
        self.backwards = self._chain(self.commits)
        self.tree = Tree(str(self.folder))
        self._hunks: dict[tuple[str, int, int], list[tuple[int, int]]] = {}

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *IDENTITY, "-C", str(self.folder), *words],
            capture_output=True,
            check=True,
            stdin=subprocess.DEVNULL,
        )
        return done.stdout.decode("utf-8", "replace")

    def _chain(self, commits: list[str]) -> dict[str, str]:
        """For each commit one of the same content whose parent has the content of the next commit in time."""
        made: dict[str, str] = {}
        parent: list[str] = []
        for commit in reversed(commits):
            made[commit] = self.git("commit-tree", f"{commit}^{{tree}}", *parent, "-m", commit).strip()
            parent = ["-p", made[commit]]
        return made

    def check_out(self, commit: str) -> None:
        self.git("checkout", "-q", "--force", "--detach", commit)

    def spans(self, count: int, rng: random.Random) -> Iterator[Citation]:
        """Random spans of the checked-out files: a third single lines, the others up to 25."""
        names = [name for name in self.git("ls-files").splitlines() if name.endswith(TEXT)]
        while count:
            name = rng.choice(names)
            length = len((self.folder / name).read_bytes().splitlines())
            size = 1 if rng.random() < 1 / 3 else rng.randint(2, 25)
            if length < size + 2:
                continue
            first = rng.randint(1, length - size + 1)
            if named := self.tree.named_in(f"{name}:{first}-{first + size - 1}"):
                count -= 1
                yield named[0]

    def touched(self, citation: Citation, begin: int) -> set[int]:
        """The steps (to the commit of that number) in which git says that the cited lines were touched."""
        lines = f"-L{citation.first_line},{citation.last_line}:{citation.path}"
        said = self.git("log", lines, "-s", "--format=%s", "--ignore-space-at-eol", self.backwards[self.commits[begin]])
        at = {commit: number for number, commit in enumerate(self.commits)}
        return {at[subject] + 1 for subject in said.split()}

    def truth(self, citation: Citation, begin: int, now: int, touched: set[int]) -> tuple[str, int]:
        """The state by git and, where the lines are untouched, their first line."""
        if not (self.folder / citation.path).is_file():
            return "gone", 0
        if any(begin < step <= now for step in touched):
            return "changed", 0
        shift = sum(grown for last, grown in self._grown(citation.path, begin, now) if last < citation.first_line)
        return ("moved" if shift else "unchanged"), citation.first_line + shift

    def _grown(self, path: str, begin: int, now: int) -> list[tuple[int, int]]:
        """For every hunk: the last old line it replaces (or follows), and by how many lines the file grew there."""
        key = (path, begin, now)
        if key not in self._hunks:
            diff = self.git("diff", "-U0", "--ignore-space-at-eol", self.commits[begin], self.commits[now], "--", path)
            found = re.findall(r"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@", diff, flags=re.MULTILINE)
            hunks = [(int(at), int(old or "1"), int(new or "1")) for at, old, new in found]
            self._hunks[key] = [(at + max(0, old - 1), new - old) for at, old, new in hunks]
        return self._hunks[key]


def replay(repo: Path, commits: int, origins: int, spans: int) -> dict[str, Any]:
    """The table of what git says against what the product says."""
    table: Counter[tuple[str, str]] = Counter()
    misplaced = same_text = 0
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        walk = Replay(repo, Path(folder), commits)
        last = len(walk.commits) - 1
        for begin in sorted({last * part // origins for part in range(origins)}):
            walk.check_out(walk.commits[begin])
            cited = list(walk.spans(spans, random.Random(begin)))
            texts = {item: lines_of(walk.folder, item.path, item.first_line, item.last_line) for item in cited}
            touched = {item: walk.touched(item, begin) for item in cited}
            for now in range(begin + 1, last + 1):
                walk.check_out(walk.commits[now])
                look = CitationCheck(Tree(str(walk.folder)), lambda _: True, UNLIMITED)
                for item in cited:
                    said = look.check(item)
                    state, first = walk.truth(item, begin, now, touched[item])
                    table[state, said.state] += 1
                    if state == said.state == "moved" and said.first_line != first:
                        misplaced += 1
                        wrong.append(describe(walk, begin, now, item, said, state, first))
                    if state == "changed" and said.state in ("unchanged", "moved"):
                        same_text += texts[item] == lines_of(walk.folder, item.path, said.first_line, said.last_line)
                    if state != said.state:
                        wrong.append(describe(walk, begin, now, item, said, state, first))
    return {**figures(table), "misplaced": misplaced, "said_the_same_and_text_is": same_text, "wrong": wrong,
            "commits": len(walk.commits), "checks": sum(table.values())}  # fmt: skip


def lines_of(root: Path, path: str, first: int, last: int) -> list[bytes]:
    return [line.rstrip() for line in (root / path).read_bytes().split(b"\n")[first - 1 : last]]


def describe(walk: Replay, begin: int, now: int, item: Citation, said: Cited, state: str, first: int) -> str:
    return (
        f"{walk.commits[begin][:8]}..{walk.commits[now][:8]} {item.path}:{item.first_line}-{item.last_line} "
        f"git: {state} {first or ''} said: {said.state} {said.first_line or ''}"
    )


def figures(table: Counter[tuple[str, str]]) -> dict[str, Any]:
    """Precision and recall of each state, and the table itself."""
    result: dict[str, Any] = {"table": {f"{true} → {said}": count for (true, said), count in sorted(table.items())}}
    for state in STATES:
        right = table[state, state]
        said = sum(count for (_, told), count in table.items() if told == state)
        true = sum(count for (is_, _), count in table.items() if is_ == state)
        result[state] = {
            "precision": round(100 * right / said, 2) if said else None,
            "recall": round(100 * right / true, 2) if true else None,
            "cases": true,
        }
    return result


def cost(rows: int, files: int = 200) -> dict[str, Any]:
    """The median of a recall over memories that cite two places each, against the same ones without citations."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder, "project")
        for number in range(files):
            path = project / "src" / f"part{number % 20}" / f"module{number}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(corpus.lessons(300, number)))
            os.utime(path, (1_600_000_000, 1_600_000_000))
        plain, citing = (_recaller(Path(folder, name), project, rows, name == "citing") for name in ("plain", "citing"))
        asked = corpus.questions(40)
        best: dict[tuple[str, str], float] = {}
        for _ in range(8):  # the best of eight, each in turn, so that a busy machine is as busy for each
            for query in asked:
                for name, lore in (("plain", plain), ("cold", citing), ("citing", citing)):
                    if name == "cold":
                        lore._tree._known.clear()  # as the first recall of a process finds it
                    began = time.perf_counter()
                    hits = lore.recall(query)
                    spent = (time.perf_counter() - began) * 1000
                    best[name, query] = min(spent, best.get((name, query), spent))
                    assert all(len(hit.cited) == (2 if lore is citing else 0) for hit in hits)
        plain.close(), citing.close()
    ms = {name: statistics.median(best[name, query] for query in asked) for name in ("plain", "citing", "cold")}
    return {
        "rows": rows,
        **{f"{name}_ms": round(value, 2) for name, value in ms.items()},
        "ratio": round(ms["citing"] / ms["plain"], 3),
        "ratio_cold": round(ms["cold"] / ms["plain"], 3),
    }


def _recaller(home: Path, project: Path, rows: int, cites: bool) -> Lore:
    lore = Lore.open(home, cwd=project, caller=Caller("bench", "bench", "worker", 2), env={})
    rng = random.Random(7)
    files = sorted(str(path.relative_to(project)) for path in project.rglob("*.py"))

    def places() -> tuple[str, ...]:
        firsts = [rng.randint(1, 280) for _ in range(2)]
        return tuple(f"{rng.choice(files)}:{first}-{first + 11}" for first in firsts)

    lore.remember_many(Draft(text, citations=places() if cites else ()) for text in corpus.lessons(rows, 3))
    lore.reindex()
    return lore


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--commits", type=int, default=50)
    parser.add_argument("--origins", type=int, default=5, help="old commits at which spans are cited")
    parser.add_argument("--spans", type=int, default=200, help="spans cited at each")
    parser.add_argument("--show", type=int, default=0, help="so many disagreements in full")
    parser.add_argument("--cost", type=int, metavar="ROWS", help="what checking costs a recall over so many memories")
    args = parser.parse_args()
    os.environ["GIT_CONFIG_NOSYSTEM"] = "1"
    if args.cost:
        print(json.dumps(cost(args.cost), indent=2))
        return
    found = replay(args.repo, args.commits, args.origins, args.spans)
    wrong = found.pop("wrong")
    print(json.dumps(found, indent=2, ensure_ascii=False))
    for line in wrong[: args.show]:
        print(line, file=sys.stderr)


if __name__ == "__main__":
    main()
