"""Which pods are due when: one heap, and one alarm for all of them."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping

from kernel import Alarm
from messages.pods import PodUid
from messages.units import Seconds
from runtimes.containers.record import RuntimeRecord


class PodAgenda:
    """Sets the alarm for the pod that is due first. A pod whose time was changed is passed over."""

    def __init__(self, records: Mapping[PodUid, RuntimeRecord], alarm: Alarm) -> None:
        self._records = records
        self._alarm = alarm
        self._heap: list[tuple[Seconds, PodUid]] = []

    def set(self, record: RuntimeRecord, due: Seconds | None) -> None:
        """Set when this pod is due next; None for never."""
        if due == record.wake_at:
            return
        record.wake_at = due
        if due is not None:
            heapq.heappush(self._heap, (due, record.uid))
            self._set_alarm()

    def take_due(self, now: Seconds, most: int) -> Iterator[RuntimeRecord]:
        """Yield at most ``most`` pods that are due by ``now``, and forget that they were."""
        for _ in range(most):
            record = self._pop(now)
            if record is None:
                break
            yield record
        self._set_alarm()

    def _pop(self, now: Seconds) -> RuntimeRecord | None:
        while self._heap and self._heap[0][0] <= now:
            due, uid = heapq.heappop(self._heap)
            record = self._records.get(uid)
            if record is not None and record.wake_at == due:
                record.wake_at = None
                return record
        return None

    def _set_alarm(self) -> None:
        while self._heap and not self._is_valid(*self._heap[0]):
            heapq.heappop(self._heap)
        self._alarm.at(self._heap[0][0] if self._heap else None)

    def _is_valid(self, due: Seconds, uid: PodUid) -> bool:
        record = self._records.get(uid)
        return record is not None and record.wake_at == due
