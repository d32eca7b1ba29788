"""A call to the API server, as an operation.

The sender answers each call once. Only if it crashed over one nobody does: then the outcome is a failure of
kind LOST, to be tried again after a delay. The request may have had its effect.
"""

from __future__ import annotations

from typing import Final

from kernel import LateError, Operation, Port, call
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


def api_call(
    port: Port[CallApi],
    request: ApiRequest,
    *,
    within: Seconds = ANSWER_WITHIN,
    deadline: Seconds = REQUEST_DEADLINE,
) -> Operation[JsonObject | ApiFailure]:
    """Send ``request`` and return the object, or why there is none.

    ``deadline`` is the request's own, as in ``CallApi``; an answer is waited for ``within`` that time.
    """

    def question(reply: Port[ApiAnswered]) -> CallApi:
        return CallApi(request=request, reply_to=reply, deadline=deadline)

    try:
        answered = yield from call(port, question, ApiAnswered, within)
    except LateError:
        sentence = f"nobody answered within {within:g} s"
        return ApiFailure(kind=FailureKind.LOST, retry=Retry.AFTER_DELAY, sentence=sentence)
    return answered.outcome
