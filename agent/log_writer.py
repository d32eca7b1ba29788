"""Writes the log's lines on a thread of its own, so that nobody who logs ever waits for a reader.

A pipe whose reader is stuck would stop every actor at its next log line; one whose reader is gone would
make each of them fail. Here the first costs lines, which are counted, and the second costs nothing.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

from messages.units import Seconds

MOST_WAITING: Final = 10_000
"""Lines that wait for a slow reader, about 2 MB; what is logged beyond that is dropped."""

AT_ONCE: Final = 256
"""Lines of one write: about 50 kB, and what a pipe holds is 64 kB."""

_FLUSHED_WITHIN: Final = Seconds(1.0)
"""How long ``close`` waits for a reader. systemd and terminals take milliseconds."""


class LogWriter:
    """Writes to a file descriptor, from construction until ``close``.

    ``lost`` is called on its thread with a number of lines that were dropped, once there is room again.
    """

    def __init__(self, descriptor: int, lost: Callable[[int], None]) -> None:
        self._descriptor = descriptor
        self._lost = lost
        self._dropped = 0
        # No other queue may be put to while the same thread is in the middle of putting: finalizers
        # log whenever they like.
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def write(self, line: str) -> None:
        """Have ``line`` written. Never blocks and never raises; drops it when too many wait."""
        if self._lines.qsize() >= MOST_WAITING:
            self._dropped += 1
        else:
            self._lines.put(f"{line}\n".encode(errors="backslashreplace"))

    def close(self, within: Seconds = _FLUSHED_WITHIN) -> None:
        """Return once everything is written, or after ``within`` if nobody reads."""
        self._lines.put(None)
        self._thread.join(within)

    def _run(self) -> None:
        ended = False
        while not ended:
            lines, ended = self._waiting()
            self._write_out(b"".join(lines))
            if self._dropped and self._lines.empty():
                dropped, self._dropped = self._dropped, 0
                self._lost(dropped)

    def _waiting(self) -> tuple[list[bytes], bool]:
        """Return the lines that wait, at least one, and whether they are the last.

        Many at once: a write for each of ten thousand lines hands the interpreter lock to and fro as
        often, which takes seconds on a busy machine.
        """
        lines: list[bytes] = []
        line = self._lines.get()
        while line is not None:
            lines.append(line)
            if len(lines) == AT_ONCE or self._lines.empty():
                return lines, False
            line = self._lines.get()
        return lines, True

    def _write_out(self, lines: bytes) -> None:
        left = memoryview(lines)
        while left:
            try:
                left = left[os.write(self._descriptor, left) :]
            except BlockingIOError:
                # Whoever else has this terminal or pipe made it non-blocking.
                select.select([], [self._descriptor], [])
            except OSError:
                return  # nobody reads it any more
