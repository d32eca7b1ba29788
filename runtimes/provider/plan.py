"""What to call next for one pod: from what it should be, what was called, and what was observed. Pure.

A pod is examined whenever anything about it changes. One situation gives one step. While a call about the
pod is under way, the next step waits for its answer. After each call ``observe`` is asked anew, and nothing
is concluded from an observation that began before the call was answered.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from messages.pod_runtime import RunPod, StopPod
from messages.units import Seconds
from runtimes.provider.pods import SHORTEST_GRACE, Method, ProviderPod, restart_policy_of

MISSING_FOR: Final = Seconds(10.0)
"""How long a pod that was run must be missing from all observations to count as not there."""
LATE_BY: Final = Seconds(10.0)
"""How long after its grace a pod that still runs is stopped once more."""
ENOUGH: Final = 3
"""So often in a row a call may fail that only tidies up."""
MOST_HANGING_STOPS: Final = 2
"""So many calls of ``stop`` for one pod may hang."""
SHORTENED_BY: Final = Seconds(0.5)
"""By how much less time a pod must have for ``stop`` to be called again at once."""


# Steps.


class Rest(StrEnum):
    """Nothing is called."""

    AS_COMMANDED = "as commanded"
    """The command has its effect."""
    GONE = "gone"
    """Nothing is left of it, as commanded."""
    WAITING = "waiting"
    """An answer is awaited, or an observation."""
    LOST = "lost"
    """It was there, is not any more, and must not be started again: nobody knows how it ended."""


@dataclass(frozen=True, slots=True)
class WaitUntil:
    """Nothing is called before this moment."""

    moment: float


@dataclass(frozen=True, slots=True)
class CallProvider:
    """Call the provider for this."""

    method: Method
    grace: Seconds = Seconds(0.0)


ProviderStep: TypeAlias = Rest | WaitUntil | CallProvider


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """Which of the optional methods the class has, and what it does itself."""

    update: bool = False
    forget: bool = False
    node: bool = False
    volumes: bool = False
    """It makes the volumes of its pods itself."""


def next_step(it: ProviderPod, observed: int, now: float, can: Abilities) -> ProviderStep:
    """Return what to do for ``it``. ``observed`` is the number of the last observation that was answered."""
    if it.calls:
        return _shortened(it, now) or Rest.WAITING
    if observed < it.fresh_from:
        return Rest.WAITING
    if isinstance(it.command, RunPod):
        return _to_run(it, it.command, now, can)
    return _to_stop(it, now, can)


def _to_run(it: ProviderPod, command: RunPod, now: float, can: Abilities) -> ProviderStep:
    if it.state is not None and it.state.has_ended:
        return Rest.AS_COMMANDED
    if it.is_told:
        spec = command.pod.document.get("spec")
        if can.update and it.spec_run is not None and it.spec_run != spec:
            return _paused(it, now) or CallProvider(Method.UPDATE)
        return Rest.AS_COMMANDED
    if Method.RUN in it.hung.values():
        return Rest.WAITING  # it may begin yet, and nothing may run twice
    if it.was_run or it.state is not None:
        since = it.missing_since if it.missing_since is not None else now
        if now < since + MISSING_FOR:
            return WaitUntil(since + MISSING_FOR)
        if it.state is not None and restart_policy_of(command) == "Never":
            return Rest.LOST
    return _paused(it, now) or CallProvider(Method.RUN)


def _to_stop(it: ProviderPod, now: float, can: Abilities) -> ProviderStep:
    was_asked = it.stopping_by is not None
    if it.lives:
        return _stop_what_lives(it, now)
    if not was_asked and (it.may_be_there or it.is_told):
        return CallProvider(Method.STOP, _grace(it, now))
    if not it.was_stopped and it.is_told and it.failures < ENOUGH:
        return _paused(it, now) or CallProvider(Method.STOP, SHORTEST_GRACE)
    if it.is_not_understood and it.stopping_by is not None and now < it.stopping_by:
        return _shortened(it, now) or WaitUntil(it.stopping_by)
    if Method.RUN in it.hung.values():
        return Rest.WAITING  # it may begin yet: nobody can say that it is gone
    if isinstance(it.command, StopPod):
        return Rest.AS_COMMANDED
    if can.forget and not it.was_forgotten and it.pod is not None and it.failures < ENOUGH:
        return _paused(it, now) or CallProvider(Method.FORGET)
    return Rest.GONE


def _stop_what_lives(it: ProviderPod, now: float) -> ProviderStep:
    if list(it.hung.values()).count(Method.STOP) >= MOST_HANGING_STOPS:
        return Rest.WAITING
    if it.stopping_by is None:
        return CallProvider(Method.STOP, _grace(it, now))
    if not it.was_stopped:
        return _paused(it, now) or CallProvider(Method.STOP, _grace(it, now))
    late = it.stopping_by + LATE_BY
    return (
        _shortened(it, now)
        or _paused(it, now)
        or (WaitUntil(late) if now < late else CallProvider(Method.STOP, SHORTEST_GRACE))
    )


def _shortened(it: ProviderPod, now: float) -> CallProvider | None:
    """Return the call that says that there is less time than was said before, if there is."""
    if isinstance(it.command, RunPod) or it.stop_by is None or it.stopping_by is None:
        return None
    if any(method is not Method.STOP for method in it.calls.values()) or len(it.calls) > 1:
        return None
    grace = _grace(it, now)
    return (
        CallProvider(Method.STOP, grace) if now + grace + SHORTENED_BY <= it.stopping_by else None
    )


def _grace(it: ProviderPod, now: float) -> Seconds:
    return Seconds(max((it.stop_by or now) - now, SHORTEST_GRACE))


def _paused(it: ProviderPod, now: float) -> WaitUntil | None:
    return WaitUntil(it.retry_at) if it.retry_at is not None and now < it.retry_at else None


# Time between two attempts.

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0


def pause_after(failures: int) -> Seconds:
    """Return how long to wait after so many failures in a row: 1 s, 2 s, 4 s, ... 60 s."""
    return Seconds(min(FIRST_PAUSE * 2 ** min(failures - 1, 10), LONGEST_PAUSE))
