"""Has the hooks of containers carried out, and remembers in the record of their pod how they stand.

A hook is told by the instance and its kind. So an answer finds it in whatever life of either actor, and is
written down before anything else is done with it: a crash over what follows does not lose it.
"""

from __future__ import annotations

from typing import Final

from kernel import Port
from manifests.handlers import UnusableHandler
from messages.container_runtime import StartContainer
from messages.pod_runtime import ContainerState, ContainerWait
from messages.units import Seconds
from runtimes.containers.contents import HookKey, HookRun, instances_in
from runtimes.containers.record import RuntimeRecord
from runtimes.containers.situation import HookStep, Step
from runtimes.lifecycle_hooks.messages import (
    ForgetHook,
    HookAction,
    HookEnded,
    HookKind,
    HookRef,
    HooksMessage,
    RunHook,
    ShortenHook,
    action_of,
)

STOPPED: Final = "the pod is stopped"


class HookCalls:
    """Calls hooks, and gives them up."""

    __slots__ = ("_me", "_port")

    def __init__(self, port: Port[HooksMessage], me: Port[HookEnded]) -> None:
        self._port = port
        self._me = me

    def send(self, record: RuntimeRecord, step: HookStep, now: Seconds) -> bool:
        """Make a step. Return whether a hook is called with it for the first time."""
        ref = HookRef(record.uid, *step.key)
        run = _hooks_of(record).setdefault(step.key, HookRun())
        is_first = step.is_call and run.asked_at is None
        if is_first or not step.is_call:
            run.until = Seconds(now + step.within)
        if not step.is_call:
            self._port.tell(ShortenHook(ref=ref, within=step.within))
            return False
        run.asked_at = now
        action = _action(record, step)
        self._port.tell(RunHook(ref=ref, action=action, within=step.within, reply_to=self._me))
        return is_first

    def tidy(self, record: RuntimeRecord) -> None:
        """Forget the hooks of instances that have ended, and give up those of starts if the pod is stopped.

        What is given up has failed: its instance does not count as started for as long as it runs.
        """
        hooks = record.hooks or {}
        there = {
            one.id
            for one in instances_in(record.contents)
            if one.state is not ContainerState.EXITED
        }
        for key, run in tuple(hooks.items()):
            container_id, kind = key
            is_moot = kind is HookKind.POST_START and record.is_stopping and not run.is_over
            if container_id not in there:
                del hooks[key]
            elif is_moot:
                run.is_over, run.failure = True, STOPPED
            else:
                continue
            if run.asked_at is not None:
                self._port.tell(ForgetHook(ref=HookRef(record.uid, *key)))


def note_start(record: RuntimeRecord, step: Step) -> None:
    """Note that the hook of an instance is due, since the instance is being started.

    One that was started by an earlier process of the agent counts as started.
    """
    if not isinstance(step.request, StartContainer):
        return
    container = record.container(step.target)
    if container is not None and container.post_start is not None:
        _hooks_of(record).setdefault((step.request.id, HookKind.POST_START), HookRun())


def note_end(record: RuntimeRecord, ended: HookEnded) -> str | None:
    """Write down how a hook ended. Return the container's name; None if nobody waits for that hook."""
    key = (ended.ref.container_id, ended.ref.kind)
    run = record.hooks.get(key) if record.hooks else None
    if run is None or run.is_over:
        return None
    run.is_over, run.failure = True, ended.failure
    name = next(
        (one.name for one in instances_in(record.contents) if one.id == ended.ref.container_id),
        None,
    )
    if name is not None and ended.failure and ended.ref.kind is HookKind.POST_START:
        wait = ContainerWait(reason="PostStartHookError", message=ended.failure)
        record.notes_of(name).error = wait
    return name


def ids_starting(hooks: dict[HookKey, HookRun]) -> frozenset[str]:
    """Return the instances that do not count as started yet, because of their hooks."""
    return frozenset(
        container_id
        for (container_id, kind), run in hooks.items()
        if kind is HookKind.POST_START and not run.has_succeeded
    )


def _hooks_of(record: RuntimeRecord) -> dict[HookKey, HookRun]:
    if record.hooks is None:
        record.hooks = {}
    return record.hooks


def _action(record: RuntimeRecord, step: HookStep) -> HookAction:
    container = record.container(step.target)
    handler = None
    if container is not None:
        is_start = step.kind is HookKind.POST_START
        handler = container.post_start if is_start else container.pre_stop
    if container is None or handler is None:
        return UnusableHandler(why="the pod has no such hook any more")
    ips = next(
        (
            each.sandbox.ips
            for each in record.contents
            if any(one.id == step.container_id for one in each.containers)
        ),
        (),
    )
    return action_of(handler, container.document, ips[0] if ips else "")
