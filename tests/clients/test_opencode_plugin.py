"""The plugin in a JavaScript engine, with the real process behind it: what it adds, what it leaves, what it survives."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hook_runs import Hooks
from swarmlore.clients.install.locations import for_person
from swarmlore.clients.opencode.install import CLIENT
from swarmlore.lore import Lore
from waiting import PATIENCE_S

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(not NODE, reason="there is no node here; make test-clients runs the plugin in OpenCode")
SESSION = "ses_e22167aa3ffeEOGAMKbI84I1AV"
CHILD = "ses_e2212ab87ffeYvbigyy8cnsVxo"
LESSON = "Refunds are booked in db/ledger, never in the orders table"
ASKED = "Where are refunds booked, in the ledger?"
DIRECTIVE = "ALWAYS prioritize 'memory-lane_find' over 'semantic-memory_find'."
OTHERS = (
    "Prices are stored in cents as integers, never as floating point numbers",
    "Icons come from the sprite file in assets/icons.svg",
    "Dates in the database are UTC; only templates convert them to local time",
    "Webhooks are signed with HMAC, compare digests in constant time",
    "Translations are sorted by key, otherwise the linter of the locale folder complains",
    "The barcode scanner sends a carriage return after each code",
)
# Runs hooks one after another; what a hook changed in what it was given is what counts.
DRIVER = """
import { readFileSync } from "node:fs"
const [, , plugin, folder] = process.argv
const { Swarmlore } = await import(plugin)
const hooks = await Swarmlore({ directory: folder, client: {} })
const told = []
for (const { hook, input, output, tool } of JSON.parse(readFileSync(0, "utf8"))) {
  let said
  if (tool) said = await hooks.tool?.[tool]?.execute(input, output)
  else if (hook === "event") await hooks.event({ event: input })
  else if (hook === "sleep") await new Promise((done) => setTimeout(done, input))
  else if (hook === "kill") process.kill(Number(readFileSync(input, "utf8").trim().split("\\n").at(-1)), "SIGKILL")
  else if (hook === "all") await Promise.all(input.map((step) => hooks[step.hook](step.input, step.output)))
  else if (hook === "odd") await hooks["tool.execute.before"](input, { args: { filePath: "a.py", n: 10n } })
  else await hooks[hook]?.(input, output)
  told.push({ output, said, tools: Object.keys(hooks.tool ?? {}) })
}
await hooks.dispose?.()
process.stdout.write(JSON.stringify(told), () => process.exit(0))
"""


class Plugin:
    """Our plugin as it is installed for one home and one folder."""

    def __init__(self, hooks: Hooks, program: str = "") -> None:
        self.hooks = hooks
        self.folder = hooks.home.parent / "js"
        self.folder.mkdir(exist_ok=True)
        where = for_person(str(hooks.home), {"HOME": str(hooks.home.parent)}, program or self._program())
        text = next(file.text for file in CLIENT.files(where) if file.path.endswith("swarmlore.js"))
        (self.folder / "plugins").mkdir(exist_ok=True)
        (self.folder / "plugins" / "swarmlore.mjs").write_text(text)
        self.wait(60_000, 60_000, 60_000)  # a busy machine answers as well, only later
        (self.folder / "driver.mjs").write_text(DRIVER)

    def wait(self, first_ms: int, second_ms: int, then_ms: int) -> None:
        """Let it wait for so long for an answer of its process."""
        place = self.folder / "plugins" / "swarmlore.mjs"
        text = place.read_text()
        for name, ms in (("WAIT_MS", then_ms), ("FIRST_WAIT_MS", first_ms), ("SECOND_WAIT_MS", second_ms)):
            text, found = re.subn(rf"^const {name} = \d+", f"const {name} = {ms}", text, flags=re.M)
            assert found == 1
        place.write_text(text)

    def _program(self) -> str:
        """The program as installed, or one that is the same."""
        place = self.folder / "swarmlore"
        place.write_text(f'#!/bin/sh\nexec {sys.executable} -m swarmlore "$@"\n')
        place.chmod(0o755)
        return str(place)

    def run(self, *steps: dict[str, Any]) -> list[dict[str, Any]]:
        assert NODE
        words = [NODE, "driver.mjs", str(self.folder / "plugins" / "swarmlore.mjs"), str(self.hooks.folder)]
        done = subprocess.run(
            words,
            input=json.dumps(steps),
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=self.hooks.env,
            timeout=2 * PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return list(json.loads(done.stdout))


@pytest.fixture
def hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hooks:
    for name in ("SWARMLORE_AGENT", "SWARMLORE_PROJECT", "SWARMLORE_ROLE", "SWARMLORE_HOME"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "project"
    folder.mkdir()
    made = Hooks(tmp_path / "home", folder)
    with Lore.open(str(made.home), cwd=str(folder), env={"SWARMLORE_EMBEDDER_KIND": "none"}) as lore:
        lore.remember(LESSON, kind="correction")
    return made


@pytest.fixture
def plugin(hooks: Hooks) -> Plugin:
    return Plugin(hooks)


def message(id: str, text: str, session: str = SESSION, **more: Any) -> dict[str, Any]:
    info = {"id": id, "role": "user", "sessionID": session, **more}
    part = {"id": f"prt_{id}", "type": "text", "text": text, "messageID": id, "sessionID": session}
    return {"info": info, "message": info, "parts": [part]}


def prompt(text: str, id: str = "msg_1", session: str = SESSION) -> dict[str, Any]:
    return {"hook": "chat.message", "input": {"sessionID": session}, "output": message(id, text, session)}


def request(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"hook": "experimental.chat.messages.transform", "input": {}, "output": {"messages": list(messages)}}


def begins(session: str = SESSION, **info: Any) -> dict[str, Any]:
    return {"hook": "event", "input": {"type": "session.created", "properties": {"info": {"id": session, **info}}}}


def ran(tool: str, output: dict[str, Any], call: str = "call_1", **args: Any) -> list[dict[str, Any]]:
    given = {"tool": tool, "sessionID": SESSION, "callID": call}
    return [
        {"hook": "tool.execute.before", "input": given, "output": {"args": args}},
        {"hook": "tool.execute.after", "input": {**given, "args": args}, "output": output},
    ]


def ours(told: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for part in told["output"]["parts"] if part.get("metadata", {}).get("swarmlore")]


def session_in(hooks: Hooks) -> dict[str, Any]:
    hooks.wait_until_digested()
    with Lore.open(str(hooks.home), cwd=str(hooks.folder), client="opencode", env={}) as lore:
        found = lore.store.session(lore.caller, SESSION)
        assert found is not None
        return {**found.extra, "ended": found.ended_at is not None}


def learn(hooks: Hooks, text: str) -> None:
    """One more lesson, and others that are more worth to begin a session with."""
    with Lore.open(str(hooks.home), cwd=str(hooks.folder), env={"SWARMLORE_EMBEDDER_KIND": "none"}) as lore:
        for other in OTHERS:
            lore.remember(other, kind="correction")
        lore.remember(text)


def test_a_message_gets_a_part_that_no_screen_and_no_title_shows(plugin: Plugin) -> None:
    told = plugin.run(begins(), prompt(ASKED))[-1]
    parts = ours(told)
    assert LESSON in "".join(part["text"] for part in parts)
    assert told["output"]["parts"][0]["text"] == ASKED
    for part in parts:
        assert (part["type"], part["synthetic"], part["ignored"]) == ("text", True, True)
        assert part["id"].startswith("prt_msg_1")
        assert (part["messageID"], part["sessionID"]) == ("msg_1", SESSION)


def test_a_request_is_shown_it_and_the_message_stays_as_it_was(plugin: Plugin) -> None:
    kept = plugin.run(begins(), prompt(ASKED))[-1]["output"]
    shown = plugin.run(request(kept))[-1]["output"]["messages"][0]
    assert [part["ignored"] for part in ours({"output": shown})] == [False] * len(ours({"output": kept})) != []
    assert LESSON in json.dumps(shown, ensure_ascii=False)


def test_an_unrelated_message_gets_nothing_of_its_own(plugin: Plugin) -> None:
    first, second = plugin.run(begins(), prompt(ASKED), prompt("Write a haiku about the sea", "msg_2"))[1:]
    assert ours(first)
    assert ours(second) == []


def test_a_sub_agent_is_given_what_fits_its_task_in_its_own_session(plugin: Plugin, hooks: Hooks) -> None:
    child = begins(CHILD, parentID=SESSION, agent="general")
    told = plugin.run(begins(), prompt("Go ahead"), child, prompt(ASKED, "msg_2", CHILD))[-1]
    assert LESSON in "".join(part["text"] for part in ours(told))
    assert session_in(hooks)["sub_agents"] == 1


def test_after_a_compaction_old_blocks_are_gone_and_one_new_is_there(plugin: Plugin) -> None:
    kept = plugin.run(begins(), prompt(ASKED))[-1]["output"]
    old = {part["text"] for part in ours({"output": kept})}
    summary = {"info": {"id": "msg_5", "role": "assistant", "sessionID": SESSION, "summary": True}, "parts": []}
    after = message("msg_6", "Continue")
    first, second = plugin.run(request(kept, summary, after), request(kept, summary, after))
    for told in (first, second):
        shown = [part for item in told["output"]["messages"] for part in item["parts"] if not part.get("ignored")]
        texts = [part["text"] for part in shown]
        assert not old & set(texts)
        assert sum(LESSON in text for text in texts) == 1
    assert first["output"] == second["output"]  # asked for once


def test_what_is_summed_up_is_without_our_notes(plugin: Plugin) -> None:
    kept = plugin.run(begins(), prompt(ASKED))[-1]["output"]
    compacting = {"hook": "experimental.session.compacting", "input": {"sessionID": SESSION}, "output": {"context": []}}
    block = next(part["text"] for part in ours({"output": kept}))
    state = {"status": "completed", "output": f"fine\n\n{block}\nand more"}
    used = {"info": {"id": "msg_2", "role": "assistant"}, "parts": [{"type": "tool", "tool": "bash", "state": state}]}
    told = plugin.run(compacting, request(kept, used))
    assert told[0]["output"] == {"context": []}
    shown = told[1]["output"]["messages"]
    assert shown[0] == kept  # its parts are ignored, as they were stored
    assert shown[1]["parts"][0]["state"]["output"] == "fine\nand more"


def test_a_failed_command_comes_with_what_is_known(plugin: Plugin, hooks: Hooks) -> None:
    learn(hooks, "ledger-sync: lock held by the importer means that the importer has to be stopped first")
    failed = {"title": "", "output": "ledger-sync: lock held by the importer", "metadata": {"exit": 1}}
    worked = {"title": "", "output": "fine", "metadata": {"exit": 0}}
    told = plugin.run(
        begins(), prompt("Go ahead"), *ran("bash", failed, command="ledger-sync"), *ran("bash", worked, "call_2")
    )
    assert "importer has to be stopped first" in told[3]["output"]["output"]
    assert told[5]["output"] == worked
    assert {name: session_in(hooks)[name] for name in ("errors", "tool_calls")} == {"errors": 1, "tool_calls": 2}


def test_a_failed_tool_of_a_server_gets_one_more_part(plugin: Plugin) -> None:
    failed = {"content": [{"type": "text", "text": "refunds are booked where? the ledger is locked"}], "isError": True}
    told = plugin.run(begins(), prompt("Go ahead"), *ran("shop_refund", failed))[-1]["output"]["content"]
    assert told[0]["text"] == failed["content"][0]["text"]  # type: ignore[index]
    assert [part["type"] for part in told] == ["text"] * len(told)


def test_a_tool_that_threw_is_shown_what_is_known_in_every_later_request(plugin: Plugin, hooks: Hooks) -> None:
    learn(hooks, "File not found ledger.txt means that the nightly export did not run: start it")
    error = "File not found: ledger.txt"
    state = {"status": "error", "input": {"filePath": "ledger.txt"}, "error": error}
    part = {"id": "prt_9", "type": "tool", "tool": "read", "callID": "call_9", "sessionID": SESSION, "state": state}
    answer = {"info": {"id": "msg_2", "role": "assistant", "sessionID": SESSION}, "parts": [part]}
    threw = {"hook": "event", "input": {"type": "message.part.updated", "properties": {"part": part}}}
    no = {**part, "callID": "call_8", "state": {**state, "error": "The user rejected permission to use this tool"}}
    refused = {"hook": "event", "input": {"type": "message.part.updated", "properties": {"part": no}}}
    told = plugin.run(begins(), prompt("Go ahead"), threw, threw, refused, request(answer), request(answer))[-2:]
    for one in told:
        assert "nightly export" in one["output"]["messages"][0]["parts"][0]["state"]["error"]
    assert session_in(hooks)["errors"] == 1


@pytest.mark.parametrize("form", ["text", "parts"])
def test_a_question_to_the_older_memory_is_redirected(form: str, plugin: Plugin) -> None:
    def said(text: str) -> dict[str, Any]:
        return {"output": text} if form == "text" else {"content": [{"type": "text", "text": text}]}

    known = ran("semantic-memory_find", said("older"), query=ASKED)
    unknown = ran("semantic-memory_find", said("older"), "call_2", query="the weather in Lisbon")
    config = {"hook": "config", "input": {"mcp": {"semantic-memory": {}}}}
    told = plugin.run(config, begins(), prompt("Go ahead"), *known, *unknown)
    first, second = (json.dumps(told[place]["output"], ensure_ascii=False) for place in (4, 6))
    assert LESSON in first
    assert "Prefer memory-lane_find" in first
    assert "older" not in first
    assert "older" in second
    assert DIRECTIVE in second


@pytest.mark.parametrize(
    ("config", "offered"),
    [
        ({}, []),
        ({"mcp": {"swarmlore": {}}}, []),
        ({"mcp": {"semantic-memory": {}}}, ["memory-lane_find"]),
        ({"plugin": [["opencode-swarm-plugin", {}]]}, ["memory-lane_find"]),
        ({"plugin": ["@joel/opencode-swarm@latest"]}, ["memory-lane_find"]),
        ({"plugin": ["file:///home/dev/.config/opencode/plugins/swarm.ts"]}, ["memory-lane_find"]),
        ({"plugin": ["file:///srv/node_modules/opencode-swarm-plugin/dist/index.js"]}, ["memory-lane_find"]),
        ({"plugin": ["file:///home/dev/.config/opencode/plugins/swarmlore.js"]}, []),
        ({"plugin": ["file:///home/dev/swarm-shop/.opencode/plugins/notes.js"]}, []),
        ({"plugin": "nonsense", "mcp": 7}, []),
    ],
)
def test_the_tool_of_memory_lane_is_offered_where_the_older_one_may_be(
    config: dict[str, Any], offered: list[str], plugin: Plugin
) -> None:
    assert plugin.run({"hook": "config", "input": config})[0]["tools"] == offered


def test_the_tool_of_memory_lane_answers(plugin: Plugin) -> None:
    ask = {"tool": "memory-lane_find", "input": {"query": ASKED}, "output": {"sessionID": SESSION, "callID": "c"}}
    nothing = {**ask, "input": {"query": "the weather in Lisbon"}}
    told = plugin.run({"hook": "config", "input": {"mcp": {"semantic-memory": {}}}}, ask, nothing)
    assert LESSON in told[1]["said"]
    assert told[2]["said"] == "Nothing is known about this."


def test_a_turn_and_a_client_that_end_are_told(plugin: Plugin, hooks: Hooks) -> None:
    said = {"hook": "experimental.text.complete", "input": {"sessionID": SESSION}, "output": {"text": "It is done."}}
    idle = {"hook": "event", "input": {"type": "session.idle", "properties": {"sessionID": SESSION}}}
    plugin.run(begins(), prompt("Go ahead"), said, idle)
    found = session_in(hooks)
    assert (found["last_said"], found["ended"]) == ("It is done.", True)


@pytest.mark.parametrize(
    "program",
    [
        "",
        "exit 3\n",
        "exec sleep 600\n",
        "while read -r line; do echo nonsense; echo '{\"id\": 99}'; echo '[]'; done\n",
    ],
    ids=["missing", "dying", "deaf", "babbling"],
)
def test_a_process_that_is_of_no_use_is_waited_for_twice_at_most(program: str, hooks: Hooks) -> None:
    """One that lets an answer be waited for is ended; the third is not started."""
    place, starts = hooks.home.parent / "useless" / "swarmlore", hooks.home.parent / "starts"
    place.parent.mkdir()
    starts.touch()
    if program:
        place.write_text(f"#!/bin/sh\necho started >> {starts}\n{program}")
        place.chmod(0o755)
    plugin = Plugin(hooks, str(place))
    plugin.wait(100, 100, 100)
    failed = {"output": "no", "metadata": {"exit": 1}}
    calls = [step for number in range(8) for step in ran("bash", failed, f"call_{number}", command="x")]
    told = plugin.run(begins(), prompt(ASKED), *calls, prompt("And now?", "msg_2"), prompt("And then?", "msg_3"))
    assert len(starts.read_text().split()) <= (2 if program else 0)
    assert ours(told[1]) == []
    assert [step["output"] for step in told if "metadata" in step.get("output", {})] == [failed] * 8


@pytest.mark.parametrize("odd", [None, 7, "x", [], {"sessionID": None}, {"sessionID": SESSION, "tool": {}}])
def test_whatever_a_hook_is_given_it_never_throws(odd: Any, plugin: Plugin) -> None:
    names = (
        *("chat.message", "chat.params", "tool.execute.before", "tool.execute.after", "config"),
        *("experimental.chat.messages.transform", "experimental.text.complete", "experimental.session.compacting"),
    )
    steps = [{"hook": name, "input": odd, "output": odd} for name in names]
    broken = {"hook": "event", "input": {"type": "message.part.updated", "properties": {"part": {"type": "tool"}}}}
    assert len(plugin.run(*steps, broken)) == len(steps) + 1


def test_the_second_of_two_plugins_stays_silent(plugin: Plugin) -> None:
    """A person's and a project's."""
    again = "const other = await import(plugin + '?2')\nconst more = await other.Swarmlore({ directory: folder })\n"
    driver = DRIVER.replace("const told = []", again + "const told = [Object.keys(more)]")
    (plugin.folder / "driver.mjs").write_text(driver)
    assert plugin.run(begins())[0] == []
