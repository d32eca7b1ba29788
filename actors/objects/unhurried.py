"""Tells the holders of many objects something that is not urgent, a portion at a time. A part of the manager.

When the first reader of events comes, all holders are told that somebody follows their object. Told at once,
5,000 of them held up the changes that this reader wants to hear for up to 180 ms (measured).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from kernel import Timer
from messages.objects import ObjectId
from messages.units import Seconds

PORTION: Final = 50
"""Objects. To tell their holders, and to hear their answers, takes 2 ms of a core."""
PAUSE: Final = Seconds(0.01)
"""Between two portions: 5,000 holders are told within about a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortionDue:
    """Timer: the next portion may be told."""


class Unhurried:
    """The objects whose holders are still to be told. Belongs to one life of the manager."""

    def __init__(
        self,
        inform: Callable[[Collection[ObjectId]], None],
        after: Callable[[Seconds, PortionDue], Timer],
    ) -> None:
        """``inform`` tells holders what is so when it is called, so a repetition does no harm."""
        self._inform = inform
        self._after = after
        self._waiting: dict[ObjectId, None] = {}

    def add(self, objects: Iterable[ObjectId]) -> None:
        """Have the holders of ``objects`` told: a portion at once unless others wait, the rest later."""
        is_idle = not self._waiting
        self._waiting |= dict.fromkeys(objects)
        if is_idle:
            self.go_on()

    def go_on(self) -> None:
        """Tell the next portion, and have the one after it told in a while."""
        portion = tuple(islice(self._waiting, PORTION))
        for wanted in portion:
            del self._waiting[wanted]
        if self._waiting:
            self._after(PAUSE, PortionDue())
        self._inform(portion)
