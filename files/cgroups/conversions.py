"""Amounts of cpu and memory in the numbers that the Linux kernel takes. Pure.

The rounding is a kubelet's. Whatever is too much or too little for the kernel becomes the nearest value that
it takes.
"""

from __future__ import annotations

from typing import Final

SHARES_OF_CPU: Final = 1024
LEAST_SHARES: Final = 2
MOST_SHARES: Final = 2**18
LEAST_WEIGHT: Final = 1
MOST_WEIGHT: Final = 10_000
LEAST_QUOTA: Final = 1_000
"""Microseconds. The kernel takes no less."""
MOST_QUOTA: Final = 2**44 - 1
"""Microseconds. The kernel takes no more."""
UNLIMITED: Final = -1
MOST_BYTES: Final = 2**63 - 1
_KIBI: Final = 1024


def shares_of(milli_cpu: int) -> int:
    """Return the shares of cgroup v1 for a request of thousandths of a cpu."""
    return min(max(milli_cpu * SHARES_OF_CPU // 1000, LEAST_SHARES), MOST_SHARES)


def quota_of(milli_cpu: int, period: int) -> int:
    """Return how many microseconds of each ``period`` may be used; ``UNLIMITED`` for a limit of 0."""
    if milli_cpu <= 0:
        return UNLIMITED
    return min(max(milli_cpu * period // 1000, LEAST_QUOTA), MOST_QUOTA)


def weight_of(shares: int) -> int:
    """Return the weight of cgroup v2 for shares of v1.

    It grows evenly, from 1 for 2 shares to 10,000 for the most. This is how a kubelet converts for cgroups
    of pods and of classes. Newer runtimes of containers convert in another way, by which 1024 shares are
    100 and not 39. That concerns containers within one pod alone, which are all converted alike.
    """
    bounded = min(max(shares, LEAST_SHARES), MOST_SHARES)
    span = MOST_SHARES - LEAST_SHARES
    return LEAST_WEIGHT + (bounded - LEAST_SHARES) * (MOST_WEIGHT - LEAST_WEIGHT) // span


def shares_of_weight(weight: int) -> int:
    """Return shares of cgroup v1 for a weight of v2, as far as that can be turned back."""
    bounded = min(max(weight, LEAST_WEIGHT), MOST_WEIGHT)
    span = MOST_WEIGHT - LEAST_WEIGHT
    return LEAST_SHARES + (bounded - LEAST_WEIGHT) * (MOST_SHARES - LEAST_SHARES) // span


def page_size_name(size: int) -> str:
    """Return the kernel's name of a size of huge pages: ``2MB`` for 2 MiB."""
    for unit in ("B", "KB", "MB"):
        if size < _KIBI or size % _KIBI:
            return f"{size}{unit}"
        size //= _KIBI
    return f"{size}GB"
