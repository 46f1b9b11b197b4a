"""The simulated year of bench/year.py in short: it still runs, and what it measures is what happened."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(scope="module")
def year() -> Any:
    sys.path.insert(0, str(BENCH))
    try:
        import year
    finally:
        sys.path.remove(str(BENCH))
    return year


def test_a_week_of_a_team_is_written_shown_and_told(year: Any, tmp_path: Path) -> None:
    told = list(year.year(str(tmp_path), 1))
    assert [found["week"] for found in told] == [1]
    assert 0.85 * year.A_WEEK <= told[0]["memories_in_all"] <= year.A_WEEK
    with year.open_lore(str(tmp_path), year.PROJECTS[0], year.Clock()) as lore:
        report = lore.report(all_projects=True)
    assert len(report.projects) == len(year.PROJECTS)
    assert report.counts.moments == year.BLOCKS * len(year.PROJECTS)
    assert report.counts.given > 0


def test_a_sweep_archives_what_is_due_and_nothing_else(year: Any) -> None:
    told = list(year.large(200))
    swept = {found["due"]: found["archived"] for found in told if "due" in found}
    assert swept["none"] == 0
    assert 38 <= swept["one of five"] <= 40  # two made-up lessons may be taken for one
    assert 155 <= swept["all the others"] <= 160
