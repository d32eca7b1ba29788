"""Who follows one target: what they are told, and how far they may rely on it.

What was told is vouched for while a stream is open that has shown that it stands: a version that is too
old is said inside of a 200, and what was missed comes there too. When such a stream is left, for whatever
reason, a little time is given for the next one, since streams end every few minutes and brief cuts are
everyday's. Only who is still without one then is told that it fails, with the moment until which it did not.
"""

from __future__ import annotations

import asyncio
from typing import Final

from kube.errors import ApiError
from kube.streams.context import Surroundings
from kube.streams.memory import Subscribers
from kube.streams.queries import attempt
from kube.streams.target_requests import Sending
from messages.api import ApiFailure, FailureKind
from messages.units import Seconds
from messages.watches import ObjectsAre, WatchFact, WatchFailed, WatchRecovered, WatchTarget

NOT_OPEN: Final = "no stream is open yet"
ENDED: Final = "the keeper of watches ended"


class Audience:
    """The subscribers of one target. Lives on the loop."""

    __slots__ = (
        "_patience",
        "_sending",
        "_shared",
        "_since",
        "_target",
        "_timer",
        "_why",
        "subscribers",
    )

    def __init__(self, target: WatchTarget, sending: Sending, shared: Surroundings) -> None:
        """Begin with nobody. ``sending`` says who we are, for sentences."""
        self.subscribers: Subscribers = ()
        self._target = target
        self._sending = sending
        self._shared = shared
        # Until when what was told was vouched for, on the monotonic clock; None while it is, and before
        # anything was told.
        self._since: Seconds | None = None
        # What ended the last stream, if that is known.
        self._why: ApiFailure | None = None
        # For how long from then on subscribers do not hear of it.
        self._patience = Seconds(0.0)
        # Of the end of that, or of the moment at which an open stream is one that stands.
        self._timer: asyncio.TimerHandle | None = None

    @property
    def trouble(self) -> WatchFailed | None:
        """What was told last of why the target is not followed; None while nothing stands."""
        return self._shared.memory.troubles.of(self._target)

    def tell(self, fact: WatchFact) -> None:
        """Tell all subscribers."""
        for subscriber in self.subscribers:
            subscriber.tell(fact)

    def take_list(self, listed: ObjectsAre) -> None:
        """Tell everything that there is, which is true at this moment."""
        self._leave(self._shared.rules.listed_for)
        self._await_stream()
        self.tell(listed)

    def take_opening(self) -> None:
        """Note that a stream is open."""
        self.close()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._shared.rules.settled_after, self._settle)

    def take_end(self) -> None:
        """Note that the stream is not open any more."""
        if self._since is None:
            self._leave(self._shared.rules.doubtful_after)
        self._await_stream()

    def take_reason(self, verb: str, error: ApiError) -> None:
        """Note why there is no stream, which is nothing to tell yet."""
        self._why = self._failure(verb, error)

    def take_failure(self, verb: str, error: ApiError) -> None:
        """Note that an attempt failed, and tell that if it is news."""
        self.close()
        fact = self._fact(self._failure(verb, error))
        if self._shared.memory.troubles.note(fact, self._server):
            self.tell(fact)

    def take_leave(self) -> None:
        """Tell that nothing is vouched for from here on, unless something stands: the keeper ends."""
        self.close()
        if self.trouble is None:
            if self._since is None:
                self._leave(Seconds(0.0))
            self.take_reason("watch", ApiError(ENDED, kind=FailureKind.LOST))
            self._doubt()

    def close(self) -> None:
        """Wait for nothing any more."""
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _leave(self, patience: Seconds) -> None:
        self._since, self._why = self._shared.clock.monotonic(), None
        self._patience = patience

    def _await_stream(self) -> None:
        self.close()
        # Without subscribers it was stopped, and this is the end of its last stream.
        if self.subscribers and self.trouble is None and self._since is not None:
            left = self._since + self._patience - self._shared.clock.monotonic()
            self._timer = asyncio.get_running_loop().call_later(max(0.0, left), self._doubt)

    def _settle(self) -> None:
        self._timer = self._since = self._why = None
        if self._shared.memory.troubles.recover(self._target):
            self.tell(WatchRecovered(target=self._target))

    def _doubt(self) -> None:
        self._timer = None
        not_open = ApiError(NOT_OPEN, kind=FailureKind.TIMEOUT)
        fact = self._fact(self._why or self._failure("watch", not_open))
        self._shared.memory.troubles.doubt(fact, self._server)
        self.tell(fact)

    def _fact(self, failure: ApiFailure) -> WatchFailed:
        return WatchFailed(target=self._target, failure=failure, since=self._since)

    def _failure(self, verb: str, error: ApiError) -> ApiFailure:
        return error.failure(attempt(verb, self._target), self._sending.access)

    @property
    def _server(self) -> str:
        """Which one was asked last; empty when the credentials could not be read."""
        access = self._sending.access
        return access.server if access is not None else ""
