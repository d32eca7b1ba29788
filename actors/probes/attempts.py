"""Attempts in progress over sockets: one epoll for all of them, and until when each may take.

An attempt goes on by itself: to the next address of its name, to where an answer leads. It ends by one
outcome.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

import structlog

from actors.probes.connections import (
    EVENTS,
    HTTP2,
    Connect,
    ProbeConnection,
    Progress,
    UnreachableTarget,
)
from actors.probes.exchanges import HttpExchange, LeadsTo, ProbeExchange
from actors.probes.http_messages import HttpPage, UnusableLocationError, led_to
from actors.probes.names import HostAddresses, HostNames
from actors.probes.preparing import PreparedProbe, address_of, exchange_of, family_of
from actors.probes.tick_queue import TickQueue
from actors.probes.watched import WatchedProbe
from messages.probing import ProbeOutcome, ProbeResult
from messages.units import Seconds


class EventFd:
    """A descriptor that becomes readable by a signal. Its number stays taken while anybody has it.

    So a thread that signals late, when the loop is gone, never writes to what got the same number since.
    """

    __slots__ = ("fd",)

    def __init__(self) -> None:
        self.fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def signal(self) -> None:
        """Make it readable. May be called from any thread."""
        os.eventfd_write(self.fd, 1)

    def clear(self) -> None:
        """Make it wait for the next signal. Only called when it is readable."""
        os.eventfd_read(self.fd)

    def __del__(self) -> None:
        os.close(self.fd)


MOST_REDIRECTS: Final = 10
MOST_EVENTS: Final = 4_096
"""That are taken at a time. If there are more, nobody is given up before all were looked at."""

Ended: TypeAlias = Callable[[WatchedProbe, ProbeOutcome], None]

_log = structlog.get_logger("probes")


@dataclass(slots=True, eq=False)
class Attempt:
    """One attempt of a probe."""

    watched: WatchedProbe
    host: str
    port: int
    page: HttpPage | None
    exchange: ProbeExchange
    deadline: Seconds
    stalled: Seconds
    """What had been lost to stalls when the deadline was set."""
    is_tls_call: bool
    """It is a call of gRPC over TLS."""
    is_reset: bool
    """Connections are broken off at their end."""
    tick: int = 0
    connection: ProbeConnection | None = None
    addresses: tuple[str, ...] = ()
    """That are left to be tried."""
    redirects: int = 0


class Attempts:
    """What is in progress. Belongs to one thread."""

    def __init__(
        self,
        ended: Ended,
        event_fd: EventFd,
        names: HostNames,
        connect: Connect = ProbeConnection,
    ) -> None:
        """``ended`` is called once for each ``begin``, unless that is given up. ``event_fd`` ends waiting."""  # noqa: D401
        self._ended = ended
        self._event_fd = event_fd
        self._make_connection = connect
        self._epoll = select.epoll()
        self._epoll.register(event_fd.fd, select.EPOLLIN)
        self._by_fd: dict[int, Attempt] = {}
        self._in_progress: dict[WatchedProbe, Attempt] = {}
        self._deadlines: TickQueue[Attempt] = TickQueue()
        self._names = names
        self._waiting: dict[str, list[Attempt]] = {}
        """Attempts whose host is being looked up."""
        self._stalled = Seconds(0.0)
        """How long the thread could not run, in all."""

    @property
    def fd(self) -> int:
        """The number of the epoll."""
        return self._epoll.fileno()

    def next_deadline(self) -> Seconds | None:
        """Return when somebody is to be given up next; None if nobody is."""
        return self._deadlines.next_due()

    def close(self) -> None:
        """Drop everything."""
        for attempt in tuple(self._in_progress.values()):
            self._drop(attempt)
        self._epoll.close()

    # --- beginning and ending --------------------------------------------------------------------------

    def begin(
        self, watched: WatchedProbe, prepared: PreparedProbe, now: Seconds, *, is_reset: bool
    ) -> None:
        """Begin an attempt. It may end before this returns.

        With ``is_reset`` its connections leave no port in use when they are closed.
        """
        attempt = Attempt(
            watched=watched,
            host=prepared.host,
            port=prepared.port,
            page=prepared.page,
            exchange=exchange_of(prepared),
            deadline=Seconds(now + watched.spec.timeout),
            stalled=self._stalled,
            is_tls_call=prepared.is_tls_call,
            is_reset=is_reset,
        )
        self._in_progress[watched] = attempt
        attempt.tick = self._deadlines.add(attempt.deadline, attempt)
        self._guarded(attempt, partial(self._find, attempt, now))

    def give_up(self, watched: WatchedProbe) -> None:
        """End an attempt, if there is one, without an outcome."""
        attempt = self._in_progress.get(watched)
        if attempt is not None:
            self._drop(attempt)

    def judge(self, now: Seconds) -> None:
        """End what has taken too long. What was lost to stalls does not count."""
        for attempt in self._deadlines.take_due(now):
            lost = self._stalled - attempt.stalled
            if lost > 0:
                attempt.stalled = self._stalled
                attempt.deadline = Seconds(attempt.deadline + lost)
                attempt.tick = self._deadlines.add(attempt.deadline, attempt)
            else:
                self._end(attempt, attempt.exchange.given_up(attempt.watched.spec.timeout))

    def note_stall(self, lost: Seconds) -> None:
        """Note that the thread could not run. Targets are given that time in addition."""
        self._stalled = Seconds(self._stalled + lost)

    def _end(self, attempt: Attempt, outcome: ProbeOutcome) -> None:
        self._drop(attempt)
        self._ended(attempt.watched, outcome)

    def _drop(self, attempt: Attempt) -> None:
        self._in_progress.pop(attempt.watched, None)
        self._deadlines.discard(attempt.tick, attempt)
        self._disconnect(attempt)

    def _disconnect(self, attempt: Attempt) -> None:
        closing, attempt.connection = attempt.connection, None
        if closing is not None:
            self._by_fd.pop(closing.fd, None)
            closing.close()

    def _guarded(self, attempt: Attempt, step: Callable[[], None]) -> None:
        """Take a step. A bug in it ends this attempt, and no other."""
        try:
            step()
        except Exception as bug:  # noqa: BLE001  # whatever a target sends is about one probe alone
            _log.exception("the agent failed over a probe", probe=tuple(attempt.watched.key))
            text = f"the agent failed over it: {type(bug).__name__}"
            self._end(attempt, ProbeOutcome(ProbeResult.UNKNOWN, text))

    # --- going on --------------------------------------------------------------------------------------

    def poll(self, wait: float | None) -> list[tuple[int, int]]:
        """Wait until a socket has something, the descriptor is signalled, or ``wait`` seconds are over."""
        return self._epoll.poll(wait, MOST_EVENTS)

    def proceed(self, events: list[tuple[int, int]], now: Seconds) -> None:
        """Go on with those whose sockets have something, or whose host has been looked up."""
        for fd, mask in events:
            attempt = self._by_fd.get(fd)
            if attempt is not None:
                self._guarded(attempt, partial(self._continue, attempt, mask))
            elif fd == self._event_fd.fd:
                self._event_fd.clear()
        for host, found in self._names.take(now):
            for attempt in self._waiting.pop(host, ()):
                if self._in_progress.get(attempt.watched) is attempt:
                    self._guarded(attempt, partial(self._take_addresses, attempt, found))

    def _continue(self, attempt: Attempt, mask: int) -> None:
        assert attempt.connection is not None  # noqa: S101  # it was found by its descriptor
        progress = attempt.connection.proceed(mask)
        if progress is not None:
            self._take(attempt, progress)

    def _find(self, attempt: Attempt, now: Seconds) -> None:
        """Go on with the addresses of the host."""
        if family_of(attempt.host) is not None:
            self._connect(attempt, attempt.host)
        elif found := self._names.find(attempt.host, now):
            self._take_addresses(attempt, found)
        else:
            self._waiting.setdefault(attempt.host, []).append(attempt)

    def _take_addresses(self, attempt: Attempt, found: HostAddresses) -> None:
        if not found.addresses:
            text = f"dial tcp: lookup {attempt.host}: {found.why}"
            self._end(attempt, attempt.exchange.failed(text))
            return
        attempt.addresses = found.addresses[1:]
        self._connect(attempt, found.addresses[0])

    def _connect(self, attempt: Attempt, address: str) -> None:
        page, name = attempt.page, "" if attempt.is_tls_call else None
        if page is not None and page.is_https:
            name = "" if family_of(page.host) else page.host
        connection = self._make_connection(
            attempt.exchange,
            address_of(address, attempt.port),
            is_reset=attempt.is_reset,
            tls_name=name,
            speaks=HTTP2 if attempt.is_tls_call else (),
        )
        attempt.connection = connection
        progress = connection.open()
        if progress is None:
            self._by_fd[connection.fd] = attempt
            self._epoll.register(connection.fd, EVENTS)
        else:
            self._take(attempt, progress)

    def _take(self, attempt: Attempt, progress: Progress) -> None:
        """Take what was learned: the end, or where to go on."""
        self._disconnect(attempt)
        if isinstance(progress, ProbeOutcome):
            self._end(attempt, progress)
        elif isinstance(progress, LeadsTo):
            self._follow(attempt, progress.location)
        elif progress is not None:
            self._try_next(attempt, progress)

    def _try_next(self, attempt: Attempt, trouble: UnreachableTarget) -> None:
        if not attempt.addresses:
            self._end(attempt, trouble.outcome)
            return
        address, *left = attempt.addresses
        attempt.addresses = tuple(left)
        self._connect(attempt, address)

    def _follow(self, attempt: Attempt, location: str) -> None:
        page, exchange = attempt.page, attempt.exchange
        assert page is not None  # noqa: S101  # only pages lead elsewhere
        assert isinstance(exchange, HttpExchange)  # noqa: S101  # the same
        attempt.redirects += 1
        if attempt.redirects >= MOST_REDIRECTS:
            self._end(attempt, exchange.failed(f"stopped after {MOST_REDIRECTS} redirects"))
            return
        try:
            following = led_to(page, location)
        except UnusableLocationError as error:
            self._end(attempt, exchange.failed(str(error)))
            return
        if following is None:
            self._end(attempt, exchange.not_followed())
            return
        attempt.page, attempt.port = following, following.port
        attempt.exchange = HttpExchange(following)
        # The host is the same, and its name has just been looked up.
        self._find(attempt, Seconds(0.0))
