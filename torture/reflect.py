"""A person reflects and approves, with a kill at every step: no proposal lost, none applied twice.

    python torture/reflect.py                 # every step
    python torture/reflect.py --stride 10     # every tenth
    python torture/reflect.py --at 17         # one of them, to look at it
    python torture/reflect.py --postgres --stride 40

A process looks back at a session, proposes, approves everything and carries it out; it kills itself before the n-th
statement to the store, before or after the n-th write of a file or call of git, for every n there is. Another process
then goes on. In the end each proposal is applied, each addition stands once in its file, each repository has one commit
more, and each thing was counted once.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from typing import Any

from swarmlore.domain.records import Caller
from swarmlore.lore import Lore

PERSON = Caller("git.example/torture", "person", "person", 3)
CALLED = (("sqlite.py", "run"), ("sqlite.py", "writing"), ("postgres.py", "run"), ("postgres.py", "writing"))
AROUND = (("folder.py", "replace"), ("committing.py", "_run"))
ENDED, KILLED = 0, -9
SESSION = "s1"
ITEMS = [
    {"route": "behavioral", "text": "Run the whole test suite before each commit", "level": "high"},
    {
        "route": "knowledge",
        "title": "Workers need the secrets mounted before they start",
        "text": "Wait for the mount in entrypoint.sh before the worker starts.",
        "category": "deployment-fixes",
        "key_insight": "Wait for the mount of the secrets before the worker starts.",
    },
    {"route": "memory", "text": "An account is what the customer calls a workspace", "section": "Testing"},
    {"route": "instinct", "text": "Always use uv here instead of pip", "category": "tooling"},
]
APPLIED = 5  # the four, and the line by which MEMORY.md is read
WANTED = {
    "applied": APPLIED,
    "commits of the project": 1,
    "commits of the learnings": 1,
    "rule": 1,
    "line": 1,
    "reference": 1,
    "instinct": 1,
    "note": 1,
    "copy": 1,
    "sidecars": 2,
    "sessions counted": 1,
    "proposed counted": APPLIED,
    "accepted counted": APPLIED,
}


def prepare(base: str) -> dict[str, str]:
    """A repository, and the environment of a user who has nothing yet."""
    folders = {name: os.path.join(base, name) for name in ("home", "project", "user")}
    for folder in folders.values():
        os.makedirs(folder)
    env = environment(folders["user"])
    _git(folders["project"], env, "init", "-q", "-b", "main")
    with open(os.path.join(folders["project"], "AGENTS.md"), "w", encoding="utf-8") as file:
        file.write("# Guide\n")
    _git(folders["project"], env, "add", "-A")
    _git(folders["project"], env, "commit", "-q", "-m", "first")
    return folders


def environment(user: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "SWARMLORE_"))}
    who = {f"GIT_{role}_{what}": "a@example.com" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    url = os.environ.get("SWARMLORE_STORE_URL", "")
    own = {"HOME": user, "SWARMLORE_EMBEDDER_KIND": "none", "SWARMLORE_STORE_URL": url, "GIT_CONFIG_NOSYSTEM": "1"}
    return {**kept, **who, **own}


def _git(folder: str, env: dict[str, str], *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, env=env, capture_output=True, text=True, check=False)
    return done.stdout


def opened(folders: dict[str, str]) -> Lore:
    env = environment(folders["user"])
    return Lore.open(folders["home"], cwd=folders["project"], caller=PERSON, env=env, clock=lambda: 1_800_000_000.0)


def go_on(folders: dict[str, str], kill_at: int) -> None:
    """Finish what was begun, reflect if that was not done, approve what is open; end by our own hand at a step."""
    seen = 0

    def step(frame: Any, event: str, _: Any) -> None:
        nonlocal seen
        place = (os.path.basename(frame.f_code.co_filename), frame.f_code.co_name)
        if not ((event == "call" and place in CALLED + AROUND) or (event == "return" and place in AROUND)):
            return
        seen += 1
        if seen == kill_at:
            os.kill(os.getpid(), 9)

    os.environ.update(environment(folders["user"]))
    with opened(folders) as lore:
        sys.setprofile(step)
        reflections = lore.reflections
        reflections.finish()
        if not lore.store.reflections(lore.caller, SESSION):
            lore.reflect(items=ITEMS, session=SESSION)
        if shown := reflections.open(low=True):
            reflections.answer("Y", shown)
        sys.setprofile(None)
    print(seen)


def run(folders: dict[str, str], kill_at: int = 0) -> tuple[int, int]:
    """One process; how it ended, and how many steps it took if it got to its end."""
    command = [sys.executable, os.path.abspath(__file__), "--child", json.dumps(folders), str(kill_at)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode in (ENDED, KILLED), done.stderr
    return done.returncode, int(done.stdout or 0)


def kept(folders: dict[str, str]) -> Counter[str]:
    """What is there now."""
    env, project = environment(folders["user"]), folders["project"]
    learnings = os.path.join(folders["user"], ".learnings")
    found: Counter[str] = Counter()
    with opened(folders) as lore:
        with lore.acting():
            found.update(item.state for item in lore.store.proposals(lore.caller))
            found["not finished"] = len(lore.store.open_approvals(lore.caller))
        metrics = lore.reflections.status()["metrics"]
    found["sessions counted"], found["proposed counted"] = metrics.sessions, metrics.proposed
    found["accepted counted"] = metrics.accepted
    found["commits of the project"] = _git(project, env, "log", "--format=%s").count("reflect: add learnings")
    found["commits of the learnings"] = _git(learnings, env, "log", "--format=%s").count("reflect: add learnings")
    found["not committed"] = len(_git(project, env, "status", "--short").splitlines())
    found["rule"] = _read(project, "AGENTS.md").count("- Run the whole test suite")
    found["reference"] = _read(project, "AGENTS.md").count("@.agents/MEMORY.md")
    found["line"] = _read(project, ".agents/MEMORY.md").count("- An account is")
    found["instinct"] = _read(project, ".agents/instincts.yaml").count("- id: ")
    names = [
        name for top in (project, learnings) for _, _, names in os.walk(top) for name in names if ".git" not in top
    ]
    notes = [name for name in names if name.startswith("workers-need")]
    found["sidecars"] = sum(name.endswith(".entities.yaml") for name in notes)
    made = _git(project, env, "ls-files", "docs/solutions").split()
    found["note"] = sum(name.endswith(".md") for name in made)
    found["copy"] = sum(name.endswith(".md") for name in _git(learnings, env, "ls-files").split())
    return +found


def _read(folder: str, path: str) -> str:
    try:
        with open(os.path.join(folder, path), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def attempt(kill_at: int) -> tuple[Counter[str], int]:
    """One run that is killed at a step, then gone on with; what is there in the end, and its steps."""
    base = tempfile.mkdtemp(prefix="reflect")
    if url := os.environ.get("SWARMLORE_STORE_URL"):
        _empty(url)
    try:
        folders = prepare(base)
        _, steps = run(folders, kill_at)
        if kill_at:
            run(folders)
        return kept(folders), steps
    finally:
        shutil.rmtree(base)


def _empty(_: str) -> None:
    from databases import server

    server().empty()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--stride", type=int, default=1, help="kill at every n-th step")
    parser.add_argument("--at", type=int, default=0, help="kill at this step only")
    parser.add_argument("--postgres", action="store_true", help="on a server instead of a file")
    args = parser.parse_args()
    if args.child:
        go_on(json.loads(args.child[0]), int(args.child[1]))
        return 0
    if args.postgres:
        sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests"))
        from databases import server

        os.environ["SWARMLORE_STORE_URL"] = server().url
    whole, steps = attempt(0)
    assert whole == WANTED, whole
    places = [args.at] if args.at else range(1, steps + 1, args.stride)
    wrong = 0
    for place in places:
        found, _ = attempt(place)
        if found != WANTED:
            wrong += 1
            print(f"step {place}: {dict(found - Counter(WANTED))} too much, {dict(Counter(WANTED) - found)} missing")
    print(f"{len(places)} kills over {steps} steps, {wrong} with a loss or a double")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
