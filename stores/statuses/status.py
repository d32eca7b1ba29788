"""The status of a pod: how it follows from what is observed of it, and from the status before. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from messages.pod_runtime import PodObserved, ProbeVerdict
from messages.pods import TERMINAL_PHASES, Pod, PodPhase
from messages.statuses import REJECTED, PodCondition, PodFailure, PodStatus
from messages.units import Timestamp
from stores.statuses.completion import completed
from stores.statuses.conditions import ConditionInput, conditions_of
from stores.statuses.phase import phase_of
from stores.statuses.shown import may_run, was_seen


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusSituation:
    """Everything that the status of a pod follows from."""

    pod: Pod
    observed: PodObserved | None
    """None before the runtime told anything: then what was shown before stays."""
    verdicts: Mapping[str, ProbeVerdict] | None = None
    previous: PodStatus | None = None
    """The last one, or the one that the API shows if the agent was started again."""
    failure: PodFailure | None = None
    """Why the node fails or refuses the pod. It is shown once no container may run any more (rule V8)."""
    is_ended: bool = False
    """Nothing of it runs or will run."""
    host_ips: tuple[str, ...] = ()
    now: Timestamp


class _Verdict(NamedTuple):
    phase: PodPhase
    reason: str = ""
    message: str = ""


def status_after(situation: StatusSituation) -> PodStatus:
    """Return the status of a pod (rules V1 to V4, V8 and V12).

    It never goes back: a terminal phase stays with its reason, ``startTime`` is fixed, and a container that
    ended for good does not run again. A pod that is to become terminal while containers may run keeps its
    phase until they have ended.
    """
    previous, now = situation.previous, Timestamp(int(situation.now))
    if previous is not None and previous.is_ended:
        situation = replace(situation, is_ended=True)
    before = None if previous is None else previous.observed
    has_ended = previous is not None and previous.phase in TERMINAL_PHASES
    observed = completed(situation.pod, situation.observed, before, has_ended=has_ended)
    failure = situation.failure or final_failure(observed)
    conditions = () if previous is None else previous.conditions
    if _is_rejected(observed, previous):
        # The runtime refused the pod before it made anything of it: as admission does.
        observed, conditions = None, _told(situation.pod, conditions)
        failure = None if failure is None else failure.as_rejection()
    verdict = _verdict(situation, observed, failure)
    has_failed = failure is not None and verdict.phase is PodPhase.FAILED
    given = ConditionInput(
        pod=situation.pod,
        observed=observed,
        verdicts=situation.verdicts,
        phase=verdict.phase,
        failure=failure if has_failed else None,
        is_refused=observed is None and verdict.phase is PodPhase.FAILED and bool(verdict.reason),
        is_ended=situation.is_ended,
        previous=conditions,
        now=now,
    )
    return PodStatus(
        phase=verdict.phase,
        conditions=conditions_of(given),
        observed=observed,
        verdicts=situation.verdicts or None,
        start_time=now if previous is None or previous.start_time is None else previous.start_time,
        host_ips=situation.host_ips or (() if previous is None else previous.host_ips),
        reason=verdict.reason,
        message=verdict.message,
        is_ended=situation.is_ended,
    )


def shows_same(one: PodStatus, other: PodStatus) -> bool:
    """Return whether people see the same: all is equal but the mark, which only commands concern."""
    return (
        one is other
        or one == other
        or (
            one.observed is not None
            and other.observed is not None
            and _parts(one) == _parts(other)
            and one.observed.containers == other.observed.containers
            and one.observed.sandbox == other.observed.sandbox
        )
    )


def _parts(status: PodStatus) -> tuple[object, ...]:
    return (
        status.phase,
        status.conditions,
        status.verdicts,
        status.start_time,
        status.host_ips,
        status.reason,
        status.message,
        status.is_ended,
    )


def final_failure(observed: PodObserved | None) -> PodFailure | None:
    """Return the trouble for which the pod can never run here, if there is one."""
    for trouble in () if observed is None else observed.troubles:
        if trouble.is_for_good:
            return PodFailure(reason=trouble.reason, message=trouble.message)
    return None


def _is_rejected(observed: PodObserved | None, previous: PodStatus | None) -> bool:
    """Return whether a pod can never run here, and nothing of it was ever seen."""
    if observed is None or observed.phase is not None or was_seen(observed):
        return False
    if previous is not None and previous.phase in TERMINAL_PHASES:
        return previous.observed is None and previous.message.startswith(REJECTED)
    return final_failure(observed) is not None


def _told(pod: Pod, conditions: tuple[PodCondition, ...]) -> tuple[PodCondition, ...]:
    """Return those of ``conditions`` that are shown already, and so are not taken away."""
    shown = (pod.document.get("status") or {}).get("conditions") or ()
    types = {each.get("type") for each in shown}
    return tuple(each for each in conditions if each.type in types)


def _verdict(
    situation: StatusSituation, observed: PodObserved | None, failure: PodFailure | None
) -> _Verdict:
    previous, is_ended = situation.previous, situation.is_ended
    if previous is not None and previous.phase in TERMINAL_PHASES:
        return _Verdict(previous.phase, previous.reason, previous.message)
    phase = phase_of(situation.pod, observed, situation.verdicts, is_ended=is_ended)
    if not is_ended and may_run(observed):
        if phase not in TERMINAL_PHASES:
            return _Verdict(phase)
        if previous is None:
            return _Verdict(PodPhase.RUNNING)
        return _Verdict(previous.phase, previous.reason, previous.message)
    if failure is not None:
        return _Verdict(PodPhase.FAILED, failure.reason, failure.message)
    return _Verdict(phase)
