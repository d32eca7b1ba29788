"""Looks for a kubelet beside this agent, which would stop the agent's pods as the agent stops the kubelet's.

No file tells for certain that a kubelet runs: it locks none unless it is told to, its ports are anybody's,
and what is below its directory stays when it ends. So its process is looked for. That is a reason for a
warning and no more: it may use another container runtime.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import structlog

PROGRAMS: Final = frozenset({b"kubelet", b"kubelite"})
"""Names of processes. ``kubelite`` has a kubelet in it, among others."""
_PROC: Final = Path("/proc")

_log = structlog.get_logger("actorlet")


def warn_of_kubelets(proc: Path = _PROC) -> None:
    """Log a warning for each kubelet that runs on this machine."""
    for process in kubelets(proc):
        _log.warning(
            "a kubelet runs: if it uses the same container runtime, "
            "each of the two stops the pods of the other",
            process=process,
        )


def kubelets(proc: Path = _PROC) -> Sequence[int]:
    """Return the processes that are kubelets and see the same files as this one. The others are elsewhere.

    A kubelet in a container, such as one of a cluster in containers, has a runtime of its own there.
    """
    ours = _files(proc / "self")
    found = [each for each in proc.iterdir() if each.name.isdigit() and _is_one(each)]
    return sorted(int(each.name) for each in found if _files(each) in {ours, None})


def _is_one(process: Path) -> bool:
    try:
        return (process / "comm").read_bytes().strip() in PROGRAMS
    except OSError:  # it has just ended
        return False


def _files(process: Path) -> str | None:
    """Return the namespace of mounts of a process; None if it may not be seen."""
    with suppress(OSError):
        return (process / "ns" / "mnt").readlink().name
    return None
