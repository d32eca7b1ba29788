"""What the subscribers of one target are told, and how far they may rely on it.

What subscribers were told counts as current while a stream is open and confirmed. A stream is confirmed
once it has been open for a moment: the server reports a version that is too old inside a 200, and missed
events come there too. When a confirmed stream ends, a short time is allowed for the next one: streams end
every few minutes, and brief cuts are common. Only if there is still none are subscribers told that the
target fails, and until when what they know was current.
"""

from __future__ import annotations

import asyncio
from typing import Final

from kube.errors import ApiError
from kube.streams.queries import attempt
from kube.streams.shared import SubscriberPorts, WatchContext
from kube.streams.target_requests import TargetRequests
from messages.api import ApiFailure, FailureKind
from messages.units import Seconds
from messages.watches import ObjectsAre, WatchFact, WatchFailed, WatchRecovered, WatchTarget

NOT_OPEN: Final = "no stream is open yet"
ENDED: Final = "the keeper of watches ended"


class Subscribers:
    """The subscribers of one target. Lives on the loop."""

    __slots__ = (
        "_context",
        "_current_until",
        "_reason",
        "_requests",
        "_target",
        "_tell_after",
        "_timer",
        "ports",
    )

    def __init__(
        self, target: WatchTarget, requests: TargetRequests, context: WatchContext
    ) -> None:
        """Start with no subscribers. ``requests`` says who the agent is, for sentences."""
        self.ports: SubscriberPorts = ()
        self._target = target
        self._requests = requests
        self._context = context
        # Until when what was told was current, on the monotonic clock. None while it is current, and
        # before anything was told.
        self._current_until: Seconds | None = None
        # Why the last stream ended, if that is known.
        self._reason: ApiFailure | None = None
        # How long after that subscribers are told.
        self._tell_after = Seconds(0.0)
        # Runs out when they are to be told, or when an open stream is confirmed.
        self._timer: asyncio.TimerHandle | None = None

    @property
    def failed(self) -> WatchFailed | None:
        """The last failure that subscribers were told of; None when the target does not fail."""
        return self._context.memory.failures.of(self._target)

    def tell(self, fact: WatchFact) -> None:
        """Tell all subscribers."""
        for subscriber in self.ports:
            subscriber.tell(fact)

    def on_list(self, listed: ObjectsAre) -> None:
        """Tell all objects of the target: they are current at this moment."""
        self._no_longer_current(self._context.rules.uncertain_after_list)
        self._expect_stream()
        self.tell(listed)

    def on_stream_opened(self) -> None:
        """Note that a stream is open. It is confirmed a little later."""
        self.close()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._context.rules.confirmed_after, self._confirm)

    def on_stream_ended(self) -> None:
        """Note that the stream is no longer open."""
        if self._current_until is None:
            self._no_longer_current(self._context.rules.uncertain_after)
        self._expect_stream()

    def on_reason(self, verb: str, error: ApiError) -> None:
        """Note why there is no stream. Nothing is told yet."""
        self._reason = self._failure(verb, error)

    def on_attempt_failed(self, verb: str, error: ApiError) -> None:
        """Note that an attempt failed, and tell subscribers if that is news."""
        self.close()
        fact = self._fact(self._failure(verb, error))
        if self._context.memory.failures.note(fact, self._server):
            self.tell(fact)

    def on_keeper_ended(self) -> None:
        """Tell subscribers that nothing is current from now on, unless they know of a failure already."""
        self.close()
        if self.failed is None:
            if self._current_until is None:
                self._no_longer_current(Seconds(0.0))
            self.on_reason("watch", ApiError(ENDED, kind=FailureKind.LOST))
            self._tell_uncertain()

    def close(self) -> None:
        """Stop the timer."""
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _no_longer_current(self, tell_after: Seconds) -> None:
        self._current_until, self._reason = self._context.clock.monotonic(), None
        self._tell_after = tell_after

    def _expect_stream(self) -> None:
        self.close()
        # Without subscribers the watch was stopped, and this is the end of its last stream.
        if self.ports and self.failed is None and self._current_until is not None:
            left = self._current_until + self._tell_after - self._context.clock.monotonic()
            self._timer = asyncio.get_running_loop().call_later(
                max(0.0, left), self._tell_uncertain
            )

    def _confirm(self) -> None:
        self._timer = self._current_until = self._reason = None
        if self._context.memory.failures.recover(self._target):
            self.tell(WatchRecovered(target=self._target))

    def _tell_uncertain(self) -> None:
        self._timer = None
        not_open = ApiError(NOT_OPEN, kind=FailureKind.TIMEOUT)
        fact = self._fact(self._reason or self._failure("watch", not_open))
        self._context.memory.failures.note_uncertain(fact, self._server)
        self.tell(fact)

    def _fact(self, failure: ApiFailure) -> WatchFailed:
        return WatchFailed(target=self._target, failure=failure, since=self._current_until)

    def _failure(self, verb: str, error: ApiError) -> ApiFailure:
        return error.failure(attempt(verb, self._target), self._requests.access)

    @property
    def _server(self) -> str:
        """The server that was asked last; empty when the credentials could not be read."""
        access = self._requests.access
        return access.server if access is not None else ""
