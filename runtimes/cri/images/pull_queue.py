"""Which pulls there are, which of them begin, and who waits for them. Pure, but for what it remembers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from kernel import TokenBucket
from manifests.image_names import ImageName
from messages.container_runtime import CallRuntime
from messages.pods import Pod
from messages.units import Seconds
from runtimes.cri.images.keyring import Credential
from runtimes.cri.images.options import PullOptions

PullKey: TypeAlias = Hashable


@dataclass(frozen=True, slots=True)
class PullWaiter:
    """Somebody who waits for a pull."""

    call: CallRuntime
    pod: Pod
    since: Seconds

    def is_overdue(self, now: Seconds) -> bool:
        """Return whether it has to be answered now, pulled or not."""
        return now >= self.since + self.call.deadline


@dataclass(slots=True, eq=False)
class PullOrder:
    """One pull, for all that ask for the same image with the same credentials."""

    key: PullKey = field(repr=False)
    """Has the credentials in it."""
    image: ImageName
    credentials: tuple[Credential, ...] = field(repr=False)
    """Of the pods that wait, for this image: tried first, and in this order."""
    asked_at: Seconds
    waiters: list[PullWaiter] = field(default_factory=list, repr=False)
    began_at: Seconds | None = None
    """None while it waits for its turn."""
    told_at: Seconds = Seconds(0.0)
    """When people were last told that it goes on."""

    def took(self, now: Seconds) -> Seconds:
        """Return for how long it has been under way."""
        return Seconds(0.0 if self.began_at is None else now - self.began_at)


class PullQueue:
    """The pulls that wait for their turn, the oldest first, and those that are under way."""

    def __init__(self, options: PullOptions) -> None:
        self._options = options
        self._rate = TokenBucket(rate=options.per_second, burst=options.burst)
        self._orders: dict[PullKey, PullOrder] = {}
        """The oldest first."""

    def __len__(self) -> int:
        """How many there are, waiting or under way."""
        return len(self._orders)

    def __iter__(self) -> Iterator[PullOrder]:
        return iter(tuple(self._orders.values()))

    @property
    def under_way(self) -> int:
        """How many have begun."""
        return sum(order.began_at is not None for order in self._orders.values())

    def join(
        self, image: ImageName, credentials: tuple[Credential, ...], waiter: PullWaiter
    ) -> PullOrder:
        """Add somebody who waits, to the pull of the same image with the same credentials if there is one."""
        key = (image.asked_for, tuple(each.auth for each in credentials))
        order = self._orders.get(key)
        if order is None:
            order = self._orders[key] = PullOrder(key, image, credentials, waiter.since)
        else:
            known = set(order.credentials)
            order.credentials += tuple(each for each in credentials if each not in known)
        order.waiters = [each for each in order.waiters if not _is_same(each, waiter)]
        order.waiters.append(waiter)
        return order

    def begin(self, now: Seconds) -> Iterable[tuple[PullOrder, bool]]:
        """Yield the pulls whose turn it is, each with whether the rate lets it begin. The others fail."""
        most, under_way = self._options.parallel, self.under_way
        for order in self:
            if order.began_at is not None:
                continue
            if most is not None and under_way >= most:
                return
            self._rate, wait = self._rate.take(now)
            may_begin = not wait
            if may_begin:
                order.began_at = order.told_at = now
                under_way += 1
            yield order, may_begin
            if not may_begin:
                self.end(order)

    def end(self, order: PullOrder) -> None:
        """Forget a pull: it succeeded, or failed."""
        self._orders.pop(order.key, None)

    def overdue(self, now: Seconds) -> Iterator[tuple[PullOrder, PullWaiter]]:
        """Yield who cannot wait any longer, and then let them go. The pulls go on."""
        for order in self:
            for waiter in [each for each in order.waiters if each.is_overdue(now)]:
                yield order, waiter
                order.waiters.remove(waiter)

    def long_ones(self, now: Seconds) -> list[PullOrder]:
        """Return the pulls of which people are to be told that they go on, and note that they are."""
        due = [
            order
            for order in self
            if order.began_at is not None and now >= order.told_at + self._options.told_every
        ]
        for order in due:
            order.told_at = now
        return due


def _is_same(waiter: PullWaiter, other: PullWaiter) -> bool:
    return waiter.call.ref == other.call.ref and waiter.call.reply_to is other.call.reply_to
