"""Threads for work that may block, beside the actors."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")


class WorkThreads:
    """Does work that may block, a few pieces at a time, in the order in which they were begun.

    It belongs to the process, and outlives the lives of the actor that uses it. One thread at a time begins
    work. Its own threads are begun as they are needed, used again, and daemons: work that hangs for good
    keeps no process from ending.
    """

    def __init__(self, name: str, most: int) -> None:
        """``name`` is the threads'. There are ``most`` of them at the most, but for ``add_one``."""
        self._name = name
        self._most = most
        self._begun = 0
        self._idle = threading.Semaphore(0)
        """Counts the threads that wait for work."""
        self._pieces: SimpleQueue[_Piece[Any] | None] = SimpleQueue()

    def start(self, work: Callable[[], T], done: Callable[[T], None]) -> None:
        """Do ``work`` on a thread as soon as one is free, and then tell ``done`` on it what it returned.

        Neither raises. What is begun by whoever ``done`` tells may have the same thread.
        """
        self._pieces.put(_Piece(work, done))
        if not self._idle.acquire(blocking=False):
            self._begin()

    def add_one(self) -> None:
        """Have one thread more: another one hangs."""
        self._most += 1
        self._begin()

    def close(self) -> None:
        """End each thread once it has nothing more to do. Nothing may be begun any more."""
        for _ in range(self._begun):
            self._pieces.put(None)

    def _begin(self) -> None:
        if self._begun < self._most:
            self._begun += 1
            threading.Thread(target=self._work, name=self._name, daemon=True).start()

    def _work(self) -> None:
        while (piece := self._pieces.get()) is not None:
            result = piece.work()
            self._idle.release()
            piece.done(result)
            # A thread that waits keeps nothing in memory.
            del piece, result


class _Piece(NamedTuple, Generic[T]):
    """Somebody wants this done."""

    work: Callable[[], T]
    done: Callable[[T], None]
