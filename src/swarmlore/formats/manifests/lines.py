"""Manifests that are read line by line: requirements, go.mod, Gemfile, Gradle, Maven, Docker, workflows and others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from swarmlore.formats.manifests import MOST, Named
from swarmlore.formats.manifests.tables import TOOLS, requirement, tool

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
    """Maven, without an XML parser: no entity can be expanded where none is read."""
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
    """Images of jobs, and of the services beside them."""
    yield from compose(text)
    yield from _each(text, rf"\s+-\s+(?:name:\s*)?{_IMAGE}\s*$", "image")


def tool_versions(text: str) -> Iterator[Named]:
    for number, line in _lines(text):
        words = line.partition("#")[0].split()
        if len(words) > 1:
            yield tool(words[0], words[1], number)


def rust_toolchain(text: str) -> Iterator[Named]:
    """Either TOML with a channel, or nothing but the channel."""
    for number, line in _lines(text):
        if found := re.match(
            r"""\s*(?:channel\s*=\s*)?["']?(\d[\d.]{0,12}|nightly[\w-]{0,20}|stable|beta)["']?\s*$""", line
        ):
            yield Named("Rust", found[1], number, "runtime")
            return


def devcontainer(text: str) -> Iterator[Named]:
    """The image of a container to develop in, and the runtimes that are added to it."""
    for number, line in _lines(text):
        if found := re.match(rf"""\s*"image"\s*:\s*{_IMAGE}""", line):
            # The images for this are numbered themselves: 1-3.12 holds version 3.12.
            yield Named(found[1], re.sub(r"^\d{1,2}-(?=\d)", "", found[2] or ""), number, "image")
        if (found := _FEATURE.match(line)) and found[1] in TOOLS:
            yield tool(found[1], found[2] or "", number)


def version_file(name: str) -> Callable[[str], Iterator[Named]]:
    """A file that holds nothing but the version of a runtime."""

    def read(text: str) -> Iterator[Named]:
        if found := re.match(r"\s*v?(\d[\w.]{0,20})", text):
            yield Named(name, found[1], 1, "runtime")

    return read


def _each(
    text: str, pattern: str, kind: str = "package", name: str = "", groups: tuple[int, int] = (1, 2)
) -> Iterator[Named]:
    """What a pattern finds at the beginning of lines."""
    compiled = re.compile(pattern)
    for number, line in _lines(text):
        if found := compiled.match(line):
            yield Named(name or found[groups[0]], found[groups[1]] or "", number, kind)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n")[: 20 * MOST], start=1):
        if len(line) <= 1_000:
            yield number, line
