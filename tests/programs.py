"""Programs that some tests need, how they are installed, and the skips that `.ci/run` accepts.

python3 tests/programs.py    # installs what is missing with apt-get, or says what to install: `make tools`
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

# A program and its package in Debian.
PACKAGES = {
    "bash": "bash",
    "zsh": "zsh",
    "fish": "fish",
    "chromium": "chromium",
    "node": "nodejs",
    "npm": "npm",
    "ip": "iproute2",
    "setpriv": "util-linux",
    "unshare": "util-linux",
}
# Reasons of skips that a landing accepts, and why.
ACCEPTED = {
    "root may read and write everything": "a landing runs as root; anybody else runs these",
    "network namespaces need root": "a landing runs as root",
}


def need(program: str) -> str:
    """The path of a program; skips the test where it is missing, and says what to install."""
    import pytest

    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed: make tools, or apt-get install {PACKAGES[program]}")
    return found


def unaccepted(skipped: Iterable[Any]) -> list[str]:
    """The skips of a run that are not on the list, a line each."""
    found = ["{}:{}: {}".format(*report.longrepr) for report in skipped if isinstance(report.longrepr, tuple)]
    return sorted({line for line in found if not any(reason in line for reason in ACCEPTED)})


def main() -> int:
    missing = sorted({package for program, package in PACKAGES.items() if shutil.which(program) is None})
    if not missing:
        print("every program that the tests use is installed")
        return 0
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        print(f"install what the tests skip without: apt-get install {' '.join(missing)}", file=sys.stderr)
        return 1
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update", "-qq"], ["install", "-qq", "-y", "--no-install-recommends", *missing]):
        subprocess.run(["apt-get", *words], env=env, stdout=subprocess.DEVNULL, check=True)
    print(f"installed {', '.join(missing)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
