"""How easy the code is to enter: its size and shape, and what four requests walk through.

    python bench/layout.py                       # this tree
    python bench/layout.py --src ../other/src    # another one, such as a checkout of an older commit

Paths: our own functions called, files and packages they lie in, and calls that lead into another file.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SESSION = "0190abcd-0000-7000-8000-000000000000"
TOLD = [
    {"type": "user", "message": {"role": "user", "content": "No, use pnpm here, never npm: the lock file is pnpm's."}},
    {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "Done with pnpm."}]}},
]
# Counts calls of our functions until the process ends; SIGUSR1 begins anew, SIGUSR2 writes what was counted.
COUNTER = """
import atexit, json, os, signal, sys, threading
src, out = sys.argv[1:3]
sys.path.insert(0, src)
sys.argv[1:] = sys.argv[3:]
seen = {"calls": 0, "changes": 0, "files": set()}
def count(frame, event, _):
    if event == "call" and (name := frame.f_code.co_filename).startswith(src):
        back = frame.f_back
        while back is not None and not back.f_code.co_filename.startswith(src): back = back.f_back
        seen["calls"] += 1
        seen["files"].add(name)
        seen["changes"] += back is None or back.f_code.co_filename != name
def write(*_):
    if not seen["calls"]: return
    with open(f"{out}.{os.getpid()}", "w") as file:
        json.dump({**seen, "files": sorted(os.path.relpath(name, src) for name in seen["files"])}, file)
signal.signal(signal.SIGUSR1, lambda *_: seen.update(calls=0, changes=0, files=set()))
signal.signal(signal.SIGUSR2, write)
left = os._exit
os._exit = lambda code: (sys.setprofile(None), write(), left(code))
atexit.register(write)
import swarmlore.main
threading.setprofile(count)
sys.setprofile(count)
swarmlore.main.main()
"""


def shape(src: Path) -> dict[str, object]:
    """Figures of the tree of modules."""
    paths = sorted(src.rglob("*.py"))
    names = {
        ".".join(path.relative_to(src.parent).with_suffix("").parts).removesuffix(".__init__"): path for path in paths
    }
    trees = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in names.items()}
    uses = {name: _imports(tree, set(names)) - {name} for name, tree in trees.items()}
    users = Counter(other for others in uses.values() for other in others)
    files = Counter(path.name for path in paths if path.name != "__init__.py")
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    classes = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef) and not node.name.startswith("_"))
    lengths = sorted(_lines(node) for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return {
        "lines": sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths),
        "modules": len(paths),
        "entries at the top": len(
            [path for path in src.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
        ),
        "modules with one user": sum(count == 1 for count in users.values()),
        "file names used more than once": sum(count > 1 for count in files.values()),
        "class names used more than once": sum(count > 1 for count in classes.values()),
        "largest module": max(len(path.read_text(encoding="utf-8").splitlines()) for path in paths),
        "function median / p90 / max": [lengths[len(lengths) // 2], lengths[int(len(lengths) * 0.9)], lengths[-1]],
        "import levels": _levels(uses),
    }


def _dotted(path: Path, src: Path) -> str:
    return ".".join(path.relative_to(src.parent).with_suffix("").parts).removesuffix(".__init__")


def _imports(tree: ast.Module, names: set[str]) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("swarmlore"):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in names else str(node.module))
    return found & names


def _lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _levels(uses: dict[str, set[str]]) -> int:
    """The longest chain of imports between entries at the top, cycles counted once."""
    top: dict[str, set[str]] = {}
    for name, others in uses.items():
        own = ".".join(name.split(".")[:2])
        top.setdefault(own, set()).update({".".join(other.split(".")[:2]) for other in others} - {own})
    height: dict[str, int] = {}

    def rise(name: str, above: frozenset[str]) -> int:
        if name not in height:
            below = [rise(other, above | {name}) for other in top.get(name, ()) if other not in above]
            if above:
                return 1 + max(below, default=0)
            height[name] = 1 + max(below, default=0)
        return height[name]

    order = sorted(top, key=lambda name: len(top[name]))
    return max(rise(name, frozenset()) for name in order)


class Walks:
    """Four requests, each in processes of their own."""

    def __init__(self, src: Path, folder: Path) -> None:
        self._src, self._folder, self._number = str(src.parent), folder, 0
        self._env = {
            **os.environ,
            "HOME": str(folder),
            "SWARMLORE_HOME": str(folder / "home"),
            "SWARMLORE_EMBEDDER_KIND": "none",
        }

    def _words(self, out: str, *words: str) -> list[str]:
        return [sys.executable, "-c", COUNTER, self._src, str(self._folder / out), *words]

    def _told(self, out: str) -> dict[str, object]:
        counted = [json.loads(path.read_text()) for path in self._folder.glob(f"{out}.*")]
        files = {name for one in counted for name in one["files"]}
        return {
            "calls": sum(one["calls"] for one in counted),
            "files": len(files),
            "packages": len({name.split("/")[1] for name in files}),
            "changes of file": sum(one["changes"] for one in counted),
        }

    def run(self, out: str, *words: str, given: object = None) -> None:
        text = None if given is None else json.dumps(given)
        subprocess.run(
            self._words(out, *words),
            input=text,
            text=True,
            env=self._env,
            cwd=self._folder,
            check=True,
            capture_output=True,
        )

    def remember(self) -> dict[str, object]:
        self.run("remember", "remember", "Snapshots are recorded with make snap-record, never by hand")
        return self._told("remember")

    def prompt(self) -> dict[str, object]:
        given = {
            "session_id": SESSION,
            "hook_event_name": "UserPromptSubmit",
            "prompt": "how are snapshots updated?",
            "cwd": str(self._folder),
        }
        self.run("prompt", "hook", "claude", "UserPromptSubmit", given=given)
        return self._told("prompt")

    def session_end(self) -> dict[str, object]:
        path = self._folder / f"{SESSION}.jsonl"
        path.write_text(
            "".join(json.dumps({**line, "sessionId": SESSION, "cwd": str(self._folder)}) + "\n" for line in TOLD)
        )
        given = {
            "session_id": SESSION,
            "hook_event_name": "SessionEnd",
            "transcript_path": str(path),
            "cwd": str(self._folder),
            "reason": "exit",
        }
        self.run("end", "hook", "claude", "SessionEnd", given=given)
        self.run("end", "worker", "--until-empty")
        return self._told("end")

    def recall(self) -> dict[str, object]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from swarmlore.main import main; sys.exit(main())"
        words = [sys.executable, "-c", code, self._src, "token", "create", "--agent", "bench", "--json"]
        terminal, theirs = os.openpty()  # tokens are made by a person
        token = subprocess.run(
            words, stdin=theirs, env=self._env, cwd=self._folder, capture_output=True, text=True, check=True
        )
        os.close(terminal)
        os.close(theirs)
        secret = json.loads(token.stdout)["token"]
        server = subprocess.Popen(
            self._words("recall", "serve", "--port", str(port), "--no-worker"),
            env=self._env,
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            for number in range(3):  # the last one is counted: everything is loaded
                self._ask(port, secret)
                if number == 1:
                    server.send_signal(signal.SIGUSR1)
                    time.sleep(1)
            server.send_signal(signal.SIGUSR2)
            time.sleep(1)
        finally:
            server.kill()
        return self._told("recall")

    def _ask(self, port: int, secret: str) -> None:
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/v1/recall",
            json.dumps({"query": "how are snapshots updated?"}).encode(),
            {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"},
        )
        for _ in range(100):
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    answer.read()
                return
            except OSError:
                time.sleep(0.2)
        raise SystemExit("the server does not answer")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--src", default=str(ROOT / "src"), help="the folder that holds the package")
    src = Path(parser.parse_args().src).absolute() / "swarmlore"
    for name, value in shape(src).items():
        print(f"{name:<32} {value}")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "home").mkdir()
        walks = Walks(src, Path(folder))
        for title, walk in (
            ("swarmlore remember", walks.remember),
            ("prompt hook, no daemon", walks.prompt),
            ("end of a session", walks.session_end),
            ("POST /v1/recall, the server", walks.recall),
        ):
            print(f"{title:<32} " + ", ".join(f"{count} {what}" for what, count in walk().items()))


if __name__ == "__main__":
    main()
