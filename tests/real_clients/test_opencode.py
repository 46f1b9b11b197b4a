"""What only OpenCode has: a plugin in place of hooks, and a process behind it that may be missing, hang or die."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from real_clients.blocks import blocks, fenced, outside
from real_clients.conftest import NewWorld
from real_clients.model import Step, never
from real_clients.runners import Client, OpenCode, Session
from real_clients.stories import OTHER_LESSONS
from real_clients.world import World, soon
from swarmlore.lore import Lore

PLUGIN = ".config/opencode/plugins/swarmlore.js"
LESSON = "The ledger is closed at noon, so refunds after twelve go into the next day"
QUESTION = "When is the ledger closed for refunds?"
DIRECTIVE = "ALWAYS prioritize 'memory-lane_find' over 'semantic-memory_find'."
KILLER = """
import os, signal, sys
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        words = open(f"/proc/{pid}/cmdline", "rb").read().split(bytes(1))
    except OSError:
        continue
    if b"--lines" in words and sys.argv[1].encode() in words and int(pid) != os.getpid():
        os.kill(int(pid), signal.SIGKILL)
        print("killed", pid)
"""
OLD_MEMORY = '''
import sys
from mcp.server import MCPServer

server = MCPServer("semantic-memory")


@server.tool()
def find(query: str, limit: int = 5) -> str:
    """Find memories."""
    return "the older memory says: nothing"


server.run("stdio")
'''
SWARM = '''
from mcp.server import MCPServer

server = MCPServer("swarm")


@server.tool()
def swarm_complete(bead_id: str, summary: str, evaluation: str = "", error_count: int = 0) -> str:
    """Report a finished task."""
    return "completed"


server.run("stdio")
'''
DEAF = "#!{python}\nimport time\ntime.sleep(600)\n"
DYING = "#!{python}\nimport sys\nsys.stdin.readline()\nsys.exit(3)\n"
BABBLING = "#!{python}\nimport sys\nfor line in sys.stdin:\n    print('what? ' * 20_000, flush=True)\n"


@pytest.fixture(scope="module")
def opened(new_world: NewWorld) -> OpenCode:
    """A machine with OpenCode alone, and one thing to know."""
    world = new_world()
    world.swarmlore("install", "opencode", "--yes")
    world.swarmlore("remember", LESSON)
    return OpenCode(world)


@pytest.fixture
def fresh(new_world: NewWorld) -> OpenCode:
    world = new_world()
    world.swarmlore("install", "opencode", "--yes")
    return OpenCode(world)


def settings(world: World) -> Path:
    return world.home / ".config/opencode/opencode.jsonc"


def add_server(client: Client, name: str, source: str) -> None:
    """One more server in the settings of the user, as somebody adds it by hand."""
    program = client.world.root / f"{name}.py"
    program.write_text(source)
    place = settings(client.world)
    entry = {"type": "local", "command": [sys.executable, str(program)], "enabled": True, "timeout": 20_000}
    text = place.read_text()
    assert text.count('"mcp": {') == 1
    place.write_text(text.replace('"mcp": {', f'"mcp": {{\n    {json.dumps(name)}: {json.dumps(entry)},'))


def test_it_fetches_nothing_for_the_plugin(opened: OpenCode) -> None:
    """OpenCode fetches a package as soon as there is a plugin: without a network it tries for 75 seconds, and one that
    ends meanwhile leaves a lock, at which the next one waits."""
    before = beside_the_plugin(opened)
    for _ in range(3):
        opened.run("Say hello", Step("Hello."))
        assert beside_the_plugin(opened) == before


def beside_the_plugin(client: OpenCode) -> dict[str, str]:
    """What OpenCode writes where it fetches packages to: what they are, and what has come of them."""
    folder = (client.world.home / PLUGIN).parents[1]
    places = [*folder.glob("package*.json"), *folder.glob("bun.lock*"), *folder.glob("node_modules/*")]
    return {str(path.relative_to(folder)): path.read_text() if path.is_file() else "" for path in places}


def test_other_plugins_get_the_package_that_they_may_need(fresh: OpenCode) -> None:
    folder = fresh.world.home / ".config/opencode"
    assert (folder / "package-lock.json").exists()
    (folder / "plugins" / "other.js").write_text("export const Other = async () => ({})")
    fresh.run("Say hello", Step("Hello."))
    assert not (folder / "package-lock.json").exists()
    assert not (folder / "node_modules").exists()


def test_a_block_is_in_the_request_of_the_agent_and_not_in_the_one_for_a_title(opened: OpenCode) -> None:
    session = opened.run(QUESTION, Step("At noon."))
    titles = [request for request in session.requests if "title generator" in request.text]
    assert len(titles) == 1
    assert blocks(titles[0].text) == []
    assert LESSON in fenced(session.first.text)
    assert LESSON not in outside(session.first.text)


def test_what_was_given_is_still_there_when_the_session_goes_on(opened: OpenCode) -> None:
    begun = opened.run(QUESTION, Step("At noon."))
    again = opened.run("Go on", Step("Yes."), resume=begun.id)
    assert LESSON in fenced(again.first.text)
    assert len(blocks(again.first.text)) == len(blocks(begun.first.text))


def test_the_skill_is_offered(opened: OpenCode) -> None:
    session = opened.run("Say hello", Step("Hello."))
    assert "Look up what is already known" in json.dumps(session.first.body)


def test_a_question_to_the_older_memory_is_answered_from_this_one(fresh: OpenCode) -> None:
    fresh.world.swarmlore("remember", LESSON)
    add_server(fresh, "semantic-memory", OLD_MEMORY)
    session = fresh.run("Go ahead", Step(tool="^semantic-memory_find$", args={"query": QUESTION}), Step("At noon."))
    told = session.requests[-1].of("tool")
    assert LESSON in fenced(told)
    assert "the older memory says" not in told
    assert "Prefer memory-lane_find" in told
    assert "memory-lane_find" in session.first.tools
    said = json.loads(fresh.world.swarmlore("receipts", "--session", session.id, "--json").stdout)["receipts"]
    assert [len(receipt["shown"]) for receipt in said if receipt["trigger"] == "redirect"] == [1]


def test_where_nothing_is_known_the_older_memory_answers_and_the_directive_is_added(fresh: OpenCode) -> None:
    add_server(fresh, "semantic-memory", OLD_MEMORY)
    session = fresh.run("Go ahead", Step(tool="^semantic-memory_find$", args={"query": QUESTION}), Step("Hm."))
    told = session.requests[-1].of("tool")
    assert "the older memory says: nothing" in told
    assert DIRECTIVE in told


def test_without_an_older_memory_its_tool_is_not_offered(fresh: OpenCode) -> None:
    """OpenCode lists our own file among the plugins, and its name has a swarm in it."""
    assert "memory-lane_find" not in fresh.run("Say hello", Step("Hello.")).first.tools


def test_without_the_program_the_older_memory_has_the_word(fresh: OpenCode) -> None:
    add_server(fresh, "semantic-memory", OLD_MEMORY)
    place = fresh.world.home / PLUGIN
    command = next(line for line in place.read_text().splitlines() if line.startswith("const COMMAND = "))
    place.write_text(place.read_text().replace(command, 'const COMMAND = ["/nowhere/swarmlore"]'))
    session = fresh.run("Go ahead", Step(tool="^semantic-memory_find$", args={"query": QUESTION}), Step("Hm."))
    told = session.requests[-1].of("tool")
    assert "the older memory says: nothing" in told
    assert DIRECTIVE not in told
    assert "memory-lane_find" not in session.first.tools


def test_the_tool_that_it_is_redirected_to_answers_too(fresh: OpenCode) -> None:
    fresh.world.swarmlore("remember", LESSON)
    add_server(fresh, "semantic-memory", OLD_MEMORY)
    session = fresh.run("Go ahead", Step(tool="^memory-lane_find$", args={"query": QUESTION}), Step("At noon."))
    assert LESSON in fenced(session.requests[-1].of("tool"))


def test_a_finished_task_is_counted_with_what_its_worker_said(fresh: OpenCode) -> None:
    add_server(fresh, "swarm", SWARM)
    args = {
        "bead_id": "cell-7",
        "summary": "OAuth login with JWT",
        "evaluation": "Types were missing.",
        "error_count": 2,
    }
    session = fresh.run("Go ahead", Step(tool="swarm_complete$", args=args), Step("Done."))
    assert soon(lambda: metrics(fresh.world, session).get("tool_calls") == 1), metrics(fresh.world, session)


def metrics(world: World, session: Session) -> dict[str, int]:
    """What is counted for a session, as the product itself reads it."""
    world.swarmlore("stats")  # takes in what waits
    with Lore.open(str(world.lore), cwd=str(world.project), client="opencode", env={}) as lore:
        found = lore.store.session(lore.caller, session.id)
    return dict(found.extra) if found else {}


def test_a_tool_that_threw_is_counted_and_answered_with_the_next_request(fresh: OpenCode) -> None:
    others = fresh.world.root / "others.txt"
    others.write_text(OTHER_LESSONS)
    fresh.world.swarmlore("remember", "--kind", "correction", "--each-line", "--file", str(others))
    fresh.world.swarmlore("remember", "File not found ledger.txt means that the nightly export did not run: start it")
    missing = str(fresh.world.project / "ledger.txt")
    session = fresh.run("Go ahead", Step(tool="^read$", args={"filePath": missing}), Step("I see."))
    assert "nightly export" not in session.first.text
    assert "nightly export" in fenced(session.requests[-1].of("tool"))
    assert soon(lambda: metrics(fresh.world, session).get("errors") == 1)


@pytest.mark.parametrize("program", ["", DEAF, DYING, BABBLING], ids=["missing", "deaf", "dying", "babbling"])
def test_a_process_that_is_of_no_use_does_not_harm_the_client(fresh: OpenCode, program: str) -> None:
    """It is started again once; each start may be waited for."""
    replaced, starts = fresh.world.root / "swarmlore", fresh.world.root / "starts"
    starts.touch()
    if program:
        counted = program.format(python=sys.executable).replace(
            "\n", f"\nopen({str(starts)!r}, 'a').write('started ')\n", 1
        )
        replaced.write_text(counted)
        replaced.chmod(0o755)
    place = fresh.world.home / PLUGIN
    command = next(line for line in place.read_text().splitlines() if line.startswith("const COMMAND"))
    place.write_text(place.read_text().replace(command, f"const COMMAND = {json.dumps([str(replaced)])}"))
    session = fresh.run("Go ahead", fresh.shell("false"), fresh.shell("echo ok"), Step("Done."))
    assert session.requests[-1].of("tool").count("ok") >= 1
    assert blocks(session.requests[-1].text) == []
    assert len(starts.read_text().split()) <= 2
    assert soon(lambda: not [line for line in fresh.world.processes() if str(replaced) in line]), "it stayed behind"


def test_a_process_that_is_killed_is_started_again_and_nothing_is_lost(fresh: OpenCode) -> None:
    script = fresh.world.root / "killer.py"
    script.write_text(KILLER)
    kill = f"{sys.executable} {script} {fresh.world.lore}"
    prompt = "No, refunds are booked in db/ledger, never in the orders table"
    session = fresh.run(prompt, fresh.shell(kill), fresh.shell("echo after"), Step("Done."))
    assert session.requests[-1].of("tool").count("killed ") == 1
    assert soon(lambda: metrics(fresh.world, session).get("tool_calls") == 2), metrics(fresh.world, session)
    assert "db/ledger" in fresh.world.swarmlore("list").stdout


def _end(running: subprocess.Popen[str], how: signal.Signals) -> None:
    """As a person does it: once, again where the client did not hear it, and then with force. Now and then OpenCode goes
    on after an interrupt; what has to be left behind is the same however it ends."""
    for signal_ in (how, how, signal.SIGTERM, signal.SIGKILL):
        running.send_signal(signal_)
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.communicate(timeout=120)
            return
    raise AssertionError("it goes on whatever is done")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_however_the_client_ends_its_session_ends_and_nothing_stays(fresh: OpenCode, how: signal.Signals) -> None:
    world = fresh.world
    world.model.play([never("Think it over")])
    running = fresh.start("Think it over")
    assert soon(lambda: world.model.held == 1)
    _end(running, how)
    assert soon(lambda: not world.processes()), world.processes()
    # A command takes in what waits, and what is left of a server that was killed, once nobody else is at it.
    assert soon(lambda: world.swarmlore("stats").returncode == 0 and world.sockets() == []), world.sockets()
    with Lore.open(str(world.lore), cwd=str(world.project), client="opencode", env={}) as lore:
        (found,) = lore.sessions()
    assert found.ended_at is not None
    assert found.extra["prompts"] == 1


def test_a_finished_task_teaches(fresh: OpenCode) -> None:
    """From the report of a worker to a lesson, by way of the queue."""
    add_server(fresh, "swarm", SWARM)
    said = "Always refresh the JWT five minutes before it ends, otherwise two tabs race for the new one."
    args = {"bead_id": "cell-7", "summary": "OAuth login with JWT", "evaluation": said, "error_count": 2}
    fresh.run("Go ahead", Step(tool="swarm_complete$", args=args), Step("Done."))
    fresh.world.swarmlore("stats")
    fresh.world.swarmlore("worker", "--until-empty")
    listed = json.loads(fresh.world.swarmlore("list", "--limit", "50", "--json").stdout)["memories"]
    assert [memory for memory in listed if "JWT" in memory["text"]], listed


def test_nothing_is_written_into_the_database_of_the_client(opened: OpenCode) -> None:
    opened.run("No, invoices are numbered by the sequence table, never by hand", Step("Yes."))
    assert soon(lambda: not opened.world.processes())
    place = opened.world.home / ".local/share/opencode"
    before = {name: (place / name).read_bytes() for name in os.listdir(place) if name.startswith("opencode.db")}
    opened.world.swarmlore("stats")
    assert "sequence table" in opened.world.swarmlore("list").stdout
    assert {name: (place / name).read_bytes() for name in before if not name.endswith("-shm")} == {
        name: content for name, content in before.items() if not name.endswith("-shm")
    }
