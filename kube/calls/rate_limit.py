"""How many requests a second: a token bucket, as a value. Knows neither requests nor clocks."""

from __future__ import annotations

from dataclasses import dataclass, replace

from messages.units import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBucket:
    """Allows ``burst`` requests at once, and ``qps`` a second in the long run.

    A ``qps`` of zero or less means no limit, as in a kubelet's ``kubeAPIQPS``.
    """

    qps: float
    burst: int
    taken: float = 0.0
    """Tokens missing in the bucket at the time ``at``."""
    at: Seconds = Seconds(0.0)
    """On the monotonic clock."""

    def take(self, now: Seconds) -> tuple[TokenBucket, Seconds]:
        """Take one token. Return the new bucket and 0, or this bucket and how long to wait for a token."""
        if self.qps <= 0:
            return self, Seconds(0.0)
        size = max(1, self.burst)
        taken = max(0.0, self.taken - self.qps * max(0.0, now - self.at))
        excess = taken + 1 - size
        # A rounding error must not turn away a caller that waited exactly long enough.
        if excess <= 1e-9:
            return replace(self, taken=taken + 1, at=now), Seconds(0.0)
        return self, Seconds(excess / self.qps)
