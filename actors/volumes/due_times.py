"""When which volumes are to be looked at again, with one timer for all. A part of the keeper of volumes."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from actors.volumes.keeper_parts import VolumesDue
from kernel import Clock, Timer
from messages.pods import PodUid
from messages.units import Seconds


class DueTimes:
    """Knows them for one life of the keeper. While there are none, there is no timer."""

    def __init__(
        self, clock: Callable[[], Clock], after: Callable[[Seconds, VolumesDue], Timer]
    ) -> None:
        self._clock = clock
        self._after = after
        self._due: list[tuple[Seconds, PodUid]] = []
        """A heap."""
        self._timer: tuple[Seconds, Timer] | None = None

    def add(self, at: Seconds, uid: PodUid) -> None:
        """Have a pod looked at again at a time."""
        heapq.heappush(self._due, (at, uid))
        self._set()

    def take(self) -> list[PodUid]:
        """Return the pods that are due. The timer told so."""
        self._timer, now = None, self._clock().monotonic()
        due: dict[PodUid, None] = {}
        while self._due and self._due[0][0] <= now:
            due[heapq.heappop(self._due)[1]] = None
        self._set()
        return list(due)

    def _set(self) -> None:
        if not self._due:
            return
        at = self._due[0][0]
        if self._timer is not None:
            if self._timer[0] <= at:
                return
            self._timer[1].cancel()
        delay = Seconds(max(at - self._clock().monotonic(), 0.0))
        self._timer = (at, self._after(delay, VolumesDue()))
