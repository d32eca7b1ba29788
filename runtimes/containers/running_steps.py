"""What a running container needs: its hook, to be killed, to be given other resources, or nothing. Pure.

``postStart`` is called when this agent has started a container, and the container counts as started when it
has succeeded. If it fails, the container is killed.
"""

from __future__ import annotations

from typing import Final

from manifests.restart_rules import NEVER
from messages.container_runtime import (
    CreateContainer,
    FindImage,
    PullImage,
    ResizeContainer,
    StartContainer,
)
from messages.pod_runtime import ContainerObserved, ContainerState, ProbeVerdict
from messages.pods import JsonObject
from messages.units import Seconds
from runtimes.containers.contents import LATE, ContainerNotes
from runtimes.containers.shape import ContainerPart, ContainerShape
from runtimes.containers.situation import Draft, HookStep, PodSituation, Step
from runtimes.containers.stopping import Killing, is_pre_stop_called, kill
from runtimes.lifecycle_hooks.messages import HookKind

_STARTS = FindImage | PullImage | CreateContainer | StartContainer
"""What it takes until a container runs."""
LONGEST_POST_START: Final = Seconds(86_400.0)
"""A kubelet waits for ever. After a day it counts as failed."""


def has_started(now: PodSituation, container: ContainerShape, instance: ContainerObserved) -> bool:
    """Return whether it runs, its hook succeeded, and it passed its startup probe, if anybody probes it."""
    if instance.state is not ContainerState.RUNNING or is_post_start_pending(now, instance):
        return False
    verdict = now.verdicts.get(container.name)
    if verdict is None:
        return True
    if _is_about(verdict, instance):
        return verdict.is_started
    return not container.document.get("startupProbe")


def tend(
    now: PodSituation, container: ContainerShape, instance: ContainerObserved, draft: Draft
) -> None:
    """Kill a running container that failed a hook or a probe, or that something changed for, or resize it."""
    name = container.name
    if name in now.busy:
        return
    verdict = now.verdicts.get(name)
    if is_pre_stop_called(now, instance):
        until = now.hooks[instance.id, HookKind.PRE_STOP].until
        kill(now, instance, Killing(Seconds(max(0.0, until - now.now))), draft)
    elif is_post_start_pending(now, instance):
        if call_post_start(now, instance, draft):
            kill(now, instance, Killing(now.shape.grace, "FailedPostStartHook"), draft)
    elif not container.is_unchanged_since(instance):
        _replace(now, instance, f"Container {name} definition changed, will be restarted", draft)
    elif instance.id in now.outdated:
        _replace(
            now, instance, f"Container {name} uses an object that changed, will be restarted", draft
        )
    elif verdict is not None and not verdict.is_alive and _is_about(verdict, instance):
        _kill_failed(now, container, instance, verdict, draft)
    else:
        _resize(now, container, instance, draft)


def _is_about(verdict: ProbeVerdict, instance: ContainerObserved) -> bool:
    return verdict.container_id in {"", instance.id}


def _kill_failed(
    now: PodSituation,
    container: ContainerShape,
    instance: ContainerObserved,
    verdict: ProbeVerdict,
    draft: Draft,
) -> None:
    is_startup = not verdict.is_started and bool(container.document.get("startupProbe"))
    probe = "startup" if is_startup else "liveness"
    grace = container.grace_of_probe(f"{probe}Probe", now.shape.grace)
    returns = container.behaviour.policy != NEVER
    if container.part is ContainerPart.SIDECAR:
        why = f"Init container {container.name} failed {probe} probe"
    else:
        why = f"Container {container.name} failed {probe} probe" + ", will be restarted" * returns
    kill(now, instance, Killing(grace, why, instance.id if returns else ""), draft)


def _replace(now: PodSituation, instance: ContainerObserved, why: str, draft: Draft) -> None:
    kill(now, instance, Killing(now.shape.grace, why, instance.id), draft)


def _resize(
    now: PodSituation,
    container: ContainerShape,
    instance: ContainerObserved,
    draft: Draft,
) -> None:
    notes = now.notes.get(container.name)
    given = given_resources(instance, notes)
    if given is None or not can_resize(given, container.resources):
        return
    if notes is not None and notes.resize_retry_at > now.now:
        draft.wait_until(notes.resize_retry_at)
    elif needs_restart(container, given):
        why = f"Container {container.name} resize requires restart"
        _replace(now, instance, why, draft)
    else:
        request = ResizeContainer(pod=now.pod, id=instance.id, resources=container.resources)
        draft.steps.append(Step(container.name, request))


def given_resources(instance: ContainerObserved, notes: ContainerNotes | None) -> JsonObject | None:
    """Return the resources that a running instance has. None if nobody knows that they should change."""
    if instance.resources is None and notes is not None and notes.resize_of == instance.id:
        return notes.old_resources
    return instance.resources


def needs_restart(container: ContainerShape, old: JsonObject) -> bool:
    """Return whether the change of its resources needs a restart, by its ``resizePolicy``."""
    return any(
        policy.get("restartPolicy") == "RestartContainer"
        and _amounts(old, policy.get("resourceName"))
        != _amounts(container.resources, policy.get("resourceName"))
        for policy in container.document.get("resizePolicy") or ()
    )


def can_resize(old: JsonObject, new: JsonObject) -> bool:
    """Return whether the resources differ in what can be changed while a container runs."""
    if old == new:
        return False  # asked in each plan
    return any(_amounts(old, name) != _amounts(new, name) for name in ("cpu", "memory"))


def _amounts(resources: JsonObject, name: object) -> tuple[object, object]:
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    return requests.get(name), limits.get(name)


def is_post_start_pending(now: PodSituation, instance: ContainerObserved) -> bool:
    """Return whether a running instance does not count as started yet, because of its hook."""
    run = now.hooks.get((instance.id, HookKind.POST_START)) if now.hooks else None
    return run is not None and not run.has_succeeded


def call_post_start(now: PodSituation, instance: ContainerObserved, draft: Draft) -> bool:
    """Have the hook that is due called. Return whether it has failed."""
    key = (instance.id, HookKind.POST_START)
    run = now.hooks[key]
    if run.asked_at is None:
        if instance.name not in now.busy:
            draft.call_hook(HookStep(instance.name, *key, LONGEST_POST_START, is_call=True))
        return False
    given_up_at = Seconds(run.until + LATE)
    if run.is_over or now.now >= given_up_at:
        return True
    draft.ask_again(instance.name, key, run)
    return False


def holds_up(
    now: PodSituation,
    container: ContainerShape,
    instance: ContainerObserved | None,
    draft: Draft,
) -> bool:
    """Return whether the regular containers behind this one, which has a hook, wait for its start.

    A kubelet starts one after the other, hooks included, and does not wait for one that failed. Without a
    hook nobody sees a difference, and they start in parallel.
    """
    if instance is not None and instance.state is ContainerState.RUNNING:
        run = now.hooks.get((instance.id, HookKind.POST_START))
        return run is not None and not run.is_over
    flight = now.busy.get(container.name)
    if flight is not None:
        return isinstance(flight.request, _STARTS)
    return any(
        step.target == container.name and isinstance(step.request, _STARTS) for step in draft.steps
    )
