"""Whether something that runs on this machine uses a folder."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")


def users_of(folder: Path, proc: Path = PROC) -> list[int]:
    """Return the processes whose command line has a path below ``folder``, but for this one."""
    start = os.fsencode(folder) + b"/"
    found = []
    for process in proc.glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            words = process.joinpath("cmdline").read_bytes().split(b"\0")
            if any(word.startswith(start) for word in words) and int(process.name) != os.getpid():
                found.append(int(process.name))
    return sorted(found)
