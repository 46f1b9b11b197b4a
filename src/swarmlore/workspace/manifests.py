"""Read manifests and lock files: the packages a project names, their versions, and the lines that name them.

The files are untrusted: nothing is executed or fetched, no XML entity is expanded, and a broken file yields nothing.
Formats are read line by line if that suffices, XML and YAML among them. Each reader takes the text of one format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from swarmlore.frozen import TYPE_CHECKING, frozen

if TYPE_CHECKING:
    from typing import Any

MAX_BYTES = 1_000_000
LOCK_BYTES = 16_000_000
MOST = 5_000  # packages read from one file


@frozen
class Named:
    """A package, image or runtime that a file names. `kind` is package, image, or the kind of a known technology."""

    name: str
    wanted: str = ""
    line: int = 0
    kind: str = "package"


def line_of(text: str, name: str, after: int = 0) -> int:
    """Return the number of the first line that names a package as a word of its own, or 0."""
    found = re.compile(rf"(?<![\w@/.-]){re.escape(name)}(?![\w/-])", re.IGNORECASE).search(text, after)
    return text.count("\n", 0, found.start()) + 1 if found else 0


def line_at(text: str, place: int) -> int:
    """Return the number of the line at an offset."""
    return text.count("\n", 0, max(place, 0)) + 1


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
    for spec in listed[:MOST]:
        yield from requirement(
            spec, line_of(text, spec.partition("[")[0].split(";")[0].strip()[:60]) or line_of(text, _name(spec))
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
    """Read the tools of a mise.toml."""
    for name, wanted in pairs(_toml(text).get("tools")):
        yield tool(name, wanted, line_of(text, name))


def tool(name: str, wanted: str, line: int) -> Named:
    """Return a tool as asdf and mise name it: a known runtime, else a build tool."""
    known = TOOLS.get(name.lower().rpartition(":")[2], "")
    return Named(known or name, wanted, line, "runtime" if known else "build")


def requirement(spec: str, line: int) -> Iterator[Named]:
    """Read one line of a requirements file: name, extras and wanted version."""
    found = _REQUIREMENT.match(spec)
    if found and not spec.lstrip().startswith(("-", "#")):
        yield Named(re.sub(r"[_.]", "-", found[1]).lower(), found[2].strip(), line)


def _name(spec: str) -> str:
    found = _REQUIREMENT.match(spec)
    return found[1] if found else spec[:60]


def json_table(text: str) -> Mapping[str, Any]:
    """Return the JSON object in a text, or an empty one."""
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
    """Yield names with the wanted version: a text, or the `version` of a table."""
    for name, wanted in list(_table(value).items())[:MOST]:
        version = _table(wanted).get("version", "") if isinstance(wanted, Mapping) else wanted
        yield str(name), version if isinstance(version, str) else ""


_IMAGE = r"""["']?([a-z0-9][\w./-]{0,120})(?::([\w.-]{1,60}))?(?:@[\w:]{1,100})?["']?"""

_FEATURE = re.compile(
    r"""\s*"[^"]{1,100}/features/([\w-]{1,40})(?::[\w.]{1,20})?"\s*:\s*\{"""
    r"""(?:\s*"version"\s*:\s*"([\w.]{1,20})")?"""
)


def requirements(text: str) -> Iterator[Named]:
    for number, line in _lines(text):
        yield from requirement(line, number)


def setup_cfg(text: str) -> Iterator[Named]:
    wanted = False
    for number, line in _lines(text):
        if not line[:1].isspace():
            key = line.partition("=")[0].strip()
            wanted = key in ("install_requires", "tests_require") or (wanted and not line.strip())
            if key == "python_requires":
                yield Named("Python", line.partition("=")[2].strip(), number, "runtime")
        elif wanted and line.strip():
            yield from requirement(line, number)


def go_mod(text: str) -> Iterator[Named]:
    for number, line in _lines(text):
        words = line.partition("//")[0].split()
        if words[:1] == ["require"]:
            words = words[1:]
        if len(words) == 2 and words[0] == "go":
            yield Named("Go", words[1], number, "runtime")
        elif len(words) == 2 and "." in words[0] and words[1].startswith("v"):
            yield Named(words[0], words[1], number)


def gemfile(text: str) -> Iterator[Named]:
    yield from _each(text, r"""\s*gem\s+["']([\w-]{1,80})["'](?:\s*,\s*["']([^"']{1,40})["'])?""")
    yield from _each(text, r"""\s*(ruby)\s+["']([^"']{1,40})["']""", "runtime", "Ruby")


def pom(text: str) -> Iterator[Named]:
    """Read a Maven pom.xml without an XML parser, so that no entity is expanded."""
    name = line = ""
    at = 0
    for number, text_line in _lines(text):
        if found := re.search(r"<artifactId>\s*([\w.-]{1,100})\s*</artifactId>", text_line):
            if name:
                yield Named(name, line, at)
            name, line, at = found[1], "", number
        if (found := re.search(r"<version>\s*([\w.-]{1,60})\s*</version>", text_line)) and name:
            line = found[1]
        if found := re.search(r"<(?:java\.version|maven\.compiler\.release)>\s*([\w.]{1,20})\s*<", text_line):
            yield Named("Java", found[1], number, "runtime")
    if name:
        yield Named(name, line, at)


def gradle(text: str) -> Iterator[Named]:
    quoted = r"""[^/"']{0,120}["']([\w.-]{1,80}):([\w.-]{1,80})(?::([\w.+,()\[\]-]{1,40}))?["']"""
    yield from _each(text, quoted, groups=(2, 3))
    yield from _each(text, r"""\s*id\s*\(?["']([\w.-]{1,80})["']\)?\s+version\s+["']([\w.-]{1,40})["']""")
    java = (
        r"""[^/]{0,120}?(JavaLanguageVersion\.of\(|jvmToolchain\(|JavaVersion\.VERSION_|sourceCompatibility\s*=)\s*"""
    )
    yield from _each(text, rf"""{java}["']?(\d{{1,2}})""", "runtime", "Java")


def csproj(text: str) -> Iterator[Named]:
    yield from _each(text, r"""\s*<PackageReference\s+Include="([\w.]{1,100})"(?:\s+Version="([^"]{1,40})")?""")
    yield from _each(text, r"""\s*<(TargetFramework)>net([\d.]{1,10})""", "runtime", ".NET")


def mix(text: str) -> Iterator[Named]:
    yield from _each(text, r"""\s*\{:(\w{1,60}),\s*"([^"]{1,40})\"""")
    yield from _each(text, r"""\s*(elixir):\s*"([^"]{1,40})\"""", "runtime", "Elixir")


def pubspec(text: str) -> Iterator[Named]:
    inside = False
    for number, line in _lines(text):
        if line[:1] not in (" ", "\t"):
            inside = line.startswith(("dependencies:", "dev_dependencies:"))
        elif inside and (found := re.match(r"  (\w{1,60}):\s*(\S{0,40})", line)):
            yield Named(found[1], found[2], number)


def swift(text: str) -> Iterator[Named]:
    yield from _each(text, r"""[^/]{0,80}\.package\(.{0,200}?/([\w-]{1,60})(?:\.git)?",\s*\w+:\s*"([^"]{1,30})\"""")


def cmake(text: str) -> Iterator[Named]:
    yield from _each(text, r"\s*find_package\(\s*(\w{1,60})(?:\s+([\d.]{1,20}))?")


def dockerfile(text: str) -> Iterator[Named]:
    yield from _each(text, rf"\s*FROM\s+(?:--platform=\S{{1,40}}\s+)?{_IMAGE}", "image")


def compose(text: str) -> Iterator[Named]:
    yield from _each(text, rf"\s*(?:-\s+)?image:\s*{_IMAGE}", "image")


def workflow(text: str) -> Iterator[Named]:
    yield from compose(text)
    for key, name in (("python", "Python"), ("node", "Node.js"), ("go", "Go"), ("java", "Java"), ("ruby", "Ruby")):
        yield from _each(text, rf"""\s*(?:-\s+)?({key})-version:\s*["']?([\d.]{{1,12}})""", "runtime", name)


def gitlab(text: str) -> Iterator[Named]:
    """Read the images of jobs and services in a .gitlab-ci.yml."""
    yield from compose(text)
    yield from _each(text, rf"\s+-\s+(?:name:\s*)?{_IMAGE}\s*$", "image")


def tool_versions(text: str) -> Iterator[Named]:
    for number, line in _lines(text):
        words = line.partition("#")[0].split()
        if len(words) > 1:
            yield tool(words[0], words[1], number)


def rust_toolchain(text: str) -> Iterator[Named]:
    """Read a rust-toolchain file: TOML with a channel, or only the channel."""
    for number, line in _lines(text):
        if found := re.match(
            r"""\s*(?:channel\s*=\s*)?["']?(\d[\d.]{0,12}|nightly[\w-]{0,20}|stable|beta)["']?\s*$""", line
        ):
            yield Named("Rust", found[1], number, "runtime")
            return


def devcontainer(text: str) -> Iterator[Named]:
    """Read the image and the added runtimes of a devcontainer.json."""
    for number, line in _lines(text):
        if found := re.match(rf"""\s*"image"\s*:\s*{_IMAGE}""", line):
            # These images have a version of their own in front: 1-3.12 contains version 3.12.
            yield Named(found[1], re.sub(r"^\d{1,2}-(?=\d)", "", found[2] or ""), number, "image")
        if (found := _FEATURE.match(line)) and found[1] in TOOLS:
            yield tool(found[1], found[2] or "", number)


def version_file(name: str) -> Callable[[str], Iterator[Named]]:
    """Return a reader for a file that holds only the version of a runtime."""

    def read(text: str) -> Iterator[Named]:
        if found := re.match(r"\s*v?(\d[\w.]{0,20})", text):
            yield Named(name, found[1], 1, "runtime")

    return read


def _each(
    text: str, pattern: str, kind: str = "package", name: str = "", groups: tuple[int, int] = (1, 2)
) -> Iterator[Named]:
    """Yield the package and version that a pattern's groups match at the beginning of each line."""
    compiled = re.compile(pattern)
    for number, line in _lines(text):
        if found := compiled.match(line):
            yield Named(name or found[groups[0]], found[groups[1]] or "", number, kind)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n")[: 20 * MOST], start=1):
        if len(line) <= 1_000:
            yield number, line


_NEAR = 600  # characters after a name that are searched for its version
_VERSION = r"""[\s"':=]{0,8}v?(\d[\w.+-]{0,40})"""

# Per lock file: the text that opens a package's entry ({} is its name), and the text before its version.
LOCKS = {
    "package-lock.json": ('"node_modules/{}": {{', '"version":'),
    "npm-shrinkwrap.json": ('"node_modules/{}": {{', '"version":'),
    "pnpm-lock.yaml": ("\n      {}:\n        specifier:", "\n        version:"),
    "yarn.lock": ("\n{}@", "version"),
    "bun.lock": ('"{}": ["{}@', ""),
    "uv.lock": ('\nname = "{}"\n', "version ="),
    "poetry.lock": ('\nname = "{}"\n', "version ="),
    "Cargo.lock": ('\nname = "{}"\n', "version ="),
    "Pipfile.lock": ('"{}": {{', '"version": "=='),
    "Gemfile.lock": ("\n    {} (", ""),
    "composer.lock": ('"name": "{}",', '"version":'),
    "mix.lock": ('"{}": {{:hex, :{}, ', ""),
    "pubspec.lock": ("\n  {}:\n", "version:"),
}
_OTHER_FORMS = {
    "pnpm-lock.yaml": (
        "\n      '{}':\n        specifier:",
        "\n  {}:\n    specifier:",
        "\n  /{}@",
        "\n  '{}@",
        "\n  {}@",
    ),
    "yarn.lock": ('\n"{}@',),
}


def held(text: str, name: str, lock: str) -> tuple[str, int]:
    """Return the version of a package in a lock file, and its line; ('', 0) if it is not there."""
    opening, before = LOCKS[lock]
    for form in (opening, *_OTHER_FORMS.get(lock, ())):
        start = text.find(form.format(name, name))
        if start < 0:
            continue
        at = start + len(form.format(name, name))
        inline = form.endswith("@") and lock == "pnpm-lock.yaml"
        if before and not inline:
            near = text.find(before, at - 1, at + _NEAR)
            if near < 0:
                continue
            at = near + len(before)
        if found := re.compile(_VERSION).match(text, at):
            return found[1].rstrip(".-+"), line_at(text, start + 1)
    return "", 0
