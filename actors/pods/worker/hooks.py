"""What a worker does about changes of objects that its pod uses: signals and restarts. A part of the worker.

Something is done when every file and variable of the pod has what changed, and not before its time. A restart
is named to the runtime, and written down together with the versions that it is for. So whoever dies then, it
is neither lost nor done twice. A signal may be sent twice. An instance that was being started meanwhile has
it done once it is known to run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final, TypeAlias, assert_never

from actors.pods.orders import HooksDue
from actors.pods.records import ObjectVersion
from actors.pods.worker.hook_actions import ChangeRestarts, ChangeSignals, HookReports
from actors.pods.worker.object_hooks import (
    DoneHook,
    HooksMemory,
    WaitingHook,
    containers_using,
    is_read,
    is_seen,
    late_instances,
    names_of,
    running_instances,
    seen_instances,
)
from actors.pods.worker.parts import WorkerMemory, WorkerPorts
from actors.pods.worker.supply import WorkerSupply
from kernel import Port, Timer
from messages.change_hooks import HookResult, RolloutGranted
from messages.objects import ChangeAction, ChangeDecided, ObjectId
from messages.pod_lives import PodLife
from messages.pod_runtime import ContainersSignalled, PodObserved
from messages.units import Seconds, Timestamp
from messages.volumes import VolumesAre

SAID_AFTER: Final = Seconds(30.0)
"""How long after it was due people are told what it waits for."""
NOT_SHOWN: Final = "ObjectNotShown"

HookFact: TypeAlias = ChangeDecided | ContainersSignalled | RolloutGranted | HooksDue
"""What a worker hears of changes."""


class WorkerHooks:
    """The change hooks of one pod, for one life of its worker."""

    def __init__(
        self,
        ports: WorkerPorts,
        memory: WorkerMemory,
        me: Port[ContainersSignalled | RolloutGranted],
        after: Callable[[Seconds, HooksDue], Timer],
        restart: Callable[[], None],
    ) -> None:
        """``restart`` tells the runtime which instances are outdated, and has that kept."""
        self._ports = ports
        self._memory = memory
        if memory.hooks is None:
            memory.hooks = HooksMemory()
        self._hooks = memory.hooks
        self._reports = HookReports(ports, memory)
        self._signals = ChangeSignals(ports.runtime, memory, self._hooks, me, self._reports)
        self._restarts = ChangeRestarts(ports, memory, self._hooks, me, self._reports, restart)
        self._after = after
        self._timer: Timer | None = None

    # --- what it hears ---------------------------------------------------------------------------------

    def take(self, fact: HookFact, now: Seconds) -> None:
        """Take what is to be done about a change, what came of a signal, or a turn."""
        match fact:
            case ChangeDecided():
                if self._memory.life.stage is PodLife.SYNC:
                    self._note_decision(fact, now)
            case ContainersSignalled():
                self._signals.take_answer(fact)
            case RolloutGranted():
                self._restarts.take_turn(fact)
            case HooksDue():
                pass  # what is due is looked for after each message
            case _:
                assert_never(fact)

    def _note_decision(self, decided: ChangeDecided, now: Seconds) -> None:
        waiting, changed = self._hooks.waiting, decided.changed
        due = Seconds(now + decided.delay)
        if waiting is None or (waiting.action, waiting.signal) != (decided.action, decided.signal):
            before = waiting.objects if waiting is not None else {}
            waiting = self._hooks.waiting = WaitingHook(
                action=decided.action, signal=decided.signal, due=due, objects=dict(before)
            )
        waiting.objects[changed.object] = changed.resource_version
        waiting.instances = waiting.seen_at = None

    def note_observed(self, observed: PodObserved) -> None:
        """Forget instances that nobody sees any more, and return turns that are over."""
        if observed.containers:
            self._hooks.outdated &= seen_instances(observed)
        self._restarts.note_observed(observed)

    def cancel(self) -> None:
        """Do nothing any more: the pod is being stopped. May repeat."""
        hooks = self._hooks
        if hooks.waiting is not None:
            self._reports.count(hooks.waiting.action, HookResult.CANCELLED)
        self._restarts.return_all()
        hooks.waiting = hooks.sent = None
        hooks.done.clear()
        self._set_timer(None, Seconds(0.0))

    # --- what is due -----------------------------------------------------------------------------------

    def go_on(
        self,
        told: VolumesAre | None,
        versions: Mapping[ObjectId, ObjectVersion],
        now: Seconds,
        wall: Timestamp,
    ) -> None:
        """Do what can be done now. May repeat, after whatever may have changed."""
        due = self._go_on_waiting(told, versions, now, wall)
        if self._catch_up(now):
            due = self._go_on_waiting(told, versions, now, wall)
        times = [
            due,
            self._signals.ask_again(now),
            self._restarts.want(now),
        ]
        self._set_timer(min((time for time in times if time is not None), default=None), now)

    def _go_on_waiting(
        self,
        told: VolumesAre | None,
        versions: Mapping[ObjectId, ObjectVersion],
        now: Seconds,
        wall: Timestamp,
    ) -> Seconds | None:
        """Return when it goes on at the latest; None if something else has to happen first."""
        waiting = self._hooks.waiting
        if waiting is None:
            return None
        unseen = self._unseen(waiting, told, versions)
        if unseen:
            return self._wait_for(waiting, unseen, told, now)
        return self._go_on_seen(waiting, now, wall)

    def _catch_up(self, now: Seconds) -> bool:
        """Have done for instances that were being started what was done for those that ran.

        Return whether there are any.
        """
        late = late_instances(self._memory.observed, self._hooks.done)
        waiting = self._hooks.waiting
        if not late or (waiting is not None and waiting.instances is None):
            return False  # those that run when all of it is seen are meant then
        if waiting is not None:
            waiting.instances = {**(waiting.instances or {}), **late}
            return True
        last = max((self._hooks.done[name] for name in late), key=lambda each: each.seen_at)
        objects = dict(last.hook.objects)
        self._hooks.waiting = replace(last.hook, due=now, objects=objects, instances=late)
        return True

    def _go_on_seen(self, waiting: WaitingHook, now: Seconds, wall: Timestamp) -> Seconds | None:
        if self._memory.observed is None:
            return None
        if waiting.instances is None or waiting.seen_at is None:
            waiting.instances, waiting.seen_at = self._running(self._names_of(waiting)), wall
        if now < waiting.due:
            return waiting.due
        if self._hooks.sent is None:  # else the answer to the last one comes first
            self._act(waiting, waiting.instances, waiting.seen_at, now)
        return None

    def _act(
        self, waiting: WaitingHook, instances: Mapping[str, str], seen_at: Timestamp, now: Seconds
    ) -> None:
        self._hooks.waiting = None
        self._note_done(waiting, instances, seen_at)
        running = self._running(self._names_of(waiting))
        meant = {name: one for name, one in instances.items() if running.get(name) == one}
        if not meant:
            self._reports.count(waiting.action, HookResult.NOT_NEEDED)
        elif waiting.action is ChangeAction.SIGNAL:
            self._signals.send(waiting, meant, now)
        else:
            self._restarts.begin(meant, waiting.objects)

    def _note_done(
        self, waiting: WaitingHook, instances: Mapping[str, str], seen_at: Timestamp
    ) -> None:
        """Note for which instances something is done now, so that one that comes late is told apart."""
        done = self._hooks.done
        for name in self._names_of(waiting):
            if name in instances or name not in done or done[name].seen_at < seen_at:
                instance = instances.get(name, "")
                done[name] = DoneHook(hook=waiting, seen_at=seen_at, instance=instance)

    def _unseen(
        self,
        waiting: WaitingHook,
        told: VolumesAre | None,
        versions: Mapping[ObjectId, ObjectVersion],
    ) -> list[ObjectId]:
        """Return the objects of which the pod has another version still, in a file or a variable."""
        pod, makes_volumes = self._memory.wish.pod, self._ports.volumes is not None
        return [
            wanted
            for wanted, version in waiting.objects.items()
            if not (
                is_seen(pod, wanted, version, told, versions)
                if makes_volumes
                else is_read(wanted, version, versions)
            )
        ]

    def _wait_for(
        self, waiting: WaitingHook, unseen: list[ObjectId], told: VolumesAre | None, now: Seconds
    ) -> Seconds | None:
        """Wait until objects are seen, and say so when that takes long."""
        said_at = Seconds(waiting.due + SAID_AFTER)
        if waiting.was_said:
            return None
        if now < said_at:
            return said_at
        waiting.was_said = True
        troubles = told.troubles.values() if told is not None else ()
        why = "; ".join(sorted({each.message for each in troubles}))
        text = (
            f"Nothing is done yet about the change of {names_of(unseen)}: the pod does not see it"
        )
        self._reports.warn(NOT_SHOWN, f"{text}: {why}" if why else text)
        return None

    # --- inside ----------------------------------------------------------------------------------------

    def _running(self, names: Iterable[str]) -> dict[str, str]:
        return running_instances(self._memory.observed, names)

    def _names_of(self, waiting: WaitingHook) -> frozenset[str]:
        pod = self._memory.wish.pod
        found = (containers_using(pod, wanted, waiting.action) for wanted in waiting.objects)
        return frozenset[str]().union(*found)

    def _set_timer(self, due: Seconds | None, now: Seconds) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if due is not None:
            self._timer = self._after(Seconds(max(0.0, due - now)), HooksDue())


class WorkerChanges:
    """Begins to act on changes with the first one. So a pod that none concerns has nothing of it."""

    def __init__(self, memory: WorkerMemory, make: Callable[[], WorkerHooks]) -> None:
        self._memory = memory
        self._make = make
        self._hooks: WorkerHooks | None = None
        """None until the first change that something is to be done about."""

    def begin(self) -> None:
        """Go on with what an earlier life, or an earlier process, has begun."""
        memory = self._memory
        if memory.hooks is None and memory.kept is not None and memory.kept.outdated:
            memory.hooks = HooksMemory(outdated=memory.kept.outdated)
        if memory.hooks is not None:
            self._begun()

    def take(self, fact: HookFact, now: Seconds) -> None:
        """Take in what is told. What is told of other pods is for these."""
        if not isinstance(fact, ChangeDecided) or fact.pod == self._memory.wish.pod.uid:
            self._begun().take(fact, now)

    def go_on(self, supply: WorkerSupply, now: Seconds, wall: Timestamp) -> None:
        """Do what can be done now about changes."""
        if self._hooks is not None and self._memory.life.stage is PodLife.SYNC:
            self._hooks.go_on(supply.volumes.told, supply.needed.versions(), now, wall)

    def note_observed(self, observed: PodObserved | None) -> None:
        """Let the next one of a group go on if a container that was restarted is back."""
        if self._hooks is not None and observed is not None:
            self._hooks.note_observed(observed)

    def cancel(self) -> None:
        """Do nothing any more: the pod is being stopped. May repeat."""
        if self._hooks is not None:
            self._hooks.cancel()

    def _begun(self) -> WorkerHooks:
        if self._hooks is None:
            self._hooks = self._make()
        return self._hooks
