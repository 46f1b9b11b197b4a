"""OpenCode's files: a plugin of ours, one entry among the settings of a person, and nothing left of either."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from test_installing import Machine, tree

from skill_files import skills_in
from swarmlore.clients import installer_of
from swarmlore.clients.install import manifest
from swarmlore.clients.install.edit_json import blanked
from swarmlore.clients.install.status import YES, Activity, status_of
from swarmlore.errors import ConfigError

FOLDER = ".config/opencode"
PLUGIN = f"{FOLDER}/plugins/swarmlore.js"
LOCK = f"{FOLDER}/package-lock.json"
NOTE = f"{FOLDER}/node_modules/README.md"
SETTINGS = """{
  "$schema": "https://opencode.ai/config.json", // for the editor
  /* my
     servers */
  "mcp": {
    "weather": {"type": "remote", "url": "https://weather.example//mcp"}, // slow
  },
  "theme": "nord",
}
"""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def settings_of(machine: Machine, name: str = "opencode.json") -> Any:
    return json.loads(blanked((machine.user / FOLDER / name).read_text()))


def command_in(machine: Machine) -> list[str]:
    line = next(line for line in (machine.user / PLUGIN).read_text().splitlines() if line.startswith("const COMMAND"))
    return list(json.loads(line.partition("=")[2]))


def test_a_machine_without_anything_gets_all_files_and_loses_them_again(machine: Machine) -> None:
    machine.install("opencode")
    made = {name for name in tree(machine.user) if (machine.user / name).is_file()}
    assert made == {PLUGIN, f"{FOLDER}/opencode.json", LOCK, NOTE, *skills_in(".agents")}
    machine.uninstall("opencode")
    assert tree(machine.user) == {}


def test_the_plugin_and_the_server_name_the_program_and_the_home(machine: Machine) -> None:
    machine.install("opencode")
    home = str(machine.home)
    entry = settings_of(machine)["mcp"]["swarmlore"]
    assert entry["command"] == ["/opt/bin/swarmlore", "mcp", "--client", "opencode", "--home", home]
    assert (entry["type"], entry["enabled"]) == ("local", True)
    command = command_in(machine)
    assert command[:6] == ["/opt/bin/swarmlore", "hook", "opencode", "--lines", "--home", home]
    assert command[-2:] == ["--spool", os.path.join(home, "spool")]


def test_a_strange_path_stays_one_word_of_the_plugin(machine: Machine) -> None:
    odd = '/home of "mine"/${HOME}/`x`/</script>\\'
    machine.install("opencode", where=machine.where(home=odd))
    assert command_in(machine)[5] == odd


def test_settings_with_comments_keep_every_character_but_our_entry(machine: Machine) -> None:
    machine.write(f"{FOLDER}/opencode.jsonc", SETTINGS)
    before = tree(machine.user)
    machine.install("opencode")
    text = (machine.user / FOLDER / "opencode.jsonc").read_text()
    assert settings_of(machine, "opencode.jsonc")["mcp"]["weather"]["url"] == "https://weather.example//mcp"
    assert all(remark in text for remark in ("// for the editor", "/* my\n     servers */", "}, // slow\n"))
    assert not (machine.user / FOLDER / "opencode.json").exists()
    machine.uninstall("opencode")
    assert tree(machine.user) == before


def test_a_second_install_changes_nothing_and_another_home_edits_in_place(machine: Machine) -> None:
    machine.write(f"{FOLDER}/opencode.jsonc", SETTINGS)
    before = tree(machine.user)
    machine.install("opencode")
    assert machine.plan("opencode").changes == ()
    changed = machine.install("opencode", where=machine.where(home="/another home")).changes
    assert {change.path for change in changed} == {
        str(machine.user / PLUGIN),
        str(machine.user / FOLDER / "opencode.jsonc"),
    }
    machine.uninstall("opencode")
    assert tree(machine.user) == before


def test_what_a_person_added_meanwhile_stays(machine: Machine) -> None:
    machine.write(f"{FOLDER}/opencode.jsonc", SETTINGS)
    machine.install("opencode")
    place = machine.user / FOLDER / "opencode.jsonc"
    place.write_text(place.read_text().replace('"theme": "nord",', '"theme": "gruvbox", // better'))
    machine.uninstall("opencode")
    assert place.read_text() == SETTINGS.replace('"theme": "nord",', '"theme": "gruvbox", // better')


def test_a_plugin_that_somebody_changed_is_left_alone(machine: Machine) -> None:
    machine.install("opencode")
    place = machine.user / PLUGIN
    place.write_text(place.read_text() + "// mine\n")
    plan = machine.uninstall("opencode")
    assert place.exists()
    assert any("swarmlore.js was changed since" in note for note in plan.notes)


def test_another_server_of_our_name_is_refused_and_nothing_is_changed(machine: Machine) -> None:
    machine.write(f"{FOLDER}/opencode.json", '{"mcp": {"swarmlore": {"type": "remote", "url": "https://x.example"}}}')
    before = tree(machine.user)
    with pytest.raises(ConfigError, match="another server called swarmlore"):
        machine.install("opencode")
    assert tree(machine.user) == before


def test_of_two_files_with_settings_the_one_with_our_entry_is_ours(machine: Machine) -> None:
    machine.install("opencode")
    machine.write(f"{FOLDER}/opencode.jsonc", SETTINGS)
    machine.uninstall("opencode")
    assert not (machine.user / FOLDER / "opencode.json").exists()
    assert (machine.user / FOLDER / "opencode.jsonc").read_text() == SETTINGS


def test_without_the_list_of_what_was_written_our_parts_are_found_all_the_same(machine: Machine) -> None:
    machine.write(f"{FOLDER}/opencode.jsonc", SETTINGS)
    machine.install("opencode")
    (machine.home / "installed.json").unlink()
    machine.uninstall("opencode")
    left = {name for name in tree(machine.user) if (machine.user / name).is_file()}
    assert left == {f"{FOLDER}/opencode.jsonc"}
    assert (machine.user / FOLDER / "opencode.jsonc").read_text() == SETTINGS


# --- the package that OpenCode fetches


@pytest.mark.parametrize(
    "other",
    ["plugins/mine.ts", "plugin/mine.js", "tools/mine.ts", "package.json", "node_modules/x/index.js", "bun.lock"],
)
def test_where_somebody_may_need_the_package_nothing_stands_in_for_it(other: str, machine: Machine) -> None:
    machine.write(f"{FOLDER}/{other}", "{}")
    before = tree(machine.user)
    machine.install("opencode")
    assert not (machine.user / LOCK).exists()
    machine.uninstall("opencode")
    assert tree(machine.user) == before


def test_a_lock_file_of_somebody_else_is_left_alone(machine: Machine) -> None:
    machine.write(LOCK, '{"packages": {"": {"dependencies": {"@opencode-ai/plugin": "1.18.33"}}}}')
    before = tree(machine.user)
    machine.install("opencode")
    assert not (machine.user / NOTE).exists()
    machine.uninstall("opencode")
    assert tree(machine.user) == before


def test_what_stood_in_for_the_package_goes_even_when_others_came_since(machine: Machine) -> None:
    machine.install("opencode")
    machine.write(f"{FOLDER}/plugins/mine.ts", "export {}")
    machine.uninstall("opencode")
    left = {name for name in tree(machine.user) if (machine.user / name).is_file()}
    assert left == {f"{FOLDER}/plugins/mine.ts"}


def test_the_lock_file_names_what_opencode_looks_for(machine: Machine) -> None:
    machine.install("opencode")
    root = json.loads((machine.user / LOCK).read_text())["packages"][""]
    assert list(root["dependencies"]) == ["@opencode-ai/plugin"]


# --- elsewhere


def test_a_folder_that_was_moved_is_found_there(machine: Machine) -> None:
    machine.env["XDG_CONFIG_HOME"] = str(machine.user / "elsewhere")
    machine.install("opencode")
    assert (machine.user / "elsewhere/opencode/plugins/swarmlore.js").exists()
    assert not (machine.user / ".config").exists()


def test_in_a_project_no_path_of_this_machine_is_named(machine: Machine) -> None:
    machine.install("opencode", where=machine.where(project=True))
    files = [path for path in machine.project.rglob("*") if path.is_file()]
    assert {str(path.relative_to(machine.project)) for path in files} == {
        ".opencode/plugins/swarmlore.js",
        ".opencode/.gitignore",
        ".opencode/package-lock.json",
        ".opencode/node_modules/README.md",
        "opencode.json",
        *skills_in(".agents"),
    }
    assert not [path for path in files if str(machine.home.parent) in path.read_text()]
    entry = json.loads((machine.project / "opencode.json").read_text())["mcp"]["swarmlore"]["command"]
    assert entry[:2] == ["sh", "-c"]
    assert "exec swarmlore mcp --client opencode" in entry[2]
    machine.uninstall("opencode", where=machine.where(project=True))
    assert tree(machine.project) == {}


def test_status_knows_how_it_stands(machine: Machine) -> None:
    machine.install("opencode")
    kept = manifest.read(str(machine.home))
    found = status_of(installer_of("opencode"), [machine.where()], kept, Activity())
    level = found.levels[0]
    assert (level.installed, level.program, level.home) == (YES, "/opt/bin/swarmlore", str(machine.home))
    assert any("started again" in line for line in found.to_do)
    (machine.user / PLUGIN).unlink()
    again = status_of(installer_of("opencode"), [machine.where()], kept, Activity()).levels[0]
    assert again.installed == "partly"
