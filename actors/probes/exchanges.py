"""What is said over one connection of a probe. Pure: it takes and gives bytes, and knows no sockets."""

from __future__ import annotations

import os
from typing import Final, NamedTuple, Protocol, TypeAlias

from typing_extensions import override

from actors.probes.http_messages import (
    REDIRECTS,
    HttpAnswerError,
    HttpAnswerReader,
    HttpPage,
    request_of,
)
from manifests.times import format_duration
from messages.probing import ProbeOutcome, ProbeResult
from messages.units import Seconds

MOST_QUOTED: Final = 1_024
"""Characters of an answer that are quoted: as many as an event has room for."""


class LeadsTo(NamedTuple):
    """The answer is somewhere else."""

    location: str


Answer: TypeAlias = ProbeOutcome | LeadsTo | None
"""What a probe has learned so far; None as long as that is nothing."""


class ProbeExchange(Protocol):
    """One conversation with a target."""

    outgoing: bytes
    """What is to be sent once there is a connection. Whoever sends it empties it."""

    def connected(self) -> Answer:
        """Take that there is a connection."""
        ...

    def received(self, data: bytes) -> Answer:
        """Take what the target has sent."""
        ...

    def ended(self) -> Answer:
        """Take that the target has sent all. The answer is never None."""
        ...

    def failed(self, why: str) -> ProbeOutcome:
        """Return the outcome of a connection that broke: ``why``, with what was tried."""
        ...

    def given_up(self, timeout: Seconds) -> ProbeOutcome:
        """Return the outcome of an attempt that took longer than ``timeout``."""
        ...


class TcpExchange(ProbeExchange):
    """Nothing is said: it is enough that a connection is accepted."""

    __slots__ = ("_where", "outgoing")

    def __init__(self, where: str) -> None:
        self._where = where
        self.outgoing = b""

    @override
    def connected(self) -> Answer:
        return ProbeOutcome(ProbeResult.SUCCESS)

    @override
    def received(self, data: bytes) -> Answer:
        return ProbeOutcome(ProbeResult.SUCCESS)

    @override
    def ended(self) -> Answer:
        return ProbeOutcome(ProbeResult.SUCCESS)

    @override
    def failed(self, why: str) -> ProbeOutcome:
        return ProbeOutcome(ProbeResult.FAILURE, why)

    @override
    def given_up(self, timeout: Seconds) -> ProbeOutcome:
        return ProbeOutcome(ProbeResult.FAILURE, f"dial tcp {self._where}: i/o timeout")


class HttpExchange(ProbeExchange):
    """One request, and its answer as far as it matters."""

    __slots__ = ("_page", "_reader", "outgoing")

    def __init__(self, page: HttpPage, request: bytes | None = None) -> None:
        """``request`` is what asks for ``page``, if that is known already."""
        self._page = page
        self._reader = HttpAnswerReader()
        self.outgoing = request_of(page) if request is None else request

    @override
    def connected(self) -> Answer:
        return None

    @override
    def received(self, data: bytes) -> Answer:
        try:
            return self._answer() if self._reader.feed(data) else None
        except HttpAnswerError as error:
            return self.failed(str(error))

    @override
    def ended(self) -> Answer:
        try:
            self._reader.end()
            return self._answer()
        except HttpAnswerError as error:
            return self.failed(str(error))

    @override
    def failed(self, why: str) -> ProbeOutcome:
        return ProbeOutcome(ProbeResult.FAILURE, f'Get "{self._page.url}": {why}'[:MOST_QUOTED])

    @override
    def given_up(self, timeout: Seconds) -> ProbeOutcome:
        awaited = "reading body" if self._reader.status else "awaiting headers"
        return self.failed(
            f"no complete answer within {format_duration(timeout)}"
            f" (Client.Timeout exceeded while {awaited})"
        )

    def _answer(self) -> Answer:
        status = self._reader.status
        if 200 <= status < 300:
            return ProbeOutcome(ProbeResult.SUCCESS, f"HTTP {status}")
        if status in REDIRECTS and self._reader.location:
            return LeadsTo(self._reader.location)
        if 300 <= status < 400:
            return self.not_followed()
        quoted = readable(self._reader.body)
        text = f"HTTP probe failed with statuscode: {status}" + (f": {quoted}" if quoted else "")
        return ProbeOutcome(ProbeResult.FAILURE, text[:MOST_QUOTED])

    def not_followed(self) -> ProbeOutcome:
        """Return the outcome of an answer that leads to where nobody goes on."""
        text = f"Probe terminated redirects, Response body: {readable(self._reader.body)}"
        return ProbeOutcome(ProbeResult.WARNING, text[:MOST_QUOTED])


def readable(data: bytes) -> str:
    """Return what a target said as one line of text, whatever the bytes are."""
    text = data[:MOST_QUOTED].decode("utf-8", "replace")
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())


def words_for(error: OSError) -> str:
    """Return what the system says of an error, without numbers of it."""
    return os.strerror(error.errno).lower() if error.errno else type(error).__name__
