"""A machine for the clients: a home as a user has it, one project, one memory; nothing of the real machine."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from real_clients.furniture import FILES
from real_clients.model import Model
from repositories import a_repository
from waiting import wait_until

PROGRAM = Path(sys.executable).with_name("swarmlore")
TOOL = "#!/bin/sh\nexit 0\n"  # stands for the issue tracker, which takes whatever comment it is given
CLAUDE_SOCKETS = "/cc-socks/"  # its own; one that is killed leaves it


class World:
    """`root` holds everything that the clients and the product may touch."""

    def __init__(self, root: Path, model: Model) -> None:
        self.root = root
        self.model = model
        self.program = PROGRAM
        self.home = root / "home"
        self.lore = root / "lore"
        self.project = a_repository(root / "project", "https://git.example/shop.git", commit=True)
        for folder in (self.home, root / "tmp", root / "run"):
            folder.mkdir(parents=True, mode=0o700)
        self._furnish()

    def _furnish(self) -> None:
        for name, text in FILES.items():
            place = self.home / name
            place.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
            place.write_text(text.replace("@URL@", self.model.url).replace("@PROJECT@", str(self.project)))
        # A login shell forgets the PATH that it was given, and Codex runs every command in one.
        (self.home / ".profile").write_text(f'PATH="{self.project}/bin:$PATH"\n')
        tools = self.project / "bin"
        tools.mkdir()
        (tools / "bd").write_text(TOOL)
        (tools / "bd").chmod(0o755)

    @property
    def env(self) -> dict[str, str]:
        """All that a process is told: nothing is inherited but the way to the system's programs."""
        return {
            "PATH": os.pathsep.join((str(self.project / "bin"), os.environ["PATH"])),
            "HOME": str(self.home),
            "TMPDIR": str(self.root / "tmp"),
            "XDG_RUNTIME_DIR": str(self.root / "run"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
        }

    def swarmlore(self, *words: str, agent: str = "") -> subprocess.CompletedProcess[str]:
        """The product's own command in the project, with the rights that a person has at a terminal; as an agent it
        sees what is private to that one, too."""
        done = subprocess.run(
            [self.program, *words, "--home", self.lore],
            cwd=self.project,
            env={**self.env, "SWARMLORE_ROLE": "lead", "SWARMLORE_AGENT": agent},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done

    def prints(self) -> dict[str, str]:
        """Every file of the user's home and of the project, by content and mode."""
        places = (path for top in (self.home, self.project) for path in sorted(top.rglob("*")))
        return {str(path.relative_to(self.root)): _print_of(path) for path in places if ".git" not in path.parts}

    def processes(self) -> list[str]:
        """Every process that belongs to this world: it runs in it, was told of it or was started with it."""
        return [line for line in map(self._line_of, _pids()) if line]

    def _line_of(self, pid: int) -> str:
        place = Path("/proc", str(pid))
        try:
            words = place.joinpath("cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            told = place.joinpath("environ").read_bytes().decode(errors="replace")
            inside = str(place.joinpath("cwd").readlink())
        except OSError:  # it has just ended
            return ""
        return f"{pid} {words}" if words and str(self.root) in f"{words}\n{told}\n{inside}" else ""

    def sockets(self) -> list[str]:
        """Every socket that somebody listens at in this network, and every file that was left of one; another worker
        of the tests has worlds of its own beside this one."""
        lines = Path("/proc/net/unix").read_text().splitlines()[1:]
        listening = [line.split()[7] for line in lines if line.split()[3] == "00010000" and len(line.split()) > 7]
        files = [str(path) for path in self.root.rglob("*") if stat.S_ISSOCK(path.lstat().st_mode)]
        others = f"{self.root.parent.parent}/"  # where all workers keep their worlds
        own = [path for path in listening if not path.startswith(others) or path.startswith(f"{self.root}/")]
        return sorted(path for path in {*own, *files} if CLAUDE_SOCKETS not in path)


def soon(what: Callable[[], bool]) -> bool:
    """Whether something becomes true at all."""
    return wait_until(what, "what the test asks for")


def _pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid())


def _print_of(path: Path) -> str:
    facts = path.lstat()
    if stat.S_ISLNK(facts.st_mode):
        return f"-> {path.readlink()}"
    content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
    return f"{facts.st_mode:o} {content}"
