"""What EventFeed hears, and what it tells the readers of ``/events``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from messages.objects import ObjectFact
from messages.pod_manager import PodFact, PodsDescribed
from messages.port import Port
from messages.statuses import PodStatusChanged


@dataclass(frozen=True, slots=True, kw_only=True)
class EventChunk:
    """One or more events as text, in the format of server-sent events."""

    text: bytes


def comment(text: str) -> bytes:
    """Return ``text``, one line, as a comment between server-sent events: programs skip it."""
    return f": {text}\n\n".encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderAttached:
    """The reader is told everything that happens from here on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachReader:
    """Subscribes to every event until ``DetachReader``. Answered by one ``ReaderAttached``.

    The subscription outlives crashes of the feed. A reader that is told something after its end tells
    ``DetachReader`` again.
    """

    reader: Port[EventChunk]
    reply_to: Port[ReaderAttached]


@dataclass(frozen=True, slots=True, kw_only=True)
class DetachReader:
    """Ends the subscription of ``AttachReader``. May repeat."""

    reader: Port[EventChunk]
    was_slow: bool = False
    """The reader was dropped, since it did not keep up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedDescribed:
    """The state of the feed."""

    readers: int
    dropped: int
    """Readers dropped since the process began, since they did not keep up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeFeed:
    """Asks for the state of the feed. Answered by one ``FeedDescribed``."""

    reply_to: Port[FeedDescribed]


EventFeedMessage: TypeAlias = (
    AttachReader
    | DetachReader
    | DescribeFeed
    | PodFact
    | PodsDescribed
    | ObjectFact
    | PodStatusChanged
)
