"""`.beads/memory/recall.sh`: the way agents on beads know to ask, leading to `swarmlore recall`."""

from __future__ import annotations

from swarmlore.errors import SwarmloreError
from swarmlore.formats.beads import BEADS, MEMORY, SCRIPT, memory_folder, uses_beads
from swarmlore.sharing.founding import Step

WHAT = f"{BEADS}/{MEMORY}/{SCRIPT}"
# Without a path of this machine in it: the file may be committed. `cd` is kept from printing where CDPATH is set.
CONTENT = """\
#!/bin/sh
# Made by `swarmlore init`: searches what LEARNED comments on beads brought together.
#   recall.sh "keyword" [--type learned] [--all]    recall.sh --recent 10    recall.sh --stats
if ! command -v swarmlore >/dev/null 2>&1; then
    echo "recall.sh: swarmlore is not installed or not on PATH; install it: pip install swarmlore" >&2
    echo "The lessons are in knowledge.jsonl beside this script, one a line." >&2
    exit 127
fi
project=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd -P) || exit 1
exec swarmlore recall --profile beads --project "$project" "$@"
"""


def write_recall_script(root: str, *, dry_run: bool = False) -> list[Step]:
    """Put the script where a project uses beads; a file that is there and not exactly ours stays as it is."""
    if not uses_beads(root):
        return []
    try:
        with memory_folder(root, make=not dry_run) as folder:
            found = folder.read(SCRIPT) if folder else b""
            if found == CONTENT.encode():
                return [Step(WHAT, "there already")]
            if found:
                return [Step(WHAT, "left as it is", "it is another one; move it away to get ours")]
            if dry_run or folder is None:
                return [Step(WHAT, "would be made")]
            with folder.lock():
                folder.replace(SCRIPT, [CONTENT.encode()], 0o755)
    except SwarmloreError as error:
        return [Step(WHAT, "not done", error.message)]
    return [Step(WHAT, "made")]
