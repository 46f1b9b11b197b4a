"""A disk whose waits take some milliseconds, where that of the machine at hand takes none worth speaking of.

`python bench/swarm.py` runs one of its comparisons in a process with `slowed`'s variables: each wait until data is on
disk (fsync, fdatasync) takes that much longer, for all programs started from there alike. Needs a C compiler.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

_SOURCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static void wait_more(void) {
    const char *text = getenv("SLOW_DISK_US");
    if (text != NULL) usleep((useconds_t) atoi(text));
}

int fsync(int file) {
    int (*real)(int) = (int (*)(int)) dlsym(RTLD_NEXT, "fsync");
    wait_more();
    return real(file);
}

int fdatasync(int file) {
    int (*real)(int) = (int (*)(int)) dlsym(RTLD_NEXT, "fdatasync");
    wait_more();
    return real(file);
}
"""


def slowed(folder: Path, milliseconds: float) -> dict[str, str] | None:
    """The variables under which programs meet such a disk; None where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    source, library = folder / "slow_disk.c", folder / "slow_disk.so"
    source.write_text(_SOURCE)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return {"LD_PRELOAD": str(library), "SLOW_DISK_US": str(round(milliseconds * 1000))}
