"""How containers and sandboxes are stopped, and which stops wait for their turn. Pure.

All containers of a pod but its sidecars are stopped in parallel, then the sidecars in reverse order, each
when the one behind it is gone. Then the sandbox is stopped.

The hook ``preStop`` is called before a container is stopped, within the grace: what it leaves of the grace,
and two seconds at least, is for the end after SIGTERM.

A stop costs the runtime time when it begins and when the container ends, and none in between. So it counts
among those that are told for a moment only: nobody waits for the graces of others. What waits is in the order
of when it is to be over, so a short grace is never behind a long one. The grace counts from when the stop was
asked for, and half of it at least is left when it is told, or the two seconds that a container has after
SIGTERM, however long its hook took: it is still asked to end, before it is killed.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from messages.container_runtime import (
    FindImage,
    LookAtPod,
    PullImage,
    SandboxContents,
    StopContainer,
    StopSandbox,
)
from messages.pod_runtime import ContainerObserved, ContainerState, SandboxState
from messages.units import Seconds
from runtimes.containers.contents import LATE, instances_in, is_alive
from runtimes.containers.shape import ContainerPart
from runtimes.containers.situation import SANDBOX, Draft, Flight, HookStep, PodSituation, Step
from runtimes.lifecycle_hooks.messages import HookKind

COUNTS_FOR: Final = Seconds(0.5)
"""How long a stop counts among those that are told. Longer ones wait for the container itself."""
LEAST_AFTER_HOOK: Final = Seconds(2.0)
"""What hooks and waiting leave of a grace at least, or all of a shorter one: the time after SIGTERM."""


class WaitingStop(NamedTuple):
    """A stop that was asked for."""

    ref: int
    asked_at: Seconds
    grace: Seconds

    @property
    def over_at(self) -> Seconds:
        """When the container is to be killed."""
        return Seconds(self.asked_at + self.grace)

    @property
    def told_by(self) -> Seconds:
        """When it is told at the latest, whatever else is. One without a grace loses nothing by waiting."""
        return Seconds(self.asked_at + self.grace / 2)

    def left(self, now: Seconds) -> Seconds:
        """Return what is left of its grace."""
        return Seconds(max(min(self.grace, LEAST_AFTER_HOOK), self.grace - (now - self.asked_at)))


@dataclass(slots=True)
class StopLine:
    """The stops that wait, and those that were told a moment ago. Outlives a crash."""

    _waiting: dict[int, WaitingStop] = field(default_factory=dict)
    _by_end: list[tuple[Seconds, int]] = field(default_factory=list)
    """A heap of those that wait, by when they are to be over. It may have some that wait no more."""
    _by_latest: list[tuple[Seconds, int]] = field(default_factory=list)
    """The same of those with a grace, by when they are told at the latest."""
    _told: dict[int, Seconds] = field(default_factory=dict)
    """When those were told that count, the oldest first."""

    def __contains__(self, ref: int) -> bool:
        return ref in self._waiting

    def waiting(self) -> tuple[int, ...]:
        """Return those that wait."""
        return tuple(self._waiting)

    def add(self, stop: WaitingStop) -> None:
        """Have a stop wait for its turn, which may be now."""
        self._waiting[stop.ref] = stop
        heapq.heappush(self._by_end, (stop.over_at, stop.ref))
        if stop.grace > 0:
            heapq.heappush(self._by_latest, (stop.told_by, stop.ref))

    def end(self, ref: int) -> None:
        """Forget a stop: it was answered, or is not wanted any more."""
        self._waiting.pop(ref, None)
        self._told.pop(ref, None)

    def turns(self, now: Seconds, most: int | None) -> Iterator[WaitingStop]:
        """Yield the stops whose turn it is. ``most`` may be told at the same time; None for any number."""
        for ref in [ref for ref, at in self._told.items() if at + COUNTS_FOR <= now]:
            del self._told[ref]
        while self._waiting:
            if most is None or len(self._told) < most:
                line = self._by_end
            elif (self._first(self._by_latest) or (now + 1, 0))[0] <= now:
                line = self._by_latest
            else:
                return
            first = self._first(line)
            if first is None:
                return
            stop = self._waiting.pop(first[1])
            self._told[stop.ref] = now
            yield stop

    def next_turn(self) -> Seconds | None:
        """Return when the next one has its turn at the latest; None if none waits."""
        if not self._waiting:
            return None
        latest = self._first(self._by_latest)
        room = [at + COUNTS_FOR for at in list(self._told.values())[:1]]
        return Seconds(min([*room, *([latest[0]] if latest is not None else [])], default=0.0))

    def _first(self, line: list[tuple[Seconds, int]]) -> tuple[Seconds, int] | None:
        """Return the first of a heap that still waits."""
        while line and line[0][1] not in self._waiting:
            heapq.heappop(line)
        return line[0] if line else None


_HARMLESS = FindImage | PullImage | LookAtPod
WORTH_SHORTENING: Final = Seconds(0.5)


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


def is_being_changed(busy: Mapping[str, Flight]) -> bool:
    """Return whether a request is in flight that may start, stop or remove something."""
    return any(not isinstance(flight.request, _HARMLESS) for flight in busy.values())


def kill(now: PodSituation, instance: ContainerObserved, ending: Killing, draft: Draft) -> None:
    """Stop ``instance``: call its hook, and then stop it, unless either is under way.

    A grace only ever gets shorter: then the container is stopped once more, beside the request in flight.
    """
    name, is_called = instance.name, is_pre_stop_called(now, instance)
    flight = now.busy.get(name)
    if flight is None:
        left = grace_after_hook(now, instance, ending, draft)
        if left is not None:
            request = StopContainer(id=instance.id, grace=_rest_of(now, instance, left, ending))
            step = Step(name, request)
            if not is_called:
                step = Step(name, request, ending.why, ending.replaces)
            draft.steps.append(step)
    elif isinstance(flight.request, StopContainer) and flight.request.id == instance.id:
        left = max(ending.grace, ending.least) if is_called else ending.grace
        if now.now + left + WORTH_SHORTENING < flight.sent_at + flight.request.grace:
            draft.steps.append(Step(name, StopContainer(id=instance.id, grace=left)))


def _rest_of(
    now: PodSituation, instance: ContainerObserved, grace: Seconds, ending: Killing
) -> Seconds:
    """Return ``grace``, or what is left of an earlier one, if nobody knows what became of that stop.

    The instance may never have heard of it, so it has the least that is left after a hook.
    """
    until = now.stops.get(instance.id)
    return grace if until is None else min(grace, Seconds(max(ending.least, until - now.now)))


def stop_everything(
    now: PodSituation, grace: Seconds, draft: Draft, shortest: Seconds = Seconds(0.0)
) -> None:
    """Stop what lives of the pod. Each has ``shortest`` even if nothing of the grace remains.

    The hooks of sidecars are called with those of the others, as by a kubelet: only SIGTERM waits.
    """
    sidecars = [each.name for each in now.shape.inits if each.part is ContainerPart.SIDECAR]
    alive = [one for one in instances_in(now.contents) if is_alive(one)]
    first = [one for one in alive if one.name not in sidecars]
    least = LEAST_AFTER_HOOK if grace > 0 or shortest > 0 else Seconds(0.0)
    if alive:
        turn = first or [max(alive, key=lambda one: sidecars.index(one.name))]
        # Who could not be asked to end in time, since the runtime was away, is asked all the same.
        in_turn = grace if first and grace > 0 else max(grace, shortest)
        _stop(now, turn, Killing(in_turn, least=least), draft)
        if now.shape.has_hooks:
            later = [one for one in alive if one not in turn]
            _call_hooks(now, later, Killing(grace, least=least), draft)
    elif not is_being_changed(now.busy):
        draft.steps += [
            Step(SANDBOX, StopSandbox(id=each.sandbox.id))
            for each in now.contents
            if each.sandbox.state is SandboxState.READY
        ][:1]


def end_old(now: PodSituation, old: tuple[SandboxContents, ...], draft: Draft) -> bool:
    """Stop what lives in sandboxes that are not used any more. Return whether there is anything."""
    alive = [one for one in instances_in(old) if is_alive(one)]
    _stop(now, alive, Killing(now.shape.grace), draft)
    if alive or SANDBOX in now.busy:
        return bool(alive)
    ready = [each for each in old if each.sandbox.state is SandboxState.READY]
    draft.steps += [Step(SANDBOX, StopSandbox(id=each.sandbox.id)) for each in ready[:1]]
    return bool(ready)


def _stop(
    now: PodSituation,
    instances: list[ContainerObserved],
    ending: Killing,
    draft: Draft,
) -> None:
    for one in instances:
        kill(now, one, _stop_of(one, ending), draft)


def _call_hooks(
    now: PodSituation, instances: list[ContainerObserved], ending: Killing, draft: Draft
) -> None:
    """Have the hooks called of containers whose turn to be stopped comes later."""
    for one in instances:
        if one.name not in now.busy:
            grace_after_hook(now, one, _stop_of(one, ending), draft)


def _stop_of(one: ContainerObserved, ending: Killing) -> Killing:
    return Killing(ending.grace, f"Stopping container {one.name}", least=ending.least)


def is_pre_stop_called(now: PodSituation, instance: ContainerObserved) -> bool:
    """Return whether its end has begun: a hook that was called cannot be taken back."""
    return bool(now.hooks) and (instance.id, HookKind.PRE_STOP) in now.hooks


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
        draft.call_hook(step)
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
    draft.ask_again(instance.name, key, run)
    return None


def _has_pre_stop(now: PodSituation, instance: ContainerObserved) -> bool:
    if instance.state is not ContainerState.RUNNING:
        return False
    container = now.shape.get(instance.name)
    return container is not None and container.pre_stop is not None
