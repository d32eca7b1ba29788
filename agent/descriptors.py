"""How many descriptors the process may have open: as many as the system lets it, up to ``ENOUGH``.

``server.limits`` decides how clients and the agent share them.
"""

from __future__ import annotations

import resource
from contextlib import suppress
from typing import Final

import structlog

from server.limits import ConnectionLimits, connection_limits

_log = structlog.get_logger("process")

ENOUGH: Final = 65_536
"""The soft limit is not raised above this. Commands that give credentials inherit it, and some close every
descriptor below it when they start. In a container the hard limit may be 1,073,741,816."""


def raised(soft: int, hard: int) -> int:
    """Return the soft limit to have instead of ``soft``. It is never lower."""
    if soft == resource.RLIM_INFINITY:
        return soft
    return max(soft, ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH))


def raise_descriptor_limit() -> int:
    """Raise the soft limit of open descriptors to the hard one, or ``ENOUGH``; return the limit in effect.

    The soft limit is 1,024 nearly everywhere, for programs that use ``select``; this one does not.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The hard limit may be above what the system gives today.
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (raised(soft, hard), hard))
    return descriptor_limit()


def descriptor_limit() -> int:
    """Return the limit in effect."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return limit


def limits_of_connections(descriptors: int) -> ConnectionLimits:
    """Return how many connections there may be; say once in the log if they are fewer than usual."""
    limits = connection_limits(descriptors)
    if limits != ConnectionLimits():
        _log.warning(
            "few descriptors, so few connections are served",
            descriptors=descriptors,
            read_only_port=limits.read_only,
            healthz_port=limits.healthz,
            event_readers=limits.readers,
        )
    return limits
