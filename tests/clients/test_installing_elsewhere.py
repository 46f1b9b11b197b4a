"""Two homes, or none any more: what is ours is known by itself, and goes without a trace."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from test_installing import NOW, Machine, tree

from skill_files import skills_in
from swarmlore.clients import CLIENTS, installer_of
from swarmlore.clients.install import manifest
from swarmlore.clients.install.plan import Plan, apply, plan_install, plan_uninstall
from swarmlore.clients.install.status import Activity, ClientStatus, status_of
from swarmlore.errors import ConfigError

PLUGIN = ".config/opencode/plugins/swarmlore.js"
LOCK = ".config/opencode/package-lock.json"
SKILL = ".agents/skills/recall/SKILL.md"
# Files as people have them, with containers of their own that are empty or not.
THEIRS = {
    ".claude/settings.json": '{\n  "permissions": {"allow": []},\n  "hooks": {"Notification": []}\n}\n',
    ".codex/config.toml": '# mine\nmodel = "x"\n',
    ".gemini/settings.json": '{\n  // mine\n  "theme": "dark" /* at night */\n}\n',
    ".copilot/mcp-config.json": '{"mcpServers": {"weather": {"command": "w"}}}',
    ".config/opencode/opencode.jsonc": '{\n  "mcp": {\n    "weather": {"type": "local"}, // slow\n  },\n}\n',
}


class Homes(Machine):
    """A machine on which several homes install."""

    def home_called(self, name: str) -> str:
        return str(self.home.parent / name)

    def install_from(self, name: str, *clients: str) -> Plan:
        home = self.home_called(name)
        os.makedirs(home, exist_ok=True)
        kept = manifest.read(home)
        chosen = [installer_of(client) for client in clients or CLIENTS]
        plan = plan_install(self.where(home=home), chosen, kept, "1.0", NOW)
        apply(plan, home, kept)
        return plan

    def uninstall_from(self, name: str, *clients: str) -> Plan:
        home = self.home_called(name)
        os.makedirs(home, exist_ok=True)
        kept = manifest.read(home)
        plan = plan_uninstall(
            self.where(home=home, program=""), [installer_of(client) for client in clients or CLIENTS], kept
        )
        apply(plan, home, kept)
        return plan

    def lose(self, name: str) -> None:
        shutil.rmtree(self.home_called(name))

    def standing_of(self, client: str, name: str) -> ClientStatus:
        home = self.home_called(name)
        return status_of(installer_of(client), [self.where(home=home, program="")], manifest.read(home), Activity())


@pytest.fixture
def machine(tmp_path: Path) -> Homes:
    return Homes(tmp_path)


def files(folder: Path) -> set[str]:
    return {name for name, (_, content) in tree(folder).items() if content is not None}


# The plugin


def test_the_plugin_moves_to_another_home(machine: Homes) -> None:
    machine.install_from("a", "opencode")
    plan = machine.install_from("b", "opencode")
    text = (machine.user / PLUGIN).read_text()
    assert plan.notes == () and machine.home_called("b") in text and machine.home_called("a") not in text


@pytest.mark.parametrize("lost", [False, True], ids=["whose home is there", "whose home is gone"])
def test_a_plugin_of_another_home_is_shown_and_taken_away(machine: Homes, lost: bool) -> None:
    machine.install_from("a", "opencode")
    if lost:
        machine.lose("a")
    found = machine.standing_of("opencode", "b")
    assert (found.levels[0].installed, found.levels[0].home) == ("yes", machine.home_called("a"))
    assert any("another memory" in text for text in found.to_do)
    machine.uninstall_from("b", "opencode")
    assert files(machine.user) == set()
    assert machine.standing_of("opencode", "b").levels[0].installed == "no"


def test_a_plugin_alone_shows_that_it_is_installed(machine: Homes) -> None:
    machine.install_from("a", "opencode")
    (machine.user / ".config/opencode/opencode.json").unlink()
    assert machine.standing_of("opencode", "a").levels[0].installed == "partly"


def test_a_plugin_of_an_older_release_is_ours_and_out_of_date(machine: Homes) -> None:
    from swarmlore.clients.install.commands import sealed

    machine.install_from("a", "opencode")
    path = machine.user / PLUGIN
    body = path.read_text().rpartition("// unchanged: ")[0]
    path.write_text(sealed("// an older one\n" + body))
    machine.lose("a")
    assert any(
        "of another release: swarmlore install opencode" in text for text in machine.standing_of("opencode", "b").to_do
    )
    machine.install_from("b", "opencode")
    assert path.read_text().startswith(body.partition("const COMMAND")[0])
    assert not any("release" in text for text in machine.standing_of("opencode", "b").to_do)


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text + "// mine\n",
        lambda text: "// mine\n" + text,
        lambda text: text.replace('"--lines"', '"--other"'),
        lambda text: text.replace('"opencode"', '"another"'),
        lambda text: "// unchanged: \n",
        lambda text: "",
    ],
)
def test_a_plugin_that_somebody_changed_belongs_to_them(machine: Homes, edit: object) -> None:
    machine.install_from("a", "opencode")
    assert callable(edit)
    changed = edit((machine.user / PLUGIN).read_text())
    machine.lose("a")
    machine.write(PLUGIN, changed)
    ours = '"--other"' in changed  # what it starts with is not part of what is sealed
    assert bool(machine.install_from("b", "opencode").notes) != ours
    machine.uninstall_from("b", "opencode")
    assert (machine.user / PLUGIN).exists() != ours


def test_a_changed_plugin_that_stays_is_named_also_without_a_list(machine: Homes) -> None:
    machine.install_from("a", "opencode")
    machine.lose("a")
    machine.write(PLUGIN, "// mine\n" + (machine.user / PLUGIN).read_text())
    (note,) = machine.uninstall_from("b", "opencode").notes
    assert note == f"{machine.user / PLUGIN} was changed since, and was left alone"


def test_git_may_give_the_plugin_other_line_ends(machine: Homes) -> None:
    machine.install_from("a", "opencode")
    machine.lose("a")
    path = machine.user / PLUGIN
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    machine.uninstall_from("b", "opencode")
    assert not path.exists()


# Nothing of ours stays, nothing of theirs goes


@pytest.mark.parametrize("theirs", [{}, THEIRS], ids=["nothing before", "files of their own before"])
@pytest.mark.parametrize("way", ["a, b, out by b", "a, out by b", "a, b, a is gone, out by b", "a, b, out by c"])
def test_what_two_homes_installed_goes_to_the_byte_while_one_list_is_left(
    machine: Homes, theirs: dict[str, str], way: str
) -> None:
    for name, content in theirs.items():
        machine.write(name, content)
    before = tree(machine.user)
    for step in way.split(", "):
        if step in ("a", "b"):
            machine.install_from(step)
        elif step == "a is gone":
            machine.lose("a")
        else:
            machine.uninstall_from(step[-1])
    assert tree(machine.user) == before


@pytest.mark.parametrize("way", ["gone, out by b", "gone, b, out by b", "gone, b, gone, out by c"])
def test_without_any_list_nothing_of_ours_stays_not_even_an_empty_folder(machine: Homes, way: str) -> None:
    machine.install_from("a")
    former = "a"
    for step in way.split(", "):
        if step == "gone":
            machine.lose(former)
        elif step == "b":
            machine.install_from("b")
            former = "b"
        else:
            machine.uninstall_from(step[-1])
    assert tree(machine.user) == {".config": (0o755, None)}


def test_without_any_list_what_others_wrote_stays(machine: Homes) -> None:
    for name, content in THEIRS.items():
        machine.write(name, content)
    machine.write(".agents/skills/mine/SKILL.md", "mine")
    machine.write(".copilot/hooks/other.json", "{}")
    before = tree(machine.user)
    machine.install_from("a")
    machine.lose("a")
    machine.install_from("b")
    machine.uninstall_from("b")
    after = tree(machine.user)
    settings = json.loads(after.pop(".claude/settings.json")[1])
    before.pop(".claude/settings.json")
    assert settings == {"hooks": {"Notification": []}}  # the empty list that held only our words cannot be told apart
    assert after == before


def test_without_any_list_empty_containers_that_held_nothing_of_ours_stay(machine: Homes) -> None:
    machine.install_from("a", "claude")
    machine.lose("a")
    machine.write(".claude/settings.json", '{"hooks": {}, "permissions": {"allow": ["mcp__swarmlore__get"]}, "x": []}')
    machine.uninstall_from("b", "claude")
    assert machine.read(".claude/settings.json") == {"hooks": {}, "x": []}


def test_a_client_whose_folder_a_variable_names_keeps_that_folder(machine: Homes) -> None:
    machine.env["COPILOT_HOME"] = str(machine.user / "pilot")
    machine.install_from("a", "copilot")
    machine.lose("a")
    machine.uninstall_from("b", "copilot")
    assert tree(machine.user) == {"pilot": (0o755, None)}


def test_what_was_installed_in_a_folder_of_a_variable_is_not_forgotten_without_it(machine: Homes) -> None:
    machine.env["XDG_CONFIG_HOME"] = str(machine.user / "x")
    machine.install("opencode")
    before = tree(machine.user)
    del machine.env["XDG_CONFIG_HOME"]
    assert any(f"installed in {machine.user / 'x'}" in text for text in machine.standing_of("opencode", "memory").to_do)
    assert "x/opencode/plugins/swarmlore.js" in machine.uninstall("opencode").notes[0]
    assert tree(machine.user) == before
    machine.env["XDG_CONFIG_HOME"] = str(machine.user / "x")
    machine.uninstall("opencode")
    assert tree(machine.user) == {}


def test_a_skill_stays_while_a_client_of_another_home_reads_it(machine: Homes) -> None:
    machine.install_from("a", "codex")
    machine.install_from("b", "gemini")
    machine.uninstall_from("b", "gemini")
    assert (machine.user / SKILL).exists()
    machine.uninstall_from("b", "codex")
    assert files(machine.user) == set()


def test_a_list_that_a_project_names_is_not_believed(machine: Homes) -> None:
    where = machine.where(project=True)
    machine.install("claude", where=where)
    path = machine.project / ".mcp.json"
    evil = machine.project / "evil"
    evil.mkdir()
    path.write_text(path.read_text().replace("--client claude", f"--client claude --home {evil}"))
    mine = machine.project / ".claude/settings.json"
    mine.write_text('{"mine": 1}')
    kept = [entry for entry in manifest.read(str(machine.home)) if entry.path == str(mine)]
    made_up = manifest.Kept("claude", where.root, str(mine), False, "", manifest.digest(mine.read_bytes()), ())
    manifest.write(str(evil), [made_up])
    assert kept
    manifest.write(str(machine.home), [])
    machine.uninstall("claude", where=where)
    assert mine.read_text() == '{"mine": 1}'


# One client and the others


def test_gemini_reads_comments_but_no_comma_behind_the_last(machine: Homes) -> None:
    text = '{\n  // mine\n  "theme": "dark", /* at night */\n  "hooks": {"SessionStart": []} // none\n}\n'
    path = machine.write(".gemini/settings.json", text)
    machine.install("gemini")
    assert all(remark in path.read_text() for remark in ("// mine", "/* at night */", "// none"))
    path.write_text(path.read_text().replace("// mine", "// still mine"))
    machine.uninstall("gemini")
    assert path.read_text() == text.replace("// mine", "// still mine")
    path.write_text('{\n  "theme": "dark", // mine\n}\n')
    with pytest.raises(ConfigError, match="cannot be read as JSON"):
        machine.install("gemini")


def test_a_broken_file_leaves_out_its_client_whole_and_no_other(machine: Homes) -> None:
    machine.write(".codex/config.toml", "model = ")
    plan = machine.install()
    assert [name for name, _ in plan.refused] == ["codex"]
    assert plan.clients == tuple(name for name in CLIENTS if name != "codex")
    assert files(machine.user / ".codex") == {"config.toml"}
    assert {entry.client for entry in manifest.read(str(machine.home))} == set(plan.clients)
    machine.uninstall()
    assert files(machine.user) == {".codex/config.toml"}


def test_a_skill_stays_with_the_client_that_could_not_be_uninstalled(machine: Homes) -> None:
    machine.install_from("a", "codex", "gemini")
    machine.lose("a")
    settings = machine.user / ".gemini/settings.json"
    settings.write_text(settings.read_text() + "}")
    plan = machine.uninstall_from("b", "codex", "gemini")
    assert [name for name, _ in plan.refused] == ["gemini"]
    assert files(machine.user) == {".gemini/settings.json", *skills_in(".agents")}


# The package that OpenCode fetches


def test_a_lost_half_of_what_stands_in_is_written_again(machine: Homes) -> None:
    machine.install("opencode")
    for lost in (LOCK, ".config/opencode/node_modules/README.md"):
        (machine.user / lost).unlink()
        assert [change.path for change in machine.plan("opencode").changes] == [str(machine.user / lost)]
        assert machine.standing_of("opencode", "memory").levels[0].installed == "partly"
        machine.install("opencode")
    machine.uninstall("opencode")
    assert tree(machine.user) == {}


def test_in_a_project_git_does_not_see_what_is_of_this_machine_only(machine: Homes) -> None:
    subprocess.run(["git", "init", "-q", str(machine.project)], check=True)
    words = ["git", "-C", str(machine.project), "status", "--porcelain", "--untracked-files=all"]
    where = machine.where(project=True)
    machine.install("opencode", where=where)
    seen = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()[1::2]
    assert seen == [*skills_in(".agents"), ".opencode/plugins/swarmlore.js", "opencode.json"]
    assert machine.plan("opencode", where=where).changes == ()
    machine.uninstall("opencode", where=where)
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == ""


@pytest.mark.parametrize(
    ("listed", "stands_in"), [("node_modules\npackage-lock.json\n.gitignore", True), ("*.log\n", False)]
)
def test_a_list_of_what_git_ignores_is_left_as_it_is(machine: Homes, listed: str, stands_in: bool) -> None:
    path = machine.project / ".opencode" / ".gitignore"
    path.parent.mkdir()
    path.write_text(listed)
    where = machine.where(project=True)
    assert machine.install("opencode", where=where).notes == ()
    assert (path.parent / "package-lock.json").exists() == stands_in
    machine.uninstall("opencode", where=where)
    assert path.read_text() == listed
