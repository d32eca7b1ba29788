"""Whether requests may be sent over one connection. After it broke, one request probes it for all.

A hundred streams lose their connection at the same moment. If each dialled and backed off by itself, they
would come back late. Here one request is the probe, at most one every second or two. When it is answered
the others return, spread over some seconds. When it fails, all others fail with the same error.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass

from kube.errors import ApiError
from kube.streams.next_round import probe_at, spread
from kube.streams.rules import WatchRules
from messages.units import Seconds


class ConnectionLostError(ApiError):
    """There is no connection, or it broke. ``was_sent`` says whether a request was sent over it."""

    def __init__(self, error: ApiError, *, was_sent: bool) -> None:
        super().__init__(error.text, kind=error.kind)
        self.was_sent = was_sent


@dataclass(frozen=True, slots=True)
class Permit:
    """Permission to send one request."""

    generation: int
    """Counts how often the connection broke before."""
    is_probe: bool


class CircuitBreaker:
    """The circuit breaker of one connection. Closed, it lets all requests through. Lives on the loop."""

    def __init__(self, rules: WatchRules, chance: random.Random) -> None:
        self._rules = rules
        self._chance = chance
        self._generation = 0
        self._is_closed = True
        self._probe: Permit | None = None
        self._probe_timer: asyncio.TimerHandle | None = None
        self._last_probe = float("-inf")
        self._probe_at = 0.0
        self._waiters: set[asyncio.Future[bool]] = set()
        self._spread = Seconds(0.0)

    async def acquire(self) -> Permit:
        """Return once a request may be sent. Raises ``ConnectionLostError`` when a probe fails meanwhile."""
        while not self._is_closed:
            if self._probe is None:
                return await self._become_probe()
            if await self._closed():
                await asyncio.sleep(self._chance.uniform(0.0, self._spread))
        return Permit(self._generation, is_probe=False)

    def is_valid(self, permit: Permit) -> bool:
        """Return whether ``permit`` still holds. It does not if the connection broke after it was given."""
        return permit.generation == self._generation and (self._is_closed or permit.is_probe)

    def on_answer(self, permit: Permit) -> None:
        """Note that a request was answered, with whatever status."""
        if permit.is_probe and permit.generation == self._generation and not self._is_closed:
            self._is_closed = True
            self._end_probe()
            self._spread = spread(len(self._waiters), self._rules)
            self._wake(result=True)

    def on_failure(self, permit: Permit, error: ApiError) -> None:
        """Note that the connection broke under a request or its stream.

        A permit of an earlier generation changes nothing: that connection is known to be broken.
        """
        if permit.generation != self._generation:
            return
        if self._is_closed:
            self._is_closed = False
            self._generation += 1
            self._plan_probe()
        elif permit is self._probe:
            self._end_probe()
            self._plan_probe()
            self._wake(error=error)

    async def _become_probe(self) -> Permit:
        permit = self._probe = Permit(self._generation, is_probe=True)
        loop = asyncio.get_running_loop()
        try:
            await asyncio.sleep(self._probe_at - loop.time())
        except asyncio.CancelledError:
            self._next_probe()
            raise
        self._last_probe = loop.time()
        # The others must not wait long for a slow answer (to a large list, perhaps), nor for a request
        # that is given up before it is sent.
        self._probe_timer = loop.call_later(self._rules.longest_probe, self._next_probe)
        return permit

    def _next_probe(self) -> None:
        self._end_probe()
        self._plan_probe()
        self._wake(result=False)

    def _end_probe(self) -> None:
        self._probe = None
        if self._probe_timer is not None:
            self._probe_timer.cancel()
            self._probe_timer = None

    def _plan_probe(self) -> None:
        now = asyncio.get_running_loop().time()
        self._probe_at = probe_at(self._last_probe, now, self._rules, self._chance)

    async def _closed(self) -> bool:
        """Wait. Return whether the circuit breaker closed; if not, another request has to be the probe."""
        waiter: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            return await waiter
        finally:
            self._waiters.discard(waiter)

    def _wake(self, *, result: bool = False, error: ApiError | None = None) -> None:
        for waiter in tuple(self._waiters):
            if waiter.done():
                continue
            if error is None:
                waiter.set_result(result)
            else:
                waiter.set_exception(ConnectionLostError(error, was_sent=False))
