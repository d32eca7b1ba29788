"""What comes after what: the decisions of one watch, as pure functions.

A watch is a series of rounds, each a list or a stream. How a round ended decides what the next one
is, and when. Refusals back off here, watch by watch; a broken connection is everybody's on it, and
waits at the gate of its client instead (``circuit_breaker``).
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final, TypeAlias

from kube.streams.rules import WatchRules
from messages.api import FailureKind
from messages.units import Seconds

MOST_DOUBLINGS: Final = 30
"""2**30 times anything is beyond every cap, and far from what overflows a float."""

_LOST: Final = frozenset(
    {FailureKind.GONE, FailureKind.MALFORMED, FailureKind.INVALID, FailureKind.REFUSED}
)
"""Failures after which the version seen last leads nowhere: it is too old, or follows an event that nobody
could read, or the server does not take it."""

SentTimes: TypeAlias = tuple[float, ...]
"""When the requests of the last window were answered, oldest first; as many as are allowed in one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRound:
    """How a list or a stream ended."""

    version: str
    """The last version seen; empty when there is none to go on from."""
    lasted: Seconds = Seconds(0.0)
    """For how long the stream was open; 0 when there was none."""
    heard: bool = False
    """An event or a bookmark came."""
    failure: FailureKind | None = None
    """None for a server that ended its answer in order."""
    is_fresh: bool = False
    """The version is that of a list, and nothing was followed from it yet."""
    is_new: bool = False
    """Somebody asked for the watch, and it has not been followed since."""
    connection_lost: bool = False
    """It failed together with its connection, or for want of one."""
    retry_after: Seconds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NextRound:
    """What comes next: a stream from ``version``, or a list when it is empty, after ``delay``."""

    version: str
    failures: int
    """In a row: what the backoff doubles with."""
    delay: Seconds
    reason: str
    """Why the watch has to be opened again, in one word for metrics."""
    is_failure: bool
    """Whether subscribers should hear of it: the target is not followed meanwhile."""


def next_round(
    ended: EndedRound, failures: int, rules: WatchRules, chance: random.Random
) -> NextRound:
    """Return what follows a round that ended after ``failures`` ones in a row."""
    failures = 0 if _was_healthy(ended, rules) else failures
    reason = "ended" if ended.failure is None else ended.failure.value
    if ended.connection_lost and ended.lasted == 0.0:
        # The gate of its client says when; the watch itself has done nothing wrong.
        return _next(ended.version, failures, Seconds(0.0), reason, is_failure=True)
    if ended.failure is None or ended.connection_lost:
        return _after_stream(ended, failures, reason, rules, chance)
    if ended.failure is FailureKind.GONE and (failures == 0 or not ended.is_fresh):
        # After a restart of the API server nearly every watch hears this: list at once, whatever failed
        # before. Only a server that has forgotten what it has just listed is in a series of failures.
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
    """Return the wait after ``failures`` ones in a row, the first being 1."""
    doubled = first * 2.0 ** min(failures - 1, MOST_DOUBLINGS)
    return Seconds(min(rules.longest_backoff, doubled) * chance.uniform(0.8, 1.2))


def watch_timeout(rules: WatchRules, chance: random.Random) -> int:
    """Return after how many seconds the server is asked to end a watch."""
    return round(chance.uniform(rules.shortest_watch, rules.longest_watch))


def silence_limit(rules: WatchRules, chance: random.Random) -> Seconds:
    """Return after how long a stream that has not said anything is ended here."""
    return Seconds(rules.silent_after * chance.uniform(1.0, 1.5))


def request_pause(sent: SentTimes, now: float, rules: WatchRules) -> Seconds:
    """Return how long a watch with its last requests at ``sent`` must wait for its next."""
    if len(sent) < rules.most_requests:
        return Seconds(0.0)
    return Seconds(max(0.0, sent[0] + rules.request_window - now))


def with_request(sent: SentTimes, now: float, rules: WatchRules) -> SentTimes:
    """Return ``sent`` with one request more, and without what no longer counts."""
    recent = (at for at in sent[1 - rules.most_requests :] if at + rules.request_window > now)
    return (*recent, now)


def probe_at(last: float, now: float, rules: WatchRules, chance: random.Random) -> float:
    """Return when a client whose last probe was sent at ``last`` may be tried again."""
    soonest = now + chance.uniform(rules.first_probe / 2, rules.first_probe)
    return max(soonest, last + chance.uniform(rules.shortest_probe, rules.longest_probe))


def spread(waiting: int, rules: WatchRules) -> Seconds:
    """Return over how long ``waiting`` streams of one client return."""
    return Seconds(rules.spread * min(1.0, waiting / rules.streams_per_client))


def _was_healthy(ended: EndedRound, rules: WatchRules) -> bool:
    # What was heard counts only if it ended well or with its connection: a server that sends one
    # event and then garbage, again and again, is in a series of failures.
    well = ended.failure is None or ended.connection_lost
    return ended.lasted >= rules.healthy_after or (ended.heard and well)


def _is_lost(failure: FailureKind, failures: int, rules: WatchRules) -> bool:
    """Return whether a watch must list after it failed for the ``failures``-th time in a row."""
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
        # The gate of its client says when.
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
