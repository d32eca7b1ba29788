"""What a worker does about changes of objects that its pod uses: signals and restarts. A part of the worker.

Something is done when every file and variable of the pod has what changed, and not before its time. A restart
is named to the runtime, and written down together with the versions that it is for. So whoever dies then, it
is neither lost nor done twice. A signal may be sent twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from actors.pods.orders import HooksDue
from actors.pods.record_pages import ObjectVersion
from actors.pods.worker.hook_memory import HooksMemory, SentSignal, WaitingHook
from actors.pods.worker.news import WorkerNews
from actors.pods.worker.object_hooks import (
    containers_using,
    is_at_least,
    is_in_files,
    is_in_variables,
    rollout_group,
    running_instances,
    seen_instances,
)
from actors.pods.worker.parts import WorkerMemory, WorkerPorts
from kernel import Port, Timer
from messages.change_hooks import (
    ChangeHookEnded,
    HookResult,
    ReturnRollout,
    RolloutGranted,
    RolloutMessage,
    WantRollout,
)
from messages.events import EventType
from messages.objects import ChangeAction, ChangeDecided, ObjectId
from messages.pod_runtime import (
    OBJECT_CHANGED,
    ContainersSignalled,
    PodObserved,
    SignalContainers,
)
from messages.pods import Pod
from messages.statuses import PodFailure
from messages.units import Seconds
from messages.volumes import VolumesAre
from stores.statuses.shown import verdict_on

SIGNAL_AGAIN: Final = Seconds(40.0)
"""How long an answer is waited for. The runtime answers within 30 s, unless the question was lost."""
MOST_ATTEMPTS: Final = 3
ASK_FOR_TURN_AGAIN: Final = Seconds(30.0)
SAID_AFTER: Final = Seconds(30.0)
"""How long after it was due people are told what it waits for."""
FAILED_SIGNAL: Final = "FailedSignal"
FAILED_RESTART: Final = "FailedRestart"
NOT_SHOWN: Final = "ObjectNotShown"


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
        self._news = WorkerNews(ports, memory)
        self._me = me
        self._after = after
        self._restart = restart
        self._timer: Timer | None = None
        self._asked_at: Seconds | None = None
        """When it was last said in this life whose turn is wanted."""

    # --- what it hears ---------------------------------------------------------------------------------

    def decide(self, decided: ChangeDecided, now: Seconds) -> None:
        """Note what is to be done about a change."""
        waiting, changed = self._hooks.waiting, decided.changed
        due = Seconds(now + decided.delay)
        if waiting is None or (waiting.action, waiting.signal) != (decided.action, decided.signal):
            before = waiting.objects if waiting is not None else {}
            waiting = self._hooks.waiting = WaitingHook(
                action=decided.action, signal=decided.signal, due=due, objects=dict(before)
            )
        waiting.objects[changed.object] = changed.resource_version
        waiting.instances = None

    def take_answer(self, answer: ContainersSignalled) -> None:
        """Take what came of a signal."""
        sent = self._hooks.sent
        if sent is None or answer.ref != sent.number:
            return
        self._hooks.sent = None
        running = self._running(sent.instances)
        failures = {
            name: why
            for name, why in answer.failures.items()
            if running.get(name) == sent.instances.get(name)
        }
        reached = [name for name in sent.instances if name not in answer.failures]
        for name in reached:
            self._say(f"Sent {sent.signal} to container {name}: {_names(sent.objects)} changed")
        for name, why in failures.items():
            self._warn(FAILED_SIGNAL, f"Could not send {sent.signal} to container {name}: {why}")
        result = HookResult.DONE if reached else HookResult.NOT_NEEDED
        self._count(ChangeAction.SIGNAL, HookResult.FAILED if failures else result)

    def take_turn(self, granted: RolloutGranted) -> None:
        """Restart a container whose turn it is; return the turn if nobody needs it any more."""
        turns, name = self._hooks.turns, granted.container
        turns.group = turns.group or granted.group
        if name in turns.granted:
            return
        instance = turns.waiting.pop(name, None)
        if instance is not None and self._running([name]).get(name) == instance:
            turns.granted[name] = instance
            self._restart_now({name: instance}, turns.objects)
        else:
            if instance is not None:
                self._count(ChangeAction.RESTART, HookResult.NOT_NEEDED)
            self._return(name)

    def note_observed(self, observed: PodObserved) -> None:
        """Forget instances that nobody sees any more, and return turns that are over."""
        hooks = self._hooks
        if observed.containers:
            hooks.outdated &= seen_instances(observed)
        for name, old in tuple(hooks.turns.granted.items()):
            if self._is_back(observed, name, old):
                del hooks.turns.granted[name]
                self._return(name)

    def cancel(self) -> None:
        """Do nothing any more: the pod is being stopped. May repeat."""
        hooks = self._hooks
        if hooks.waiting is not None:
            self._count(hooks.waiting.action, HookResult.CANCELLED)
        for name in (*hooks.turns.waiting, *hooks.turns.granted):
            self._return(name)
        hooks.turns.waiting.clear()
        hooks.turns.granted.clear()
        hooks.waiting = hooks.sent = None
        self._set_timer(None, Seconds(0.0))

    # --- what is due -----------------------------------------------------------------------------------

    def go_on(
        self, told: VolumesAre | None, versions: Mapping[ObjectId, ObjectVersion], now: Seconds
    ) -> None:
        """Do what can be done now. May repeat, after whatever may have changed."""
        hooks = self._hooks
        times = []
        if hooks.waiting is not None:
            times.append(self._go_on_waiting(hooks.waiting, told, versions, now))
        if hooks.sent is not None:
            times.append(self._ask_again(hooks.sent, now))
        if hooks.turns.waiting:
            times.append(self._want_turns(now))
        self._set_timer(min((time for time in times if time is not None), default=None), now)

    def _go_on_waiting(
        self,
        waiting: WaitingHook,
        told: VolumesAre | None,
        versions: Mapping[ObjectId, ObjectVersion],
        now: Seconds,
    ) -> Seconds | None:
        pod, names = self._memory.wish.pod, self._names_of(waiting)
        unseen = [
            wanted
            for wanted, version in waiting.objects.items()
            if not self._is_seen(pod, wanted, version, told, versions)
        ]
        if unseen:
            return self._wait_for(waiting, unseen, told, now)
        observed = self._observed()
        if observed is None:
            return None
        if waiting.instances is None:
            waiting.instances = self._running(names)
        if now < waiting.due:
            return waiting.due
        if self._hooks.sent is not None:
            return None  # the answer to the last one comes first
        self._hooks.waiting = None
        running = self._running(names)
        meant = {name: one for name, one in waiting.instances.items() if running.get(name) == one}
        if not meant:
            self._count(waiting.action, HookResult.NOT_NEEDED)
            return None
        return self._act(waiting, meant, now)

    def _act(self, waiting: WaitingHook, meant: Mapping[str, str], now: Seconds) -> Seconds | None:
        hooks = self._hooks
        if waiting.action is ChangeAction.SIGNAL:
            hooks.signals += 1
            hooks.sent = SentSignal(
                number=hooks.signals,
                signal=waiting.signal,
                instances=meant,
                objects=waiting.objects,
                again_at=Seconds(now + SIGNAL_AGAIN),
            )
            self._send(hooks.sent)
        elif self._has_no_turns():
            self._restart_now(meant, waiting.objects)
        else:
            hooks.turns.group = rollout_group(self._memory.wish.pod)
            hooks.turns.waiting |= meant
            hooks.turns.objects = {**waiting.objects}
            self._asked_at = None
        return None

    def _has_no_turns(self) -> bool:
        ports, group = self._ports, rollout_group(self._memory.wish.pod)
        return group is None or ports.rollouts is None or not ports.restarts_containers

    def _is_seen(
        self,
        pod: Pod,
        wanted: ObjectId,
        version: str,
        told: VolumesAre | None,
        versions: Mapping[ObjectId, ObjectVersion],
    ) -> bool:
        """Return whether all that the pod uses of an object has this version."""
        makes_volumes = self._ports.volumes is not None
        if makes_volumes and is_in_files(pod, wanted):
            shown = told.shown.get(wanted, "") if told is not None else ""
            if not is_at_least(shown, version):
                return False
        if not makes_volumes or is_in_variables(pod, wanted):
            read = versions.get(wanted)
            return read is not None and is_at_least(read.resource_version, version)
        return True

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
        text = f"Nothing is done yet about the change of {_names(unseen)}: the pod does not see it"
        self._warn(NOT_SHOWN, f"{text}: {why}" if why else text)
        return None

    def _ask_again(self, sent: SentSignal, now: Seconds) -> Seconds | None:
        if now < sent.again_at:
            return sent.again_at
        if sent.attempts >= MOST_ATTEMPTS:
            failures = dict.fromkeys(sent.instances, "the runtime does not answer")
            uid = self._memory.wish.pod.uid
            self.take_answer(ContainersSignalled(uid=uid, ref=sent.number, failures=failures))
            return None
        sent.attempts += 1
        sent.again_at = Seconds(now + SIGNAL_AGAIN)
        self._send(sent)
        return sent.again_at

    def resume(self) -> None:
        """Begin to ask again at once: an answer may have been lost with the life before."""
        if self._hooks.sent is not None:
            self._hooks.sent.again_at = Seconds(0.0)

    # --- whom it tells ---------------------------------------------------------------------------------

    def _send(self, sent: SentSignal) -> None:
        self._ports.runtime.tell(
            SignalContainers(
                uid=self._memory.wish.pod.uid,
                signal=sent.signal,
                instances=sent.instances,
                reply_to=self._me,
                ref=sent.number,
            )
        )

    def _restart_now(self, instances: Mapping[str, str], objects: Iterable[ObjectId]) -> None:
        if not self._ports.restarts_containers:
            for name in instances:
                self._warn(FAILED_RESTART, f"Container {name} is not restarted: the runtime cannot")
            self._count(ChangeAction.RESTART, HookResult.FAILED)
            return
        self._hooks.outdated |= frozenset(instances.values())
        for name in instances:
            self._say(f"Restarting container {name}: {_names(objects)} changed")
        self._count(ChangeAction.RESTART, HookResult.DONE)
        self._restart()

    def _want_turns(self, now: Seconds) -> Seconds:
        if self._asked_at is None or now >= self._asked_at + ASK_FOR_TURN_AGAIN:
            self._asked_at = now
            pod, group = self._memory.wish.pod, self._hooks.turns.group
            for name in self._hooks.turns.waiting:
                if group is not None:
                    wanted = WantRollout(
                        group=group,
                        pod=pod.uid,
                        pod_name=pod.name,
                        container=name,
                        reply_to=self._me,
                    )
                    self._tell_rollouts(wanted)
        return Seconds(self._asked_at + ASK_FOR_TURN_AGAIN)

    def _return(self, name: str) -> None:
        uid, group = self._memory.wish.pod.uid, self._hooks.turns.group
        if group is not None:
            self._tell_rollouts(ReturnRollout(group=group, pod=uid, container=name))

    def _count(self, action: ChangeAction, result: HookResult) -> None:
        self._tell_rollouts(ChangeHookEnded(action=action, result=result))

    def _tell_rollouts(self, message: RolloutMessage) -> None:
        if self._ports.rollouts is not None:
            self._ports.rollouts.tell(message)

    def _say(self, message: str) -> None:
        self._news.say(message, reason=OBJECT_CHANGED)
        self._news.post(PodFailure(reason=OBJECT_CHANGED, message=message))

    def _warn(self, reason: str, message: str) -> None:
        self._news.say(message, reason=reason)
        self._news.post(PodFailure(reason=reason, message=message), EventType.WARNING)

    # --- inside ----------------------------------------------------------------------------------------

    def _observed(self) -> PodObserved | None:
        return self._memory.status.observed if self._memory.status is not None else None

    def _running(self, names: Iterable[str]) -> dict[str, str]:
        return running_instances(self._observed(), names)

    def _names_of(self, waiting: WaitingHook) -> frozenset[str]:
        pod = self._memory.wish.pod
        found = (containers_using(pod, wanted, waiting.action) for wanted in waiting.objects)
        return frozenset[str]().union(*found)

    def _is_back(self, observed: PodObserved, name: str, old: str) -> bool:
        """Return whether another instance runs and is ready, or none will run any more."""
        running = running_instances(observed, (name,)).get(name)
        if running is None or running == old:
            return False
        history, status = observed.containers[name], self._memory.status
        verdict = verdict_on(name, status.verdicts if status is not None else None)
        is_about = verdict.container_id in {"", running}
        current = history.current
        return current is not None and current.is_ready and verdict.is_ready and is_about

    def _set_timer(self, due: Seconds | None, now: Seconds) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if due is not None:
            self._timer = self._after(Seconds(max(0.0, due - now)), HooksDue())


def _names(objects: Iterable[ObjectId]) -> str:
    return " and ".join(sorted(f'{each.kind} "{each.name}"' for each in objects))
