"""Make a full home with an older release, kept in `tests/data/homes` and opened by `test_upgrades.py`.

    PYTHONPATH=OLD_CHECKOUT/src:tests .venv/bin/python tests/old_homes.py VERSION

The home holds one of everything that outlives a process: memories in every state, history, receipts, sessions, mail, tokens,
queued jobs, events that nobody digested, settings, agreements, files of clients and what was noted about them.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from waiting import wait_until

HOMES = Path(__file__).parent / "data" / "homes"
DUMPED = "postgres.sql"
HERE = "@WORLD@"  # in texts of a home that name the folder it was made in
STORY = """
remember "Snapshot tests are recorded with make snap-record, never by hand" --kind correction --tag testing
remember "The staging database listens on port 5432" --category tooling
remember "The staging database listens on port 5433" --category tooling
remember "Use pnpm, not npm, in the frontend workspace" --tier agent
remember "Deploys go out with make ship on Tuesdays"
remember "Prices are integers in cents, never floats"
remember "The old gateway needs a restart after each deploy"
recall "how are snapshot tests recorded?" --block
rate snapshot --helpful
quarantine deploys "no longer true"
forget prices
phase start importer
promote "Pin the base image by digest, because tags move"
mail register --task importer
mail send --to bob --subject "New schema" "Run make schema first"
instincts add "Run make lint before each commit"
init --yes
config recall.limit 8
token create --agent tester
install claude --yes
""".strip()
# The first session is digested; what a tool of the second one said waits in the spool, as nobody has to answer it.
DIGESTED = (
    ("SessionStart", {"source": "startup"}),
    ("UserPromptSubmit", {"prompt": "No, always run the importer with --dry-run before the real one."}),
    ("SessionEnd", {"reason": "exit"}),
)
WAITING = (("PostToolUse", {"tool_name": "Bash", "tool_input": {"command": "make test"}, "tool_response": "3 passed"}),)
# Leaves a job for the worker.
LAST = (
    'outcome --success --summary "recorded the snapshots" --evaluation "make snap-record has to run before make test"'
)


def main() -> None:
    made = HOMES / sys.argv[1]
    made.mkdir(parents=True, exist_ok=True)
    for engine in ("sqlite", "postgres"):
        with tempfile.TemporaryDirectory(prefix="old") as folder:
            make(Path(folder), engine)
            rename(Path(folder), folder, HERE)
            with tarfile.open(made / f"{engine}.tar.xz", "w:xz") as packed:
                for name in ("home", "project", "user", *([DUMPED] if engine == "postgres" else [])):
                    packed.add(Path(folder) / name, name, filter=plain)


def make(folder: Path, engine: str) -> None:
    """Play the story, then leave the events of one more session in the spool."""
    for name in ("home", "project/.git", "user/.claude"):
        (folder / name).mkdir(parents=True)
    (folder / "project/.git/config").write_text('[remote "origin"]\n\turl = https://git.example/alpha.git\n')
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SWARMLORE_")}
    env = {
        **kept,
        "HOME": str(folder / "user"),
        "SWARMLORE_HOME": str(folder / "home"),
        "SWARMLORE_EMBEDDER_KIND": "none",
    }
    env |= {"SWARMLORE_ROLE": "lead", "SWARMLORE_AGENT": "lead"}
    if engine == "postgres":
        from databases import server

        server().empty()
        env["SWARMLORE_STORE_URL"] = server().url
    handles: dict[str, str] = {}
    for line in STORY.splitlines():
        words = [handles.get(word, word) for word in shlex.split(line)]
        told = run(folder, env, *words, "--json")
        if words[0] == "remember":
            memory = json.loads(told)["memory"]
            handles[memory["text"].split()[0].lower()] = memory["handle"]
    report(folder, env, "s1", DIGESTED)
    spool = folder / "home" / "spool"
    wait_until(lambda: not list(spool.glob("*.jsonl")), "the events are digested")
    wait_until(lambda: not subprocess.run(["pgrep", "-f", str(folder)], capture_output=True).stdout, "nobody works")
    run(folder, env, *shlex.split(LAST))
    report(folder, env, "s2", WAITING)
    if engine == "postgres":
        dump(folder / DUMPED)


def report(folder: Path, env: dict[str, str], session: str, events: tuple[tuple[str, dict[str, str]], ...]) -> None:
    """What Claude Code's hooks tell of a session."""
    home = str(folder / "home")
    places = ("--home", home, "--socket", f"{home}/warm.sock", "--spool", f"{home}/spool")
    for event, facts in events:
        payload = {"session_id": session, "hook_event_name": event, "cwd": str(folder / "project"), **facts}
        run(folder, env, "hook", "claude", event, *places, stdin=json.dumps(payload))


def run(folder: Path, env: dict[str, str], *words: str, stdin: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-m", "swarmlore", *words],
        cwd=folder / "project", env=env, input=stdin, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def dump(path: Path) -> None:
    """Everything in the database, as statements that any client runs."""
    from databases import server

    program = server().process.bin_path / "pg_dump"
    words = [str(program), "--schema=swarmlore", "--inserts", "--no-owner", "--dbname", server().admin_url]
    path.write_bytes(subprocess.run(words, capture_output=True, check=True).stdout)


def rename(folder: Path, old: str, new: str) -> None:
    """Write another name of the folder into all texts below it."""
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix in (".json", ".jsonl", ".toml", ".sql"):
            path.write_text(path.read_text().replace(old, new))


def plain(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Nobody's files, without sockets and locks."""
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return None if info.issym() or not (info.isfile() or info.isdir()) else info


if __name__ == "__main__":
    main()
