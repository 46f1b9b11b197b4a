"""Who acts."""

from __future__ import annotations

import pytest

from swarmlore.domain.records import Caller
from swarmlore.errors import ConfigError
from swarmlore.workspace.identity import find_caller


@pytest.mark.parametrize(
    ("env", "interactive", "caller"),
    [
        ({}, True, Caller("p", "person", "person", 3)),
        ({}, False, Caller("p", "cli", "worker", 2)),
        ({"CLAUDECODE": "1"}, True, Caller("p", "claude", "worker", 2)),
        ({"SWARMLORE_AGENT": "claude/reviewer"}, True, Caller("p", "claude/reviewer", "worker", 2)),
        ({"SWARMLORE_AGENT": "boss", "SWARMLORE_ROLE": "lead"}, False, Caller("p", "boss", "lead", 2)),
    ],
)
def test_a_person_is_at_a_terminal_outside_of_any_agent(env: dict[str, str], interactive: bool, caller: Caller) -> None:
    assert find_caller(env, "p", interactive=interactive, client="cli") == caller


def test_no_agent_takes_the_name_of_people() -> None:
    with pytest.raises(ConfigError, match="SWARMLORE_AGENT"):
        find_caller({"SWARMLORE_AGENT": "person"}, "p", interactive=True, client="cli")


def test_nobody_becomes_a_person_by_a_variable() -> None:
    with pytest.raises(ConfigError):
        find_caller({"SWARMLORE_ROLE": "person"}, "p", interactive=False, client="cli")
