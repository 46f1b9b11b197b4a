"""Run `python -m swarmlore` like the installed command."""

from __future__ import annotations

import sys

from swarmlore.main import main

if __name__ == "__main__":
    sys.exit(main())
