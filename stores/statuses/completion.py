"""What is known of a pod's containers: an observation, completed by what was shown before. Pure.

Runtimes forget: containers that ended are removed, and addresses go with a sandbox. People do not: what
was shown stays until something newer is known (rules V3 and G5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from manifests.restart_rules import is_restarted, is_sidecar, restarts_all
from messages.pod_runtime import (
    ContainerHistory,
    ContainerObserved,
    ContainerState,
    ContainerWait,
    PodObserved,
    SandboxObserved,
    SandboxState,
)
from messages.pods import Pod, PodPhase
from messages.units import Timestamp
from stores.statuses.shown import (
    LOST_EXIT_CODE,
    LOST_REASON,
    containers,
    ephemeral_containers,
    exit_code,
    has_exited,
    init_containers,
    is_over,
    restart_policy,
)

_LOST_MESSAGE = (
    "The container could not be located when the pod was deleted.  The container used to be Running"
)


def completed(
    pod: Pod, observed: PodObserved | None, before: PodObserved | None, *, has_ended: bool = False
) -> PodObserved | None:
    """Return ``observed`` with what only ``before`` knew. If that is nothing, it is the identical object.

    ``has_ended`` says whether the pod is shown to have ended.
    """
    if observed is None:
        return before
    seen = observed
    if observed.phase is not None:
        seen = _with_phase_shown(pod, seen, observed.phase)
    if before is None:
        return seen
    sandbox = _sandbox(seen.sandbox, before.sandbox, has_ended=has_ended)
    kept = _kept(pod, seen, before)
    if sandbox is seen.sandbox and not kept:
        return seen
    return replace(seen, sandbox=sandbox, containers={**seen.containers, **kept})


def _kept(pod: Pod, seen: PodObserved, before: PodObserved) -> Mapping[str, ContainerHistory]:
    """Return the histories that are shown instead of those in ``seen``."""
    kept: dict[str, ContainerHistory] = {}
    for name, old in before.containers.items():
        new = seen.containers.get(name)
        if new is old:
            continue
        if new is None:
            current = old.current
            kept[name] = old if current is None or is_over(current) else _lost(current)
        elif _goes_back(pod, name, old, new) and not _is_new_sandbox(pod, name, seen, before):
            kept[name] = old
        else:
            counted = _with_times(old, _counted(old, new))
            if counted is not new:
                kept[name] = counted
    return kept


def _counted(old: ContainerHistory, new: ContainerHistory) -> ContainerHistory:
    """Return ``new`` with a restart count that has not fallen (rule V3).

    A runtime that has lost what it ran counts from zero again. What it lost was a container that ended.
    """
    was, now = old.current or old.last, new.current or new.last
    if was is None:
        return new
    if now is None:
        ended = _ended(old)
        return new if ended is None else replace(new, last=ended)
    if not was.id or not now.id:
        return new
    is_another = now.id != was.id and (old.last is None or now.id != old.last.id)
    least = was.attempt + is_another
    if now.attempt >= least:
        return new
    counted = replace(now, attempt=least)
    if new.current is None:
        return replace(new, last=counted)
    return replace(new, current=counted, last=new.last or (_ended(old) if is_another else old.last))


def _with_times(old: ContainerHistory, new: ContainerHistory) -> ContainerHistory:
    """Return ``new`` with the times that were shown of the same instance, where it tells later ones.

    A runtime that is asked anew may know only since when it was asked. What happened did not happen later.
    """
    was, now = old.current, new.current
    if was is None or now is None or (was.id, was.attempt) != (now.id, now.attempt) or not now.id:
        return new
    started = _earlier(was.started_at, now.started_at)
    finished = _earlier(was.finished_at, now.finished_at)
    if started is now.started_at and finished is now.finished_at:
        return new
    return replace(new, current=replace(now, started_at=started, finished_at=finished))


def _earlier(shown: Timestamp | None, told: Timestamp | None) -> Timestamp | None:
    """Return ``told``, or ``shown`` if that is in an earlier second: people see no parts of one."""
    if shown is None or told is None or int(told) <= int(shown):
        return told
    return shown


def _ended(old: ContainerHistory) -> ContainerObserved | None:
    """Return the instance that has ended last, if there is another one now or none."""
    current = old.current
    if current is None or current.state is ContainerState.CREATED:
        return old.last
    return current if has_exited(current) else _lost_instance(current)


def _goes_back(pod: Pod, name: str, old: ContainerHistory, new: ContainerHistory) -> bool:
    """Return whether a container that ended for good, or under this id, is told not to have ended (V3)."""
    is_new_over = has_exited(new.current)
    if not is_over(old.current) or (is_new_over and new.wait is None):
        return False
    is_same = not is_new_over and _id(old) == _id(new)
    if has_exited(old.current) and is_same and not (_id(new) and _is_guess(old.current)):
        return True
    if old.wait is not None:
        return False
    spec = _specification(pod, name)
    if spec is None or restarts_all((*containers(pod), *init_containers(pod))):
        return False
    if spec in init_containers(pod):
        code = exit_code(old)
        return not is_sidecar(spec) and (code == 0 or not _is_again(spec, pod, code))
    return not _is_again(spec, pod, exit_code(old))


def _is_guess(instance: ContainerObserved | None) -> bool:
    """Return whether an end was only concluded: a runtime that tells such an instance again knows better."""
    return instance is not None and instance.reason == LOST_REASON


def _id(history: ContainerHistory) -> str | None:
    return None if history.current is None else history.current.id


def _is_again(spec: Mapping[str, Any], pod: Pod, code: int) -> bool:
    return is_restarted(spec, restart_policy(pod), code)


def _is_new_sandbox(pod: Pod, name: str, seen: PodObserved, before: PodObserved) -> bool:
    """Return whether an init container runs again because the pod has another sandbox (rule Y10)."""
    if all(each["name"] != name for each in init_containers(pod)) or seen.sandbox is None:
        return False
    if name in before.from_earlier:
        return True  # its sandbox was seen before anything had begun in it
    return before.sandbox is None or before.sandbox.id != seen.sandbox.id


def _specification(pod: Pod, name: str) -> Mapping[str, Any] | None:
    everything = (*containers(pod), *init_containers(pod), *ephemeral_containers(pod))
    return next((each for each in everything if each["name"] == name), None)


def _lost(current: ContainerObserved) -> ContainerHistory:
    """Return the history of a container that ran, and that the runtime does not know any more."""
    wait = ContainerWait(reason="ContainerCreating")
    return ContainerHistory(
        name=current.name, current=None, last=_lost_instance(current), wait=wait
    )


def _lost_instance(instance: ContainerObserved) -> ContainerObserved:
    return replace(
        instance,
        state=ContainerState.EXITED,
        exit_code=LOST_EXIT_CODE,
        reason=LOST_REASON,
        message=_LOST_MESSAGE,
    )


def _sandbox(
    new: SandboxObserved | None, old: SandboxObserved | None, *, has_ended: bool
) -> SandboxObserved | None:
    """Return the sandbox with the addresses that the pod had until it has others."""
    if old is None or not old.ips:
        return new
    if new is None:
        return replace(old, state=SandboxState.NOT_READY)
    if not new.ips and (has_ended or new.state is SandboxState.NOT_READY):
        return replace(new, ips=old.ips)
    return new


def _with_phase_shown(pod: Pod, observed: PodObserved, phase: PodPhase) -> PodObserved:
    """Return ``observed`` with containers that are as its phase says, where it tells none."""
    missing = [each for each in containers(pod) if each["name"] not in observed.containers]
    shown = {each["name"]: _as_phase_says(each, phase) for each in missing}
    known = {name: history for name, history in shown.items() if history is not None}
    return replace(observed, containers={**observed.containers, **known}) if known else observed


def _as_phase_says(container: Mapping[str, Any], phase: PodPhase) -> ContainerHistory | None:
    states = {
        PodPhase.RUNNING: (ContainerState.RUNNING, None, ""),
        PodPhase.SUCCEEDED: (ContainerState.EXITED, 0, "Completed"),
        PodPhase.FAILED: (ContainerState.EXITED, 1, "Error"),
    }
    if phase not in states:
        return None
    state, code, reason = states[phase]
    current = ContainerObserved(
        id="",
        name=container["name"],
        attempt=0,
        state=state,
        image=container.get("image") or "",
        exit_code=code,
        reason=reason,
    )
    return ContainerHistory(name=container["name"], current=current)
