"""The thread that carries out the probes of a node."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, Protocol

from typing_extensions import override

from actors.probes.engine import ProbeEngine
from actors.probes.loop_commands import ForgetProbe, NoteRun, ProbeEdges, WatchProbe
from actors.probes.specs import ProbeSpec
from actors.probes.watched import Lateness, ProbeFigures, ProbeMemory, ProbeTarget
from messages.probes import ProbeAnswer, ProbeKey, ProbeOutcome, ProbeResult
from messages.units import Seconds

CLOSE_TIMEOUT: Final = Seconds(3.0)
"""How long to wait for the thread. It never blocks, so it ends at once."""


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
    """Carries out probes from construction until ``close``, on a thread of its own.

    What a loop knows is in its ``memory``: one that is made with the memory of another that ended goes on
    with its counts.
    """

    def __init__(
        self,
        memory: ProbeMemory,
        edges: ProbeEdges,
        ended: Callable[[BaseException], None],
    ) -> None:
        """Begin. ``ended`` is called, on the loop's thread, if that ends before ``close``, by a bug.

        The memory is whole then, and the next loop goes on with it.
        """
        self._ended = ended
        self._is_closing = False
        self._engine = ProbeEngine(memory, edges)
        self._memory = memory
        edges.clock.on_advance(self._engine.wake)
        before, memory.thread = (
            memory.thread,
            threading.Thread(target=lambda: self._run(before), name="probes", daemon=True),
        )
        memory.thread.start()

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
        """End the thread, and do not wait for it: the next loop does. What is in progress is dropped."""
        self._is_closing = True
        self._engine.wake()

    def _run(self, before: threading.Thread | None) -> None:
        if before is not None:
            before.join(CLOSE_TIMEOUT)
        try:
            while not self._is_closing and self._engine.is_current:
                self._engine.turn()
        except BaseException as bug:  # noqa: BLE001  # whatever it was, nothing is probed any longer
            if not self._is_closing:
                self._ended(bug)
        finally:
            self._engine.close()
