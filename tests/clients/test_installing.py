"""Entries in the files of clients: they come in without disturbing anything, and go out again to the byte."""

from __future__ import annotations

import json
import os
import random
import shlex
import stat
import string
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homes import linux
from skill_files import HOW_MANY, skills_in
from swarmlore.clients import CLIENTS, installed_clients, installer_of
from swarmlore.clients.install import manifest
from swarmlore.clients.install.commands import Call, Target, hook_call, hook_line, server_call
from swarmlore.clients.install.edit_json import JsonSheet, undone
from swarmlore.clients.install.edit_toml import TomlSheet, Unwritable, statements
from swarmlore.clients.install.locations import Where, find_program, for_person, for_project
from swarmlore.clients.install.plan import Plan, apply, difference, plan_install, plan_uninstall
from swarmlore.clients.install.status import is_installed
from swarmlore.errors import ConfigError, Conflict, InvalidInput, NotAllowed, SwarmloreError, Unavailable

NOW = 1_800_000_000.0
SERVER = ("mcp_servers", "swarmlore")
ENTRY = {"command": "/bin/swarmlore", "args": ["mcp"]}


class Machine:
    """A person's folder, a project and a home of ours, all of their own."""

    def __init__(self, folder: Path) -> None:
        self.user, self.home, self.project = folder / "user", folder / "memory", folder / "project"
        for made in (self.user, self.home, self.project):
            made.mkdir(parents=True)
        self.env: dict[str, str] = {"HOME": str(self.user), "PATH": "/nowhere"}

    def where(self, *, project: bool = False, home: str = "", program: str = "/opt/bin/swarmlore") -> Where:
        if project:
            return for_project(str(self.project), self.env)
        return for_person(home or str(self.home), self.env, program)

    def plan(self, *names: str, where: Where | None = None, version: str = "1.0") -> Plan:
        clients = [installer_of(name) for name in names or CLIENTS]
        return plan_install(where or self.where(), clients, manifest.read(str(self.home)), version, NOW)

    def install(self, *names: str, where: Where | None = None) -> Plan:
        plan = self.plan(*names, where=where)
        apply(plan, str(self.home), manifest.read(str(self.home)))
        return plan

    def uninstall(self, *names: str, where: Where | None = None) -> Plan:
        kept = manifest.read(str(self.home))
        plan = plan_uninstall(where or self.where(), [installer_of(name) for name in names or CLIENTS], kept)
        apply(plan, str(self.home), kept)
        return plan

    def write(self, name: str, content: bytes | str) -> Path:
        path = self.user / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def read(self, name: str) -> Any:
        text = (self.user / name).read_text()
        return tomllib.loads(text) if name.endswith(".toml") else json.loads(text)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@contextmanager
def a_machine() -> Iterator[Machine]:
    """A new one for each example."""
    with tempfile.TemporaryDirectory() as folder:
        yield Machine(Path(folder))


def tree(folder: Path) -> dict[str, Any]:
    """Everything below a folder: modes, contents, links."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(folder))] = (stat.S_IMODE(path.lstat().st_mode), content)
    return found


# What the files of people look like

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["{", "]", '"', ",", "\\", "é\n"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
handlers = st.fixed_dictionaries(
    {"type": st.just("command"), "command": texts}, optional={"timeout": st.integers(1, 9)}
)
groups = st.fixed_dictionaries({"hooks": st.lists(handlers, max_size=2)}, optional={"matcher": texts}) | values
events = st.sampled_from(["Stop", "SessionStart", "PreToolUse", "Notification"])
known = {
    "hooks": st.dictionaries(events, st.lists(groups, max_size=3), max_size=3),
    "permissions": st.fixed_dictionaries({}, optional={"allow": st.lists(texts, max_size=3), "deny": values}),
    "mcpServers": st.dictionaries(texts, values, max_size=2),
}
settings_files = st.builds(
    lambda some, others: {**others, **some},
    st.fixed_dictionaries({}, optional=known),
    st.dictionaries(texts.filter(lambda key: key not in known), values, max_size=4),
)


def scribbled(value: Any, draw: random.Random, spaces: Sequence[str], ascii_only: bool) -> str:
    """JSON as a careless hand would write it: any white space between any two tokens."""

    def gap() -> str:
        return draw.choice(spaces)

    if isinstance(value, dict):
        pairs = (
            f"{gap()}{json.dumps(k, ensure_ascii=ascii_only)}{gap()}:{gap()}{scribbled(v, draw, spaces, ascii_only)}{gap()}"
            for k, v in value.items()
        )
        return "{" + (",".join(pairs) or gap()) + "}"
    if isinstance(value, list):
        return "[" + (",".join(f"{gap()}{scribbled(v, draw, spaces, ascii_only)}{gap()}" for v in value) or gap()) + "]"
    return json.dumps(value, ensure_ascii=ascii_only)


@st.composite
def json_files(draw: st.DrawFn, data: st.SearchStrategy[Any] = settings_files) -> bytes:
    """A settings file in any style, with any line ends, with or without a last one."""
    value, ascii_only = draw(data), draw(st.booleans())
    if draw(st.booleans()):
        spaces = draw(st.lists(st.sampled_from(["", " ", "\n", "\n\t", "\r\n  ", "\n\n    "]), min_size=1, max_size=4))
        text = scribbled(value, draw(st.randoms(use_true_random=False)), spaces, ascii_only)
    else:
        text = json.dumps(value, indent=draw(st.sampled_from([None, 0, 1, 2, 4, "\t"])), ensure_ascii=ascii_only)
        text = text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    bom = draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"]))
    return (
        bom + (draw(st.sampled_from(["", "\n", " \n\n"])) + text + draw(st.sampled_from(["", "\n", "\r\n"]))).encode()
    )


FRAGMENTS = (
    "# a comment [mcp_servers.swarmlore]",
    'model = "x" # why',
    "text = '''\n[mcp_servers.swarmlore]\ncommand = 1\n'''",
    'long = """a "" \\" # \n[x]"""""',
    "list = [ # c\n  '[', \"]\",\n]",
    "tables = { a = { b = 1 }, 'c d' = [2] }",
    "",
    "   ",
)
TABLES = (
    '[projects."/a/b.c"]\ntrust_level = "trusted"',
    '[ mcp_servers . "other" ]\ncommand = "x"\nargs = ["a", "b"]',
    "[[rules]]\nname = 'n'\n\n# last words",
    '[mcp_servers.swarm]\ncommand = "y"',
    "[a.b.c] # [x]",
    '[hooks.state]\n"x:1" = { trusted = true }',
)
toml_files = st.builds(
    lambda first, second, newline, last: ("\n".join([*first, *second, ""])[:-1] + last).replace("\n", newline).encode(),
    st.lists(st.sampled_from(FRAGMENTS), unique=True, max_size=6),
    st.lists(st.sampled_from(TABLES), unique=True, max_size=5),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\n", "\n\n"]),
)


# In and out again


@settings(max_examples=40)
@given(own=json_files(), servers=json_files(), hooks=json_files(), config=toml_files)
def test_uninstalling_gives_back_the_same_bytes(own: bytes, servers: bytes, hooks: bytes, config: bytes) -> None:
    with a_machine() as machine:
        machine.write(".claude/settings.json", own)
        machine.write(".claude.json", servers)
        machine.write(".codex/hooks.json", hooks)
        machine.write(".codex/config.toml", config)
        machine.write(".gemini/settings.json", own)
        machine.write(".copilot/mcp-config.json", servers)
        machine.write(".copilot/hooks/swarmlore.json", servers)  # a file of this name may be somebody else's
        before = tree(machine.user)
        assert len(machine.install(*FOUR).changes) == 7 + 3 * HOW_MANY
        assert machine.plan(*FOUR).changes == ()
        again = machine.install(*FOUR, where=machine.where(home="/another home"))
        assert {change.path for change in again.changes} == {str(machine.user / name) for name in FILES}
        machine.uninstall(*FOUR)
        assert tree(machine.user) == before
        assert tree(machine.home) == {}


FOUR = ("claude", "codex", "gemini", "copilot")
FILES = (
    *(".claude/settings.json", ".claude.json", ".codex/hooks.json", ".codex/config.toml", ".gemini/settings.json"),
    *(".copilot/hooks/swarmlore.json", ".copilot/mcp-config.json"),
)


@settings(max_examples=60)
@given(before=json_files(), edit=settings_files, indent=st.sampled_from([None, 2, "\t"]), at_end=st.booleans())
def test_what_others_changed_meanwhile_stays_and_nothing_of_ours(
    before: bytes, edit: dict[str, Any], indent: int | str | None, at_end: bool
) -> None:
    with a_machine() as machine:
        path = machine.write(".claude/settings.json", before)
        machine.install("claude")
        installed = json.loads(path.read_text("utf-8-sig"))
        former = json.loads(before.decode("utf-8-sig"))
        path.write_text(json.dumps(merged(installed, edit, at_end), indent=indent), "utf-8")
        machine.uninstall("claude")
        found = json.loads(path.read_text())
        assert found == merged(former, edit, at_end)
        assert "swarmlore" not in path.read_text()


def merged(data: Mapping[str, Any], edit: Mapping[str, Any], at_end: bool) -> dict[str, Any]:
    """What a person adds: keys, and hooks, permissions and servers beside those that are there."""
    result: dict[str, Any] = json.loads(json.dumps(data))
    for key, value in edit.items():
        if key not in known:
            result.setdefault(key, value)
            continue
        for name, inner in value.items():
            if inner not in ([], {}):  # an empty list beside our own entries is no edit
                there = result.setdefault(key, {}).get(name)
                both = isinstance(there, list) and isinstance(inner, list)
                result[key][name] = ([*there, *inner] if at_end else [*inner, *there]) if both else inner
    return result


@settings(max_examples=60)
@given(before=toml_files, added=st.sampled_from([*TABLES, "# only a comment"]), first=st.booleans())
def test_tables_that_others_added_stay(before: bytes, added: str, first: bool) -> None:
    if added.encode() in before.replace(b"\r\n", b"\n"):
        return
    with a_machine() as machine:
        path = machine.write(".codex/config.toml", before)
        machine.install("codex")
        text, new = path.read_bytes().decode(), added + "\n"
        cut = text.rindex("[mcp_servers.swarmlore]") if first else len(text)  # right before our table, or behind it
        path.write_bytes((text[:cut] + new + "\n" + text[cut:]).encode())
        machine.uninstall("codex")
        after = path.read_bytes().decode()
        assert tomllib.loads(after) == tomllib.loads(before.decode() + "\n" + new)
        assert added in after.replace("\r\n", "\n")
        assert server_call(tomllib.loads(after).get("mcp_servers", {}).get("swarmlore")) is None


def test_an_entry_that_points_elsewhere_is_changed_in_its_place(machine: Machine) -> None:
    machine.write(
        ".claude/settings.json", '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}, "z": 1}'
    )
    machine.install()
    first = machine.read(".claude/settings.json")
    first["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "later"}]})
    machine.write(".claude/settings.json", json.dumps(first, indent=2))
    machine.install(where=machine.where(home="/else", program="/new/swarmlore"))
    commands = [group["hooks"][0]["command"] for group in machine.read(".claude/settings.json")["hooks"]["Stop"]]
    assert commands[0] == "mine" and commands[2] == "later"
    assert commands[1].startswith("/new/swarmlore hook claude Stop --home /else --socket /else/")
    table = machine.read(".codex/config.toml")["mcp_servers"]["swarmlore"]
    assert (table["command"], table["args"][-1]) == ("/new/swarmlore", "/else")


def test_what_a_person_added_to_our_own_entries_stays_when_they_are_renewed(machine: Machine) -> None:
    machine.install()
    config = machine.user / ".codex/config.toml"
    config.write_text(config.read_text().replace("startup_", "tool_timeout_sec = 9 # slow\nstartup_"))
    machine.install(where=machine.where(home="/else"))
    assert "tool_timeout_sec = 9 # slow" in config.read_text()
    assert machine.read(".codex/config.toml")["mcp_servers"]["swarmlore"]["args"][-1] == "/else"
    machine.uninstall()
    assert not config.exists()


def test_folders_and_files_that_were_made_go_and_others_stay(machine: Machine) -> None:
    machine.install()
    assert (machine.user / ".agents/skills/recall/SKILL.md").is_file()
    machine.write(".agents/skills/mine/SKILL.md", "mine")
    machine.uninstall()
    assert set(tree(machine.user)) == {
        ".agents",
        ".agents/skills",
        ".agents/skills/mine",
        ".agents/skills/mine/SKILL.md",
    }


def test_without_the_list_of_what_was_written_our_entries_are_found_all_the_same(machine: Machine) -> None:
    machine.write(".claude/settings.json", '{"theme": "dark"}')
    machine.install()
    (machine.home / manifest.FILE).unlink()
    machine.uninstall()
    assert tree(machine.user)[".claude/settings.json"][1] == b'{"theme": "dark"}'
    assert {name for name, (_, content) in tree(machine.user).items() if content} == {".claude/settings.json"}


def test_the_list_holds_nothing_of_what_stood_in_the_files(machine: Machine) -> None:
    machine.write(".claude.json", '{"mcpServers": {"x": {"env": {"KEY": "hidden-value"}}}}')
    machine.write(".codex/config.toml", 'key = "hidden-value"')
    machine.install()
    assert "hidden-value" not in (machine.home / manifest.FILE).read_text()
    assert stat.S_IMODE((machine.home / manifest.FILE).stat().st_mode) == 0o600


# What must not happen

BROKEN = {
    "no JSON": b"{",
    "a comma too many": b'{"a": 1,}',
    "not a number": b'{"a": NaN}',
    "a list": b"[]",
    "not UTF-8": b'{"a": "\xff"}',
    "too deep": b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "hooks of another kind": b'{"hooks": []}',
    "an event of another kind": b'{"hooks": {"Stop": {}}}',
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_file_that_cannot_be_read_keeps_its_client_as_it_was(machine: Machine, content: bytes) -> None:
    machine.write(".codex/config.toml", "")
    machine.write(".codex/hooks.json", content)
    before = tree(machine.user)
    with pytest.raises(ConfigError) as refused:
        machine.install("codex")
    assert str(machine.user / ".codex/hooks.json") in refused.value.message
    assert "nothing was changed" in refused.value.hint
    assert tree(machine.user) == before


@pytest.mark.parametrize(
    "config", ['mcp_servers = { a = { command = "x" } }', "mcp_servers.swarmlore = 3", "mcp_servers = 1", "= 1"]
)
def test_a_config_of_another_form_keeps_its_client_as_it_was(machine: Machine, config: str) -> None:
    machine.write(".codex/config.toml", config)
    before = tree(machine.user)
    with pytest.raises(ConfigError, match=r"config\.toml"):
        machine.install("codex")
    assert tree(machine.user) == before


def test_another_server_of_our_name_is_not_taken_over(machine: Machine) -> None:
    theirs = '{"mcpServers": {"swarmlore": {"type": "http", "url": "https://memory.example"}}}'
    machine.write(".claude.json", theirs)
    with pytest.raises(ConfigError, match="another server"):
        machine.install("claude")
    machine.uninstall("claude")
    assert (machine.user / ".claude.json").read_text() == theirs


@pytest.mark.parametrize("make", [lambda path: path.mkdir(), lambda path: os.mkfifo(path)], ids=["folder", "pipe"])
def test_what_is_no_file_is_refused(machine: Machine, make: Any) -> None:
    make(machine.user / ".claude.json")
    with pytest.raises(NotAllowed, match="not a regular file"):
        machine.install("claude")
    assert list(machine.user.iterdir()) == [machine.user / ".claude.json"]


def test_a_file_in_the_place_of_a_folder_is_refused(machine: Machine) -> None:
    machine.write(".codex", "")
    with pytest.raises(SwarmloreError, match=r"\.codex"):
        machine.install("codex")
    assert set(tree(machine.user)) == {".codex"}


def test_links_stay_links_and_modes_stay(machine: Machine) -> None:
    real = machine.write("dotfiles/claude.json", "{}")
    real.chmod(0o640)
    (machine.user / ".claude").mkdir()
    (machine.user / ".claude/settings.json").symlink_to("../dotfiles/claude.json")
    machine.write(".claude.json", "{}").chmod(0o600)
    before = tree(machine.user)
    machine.install("claude")
    assert (machine.user / ".claude/settings.json").is_symlink()
    assert "hooks" in json.loads(real.read_text())
    assert (stat.S_IMODE(real.stat().st_mode), stat.S_IMODE((machine.user / ".claude.json").stat().st_mode)) == (
        0o640,
        0o600,
    )
    machine.uninstall("claude")
    assert tree(machine.user) == before


def test_a_project_cannot_lead_us_out_of_it(machine: Machine) -> None:
    machine.write("secret.json", "{}")
    (machine.project / ".claude").mkdir()
    (machine.project / ".claude/settings.json").symlink_to(machine.user / "secret.json")
    with pytest.raises(NotAllowed, match="out of the project"):
        machine.install("claude", where=machine.where(project=True))
    (machine.project / ".codex").symlink_to(machine.user)
    with pytest.raises(NotAllowed, match="out of the project"):
        machine.install("codex", where=machine.where(project=True))
    assert set(tree(machine.user)) == {"secret.json"}


def test_a_file_that_changes_before_the_yes_is_not_overwritten(machine: Machine) -> None:
    machine.write(".claude.json", "{}")
    plan = machine.plan()
    machine.write(".claude.json", '{"numStartups": 2}')
    before = tree(machine.user)
    with pytest.raises(Conflict, match=r"\.claude\.json was changed meanwhile"):
        apply(plan, str(machine.home), ())
    assert tree(machine.user) == before
    assert manifest.read(str(machine.home)) == ()


LIMITED = """
import resource, sys
from swarmlore.clients import every_client
from swarmlore.clients.install.locations import for_person
from swarmlore.clients.install.plan import apply, plan_install
home, user = sys.argv[1:]
plan = plan_install(for_person(home, {"HOME": user}, "/bin/swarmlore"), every_client(), (), "1", 0.0)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    apply(plan, home, ())
except Exception as error:
    print(type(error).__name__, error.message)
"""


@linux
def test_a_disk_that_is_full_half_way_leaves_everything_as_it_was(machine: Machine) -> None:
    machine.write(".claude/settings.json", "{}")
    machine.write(".codex/config.toml", "# " + "x" * 100_000)  # the fifth of six files does not fit
    before = tree(machine.user)
    words = [sys.executable, "-B", "-c", LIMITED, str(machine.home), str(machine.user)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("ConfigError ") and "File too large" in done.stdout
    assert tree(machine.user) == before
    assert tree(machine.home) == {}


def test_after_a_crash_before_the_files_were_written_all_is_as_if_nothing_happened(machine: Machine) -> None:
    machine.write(".claude/settings.json", "{}")
    before = tree(machine.user)
    manifest.write(str(machine.home), machine.plan().kept)
    machine.install()
    machine.uninstall()
    assert tree(machine.user) == before


def test_a_skill_that_is_not_ours_is_left_alone(machine: Machine) -> None:
    path = machine.write(".claude/skills/recall/SKILL.md", "my own way to recall")
    assert any(str(path) in note for note in machine.install("claude").notes)
    machine.uninstall("claude")
    assert path.read_text() == "my own way to recall"


def test_a_skill_that_somebody_changed_stays(machine: Machine) -> None:
    machine.install("claude")
    path = machine.user / ".claude/skills/recall/SKILL.md"
    path.write_text(path.read_text() + "and my own rule\n")
    assert any(str(path) in note for note in machine.install("claude").notes)
    assert any(str(path) in note for note in machine.uninstall("claude").notes)
    assert path.read_text().endswith("and my own rule\n")


# What is written


def test_claude_is_called_at_its_events_and_has_the_server_loaded(machine: Machine) -> None:
    machine.install("claude")
    own = machine.read(".claude/settings.json")
    assert {event: groups[0]["hooks"][0]["timeout"] for event, groups in own["hooks"].items()} == {
        **dict.fromkeys(("UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "SubagentStart"), 5),
        **dict.fromkeys(("SubagentStop", "Stop", "PreCompact", "SessionEnd"), 5),
        "SessionStart": 10,
    }
    assert own["hooks"]["PreToolUse"][0]["matcher"] == "Read|Edit|Write|MultiEdit|NotebookEdit|Agent|Task"
    assert "matcher" not in own["hooks"]["PostToolUse"][0]
    assert own["permissions"] == {"allow": ["mcp__swarmlore__recall", "mcp__swarmlore__get"]}
    assert machine.read(".claude.json") == {
        "mcpServers": {
            "swarmlore": {
                "type": "stdio",
                "command": "/opt/bin/swarmlore",
                "args": ["mcp", "--client", "claude", "--home", str(machine.home)],
                "alwaysLoad": True,
            }
        }
    }


def test_codex_is_called_at_its_events_and_starts_without_the_server(machine: Machine) -> None:
    machine.install("codex")
    hooks = machine.read(".codex/hooks.json")["hooks"]
    assert hooks["SessionEnd"][0]["hooks"][0]["timeout"] == 3
    assert len(hooks) == 9 and "PostToolUseFailure" not in hooks
    assert machine.read(".codex/config.toml") == {
        "mcp_servers": {
            "swarmlore": {
                "command": "/opt/bin/swarmlore",
                "args": ["mcp", "--client", "codex", "--home", str(machine.home)],
                "startup_timeout_sec": 20,
            }
        }
    }
    assert "trust" not in json.dumps(hooks) + (machine.user / ".codex/config.toml").read_text()


def test_gemini_is_called_at_few_events_and_its_limits_are_milliseconds(machine: Machine) -> None:
    machine.install("gemini")
    own = machine.read(".gemini/settings.json")
    assert {event: groups[0]["hooks"][0]["timeout"] for event, groups in own["hooks"].items()} == {
        **dict.fromkeys(("BeforeAgent", "AfterTool", "AfterAgent", "PreCompress", "SessionEnd"), 5_000),
        "SessionStart": 10_000,
    }
    matched = {event: group["matcher"] for event, groups in own["hooks"].items() if "matcher" in (group := groups[0])}
    assert matched == {"PreCompress": "manual"}
    server = {"command": "/opt/bin/swarmlore", "args": ["mcp", "--client", "gemini", "--home", str(machine.home)]}
    assert own["mcpServers"] == {"swarmlore": server}


def test_copilot_is_called_at_its_events_from_a_file_of_our_own(machine: Machine) -> None:
    machine.write(".copilot/hooks/mine.json", '{"version": 1, "hooks": {}}')
    machine.install("copilot")
    own = machine.read(".copilot/hooks/swarmlore.json")
    assert own["version"] == 1
    assert {event: handlers[0]["timeoutSec"] for event, handlers in own["hooks"].items()} == {
        **dict.fromkeys(("userPromptSubmitted", "preToolUse", "postToolUse", "postToolUseFailure"), 5),
        **dict.fromkeys(("subagentStart", "subagentStop", "agentStop", "preCompact", "sessionEnd"), 5),
        "sessionStart": 10,
    }
    assert "task" in own["hooks"]["preToolUse"][0]["matcher"].split("|")
    assert machine.read(".copilot/mcp-config.json")["mcpServers"]["swarmlore"] == {
        "type": "local",
        "command": "/opt/bin/swarmlore",
        "args": ["mcp", "--client", "copilot", "--home", str(machine.home)],
        "tools": ["*"],
    }
    assert machine.read(".copilot/hooks/mine.json") == {"version": 1, "hooks": {}}


def test_hooks_that_somebody_put_into_our_file_stay(machine: Machine) -> None:
    machine.install("copilot")
    path = machine.user / ".copilot/hooks/swarmlore.json"
    own = json.loads(path.read_text())
    theirs = {"type": "command", "bash": "mine"}
    own["hooks"]["agentStop"].append(theirs)
    own["hooks"]["preCompact"].append(dict(own["hooks"]["preCompact"][0]))  # ours, twice
    path.write_text(json.dumps(own))
    machine.install("copilot", where=machine.where(home="/else"))
    again = machine.read(".copilot/hooks/swarmlore.json")["hooks"]
    assert "--home /else" in again["agentStop"][0]["bash"] and again["agentStop"][1] == theirs
    assert len(again["preCompact"]) == 1
    machine.uninstall("copilot")
    assert machine.read(".copilot/hooks/swarmlore.json") == {"version": 1, "hooks": {"agentStop": [theirs]}}


@pytest.mark.parametrize("together", [True, False], ids=["at once", "one after the other"])
def test_a_skill_that_two_clients_read_stays_until_the_last_of_them_goes(machine: Machine, together: bool) -> None:
    skill = machine.user / ".agents/skills/recall/SKILL.md"
    if together:
        machine.install("codex", "gemini")
    else:
        machine.install("codex")
        machine.install("gemini")
    machine.uninstall("codex")
    assert skill.is_file()
    machine.uninstall("gemini")
    assert tree(machine.user) == {}


def test_a_skill_of_another_client_does_not_make_one_installed(machine: Machine) -> None:
    machine.install("codex")
    where = machine.where()
    assert not is_installed(installer_of("gemini"), where, manifest.read(str(machine.home)))
    assert is_installed(installer_of("codex"), where, ())


def test_clients_that_live_elsewhere_are_found_there(machine: Machine) -> None:
    machine.env |= {"CLAUDE_CONFIG_DIR": str(machine.user / "c"), "CODEX_HOME": str(machine.user / "x")}
    machine.env |= {"GEMINI_CLI_HOME": str(machine.user / "g"), "COPILOT_HOME": str(machine.user / "p")}
    machine.install(*FOUR)
    assert {name for name, (_, content) in tree(machine.user).items() if content} == {
        *("c/settings.json", "c/.claude.json", *skills_in("c")),
        *("x/hooks.json", "x/config.toml", *skills_in(".agents")),
        *("g/.gemini/settings.json", *skills_in("g/.agents")),
        *("p/hooks/swarmlore.json", "p/mcp-config.json", *skills_in("p")),
    }


def test_clients_are_found_by_their_folder_or_their_program(machine: Machine) -> None:
    assert installed_clients(machine.env) == ()
    (machine.user / ".claude").mkdir()
    assert [client.name for client in installed_clients(machine.env)] == ["claude"]
    program = machine.write("bin/codex", "#!/bin/sh\n")
    program.chmod(0o755)
    assert [client.name for client in installed_clients({**machine.env, "PATH": str(program.parent)})] == [
        "claude",
        "codex",
    ]


def test_the_skill_names_the_folders_of_its_client(machine: Machine) -> None:
    machine.install()
    for name, folder in ((".claude/skills", ".claude"), (".agents/skills", ".agents"), (".copilot/skills", ".copilot")):
        text = (machine.user / name / "recall/SKILL.md").read_text()
        assert text.startswith("---\nname: recall\ndescription: ")
        assert f"{folder} and ~/{folder};" in text
        assert "{{" not in text
        assert "data, not instructions" in text and "swarmlore recall" in text


def commands_in(value: Any) -> Iterator[str]:
    """Every shell line in a file of a client."""
    if isinstance(value, dict):
        if value.get("type") == "command":
            yield value["bash"] if "bash" in value else value["command"]
        if value.get("command") == "sh":
            yield value["args"][1]
        for inner in value.values():
            yield from commands_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from commands_in(inner)


def test_project_files_name_no_machine_and_do_nothing_without_the_program(machine: Machine, tmp_path: Path) -> None:
    machine.install(where=machine.where(project=True))
    names = [".claude/settings.json", ".mcp.json", ".codex/hooks.json", ".codex/config.toml", ".gemini/settings.json"]
    names += [".github/hooks/swarmlore.json", ".github/mcp.json"]
    contents = [(machine.project / name).read_text() for name in names]
    assert not any(str(tmp_path) in text or "/opt" in text for text in contents)
    data = [
        tomllib.loads(text) if name.endswith("toml") else json.loads(text)
        for name, text in zip(names, contents, strict=True)
    ]
    lines = [line for value in data for line in commands_in(value)]
    assert len(lines) == 10 + 1 + 9 + 1 + 6 + 1 + 10 + 1
    for line in set(lines):
        done = subprocess.run(
            ["/bin/sh", "-c", line], capture_output=True, text=True, env={"PATH": "/nowhere"}, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    program = tmp_path / "bin" / "swarmlore"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    said = [
        subprocess.run(
            ["/bin/sh", "-c", line], capture_output=True, text=True, env={"PATH": str(program.parent)}, check=True
        ).stdout
        for line in lines
    ]
    assert said[0] == "hook claude SessionStart\n"
    assert said[10] == "mcp --client claude\n" and said[20] == "mcp --client codex\n"
    assert said[26] == "hook gemini SessionEnd\n" and said[28] == "hook copilot sessionStart\n"
    before = ["project", *tree(machine.user)]
    machine.uninstall(where=machine.where(project=True))
    assert tree(machine.project) == {}
    assert before == ["project", *tree(machine.user)]


def test_the_files_of_a_person_and_of_a_project_are_kept_apart(machine: Machine) -> None:
    machine.install()
    own = tree(machine.user)
    machine.install(where=machine.where(project=True))
    machine.uninstall(where=machine.where(project=True))
    assert (tree(machine.user), tree(machine.project)) == (own, {})
    with pytest.raises(InvalidInput, match="your own folder"):
        for_project(str(machine.user), machine.env)


@given(home=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1))
def test_a_hook_line_survives_a_shell_and_is_recognised(home: str) -> None:
    line = hook_line("claude", "Stop", Target("/a b/swarmlore", home, "/s", "/p"))
    assert shlex.split(line) == [
        "/a b/swarmlore",
        "hook",
        "claude",
        "Stop",
        "--home",
        home,
        "--socket",
        "/s",
        "--spool",
        "/p",
    ]
    assert hook_call(line, "claude") == Call("/a b/swarmlore", home)
    assert hook_call(line, "codex") is None


@pytest.mark.parametrize(
    ("line", "ours"),
    [
        ("/x/swarmlore hook claude Stop", True),
        ("command -v swarmlore >/dev/null 2>&1 && swarmlore hook claude Stop || true", True),
        ("timeout 2 swarmlore hook claude Stop", True),
        ("swarmlore hook claude Stop 2>/dev/null || true", True),
        ("logger x; swarmlore hook claude Stop", False),
        ("swarmlore hook claude Stop | tee log", False),
        ("cd /x && swarmlore hook claude Stop --home /y", False),
        ("echo 'swarmlore hook claude Stop'", False),
        ("my-swarmlore hook claude Stop", False),
        ("swarmlore recall hook", False),
        ("swarmlore hook 'claude", False),
        (None, False),
        (["swarmlore", "hook", "claude"], False),
    ],
)
def test_only_our_own_hooks_are_taken_for_ours(line: object, ours: bool) -> None:
    assert (hook_call(line, "claude") is not None) == ours


@pytest.mark.parametrize(
    "entry", [None, 3, {}, {"command": "x"}, {"command": "swarmlore", "args": "mcp"}, {"url": "swarmlore"}]
)
def test_only_our_own_server_is_taken_for_ours(entry: object) -> None:
    assert server_call(entry) is None


def test_the_program_that_runs_is_the_one_that_is_installed(tmp_path: Path) -> None:
    for name in ("run/swarmlore", "beside/swarmlore", "path/swarmlore", "run/python"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    run, beside, path = (str(tmp_path / name / "swarmlore") for name in ("run", "beside", "path"))
    assert find_program(run, f"{tmp_path}/beside/python", f"{tmp_path}/path") == run
    assert find_program(f"{tmp_path}/run/python", f"{tmp_path}/beside/python", f"{tmp_path}/path") == beside
    assert find_program("-c", f"{tmp_path}/x/python", f"{tmp_path}/path") == path
    with pytest.raises(Unavailable):
        find_program("-c", f"{tmp_path}/x/python", f"{tmp_path}/x")


def test_a_difference_shows_no_secret_and_no_endless_line(machine: Machine) -> None:
    key = "sk-ant-api03-" + "".join(random.Random(7).choices(string.ascii_letters + string.digits, k=93)) + "AA"
    machine.write(".claude/settings.json", json.dumps({"env": {"ANTHROPIC_API_KEY": key}, "long": "x" * 5000}))
    lines = [line for change in machine.plan().changes for line in difference(change)]
    assert '+    "Stop": [' in lines
    assert max(map(len, lines)) < 500
    assert key not in "\n".join(lines)


# JSON and TOML

STYLES = [
    ('{\n  "a": 1\n}\n', '{\n  "a": 1,\n  "b": {\n    "c": [\n      1\n    ]\n  }\n}\n'),
    ('{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"b": {\n\t\t"c": [\n\t\t\t1\n\t\t]\n\t}\n}'),
    ('{"a":1,"z":2}', '{"a":1,"z":2,"b": {"c": [1]}}'),
    ('{"a": 1}\n', '{"a": 1, "b": {"c": [1]}}\n'),
    (
        '{\r\n    "a": 1\r\n}\r\n',
        '{\r\n    "a": 1,\r\n    "b": {\r\n        "c": [\r\n            1\r\n        ]\r\n    }\r\n}\r\n',
    ),
    ("{}", '{\n  "b": {\n    "c": [\n      1\n    ]\n  }\n}'),
    ("", '{\n  "b": {\n    "c": [\n      1\n    ]\n  }\n}\n'),
]


@pytest.mark.parametrize(("before", "after"), STYLES)
def test_new_values_take_on_the_style_of_the_file(before: str, after: str) -> None:
    sheet = JsonSheet(before)
    sheet.put(("b",), {})
    sheet.put(("b", "c"), [])
    sheet.append(("b", "c"), 1)
    assert sheet.checked() == after
    assert undone(after, sheet.undo) == before


@given(text=json_files(st.dictionaries(texts, values, min_size=1, max_size=5)), data=st.data())
def test_what_is_taken_out_leaves_everything_else(text: bytes, data: st.DataObject) -> None:
    sheet = JsonSheet(text.decode("utf-8-sig"))
    key = data.draw(st.sampled_from(list(sheet.data)))
    rest = {name: value for name, value in sheet.data.items() if name != key}
    sheet.remove((key,))
    assert json.loads(sheet.checked()) == rest
    assert undone(sheet.text, sheet.undo) == text.decode("utf-8-sig")


def test_of_two_members_of_one_name_the_last_counts_and_both_go() -> None:
    sheet = JsonSheet('{"a": {"x": 1}, "b": 2, "a": {"y": 3}}')
    sheet.put(("a", "z"), 4)
    assert json.loads(sheet.checked()) == {"a": {"y": 3, "z": 4}, "b": 2}
    sheet.remove(("a",))
    assert sheet.checked() == '{"b": 2}'
    twice = JsonSheet('{"a": 1, "a": 2, "b": 3}')
    twice.remove(("a",))
    assert twice.checked() == '{"b": 3}'


@given(text=toml_files)
def test_the_statements_of_a_file_are_those_that_toml_sees(text: bytes) -> None:
    document = text.decode()
    for found in statements(document):
        value = tomllib.loads(document)
        for key in found.keys:
            value = value[key] if isinstance(value, dict) else value[-1][key]
        if not found.header:
            assert tomllib.loads(f"x = {document[found.value : found.value_end]}")["x"] == value


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '[mcp_servers.swarmlore]\ncommand = "old" # mine\n\n[z]\n',
            '[mcp_servers.swarmlore]\nargs = ["mcp"]\ncommand = "/bin/swarmlore" # mine\n\n[z]\n',
        ),
        (
            '[mcp_servers]\nswarmlore.command = "old"\nswarmlore.args = []',
            '[mcp_servers]\nswarmlore.command = "/bin/swarmlore"\nswarmlore.args = ["mcp"]',
        ),
        ("[mcp_servers.swarmlore]", '[mcp_servers.swarmlore]\nargs = ["mcp"]\ncommand = "/bin/swarmlore"\n'),
    ],
)
def test_a_table_that_is_there_is_changed_key_by_key(before: str, after: str) -> None:
    sheet = TomlSheet(before)
    sheet.put(SERVER, ENTRY)
    assert sheet.text == after or tomllib.loads(sheet.text) == tomllib.loads(after)
    assert sheet.at(SERVER) == ENTRY
    assert undone(sheet.text, sheet.undo) == before
    sheet.remove(SERVER)
    assert sheet.at(SERVER) is None


def test_a_table_in_one_line_is_left_to_a_person() -> None:
    with pytest.raises(Unwritable):
        TomlSheet('mcp_servers = { swarmlore = { command = "x" } }').remove(SERVER)


def test_the_wheel_holds_the_templates(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(words, cwd=root, capture_output=True, timeout=120, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        kept = [f"swarmlore/clients/install/templates/{name}" for name in (*skills_in("."), "parts/belongs.md")]
        assert {name.replace("/./", "/") for name in kept} <= set(packed.namelist())
