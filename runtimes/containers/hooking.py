"""When the hooks of a pod's containers are called, and what waits for them. Pure.

``postStart`` is called when this agent has started a container, and the container counts as started when it
has succeeded. If it fails, the container is killed. ``preStop`` is called before a container is stopped,
within the grace: what it leaves of the grace, and two seconds at least, is for the end after SIGTERM.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from messages.container_runtime import CreateContainer, FindImage, PullImage, StartContainer
from messages.pod_runtime import ContainerObserved, ContainerState
from messages.units import Seconds
from runtimes.containers.hook_notes import (
    ASK_AGAIN_AFTER,
    LATE,
    LONGEST_POST_START,
    HookKey,
    HookStep,
)
from runtimes.containers.shape import ContainerShape
from runtimes.containers.situation import Draft, PodSituation
from runtimes.lifecycle_hooks.messages import HookKind

LEAST_AFTER_HOOK: Final = Seconds(2.0)
"""What a container has after SIGTERM, however long its hook took."""
WORTH_SHORTENING: Final = Seconds(0.5)

_STARTS = FindImage | PullImage | CreateContainer | StartContainer
"""What it takes until a container runs."""


def is_post_start_pending(now: PodSituation, instance: ContainerObserved) -> bool:
    """Return whether a running instance does not count as started yet, because of its hook."""
    run = now.hooks.get((instance.id, HookKind.POST_START)) if now.hooks else None
    return run is not None and not run.has_succeeded


def is_pre_stop_called(now: PodSituation, instance: ContainerObserved) -> bool:
    """Return whether its end has begun: a hook that was called cannot be taken back."""
    return bool(now.hooks) and (instance.id, HookKind.PRE_STOP) in now.hooks


def call_post_start(now: PodSituation, instance: ContainerObserved, draft: Draft) -> bool:
    """Have the hook that is due called. Return whether it has failed."""
    key = (instance.id, HookKind.POST_START)
    run = now.hooks[key]
    if run.asked_at is None:
        if instance.name not in now.busy:
            _call(now, HookStep(instance.name, *key, LONGEST_POST_START, True), draft)  # noqa: FBT003
        return False
    given_up_at = Seconds(run.until + LATE)
    if run.is_over or now.now >= given_up_at:
        return True
    _ask_again(now, instance, key, draft)
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


class Killing(NamedTuple):
    """How an instance is to be stopped."""

    grace: Seconds
    """From now on, for its hook and for what comes after SIGTERM."""
    why: str = ""
    """For people."""
    replaces: str = ""
    """As of a ``Step``."""
    least: Seconds = LEAST_AFTER_HOOK
    """What it has after SIGTERM if its hook took longer. With neither this nor a grace nobody waits for the
    hook."""


def grace_after_hook(
    now: PodSituation, instance: ContainerObserved, ending: Killing, draft: Draft
) -> Seconds | None:
    """Return the grace with which ``instance`` is stopped now; None while its hook is in progress."""
    grace, least = ending.grace, ending.least
    if not (now.shape.has_hooks or now.hooks):
        return grace
    key = (instance.id, HookKind.PRE_STOP)
    run = now.hooks.get(key)
    if run is None:
        if grace <= 0 or not _has_pre_stop(now, instance):
            return grace
        step = HookStep(instance.name, *key, grace, True, ending.why, ending.replaces)  # noqa: FBT003
        _call(now, step, draft)
        return None
    until = min(run.until, Seconds(now.now + grace))
    is_shorter = until + WORTH_SHORTENING < run.until or grace + least <= 0
    if is_shorter and not run.is_over:
        within = Seconds(max(0.0, until - now.now))
        draft.hooks.append(HookStep(instance.name, *key, within, is_call=False))
    given_up_at = Seconds(until + (LATE if least > 0 else 0.0))
    if run.is_over or now.now >= given_up_at:
        return Seconds(max(least, until - now.now))
    draft.wait_until(given_up_at)
    _ask_again(now, instance, key, draft)
    return None


def _call(now: PodSituation, step: HookStep, draft: Draft) -> None:
    draft.hooks.append(step)
    draft.wait_until(Seconds(now.now + min(ASK_AGAIN_AFTER, step.within + LATE)))


def _ask_again(now: PodSituation, instance: ContainerObserved, key: HookKey, draft: Draft) -> None:
    run = now.hooks[key]
    if now.now >= run.ask_again_at:
        within = Seconds(max(0.0, run.until - now.now))
        _call(now, HookStep(instance.name, *key, within, is_call=True), draft)
    else:
        draft.wait_until(run.ask_again_at)


def _has_pre_stop(now: PodSituation, instance: ContainerObserved) -> bool:
    if instance.state is not ContainerState.RUNNING:
        return False
    container = now.shape.get(instance.name)
    return container is not None and container.pre_stop is not None
