"""The watches of one life of the agent: what they tell is under way for a while; what ended is replaced."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

from typing_extensions import override

from messages.api import ApiFailure
from messages.port import Port
from messages.units import Seconds
from messages.watches import WatchFailed
from tests.environment.outside import Outside
from tests.support.apiserver.fake_watches import FakeWatches, Followed
from tests.support.apiserver.store import ApiStore

T = TypeVar("T")

LAGS: Final = (0.0, 0.0, 0.001, 0.02)
"""Seconds for which something is under way."""
REPLACED_AFTER: Final = (0.05, 0.7)
"""Seconds after which there is another stream for one that has ended."""
TRIED_AGAIN_AFTER: Final = (1.0, 5.0, 20.0)
"""Seconds after which a watch that failed is tried again."""


class Streams(FakeWatches):
    """Tells in order what changes, a moment later. What failed is resumed or listed anew by itself."""

    def __init__(self, store: ApiStore, node: str, outside: Outside, luck: random.Random) -> None:
        super().__init__(store, node)
        self._outside = outside
        self._luck = luck
        self._under_way: deque[Callable[[], None]] = deque()
        self._is_closed = False
        self._lags = False
        self.lists = 0
        """How many lists there were."""

    def close(self) -> None:
        """Have nobody told anything any more."""
        self._is_closed = True
        self._under_way.clear()
        for followed in self._all():
            self._stop(followed)

    def end(self) -> None:
        """Have every stream end. A moment later there are others, which go on from there if they can."""
        for followed in self._all():
            if followed.stop is not None:
                self._stop(followed)
                self._later(followed, self._luck.choice(REPLACED_AFTER))

    def go_away(self, failure: ApiFailure) -> None:
        """Have the API server give no answer any more."""
        self.break_off(failure)

    def come_back(self) -> None:
        """Have it answer again: what failed is tried again after a while."""
        self._broken = None

    def lag(self) -> None:
        """Have nothing arrive that changes from now on."""
        self._lags = True

    def catch_up(self) -> None:
        """Have all of that arrive now, in order."""
        self._lags = False
        while self._under_way:
            self._deliver()

    def _later(self, followed: Followed, seconds: float) -> None:
        self._outside.later(seconds, partial(self._try_again, followed, followed.lists))

    def _try_again(self, followed: Followed, number: int) -> None:
        if self._is_closed or followed.lists != number or followed not in self._all():
            return
        if self._broken is not None:
            self._fail(followed, self._broken)
        elif self._store.remembers(followed.version):
            self._follow(followed)
            self._recover(followed)
        else:
            self._list(followed)

    @override
    def _list(self, followed: Followed) -> None:
        self.lists += 1
        super()._list(followed)

    @override
    def _fail(self, followed: Followed, failure: ApiFailure) -> None:
        super()._fail(followed, failure)
        self._later(followed, self._luck.choice(TRIED_AGAIN_AFTER))

    @override
    def _stop(self, followed: Followed) -> None:
        if followed.stop is not None:
            followed.since = self._outside.now
        super()._stop(followed)

    @override
    def _tell_failure(self, followed: Followed, failure: ApiFailure) -> None:
        since = None if followed.since is None else Seconds(followed.since)
        fact = WatchFailed(target=followed.target, failure=failure, since=since)
        self._tell(followed.subscriber, fact)

    @override
    def _tell(self, port: Port[T], fact: T) -> None:
        lag = self._luck.choice(LAGS)
        if lag or self._under_way or self._lags:
            self._under_way.append(partial(port.tell, fact))
            if not self._lags:
                self._outside.later(lag, self._deliver)
        elif not self._is_closed:
            port.tell(fact)

    def _deliver(self) -> None:
        if self._under_way:
            self._under_way.popleft()()
