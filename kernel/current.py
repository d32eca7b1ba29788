"""Which incarnation the present thread is running, if any."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernel.incarnation import Incarnation


class _Current(threading.local):
    incarnation: Incarnation | None = None


_current = _Current()


def current_incarnation() -> Incarnation | None:
    """Return whose turn this thread is running; ``None`` outside of actors."""
    return _current.incarnation


def set_current_incarnation(incarnation: Incarnation | None) -> None:
    """Note whose turn this thread runs from here on."""
    _current.incarnation = incarnation
