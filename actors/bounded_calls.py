"""Calls to the API server about many things at once: how many are in flight, and what an outage stops.

An outage concerns all of them. While it lasts, one call is tried from time to time, for whichever thing is
next, and the others wait. This is a part of one life of an actor, as ``PendingCalls`` is, on which it is
built.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Final, Generic, TypeVar

from structlog.typing import FilteringBoundLogger

from actors.outages import NOT_ASKED
from actors.pending_calls import PendingCalls
from kernel import Backoff, Timer
from messages.api import ApiAnswered, ApiFailure, ApiRequest, CallApi
from messages.port import Port
from messages.units import Seconds

IN_FLIGHT_LIMIT: Final = 16
"""Calls in flight. So a thousand things at a start leave room for the agent's other calls."""

OUTAGE_BACKOFF: Final = Backoff(initial=Seconds(1.0), cap=Seconds(7.0), jitter=Seconds(0.5))
"""During an outage: one request for all things together, so its waits can be those of the Node (rule N1)."""

P = TypeVar("P")
D = TypeVar("D")


def is_outage(failure: ApiFailure) -> bool:
    """Return whether ``failure`` says nothing about its object: the API server could not be asked.

    A 500 is no outage: a required webhook that does not answer causes it for one kind of request.
    """
    return failure.kind in NOT_ASKED and failure.status != HTTPStatus.INTERNAL_SERVER_ERROR


def pause(backoff: Backoff, failures: int, failure: ApiFailure | None = None) -> Seconds:
    """Return how long to wait after ``failures`` in a row: longer if the server asks for it."""
    wished = failure.retry_after if failure is not None and failure.retry_after else Seconds(0.0)
    return max(backoff.delay(failures), wished)


class BoundedCalls(Generic[P, D]):
    """The calls that are in flight, each with its purpose. ``over`` is told when a pause ends."""

    def __init__(
        self,
        port: Port[CallApi],
        after: Callable[[Seconds, ApiAnswered | D], Timer],
        over: D,
        log: FilteringBoundLogger,
        waiting: str,
    ) -> None:
        """Keep what belongs to the actor. ``waiting`` is its line of the log when an outage begins."""
        self._after = after
        self._over = over
        self._log = log
        self._waiting = waiting
        self._pending = PendingCalls[P](port, after)
        self._outage_len = 0
        """How many attempts in a row did not reach the API server."""
        self._pause: Timer | None = None

    @property
    def has_room(self) -> bool:
        """Whether one more call may be made."""
        if self._pause is not None:
            return False
        return len(self._pending) < (1 if self._outage_len else IN_FLIGHT_LIMIT)

    def send(self, purpose: P, request: ApiRequest, reply_to: Port[ApiAnswered]) -> None:
        """Send ``request``; the answer goes to ``reply_to``."""
        self._pending.send(purpose, request, reply_to)

    def take(self, answer: ApiAnswered) -> P | None:
        """Return what the call that ``answer`` is for was made for; None for a late answer."""
        return self._pending.take(answer)

    def note_outage(self, failure: ApiFailure) -> None:
        """Send no calls for a while. Failures of calls that were in flight belong to the same outage."""
        if self._pause is not None:
            return
        if not self._outage_len:
            self._log.warning(self._waiting, error=failure.sentence)
        self._outage_len += 1
        self._pause = self._after(pause(OUTAGE_BACKOFF, self._outage_len, failure), self._over)

    def end_pause(self) -> None:
        """Let the next call be sent."""
        self._pause = None

    def note_answer(self) -> None:
        """End the outage, since the API server answers."""
        self._outage_len = 0
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
