"""What of the watches outlives a crash: who wants what, what they were told, and the counters."""

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
    """Has two writers who never touch the same thing, so that it needs no lock."""

    subscribers: dict[WatchTarget, SubscriberPorts] = field(default_factory=dict)
    """Written by the actor. The loop has a copy, so that a newcomer hears nothing before its list."""
    marks: dict[WatchTarget, int] = field(default_factory=dict)
    """Written by the actor: the highest mark of each target that is wanted, if it is not 0."""
    reconnects: Counter[str] = field(default_factory=Counter)
    """Written by the loop's thread; by reason."""
    requests: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Written by the loop's thread; by status code, host and method."""
    failures: WatchFailures = field(default_factory=WatchFailures)
    """Written by the loop's thread."""
    versions: dict[WatchTarget, str] = field(default_factory=dict)
    """Written by the loop's thread when a watch ends: the last version seen, so that the next life does
    not go back in time. Only of collections, which are read from the server's cache."""

    def want(self, target: WatchTarget, subscriber: Port[WatchFact], mark: int) -> None:
        """Remember that ``subscriber`` wants ``target``, and the highest mark."""
        self.subscribers[target] = with_one(self.subscribers.get(target, ()), subscriber)
        if mark > self.marks.get(target, 0):
            self.marks[target] = mark

    def forget(self, target: WatchTarget, subscriber: Port[WatchFact]) -> None:
        """Remember ``target`` for everybody but ``subscriber``; nothing of it if that was the last."""
        left = without_one(self.subscribers.pop(target, ()), subscriber)
        if left:
            self.subscribers[target] = left
        else:
            self.marks.pop(target, None)


def with_one(subscribers: SubscriberPorts, subscriber: Port[WatchFact]) -> SubscriberPorts:
    """Return ``subscribers`` with this one, once."""
    return subscribers if subscriber in subscribers else (*subscribers, subscriber)


def without_one(subscribers: SubscriberPorts, subscriber: Port[WatchFact]) -> SubscriberPorts:
    """Return ``subscribers`` without this one."""
    return tuple(each for each in subscribers if each != subscriber)
