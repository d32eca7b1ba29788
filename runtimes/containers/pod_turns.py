"""Which pods are examined when: those that are due at a moment, and those that wait for a later turn."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from kernel import Alarm
from messages.container_runtime import SandboxContents
from messages.pods import PodUid
from messages.units import Seconds
from runtimes.containers.contents import Contents, in_order
from runtimes.containers.record import RuntimeMemory, RuntimeRecord


class PodsToExamine:
    """Which pods are to be examined, and what a listing said of them. One life of the actor has one."""

    def __init__(
        self,
        memory: RuntimeMemory,
        take: Callable[[RuntimeRecord, Contents], None],
        next_turn: Alarm,
        at_once: int,
    ) -> None:
        """``take`` learns what there is of a pod. A turn is about ``at_once`` pods."""
        self._memory = memory
        self._take = take
        self._next_turn = next_turn
        self._at_once = at_once
        self._rest: dict[PodUid, Contents | None] = {}
        """Pods to examine; with what a listing said of them, if that is not taken yet."""

    def __bool__(self) -> bool:
        """Whether any pod is to be examined."""
        return bool(self._rest)

    def add(self, uids: Iterable[PodUid]) -> None:
        """Have these pods examined in one of the next turns."""
        for uid in uids:
            self._rest.setdefault(uid, None)

    def add_soon(self, uid: PodUid) -> None:
        """Have a pod examined after the messages that wait already: more of them may be about it."""
        self._rest.setdefault(uid, None)
        self._next_turn.after(Seconds(0.0))

    def add_listed(self, sandboxes: Iterable[SandboxContents]) -> None:
        """Have all pods examined, with what a listing says of them."""
        found: dict[PodUid, list[SandboxContents]] = {uid: [] for uid in self._memory.records}
        for each in sandboxes:
            found.setdefault(each.pod.uid, []).append(each)
        self._rest |= {uid: in_order(each) for uid, each in found.items()}

    def take_listed(self, record: RuntimeRecord) -> None:
        """Take what a listing said of a pod, if that is not taken yet. It is examined now."""
        contents = self._rest.pop(record.uid, None)
        if contents is not None:
            self._take(record, contents)

    def drop_listed(self, uid: PodUid) -> None:
        """Forget what a listing said of a pod: something newer is known."""
        self._rest.pop(uid, None)

    def turn(self) -> Iterator[RuntimeRecord]:
        """Yield the pods to examine in this turn. If there are more, there is another turn."""
        for uid in tuple(islice(self._rest, self._at_once)):
            record = self._memory.record_of(uid)
            self.take_listed(record)
            yield record
        if self._rest:
            self._next_turn.after(Seconds(0.0))


class DuePods:
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
            self._pass_over()
            if not self._heap or self._heap[0][0] > now:
                break
            record = self._records[heapq.heappop(self._heap)[1]]
            record.wake_at = None
            yield record
        self._set_alarm()

    def _set_alarm(self) -> None:
        self._pass_over()
        self._alarm.at(self._heap[0][0] if self._heap else None)

    def _pass_over(self) -> None:
        """Drop what is first and not due any more: its pod is gone, or has another time."""
        while self._heap:
            due, uid = self._heap[0]
            record = self._records.get(uid)
            if record is not None and record.wake_at == due:
                return
            heapq.heappop(self._heap)
