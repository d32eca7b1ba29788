"""When each pod's tokens are to be looked at again. Pure."""

from __future__ import annotations

import heapq

from messages.pods import PodUid
from messages.units import Seconds


class TokenAlarms:
    """One moment for each pod, on the monotonic clock. What was replaced takes no room for long."""

    def __init__(self) -> None:
        self._due: dict[PodUid, Seconds] = {}
        self._heap: list[tuple[Seconds, PodUid]] = []

    def __len__(self) -> int:
        """Return how many pods have one."""
        return len(self._due)

    def set(self, uid: PodUid, due: Seconds | None) -> None:
        """Replace the moment of a pod; None leaves it without one."""
        if self._due.get(uid) == due:
            return
        if due is None:
            del self._due[uid]
            return
        self._due[uid] = due
        heapq.heappush(self._heap, (due, uid))
        if len(self._heap) > 2 * len(self._due) + 64:
            self._heap = [(moment, each) for each, moment in self._due.items()]
            heapq.heapify(self._heap)

    def next_due(self) -> Seconds | None:
        """Return the next moment; None if there is none."""
        while self._heap and self._due.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def take(self, now: Seconds) -> tuple[PodUid, ...]:
        """Return the pods whose moment has come, and forget it."""
        taken = []
        while (due := self.next_due()) is not None and due <= now:
            _, uid = heapq.heappop(self._heap)
            del self._due[uid]
            taken.append(uid)
        return tuple(taken)
