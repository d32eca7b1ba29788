"""The machine's addresses, which may change while the agent runs: asked for often, looked up now and then."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from messages.units import Seconds

LOOK_EVERY: Final = Seconds(5.0)


class CurrentAddresses:
    """The addresses of a few seconds ago at the oldest. On any thread, and without blocking.

    While the machine has none, between two leases say, those that it had last count. Each look replaces one
    value, so two threads that look at the same time do no harm.
    """

    def __init__(
        self,
        look: Callable[[], tuple[str, ...]],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """``look`` returns the addresses as they are, the most important one first."""
        self._look = look
        self._monotonic = monotonic
        self._seen: tuple[float, tuple[str, ...]] | None = None
        """When they were looked up last, and what they were."""

    def __call__(self) -> tuple[str, ...]:
        """Return the addresses, the most important one first."""
        now, seen = self._monotonic(), self._seen
        if seen is not None and now < seen[0] + LOOK_EVERY:
            return seen[1]
        addresses = self._look() or (seen[1] if seen is not None else ())
        self._seen = now, addresses
        return addresses
