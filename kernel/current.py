"""Which incarnation the present thread is running, if any."""

from __future__ import annotations

import threading
from typing import Protocol


class CurrentIncarnation(Protocol):
    """An incarnation as those it tells something see it."""

    @property
    def is_cut_off(self) -> bool:
        """Whether it ended or was abandoned: what it tells does not count any more."""
        ...


class _Current(threading.local):
    incarnation: CurrentIncarnation | None = None


_current = _Current()


def current_incarnation() -> CurrentIncarnation | None:
    """Return the incarnation whose turn this thread is running; ``None`` outside of actors."""
    return _current.incarnation


def set_current_incarnation(incarnation: CurrentIncarnation | None) -> None:
    """Set the incarnation whose turn this thread runs from here on."""
    _current.incarnation = incarnation
