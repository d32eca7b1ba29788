"""Moments as the Kubernetes API writes them: RFC 3339 in UTC, such as ``2006-01-02T15:04:05Z``.

Each function writes another precision. Every text of one function has the same length, so texts of years
after 999 sort as their moments do.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from messages.units import Timestamp

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NANO: Final = 1_000_000_000
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)


def rfc3339(moment: Timestamp) -> str:
    """Return ``moment`` in whole seconds, as ``metav1.Time`` is. Cuts fractions off."""
    return _in_utc(datetime.fromtimestamp(int(moment), UTC), "seconds")


def rfc3339_milli(moment: Timestamp) -> str:
    """Return ``moment`` with milliseconds. Cuts smaller fractions off."""
    return _in_utc(datetime.fromtimestamp(moment, UTC), "milliseconds")


def rfc3339_micro(moment: Timestamp | datetime) -> str:
    """Return ``moment`` with microseconds, as ``metav1.MicroTime`` is (Leases have it).

    Rounds a ``Timestamp``; a ``datetime`` is exact and needs a time zone.
    """
    exact = moment if isinstance(moment, datetime) else _EPOCH + timedelta(seconds=moment)
    return _in_utc(exact.astimezone(UTC), "microseconds")


def rfc3339_nano(moment: Timestamp) -> str:
    """Return ``moment`` with nanoseconds, as kubelets write ``kubernetes.io/config.seen``. Rounds."""
    # The fraction is rounded by itself: a float has too few digits for today's nanoseconds.
    whole, fraction = divmod(moment, 1)
    seconds, nanoseconds = divmod(int(whole) * _NANO + round(fraction * _NANO), _NANO)
    # Every new or changed pod needs one. strftime would cost as much as the rest of a merge step.
    return f"{datetime.fromtimestamp(seconds, UTC).isoformat()[:-6]}.{nanoseconds:09d}Z"


def moment_of(told: object) -> Timestamp | None:
    """Return the moment that a document tells; None if it tells none. Without an offset it is UTC."""
    if not isinstance(told, str):
        return None
    try:
        moment = datetime.fromisoformat(told)
    except ValueError:
        return None
    return Timestamp((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def is_rfc3339(text: str) -> bool:
    """Return whether ``text`` is a moment in RFC 3339: of any precision, and with any offset from UTC."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return _TIME.fullmatch(text) is not None


def _in_utc(moment: datetime, precision: str) -> str:
    return f"{moment.isoformat(timespec=precision)[:-6]}Z"
