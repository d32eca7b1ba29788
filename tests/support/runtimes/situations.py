"""Situations of pods, in few words, for tests of the plan.

``situation({"containers": [...]}, running("a"))`` is a pod whose container ``a`` runs in a sandbox that is
ready. Attempts, ids and times are made up: the id of an instance is ``name-attempt``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from manifests.container_hashes import container_hash
from messages.container_runtime import (
    CreateContainer,
    FindImage,
    LookAtPod,
    PodIdentity,
    PullImage,
    RemoveContainer,
    RemoveSandbox,
    ResizeContainer,
    RunSandbox,
    RuntimeRequest,
    SandboxContents,
    SignalContainer,
    StartContainer,
    StopContainer,
    StopSandbox,
)
from messages.pod_runtime import ContainerObserved, ContainerState, SandboxObserved, SandboxState
from messages.pods import JsonObject
from messages.units import Seconds, Timestamp
from runtimes.containers.plan import plan
from runtimes.containers.shape import shape_of
from runtimes.containers.situation import Limits, Plan, PodSituation
from tests.support.builders import make_pod

NOW = Seconds(10_000.0)
WALL = Timestamp(1_700_000_000.0)
IMAGE = "registry.example/app:1"

Spec: TypeAlias = Mapping[str, Any]


def container(name: str, **fields: Any) -> JsonObject:
    """Return a container of a specification."""
    return {"name": name, "image": IMAGE, **fields}


def sidecar(name: str, **fields: Any) -> JsonObject:
    """Return a restartable init container."""
    return container(name, restartPolicy="Always", **fields)


def spec_of(*regular: str, inits: tuple[JsonObject, ...] = (), policy: str = "Always") -> Spec:
    """Return the specification of a pod with these regular containers."""
    return {
        "containers": [container(name) for name in regular],
        "initContainers": list(inits),
        "restartPolicy": policy,
    }


def instance(
    name: str, state: ContainerState, attempt: int = 0, **fields: Any
) -> ContainerObserved:
    """Return one instance of a container."""
    return ContainerObserved(
        **{
            "id": f"{name}-{attempt}",
            "name": name,
            "attempt": attempt,
            "state": state,
            "spec_hash": container_hash(name, IMAGE),
            "created_at": WALL,
            **fields,
        }
    )


def created(name: str, attempt: int = 0, **fields: Any) -> ContainerObserved:
    return instance(name, ContainerState.CREATED, attempt, **fields)


def running(name: str, attempt: int = 0, **fields: Any) -> ContainerObserved:
    return instance(name, ContainerState.RUNNING, attempt, **fields)


def exited(name: str, exit_code: int = 0, attempt: int = 0, **fields: Any) -> ContainerObserved:
    times = {"finished_at": Timestamp(WALL + 5)}
    return instance(
        name, ContainerState.EXITED, attempt, **{"exit_code": exit_code, **times, **fields}
    )


def unknown(name: str, attempt: int = 0) -> ContainerObserved:
    return instance(name, ContainerState.UNKNOWN, attempt)


def sandbox(
    *containers: ContainerObserved, attempt: int = 0, state: SandboxState = SandboxState.READY
) -> SandboxContents:
    """Return a sandbox with these containers in it."""
    return SandboxContents(
        pod=PodIdentity(uid=make_pod().uid, namespace="default", name="web", source="file"),
        sandbox=SandboxObserved(
            id=f"sandbox-{attempt}",
            attempt=attempt,
            state=state,
            created_at=WALL,
            ips=("10.0.0.1",),
        ),
        containers=containers,
    )


def dead_sandbox(*containers: ContainerObserved, attempt: int = 0) -> SandboxContents:
    return sandbox(*containers, attempt=attempt, state=SandboxState.NOT_READY)


def situation(
    spec: Spec, *containers: ContainerObserved, assumes_images: bool = True, **fields: Any
) -> PodSituation:
    """Return the situation of a pod whose containers are in one sandbox that is ready."""
    pod = make_pod(spec=spec)
    return PodSituation(
        **{
            "pod": pod,
            "shape": shape_of(pod),
            "contents": (sandbox(*containers),),
            "limits": Limits(assumes_images=assumes_images),
            "now": NOW,
            **fields,
        }
    )


def named(request: RuntimeRequest) -> str:
    """Return a request in few words."""
    match request:
        case RunSandbox(attempt=attempt):
            return f"run sandbox {attempt}"
        case CreateContainer(container=document, attempt=attempt):
            return f"create {document['name']}-{attempt}"
        case StopContainer(id=identity, grace=grace):
            return f"stop {identity} within {grace:g}"
        case FindImage(image=what) | PullImage(image=what) | LookAtPod(uid=what):
            return f"{_VERBS[type(request)]} {what}"
        case SignalContainer(id=identity, signal=signal):
            return f"send {signal} to {identity}"
        case _:
            return f"{_VERBS[type(request)]} {request.id}"


_VERBS: Mapping[type, str] = {
    FindImage: "find",
    PullImage: "pull",
    LookAtPod: "look at",
    StopSandbox: "stop",
    RemoveSandbox: "remove",
    RemoveContainer: "remove",
    StartContainer: "start",
    ResizeContainer: "resize",
}


def steps(decided: Plan) -> list[str]:
    """Return the steps of a plan in few words."""
    return [named(step.request) for step in decided.steps]


def hooks(decided: Plan) -> list[str]:
    """Return the hooks that a plan calls, or shortens, in few words."""
    return [
        f"{'call' if step.is_call else 'shorten'} {step.kind} of {step.container_id} "
        f"within {step.within:g}"
        for step in decided.hooks
    ]


def waits(decided: Plan) -> dict[str, str]:
    """Return the reasons for which containers wait."""
    return {name: wait.reason for name, wait in decided.waits.items()}


def next_steps(spec: Spec, *containers: ContainerObserved, **fields: Any) -> list[str]:
    """Return the steps that follow in this situation."""
    return steps(plan(situation(spec, *containers, **fields)))
