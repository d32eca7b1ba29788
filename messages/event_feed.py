"""What EventFeed hears, and what it tells those who read ``/events``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from messages.objects import ObjectFact
from messages.pod_manager import PodFact, PodsDescribed
from messages.port import Port


@dataclass(frozen=True, slots=True, kw_only=True)
class EventChunk:
    """Some events, as server-sent events."""

    text: bytes


def comment(text: str) -> bytes:
    """Return ``text``, one line, as a comment between server-sent events: programs skip it."""
    return f": {text}\n\n".encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderAttached:
    """Whatever happens from here on is told to the reader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachReader:
    """Wants every event from here on, until ``DetachReader``. Answered by one ``ReaderAttached``.

    A reader outlives crashes of the feed. One that has ended, and is told something all the same,
    detaches once more.
    """

    reader: Port[EventChunk]
    reply_to: Port[ReaderAttached]


@dataclass(frozen=True, slots=True, kw_only=True)
class DetachReader:
    """Takes back ``AttachReader``. May repeat."""

    reader: Port[EventChunk]
    was_slow: bool = False
    """It was dropped, since it did not keep up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedDescribed:
    """How the feed is."""

    readers: int
    dropped: int
    """Readers that did not keep up, since the process began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeFeed:
    """Asks how the feed is. Answered by one ``FeedDescribed``."""

    reply_to: Port[FeedDescribed]


EventFeedMessage: TypeAlias = (
    AttachReader | DetachReader | DescribeFeed | PodFact | PodsDescribed | ObjectFact
)
