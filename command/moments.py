"""Since when a log is wanted: a span of time before now, or a moment. Pure."""

from __future__ import annotations

import re
from typing import Final

from command.failures import WrongUsageError
from command.wording import moment

_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_PART: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|s|m|h|d)", re.ASCII)
_WHOLE: Final = re.compile(rf"(?:{_PART.pattern})+", re.ASCII)


def beginning(said: str, now: float) -> float:
    """Return the seconds since 1970 that ``10s``, ``1h30m`` or a time as in RFC 3339 stands for.

    Raises ``WrongUsageError``.
    """
    if _WHOLE.fullmatch(said):
        span = sum(float(many) * _SECONDS[unit] for many, unit in _PART.findall(said))
        return max(0.0, now - span)
    at = moment(said)
    if at is None or at < 0:
        raise WrongUsageError(
            f"--since has to be a span such as 1h30m, or a time such as 2026-11-22T14:00:00Z, not {said}"
        )
    return at
