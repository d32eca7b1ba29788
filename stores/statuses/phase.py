"""The phase of a pod, by the kubelet's rules. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from manifests.restart_rules import is_restarted, is_sidecar
from messages.pod_runtime import ContainerHistory, PodObserved, ProbeVerdict
from messages.pods import Pod, PodPhase
from stores.statuses.shown import (
    Container,
    Shown,
    containers,
    exit_code,
    has_ended_before,
    has_started,
    histories,
    init_containers,
    is_done,
    is_started,
    restart_policy,
    shown,
    verdict_on,
)

Histories: TypeAlias = Mapping[str, ContainerHistory]
Verdicts: TypeAlias = Mapping[str, ProbeVerdict] | None


@dataclass(slots=True)
class _Count:
    """How many containers that stay, sidecars included, are in each state."""

    running: int = 0
    waiting: int = 0
    """They never ran. One that waits to be started again counts as stopped."""
    stopped: int = 0
    """Regular containers alone: sidecars that ended do not count for the phase."""
    succeeded: int = 0
    restarting: int = 0
    """Of those stopped, the ones that are started again."""


def phase_of(
    pod: Pod, observed: PodObserved | None, verdicts: Verdicts = None, *, is_ended: bool = False
) -> PodPhase:
    """Return the phase that follows from the containers. ``is_ended``: nothing of it runs or will run.

    - A failed init container that is not started again fails the pod.
    - While an init container has not succeeded, or a sidecar has not started before any regular container
      has, the pod is Pending. So it is while a container waits that never ran, even if others run (Y3).
    - It is Running while a container runs, or will be started again.
    - When no container runs and none is started again, it is Succeeded if all exited with 0, else Failed.
    - A runtime that tells a phase is believed, until the pod has ended.
    """
    if observed is not None and observed.phase is not None and not is_ended:
        return observed.phase
    seen = histories(observed)
    if is_ended:
        all_succeeded = all(exit_code(seen.get(each["name"])) == 0 for each in containers(pod))
        return PodPhase.SUCCEEDED if all_succeeded else PodPhase.FAILED
    policy = restart_policy(pod)
    inits = init_containers(pod)
    if inits:
        if _has_failed(inits, seen, policy):
            return PodPhase.FAILED
        if _is_initializing(inits, pod, seen, verdicts):
            return PodPhase.PENDING
    return _of_count(_count(inits, containers(pod), seen, policy))


def _has_failed(inits: Iterable[Container], seen: Histories, policy: str) -> bool:
    """Return whether an init container failed for good."""
    for each in inits:
        history = seen.get(each["name"])
        if is_sidecar(each) or shown(history) is not Shown.ENDED:
            continue
        code = exit_code(history)
        if code != 0 and not is_restarted(each, policy, code):
            return True
    return False


def _is_initializing(
    inits: Iterable[Container], pod: Pod, seen: Histories, verdicts: Verdicts
) -> bool:
    has_begun = any(has_started(seen.get(each["name"])) for each in containers(pod))
    for each in inits:
        name = each["name"]
        history = seen.get(name)
        if is_sidecar(each):
            if not has_begun and _is_sidecar_pending(history, verdict_on(name, verdicts)):
                return True
        elif history is None:
            # What ran before the regular containers may have been removed since.
            if not has_begun:
                return True
        elif not is_done(history):
            return True
    return False


def _is_sidecar_pending(history: ContainerHistory | None, verdict: ProbeVerdict) -> bool:
    return not has_ended_before(history) and not is_started(history, verdict)


def _count(
    inits: Iterable[Container], regular: Iterable[Container], seen: Histories, policy: str
) -> _Count:
    count = _Count()
    for each in inits:
        if is_sidecar(each):
            history = seen.get(each["name"])
            state = shown(history)
            count.running += state is Shown.RUNNING
            count.waiting += state is Shown.WAITING and not has_ended_before(history)
    for each in regular:
        history = seen.get(each["name"])
        match shown(history):
            case Shown.RUNNING:
                count.running += 1
            case Shown.ENDED:
                code = exit_code(history)
                count.stopped += 1
                count.succeeded += code == 0
                count.restarting += is_restarted(each, policy, code)
            case Shown.WAITING if has_ended_before(history):
                count.stopped += 1
                count.restarting += 1
            case Shown.WAITING:
                count.waiting += 1
    return count


def _of_count(count: _Count) -> PodPhase:
    if count.waiting:
        return PodPhase.PENDING
    if count.running or count.restarting:
        return PodPhase.RUNNING
    if not count.stopped:
        return PodPhase.PENDING
    return PodPhase.SUCCEEDED if count.succeeded == count.stopped else PodPhase.FAILED
