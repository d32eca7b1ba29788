"""How often something may happen: a token bucket, as a value. Knows no clocks."""

from __future__ import annotations

from dataclasses import dataclass, replace

from messages.units import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBucket:
    """Allows ``burst`` at once, and ``rate`` a second in the long run.

    A ``rate`` of zero or less means no limit, as in a kubelet's ``kubeAPIQPS``.
    """

    rate: float
    burst: int
    taken: float = 0.0
    """Tokens missing in the bucket at the time ``at``."""
    at: float = 0.0
    """On the clock of those who take tokens, in seconds. If that is set back, the bucket stays as it was."""

    def take(self, now: float) -> tuple[TokenBucket, Seconds]:
        """Take one token. Return the bucket after that, and 0; or how long to wait for a token."""
        if self.rate <= 0:
            return self, Seconds(0.0)
        size = max(1, self.burst)
        taken = max(0.0, self.taken - self.rate * max(0.0, now - self.at))
        excess = taken + 1 - size
        # A rounding error must not turn away a caller that waited exactly long enough.
        if excess <= 1e-9:
            return replace(self, taken=taken + 1, at=now), Seconds(0.0)
        return replace(self, taken=taken, at=now), Seconds(excess / self.rate)
