"""What is kept of each probe: it outlives the loop, so that a new one goes on where the last one ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from actors.probes.preparing import PreparedProbe, UnpreparedProbe
from actors.probes.specs import ProbeSpec
from actors.probes.thresholds import Count
from messages.probes import ProbeAnswer, ProbeKey
from messages.units import Seconds, Timestamp

DURATION_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds in seconds of the buckets that durations are counted in, as a kubelet has them."""
LATE_AFTER: Final = Seconds(0.1)
"""An attempt that begins later than so long after it was due counts as late."""


class ProbeTarget(NamedTuple):
    """The instance of a container that a probe is about."""

    container_id: str
    ip: str
    """The pod's; empty as long as it has none."""
    started_at: Timestamp
    """When the container started."""


class ProbeFigures(NamedTuple):
    """What was counted of one probe, in any instance of its container."""

    key: ProbeKey
    successes: int
    failures: int
    unknowns: int
    buckets: tuple[int, ...]
    """How many answers took how long, by ``DURATION_BOUNDS``; the last has what is longer than all."""
    seconds: float
    """That all answers took."""


@dataclass(slots=True, eq=False)
class WatchedProbe:
    """One probe, and how it stands. Used by the thread of the loop alone, but for ``answer``."""

    key: ProbeKey
    spec: ProbeSpec
    target: ProbeTarget
    count: Count
    due: Seconds = Seconds(0.0)
    """When the next attempt should begin, or the last one should have begun; monotonic."""
    tick: int = 0
    """Under which it is in the agenda."""
    began: Seconds = Seconds(0.0)
    """When the attempt in progress began; monotonic."""
    is_asked: bool = False
    """An attempt is in progress."""
    run: int = 0
    """Of the command in progress; 0 if there is none."""
    tries: int = 0
    """Attempts in a row that failed through no fault of the target."""
    prepared: PreparedProbe | UnpreparedProbe | None = None
    answer: ProbeAnswer | None = None
    """How it stands, as others may read it. Replaced as a whole, never changed."""
    told_at: Seconds | None = None
    """When people were last told of an answer that changed nothing; monotonic."""
    is_unknown: bool = False
    """People were told last that it could not be carried out, and so counts neither way."""
    times: int = 0
    """Answers since the last news that were no success."""
    successes: int = 0
    failures: int = 0
    unknowns: int = 0
    seconds: float = 0.0
    """That all answers took."""
    buckets: list[int] = field(default_factory=lambda: [0] * (len(DURATION_BOUNDS) + 1))

    @property
    def figures(self) -> ProbeFigures:
        """What was counted of it."""
        return ProbeFigures(
            key=self.key,
            successes=self.successes,
            failures=self.failures,
            unknowns=self.unknowns,
            buckets=tuple(self.buckets),
            seconds=self.seconds,
        )


@dataclass(slots=True)
class Lateness:
    """How late attempts began, and what was lost for it. Seconds since the process began."""

    begun: int = 0
    seconds: float = 0.0
    longest: float = 0.0
    late: int = 0
    """Attempts that began more than ``LATE_AFTER`` after they were due."""
    skipped: int = 0
    """Attempts that were never made, since the one before had not ended when they were due."""
    stalls: int = 0
    """Times that the thread could not run for a while; targets are given that time in addition."""
    told_again: int = 0
    """Times that a command was told again, since nobody had answered for it for long."""
    late_notes: int = 0
    """Answers of commands that were not awaited any more."""


@dataclass(slots=True)
class ProbeMemory:
    """What outlives a life of the loop. One loop at a time uses it, so it needs no lock."""

    watched: dict[ProbeKey, WatchedProbe] = field(default_factory=dict)
    began: Seconds | None = None
    """When the first loop of this process began; monotonic."""
    runs: int = 0
    """Commands that were due so far."""
    per_second: dict[tuple[str, int], float] = field(default_factory=dict)
    """Attempts a second to each host and port."""
    lateness: Lateness = field(default_factory=Lateness)
    owner: object = None
    """The loop that uses it. One that has lost it ends."""
