"""How a pod is: its state in the words of ``kubectl get pods``, and whether somebody should look at it. Pure.

This is decided here alone. The command, ``actorlet top`` and the page show what the endpoints tell of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from messages.pods import JsonObject, Pod, PodPhase
from messages.statuses import PodStatus
from messages.units import Timestamp
from server.reasons.ends import LATELY
from stores.statuses.conditions import READY, VOLUMES_RELEASED

_COMPLETED: Final = "Completed"


def pod_summary(
    pod: Pod, status: PodStatus | None, document: JsonObject, now: Timestamp
) -> JsonObject:
    """Return the summary of a pod: what a table shows of its containers, and whether it is well.

    ``document`` is the pod with ``status`` rendered, in full or in brief. ``state`` is one word, ``ready``
    is ``1/2``, ``restarts`` is a number, and ``lastEnd`` is the time at which a container that was started
    again had ended last; it is left out if there was no restart.
    """
    shown = document.get("status") or {}
    restarted = _with_restarts(document, shown)
    restarts = sum(each.get("restartCount") or 0 for each in restarted)
    told: dict[str, Any] = {
        "state": _state(document, shown),
        "isWell": is_well(pod, status, now),
        "ready": _readiness(document, shown),
        "restarts": restarts,
    }
    last_end = max(map(_last_end, restarted), default="")
    return {**told, "lastEnd": last_end} if restarts and last_end else told


def is_well(pod: Pod, status: PodStatus | None, now: Timestamp) -> bool:
    """Return whether a pod needs no attention: it is ready or has succeeded, and nothing holds it.

    A pod is in trouble while it waits or is not ready, after it failed, for ten minutes after one of its
    containers failed, and while its volumes cannot be taken away.
    """
    conditions = _conditions(pod, status)
    if (VOLUMES_RELEASED, "False") in conditions:
        return False
    if (phase := phase_of(pod, status)) == PodPhase.SUCCEEDED.value:
        return True
    is_refused = phase == PodPhase.FAILED.value or (status is not None and bool(status.reason))
    is_ready = (READY, "True") in conditions
    return is_ready and not is_refused and not _has_failed_lately(status, now)


def phase_of(pod: Pod, status: PodStatus | None) -> str:
    """Return the phase that the node gives a pod; what its source says if the node has not told one."""
    return pod.phase or PodPhase.PENDING.value if status is None else status.phase.value


def _conditions(pod: Pod, status: PodStatus | None) -> list[tuple[str, str]]:
    if status is not None:
        return [(each.type, each.status) for each in status.conditions]
    shown = (pod.document.get("status") or {}).get("conditions") or ()
    return [(each.get("type"), each.get("status")) for each in shown]


def _has_failed_lately(status: PodStatus | None, now: Timestamp) -> bool:
    """Return whether a container that runs again has failed before: it may do so again."""
    if status is None or status.observed is None:
        return False
    ends = (history.last for history in status.observed.containers.values())
    return any(end and end.exit_code and now - (end.finished_at or 0.0) < LATELY for end in ends)


def _state(document: JsonObject, shown: JsonObject) -> str:
    if (document.get("metadata") or {}).get("deletionTimestamp"):
        return "Terminating"
    phase, reason = shown.get("phase") or PodPhase.PENDING.value, shown.get("reason")
    if reason:
        return str(reason)
    if phase in {PodPhase.SUCCEEDED.value, PodPhase.FAILED.value}:
        return _ended(shown, phase)
    return _initializing(document, shown) or _running(shown, phase)


def _ended(shown: JsonObject, phase: str) -> str:
    if phase == PodPhase.SUCCEEDED.value:
        return _COMPLETED
    bad = (each for each in map(_reason, _main(shown)) if each not in {"", _COMPLETED})
    return next(bad, phase)


def _initializing(document: JsonObject, shown: JsonObject) -> str:
    """Return how far the init containers are; empty once they have done their work."""
    names, inits = _sidecar_names(document), _inits(shown)
    for place, each in enumerate(inits):
        if _has_succeeded(each) or (each.get("name") in names and each.get("started")):
            continue
        reason = _reason(each)
        known = reason and reason != "PodInitializing"
        return f"Init:{reason}" if known else f"Init:{place}/{len(inits)}"
    return ""


def _running(shown: JsonObject, phase: str) -> str:
    main = _main(shown)
    reasons = [each for each in map(_reason, main) if each]
    runs = any(_is(each, "running") for each in main)
    if reasons and not (runs and set(reasons) == {_COMPLETED}):
        return reasons[0]
    is_ready = any(
        each.get("type") == READY and each.get("status") == "True"
        for each in shown.get("conditions") or ()
    )
    return "NotReady" if runs and reasons and not is_ready else phase


def _reason(container: JsonObject) -> str:
    """Return why a container does not run; empty if it does."""
    ended, waiting = _is(container, "terminated"), _is(container, "waiting").get("reason")
    if waiting or not ended:
        return str(waiting or "")
    signal = ended.get("signal")
    by_number = f"Signal:{signal}" if signal else f"ExitCode:{ended.get('exitCode') or 0}"
    return str(ended.get("reason") or by_number)


def _has_succeeded(container: JsonObject) -> bool:
    return bool((ended := _is(container, "terminated")) and ended.get("exitCode") == 0)


def _readiness(document: JsonObject, shown: JsonObject) -> str:
    """Return how many of the containers that run on are ready: ``1/2``."""
    names = _sidecar_names(document)
    running_on = [*_named(_inits(shown), names), *_main(shown)]
    wanted = len((document.get("spec") or {}).get("containers") or ()) + len(names)
    return f"{sum(bool(each.get('ready')) for each in running_on)}/{wanted}"


def _with_restarts(document: JsonObject, shown: JsonObject) -> Sequence[JsonObject]:
    """Return the containers whose restarts count: init containers as long as no other has begun."""
    inits, main = _inits(shown), _main(shown)
    running_on = [*_named(inits, _sidecar_names(document)), *main]
    has_begun = any(_is(each, "running") or _last(each) for each in main)
    return running_on if has_begun or not inits else inits


def _last_end(container: JsonObject) -> str:
    return str(_last(container).get("finishedAt") or "")


def _is(container: JsonObject, state: str) -> JsonObject:
    return (container.get("state") or {}).get(state) or {}


def _last(container: JsonObject) -> JsonObject:
    return (container.get("lastState") or {}).get("terminated") or {}


def _main(shown: JsonObject) -> Sequence[JsonObject]:
    return shown.get("containerStatuses") or ()


def _inits(shown: JsonObject) -> Sequence[JsonObject]:
    return shown.get("initContainerStatuses") or ()


def _named(containers: Iterable[JsonObject], names: frozenset[str]) -> list[JsonObject]:
    return [each for each in containers if each.get("name") in names]


def _sidecar_names(document: JsonObject) -> frozenset[str]:
    inits = (document.get("spec") or {}).get("initContainers") or ()
    return frozenset(each["name"] for each in inits if each.get("restartPolicy") == "Always")
