"""Signals, and everything else that the main thread waits for, on one wake-up descriptor.

The signal handlers do nothing. The interpreter writes the number of each signal to a socket, and ``wait``
reads it. A handler that did more has deadlocked the agent: it runs between any two instructions of the
main thread, also while that holds a lock.
"""

from __future__ import annotations

import select
import signal
import socket
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Final, Self

from messages.units import Seconds

HANDLED: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1)
WAKE_UP: Final = 0
_EXPECTED: Final = frozenset({WAKE_UP, *HANDLED})


class Signals:
    """Collects signals while its ``with`` block runs. For the main thread only.

    Afterwards signals are ignored: the exit code is known by then, and a second Ctrl-C must not end the
    process with a traceback instead.
    """

    def __init__(self) -> None:
        self._reader, self._writer = socket.socketpair()
        self._reader.settimeout(0.0)
        self._writer.settimeout(0.0)
        self._waiting: list[int] = []
        self._descriptor_before = -1

    def __enter__(self) -> Self:
        # The descriptor first: a signal that comes in between reaches the old handler or the new one.
        self._descriptor_before = signal.set_wakeup_fd(
            self._writer.fileno(), warn_on_full_buffer=False
        )
        for number in HANDLED:
            signal.signal(number, _leave_it)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number in HANDLED:
            signal.signal(number, signal.SIG_IGN)
        signal.set_wakeup_fd(self._descriptor_before)
        self._reader.close()
        self._writer.close()

    def wake_up(self) -> None:
        """Make ``wait`` return. Callable from any thread. Does nothing after the ``with`` block."""
        with suppress(OSError):
            self._writer.send(bytes([WAKE_UP]))

    def wait(self, at_most: Seconds | None) -> int | None:
        """Return the number of the next signal, or ``WAKE_UP`` after ``wake_up``.

        Returns None if neither came within ``at_most`` seconds; waits for ever if that is None.
        """
        if not self._waiting:
            readable, _, _ = select.select([self._reader], [], [], at_most)
            if readable:
                # The numbers of signals that other code handles are written there, too.
                self._waiting += (n for n in self._reader.recv(4096) if n in _EXPECTED)
        return self._waiting.pop(0) if self._waiting else None


def _leave_it(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: the wake-up descriptor has the signal."""
