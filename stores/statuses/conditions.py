"""The conditions of a pod that its node owns: their status, reason, message and time. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from manifests.restart_rules import is_sidecar
from messages.pod_runtime import (
    ContainerHistory,
    PodObserved,
    PodTrouble,
    ProbeVerdict,
    SandboxState,
)
from messages.pods import Pod, PodPhase
from messages.statuses import PodCondition, PodFailure
from messages.units import Timestamp
from stores.statuses.shown import (
    containers,
    has_started,
    histories,
    init_containers,
    is_done,
    is_on_host_network,
    is_ready,
    is_started,
    verdict_on,
)

SANDBOX: Final = "PodReadyToStartContainers"
INITIALIZED: Final = "Initialized"
READY: Final = "Ready"
CONTAINERS_READY: Final = "ContainersReady"
SCHEDULED: Final = "PodScheduled"
RESIZE_PENDING: Final = "PodResizePending"
RESIZE_IN_PROGRESS: Final = "PodResizeInProgress"
DISRUPTION: Final = "DisruptionTarget"
SUPPORTED: Final = "actorlet/Supported"
"""False while the runtime cannot do something that the pod asks for. Only pods have it that ever did."""
VOLUMES_READY: Final = "actorlet/VolumesReady"
"""False while a volume is not there, or does not show what it should. Only pods have it that ever had one."""
VOLUMES_RELEASED: Final = "actorlet/VolumesReleased"
"""False while volumes of a pod that has ended cannot be taken away. Only pods have it that ever had one."""

OWNED: Final = frozenset(
    {
        SANDBOX,
        INITIALIZED,
        READY,
        CONTAINERS_READY,
        SCHEDULED,
        RESIZE_PENDING,
        RESIZE_IN_PROGRESS,
        DISRUPTION,
        SUPPORTED,
        VOLUMES_READY,
        VOLUMES_RELEASED,
    }
)
"""The types that the node writes. All others are somebody else's, and are left alone (rule V8)."""

_DISRUPTIONS: Final = frozenset({"Evicted", "Preempting", "Terminated"})
"""Failures by which the node disrupts a pod that could have gone on."""
_RARE: Final = frozenset({DISRUPTION, SUPPORTED, VOLUMES_READY, VOLUMES_RELEASED})
"""Conditions that stay once a pod has them."""
_BY_THE_NODE: Final = "TerminationByKubelet"
"""The reason of a disruption by the node. Controllers disrupt pods too, and write the same condition."""
_RESIZES: Final[Mapping[str, tuple[str, str]]] = {
    "ResizeRefused": (RESIZE_PENDING, "Infeasible"),
    "ResizeDeferred": (RESIZE_PENDING, "Deferred"),
    "ResizeInProgress": (RESIZE_IN_PROGRESS, ""),
    "ResizeFailed": (RESIZE_IN_PROGRESS, "Error"),
}
"""Troubles of a resize, and the type and reason of the condition that shows them."""
FAILED_MOUNT: Final = "FailedMount"
"""The reason of the trouble of a volume."""
FAILED_UNMOUNT: Final = "FailedUnmount"
"""The reason of the trouble of a pod that has ended, and whose volumes cannot be taken away."""
UNSUPPORTED: Final = ("NotSupported", "Unsupported")
"""How the reasons of troubles begin that say what the runtime cannot do."""


class _Now(NamedTuple):
    """A condition without its time."""

    type: str
    is_true: bool
    reason: str = ""
    message: str = ""


# Most conditions of most pods are these.
_SANDBOX_READY: Final = _Now(SANDBOX, is_true=True)
_NO_SANDBOX: Final = _Now(SANDBOX, is_true=False)
_INITIALIZED: Final = _Now(INITIALIZED, is_true=True)
_ALL_READY: Final = _Now(READY, is_true=True)
_ALL_CONTAINERS_READY: Final = _Now(CONTAINERS_READY, is_true=True)
_SCHEDULED: Final = _Now(SCHEDULED, is_true=True)


@dataclass(slots=True, kw_only=True)
class ConditionInput:
    """What the conditions follow from. Not frozen, since that takes three times as long to make."""

    pod: Pod
    observed: PodObserved | None
    verdicts: Mapping[str, ProbeVerdict] | None
    phase: PodPhase
    failure: PodFailure | None
    """Only once it has failed the pod."""
    is_refused: bool
    """It was never taken on."""
    is_ended: bool
    previous: tuple[PodCondition, ...]
    now: Timestamp


def conditions_of(given: ConditionInput) -> tuple[PodCondition, ...]:
    """Return all conditions. A time changes only with the condition's status (rule V4)."""
    before = {known.type: known for known in given.previous}
    if given.is_refused:
        return _timed(given, _of_refused(given), before)
    usual = _usual(given)
    if given.failure is None and not _troubles(given) and before.keys().isdisjoint(_RARE):
        return _timed(given, usual, before)
    return _timed(given, (*_resizes(given), *usual, *_special(given)), before)


def _usual(given: ConditionInput) -> tuple[_Now, ...]:
    containers_ready = _containers_ready(given)
    return (
        _SANDBOX_READY if _has_sandbox(given) else _NO_SANDBOX,
        _initialized(given),
        _ready(given.pod, containers_ready),
        containers_ready,
        _SCHEDULED,
    )


def _of_refused(given: ConditionInput) -> Iterable[_Now]:
    """Yield the conditions of a pod that was never taken on: those that it had (rule Y12)."""
    for known in given.previous:
        if known.type == DISRUPTION:
            continue
        if known.type in {READY, CONTAINERS_READY} and known.status == "True":
            yield _Now(known.type, is_true=False, reason="PodFailed")
        else:
            yield _Now(known.type, known.status == "True", known.reason, known.message)
    yield from _disruption(given)


def _has_sandbox(given: ConditionInput) -> bool:
    sandbox = None if given.observed is None else given.observed.sandbox
    if given.is_ended or sandbox is None:
        return not given.is_ended and _is_told_by_phase(given)
    return sandbox.state is SandboxState.READY and (
        bool(sandbox.ips) or is_on_host_network(given.pod)
    )


def _is_told_by_phase(given: ConditionInput) -> bool:
    """Return whether a runtime without sandboxes says that the pod runs."""
    return given.observed is not None and given.observed.phase is PodPhase.RUNNING


def _initialized(given: ConditionInput) -> _Now:
    inits = init_containers(given.pod)
    if given.phase is PodPhase.SUCCEEDED:
        return _Now(INITIALIZED, is_true=True, reason="PodCompleted")
    seen = histories(given.observed)
    if not inits or any(has_started(seen.get(each["name"])) for each in containers(given.pod)):
        return _INITIALIZED
    incomplete = [
        name
        for name, is_side in ((each["name"], is_sidecar(each)) for each in inits)
        if not _is_initialized(seen.get(name), verdict_on(name, given.verdicts), is_side=is_side)
    ]
    if not incomplete:
        return _INITIALIZED
    message = f"containers with incomplete status: {_listed(incomplete)}"
    return _Now(INITIALIZED, is_true=False, reason="ContainersNotInitialized", message=message)


def _is_initialized(
    history: ContainerHistory | None, verdict: ProbeVerdict, *, is_side: bool
) -> bool:
    return is_started(history, verdict) if is_side else is_done(history)


def _containers_ready(given: ConditionInput) -> _Now:
    if given.phase is PodPhase.SUCCEEDED:
        return _Now(CONTAINERS_READY, is_true=False, reason="PodCompleted")
    if given.phase is PodPhase.FAILED:
        return _Now(CONTAINERS_READY, is_true=False, reason="PodFailed")
    seen = histories(given.observed)
    unready = [
        name
        for name in _staying(given.pod)
        if given.is_ended or not is_ready(seen.get(name), verdict_on(name, given.verdicts))
    ]
    if not unready:
        return _ALL_CONTAINERS_READY
    message = f"containers with unready status: {_listed(unready)}"
    return _Now(CONTAINERS_READY, is_true=False, reason="ContainersNotReady", message=message)


def _staying(pod: Pod) -> Iterable[str]:
    """Yield the names of the containers that are to stay: sidecars, then the regular ones."""
    for each in init_containers(pod):
        if is_sidecar(each):
            yield each["name"]
    for each in containers(pod):
        yield each["name"]


def _ready(pod: Pod, containers_ready: _Now) -> _Now:
    if not containers_ready.is_true:
        return containers_ready._replace(type=READY)
    gates = pod.document["spec"].get("readinessGates") or ()
    if not gates:
        return _ALL_READY
    states = {
        each.get("type"): each.get("status")
        for each in (pod.document.get("status") or {}).get("conditions") or ()
    }
    missing = [_gate_message(str(gate.get("conditionType")), states) for gate in gates]
    message = ", ".join(each for each in missing if each)
    if message:
        return _Now(READY, is_true=False, reason="ReadinessGatesNotReady", message=message)
    return _ALL_READY


def _gate_message(gate: str, states: Mapping[str, str]) -> str:
    state = states.get(gate)
    if state is None:
        return f'corresponding condition of pod readiness gate "{gate}" does not exist.'
    if state != "True":
        return f'the status of pod readiness gate "{gate}" is not "True", but {state}'
    return ""


def _resizes(given: ConditionInput) -> Iterable[_Now]:
    found: dict[str, _Now] = {}
    for trouble in _troubles(given):
        if trouble.reason in _RESIZES:
            type_, reason = _RESIZES[trouble.reason]
            known = found.get(type_)  # of several containers
            message = trouble.message if known is None else f"{known.message}; {trouble.message}"
            found[type_] = _Now(type_, is_true=True, reason=reason, message=message)
    yield from found.values()


def _special(given: ConditionInput) -> Iterable[_Now]:
    yield from _disruption(given)
    unsupported = [each for each in _troubles(given) if each.reason.startswith(UNSUPPORTED)]
    if unsupported:
        message = "; ".join(each.message for each in unsupported)
        yield _Now(SUPPORTED, is_true=False, reason=unsupported[0].reason, message=message)
    elif any(known.type == SUPPORTED for known in given.previous):
        yield _Now(SUPPORTED, is_true=True)
    for type_, reason in ((VOLUMES_READY, FAILED_MOUNT), (VOLUMES_RELEASED, FAILED_UNMOUNT)):
        failed = [each for each in _troubles(given) if each.reason == reason]
        if failed:
            message = "; ".join(each.message for each in failed)
            yield _Now(type_, is_true=False, reason=reason, message=message)
        elif any(known.type == type_ for known in given.previous):
            yield _Now(type_, is_true=True)


def _disruption(given: ConditionInput) -> Iterable[_Now]:
    """Yield the condition that tells controllers that the node disrupted the pod, once it has failed."""
    if given.failure is not None and given.failure.reason in _DISRUPTIONS:
        message = given.failure.message
        yield _Now(DISRUPTION, is_true=True, reason=_BY_THE_NODE, message=message)
        return
    for known in given.previous:
        if known.type == DISRUPTION and known.reason == _BY_THE_NODE:
            yield _Now(DISRUPTION, known.status == "True", known.reason, known.message)


def _troubles(given: ConditionInput) -> tuple[PodTrouble, ...]:
    """Return the troubles that matter. Of a pod that has ended, these are those of its volumes' end."""
    if given.observed is None:
        return ()
    found = given.observed.troubles
    if given.is_ended and found:
        return tuple(each for each in found if each.reason == FAILED_UNMOUNT)
    return found


def _listed(names: Iterable[str]) -> str:
    return f"[{' '.join(names)}]"


def _timed(
    given: ConditionInput, conditions: Iterable[_Now], before: Mapping[str, PodCondition]
) -> tuple[PodCondition, ...]:
    timed = []
    for type_, is_true, reason, message in conditions:
        status = "True" if is_true else "False"
        known = before.get(type_)
        if known is None or known.status != status:
            known = _condition(type_, status, given.now, reason, message)
        elif known.reason != reason or known.message != message:
            known = _condition(type_, status, known.since, reason, message)
        timed.append(known)
    return tuple(timed)


@lru_cache(maxsize=2048)
def _condition(
    type_: str, status: str, since: Timestamp, reason: str, message: str
) -> PodCondition:
    # Thousands of pods become ready within one second: their conditions are the same objects.
    return PodCondition(type=type_, status=status, since=since, reason=reason, message=message)
