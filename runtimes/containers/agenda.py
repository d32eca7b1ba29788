"""Which pods are due when: one heap, and one timer of the kernel for all of them."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping

from kernel import Timer
from messages.pods import PodUid
from messages.units import Seconds
from runtimes.containers.record import RuntimeRecord


class PodAgenda:
    """Sets one timer for the pod that is due first. A pod whose time was changed is passed over."""

    def __init__(
        self, records: Mapping[PodUid, RuntimeRecord], set_timer: Callable[[Seconds], Timer]
    ) -> None:
        self._records = records
        self._set_timer = set_timer
        self._heap: list[tuple[Seconds, PodUid]] = []
        self._timer: Timer | None = None
        self._timer_due: Seconds | None = None

    def set(self, record: RuntimeRecord, due: Seconds | None, now: Seconds) -> None:
        """Set when this pod is due next; None for never."""
        if due == record.wake_at:
            return
        record.wake_at = due
        if due is not None:
            heapq.heappush(self._heap, (due, record.uid))
            self._arm(now)

    def take_due(self, now: Seconds, most: int) -> Iterator[RuntimeRecord]:
        """Yield at most ``most`` pods that are due by ``now``, and forget that they were."""
        self._timer = self._timer_due = None
        for _ in range(most):
            record = self._pop(now)
            if record is None:
                break
            yield record
        self._arm(now)

    def _pop(self, now: Seconds) -> RuntimeRecord | None:
        while self._heap and self._heap[0][0] <= now:
            due, uid = heapq.heappop(self._heap)
            record = self._records.get(uid)
            if record is not None and record.wake_at == due:
                record.wake_at = None
                return record
        return None

    def _arm(self, now: Seconds) -> None:
        while self._heap and not self._is_valid(*self._heap[0]):
            heapq.heappop(self._heap)
        due = self._heap[0][0] if self._heap else None
        if due is None or due == self._timer_due:
            return
        if self._timer is not None:
            if self._timer_due is not None and self._timer_due <= due:
                return
            self._timer.cancel()
        self._timer_due = due
        self._timer = self._set_timer(Seconds(max(0.0, due - now)))

    def _is_valid(self, due: Seconds, uid: PodUid) -> bool:
        record = self._records.get(uid)
        return record is not None and record.wake_at == due
