"""Where the memory is switched off, nothing that happens is kept, and nobody is told of a problem."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_capture import Work, work

from hook_runs import content
from swarmlore.clients.hook import spool
from swarmlore.clients.hook.home import spool_dir

__all__ = ["work"]
SAID = "No, use pnpm here, never npm: the lockfile belongs to pnpm"


@pytest.fixture
def off(work: Work) -> Work:
    (Path(work.folder) / ".swarmlore.toml").write_text("[knowledge]\nenabled = false\n")
    return work


def test_nothing_of_a_session_is_kept_and_nothing_is_a_problem(off: Work) -> None:
    assert off.prompt(SAID) == ""
    off.shell("npm install", error="ERR! lockfile of pnpm")
    off.send("Stop", last_assistant_message="The lockfile belongs to pnpm.")
    off.send("SessionEnd")
    with off.open() as lore:
        assert lore.sessions() == ()
        assert lore.list() == ()
        assert {receipt.cue for receipt in lore.receipts()} <= {""}
        assert "switched off" in lore.receipts()[0].reason
    assert off.problems() == []
    assert not spool.has_events(spool_dir(str(off.home)))
    kept = b"".join(content(path) for path in Path(off.home).glob("lore.db*"))
    assert b"lockfile" not in kept


def test_switched_on_again_it_goes_on_as_before(off: Work) -> None:
    off.prompt(SAID)
    (Path(off.folder) / ".swarmlore.toml").unlink()
    off.prompt("No, use tabs in Makefiles here, never spaces")
    assert ["Makefiles" in memory.text for memory in off.memories()] == [True]
    assert off.state()["prompts"] == 1
