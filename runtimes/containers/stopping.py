"""How containers and sandboxes are stopped. Pure.

All containers of a pod but its sidecars are stopped in parallel, then the sidecars in reverse order, each
when the one behind it is gone. Then the sandbox is stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from messages.pod_runtime import ContainerObserved, SandboxState
from messages.units import Seconds
from runtimes.container_runtime import (
    FindImage,
    LookAtPod,
    PullImage,
    SandboxContents,
    StopContainer,
    StopSandbox,
)
from runtimes.containers.shape import ContainerPart
from runtimes.containers.situation import SANDBOX, Draft, Flight, PodSituation, Step, is_alive

_WORTH_SHORTENING: Final = Seconds(0.5)
_HARMLESS = FindImage | PullImage | LookAtPod


def is_stopped(contents: tuple[SandboxContents, ...]) -> bool:
    """Return whether nothing of the pod lives."""
    return not any(
        each.sandbox.state is SandboxState.READY or any(map(is_alive, each.containers))
        for each in contents
    )


def is_being_changed(busy: Mapping[str, Flight]) -> bool:
    """Return whether a request is in flight that may start, stop or remove something."""
    return any(not isinstance(flight.request, _HARMLESS) for flight in busy.values())


def kill(now: PodSituation, instance: ContainerObserved, grace: Seconds, why: str) -> Step | None:
    """Return the step that stops ``instance`` within ``grace``; None if that is under way.

    A grace only ever gets shorter: then the container is stopped once more, beside the request in flight.
    """
    request = StopContainer(id=instance.id, grace=grace)
    flight = now.busy.get(instance.name)
    if flight is None or not isinstance(flight.request, StopContainer):
        return Step(instance.name, request, why) if flight is None else None
    is_shorter = now.now + grace + _WORTH_SHORTENING < flight.sent_at + flight.request.grace
    return Step(instance.name, request) if is_shorter and flight.request.id == instance.id else None


def stop_everything(
    now: PodSituation, grace: Seconds, draft: Draft, shortest: Seconds = Seconds(0.0)
) -> None:
    """Stop what lives of the pod. A sidecar has ``shortest`` even if nothing of the grace remains."""
    sidecars = [each.name for each in now.shape.inits if each.part is ContainerPart.SIDECAR]
    alive = [one for each in now.contents for one in each.containers if is_alive(one)]
    first = [one for one in alive if one.name not in sidecars]
    if first:
        _stop(now, first, grace, draft)
    elif alive:
        last = max(alive, key=lambda one: sidecars.index(one.name))
        _stop(now, [last], max(grace, shortest), draft)
    elif not is_being_changed(now.busy):
        draft.steps += [
            Step(SANDBOX, StopSandbox(id=each.sandbox.id))
            for each in now.contents
            if each.sandbox.state is SandboxState.READY
        ][:1]


def end_old(now: PodSituation, old: tuple[SandboxContents, ...], draft: Draft) -> bool:
    """Stop what lives in sandboxes that are not used any more. Return whether there is anything."""
    alive = [one for each in old for one in each.containers if is_alive(one)]
    _stop(now, alive, now.shape.grace, draft)
    if alive or SANDBOX in now.busy:
        return bool(alive)
    ready = [each for each in old if each.sandbox.state is SandboxState.READY]
    draft.steps += [Step(SANDBOX, StopSandbox(id=each.sandbox.id)) for each in ready[:1]]
    return bool(ready)


def _stop(
    now: PodSituation, instances: list[ContainerObserved], grace: Seconds, draft: Draft
) -> None:
    for instance in instances:
        step = kill(now, instance, grace, f"Stopping container {instance.name}")
        if step is not None:
            draft.steps.append(step)
