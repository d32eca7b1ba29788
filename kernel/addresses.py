"""Every address there is, by its path."""

from __future__ import annotations

import threading
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from kernel.cell import Cell
from kernel.ports import Key
from kernel.telemetry import Telemetry

M = TypeVar("M")


class Addresses:
    """The cells, made at their first mention from any thread."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._lock = threading.Lock()
        self._cells: dict[str, Cell[Any]] = {}
        self._forgotten: WeakValueDictionary[str, Cell[Any]] = WeakValueDictionary()
        """Closed, but somebody may still hold them."""
        self._most_lives = 0
        """Of any that was forgotten. Others count on from there: no life of an address ever has the
        number of an earlier one, and nobody has to remember every path that there was."""

    def cell(self, key: Key[M]) -> Cell[M]:
        """Return the cell of ``key``."""
        with self._lock:
            return self._cell(key)

    def _cell(self, key: Key[M]) -> Cell[M]:
        cell = self._cells.get(key.path)
        if cell is None:
            # Whoever holds the port of a child that was forgotten, holds that of the next one too.
            cell = self._forgotten.pop(key.path, None) or Cell(key, self._telemetry)
            cell.expect(0)
            cell.lives = self._most_lives
            self._cells[key.path] = cell
        return cell

    def expect(self, key: Key[Any], starts: int) -> None:
        """Note that a start was asked for (+1) or begun (-1) at the address of ``key``."""
        with self._lock:
            self._cell(key).expect(starts)

    def forget(self, path: str, *, is_wanted: bool) -> None:
        """Close the address of a dynamic child that is gone, unless another start was asked for."""
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
        """Close all of them."""
        for cell in self.all():
            cell.close()
