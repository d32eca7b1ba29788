"""What people see of one container: whether it waits, runs or has ended. Pure.

A runtime knows more states than the API shows. Phase, conditions and the rendered status all read a
container through this page, so they cannot contradict each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import Any, Final, TypeAlias

from manifests.restart_rules import is_sidecar
from messages.pod_runtime import (
    ContainerHistory,
    ContainerObserved,
    ContainerState,
    PodObserved,
    ProbeVerdict,
)
from messages.pods import Pod

Container: TypeAlias = Mapping[str, Any]
"""One container of a specification."""

LOST_EXIT_CODE: Final = 137
LOST_REASON: Final = "ContainerStatusUnknown"
LOST_MESSAGE: Final = "The container could not be located when the pod was terminated"
"""What is shown of a container that has no end of its own, and will have none (rule V12)."""

NO_PROBES: Final = ProbeVerdict()
_NOTHING_SEEN: Final[Mapping[str, ContainerHistory]] = {}


class Shown(Enum):
    """The state of a container, as the API names them."""

    WAITING = auto()
    RUNNING = auto()
    ENDED = auto()


def shown(history: ContainerHistory | None, *, is_ended: bool = False) -> Shown:
    """Return the state that is shown of a container. ``is_ended``: nothing of its pod runs any more."""
    if is_ended:
        return Shown.ENDED
    if history is None or history.wait is not None or history.current is None:
        return Shown.WAITING
    match history.current.state:
        case ContainerState.RUNNING:
            return Shown.RUNNING
        case ContainerState.CREATED:
            return Shown.WAITING
        case _:
            return Shown.ENDED


def has_exited(instance: ContainerObserved | None) -> bool:
    """Return whether ``instance`` is there and came to an end of its own."""
    return instance is not None and instance.state is ContainerState.EXITED


def is_over(instance: ContainerObserved | None) -> bool:
    """Return whether ``instance`` is shown as ended: it exited, or nobody knows what became of it."""
    return instance is not None and instance.state in {
        ContainerState.EXITED,
        ContainerState.UNKNOWN,
    }


def exit_code(history: ContainerHistory | None) -> int:
    """Return the exit code that is shown of a container that has ended."""
    current = None if history is None else history.current
    if current is None or current.state is not ContainerState.EXITED or current.exit_code is None:
        return LOST_EXIT_CODE
    return current.exit_code


def has_ended_before(history: ContainerHistory | None) -> bool:
    """Return whether any instance of a container has ended."""
    return history is not None and (history.last is not None or has_exited(history.current))


def has_started(history: ContainerHistory | None) -> bool:
    """Return whether any instance of a container was ever started."""
    return shown(history) is not Shown.WAITING or has_ended_before(history)


def is_started(history: ContainerHistory | None, verdict: ProbeVerdict) -> bool:
    """Return whether a container that stays has started: it runs, and its startup probe has passed."""
    return shown(history) is Shown.RUNNING and verdict.is_started


def is_ready(history: ContainerHistory | None, verdict: ProbeVerdict) -> bool:
    """Return whether a container that stays can serve (rule B9)."""
    return (
        history is not None
        and is_started(history, verdict)
        and verdict.is_ready
        and history.current is not None
        and history.current.is_ready
    )


def is_done(history: ContainerHistory | None) -> bool:
    """Return whether an init container has succeeded."""
    return shown(history) is Shown.ENDED and exit_code(history) == 0


def never_begun(pod: Pod, seen: Mapping[str, ContainerHistory]) -> frozenset[str]:
    """Return the containers of an ended pod that are shown as waiting (rule V12).

    They were never started, and an init container before them says why the pod ended. Without one that
    would be nobody: then each container without an end of its own counts as lost.
    """
    inits, regular = init_containers(pod), [each["name"] for each in containers(pod)]
    if not inits:
        return frozenset()
    names = [each["name"] for each in inits]
    begun = [number for number, name in enumerate(names) if has_started(seen.get(name))]
    waiting = names[max(begun, default=0) + 1 :]
    is_initialized = not is_sidecar(inits[-1]) and _has_succeeded_before(seen.get(names[-1]))
    if not is_initialized and not any(has_started(seen.get(name)) for name in regular):
        waiting += regular
    return frozenset(waiting)


def _has_succeeded_before(history: ContainerHistory | None) -> bool:
    instances = () if history is None else (history.current, history.last)
    return any(has_exited(each) and each is not None and each.exit_code == 0 for each in instances)


def histories(observed: PodObserved | None) -> Mapping[str, ContainerHistory]:
    """Return what is observed of the containers, by name."""
    return _NOTHING_SEEN if observed is None else observed.containers


def may_run(observed: PodObserved | None) -> bool:
    """Return whether a container may be running, or may still begin to."""
    return any(
        history.current is not None and history.current.state is not ContainerState.EXITED
        for history in histories(observed).values()
    )


def was_seen(observed: PodObserved) -> bool:
    """Return whether a sandbox or a container of the pod is there, or was."""
    return observed.sandbox is not None or any(
        history.current is not None or history.last is not None
        for history in observed.containers.values()
    )


def verdict_on(name: str, verdicts: Mapping[str, ProbeVerdict] | None) -> ProbeVerdict:
    """Return what the probes of a container say."""
    return NO_PROBES if verdicts is None else verdicts.get(name, NO_PROBES)


def containers(pod: Pod) -> Sequence[Container]:
    """Return the regular containers of a pod, as specified."""
    return pod.document["spec"].get("containers") or ()


def init_containers(pod: Pod) -> Sequence[Container]:
    """Return the init containers of a pod, sidecars included, in their order."""
    return pod.document["spec"].get("initContainers") or ()


def ephemeral_containers(pod: Pod) -> Sequence[Container]:
    """Return the ephemeral containers of a pod."""
    return pod.document["spec"].get("ephemeralContainers") or ()


def restart_policy(pod: Pod) -> str:
    """Return the ``restartPolicy`` of a pod."""
    return pod.document["spec"].get("restartPolicy") or "Always"


def is_on_host_network(pod: Pod) -> bool:
    """Return whether a pod has the node's own network."""
    return bool(pod.document["spec"].get("hostNetwork"))
