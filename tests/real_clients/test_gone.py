"""The program is gone, and nobody uninstalled it: every client works as if we had never been there."""

from __future__ import annotations

import pytest

from real_clients.conftest import INSTALL, NewWorld
from real_clients.model import Step
from real_clients.runners import CLIENTS, Client, Codex
from real_clients.world import PROGRAM, World

# The tools that hooks are called before; Codex reads in its shell.
READS = {
    "claude": ("^Read$", "file_path"),
    "gemini": ("^read_file$", "file_path"),
    "copilot": ("^view$", "path"),
    "opencode": ("^read$", "filePath"),
}
NOTE = "kumquats are in season"
TASK = "count the kumquats"


@pytest.fixture(scope="module")
def deserted(new_world: NewWorld) -> World:
    world = new_world()
    world.program = world.root / "venv" / "swarmlore"
    world.program.parent.mkdir()
    world.program.symlink_to(PROGRAM)
    world.swarmlore(*INSTALL)
    assert str(world.program) in (world.home / ".codex" / "config.toml").read_text()
    world.program.unlink()
    (world.project / "note.txt").write_text(NOTE)
    return world


@pytest.mark.parametrize("kind", CLIENTS, ids=lambda kind: kind.name)
def test_a_client_answers_uses_its_tools_and_delegates(deserted: World, kind: type[Client]) -> None:
    client = kind(deserted)
    if isinstance(client, Codex):
        client.waits = False
    path = str(deserted.project / "note.txt")
    tool, name = READS.get(client.name, ("", ""))
    steps = [Step(tool=tool, args={name: path}) if tool else client.shell(f"cat {path}")]
    if client.has_sub_agents:
        steps += [*client.delegate(TASK), Step("Seven.", when=TASK)]
    session = client.run("What is in the note?", client.shell("echo begun"), *steps, Step("All said."))
    assert NOTE in "".join(request.text for request in session.requests)
    assert not any("swarmlore" in name for name in session.first.tools)
