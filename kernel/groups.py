"""Children that are restarted together, under rest_for_one and one_for_all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kernel.children import Child
from kernel.timers import Timer


def all_stopped(children: Iterable[Child]) -> bool:
    """Stop the last child that is up. Return True when no child was up.

    Called again at each ending, it stops the children one by one, in exact reverse order.
    """
    for child in reversed(tuple(children)):
        if not child.is_down:
            child.stop()
            return False
    return True


class RestartGroup:
    """Children that are stopped in reverse order, and started again when the backoff is over."""

    __slots__ = ("_is_due", "_is_stopping", "_timer", "first", "members")

    def __init__(self, first: int, members: Sequence[Child], timer: Timer) -> None:
        self.first = first
        """The place of the first member among the children of its supervisor."""
        self.members = members
        self._timer = timer
        self._is_stopping = True
        self._is_due = False

    def waits_for(self, child: Child) -> bool:
        """Return whether the members are being stopped, and ``child`` is one of them."""
        return self._is_stopping and child in self.members

    def go_on_stopping(self) -> bool:
        """Stop the last member that is up. Return whether the group is to start now."""
        if all_stopped(self.members):
            self._is_stopping = False
        return self._is_due and not self._is_stopping

    def due(self) -> bool:
        """Note that the backoff is over. Return whether the group is to start now."""
        self._is_due = True
        return not self._is_stopping

    def cancel(self) -> None:
        """Cancel the timer of the backoff."""
        self._timer.cancel()
