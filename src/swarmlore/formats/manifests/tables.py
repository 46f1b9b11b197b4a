"""Manifests that are JSON or TOML: package.json, deno.json, composer.json, pyproject.toml, Cargo.toml, Pipfile."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from swarmlore.formats.manifests import MOST, Named, line_of
from swarmlore.frozen import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

TOOLS = {
    **dict.fromkeys(("nodejs", "node"), "Node.js"),
    **dict.fromkeys(("golang", "go"), "Go"),
    "python": "Python", "ruby": "Ruby", "java": "Java", "rust": "Rust", "php": "PHP", "elixir": "Elixir",
    "erlang": "Erlang", "deno": "Deno", "bun": "Bun", "dotnet": ".NET", "dotnet-core": ".NET", "swift": "Swift",
}  # fmt: skip
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]{0,100})\s*(?:\[[^\]]{0,200}\])?\s*([^;#]{0,100})")


def package_json(text: str) -> Iterator[Named]:
    data = json_table(text)
    start = 0
    for section in ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies"):
        start = max(text.find(f'"{section}"'), 0)
        for name, wanted in pairs(data.get(section)):
            yield Named(name, wanted, line_of(text, name, start))
    for name, wanted in pairs(data.get("engines")):
        if name == "node":
            yield Named("Node.js", wanted, line_of(text, "node", max(text.find('"engines"'), 0)), "runtime")
    manager, _, version = str(data.get("packageManager") or "").partition("@")
    if manager in ("npm", "pnpm", "yarn", "bun"):
        yield Named(manager, version.partition("+")[0], line_of(text, "packageManager"), "packages")


def deno_json(text: str) -> Iterator[Named]:
    for name, wanted in pairs(json_table(re.sub(r"(?m)^\s*//.*$", "", text)).get("imports")):
        package, _, version = wanted.partition(":")[2].rpartition("@")
        yield Named(package or name, version, line_of(text, name))


def composer_json(text: str) -> Iterator[Named]:
    data = json_table(text)
    for section in ("require", "require-dev"):
        for name, wanted in pairs(data.get(section)):
            kind = "runtime" if name == "php" else "package"
            yield Named("PHP" if name == "php" else name, wanted, line_of(text, name), kind)


def pyproject(text: str) -> Iterator[Named]:
    data = _toml(text)
    project = _table(data.get("project"))
    if wanted := str(project.get("requires-python") or ""):
        yield Named("Python", wanted, line_of(text, "requires-python"), "runtime")
    listed = [*_texts(project.get("dependencies")), *_texts(_table(data.get("build-system")).get("requires"))]
    for group in (*_tables(project.get("optional-dependencies")), *_tables(data.get("dependency-groups"))):
        listed += _texts(group)
    for said in listed[:MOST]:
        yield from requirement(
            said, line_of(text, said.partition("[")[0].split(";")[0].strip()[:60]) or line_of(text, _name(said))
        )
    poetry = _table(_table(data.get("tool")).get("poetry"))
    groups = [_table(group).get("dependencies") for group in _table(poetry.get("group")).values()]
    for section in (poetry.get("dependencies"), poetry.get("dev-dependencies"), *groups):
        for name, wanted in pairs(section):
            kind = "runtime" if name == "python" else "package"
            yield Named("Python" if name == "python" else name, wanted, line_of(text, name), kind)


def pipfile(text: str) -> Iterator[Named]:
    data = _toml(text)
    for section in ("packages", "dev-packages"):
        for name, wanted in pairs(data.get(section)):
            yield Named(name, wanted, line_of(text, name))
    if wanted := str(_table(data.get("requires")).get("python_version") or ""):
        yield Named("Python", wanted, line_of(text, "python_version"), "runtime")


def cargo_toml(text: str) -> Iterator[Named]:
    data = _toml(text)
    package = _table(data.get("package"))
    if wanted := str(package.get("rust-version") or ""):
        yield Named("Rust", wanted, line_of(text, "rust-version"), "runtime")
    inner = _table(data.get("workspace"))
    if wanted := str(_table(inner.get("package")).get("rust-version") or ""):
        yield Named("Rust", wanted, line_of(text, "rust-version"), "runtime")
    for section in (data, inner):
        for kind in ("dependencies", "dev-dependencies", "build-dependencies"):
            for name, wanted in pairs(section.get(kind)):
                yield Named(name, wanted, line_of(text, name))


def toml_tools(text: str) -> Iterator[Named]:
    """The tools of a mise.toml."""
    for name, wanted in pairs(_toml(text).get("tools")):
        yield tool(name, wanted, line_of(text, name))


def tool(name: str, wanted: str, line: int) -> Named:
    """A tool as asdf and mise name it: a runtime where it is one, else something to build with."""
    known = TOOLS.get(name.lower().rpartition(":")[2], "")
    return Named(known or name, wanted, line, "runtime" if known else "build")


def requirement(said: str, line: int) -> Iterator[Named]:
    """One line of a requirements file: a name, extras, and what it asks for."""
    found = _REQUIREMENT.match(said)
    if found and not said.lstrip().startswith(("-", "#")):
        yield Named(re.sub(r"[_.]", "-", found[1]).lower(), found[2].strip(), line)


def _name(said: str) -> str:
    found = _REQUIREMENT.match(said)
    return found[1] if found else said[:60]


def json_table(text: str) -> Mapping[str, Any]:
    import json

    try:
        return _table(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _toml(text: str) -> Mapping[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _tables(value: Any) -> list[Any]:
    return list(_table(value).values())


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def pairs(value: Any) -> Iterator[tuple[str, str]]:
    """Names with what is asked for: a text, or the `version` of a table."""
    for name, wanted in list(_table(value).items())[:MOST]:
        said = _table(wanted).get("version", "") if isinstance(wanted, Mapping) else wanted
        yield str(name), said if isinstance(said, str) else ""
