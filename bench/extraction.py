"""What the memory-catcher keeps of whole sessions, held against what it should keep.

    python bench/extraction.py                 # the forty labelled sessions, each in its client's own format
    python bench/extraction.py --set fresh     # others, written after the rules
    python bench/extraction.py --every         # every session in every format: the figures must not depend on it

Each session is written as its client writes it, read back, cut, queued and extracted by the worker's handler into a
store of its own. Precision: how much of what was stored is wanted; recall: how much of what is wanted was stored.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import labelled
from swarmlore.capture.extract import relative_to_project, session_body
from swarmlore.clients.transcripts import CLIENTS, read_transcript
from swarmlore.domain.records import Caller, Memory
from swarmlore.lore import Lore
from waiting_jobs import do_jobs


@dataclass
class Figures:
    stored: int = 0
    good: int = 0
    wanted: int = 0
    kinds: int = 0
    entities: int = 0
    judged: int = 0  # lessons for which entities are labelled
    notes: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        return self.good / self.stored if self.stored else 1.0

    @property
    def recall(self) -> float:
        return self.good / self.wanted if self.wanted else 1.0


def extracted(session: labelled.Session, folder: Path) -> list[Memory]:
    """The lessons that are stored after a session has ended."""
    path = labelled.write_session(session, folder)
    turns = [relative_to_project(turn, labelled.ROOT) for turn in read_transcript(session.client, str(path))]
    assert turns, f"{session.client}: nothing was read"
    who = Caller("bench", session.client)
    home, env = folder / session.name / "home", {"SWARMLORE_EMBEDDER_KIND": "none"}
    with Lore.open(home, cwd=folder, caller=who, env=env) as lore:
        lore.enqueue("extract", session_body(turns, client=session.client, session=session.name), "session:end")
        do_jobs(lore)
        return [memory for memory in lore.list(limit=100) if not memory.raw]


def judge(session: labelled.Session, memories: Iterable[Memory], figures: Figures) -> None:
    left, stored = list(session.wanted), list(memories)
    figures.wanted += len(left)
    figures.stored += len(stored)
    for strict in (True, False):  # first those of which the kind fits too
        for memory in list(stored):
            fits = (
                wanted for wanted in left if wanted.fits(memory.text) and (not strict or memory.kind in wanted.kinds)
            )
            if fit := next(fits, None):
                stored.remove(memory)
                left.remove(fit)
                count(session, memory, fit, figures)
    figures.notes += [f"{session.name}: not wanted ({memory.kind}): {memory.text}" for memory in stored]
    figures.notes += [f"{session.name}: missed: {' & '.join(wanted.words)}" for wanted in left]


def count(session: labelled.Session, memory: Memory, fit: labelled.Wanted, figures: Figures) -> None:
    figures.good += 1
    figures.kinds += memory.kind in fit.kinds
    if memory.kind not in fit.kinds:
        figures.notes.append(f"{session.name}: {memory.kind} instead of {'/'.join(fit.kinds)}: {memory.text}")
    if fit.entities is not None:
        figures.judged += 1
        figures.entities += set(fit.entities) == set(memory.entities)


def measure(chosen: Iterable[labelled.Session]) -> Figures:
    figures = Figures()
    with tempfile.TemporaryDirectory() as folder:
        for number, session in enumerate(chosen):
            judge(session, extracted(session, Path(folder) / str(number)), figures)
    return figures


def show(name: str, figures: Figures, *, notes: bool) -> None:
    print(
        f"{name:10} precision {figures.precision:.2f} ({figures.good}/{figures.stored})  "
        f"recall {figures.recall:.2f} ({figures.good}/{figures.wanted})  "
        f"kinds {figures.kinds}/{figures.good}  entities {figures.entities}/{figures.judged}"
    )
    for note in figures.notes if notes else ():
        print("   ", note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--set", default="", help="the name of a file in tests/data/sessions")
    parser.add_argument("--every", action="store_true", help="every session in every format")
    parser.add_argument("--quiet", action="store_true", help="figures only")
    args = parser.parse_args()
    if not args.every:
        show(args.set or "all", measure(labelled.all_sessions(only=args.set)), notes=not args.quiet)
        return
    for client in CLIENTS:
        retold = [labelled.retold(session, client) for session in labelled.all_sessions(only=args.set)]
        show(client, measure(retold), notes=not args.quiet)


if __name__ == "__main__":
    main()
