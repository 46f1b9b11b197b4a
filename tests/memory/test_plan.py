"""The phase that a plan is in, as the plans of agents are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarmlore.memory.swarm_files import MOST_NAME, PlannedPhase, current_phase, number_in

TWO = "# Plan\nSwarm: mega\nPhase: 2 [IN PROGRESS] | Updated: today\n"


@pytest.mark.parametrize(
    ("text", "phase"),
    [
        ("", None),
        ("no phases here", None),
        ("## Phase 1: Setup [COMPLETE]\n## Phase 2: Build [IN PROGRESS]\n", PlannedPhase(2, "Phase 2: Build")),
        ("### phase 3 - polish it [in_progress]\n", PlannedPhase(3, "Phase 3: polish it")),
        ("## Phase 4 [IN PROGRESS]\n", PlannedPhase(4, "Phase 4")),
        ("## Phase 1: a [IN PROGRESS]\n## Phase 2: b [IN PROGRESS]\n", PlannedPhase(1, "Phase 1: a")),
        (TWO, PlannedPhase(2, "Phase 2")),
        (TWO + "## Phase 1: a\n## Phase 2: Build\n", PlannedPhase(2, "Phase 2: Build")),
        (TWO + "## Phase 2: Build [COMPLETE]\n", None),
        ("Phase: 2 [COMPLETE]\n", None),
        ("## Phase 1: Setup [COMPLETE]\n## Phase 2: Build [PENDING]\n", None),
        ("- [ ] Phase 1: a task [IN PROGRESS]\n", None),
        ("## Phase 1: ring\x07 the bell [IN PROGRESS]\r\n", PlannedPhase(1, "Phase 1: ring the bell")),
    ],
)
def test_a_plan_says_which_phase_is_in_progress(text: str, phase: PlannedPhase | None) -> None:
    assert current_phase(text) == phase


@pytest.mark.parametrize(
    ("name", "number"), [("Phase 3: build", 3), ("phase 12", 12), ("build", 0), ("Phase three", 0), ("Phase 0", 0)]
)
def test_the_number_in_a_name(name: str, number: int) -> None:
    assert number_in(name) == number


@given(st.text(max_size=400), st.integers(0, 999_999))
def test_whatever_stands_in_a_plan_its_name_is_one_short_clean_line(title: str, number: int) -> None:
    found = current_phase(f"## Phase {number}: {title} [IN PROGRESS]\n")
    if found is not None:
        assert len(found.name) <= MOST_NAME + 20
        assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in found.name)


@pytest.mark.parametrize(
    "line", ["## Phase 1" + " " * 300 + "[x] y", "## Phase 1" + "\t :" * 90 + "]", "## Phase " + "1" * 390, "#" * 399]
)
def test_a_hostile_plan_has_no_phase(line: str) -> None:
    assert current_phase(f"{line}\n" * 5_000) is None
