"""Runtimes: an actor system runs on real threads, or in steps that a test takes one by one."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol, TypeAlias

from typing_extensions import override

from kernel.clock import Clock, SystemClock
from kernel.control import Control
from kernel.executors import PoolExecutor, ThreadExecutor
from kernel.incarnation import Executor, Incarnation
from messages.units import Seconds

POOL_THREADS = 2
"""Threads of the pool. One is fastest under the interpreter lock, but one blocked handler would stop all."""
HANG_LIMIT: Final = Seconds(10.0)
"""A pooled turn that takes longer counts as a crash. A pooled handler computes for milliseconds and never
blocks. Ten seconds is three orders of magnitude more, on a loaded machine, too."""
MOST_HANGS_OF_ALL: Final = 63
"""Most pool threads that several systems together may lose to hanging handlers. They never come back."""
MOST_STEPS = 1_000_000
"""Steps within which everything settles, unless actors keep each other busy for ever: some 20 s of CPU."""


FailSystem: TypeAlias = Callable[[str], None]
"""Makes the root of a system fail, for this reason. On the control thread."""


class Runtime(Protocol):
    """Gives an actor system its threads."""

    def control(self, clock: Clock | None) -> Control:
        """Return what runs the supervisors and timers of one system, by ``clock`` or that of the machine."""
        ...

    def open(self, control: Control, fail: FailSystem) -> None:
        """Start the threads, and that of ``control``, for a system that ``fail`` makes fail."""
        ...

    def close(self, control: Control, fail: FailSystem) -> None:
        """End the threads, and that of ``control``. Does not wait for them."""
        ...

    def executor(self, *, pooled: bool) -> Executor:
        """Return the executor for one incarnation of a pooled or of another actor."""
        ...

    def work_off(self) -> None:
        """Run all that can run now, if there are no threads for that.

        Called before the calling thread waits for an answer.
        """
        ...


class Threads(Runtime):
    """Real threads: a control thread, a pool, and one for each ``Actor``.

    All of them are daemon threads, so that a stuck one never keeps the interpreter from exiting. A turn in
    the pool that takes longer than ``hang_limit`` is given up, and its thread replaced.
    """

    def __init__(self, pool_threads: int = POOL_THREADS, hang_limit: Seconds = HANG_LIMIT) -> None:
        self._pool = PoolExecutor(pool_threads)
        self._hang_limit = hang_limit

    @override
    def control(self, clock: Clock | None) -> Control:
        return Control(clock or SystemClock())

    @override
    def open(self, control: Control, fail: FailSystem) -> None:
        self._open(control)

    @override
    def close(self, control: Control, fail: FailSystem) -> None:
        self._close(control)

    @override
    def executor(self, *, pooled: bool) -> Executor:
        return self._pool if pooled else ThreadExecutor()

    @override
    def work_off(self) -> None:
        """Do nothing: the threads run everything."""

    def _open(self, control: Control) -> None:
        self._pool.open()
        control.open()
        control.post(partial(self._look_for_hangs, control))

    def _close(self, control: Control) -> None:
        self._pool.close()
        control.close()

    def _look_for_hangs(self, control: Control) -> None:
        """Give up turns that hang, now and again and again. Each is a crash in its own system."""
        again = Seconds(self._hang_limit / 4)
        control.set_timer(again, partial(self._look_for_hangs, control))
        for life, stack in self._pool.hanging(self._hang_limit):
            life.monitor.hang(life, stack, self._hang_limit)
            self._note_hang()

    def _note_hang(self) -> None:
        """Count a thread that is lost. The one system that these threads are for counts by itself."""


class SharedThreads(Threads):
    """The same for several systems of one process: one control thread, one pool, and one look for hangs.

    A system that ends leaves them alone: who made them ends them, when the last system is down. A system
    that loses too many threads fails alone. When all have lost ``MOST_HANGS_OF_ALL``, the next one makes all
    fail: the process is better started again.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        pool_threads: int = POOL_THREADS,
        hang_limit: Seconds = HANG_LIMIT,
    ) -> None:
        super().__init__(pool_threads, hang_limit)
        self._control = super().control(clock)
        self._hangs = 0
        self._systems: dict[FailSystem, None] = {}
        """Those that were started and are not down."""

    def start(self) -> None:
        """Start the threads. Call it before a system starts."""
        self._open(self._control)

    def end(self) -> None:
        """End the threads. Does not wait for them."""
        self._close(self._control)

    @override
    def control(self, clock: Clock | None) -> Control:
        """Return the control of all. Raises ValueError for a clock: it has one."""
        if clock is not None:
            raise ValueError("systems that share threads share their clock")
        return self._control

    @override
    def open(self, control: Control, fail: FailSystem) -> None:
        """Take the system in: the threads run."""
        self._systems[fail] = None

    @override
    def close(self, control: Control, fail: FailSystem) -> None:
        """Let the system go: the threads are for the others."""
        self._systems.pop(fail, None)

    @override
    def _note_hang(self) -> None:
        self._hangs += 1
        if self._hangs > MOST_HANGS_OF_ALL:
            for fail in tuple(self._systems):
                fail("too many handlers of the process hang")


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
    def open(self, control: Control, fail: FailSystem) -> None:
        self._control = control

    @override
    def close(self, control: Control, fail: FailSystem) -> None:
        control.close()

    @override
    def executor(self, *, pooled: bool) -> Executor:
        return self

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
