"""config: settings with their origins; works without a store, so that a wrong setting can be mended."""

from __future__ import annotations

import argparse
import os

from swarmlore import config
from swarmlore.config import Settings, Value
from swarmlore.domain.json_codec import plain
from swarmlore.errors import ConfigError
from swarmlore.surfaces import render
from swarmlore.surfaces.cli.desk import Desk
from swarmlore.workspace.project import find_project

EXAMPLES = (
    "swarmlore config",
    "swarmlore config knowledge",
    "swarmlore config recall.limit 8",
    "swarmlore config store postgresql://ada@db.example/team",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("key", nargs="?", default="", metavar="KEY", help="a setting, or a section")
    parser.add_argument("value", nargs="?", metavar="VALUE", help="what to set it to, in config.toml of the home")


def run(desk: Desk) -> int:
    if desk.args.value is not None:
        return _set(desk)
    found = _find(_load(desk).values(), desk.args.key)
    if len(found) == 1 and found[0].name == desk.args.key:
        return desk.show(lambda: plain(found[0]), lambda page: render.setting(found[0], page))
    return desk.show(lambda: {"settings": plain(found)}, lambda page: render.settings(found, page))


def _find(values: list[Value], key: str) -> list[Value]:
    found = [value for value in values if not key or key in (value.name, value.name.partition(".")[0])]
    if not found:
        raise ConfigError(f"unknown setting {key}", "swarmlore config lists all of them")
    return found


def _set(desk: Desk) -> int:
    key = config.SHORT.get(desk.args.key, desk.args.key)
    if key == "store.url" and desk.args.value:
        _try_store(desk.args.value)
    path = config.write_value(_home(desk), key, desk.args.value)
    now = _find(_load(desk).values(), key)[0]
    desk.show(lambda: plain(now), lambda page: render.setting_written(now, path, page))
    if now.origin != path and not desk.json:
        desk.note(f"{now.origin} is stronger than {path}")
    return 0


def _try_store(url: str) -> None:
    """Open a team's store once, which also makes it; an address that does not work is not kept."""
    import time

    from swarmlore.store.store import Store

    if not url.startswith(("postgresql://", "postgres://")):
        raise ConfigError("that is no address of a store", "postgresql://USER:PASSWORD@HOST/DATABASE, or '' for a file")
    Store.connect(url, round(time.time(), 3)).close()


def _load(desk: Desk) -> Settings:
    return config.load(_home(desk), find_project(desk.folder).root, os.environ)


def _home(desk: Desk) -> str:
    return os.path.abspath(desk.home) if desk.home else config.home_dir(os.environ)
