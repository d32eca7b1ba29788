"""What is kept of each probe, what an answer changes in that, and what is told of it.

It outlives the loop, so that a new one goes on where the last one ended. Pure, but for the record itself.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from actors.probes.preparing import PreparedProbe, UnpreparedProbe
from actors.probes.specs import Count, ProbeSpec, counted
from messages.probing import ProbeAnswer, ProbeKey, ProbeOutcome, ProbeResult
from messages.units import DURATION_BOUNDS, Instant, Seconds, Timestamp


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


LATE_AFTER: Final = Seconds(0.1)
"""An attempt that begins later than so long after it was due counts as late."""
QUIET: Final = Seconds(60.0)
"""How often people are told of a probe whose answers are no success, and change nothing."""


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
    """Under which it is in the tick_queue."""
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


def count(watched: WatchedProbe, outcome: ProbeOutcome, moment: Instant) -> ProbeNews | None:
    """Count an answer of ``watched``. Return what is to be told of it.

    Told is what counts now, if that was something else before. People are told, too, of answers that are no
    success and change nothing: of the first, and then at most once a minute, with how many there were. After
    one that counted neither way they are told of the next one that counts, whatever it is.
    """
    before = watched.count.result
    watched.count = counted(watched.count, outcome.result, watched.spec.answers_needed)
    _keep(watched, outcome, moment)
    is_change = watched.count.result is not before
    is_success = outcome.result is ProbeResult.SUCCESS
    watched.times += not is_success
    is_worth_saying = not is_success and (
        watched.told_at is None or moment.monotonic - watched.told_at >= QUIET
    )
    is_unknown = outcome.result is ProbeResult.UNKNOWN
    counts_again = watched.is_unknown and not is_unknown
    if not is_change and not is_worth_saying and not counts_again:
        return None
    watched.is_unknown = is_unknown
    times, watched.times = watched.times, 0
    if not is_success:
        watched.told_at = moment.monotonic
    return ProbeNews(
        key=watched.key,
        container_id=watched.target.container_id,
        result=watched.count.result,
        is_change=is_change,
        outcome=outcome,
        in_a_row=watched.count.in_a_row,
        times=times,
        at=moment.wall,
    )


def _keep(watched: WatchedProbe, outcome: ProbeOutcome, moment: Instant) -> None:
    """Count for the metrics, and make it the answer that others read."""
    took = Seconds(max(0.0, moment.monotonic - watched.began))
    watched.buckets[bisect_left(DURATION_BOUNDS, took)] += 1
    watched.seconds += took
    match outcome.result:
        case ProbeResult.FAILURE:
            watched.failures += 1
        case ProbeResult.UNKNOWN:
            watched.unknowns += 1
        case _:
            watched.successes += 1
    watched.answer = ProbeAnswer(
        key=watched.key,
        container_id=watched.target.container_id,
        result=watched.count.result,
        in_a_row=watched.count.in_a_row,
        is_held=watched.count.is_held,
        last=outcome,
        at=moment.wall,
        took=took,
        successes=watched.successes,
        failures=watched.failures,
        unknowns=watched.unknowns,
    )
