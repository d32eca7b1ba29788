"""Runtimes: an actor system runs on real threads, or in steps that a test takes one by one."""

from __future__ import annotations

import random
from typing import Protocol

from typing_extensions import override

from kernel.clock import Clock, SystemClock
from kernel.control import Control
from kernel.executors import PoolExecutor, ThreadExecutor
from kernel.incarnation import Executor, Incarnation
from messages.units import Seconds

POOL_THREADS = 2
"""Threads of the pool. One is fastest under the interpreter lock, but one blocked handler would stop all."""
MOST_STEPS = 1_000_000
"""Steps within which everything settles, unless actors keep each other busy for ever: some 20 s of CPU."""


class Runtime(Protocol):
    """Gives an actor system its threads."""

    def control(self, clock: Clock | None) -> Control:
        """Return what runs the supervisors and timers of one system, by ``clock`` or that of the machine."""
        ...

    def open(self, control: Control) -> None:
        """Start the threads, and that of ``control``."""
        ...

    def close(self, control: Control) -> None:
        """End the threads, and that of ``control``. Does not wait for them."""
        ...

    def executor(self, *, pooled: bool) -> Executor:
        """Return the executor for one incarnation of a pooled or of another actor."""
        ...

    def hanging(self, limit: Seconds) -> list[tuple[Incarnation, str]]:
        """Abandon the pool threads whose turn has taken longer than ``limit`` seconds.

        Returns the incarnations of these turns, each with its thread's stack.
        """
        ...

    def work_off(self) -> None:
        """Run all that can run now, if there are no threads for that.

        Called before the calling thread waits for an answer.
        """
        ...


class Threads(Runtime):
    """Real threads: a control thread, a pool, and one for each ``Actor``.

    All of them are daemon threads, so that a stuck one never keeps the interpreter from exiting.
    """

    def __init__(self, pool_threads: int = POOL_THREADS) -> None:
        self._pool = PoolExecutor(pool_threads)

    @override
    def control(self, clock: Clock | None) -> Control:
        return Control(clock or SystemClock())

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
        """Do nothing: the threads run everything."""


class SharedThreads(Threads):
    """The same for several systems of one process: one control thread, and one pool.

    A system that ends leaves both alone: who made them ends them, when the last system is down.
    """

    def __init__(self, clock: Clock | None = None, pool_threads: int = POOL_THREADS) -> None:
        super().__init__(pool_threads)
        self._control = super().control(clock)

    def start(self) -> None:
        """Start the threads. Call it before a system starts."""
        super().open(self._control)

    def end(self) -> None:
        """End the threads. Does not wait for them."""
        super().close(self._control)

    @override
    def control(self, clock: Clock | None) -> Control:
        """Return the control of all. Raises ValueError for a clock: it has one."""
        if clock is not None:
            raise ValueError("systems that share threads share their clock")
        return self._control

    @override
    def open(self, control: Control) -> None:
        """Do nothing: the threads run."""

    @override
    def close(self, control: Control) -> None:
        """Do nothing: others go on."""


class Steps(Runtime, Executor):
    """No threads: each ``step`` runs one message of one actor, or one event of the control thread.

    A seeded random generator chooses which one. So a schedule can be replayed from its seed, and many
    schedules can be tried. Both actor types run alike. What does not settle within ``limit`` steps fails, so
    that this takes as many steps on a slow machine as on a fast one.
    """

    def __init__(self, seed: int = 0, limit: int = MOST_STEPS) -> None:
        self._random = random.Random(seed)  # noqa: S311  # schedules, not secrets
        self._limit = limit
        self._ready: list[Incarnation] = []
        self._control: Control | None = None

    @override
    def control(self, clock: Clock | None) -> Control:
        return Control(clock or SystemClock())

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
        """Run one message or event that can run now. Return False if there was none."""
        assert self._control is not None, "the system was not started"  # noqa: S101
        choices = len(self._ready) + (1 if self._control.has_work else 0)
        if choices == 0:
            return False
        chosen = self._random.randrange(choices) if choices > 1 else 0
        if chosen == len(self._ready):
            return self._control.step()
        incarnation = self._ready.pop(chosen)
        if incarnation.turn(1):
            self._ready.append(incarnation)
        return True

    @override
    def work_off(self) -> None:
        """Run steps until nothing can run before time passes. Raise RuntimeError if that never comes."""
        for _ in range(self._limit + 1):
            if not self.step():
                return
        busy = sorted({each.cell.key.path for each in self._ready}) or ["the control thread"]
        raise RuntimeError(f"does not settle after {self._limit} steps: {', '.join(busy)}")
