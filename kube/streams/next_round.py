"""Which round of a watch follows the last one, and when. Pure functions.

A watch is a series of rounds. Each round is a list or a stream. How a round ended decides what the next one
is and how long to wait for it. A refusal concerns one watch, so its backoff is computed here. A broken
connection concerns every watch on it, so the connection's circuit breaker decides when to try again.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final, TypeAlias

from kube.streams.rules import WatchRules
from messages.api import FailureKind
from messages.units import Seconds

MOST_DOUBLINGS: Final = 30
"""2**30 times anything is above every cap, and does not overflow a float."""

_LOST: Final = frozenset(
    {FailureKind.GONE, FailureKind.MALFORMED, FailureKind.INVALID, FailureKind.REFUSED}
)
"""After these failures the last version seen is of no use: it is too old, or the server does not accept it,
or it precedes an event that cannot be read."""

SentTimes: TypeAlias = tuple[float, ...]
"""When the last requests were answered, oldest first; on the loop's clock. Never more than are allowed in
one window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRound:
    """How a list or a stream ended."""

    version: str
    """The last version seen; empty when there is none to continue from."""
    lasted: Seconds = Seconds(0.0)
    """How long the stream was open; 0 when it never opened."""
    heard: bool = False
    """Whether an event or a bookmark came."""
    failure: FailureKind | None = None
    """None when the server ended its answer in order."""
    is_fresh: bool = False
    """The version comes from a list, and no stream has been opened from it yet."""
    is_new: bool = False
    """The watch was asked for and has not had a stream since."""
    connection_lost: bool = False
    """The connection broke, or there was none."""
    retry_after: Seconds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NextRound:
    """What follows after ``delay``: a stream from ``version``, or a list when ``version`` is empty."""

    version: str
    failures: int
    """Failures in a row, this one included. The backoff doubles with each."""
    delay: Seconds
    reason: str
    """Why the watch has to be opened again. One word, for metrics."""
    is_failure: bool
    """Whether to tell subscribers that the target is not followed meanwhile."""


def next_round(
    ended: EndedRound, failures: int, rules: WatchRules, chance: random.Random
) -> NextRound:
    """Return the round that follows ``ended``, which came after ``failures`` failed rounds in a row."""
    failures = 0 if _was_healthy(ended, rules) else failures
    reason = "ended" if ended.failure is None else ended.failure.value
    if ended.connection_lost and ended.lasted == 0.0:
        # The connection's circuit breaker says when. The watch itself did not fail.
        return _next(ended.version, failures, Seconds(0.0), reason, is_failure=True)
    if ended.failure is None or ended.connection_lost:
        return _after_stream(ended, failures, reason, rules, chance)
    if ended.failure is FailureKind.GONE and (failures == 0 or not ended.is_fresh):
        # Nearly every watch gets this after a restart of the API server: list at once, whatever failed
        # before. It is a failure only if the server has forgotten the version that it has just listed.
        return _next("", 1, Seconds(0.0), reason, is_failure=False)
    delay = backoff(failures + 1, _first_backoff(ended, rules), rules, chance)
    return _next(
        "" if _is_lost(ended.failure, failures + 1, rules) else ended.version,
        failures + 1,
        max(delay, ended.retry_after or Seconds(0.0)),
        reason,
        is_failure=True,
    )


def backoff(failures: int, first: Seconds, rules: WatchRules, chance: random.Random) -> Seconds:
    """Return how long to wait after ``failures`` failures in a row; the first failure is 1.

    The wait doubles from ``first`` up to ``longest_backoff``, give or take a fifth.
    """
    doubled = first * 2.0 ** min(failures - 1, MOST_DOUBLINGS)
    return Seconds(min(rules.longest_backoff, doubled) * chance.uniform(0.8, 1.2))


def watch_timeout(rules: WatchRules, chance: random.Random) -> int:
    """Return the ``timeoutSeconds`` of a new watch: after so long the server ends it."""
    return round(chance.uniform(rules.shortest_watch, rules.longest_watch))


def silence_limit(rules: WatchRules, chance: random.Random) -> Seconds:
    """Return how long a new stream may stay silent before it is ended on this side."""
    return Seconds(rules.silent_after * chance.uniform(1.0, 1.5))


def request_pause(sent: SentTimes, now: float, rules: WatchRules) -> Seconds:
    """Return how long a watch must wait before its next request; ``sent`` are its last ones."""
    if len(sent) < rules.most_requests:
        return Seconds(0.0)
    return Seconds(max(0.0, sent[0] + rules.request_window - now))


def with_request(sent: SentTimes, now: float, rules: WatchRules) -> SentTimes:
    """Return ``sent`` with a request answered at ``now``, and without those outside the window."""
    recent = (at for at in sent[1 - rules.most_requests :] if at + rules.request_window > now)
    return (*recent, now)


def probe_at(last: float, now: float, rules: WatchRules, chance: random.Random) -> float:
    """Return the time of a connection's next probe; ``last`` is when its last one was sent."""
    soonest = now + chance.uniform(rules.first_probe / 2, rules.first_probe)
    return max(soonest, last + chance.uniform(rules.shortest_probe, rules.longest_probe))


def spread(waiting: int, rules: WatchRules) -> Seconds:
    """Return the time over which ``waiting`` streams of one connection return."""
    return Seconds(rules.spread * min(1.0, waiting / rules.streams_per_connection))


def _was_healthy(ended: EndedRound, rules: WatchRules) -> bool:
    # Events count only if the stream ended in order or with its connection. A server that sends one
    # event and then garbage, again and again, fails each time.
    well = ended.failure is None or ended.connection_lost
    return ended.lasted >= rules.healthy_after or (ended.heard and well)


def _is_lost(failure: FailureKind, failures: int, rules: WatchRules) -> bool:
    """Return whether to list anew after the ``failures``-th failure in a row."""
    if failure is FailureKind.SERVER_ERROR:
        return failures % rules.failures_per_list == 0
    return failure in _LOST


def _after_stream(
    ended: EndedRound, failures: int, reason: str, rules: WatchRules, chance: random.Random
) -> NextRound:
    """Return what follows a stream that was open and ended in order, or with its connection."""
    is_silent = ended.lasted >= rules.silent_after and not ended.heard
    version = "" if is_silent else ended.version
    if _was_healthy(ended, rules):
        reason = "silent" if is_silent else reason
        return _next(version, 0, Seconds(0.0), reason, is_failure=False)
    if ended.connection_lost:
        # The connection's circuit breaker says when.
        return _next(version, 0, Seconds(0.0), reason, is_failure=False)
    delay = backoff(failures + 1, rules.first_backoff, rules, chance)
    return _next(version, failures + 1, delay, reason, is_failure=False)


def _first_backoff(ended: EndedRound, rules: WatchRules) -> Seconds:
    if ended.failure is not FailureKind.FORBIDDEN:
        return rules.first_backoff
    return rules.first_forbidden_backoff if ended.is_new else rules.first_revoked_backoff


def _next(
    version: str, failures: int, delay: Seconds, reason: str, *, is_failure: bool
) -> NextRound:
    return NextRound(
        version=version, failures=failures, delay=delay, reason=reason, is_failure=is_failure
    )
