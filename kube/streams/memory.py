"""What of the watches outlives a crash: who wants what, and the counters."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TypeAlias

from actors.messages.port import Port
from actors.messages.watches import WatchFact, WatchTarget

Subscribers: TypeAlias = tuple[Port[WatchFact], ...]


@dataclass(slots=True)
class WatchMemory:
    """Has two writers who never touch the same thing, so that it needs no lock."""

    subscribers: dict[WatchTarget, Subscribers] = field(default_factory=dict)
    """Written by the actor. The loop has a copy, so that a newcomer hears nothing before its list."""
    reconnects: Counter[str] = field(default_factory=Counter)
    """Written by the loop's thread; by reason."""
    requests: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Written by the loop's thread; by status code, host and method."""


def with_one(subscribers: Subscribers, subscriber: Port[WatchFact]) -> Subscribers:
    """Return ``subscribers`` with this one, once."""
    return subscribers if subscriber in subscribers else (*subscribers, subscriber)


def without_one(subscribers: Subscribers, subscriber: Port[WatchFact]) -> Subscribers:
    """Return ``subscribers`` without this one."""
    return tuple(each for each in subscribers if each != subscriber)
