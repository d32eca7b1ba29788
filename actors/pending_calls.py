"""Calls to the API server that one life of an actor has sent and not yet seen answered.

An actor that sends ``CallApi`` and hears ``ApiAnswered`` keeps its calls in a ``PendingCalls``::

    self._calls = PendingCalls[Step](ports.calls, self.after)  # in the constructor

    self._calls.send(step, request, self.me)                   # whenever there is something to ask

    case ApiAnswered(outcome=outcome):
        step = self._calls.take(message)
        if step is not None:                                   # None: a late answer, ignore it
            ...

The type parameter is what the actor wants to remember with a call: usually the step that it made.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from kernel import Port, Timer
from messages.api import (
    REQUEST_DEADLINE,
    ApiAnswered,
    ApiFailure,
    ApiRequest,
    CallApi,
    FailureKind,
    Retry,
)
from messages.units import Seconds

ANSWER_WITHIN: Final = Seconds(60.0)
"""How long an answer is waited for. The request itself may take 10 s; the rest is the rate limit."""
HEARTBEAT_WITHIN: Final = Seconds(20.0)
"""The same for calls about the Node and its Lease, which are sent before all others."""

P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class _Pending(Generic[P]):
    purpose: P
    overdue: Timer


class PendingCalls(Generic[P]):
    """Sends calls, matches answers with them, and gives up those that nobody answers.

    Refs: ``send`` gives each call the next number, counted from 1 in each life of the actor.

    Late answers: ``take`` returns None for every answer whose call is not pending any more: it was
    answered before, given up at its deadline, or dropped by ``forget``. Such an answer changes nothing.

    Deadline: an answer is missing only when the sender of calls crashed over the call. After
    ``answer_within`` the actor is told an ``ApiAnswered`` of kind LOST, to be retried after a delay. It
    is taken like any other answer. The request may have had its effect.

    Crash: the calls belong to one life. ``reply_to`` is the port of that life (``self.me``), so answers
    to it and its timers end with it. The next life starts without calls, cannot know what became of
    those before, and has to find out what it needs to know.
    """

    def __init__(
        self,
        port: Port[CallApi],
        after: Callable[[Seconds, ApiAnswered], Timer],
        answer_within: Seconds = ANSWER_WITHIN,
    ) -> None:
        self._port = port
        self._after = after
        self._answer_within = answer_within
        self._pending: dict[Hashable, _Pending[P]] = {}
        self._last_ref = 0

    def __len__(self) -> int:
        """Return how many calls are pending."""
        return len(self._pending)

    def purposes(self) -> tuple[P, ...]:
        """Return what the pending calls are for, the oldest first."""
        return tuple(pending.purpose for pending in self._pending.values())

    def send(
        self,
        purpose: P,
        request: ApiRequest,
        reply_to: Port[ApiAnswered],
        *,
        deadline: Seconds = REQUEST_DEADLINE,
    ) -> None:
        """Send ``request`` and remember its ``purpose``. ``deadline`` is the request's own, as in CallApi."""
        self._last_ref += 1
        call = CallApi(request=request, reply_to=reply_to, ref=self._last_ref, deadline=deadline)
        overdue = self._after(self._answer_within, lost(call, self._answer_within))
        self._pending[self._last_ref] = _Pending(purpose, overdue)
        self._port.tell(call)

    def take(self, answer: ApiAnswered) -> P | None:
        """Return the purpose of the call that ``answer`` is for, which ends it; None for a late answer."""
        pending = self._pending.pop(answer.ref, None)
        if pending is None:
            return None
        pending.overdue.cancel()
        return pending.purpose

    def forget(self) -> None:
        """Drop all pending calls: their answers will be ignored."""
        for pending in self._pending.values():
            pending.overdue.cancel()
        self._pending.clear()


def lost(call: CallApi, within: Seconds) -> ApiAnswered:
    """Return the answer to a ``call`` that nobody answered ``within`` that time."""
    failure = ApiFailure(
        kind=FailureKind.LOST,
        retry=Retry.AFTER_DELAY,
        sentence=f"nobody answered within {within:g} s",
    )
    return ApiAnswered(request=call.request, ref=call.ref, outcome=failure)
