"""Moments as the Kubernetes API writes them, and spans of time as Go does.

A moment is RFC 3339 in UTC, such as ``2006-01-02T15:04:05Z``. Each function writes another precision. Every
text of one function has the same length, so texts of years after 999 sort as their moments do.

Spans, such as ``20s``, ``1m30s``, ``1.5h``, ``300ms`` and ``0``, stand in Kubernetes' objects, configuration
files and flags. The library ``durationpy`` reads days and years too, and skips what it does not know between
two units, so it would take a file that a kubelet refuses.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final, NamedTuple

from messages.units import Seconds, Timestamp

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


_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "\u00b5s": 10**3,  # micro sign
    "\u03bcs": 10**3,  # Greek mu, which Go reads as well
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([a-z\u00b5\u03bc]+)")
_LONGEST = 2**63 - 1
LONGEST_SPAN = Seconds(10 * 365 * 86400.0)
"""Ten years, in seconds: what a range may reach to."""
"""Nanoseconds; Go counts them in 64 bits, which ends after 292 years."""


class Span(NamedTuple):
    """A range of durations, to draw one from. Both ends belong to it."""

    least: Seconds
    most: Seconds


def parse_duration(text: str) -> Seconds:
    """Return the span in ``text``. Raises ``ValueError`` for a text that Go does not read either."""
    negative = text.startswith("-")
    unsigned = text[1:] if text.startswith(("-", "+")) else text
    if unsigned == "0":
        return Seconds(0.0)
    nanoseconds = Decimal(0)
    end = 0
    for part in _PART.finditer(unsigned):
        number, unit = part.groups()
        if part.start() != end or unit not in _NANOSECONDS:
            break
        nanoseconds += Decimal(number) * _NANOSECONDS[unit]
        end = part.end()
    if end == 0 or end != len(unsigned) or nanoseconds > _LONGEST:
        raise ValueError("should be a duration such as 20s, 1m30s or 300ms")
    return Seconds(float(nanoseconds if not negative else -nanoseconds) / 10**9)


def parse_span(text: str) -> Span:
    """Return the range in ``text``: ``1s-5s``, or one duration.

    Raises ``ValueError`` for any other text, and for more than ten years.
    """
    least, dash, most = text.partition("-")
    try:
        span = Span(parse_duration(least), parse_duration(most if dash else least))
    except ValueError:
        raise ValueError("should be a duration such as 300ms, or a range such as 1s-5s") from None
    if span.least > span.most:
        raise ValueError("should be a range from the shorter to the longer duration")
    if span.most > LONGEST_SPAN:
        raise ValueError(f"should be at most {LONGEST_SPAN / 3600:.0f}h")
    return span


def format_duration(span: Seconds) -> str:
    """Return ``span`` as Go prints it: ``1m0s``, ``1.5s``, ``300ms``, ``0s``."""
    nanoseconds = round(abs(span) * 10**9)
    sign = "-" if span < 0 else ""
    if nanoseconds < _NANOSECONDS["s"]:
        return sign + _small(nanoseconds)
    hours, rest = divmod(nanoseconds, _NANOSECONDS["h"])
    minutes, rest = divmod(rest, _NANOSECONDS["m"])
    leading = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{leading}{_decimal(rest, 's')}"


def _small(nanoseconds: int) -> str:
    unit = next((u for u in ("ms", "\u00b5s", "ns") if nanoseconds >= _NANOSECONDS[u]), "s")
    return _decimal(nanoseconds, unit)


def _decimal(nanoseconds: int, unit: str) -> str:
    return f"{(Decimal(nanoseconds) / _NANOSECONDS[unit]).normalize():f}{unit}"
