"""Settings: order, origins, and a project's file that may not do everything."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from swarmlore import config
from swarmlore.errors import ConfigError


def test_later_origins_win_and_are_named(tmp_path: Path) -> None:
    home, root = tmp_path / "home", tmp_path / "repo"
    home.mkdir()
    root.mkdir()
    (home / "config.toml").write_text("[recall]\nlimit = 7\nmode = 'keyword'\n[inject]\nmax_count = 4\n")
    (root / ".swarmlore.toml").write_text("[recall]\nlimit = 8\nprofile = 'lane'\n")
    found = config.load(str(home), str(root), {"SWARMLORE_RECALL_LIMIT": "9"}, {"recall.mode": "naive"})
    assert (found.recall.limit, found.recall.mode, found.recall.profile, found.inject.max_count) == (
        9,
        "naive",
        "lane",
        4,
    )
    origins = {value.name: value.origin for value in found.values()}
    assert origins["recall.limit"] == "SWARMLORE_RECALL_LIMIT"
    assert origins["recall.mode"] == "flag"
    assert origins["recall.profile"] == str(root / ".swarmlore.toml")
    assert origins["inject.max_count"] == str(home / "config.toml")
    assert origins["knowledge.enabled"] == "default"


@pytest.mark.parametrize(
    "line",
    ["[embedder]\nbase_url = 'http://evil'", "[writer]\nkind = 'openai'", "[knowledge]\nvalidation_enabled = false"],
)
def test_a_project_cannot_choose_providers_addresses_or_skip_the_gate(tmp_path: Path, line: str) -> None:
    (tmp_path / ".swarmlore.toml").write_text(line + "\n")
    found = config.load(str(tmp_path / "home"), str(tmp_path), {})
    assert found == config.Settings(warnings=found.warnings)
    assert "cannot be set by a project" in found.warnings[0]


@pytest.mark.parametrize(
    ("variable", "attribute", "text", "value"),
    [
        ("MEMORY_RECENCY_HALF_LIFE_DAYS", "recency_half_life_days", "30", 30.0),
        ("MEMORY_ACCESS_BOOST_MAX", "access_boost_max", "2.5", 2.5),
        ("MEMORY_ACCESS_RECENCY_HOURS", "access_recency_hours", "12", 12.0),
        ("MEMORY_CANDIDATE_MULTIPLIER", "candidate_multiplier", "5", 5),
    ],
)
def test_the_four_ranking_variables_are_honoured(variable: str, attribute: str, text: str, value: float) -> None:
    assert getattr(config.load("/nowhere", "", {variable: text}).recall, attribute) == value


def test_the_knowledge_defaults_are_those_of_the_original() -> None:
    knowledge = config.Settings().knowledge
    expected = {
        "enabled": True, "swarm_max_entries": 100, "hive_max_entries": 200, "auto_promote_days": 90,
        "max_inject_count": 5, "inject_char_budget": 2000, "max_lesson_display_chars": 120, "dedup_threshold": 0.6,
        "scope_filter": ("global",), "hive_enabled": True, "validation_enabled": True, "evergreen_confidence": 0.9,
        "evergreen_utility": 0.8, "low_utility_threshold": 0.3, "min_retrievals_for_utility": 3,
        "default_max_phases": 10, "todo_max_phases": 3, "same_project_weight": 1.0, "cross_project_weight": 0.5,
    }  # fmt: skip
    assert {name: getattr(knowledge, name) for name in expected} == expected


@pytest.mark.parametrize(
    "content",
    [
        "[recall\nlimit = 1",
        "\x00\x01",
        "[recall]\nlimit = 0",
        "[recall]\nlimit = 'x'",
        "[recall]\nprofile = 'best'",
        "[knowledge]\nenabled = 3",
        "[recall]\nlimit = 1.5",
        "[recall]\nlimit = true",
    ],
)
def test_a_broken_file_is_named_with_a_hint(tmp_path: Path, content: str) -> None:
    (tmp_path / "config.toml").write_text(content)
    with pytest.raises(ConfigError) as caught:
        config.load(str(tmp_path), "", {})
    assert "config.toml" in caught.value.message and caught.value.hint


def test_an_unknown_setting_is_a_warning_not_a_failure(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("color = 1\n[recall]\nlimits = 5\n")
    assert len(config.load(str(tmp_path), "", {}).warnings) == 2


def test_writing_a_value_keeps_comments_and_order(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("# mine\n[recall]\nlimit = 3  # few\n\n[inject]\nmax_count = 2\n")
    config.write_value(str(tmp_path), "recall.mode", "keyword")
    config.write_value(str(tmp_path), "recall.limit", "9")
    config.write_value(str(tmp_path), "knowledge.scope_filter", "global,stack:python")
    text = path.read_text()
    assert text.startswith("# mine\n[recall]\n") and "max_count = 2" in text
    found = config.load(str(tmp_path), "", {})
    assert (found.recall.mode, found.recall.limit) == ("keyword", 9)
    assert found.knowledge.scope_filter == ("global", "stack:python")
    assert path.stat().st_mode & 0o777 == 0o600


def a_pipe(path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("there are no pipes with a name here")
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("name", "make", "message"),
    [
        ("home/config.toml", Path.mkdir, "config.toml is a folder"),
        ("home/config.toml", a_pipe, "config.toml is not a file"),
        ("home/config.toml.new", Path.mkdir, "config.toml.new cannot be written: Is a directory"),
        ("home", Path.touch, "home cannot be written: File exists"),
    ],
)
def test_a_value_that_cannot_be_written_is_an_error_of_the_settings(
    tmp_path: Path, name: str, make: Callable[[Path], None], message: str
) -> None:
    path = tmp_path / name
    if path.parent != tmp_path:
        path.parent.mkdir()
    make(path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ConfigError) as caught:
        config.write_value(str(tmp_path / "home"), "recall.limit", "8")
    assert caught.value.message.endswith(message)
    assert caught.value.hint
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("home", ["a\0b", "/tmp/\ud800"])
def test_a_home_that_can_be_none_is_an_error_of_the_settings(home: str) -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        config.write_value(home, "recall.limit", "8")


def test_a_value_makes_the_home_it_is_written_to_and_that_is_private(tmp_path: Path) -> None:
    config.write_value(str(tmp_path / "new" / "home"), "recall.limit", "8")
    assert config.load(str(tmp_path / "new" / "home"), "", {}).recall.limit == 8
    assert (tmp_path / "new" / "home").stat().st_mode & 0o777 == 0o700
    assert [path.name for path in (tmp_path / "new" / "home").iterdir()] == ["config.toml"]


@pytest.mark.parametrize(
    ("env", "ending"),
    [({"SWARMLORE_HOME": "/a/b"}, "/a/b"), ({"XDG_DATA_HOME": "/x"}, "/x/swarmlore"), ({}, "/.local/share/swarmlore")],
)
def test_the_home_follows_the_environment(env: dict[str, str], ending: str) -> None:
    assert config.home_dir(env).endswith(ending)


def test_a_missing_user_folder_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/nowhere/at/all")
    with pytest.raises(ConfigError, match="is not there"):
        config.home_dir({})
