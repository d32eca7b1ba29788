"""What outlives a crash of the watches: who wants what, what fails, and the counters."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TypeAlias

from kube.streams.failures import WatchFailures
from messages.port import Port
from messages.watches import WatchFact, WatchTarget

SubscriberPorts: TypeAlias = tuple[Port[WatchFact], ...]


@dataclass(slots=True)
class WatchMemory:
    """Needs no lock: its two writers, the actor and the loop's thread, write different fields.

    What the loop's thread writes is read by that thread alone.
    """

    subscribers: dict[WatchTarget, SubscriberPorts] = field(default_factory=dict)
    """Written by the actor. The loop has a copy of its own, so that a new subscriber is told nothing before
    its list."""
    marks: dict[WatchTarget, int] = field(default_factory=dict)
    """Written by the actor: the highest mark of each wanted target, if it is not 0."""
    descriptors_lacked: int = 0
    """Written by the actor: how many descriptors the log asked for last."""
    reconnects: Counter[str] = field(default_factory=Counter)
    """Written by the loop's thread: how often watches were opened again, by reason."""
    requests: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Written by the loop's thread: requests by status code, host and method."""
    failures: WatchFailures = field(default_factory=WatchFailures)
    """Written by the loop's thread."""
    versions: dict[WatchTarget, str] = field(default_factory=dict)
    """Written by the loop's thread when a watch ends: the last version seen, so that the next life does not
    go back in time. Only for collections, which are read from the server's cache."""

    def want(self, target: WatchTarget, subscriber: Port[WatchFact], mark: int) -> None:
        """Remember that ``subscriber`` wants ``target``, and the highest mark."""
        self.subscribers[target] = with_one(self.subscribers.get(target, ()), subscriber)
        if mark > self.marks.get(target, 0):
            self.marks[target] = mark

    def forget(self, target: WatchTarget, subscriber: Port[WatchFact]) -> None:
        """Forget that ``subscriber`` wants ``target``. Without other subscribers, forget the target."""
        left = without_one(self.subscribers.pop(target, ()), subscriber)
        if left:
            self.subscribers[target] = left
        else:
            self.marks.pop(target, None)


def with_one(subscribers: SubscriberPorts, subscriber: Port[WatchFact]) -> SubscriberPorts:
    """Return ``subscribers`` with ``subscriber`` in it once."""
    return subscribers if subscriber in subscribers else (*subscribers, subscriber)


def without_one(subscribers: SubscriberPorts, subscriber: Port[WatchFact]) -> SubscriberPorts:
    """Return ``subscribers`` without ``subscriber``."""
    return tuple(each for each in subscribers if each != subscriber)
