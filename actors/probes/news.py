"""What the loop of the probes tells."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from messages.probing import ProbeKey, ProbeOutcome, ProbeResult
from messages.units import Seconds, Timestamp


class ProbeNews(NamedTuple):
    """What counts for a probe has changed, or something went wrong that people should know of."""

    key: ProbeKey
    container_id: str
    """The instance of the container that it is about."""
    result: ProbeResult
    """What counts now."""
    is_change: bool
    """Whether something else counted before. If not, this is only said for people."""
    outcome: ProbeOutcome
    """The last answer."""
    in_a_row: int
    """How many of the last answers were alike."""
    times: int
    """How many answers since the last news were no success, with this one."""
    at: Timestamp
    """When the answer came."""


class ExecIsDue(NamedTuple):
    """A command is to be run in a container. ``ProbeLoop.note`` takes how it ended, once.

    Until then nothing more is due for this probe. It may be told again with the same ``run``: whoever carries
    that out already does nothing.
    """

    key: ProbeKey
    container_id: str
    command: tuple[str, ...]
    timeout: Seconds
    """From when the command begins. One that takes longer has failed."""
    run: int
    """Tells this run from all others."""


ProbeFact: TypeAlias = ProbeNews | ExecIsDue
