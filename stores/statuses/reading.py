"""A status as the API shows it, read back after a restart of the agent. Pure.

What a status of the API does not say is missing here too: the sandbox's name, and what the probes said.
Fields that are not as the API writes them count as missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from manifests.times import moment_of
from messages.pod_runtime import (
    NO_MARK,
    ContainerHistory,
    ContainerObserved,
    ContainerState,
    ContainerWait,
    PodObserved,
    SandboxObserved,
    SandboxState,
)
from messages.pods import STATUS_LISTS, JsonObject, PodPhase, PodUid
from messages.statuses import PodCondition, PodStatus
from messages.units import Timestamp
from stores.statuses.conditions import OWNED

_PHASES: Final = {phase.value: phase for phase in PodPhase}
_NEVER: Final = Timestamp(0.0)


def status_of(document: JsonObject) -> PodStatus | None:
    """Return the status in a pod's document, or in the document of a status. None if it has no phase."""
    metadata = _map(document.get("metadata"))
    status = _map(document.get("status")) if metadata else document
    phase = _PHASES.get(_text(status.get("phase")))
    if phase is None:
        return None
    return PodStatus(
        phase=phase,
        conditions=tuple(_conditions(status)),
        observed=_observed(PodUid(_text(metadata.get("uid"))), status),
        start_time=moment_of(status.get("startTime")),
        host_ips=_ips(status, "hostIP"),
        reason=_text(status.get("reason")),
        message=_text(status.get("message")),
    )


def _conditions(status: JsonObject) -> Iterable[PodCondition]:
    for each in _maps(status.get("conditions")):
        if _text(each.get("type")) in OWNED:
            yield PodCondition(
                type=_text(each.get("type")),
                status=_text(each.get("status")),
                since=moment_of(each.get("lastTransitionTime")) or _NEVER,
                reason=_text(each.get("reason")),
                message=_text(each.get("message")),
            )


def _observed(uid: PodUid, status: JsonObject) -> PodObserved | None:
    found = [_history(each) for name in STATUS_LISTS for each in _maps(status.get(name))]
    if not found:
        return None
    ips = _ips(status, "podIP")
    sandbox = SandboxObserved(
        id="", attempt=0, state=SandboxState.NOT_READY, created_at=_NEVER, ips=ips
    )
    return PodObserved(
        uid=uid,
        mark=NO_MARK,
        sandbox=sandbox if ips else None,
        containers={history.name: history for history in found},
    )


def _history(status: JsonObject) -> ContainerHistory:
    name = _text(status.get("name"))
    attempt = _int(status.get("restartCount"))
    state, last = _map(status.get("state")), _map(_map(status.get("lastState")).get("terminated"))
    is_running, ended = "running" in state, _map(state.get("terminated"))
    current = None
    if ended:
        current = _exited(status, ended, attempt)
    elif is_running:
        current = _instance(status, attempt, ContainerState.RUNNING, _map(state["running"]))
    elif last:
        # The newest instance has exited: what is waited for is the next one.
        current, last = _exited(status, last, attempt), {}
    wait = None
    if not ended and not is_running:
        told = _map(state.get("waiting"))
        reason = _text(told.get("reason")) or "ContainerCreating"
        wait = ContainerWait(reason=reason, message=_text(told.get("message")))
    return ContainerHistory(
        name=name,
        current=current,
        last=_exited(status, last, max(attempt - 1, 0)) if last else None,
        wait=wait,
    )


def _exited(status: JsonObject, ended: JsonObject, attempt: int) -> ContainerObserved:
    return _instance(status, attempt, ContainerState.EXITED, ended)


def _instance(
    status: JsonObject, attempt: int, state: ContainerState, told: JsonObject
) -> ContainerObserved:
    has_exited = state is ContainerState.EXITED
    return ContainerObserved(
        id=_text(told.get("containerID")) if has_exited else _text(status.get("containerID")),
        name=_text(status.get("name")),
        attempt=attempt,
        state=state,
        image=_text(status.get("image")),
        image_id=_text(status.get("imageID")),
        started_at=moment_of(told.get("startedAt")),
        finished_at=moment_of(told.get("finishedAt")),
        exit_code=_int(told.get("exitCode")) if has_exited else None,
        reason=_text(told.get("reason")),
        message=_text(told.get("message")),
        is_ready=has_exited or status.get("ready") is not False,
    )


def _ips(status: JsonObject, name: str) -> tuple[str, ...]:
    listed = [_text(each.get("ip")) for each in _maps(status.get(f"{name}s"))]
    ips = tuple(each for each in listed if each)
    first = _text(status.get(name))
    return ips or ((first,) if first else ())


def _map(told: object) -> Mapping[str, Any]:
    return told if isinstance(told, Mapping) else {}


def _maps(told: object) -> Iterable[Mapping[str, Any]]:
    return [each for each in told if isinstance(each, Mapping)] if isinstance(told, list) else []


def _text(told: object) -> str:
    return told if isinstance(told, str) else ""


def _int(told: object) -> int:
    return told if isinstance(told, int) else 0
