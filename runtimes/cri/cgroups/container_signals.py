"""Sending a signal to a process only if it belongs to a container. Blocks for some 20 us."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable
from enum import Enum, auto
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")


class SignalOutcome(Enum):
    """What became of a signal."""

    SENT = auto()
    GONE = auto()
    """The process has ended. Another one may have its number."""
    OF_ANOTHER = auto()
    """The process with that number is none of the container's."""


def signal_container(
    pid: int,
    container_id: str,
    number: signal.Signals,
    cgroups_of: Callable[[int], str] | None = None,
) -> SignalOutcome:
    """Send a signal to a process of a container. Raises ``OSError``: ``PermissionError``, say.

    The process is held first, and looked at after that: a number that has a new owner since is seen by the
    cgroup, and one that gets a new owner later is not what is held.
    """
    if pid <= 0 or not container_id:
        return SignalOutcome.OF_ANOTHER
    try:
        held = os.pidfd_open(pid)
    except ProcessLookupError:
        return SignalOutcome.GONE
    try:
        text = (cgroups_of or cgroups_of_process)(pid)
        # One that has ended and was not waited for takes signals without an error.
        if _has_ended(held):
            return SignalOutcome.GONE
        if not is_in_container(text, container_id):
            return SignalOutcome.OF_ANOTHER
        signal.pidfd_send_signal(held, number)
    except ProcessLookupError:
        return SignalOutcome.GONE
    finally:
        os.close(held)
    return SignalOutcome.SENT


def is_in_container(cgroups: str, container_id: str) -> bool:
    """Whether one of the cgroups is the container's, or one that the container made below its own."""
    return any(
        part == container_id or part.endswith(f"-{container_id}.scope")
        for line in cgroups.splitlines()
        for part in line.split(":", 2)[-1].split("/")
    )


def cgroups_of_process(pid: int) -> str:
    """Return what the kernel says of a process. Raises ``ProcessLookupError`` if it is gone."""
    try:
        return _PROC.joinpath(str(pid), "cgroup").read_text(errors="replace")
    except FileNotFoundError:
        raise ProcessLookupError(pid) from None


def _has_ended(held: int) -> bool:
    poll = select.poll()
    poll.register(held, select.POLLIN)
    return bool(poll.poll(0))
