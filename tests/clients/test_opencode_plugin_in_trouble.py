"""The plugin where something is wrong around it: what it is given, how its process does, or that there is none."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from test_opencode_plugin import (
    ASKED,
    LESSON,
    NODE,
    SESSION,
    Plugin,
    begins,
    hooks,
    ours,
    plugin,
    prompt,
    ran,
    request,
)

from hook_runs import Hooks
from swarmlore.lore import Lore
from waiting import wait_until

__all__ = ["hooks", "plugin"]
pytestmark = pytest.mark.skipif(not NODE, reason="there is no node here; make test-clients runs the plugin in OpenCode")
OTHER = "ses_0other0000000000000000000"
# Notes its number, then runs what stands behind it.
COUNTED = "#!/bin/sh\necho $$ >> {pids}\nexec {what}\n"
SLOW = """
import json, sys, time
for line in sys.stdin:
    time.sleep(0.3)
    print(json.dumps({"id": json.loads(line).get("id"), "text": "known"}), flush=True)
"""
# Keeps what it is told, and dies of some of it.
DYING = """
import json, os, sys
for line in sys.stdin:
    with open(sys.argv[1], "a") as told:
        told.write(line)
    if "poison" in line:
        os._exit(3)
    print(json.dumps({"id": json.loads(line).get("id"), "text": "known"}), flush=True)
"""


def counted(hooks: Hooks, what: str) -> tuple[Plugin, Path]:
    """A plugin with a program that leaves the number of each of its processes in a file."""
    place, pids = hooks.home.parent / "counted" / "swarmlore", hooks.home.parent / "pids"
    place.parent.mkdir()
    place.write_text(COUNTED.format(pids=pids, what=what))
    place.chmod(0o755)
    return Plugin(hooks, str(place)), pids


def real(hooks: Hooks) -> tuple[Plugin, Path]:
    return counted(hooks, f'{sys.executable} -m swarmlore "$@"')


def ends(hooks: Hooks, session: str) -> bool:
    """Whether a session ends within a while: nobody waits for the process that sees to it."""

    def ended() -> bool:
        with Lore.open(str(hooks.home), cwd=str(hooks.folder), client="opencode", env={}) as lore:
            found = lore.store.session(lore.caller, session)
        return found is not None and found.ended_at is not None

    return wait_until(ended, "the session ends", hooks.problems, pause_s=0.2)


def idle(session: str = SESSION) -> dict[str, Any]:
    return {"hook": "event", "input": {"type": "session.idle", "properties": {"sessionID": session}}}


def killed(pids: Path) -> list[dict[str, Any]]:
    return [{"hook": "kill", "input": str(pids)}, {"hook": "sleep", "input": 300}]


# --- what it is given


def test_results_that_are_far_too_long_are_cut_and_stop_nothing(hooks: Hooks) -> None:
    plugin, pids = real(hooks)
    huge = {"content": [{"type": "text", "text": "無" * 24_000}] * 100, "isError": True}
    calls = [step for number in range(4) for step in ran("shop_list", dict(huge), f"call_{number}")]
    told = plugin.run(begins(), prompt("Go ahead"), *calls, prompt(ASKED, "msg_2"))
    assert LESSON in json.dumps(told, ensure_ascii=False)
    assert len(pids.read_text().split()) == 1
    assert [problem for problem in hooks.problems() if "transcript" not in str(problem["what"])] == []


def test_what_cannot_be_written_as_json_is_told_as_far_as_it_can(hooks: Hooks) -> None:
    plugin, pids = real(hooks)
    odd = {"hook": "odd", "input": {"tool": "read", "sessionID": SESSION, "callID": "call_1"}}
    plugin.run(begins(), prompt("Go ahead"), odd, {"hook": "sleep", "input": 3500}, prompt(ASKED, "msg_2"))
    assert len(pids.read_text().split()) == 1


@pytest.mark.parametrize(
    "printed", ["a" + " " * 400_000 + "b", "=== swarmlore notes abcdef12 ===\n" * 12_000], ids=["spaces", "marks"]
)
def test_a_compaction_is_not_held_up_by_what_a_tool_printed(printed: str, plugin: Plugin) -> None:
    compacting = {"hook": "experimental.session.compacting", "input": {"sessionID": SESSION}, "output": {}}
    part = {"type": "tool", "tool": "bash", "state": {"status": "completed", "output": printed}}
    used = {"info": {"id": "msg_2", "role": "assistant", "sessionID": SESSION}, "parts": [part]}
    told = plugin.run(begins(), compacting, request(used))[-1]
    assert told["output"]["messages"][0]["parts"][0]["state"]["output"] == printed


# --- how its process does


def test_a_process_that_is_slow_but_answers_is_left_alone(hooks: Hooks) -> None:
    plugin, pids = counted(hooks, f"{sys.executable} {hooks.home.parent / 'slow.py'}")
    (hooks.home.parent / "slow.py").write_text(SLOW)
    many = [prompt("Go ahead", f"msg_{number}", f"ses_{number:020}") for number in range(12)]
    later = [{"hook": "sleep", "input": 4000}, prompt("And now?", "msg_99")]
    plugin.wait(5_000, 5_000, 60_000)  # the last of the many are not waited for so long
    told = plugin.run({"hook": "all", "input": many}, *later)
    assert [part["text"] for part in ours(told[-1])] == ["known", "known"]
    assert len(pids.read_text().split()) == 1


def test_a_session_that_rested_when_the_process_died_is_ended_with_the_client(hooks: Hooks) -> None:
    plugin, pids = real(hooks)
    plugin.run(begins(), prompt("Go ahead"), idle(), {"hook": "sleep", "input": 300}, *killed(pids))
    assert ends(hooks, SESSION)
    assert len(pids.read_text().split()) == 2


def test_the_next_process_ends_the_sessions_of_the_one_before(hooks: Hooks) -> None:
    plugin, pids = real(hooks)
    first = [begins(), prompt("Go ahead"), idle(), {"hook": "sleep", "input": 300}, *killed(pids)]
    plugin.run(*first, begins(OTHER), prompt(ASKED, "msg_2", OTHER))
    assert len(pids.read_text().split()) == 2
    assert ends(hooks, SESSION)
    assert ends(hooks, OTHER)


def test_of_what_waits_behind_a_line_that_ends_the_process_nothing_is_lost(hooks: Hooks) -> None:
    program, kept = hooks.home.parent / "dying.py", hooks.home.parent / "told.jsonl"
    program.write_text(DYING)
    plugin, pids = counted(hooks, f"{sys.executable} {program} {kept}")
    calls = [ran("bash", {"output": text, "metadata": {"exit": 0}}, text)[1] for text in ("poison", "one", "two")]
    pause = {"hook": "sleep", "input": 400}
    told = plugin.run(
        begins(), prompt("Go ahead"), *calls, pause, prompt("And now?", "msg_2"), pause, prompt("And then?", "msg_3")
    )
    assert ours(told[-1])
    assert len(pids.read_text().split()) == 3
    lines = [json.loads(line) for line in kept.read_text().splitlines()]
    begun = [place for place, line in enumerate(lines) if line["event"] == "restarted"]
    assert [lines[place]["payload"]["lost"] for place in begun] == [0, 1]
    served = [line for line in lines[begun[-1] :] if line["event"] == "tool.execute.after"]
    assert [line["payload"]["input"]["callID"] for line in served] == ["one", "two"]


# --- where there is none


def test_without_the_program_the_older_memory_has_the_word(hooks: Hooks) -> None:
    plugin = Plugin(hooks, str(hooks.home.parent / "gone" / "swarmlore"))
    config = {"hook": "config", "input": {"mcp": {"semantic-memory": {}}}}
    known = {"output": "older memory: refunds are booked in the ledger"}
    told = plugin.run(config, begins(), prompt("Go ahead"), *ran("semantic-memory_find", dict(known), query=ASKED))
    assert told[0]["tools"] == []
    assert told[-1]["output"] == known


def test_a_tool_that_was_offered_says_so_when_nobody_answers_any_more(hooks: Hooks) -> None:
    (hooks.home.parent / "once.sh").write_text("read -r line\necho '{\"id\": 1}'\n")
    plugin, _ = counted(hooks, f"sh {hooks.home.parent / 'once.sh'}")
    config = {"hook": "config", "input": {"mcp": {"semantic-memory": {}}}}
    ask = {"tool": "memory-lane_find", "input": {"query": ASKED}, "output": {"sessionID": SESSION, "callID": "c"}}
    told = plugin.run(config, {"hook": "sleep", "input": 300}, ask)
    assert told[0]["tools"] == ["memory-lane_find"]
    assert told[2]["said"] == "The memory does not answer."


def test_where_the_memory_is_switched_off_the_older_one_has_the_word(hooks: Hooks, plugin: Plugin) -> None:
    (hooks.folder / ".swarmlore.toml").write_text("[knowledge]\nenabled = false\n")
    config = {"hook": "config", "input": {"mcp": {"semantic-memory": {}}}}
    known = {"output": "older memory: refunds are booked in the ledger"}
    told = plugin.run(config, begins(), prompt("Go ahead"), *ran("semantic-memory_find", dict(known), query=ASKED))
    assert told[0]["tools"] == []
    assert told[-1]["output"] == known
