"""The answer that an actor gives itself to a call that nobody will answer any more.

Each call is answered, by whoever sends it. Only the one that the sender is just taking in when it crashes
is lost with it, and who waits for its answer would wait for ever.
"""

from __future__ import annotations

from typing import Final

from messages.api import ApiAnswered, ApiFailure, CallApi, FailureKind, Retry
from messages.units import Seconds

ANSWER_WITHIN: Final = Seconds(60.0)
"""A call's own deadline is 10 s; what else it waits for is the rate limit."""
LIFELINE_WITHIN: Final = Seconds(20.0)
"""The same for calls about the Node and its Lease, which go before all others."""


def unanswered(call: CallApi, within: Seconds) -> ApiAnswered:
    """Return what to tell oneself ``within`` so long: that ``call`` is lost, and may have arrived."""
    lost = ApiFailure(
        kind=FailureKind.LOST,
        retry=Retry.AFTER_DELAY,
        sentence=f"nobody answered within {within:g} s",
    )
    return ApiAnswered(request=call.request, ref=call.ref, outcome=lost)
