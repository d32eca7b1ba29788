"""Pods that are to be examined later, a few in each turn of the actor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from messages.container_runtime import SandboxContents
from messages.pods import PodUid
from runtimes.containers.contents import Contents, in_order
from runtimes.containers.record import RuntimeMemory, RuntimeRecord


class PodRounds:
    """Which pods are to be examined, and what a listing said of them. One life of the actor has one."""

    def __init__(
        self,
        memory: RuntimeMemory,
        take: Callable[[RuntimeRecord, Contents], None],
        go_on: Callable[[], None],
        at_once: int,
    ) -> None:
        """``take`` learns what there is of a pod. ``go_on`` asks for one more turn.

        A turn is about ``at_once`` pods.
        """
        self._memory = memory
        self._take = take
        self._go_on = go_on
        self._at_once = at_once
        self._rest: dict[PodUid, Contents | None] = {}
        """Pods to examine; with what a listing said of them, if that is not taken yet."""
        self._goes_on = False
        """Whether another turn was asked for."""

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
        self._ask()

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

    def begin_turn(self) -> None:
        """Take that the turn that was asked for has come."""
        self._goes_on = False

    def turn(self) -> Iterator[RuntimeRecord]:
        """Yield the pods to examine in this turn, and ask for another one if there are more."""
        for uid in tuple(islice(self._rest, self._at_once)):
            record = self._memory.record_of(uid)
            self.take_listed(record)
            yield record
        if self._rest:
            self._ask()

    def _ask(self) -> None:
        if not self._goes_on:
            self._goes_on = True
            self._go_on()
