"""What can be configured about images, with a kubelet's defaults. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from messages.units import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class PullOptions:
    """How images are pulled."""

    parallel: int | None = 1
    """Pulls at the same time; None for any number."""
    per_second: float = 5.0
    """``registryPullQPS``: pulls that begin in a second, in the long run. 0 for any number."""
    burst: int = 10
    """``registryBurst``: pulls that may begin at once after a pause."""
    deadline: Seconds = Seconds(3600.0)
    """Of one attempt. A kubelet waits for ever, and so would every pod behind a registry that hangs."""
    told_every: Seconds = Seconds(30.0)
    """How often people are told that a pull goes on."""


DEFAULT_PULLS: Final = PullOptions()


def parallel_pulls(*, serialize: bool, at_most: int | None) -> int | None:
    """Return how many pulls go on at the same time: None for any number.

    ``serialize`` is ``serializeImagePulls``, ``at_most`` is ``maxParallelImagePulls``: None if it is not set.
    """
    return 1 if serialize else at_most
