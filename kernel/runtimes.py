"""Which executors a system runs on: real threads, or steps that a test takes one by one."""

from __future__ import annotations

import random
from typing import Protocol

from typing_extensions import override

from kernel.control import Control
from kernel.executors import PoolExecutor, ThreadExecutor
from kernel.incarnation import Executor, Incarnation
from messages.units import Seconds

POOL_THREADS = 2
"""One is fastest under the interpreter lock, but then one blocked handler stops everybody."""


class Runtime(Protocol):
    """Whose threads a system uses."""

    def open(self, control: Control) -> None:
        """Begin to run."""
        ...

    def close(self, control: Control) -> None:
        """End every thread that is not stuck."""
        ...

    def executor(self, *, pooled: bool) -> Executor:
        """Return the executor for one incarnation."""
        ...

    def hanging(self, limit: Seconds) -> list[tuple[Incarnation, str]]:
        """Give up pool threads stuck for longer than ``limit``; return where, with their stacks."""
        ...

    def work_off(self) -> None:
        """Before somebody waits for an answer: run what waits, if nobody else does."""
        ...


class Threads(Runtime):
    """A control thread, a pool, and a thread for each ``Actor``.

    All of them are daemons, so that a stuck one never keeps the interpreter from exiting.
    """

    def __init__(self, pool_threads: int = POOL_THREADS) -> None:
        self._pool = PoolExecutor(pool_threads)

    @override
    def open(self, control: Control) -> None:
        self._pool.open()
        control.open()

    @override
    def close(self, control: Control) -> None:
        self._pool.close()
        control.close()

    @override
    def executor(self, *, pooled: bool) -> Executor:
        return self._pool if pooled else ThreadExecutor()

    @override
    def hanging(self, limit: Seconds) -> list[tuple[Incarnation, str]]:
        return self._pool.hanging(limit)

    @override
    def work_off(self) -> None:
        """Do nothing: the threads do it."""


class Steps(Runtime, Executor):
    """No threads at all: each ``step`` runs one message of one actor, or one event of the control.

    Which one is drawn from a seeded generator, so that a schedule can be replayed from its seed and
    many schedules can be tried. Both actor types run alike.
    """

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)  # noqa: S311  # schedules, not secrets
        self._ready: list[Incarnation] = []
        self._control: Control | None = None

    @override
    def open(self, control: Control) -> None:
        self._control = control

    @override
    def close(self, control: Control) -> None:
        control.close()

    @override
    def executor(self, *, pooled: bool) -> Executor:
        return self

    @override
    def hanging(self, limit: Seconds) -> list[tuple[Incarnation, str]]:
        return []

    @override
    def start(self, incarnation: Incarnation) -> None:
        self._ready.append(incarnation)

    @override
    def wake(self, incarnation: Incarnation) -> None:
        self._ready.append(incarnation)

    def step(self) -> bool:
        """Run one thing that can run now; return False if there was none."""
        assert self._control is not None, "the system was not started"  # noqa: S101
        choices = len(self._ready) + (1 if self._control.has_work else 0)
        if choices == 0:
            return False
        chosen = self._random.randrange(choices)
        if chosen == len(self._ready):
            return self._control.step()
        incarnation = self._ready.pop(chosen)
        if incarnation.turn(1):
            self._ready.append(incarnation)
        return True

    @override
    def work_off(self) -> None:
        """Run until nothing can run without time passing."""
        while self.step():
            pass
