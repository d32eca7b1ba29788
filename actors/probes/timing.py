"""When a container is asked. Pure."""

from __future__ import annotations

from typing import NamedTuple

from actors.probes.specs import ProbeSpec
from messages.units import Seconds


class NextDue(NamedTuple):
    """When an attempt is due."""

    due: Seconds
    skipped: int
    """How many were missed before, and are left out."""


def first_due(spec: ProbeSpec, age: float, spread: float, now: Seconds) -> Seconds:
    """Return when a container is asked first: when its delay is over, and ``spread`` seconds later.

    ``age`` is for how long it has run, in seconds. A clock that is set may make it anything; nobody
    waits longer than the delay for that.
    """
    wait = min(max(0.0, spec.initial_delay - age), spec.initial_delay)
    return Seconds(now + wait + spread)


def next_due(spec: ProbeSpec, last: Seconds, now: Seconds) -> NextDue:
    """Return when it is asked again: whole periods after it was ``last`` due, and not in the past."""
    due = Seconds(last + spec.period)
    if due >= now:
        return NextDue(due, 0)
    skipped = int((now - due) / spec.period) + 1
    return NextDue(Seconds(due + skipped * spec.period), skipped)
