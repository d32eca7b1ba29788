"""Whose thread runs a turn: one for each ``Actor``, a shared pool for every ``PooledActor``."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from queue import SimpleQueue

import structlog
from typing_extensions import override

from kernel.incarnation import Executor, Incarnation

OWN_THREAD_BATCH = 1_000_000
"""An actor with its own thread need not yield to anybody."""
POOL_BATCH = 16
"""Messages per turn in the pool. A bound, so that a message waits for one round of those who are ready,
and not for somebody's whole backlog; 16, so that changing turns is not most of the work."""

_log = structlog.get_logger("kernel")


class ThreadExecutor(Executor):
    """Runs one incarnation on a daemon thread of its own."""

    def __init__(self) -> None:
        self._bell: SimpleQueue[None] = SimpleQueue()

    @override
    def start(self, incarnation: Incarnation) -> None:
        name = incarnation.cell.key.path
        threading.Thread(target=self._loop, args=(incarnation,), name=name, daemon=True).start()

    @override
    def wake(self, incarnation: Incarnation) -> None:
        self._bell.put(None)

    def _loop(self, incarnation: Incarnation) -> None:
        while True:
            while incarnation.turn(OWN_THREAD_BATCH):
                pass
            if incarnation.fenced:
                return
            self._bell.get()


class _Worker:
    """One thread of the pool, and what it is at."""

    __slots__ = ("abandoned", "began", "incarnation", "thread")

    def __init__(self) -> None:
        self.incarnation: Incarnation | None = None
        self.began = 0.0
        self.abandoned = False
        self.thread: threading.Thread | None = None


class PoolExecutor(Executor):
    """Runs incarnations in turns on a few shared threads, a bounded batch per turn."""

    def __init__(self, threads: int = 2) -> None:
        self._ready: SimpleQueue[Incarnation | None] = SimpleQueue()
        self._threads = threads
        self._workers: list[_Worker] = []

    def open(self) -> None:
        """Start the threads."""
        for _ in range(self._threads):
            self._add_worker()

    def close(self) -> None:
        """Let the threads end once nothing is ready any more."""
        self._ready.put(None)

    @override
    def start(self, incarnation: Incarnation) -> None:
        self._ready.put(incarnation)

    @override
    def wake(self, incarnation: Incarnation) -> None:
        self._ready.put(incarnation)

    def hanging(self, limit: float) -> list[tuple[Incarnation, str]]:
        """Give up every thread whose turn takes longer than ``limit`` seconds, and replace it.

        Returns the incarnations they hang in, each with its thread's stack.
        """
        # A worker writes ``incarnation`` after ``began``: a stale pair can only look younger.
        now = time.monotonic()
        found = []
        for worker in tuple(self._workers):
            incarnation = worker.incarnation
            if incarnation is None or now - worker.began <= limit:
                continue
            worker.abandoned = True
            self._workers.remove(worker)
            found.append((incarnation, _stack_of(worker)))
            try:
                self._add_worker()
            except RuntimeError:
                _log.exception("no thread can be had to replace one that hangs")
        return found

    def _add_worker(self) -> None:
        worker = _Worker()
        worker.thread = threading.Thread(
            target=self._loop, args=(worker,), name=f"pool-{len(self._workers)}", daemon=True
        )
        worker.thread.start()
        self._workers.append(worker)

    def _loop(self, worker: _Worker) -> None:
        while not worker.abandoned:
            incarnation = self._ready.get()
            if incarnation is None:
                # One word for all: each passes it on, however many there are.
                self._ready.put(None)
                return
            worker.began = time.monotonic()
            worker.incarnation = incarnation
            again = incarnation.turn(POOL_BATCH)
            worker.incarnation = None
            if again:
                self._ready.put(incarnation)
            # While this thread waits for the next one it must not keep a dead one in memory.
            del incarnation


def _stack_of(worker: _Worker) -> str:
    thread = worker.thread
    frame = sys._current_frames().get(thread.ident or 0) if thread else None  # noqa: SLF001
    return "".join(traceback.format_stack(frame)) if frame else ""
