"""`make test-clients`: fetch the clients, then run their tests where no packet can leave the machine."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
from pathlib import Path

from real_clients.fetch import CLIENTS, Package, fetch, is_there

HERE = Path(__file__).parent
# Processes of their own as well: whatever a client leaves behind ends with the tests.
CLOSED = ("unshare", "--map-root-user", "--net", "--pid", "--fork", "--mount-proc", "--kill-child")
INSIDE = "--inside"
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


def main(words: list[str]) -> int:
    if words[:1] == [INSIDE]:
        return first_process(words[1:])
    if reason := reason_to_skip():
        print(f"The clients were not tested: {reason}.", file=sys.stderr)
        return 1 if os.environ.get("CI") == "true" else 0
    for package in CLIENTS:
        report(package)
    os.execvp(CLOSED[0], [*CLOSED, sys.executable, "-m", "real_clients", INSIDE, *words])


def reason_to_skip() -> str:
    for tool in ("npm", "node", "unshare"):
        if not shutil.which(tool):
            return f"{tool} is not on the PATH"
    tried = subprocess.run([*CLOSED, "true"], capture_output=True, text=True, check=False)
    return f"no namespace can be made here: {tried.stderr.strip()}" if tried.returncode else ""


def report(package: Package) -> None:
    new = not is_there(package)
    if new:
        fetch(package)
    how = "installed" if new else "in the cache"
    print(f"{package.client} {package.version}: {how}", flush=True)


def first_process(words: list[str]) -> int:
    """Run the tests as the first process of the namespace does: with loopback up, and burying orphans."""
    raise_loopback()
    named = [word for word in words if Path(word.partition("::")[0]).exists()]
    # By file: the first sessions of all clients, which most tests of one file stand on, are then run once.
    usual = ["-q", "-n", "2", "--dist", "loadfile"]
    tests = subprocess.Popen([sys.executable, "-m", "pytest", *(words or usual), *([] if named else [HERE])])
    while True:
        pid, status = os.wait()
        if pid == tests.pid:
            return os.waitstatus_to_exitcode(status)


def raise_loopback() -> None:
    """Bring up `lo`; the interface of a new namespace is down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack_from("16sH", fcntl.ioctl(any_socket, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
