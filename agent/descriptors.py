"""How many descriptors the process may have open: as many as the system lets it."""

from __future__ import annotations

import resource
from contextlib import suppress

import structlog

from server.limits import ConnectionLimits, connection_limits

_log = structlog.get_logger("process")


def raise_descriptor_limit() -> int:
    """Raise the soft limit of open descriptors to the hard one; return the limit in effect.

    The soft limit is 1,024 nearly everywhere, for programs that use ``select``; this one does not.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(
            OSError, ValueError
        ):  # the hard limit may be above what the system gives today
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
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
