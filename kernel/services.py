"""What every node of the tree uses of its actor system: addresses by their paths, clock, timers, counts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from kernel.cell import Cell
from kernel.clock import Clock, Timer
from kernel.ports import Key
from kernel.reports import FailedLoops, Reports
from kernel.runtimes import FailSystem, Runtime
from kernel.telemetry import Telemetry
from messages.units import Seconds

M = TypeVar("M")


class Addresses:
    """The cells of all addresses. A cell is made when somebody first mentions it, on any thread."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._lock = threading.Lock()
        self._cells: dict[str, Cell[Any]] = {}
        self._forgotten: WeakValueDictionary[str, Cell[Any]] = WeakValueDictionary()
        """Closed, but somebody may still hold them."""
        self._most_lives = 0
        """The highest incarnation number of all forgotten cells. A new cell counts on from here, so no
        number is used twice at an address, and no path has to be remembered for that."""

    def cell(self, key: Key[M]) -> Cell[M]:
        """Return the cell of ``key``; make it if there is none."""
        with self._lock:
            return self._cell(key)

    def _cell(self, key: Key[M]) -> Cell[M]:
        cell = self._cells.get(key.path)
        if cell is None:
            # Ports of a forgotten child stay valid for the next child of the same path.
            cell = self._forgotten.pop(key.path, None) or Cell(key, self._telemetry)
            cell.expect(0)
            cell.lives = self._most_lives
            self._cells[key.path] = cell
        return cell

    def expect(self, key: Key[Any], starts: int) -> None:
        """Count a start that was asked for (+1) or has begun (-1) at the address of ``key``."""
        with self._lock:
            self._cell(key).expect(starts)

    def forget(self, path: str, *, is_wanted: bool) -> None:
        """Close the address of a dynamic child that is gone.

        It stays open when ``is_wanted``, or when another start was asked for.
        """
        with self._lock:
            cell = self._cells[path]
            cell.owner = None
            if not is_wanted and not cell.is_expected:
                self._forgotten[path] = self._cells.pop(path)
                self._most_lives = max(self._most_lives, cell.lives)
                cell.close()

    def all(self) -> tuple[Cell[Any], ...]:
        """Return the cells that are not forgotten."""
        with self._lock:
            return tuple(self._cells.values())

    def close(self) -> None:
        """Close all addresses."""
        for cell in self.all():
            cell.close()


MOST_HANGS = 8
"""Most pool threads that may be lost to hanging handlers of one system. They never come back, so after more
of them its root fails: it is better started again."""


class Services:
    """The parts of one actor system that supervisors and their children share."""

    def __init__(self, clock: Clock | None, runtime: Runtime, fail: FailSystem) -> None:
        """``fail`` makes the root fail."""
        self.control = runtime.control(clock)
        self.runtime = runtime
        self.telemetry = Telemetry()
        self.addresses = Addresses(self.telemetry)
        self.failed_loops = FailedLoops()
        self.reports = Reports(self.telemetry)
        self._fail = fail
        self._hangs = 0
        """Pool threads that were lost to handlers of this system."""
        self._timers: set[Timer] = set()

    def set_timer(self, delay: Seconds, action: Callable[[], None]) -> Timer:
        """Run ``action`` on the control thread in ``delay`` seconds, unless the system is down by then."""
        return self.control.set_timer(delay, action, self._timers)

    def open(self) -> None:
        """Start the threads."""
        self.runtime.open(self.control, self._fail)

    def note_hang(self) -> None:
        """Count a pool thread that is lost, and give up after too many. On the control thread."""
        self._hangs += 1
        if self._hangs > MOST_HANGS:
            self._fail("too many handlers hang")

    def close(self) -> None:
        """Let go of threads, timers and addresses: the tree is down. On the control thread."""
        self.addresses.close()
        for timer in tuple(self._timers):
            timer.cancel()
        self.runtime.close(self.control, self._fail)
