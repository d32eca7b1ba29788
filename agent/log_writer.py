"""Writes the lines of the log on a thread of its own, so that no actor ever waits for the log's reader.

Otherwise a pipe whose reader is stuck would stop every actor at its next log line, and a pipe whose reader
is gone would make every actor fail. Here the first costs lines, which are counted, and the second nothing.
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
"""Most lines that wait for a slow reader, about 2 MB. Further lines are dropped."""

AT_ONCE: Final = 256
"""Most lines of one write: about 50 kB, and a pipe holds 64 kB."""

_FLUSHED_WITHIN: Final = Seconds(1.0)
"""How long ``close`` waits for the reader. systemd and terminals take milliseconds."""


class LogWriter:
    """Writes to a file descriptor, from construction until ``close``.

    After lines were dropped, ``lost`` is called with their number once there is room again. That happens
    on the writer's thread.
    """

    def __init__(self, descriptor: int, lost: Callable[[int], None]) -> None:
        self._descriptor = descriptor
        self._lost = lost
        self._dropped = 0
        # A SimpleQueue alone allows a put in the middle of another put on the same thread: finalizers may
        # log at any moment.
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def write(self, line: str) -> None:
        """Queue ``line`` for writing. Never blocks and never raises; drops it when too many lines wait."""
        if self._lines.qsize() >= MOST_WAITING:
            self._dropped += 1
        else:
            self._lines.put(f"{line}\n".encode(errors="backslashreplace"))

    def close(self, within: Seconds = _FLUSHED_WITHIN) -> None:
        """Return when all lines are written, or after ``within`` seconds."""
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
        """Wait for lines; return up to ``AT_ONCE`` of them, and whether they are the last.

        They are written at once, because a write for each of ten thousand lines passes the interpreter
        lock back and forth as often, which takes seconds on a busy machine.
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
                # Another process that shares this terminal or pipe has made it non-blocking.
                select.select([], [self._descriptor], [])
            except OSError:
                return  # nobody reads it any more
