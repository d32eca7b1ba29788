"""Calls to the API server, as operations, and what to do while it cannot be asked.

The sender answers each call once. Only if it crashed over one nobody does: then the outcome is a failure of
kind LOST, to be tried again after a delay. The request may have had its effect.

An outage says nothing about any object: the same request makes sense again later.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from structlog.typing import FilteringBoundLogger

from kernel import Alarm, Backoff, CallLane, LateError, Operation, Port, call
from messages.api import (
    REQUEST_DEADLINE,
    ApiAnswered,
    ApiFailure,
    ApiRequest,
    CallApi,
    FailureKind,
    Retry,
)
from messages.pods import JsonObject
from messages.units import Seconds

ANSWER_WITHIN: Final = Seconds(60.0)
"""How long an answer is waited for. The request itself may take 10 s; the rest is the rate limit."""
HEARTBEAT_WITHIN: Final = Seconds(20.0)
"""The same for calls about the Node and its Lease, which are sent before all others."""

NOT_ASKED: Final = frozenset(
    {
        FailureKind.UNREACHABLE,
        FailureKind.TIMEOUT,
        FailureKind.LOST,
        FailureKind.MALFORMED,
        FailureKind.THROTTLED,
        FailureKind.SERVER_ERROR,
        FailureKind.CREDENTIALS,
        FailureKind.UNAUTHORIZED,
    }
)

IN_FLIGHT_LIMIT: Final = 16
"""Calls in flight. So a thousand things at a start leave room for the agent's other calls."""

OUTAGE_BACKOFF: Final = Backoff(initial=Seconds(1.0), cap=Seconds(7.0), jitter=Seconds(0.5))
"""During an outage: one request for all things together, so its waits can be those of the Node (rule N1)."""


def api_call(
    port: Port[CallApi],
    request: ApiRequest,
    *,
    within: Seconds = ANSWER_WITHIN,
    deadline: Seconds = REQUEST_DEADLINE,
    lane: CallLane | None = None,
) -> Operation[JsonObject | ApiFailure]:
    """Send ``request``, when there is room in ``lane``, and return the object, or why there is none.

    ``deadline`` is the request's own, as in ``CallApi``; an answer is waited for ``within`` that time.
    """

    def question(reply: Port[ApiAnswered]) -> CallApi:
        return CallApi(request=request, reply_to=reply, deadline=deadline)

    try:
        answered = yield from call(port, question, ApiAnswered, within, lane)
    except LateError:
        sentence = f"nobody answered within {within:g} s"
        return ApiFailure(kind=FailureKind.LOST, retry=Retry.AFTER_DELAY, sentence=sentence)
    return answered.outcome


def is_outage(failure: ApiFailure) -> bool:
    """Return whether ``failure`` says nothing about its object: the API server could not be asked.

    A 500 is no outage: a required webhook that does not answer causes it for one kind of request.
    """
    return failure.kind in NOT_ASKED and failure.status != HTTPStatus.INTERNAL_SERVER_ERROR


def pause(backoff: Backoff, failures: int, failure: ApiFailure | None = None) -> Seconds:
    """Return how long to wait after ``failures`` in a row: longer if the server asks for it."""
    wished = failure.retry_after if failure is not None and failure.retry_after else Seconds(0.0)
    return max(backoff.delay(failures), wished)


class ApiOutage:
    """Whether the API server can be asked, for an actor that asks about many things at once.

    An outage concerns all of them. While it lasts, one call is tried from time to time, for whichever thing
    is next, and the others wait.
    """

    def __init__(self, pause_over: Alarm, log: FilteringBoundLogger, waiting: str) -> None:
        """``pause_over`` rings when the next call may be made.

        ``waiting`` is the actor's line of the log when an outage begins.
        """
        self._pause = pause_over
        self._log = log
        self._waiting = waiting
        self._attempts = 0
        """How many in a row did not reach the API server."""

    def has_room(self, in_flight: int) -> bool:
        """Return whether one more call may be made while so many are in flight."""
        if self._pause.due is not None:
            return False
        return in_flight < (1 if self._attempts else IN_FLIGHT_LIMIT)

    def note_failure(self, failure: ApiFailure) -> None:
        """Have no calls made for a while. Failures of calls that were in flight belong to the same outage."""
        if self._pause.due is not None:
            return
        if not self._attempts:
            self._log.warning(self._waiting, error=failure.sentence)
        self._attempts += 1
        self._pause.after(pause(OUTAGE_BACKOFF, self._attempts, failure))

    def note_answer(self) -> None:
        """End the outage, since the API server answers."""
        self._attempts = 0
        self._pause.at(None)
