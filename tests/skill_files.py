"""The skills as files: where they are put below a folder of a client."""

from __future__ import annotations

from swarmlore.clients.install.locations import NAMES

HOW_MANY = len(NAMES)


def skills_in(folder: str) -> list[str]:
    """The paths of all skills below a folder such as `.claude`, in order."""
    return [f"{folder}/skills/{name}/SKILL.md" for name in sorted(NAMES)]
