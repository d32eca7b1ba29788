"""What EventFeed hears, and what it tells the readers of ``/events``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from messages.events import EventNoted
from messages.objects import ObjectFact, ObjectsDescribed
from messages.pod_manager import PodFact, PodsDescribed
from messages.port import Port
from messages.probing import ProbeResultIs, ProbesDescribed
from messages.sources import SourceDescribed, VerdictsMayDiffer
from messages.statuses import PodStatusChanged, StatusesDescribed
from messages.volumes import VolumeTroublesAre


@dataclass(frozen=True, slots=True, kw_only=True)
class EventChunk:
    """One or more events as text, in the format of server-sent events."""

    text: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPieces:
    """Many events for one reader, made while it takes them: a part of the present state, or what it missed.

    A piece takes a millisecond or two. Who takes them lets others have a turn in between.
    """

    pieces: Iterator[bytes] = field(repr=False)


FeedTelling: TypeAlias = EventChunk | EventPieces
"""What a reader is told."""


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

    reader: Port[FeedTelling]
    reply_to: Port[ReaderAttached]
    wants_state: bool = False
    """Whether it is told the present state first, and again whenever it may have missed something."""
    since: str = ""
    """The id of the last event that it knows. It is told what came after that, if that is still known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DetachReader:
    """Ends the subscription of ``AttachReader``. May repeat."""

    reader: Port[FeedTelling]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorIs:
    """How an actor is that has failed: ``backoff``, ``failed``, ``running`` again, or ``gone``."""

    name: str
    state: str
    restarts: int
    error: str


FeedAnswer: TypeAlias = (
    PodsDescribed | StatusesDescribed | SourceDescribed | ObjectsDescribed | ProbesDescribed
)
"""A part of the present state."""
FeedFact: TypeAlias = (
    PodFact
    | ObjectFact
    | PodStatusChanged
    | VerdictsMayDiffer
    | ProbeResultIs
    | VolumeTroublesAre
    | EventNoted
    | ActorIs
)
"""What happens."""
EventFeedMessage: TypeAlias = AttachReader | DetachReader | DescribeFeed | FeedAnswer | FeedFact
"""What the feed hears from others."""
