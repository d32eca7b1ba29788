"""The streams of the TLS port: commands, terminals and forwarded ports that clients have open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from messages.pods import PodUid
from messages.port import Port
from messages.units import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientStream:
    """A stream, for people."""

    kind: str
    """``exec``, ``attach`` or ``port-forward``."""
    user: str
    pod: str
    """``<namespace>/<name>``."""
    uid: PodUid
    container: str = ""
    command: str = ""
    """Its beginning, without anything that a terminal would obey."""
    since: Seconds
    """When it began, by the monotonic clock."""
    up: int = 0
    """Bytes from the client so far."""
    down: int = 0
    """Bytes to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeStreams:
    """Asks what the TLS port has served. Answered by one ``StreamsDescribed``."""

    reply_to: Port[StreamsDescribed]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsDescribed:
    """What the TLS port serves, and has served since the process began."""

    streams: tuple[ClientStream, ...]
    """The oldest first. Those of an agent before this one are not among them: nobody knows them."""
    door: int | None
    """The process that speaks TLS. None if there is none: nobody has come yet."""
    opened: Mapping[str, int] = field(default_factory=dict)
    """Streams that have begun, by kind."""
    carried: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Bytes of streams that have ended, by kind, and by ``in`` or ``out``."""
    refused: Mapping[str, int] = field(default_factory=dict)
    """Connections that were refused or cut before or behind the handshake, by the reason."""
    requests: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    """Requests by method, by the root of the path, and by whether they may last: ``true`` or ``false``."""
    in_flight: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    """The same of those that are being answered."""
