"""What an answer changes in what is known of a probe, and whether anybody is told. Pure, but for the record.

Told is what counts now, if that was something else before. People are told, too, of answers that are no
success and change nothing: of the first, and then at most once a minute, with how many there were. After one
that counted neither way they are told of the next one that counts, whatever it is.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final, NamedTuple

from actors.probes.news import ProbeNews
from actors.probes.thresholds import counted
from actors.probes.watched import DURATION_BOUNDS, WatchedProbe
from messages.probes import ProbeAnswer, ProbeOutcome, ProbeResult
from messages.units import Seconds, Timestamp

QUIET: Final = Seconds(60.0)
"""How often people are told of a probe whose answers are no success, and change nothing."""


class AnsweredAt(NamedTuple):
    """When an answer came."""

    now: Seconds
    """Monotonic."""
    at: Timestamp


def count(watched: WatchedProbe, outcome: ProbeOutcome, moment: AnsweredAt) -> ProbeNews | None:
    """Count an answer of ``watched``. Return what is to be told of it."""
    before = watched.count.result
    watched.count = counted(watched.count, outcome.result, watched.spec.answers_needed)
    _keep(watched, outcome, moment)
    is_change = watched.count.result is not before
    is_success = outcome.result is ProbeResult.SUCCESS
    watched.times += not is_success
    is_worth_saying = not is_success and (
        watched.told_at is None or moment.now - watched.told_at >= QUIET
    )
    is_unknown = outcome.result is ProbeResult.UNKNOWN
    counts_again = watched.is_unknown and not is_unknown
    if not is_change and not is_worth_saying and not counts_again:
        return None
    watched.is_unknown = is_unknown
    times, watched.times = watched.times, 0
    if not is_success:
        watched.told_at = moment.now
    return ProbeNews(
        key=watched.key,
        container_id=watched.target.container_id,
        result=watched.count.result,
        is_change=is_change,
        outcome=outcome,
        in_a_row=watched.count.in_a_row,
        times=times,
        at=moment.at,
    )


def _keep(watched: WatchedProbe, outcome: ProbeOutcome, moment: AnsweredAt) -> None:
    """Count for the metrics, and make it the answer that others read."""
    took = Seconds(max(0.0, moment.now - watched.began))
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
        at=moment.at,
        took=took,
        successes=watched.successes,
        failures=watched.failures,
        unknowns=watched.unknowns,
    )
