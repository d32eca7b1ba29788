"""Signals, and everything else that the main thread waits for, on one wake-up descriptor.

A signal handler that does more than that has deadlocked the agent: it runs in between any two
instructions of the main thread, also while that holds a lock. So the handlers do nothing, and the
interpreter writes the number of each signal to a socket that ``wait`` reads.
"""

from __future__ import annotations

import select
import signal
import socket
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Self

from actors.messages.units import Seconds

HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1)


class Signals:
    """Collects signals while its ``with`` block runs. For the main thread only."""

    def __init__(self) -> None:
        self._reader, self._writer = socket.socketpair()
        self._reader.settimeout(0.0)
        self._writer.settimeout(0.0)
        self._before: dict[signal.Signals, object] = {}
        self._waiting: list[int] = []

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, _ignore) for number in HANDLED}
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        signal.set_wakeup_fd(-1)
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal() returned
        self._reader.close()
        self._writer.close()

    def nudge(self) -> None:
        """Have ``wait`` return. Callable from any thread, also when it is too late."""
        with suppress(OSError):
            self._writer.send(b"\0")

    def wait(self, at_most: Seconds | None) -> int | None:
        """Return the next signal; 0 for a nudge, None if neither came within ``at_most``."""
        if not self._waiting:
            readable, _, _ = select.select([self._reader], [], [], at_most)
            if readable:
                self._waiting += self._reader.recv(4096)
        return self._waiting.pop(0) if self._waiting else None


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Leave it to the wake-up descriptor."""
