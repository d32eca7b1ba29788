"""When a token is asked for, renewed and given up. Pure.

Everything counts from the moment at which a token came. Two clocks count, and the one that counts more is
believed: the monotonic one stands still while the machine sleeps, and the wall clock may be set back.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, TypeAlias

from kernel import Backoff
from messages.pods import PodUid
from messages.units import Instant, Seconds

RENEWED_AT: Final = 0.8
"""The part of its life after which a token is renewed."""
OLDEST: Final = Seconds(24 * 3600.0)
"""A token is renewed at this age, however long it is good."""
LONGEST_JITTER: Final = Seconds(10.0)
"""A token is renewed up to that much sooner, so that those of a thousand pods are not renewed at once."""
SHORTEST_WAIT: Final = Seconds(10.0)
"""Between two renewals, however short a life the API server gives."""
SOON: Final = Seconds(0.001)
"""Less than this is no time: sums of seconds are not exact."""
RETRY_BACKOFF: Final = Backoff(initial=Seconds(0.1), cap=Seconds(120.0), jitter=Seconds(0.1))
"""While the API server refuses a token. For a few milliseconds its authorizer may not know a new pod; after
that somebody has to change something, or the pod is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedToken:
    """A token that the API server has issued."""

    value: bytes = field(repr=False)
    since: Instant
    """When it came."""
    life: Seconds
    """How long it is good from then on."""
    share: float
    """How much of the longest jitter is its own: from 0 to 1."""

    @property
    def renewed_after(self) -> Seconds:
        """The age at which it is to be another one."""
        age = min(self.life * RENEWED_AT, OLDEST) - LONGEST_JITTER * self.share
        return Seconds(max(SHORTEST_WAIT, age))

    def age(self, now: Instant) -> Seconds:
        """Return for how long it has been there."""
        return Seconds(max(now.monotonic - self.since.monotonic, now.wall - self.since.wall))


class TokenAsking(Enum):
    """What is done about a token, if it is no wait."""

    ASK = auto()
    """Ask the API server for it."""
    UNDER_WAY = auto()
    """The API server has been asked. Its answer will wake whoever decides."""


@dataclass(frozen=True, slots=True)
class WaitFor:
    """Nothing is to be done for that long."""

    delay: Seconds


TokenStep: TypeAlias = TokenAsking | WaitFor


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSituation:
    """All that the next step about one token depends on."""

    issued: IssuedToken | None
    """The last one."""
    is_asking: bool
    retry_at: Seconds | None
    """When to ask again after a failure, on the monotonic clock; None if none was the last thing."""
    now: Instant


def next_token_step(situation: TokenSituation) -> TokenStep:
    """Return what to do about a token."""
    if situation.is_asking:
        return TokenAsking.UNDER_WAY
    issued, now = situation.issued, situation.now
    wait = 0.0 if issued is None else issued.renewed_after - issued.age(now)
    if situation.retry_at is not None:
        wait = max(wait, situation.retry_at - now.monotonic)
    return WaitFor(Seconds(wait)) if wait > SOON else TokenAsking.ASK


def expires_in(issued: IssuedToken | None, now: Instant) -> Seconds | None:
    """Return how long a token is still good: 0 if no longer; None if there is none."""
    if issued is None:
        return None
    left = issued.life - issued.age(now)
    return Seconds(left if left > SOON else 0.0)


def shown_token(issued: IssuedToken | None, trouble: str, now: Instant) -> bytes | str | None:
    """Return a token, or why there is none; None while it is on its way.

    One that has expired is shown until the API server was asked for another one in vain. So a machine that
    slept shows none as lost that is renewed in the next moment.
    """
    if issued is None:
        return trouble or None
    if trouble and not expires_in(issued, now):
        return f"{trouble}; the last one has expired"
    return issued.value


class TokenAlarms:
    """One moment for each pod, on the monotonic clock. What was replaced takes no room for long."""

    def __init__(self) -> None:
        self._due: dict[PodUid, Seconds] = {}
        self._heap: list[tuple[Seconds, PodUid]] = []

    def __len__(self) -> int:
        """Return how many pods have one."""
        return len(self._due)

    def set(self, uid: PodUid, due: Seconds | None) -> None:
        """Replace the moment of a pod; None leaves it without one."""
        if self._due.get(uid) == due:
            return
        if due is None:
            del self._due[uid]
            return
        self._due[uid] = due
        heapq.heappush(self._heap, (due, uid))
        if len(self._heap) > 2 * len(self._due) + 64:
            self._heap = [(moment, each) for each, moment in self._due.items()]
            heapq.heapify(self._heap)

    def next_due(self) -> Seconds | None:
        """Return the next moment; None if there is none."""
        while self._heap and self._due.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def take(self, now: Seconds) -> tuple[PodUid, ...]:
        """Return the pods whose moment has come, and forget it."""
        taken = []
        while (due := self.next_due()) is not None and due <= now:
            _, uid = heapq.heappop(self._heap)
            del self._due[uid]
            taken.append(uid)
        return tuple(taken)
