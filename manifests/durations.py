"""Spans of time as Go writes them: ``20s``, ``1m30s``, ``1.5h``, ``300ms``, ``0``.

Kubernetes' objects, configuration files and flags have these. The library ``durationpy`` reads days and years
too, and skips what it does not know between two units, so it would take a file that a kubelet refuses.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

from messages.units import Seconds

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
