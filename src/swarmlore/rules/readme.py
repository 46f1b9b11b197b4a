"""What a README says to whoever begins: what the project is for, how it is set up, what is asked of contributors.

Lines are taken out, never rewritten, each with its number. What a stranger wrote stays data.
"""

from __future__ import annotations

import re

from swarmlore.frozen import frozen
from swarmlore.rules.pages import Part, parts_of

MOST_CHARS = 200_000
PURPOSE_CHARS = 320
LINE_CHARS = 200
MOST_SETUP = 6
MOST_CONVENTIONS = 6
_SETUP = re.compile(
    r"install|set ?-?up|getting started|quick ?-?start|\brun|usage|\bbuild|\btests?\b|development|requirements|begin",
    re.I,
)
_CONVENTIONS = re.compile(r"convention|contribut|guideline|style|\brules?\b|workflow|principle|before you|commit", re.I)
_BINDING = re.compile(r"\b(?:must|never|always|do not|don't|please|required?|should|only)\b", re.I)
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,60}=")  # set for the command that follows
_OWN = ("./", "bin/", "script/", "scripts/")
_TOOLS = frozenset(
    "make just task npm npx pnpm yarn bun deno node pip pipx uv poetry pipenv python python3 pytest tox nox cargo "
    "rustup go docker docker-compose podman bundle gem rails rake mix composer php artisan mvn mvnw gradle gradlew "
    "dotnet cmake ninja flutter dart swift git sh bash brew apt apt-get sudo cp createdb psql helm".split()
)


@frozen
class Said:
    """A line as it stands in a file."""

    text: str
    path: str
    line: int


@frozen
class Readme:
    """What was found, each with its place."""

    purpose: Said | None = None
    setup: tuple[Said, ...] = ()
    conventions: tuple[Said, ...] = ()


def read_readme(text: str, path: str) -> Readme:
    """Purpose, commands of the set-up and conventions of a page."""
    parts = list(parts_of(text[:MOST_CHARS]))
    setup = [part for part in parts if part.kind == "code" and _is_setup(part)]
    rules = [part for part in parts if _is_rule(part)]
    purpose = next((part for part in parts if part.kind == "prose" and len(part.text.split()) >= 4), None)
    return Readme(
        Said(_cut(purpose.text, PURPOSE_CHARS), path, purpose.line) if purpose else None,
        tuple(Said(_command(part.text), path, part.line) for part in setup[:MOST_SETUP]),
        tuple(Said(_cut(part.text, LINE_CHARS), path, part.line) for part in rules[:MOST_CONVENTIONS]),
    )


def _is_setup(part: Part) -> bool:
    """Whether it is a command for whoever begins: of a known tool, or a program of the project's own."""
    return is_command(part.text) and (part.top or bool(_SETUP.search(part.heading)))


def is_command(text: str) -> bool:
    """Whether a line of an example is typed into a shell: by a known tool, or a program of the project's own."""
    words = [word for word in _command(text).split() if not _VARIABLE.match(word)]
    return bool(words) and (words[0].rpartition("/")[2] in _TOOLS or words[0].startswith(_OWN))


def _is_rule(part: Part) -> bool:
    """Whether it asks something of whoever works here: under such a heading, or by its words in a list."""
    if part.kind not in ("item", "prose") or len(part.text.split()) < 3:
        return False
    binding = _BINDING.search(part.text) is not None
    if _CONVENTIONS.search(part.heading):
        return part.kind == "item" or binding
    return part.kind == "item" and binding and _SETUP.search(part.heading) is not None


def _command(text: str) -> str:
    return _cut(re.sub(r"^\s*[$>%]\s+", "", text).strip(), LINE_CHARS)


def _cut(text: str, most: int) -> str:
    """A text that fits, cut behind a sentence where one ends early enough."""
    if len(text) <= most:
        return text
    end = text.rfind(". ", most // 3, most)
    return text[: end + 1] if end > 0 else text[: most - 1].rstrip() + "…"
