"""What a runtime says of all that it has, in numbers and pod by pod. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import groupby

from messages.container_runtime import SandboxContents
from messages.pod_runtime import ContainerState, RuntimePod, SandboxState
from messages.pods import PodUid


def container_states(everything: Iterable[SandboxContents]) -> Mapping[ContainerState, int]:
    """Return how many containers there are in each state."""
    return Counter(one.state for each in everything for one in each.containers)


def runtime_pods(everything: Iterable[SandboxContents]) -> tuple[RuntimePod, ...]:
    """Return the pods that sandboxes belong to. Those of one pod have to stand together, the newest first."""
    return tuple(
        _runtime_pod(uid, tuple(sandboxes))
        for uid, sandboxes in groupby(everything, lambda each: each.pod.uid)
    )


def _runtime_pod(uid: PodUid, sandboxes: tuple[SandboxContents, ...]) -> RuntimePod:
    owner = sandboxes[0].pod
    states = container_states(sandboxes)
    is_ready = any(each.sandbox.state is SandboxState.READY for each in sandboxes)
    return RuntimePod(
        uid=uid,
        namespace=owner.namespace,
        name=owner.name,
        source=owner.source,
        is_running=is_ready or bool(states[ContainerState.RUNNING]),
        started_at=min(each.sandbox.created_at for each in sandboxes),
        running_containers=states[ContainerState.RUNNING],
    )
