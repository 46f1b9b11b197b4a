"""Time of four times the text over the time of the text, for every scanner on each of its hostile texts.

    python bench/proportion.py                    # all of them; exits with 1 where one grows faster than its text
    python bench/proportion.py --only secrets safety --runs 9

About 4 is linear, 16 is quadratic. The suite counts calls (`tests/test_proportion.py`); what happens inside one search
of a regular expression can only be timed. Small and large are measured in turn, in one run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from hostile import CASES, SCANNERS

MOST_GROWTH = 8.0
LEAST_S = 0.002  # of work: shorter texts are read several times


def growth(scan: Callable[[str], object], small: str, large: str, runs: int) -> float:
    """The median ratio between the times of a text and of a quarter of it."""
    scan(small)  # what is compiled and imported once
    times = max(1, min(50, round(LEAST_S / max(_seconds(scan, small, 1), 1e-6))))
    found = []
    for _ in range(runs):
        before = _seconds(scan, small, times)
        found.append(_seconds(scan, large, times) / before)
    return statistics.median(found)


def _seconds(scan: Callable[[str], object], text: str, times: int) -> float:
    began = time.process_time()
    for _ in range(times):
        scan(text)
    return time.process_time() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=SCANNERS, default=list(SCANNERS))
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    found = []
    for name, piece in CASES:
        if name in args.only:
            scanner = SCANNERS[name]
            small, large = scanner.text(piece, scanner.size // 4), scanner.text(piece)
            found.append((growth(scanner.scan, small, large, args.runs), name, piece))
    too_fast = [f"{name} {piece!r}: {ratio:.1f}" for ratio, name, piece in found if ratio > MOST_GROWTH]
    worst = {
        scanner: max((round(ratio, 1), piece) for ratio, name, piece in found if name == scanner)
        for scanner in args.only
    }
    json.dump({"texts": len(found), "worst": worst, "too fast": too_fast}, sys.stdout, indent=2)
    print()
    return 1 if too_fast else 0


if __name__ == "__main__":
    sys.exit(main())
