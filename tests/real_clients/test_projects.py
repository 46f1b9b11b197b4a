"""A repository with hooks for every client, beside those of the person: what happens in it counts once."""

from __future__ import annotations

import pytest

from real_clients.conftest import INSTALL, NAMES, NewWorld
from real_clients.model import Step
from real_clients.runners import CLIENTS, Client
from real_clients.world import PROGRAM, World, soon
from swarmlore.lore import Lore

WRAPPER = '#!/bin/sh\nunset SWARMLORE_HOME\nexec {program} "$@"\n'  # a project's lines use what the person's own name
LESSON = "Data is kept in parquet files, never in CSV"


@pytest.fixture(scope="module")
def shared(new_world: NewWorld) -> World:
    world = new_world()
    wrapper = world.project / "bin" / "swarmlore"
    wrapper.write_text(WRAPPER.format(program=PROGRAM))
    wrapper.chmod(0o755)
    world.swarmlore(*INSTALL)
    world.swarmlore("install", *NAMES, "--project", "--yes")
    world.swarmlore("remember", "--kind", "correction", LESSON)
    return world


@pytest.mark.parametrize("kind", CLIENTS, ids=[kind.name for kind in CLIENTS])
def test_an_event_that_several_hook_files_report_counts_once(kind: type[Client], shared: World) -> None:
    client = kind(shared)
    session = client.run("Say it aloud", client.shell("echo hello"), Step("Done."))
    assert session.first.text.count(LESSON) == 1
    assert soon(lambda: not shared.processes()), shared.processes()
    shared.swarmlore("stats")  # takes in whatever is still waiting
    env = {**shared.env, "SWARMLORE_ROLE": "lead", "SWARMLORE_EMBEDDER_KIND": "none"}
    with Lore.open(shared.lore, cwd=shared.project, env=env) as lore:
        (found,) = (item for item in lore.sessions() if item.id == session.id)
        given = [receipt for receipt in lore.receipts(session=session.id) if receipt.shown]
    assert found.client == client.name
    assert (found.extra["prompts"], found.extra["tool_calls"]) == (1, 1)
    assert len(given) == 1
