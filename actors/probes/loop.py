"""The thread that carries out the probes of all agents of a process."""

from __future__ import annotations

import select
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Protocol

import structlog
from typing_extensions import override

from actors.probes.attempts import EventFd
from actors.probes.engine import ProbeEngine
from actors.probes.loop_messages import ForgetProbe, NoteRun, ProbeEdges, WatchProbe
from actors.probes.specs import ProbeSpec
from actors.probes.watched import Lateness, ProbeFigures, ProbeMemory, ProbeTarget
from messages.probing import ProbeAnswer, ProbeKey, ProbeOutcome, ProbeResult
from messages.units import Seconds

_log = structlog.get_logger("probes")


class ProbeRunner(Protocol):
    """Whoever carries out probes. All methods return at once, and may be called from any thread."""

    def watch(
        self,
        key: ProbeKey,
        spec: ProbeSpec,
        target: ProbeTarget,
        initial: ProbeResult | None = None,
    ) -> None:
        """Carry a probe out from now on. It may be repeated, and whatever is as before changes nothing.

        Another address of the same instance keeps the counts. Another instance, told by its container ID,
        begins anew with ``initial``, or with what a probe begins with. So does another ``spec``.
        """
        ...

    def forget(self, key: ProbeKey) -> None:
        """Carry a probe out no more. What was told just now may still arrive."""
        ...

    def note(
        self, key: ProbeKey, run: int, outcome: ProbeOutcome, took: Seconds | None = None
    ) -> None:
        """Take how a command ended that was due as ``run``. An unknown outcome is tried again.

        ``took`` is how long it ran; without it, it counts from when it was due.
        """
        ...

    def answers(self, keys: Iterable[ProbeKey]) -> list[ProbeAnswer]:
        """Return how the probes of ``keys`` stand, as far as they have answered."""
        ...

    def figures(self, keys: Iterable[ProbeKey]) -> list[ProbeFigures]:
        """Return what was counted of the probes of ``keys``."""
        ...

    def lateness(self) -> Lateness:
        """Return how late attempts began, and what was lost for it."""
        ...


class ProbeLoop(ProbeRunner):
    """Carries out the probes of an agent from construction until ``close``, on the thread of the process.

    What a loop knows is in its ``memory``: one that is made with the memory of another that ended goes on
    with its counts.
    """

    def __init__(
        self,
        memory: ProbeMemory,
        edges: ProbeEdges,
        ended: Callable[[BaseException], None],
        thread: ProbeThread,
    ) -> None:
        """Begin. ``ended`` is called, on the thread, if the loop ends before ``close``, by a bug.

        The memory is whole then, and the next loop goes on with it.
        """
        self._ended = ended
        self._is_closing = False
        self._engine = ProbeEngine(memory, edges)
        self._memory = memory
        self._thread = thread
        edges.clock.on_advance(self._engine.wake)
        thread.begin(self)

    @override
    def watch(
        self,
        key: ProbeKey,
        spec: ProbeSpec,
        target: ProbeTarget,
        initial: ProbeResult | None = None,
    ) -> None:
        self._engine.call(WatchProbe(key, spec, target, initial))

    @override
    def forget(self, key: ProbeKey) -> None:
        self._engine.call(ForgetProbe(key))

    @override
    def note(
        self, key: ProbeKey, run: int, outcome: ProbeOutcome, took: Seconds | None = None
    ) -> None:
        self._engine.call(NoteRun(key, run, outcome, took))

    @override
    def answers(self, keys: Iterable[ProbeKey]) -> list[ProbeAnswer]:
        watched = (self._memory.watched.get(key) for key in keys)
        return [each.answer for each in watched if each is not None and each.answer is not None]

    @override
    def figures(self, keys: Iterable[ProbeKey]) -> list[ProbeFigures]:
        watched = (self._memory.watched.get(key) for key in keys)
        return [each.figures for each in watched if each is not None]

    @override
    def lateness(self) -> Lateness:
        return replace(self._memory.lateness)

    def close(self) -> None:
        """End, and do not wait for that: the next loop begins after it. What is in progress is dropped."""
        self._is_closing = True
        self._thread.end(self)

    # --- on the thread ---------------------------------------------------------------------------------

    @property
    def fd(self) -> int:
        """What is readable when there is something to do."""
        return self._engine.fd

    def wait(self) -> float | None:
        """Return the seconds until something is due; None if nothing is."""
        return self._engine.wait()

    def turn(self) -> bool:
        """Do what is to be done now. Return False if that was the last turn."""
        try:
            if not self._is_closing and self._engine.is_current:
                self._engine.turn(0.0)
        except BaseException as bug:  # noqa: BLE001  # whatever it was, it ends this loop alone
            self.fail(bug)
        return not self._is_closing and self._engine.is_current

    def fail(self, bug: BaseException) -> None:
        """End over a bug, and have that told."""
        if not self._is_closing:
            self._is_closing = True
            self._ended(bug)

    def drop(self) -> None:
        """Drop what is in progress."""
        self._engine.close()


class ProbeThread:
    """One thread, which gives each loop its turns. It runs from construction until ``close``."""

    def __init__(self) -> None:
        self._event_fd = EventFd()
        self._orders: deque[Callable[[], None]] = deque()
        self._is_closing = False
        self._poll = select.epoll()
        self._poll.register(self._event_fd.fd, select.EPOLLIN)
        self._loops: dict[ProbeLoop, int] = {}
        """Each with its descriptor. Only the thread touches it."""
        threading.Thread(target=self._run, name="probes", daemon=True).start()

    def begin(self, loop: ProbeLoop) -> None:
        """Give ``loop`` its turns from now on. On any thread."""
        self._order(partial(self._add, loop))

    def end(self, loop: ProbeLoop) -> None:
        """Give ``loop`` no turn any more, and drop what it has in progress. On any thread. May repeat."""
        self._order(partial(self._discard, loop))

    def close(self) -> None:
        """End the thread, which does not take long. Does not wait for it."""
        self._is_closing = True
        self._event_fd.signal()

    def _order(self, order: Callable[[], None]) -> None:
        self._orders.append(order)
        self._event_fd.signal()

    def _run(self) -> None:
        while not self._is_closing:
            try:
                self._take_turns()
            except BaseException as bug:  # noqa: BLE001  # whose it is cannot be told: all begin anew
                for loop in tuple(self._loops):
                    loop.fail(bug)
                    self._discard(loop)
        for loop in tuple(self._loops):
            self._discard(loop)
        self._poll.close()

    def _take_turns(self) -> None:
        """Wait until some loop has something to do, and let it."""
        waits = [wait for each in self._loops if (wait := each.wait()) is not None]
        ready = {fd for fd, _ in self._poll.poll(min(waits, default=None))}
        if self._event_fd.fd in ready:
            self._event_fd.clear()
        while self._orders:
            self._orders.popleft()()
        for loop, fd in tuple(self._loops.items()):
            is_due = fd in ready or loop.wait() == 0.0
            if is_due and not loop.turn():
                self._discard(loop)

    def _add(self, loop: ProbeLoop) -> None:
        self._loops[loop] = loop.fd
        self._poll.register(loop.fd, select.EPOLLIN)

    def _discard(self, loop: ProbeLoop) -> None:
        fd = self._loops.pop(loop, None)
        if fd is not None:
            self._poll.unregister(fd)
            loop.drop()
