"""What is known of a pod from all of its reports. Pure.

``followed`` compares a sound report with what was followed before. What contradicts it is not followed, and
is said in a sentence: a phase does not go back, what has ended does not run again as the same instance, and
numbers of restarts do not fall (rules V3 and V4).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from manifests.restart_rules import is_sidecar
from messages.pod_runtime import (
    ContainerHistory,
    ContainerObserved,
    ContainerState,
    ContainerWait,
    PodTrouble,
    UsedObject,
)
from messages.pods import TERMINAL_PHASES, JsonObject, Pod, PodPhase, PodUid
from messages.units import Timestamp
from runtimes.provider.pod_provider import ContainerReport, PodReport
from runtimes.provider.reports import quoted

_ORDER: Final = {
    PodPhase.PENDING: 0,
    PodPhase.RUNNING: 1,
    PodPhase.SUCCEEDED: 2,
    PodPhase.FAILED: 2,
}
_WAITS: Final = "ContainerCreating"


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedPod:
    """What is known of a pod, from all of its reports."""

    phase: PodPhase
    containers: Mapping[str, ContainerHistory] = field(default_factory=dict)
    ip: str = ""
    since: Timestamp
    """When it was seen first."""
    trouble: PodTrouble | None = None

    @property
    def has_ended(self) -> bool:
        """Whether nothing of it runs any more, or will."""
        return self.phase in TERMINAL_PHASES


@dataclass(frozen=True, slots=True)
class Followed:
    """What became of one report."""

    pod: FollowedPod
    complaints: tuple[str, ...] = ()
    """What in it was not followed, and why."""


def followed(
    pod: Pod,
    report: PodReport,
    before: FollowedPod | None,
    now: Timestamp,
    restarts_before: int = 0,
    spec_run: JsonObject | None = None,
) -> Followed:
    """Return what is known of ``pod`` after ``report``, as far as it can be followed.

    ``restarts_before`` are restarts that the provider does not know of. ``spec_run`` is the specification
    that it runs with, None for that of ``pod``.
    """
    phase = phase_of_report(report)
    if not report.phase and before is not None and before.phase is PodPhase.RUNNING:
        # All containers may wait to be started again. The phase was not told, so nobody is wrong.
        phase = max(phase, before.phase, key=_ORDER.__getitem__)
    if before is not None and (back := goes_back(before.phase, phase)):
        return Followed(before, (back,))
    specified = _containers_in(spec_run if spec_run is not None else _spec_of(pod))
    # Of a pod that went while the agent was away there is no specification: it is only being stopped.
    complaints = [
        f"the pod has no container {quoted(name)}"
        for name in report.containers
        if specified and name not in specified
    ]
    histories: dict[str, ContainerHistory] = {}
    for name, (spec, is_init) in specified.items():
        told = report.containers.get(name) or _as_the_phase_says(phase, is_init=is_init)
        if restarts_before:
            told = replace(told, restarts=told.restarts + restarts_before)
        earlier = before.containers.get(name) if before is not None else None
        wrong = _contradicts(told, earlier)
        if wrong is not None:
            complaints.append(f"container {name} {wrong}")
        if wrong is not None and earlier is not None:
            histories[name] = earlier
        else:
            histories[name] = _history(pod.uid, spec, told, earlier, now)
    result = FollowedPod(
        phase=phase,
        containers=histories,
        ip=report.ip or (before.ip if before is not None else ""),
        since=before.since if before is not None else now,
        trouble=_trouble(report, phase),
    )
    return Followed(result, tuple(complaints))


def with_variables(
    pod: FollowedPod, before: FollowedPod | None, used: Mapping[str, tuple[UsedObject, ...]]
) -> FollowedPod:
    """Return ``pod`` with what the variables of its instances were made from.

    It is ``used``, by name of the container, of an instance that was not there ``before``.
    """
    found = {
        name: _made_from(history, before.containers.get(name) if before is not None else None, used)
        for name, history in pod.containers.items()
    }
    return replace(pod, containers=found) if found != pod.containers else pod


def _made_from(
    history: ContainerHistory,
    earlier: ContainerHistory | None,
    used: Mapping[str, tuple[UsedObject, ...]],
) -> ContainerHistory:
    current, before = history.current, earlier.current if earlier is not None else None
    if current is None:
        return history
    is_same = before is not None and before.id == current.id
    made_from = before.variables_from if before is not None and is_same else used.get(history.name)
    return (
        replace(history, current=replace(current, variables_from=made_from))
        if made_from
        else history
    )


def phase_of_report(report: PodReport) -> PodPhase:
    """Return the phase that ``report`` tells, or that follows from its containers.

    The provider restarts containers, not the agent: so a pod whose containers have all ended has ended.
    """
    if report.phase:
        return PodPhase(report.phase)
    containers = report.containers.values()
    states = {state_of_report(container) for container in containers}
    if not states or "running" in states:
        return PodPhase.RUNNING
    if "waiting" in states:
        has_begun = any(
            each.restarts or each.exit_code is not None or state_of_report(each) != "waiting"
            for each in containers
        )
        return PodPhase.RUNNING if has_begun else PodPhase.PENDING
    has_failed = any(container.exit_code for container in containers)
    return PodPhase.FAILED if has_failed else PodPhase.SUCCEEDED


def state_of_report(container: ContainerReport) -> str:
    """Return ``waiting``, ``running`` or ``terminated``."""
    return container.state or ("running" if container.exit_code is None else "terminated")


def containers_of(pod: Pod) -> dict[str, tuple[JsonObject, bool]]:
    """Return the containers of the specification, and whether each is an init container that ends."""
    return _containers_in(_spec_of(pod))


def _spec_of(pod: Pod) -> JsonObject:
    spec: JsonObject = pod.document.get("spec") or {}
    return spec


def _containers_in(spec: JsonObject) -> dict[str, tuple[JsonObject, bool]]:
    inits = {
        each["name"]: (each, not is_sidecar(each)) for each in spec.get("initContainers") or ()
    }
    return inits | {each["name"]: (each, False) for each in spec.get("containers") or ()}


def waiting_containers(pod: Pod) -> dict[str, ContainerHistory]:
    """Return the containers of a pod that does not run yet."""
    wait = ContainerWait(reason=_WAITS)
    return {name: ContainerHistory(name=name, wait=wait) for name in containers_of(pod)}


def goes_back(before: PodPhase, phase: PodPhase) -> str | None:
    """Return in words that a pod cannot go from one phase to another one; None if it can."""
    if before is phase:
        return None
    if before in TERMINAL_PHASES or _ORDER[phase] < _ORDER[before]:
        return f"its phase cannot go from {before} to {phase}"
    return None


def _as_the_phase_says(phase: PodPhase, *, is_init: bool) -> ContainerReport:
    if phase is PodPhase.PENDING:
        return ContainerReport(state="waiting")
    if phase is PodPhase.RUNNING and not is_init:
        return ContainerReport()
    return ContainerReport(exit_code=1 if phase is PodPhase.FAILED and not is_init else 0)


def _contradicts(told: ContainerReport, earlier: ContainerHistory | None) -> str | None:
    current = earlier.current if earlier is not None else None
    if current is None:
        return None
    if told.restarts < current.attempt:
        return f"had {current.attempt} restarts and is told with {told.restarts}"
    is_same = told.restarts == current.attempt
    if is_same and current.state is ContainerState.EXITED and state_of_report(told) == "running":
        return "has ended, and is told to run again without another restart"
    return None


def _history(
    uid: PodUid,
    spec: JsonObject,
    told: ContainerReport,
    earlier: ContainerHistory | None,
    now: Timestamp,
) -> ContainerHistory:
    before = earlier.current if earlier is not None else None
    is_same = before is not None and before.attempt == told.restarts
    last = earlier.last if earlier is not None else None
    if before is not None and not is_same:
        last = _ended(before, now)
    if state_of_report(told) == "waiting":
        wait = ContainerWait(reason=told.reason or _WAITS, message=told.message)
        current = _waiting_instance(uid, spec, told, before, now)
        return ContainerHistory(name=spec["name"], current=current, last=last, wait=wait)
    current = _instance(uid, spec, told, before if is_same else None, now)
    return ContainerHistory(name=spec["name"], current=current, last=last)


def _waiting_instance(
    uid: PodUid,
    spec: JsonObject,
    told: ContainerReport,
    before: ContainerObserved | None,
    now: Timestamp,
) -> ContainerObserved | None:
    """Return the instance that ended before the wait; None before the first one."""
    if told.exit_code is not None:
        is_same = before is not None and before.attempt == told.restarts
        done = replace(told, state="terminated", reason="", message="")
        return _instance(uid, spec, done, before if is_same else None, now)
    return _ended(before, now) if before is not None else None


def _instance(
    uid: PodUid,
    spec: JsonObject,
    told: ContainerReport,
    same: ContainerObserved | None,
    now: Timestamp,
) -> ContainerObserved:
    started = _moment(told.started_at, same.started_at if same is not None else None, now)
    running = ContainerObserved(
        id=f"virtual://{uid}/{spec['name']}/{told.restarts}",
        name=spec["name"],
        attempt=told.restarts,
        state=ContainerState.RUNNING,
        image=spec.get("image") or "",
        created_at=started,
        started_at=started,
        is_ready=told.ready,
    )
    if state_of_report(told) == "running":
        return running
    code = told.exit_code or 0
    return replace(
        running,
        state=ContainerState.EXITED,
        finished_at=_moment(told.finished_at, same.finished_at if same is not None else None, now),
        exit_code=code,
        reason=told.reason or ("Error" if code else "Completed"),
        message=told.message,
        is_ready=False,
    )


def _ended(instance: ContainerObserved, now: Timestamp) -> ContainerObserved:
    """Return ``instance`` as ended. How it ended may not have been seen (rule V12)."""
    if instance.state is ContainerState.EXITED:
        return instance
    return replace(
        instance,
        state=ContainerState.EXITED,
        finished_at=now,
        exit_code=137,
        reason="ContainerStatusUnknown",
        is_ready=False,
    )


def ended_unseen(pod: FollowedPod, now: Timestamp, phase: PodPhase) -> FollowedPod:
    """Return ``pod`` as one whose end nobody saw: what still ran has ended, nobody knows how."""
    histories = {
        name: replace(history, current=_ended(history.current, now), wait=None)
        if history.current is not None
        else history
        for name, history in pod.containers.items()
    }
    return replace(pod, phase=phase, containers=histories)


def _moment(told: float | None, before: Timestamp | None, now: Timestamp) -> Timestamp:
    if told is not None:
        return Timestamp(float(told))
    return before if before is not None else now


def _trouble(report: PodReport, phase: PodPhase) -> PodTrouble | None:
    if not report.reason and not report.message:
        return None
    return PodTrouble(
        reason=report.reason or "ProviderSays",
        message=report.message,
        is_for_good=phase is PodPhase.FAILED,
    )
