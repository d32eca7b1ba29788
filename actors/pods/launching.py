"""In which order workers are started and stopped, and how many at a time. Pure.

Ten thousand starts at once keep the control thread from everything else for half a second. So a start or a
stop counts as under way until the worker has reported that it is up, or gone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple

from messages.pods import PodUid

WINDOW: Final = 64
"""Starts and stops that may be under way at a time."""


class Launch(NamedTuple):
    """The start or the stop of one worker."""

    uid: PodUid
    is_start: bool


class LaunchWindow:
    """Launches that wait, and those that are under way."""

    def __init__(self, waiting: deque[Launch], limit: int = WINDOW) -> None:
        """Launch what stands in ``waiting``, which outlives the one who launches."""
        self._limit = limit
        self._waiting = waiting
        self._under_way: dict[Launch, None] = {}

    @property
    def is_busy(self) -> bool:
        """Whether anything is under way."""
        return bool(self._under_way)

    def add(self, launch: Launch) -> None:
        """Have ``launch`` done after all that wait already."""
        self._waiting.append(launch)

    def take(self) -> Iterator[Launch]:
        """Yield what is to be done now. It is under way from here on, and waits until it is done."""
        while self._waiting and len(self._under_way) < self._limit:
            launch = self._waiting[0]
            self._under_way[launch] = None
            yield launch
            self._waiting.popleft()

    def note(self, launch: Launch) -> None:
        """Note that ``launch`` was reported, or came to nothing. May repeat."""
        self._under_way.pop(launch, None)

    def give_up(self) -> None:
        """Wait no longer for what is under way: whoever should report it may have crashed."""
        self._under_way.clear()
