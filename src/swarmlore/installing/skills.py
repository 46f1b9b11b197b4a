"""Skills: texts that clients offer as commands, from one set of templates."""

from __future__ import annotations

import os
from functools import cache

from swarmlore.installing.entries import File

NAMES = ("compound-docs", "instincts", "memory-catcher", "prime", "recall", "reflect", "research", "swarm")
PARTS = {"{{BELONGS}}": "belongs.md", "{{ENDING}}": "ending.md"}  # what several of them say
SHARED = ".agents"  # a folder that several clients read: the same skill there and in their own would be one too many
ABOUT = "a skill, which is a text for the agent to read; it starts nothing"
_TEMPLATES = os.path.join(os.path.dirname(__file__), "templates")


def shared_skills(base: str) -> tuple[File, ...]:
    """The skills in the folder that agents share, in a person's own folder or in a project."""
    return skill_files(os.path.join(base, SHARED, "skills"), SHARED, f"~/{SHARED}")


def skill_files(folder: str, tool_dir: str, home_tool_dir: str) -> tuple[File, ...]:
    """The skills below a folder of a client, with the names of its own folders in them."""
    words = {word: _template("parts", name).rstrip() for word, name in PARTS.items()}
    words |= {"{{TOOL_DIR}}": tool_dir, "{{HOME_TOOL_DIR}}": home_tool_dir}
    return tuple(File(os.path.join(folder, name, "SKILL.md"), text=_filled(name, words), about=ABOUT) for name in NAMES)


def _filled(name: str, words: dict[str, str]) -> str:
    text = _template("skills", name, "SKILL.md")
    for word, value in words.items():
        text = text.replace(word, value)
    return text


@cache
def _template(*names: str) -> str:
    with open(os.path.join(_TEMPLATES, *names), encoding="utf-8") as file:
        return file.read()
