"""Executors: a thread for each ``Actor``, and a pool that all ``PooledActor`` share."""

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
"""Messages per turn of an actor with its own thread. It need not make way for others."""
POOL_BATCH = 16
"""Messages per turn in the pool. Bounded, so that a message waits for one round of the actors that are ready,
and not for the whole backlog of one. 16, so that changing turns is not most of the work."""

_log = structlog.get_logger("kernel")


class ThreadExecutor(Executor):
    """Runs one incarnation on a daemon thread of its own."""

    def __init__(self) -> None:
        self._wakeups: SimpleQueue[None] = SimpleQueue()

    @override
    def start(self, incarnation: Incarnation) -> None:
        name = incarnation.cell.key.path
        threading.Thread(target=self._loop, args=(incarnation,), name=name, daemon=True).start()

    @override
    def wake(self, incarnation: Incarnation) -> None:
        self._wakeups.put(None)

    def _loop(self, incarnation: Incarnation) -> None:
        while True:
            while incarnation.turn(OWN_THREAD_BATCH):
                pass
            if incarnation.is_cut_off:
                return
            self._wakeups.get()


class _Worker:
    """One thread of the pool, and the turn that it runs."""

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
        """End the threads once no incarnation is ready any more."""
        self._ready.put(None)

    @override
    def start(self, incarnation: Incarnation) -> None:
        self._ready.put(incarnation)

    @override
    def wake(self, incarnation: Incarnation) -> None:
        self._ready.put(incarnation)

    def hanging(self, limit: float) -> list[tuple[Incarnation, str]]:
        """Abandon and replace every thread whose turn has taken longer than ``limit`` seconds.

        Returns the incarnations of these turns, each with its thread's stack.
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
                # The order to end is one for all threads: each puts it back for the next.
                self._ready.put(None)
                return
            worker.began = time.monotonic()
            worker.incarnation = incarnation
            again = incarnation.turn(POOL_BATCH)
            worker.incarnation = None
            if again:
                self._ready.put(incarnation)
            # A thread that waits must not keep a dead actor in memory.
            del incarnation


def _stack_of(worker: _Worker) -> str:
    thread = worker.thread
    frame = sys._current_frames().get(thread.ident or 0) if thread else None  # noqa: SLF001
    return "".join(traceback.format_stack(frame)) if frame else ""
