"""What is done about changes of objects that a pod uses: signals and restarts. A part of the worker.

A restart is named to the runtime, and written down together with the versions that it is for. So a crash of
anybody neither loses nor repeats it. A signal may be sent twice. In a rollout group a container waits for its
turn to be restarted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from actors.pods.worker.news import WorkerNews
from actors.pods.worker.object_hooks import (
    HooksMemory,
    SentSignal,
    WaitingHook,
    is_back,
    names_of,
    rollout_group,
    running_instances,
)
from actors.pods.worker.parts import WorkerMemory, WorkerPorts
from kernel import Port
from messages.change_hooks import (
    ChangeHookEnded,
    HookResult,
    ReturnRollout,
    RolloutGranted,
    RolloutMessage,
    WantRollout,
)
from messages.events import EventType
from messages.objects import ChangeAction, ObjectId
from messages.pod_runtime import (
    OBJECT_CHANGED,
    ContainersSignalled,
    PodObserved,
    SignalContainers,
)
from messages.statuses import PodFailure
from messages.units import Seconds
from stores.statuses.shown import verdict_on

SIGNAL_AGAIN: Final = Seconds(40.0)
"""How long an answer is waited for. The runtime answers within 30 s, unless the question was lost."""
MOST_ATTEMPTS: Final = 3
ASK_AGAIN: Final = Seconds(30.0)
"""Between two questions for the turn of a container."""
FAILED_SIGNAL: Final = "FailedSignal"
FAILED_RESTART: Final = "FailedRestart"


class HookReports:
    """Reports for one life of a worker: a line of the log and an event for each thing that is said."""

    def __init__(self, ports: WorkerPorts, memory: WorkerMemory) -> None:
        self._rollouts = ports.rollouts
        self._news = WorkerNews(ports, memory)

    def say(self, message: str) -> None:
        """Say what is done about a change."""
        self._news.say(message, reason=OBJECT_CHANGED)
        self._news.post(PodFailure(reason=OBJECT_CHANGED, message=message))

    def warn(self, reason: str, message: str) -> None:
        """Say what cannot be done."""
        self._news.say(message, reason=reason)
        self._news.post(PodFailure(reason=reason, message=message), EventType.WARNING)

    def count(self, action: ChangeAction, result: HookResult) -> None:
        """Count what came of a hook."""
        if self._rollouts is not None:
            self._rollouts.tell(ChangeHookEnded(action=action, result=result))


class ChangeSignals:
    """Sends one signal at a time, for one life of a worker, and asks again for an answer that was lost."""

    def __init__(
        self,
        runtime: Port[SignalContainers],
        memory: WorkerMemory,
        hooks: HooksMemory,
        me: Port[ContainersSignalled],
        reports: HookReports,
    ) -> None:
        self._runtime = runtime
        self._memory = memory
        self._hooks = hooks
        self._me = me
        self._reports = reports
        if hooks.sent is not None:
            hooks.sent.again_at = Seconds(0.0)  # the answer may have been lost with the life before

    def send(self, waiting: WaitingHook, instances: Mapping[str, str], now: Seconds) -> None:
        """Send the signal of a hook to these instances, by name of the container."""
        self._hooks.signals += 1
        self._hooks.sent = SentSignal(
            number=self._hooks.signals,
            signal=waiting.signal,
            instances=instances,
            objects=waiting.objects,
            again_at=Seconds(now + SIGNAL_AGAIN),
        )
        self._send(self._hooks.sent)

    def take_answer(self, answer: ContainersSignalled) -> None:
        """Take what came of the signal that is under way."""
        sent = self._hooks.sent
        if sent is None or answer.ref != sent.number:
            return
        self._hooks.sent = None
        running = running_instances(self._memory.observed, sent.instances)
        failures = {
            name: why
            for name, why in answer.failures.items()
            if running.get(name) == sent.instances.get(name)
        }
        reached = [name for name in sent.instances if name not in answer.failures]
        changed = names_of(sent.objects)
        for name in reached:
            self._reports.say(f"Sent {sent.signal} to container {name}: {changed} changed")
        for name, why in failures.items():
            text = f"Could not send {sent.signal} to container {name}: {why}"
            self._reports.warn(FAILED_SIGNAL, text)
        result = HookResult.DONE if reached else HookResult.NOT_NEEDED
        self._reports.count(ChangeAction.SIGNAL, HookResult.FAILED if failures else result)

    def ask_again(self, now: Seconds) -> Seconds | None:
        """Send again what was not answered in time, or give up. Return when to look again, if ever."""
        sent = self._hooks.sent
        if sent is None or now < sent.again_at:
            return sent.again_at if sent is not None else None
        if sent.attempts >= MOST_ATTEMPTS:
            failures = dict.fromkeys(sent.instances, "the runtime does not answer")
            uid = self._memory.wish.pod.uid
            given_up = ContainersSignalled(uid=uid, ref=sent.number, failures=failures)
            self.take_answer(given_up)
            return None
        sent.attempts += 1
        sent.again_at = Seconds(now + SIGNAL_AGAIN)
        self._send(sent)
        return sent.again_at

    def _send(self, sent: SentSignal) -> None:
        self._runtime.tell(
            SignalContainers(
                uid=self._memory.wish.pod.uid,
                signal=sent.signal,
                instances=sent.instances,
                reply_to=self._me,
                ref=sent.number,
            )
        )


class ChangeRestarts:
    """Names containers to the runtime that are to start again: at once, or one at a time in their group.

    It asks the keeper of rollouts for turns, and returns them, for one life of a worker.
    """

    def __init__(
        self,
        ports: WorkerPorts,
        memory: WorkerMemory,
        hooks: HooksMemory,
        me: Port[RolloutGranted],
        reports: HookReports,
        restart: Callable[[], None],
    ) -> None:
        """``restart`` tells the runtime which instances are outdated, and has that kept."""
        self._ports = ports
        self._memory = memory
        self._hooks = hooks
        self._turns = hooks.turns
        self._me = me
        self._reports = reports
        self._restart = restart
        self._asked_at: Seconds | None = None
        """When it was last said in this life whose turn is wanted."""

    def begin(self, instances: Mapping[str, str], objects: Mapping[ObjectId, str]) -> None:
        """Restart these instances, by name of the container, or have them wait for their turn."""
        ports, group = self._ports, rollout_group(self._memory.wish.pod)
        if group is None or ports.rollouts is None or not ports.restarts_containers:
            self._restart_now(instances, objects)
            return
        self._turns.group = group
        self._turns.waiting |= instances
        self._turns.objects = {**objects}
        self._asked_at = None

    def want(self, now: Seconds) -> Seconds | None:
        """Say now and then whose turn is wanted. Return when to say it again, if ever."""
        turns = self._turns
        if not turns.waiting:
            return None
        if self._asked_at is None or now >= self._asked_at + ASK_AGAIN:
            self._asked_at = now
            for name in turns.waiting:
                self._ask(name)
        return Seconds(self._asked_at + ASK_AGAIN)

    def take_turn(self, granted: RolloutGranted) -> None:
        """Restart a container whose turn it is. One that was granted before counts once.

        A turn that nobody needs any more is returned.
        """
        turns, name = self._turns, granted.container
        turns.group = turns.group or granted.group
        if name in turns.granted:
            return
        instance = turns.waiting.pop(name, None)
        running = running_instances(self._memory.observed, [name]).get(name)
        if instance is not None and instance == running:
            turns.granted[name] = instance
            self._restart_now({name: instance}, turns.objects)
            return
        self._return(name)
        if instance is not None:
            self._reports.count(ChangeAction.RESTART, HookResult.NOT_NEEDED)

    def _restart_now(self, instances: Mapping[str, str], objects: Iterable[ObjectId]) -> None:
        if not self._ports.restarts_containers:
            for name in instances:
                text = f"Container {name} is not restarted: the runtime cannot"
                self._reports.warn(FAILED_RESTART, text)
            self._reports.count(ChangeAction.RESTART, HookResult.FAILED)
            return
        self._hooks.outdated |= frozenset(instances.values())
        for name in instances:
            self._reports.say(f"Restarting container {name}: {names_of(objects)} changed")
        self._reports.count(ChangeAction.RESTART, HookResult.DONE)
        self._restart()

    def note_observed(self, observed: PodObserved) -> None:
        """Return the turns of containers that are back."""
        status = self._memory.status
        verdicts = status.verdicts if status is not None else None
        for name, old in tuple(self._turns.granted.items()):
            if is_back(observed, name, old, verdict_on(name, verdicts)):
                del self._turns.granted[name]
                self._return(name)

    def return_all(self) -> None:
        """Want and need no turn any more. May repeat."""
        for name in (*self._turns.waiting, *self._turns.granted):
            self._return(name)
        self._turns.waiting.clear()
        self._turns.granted.clear()

    def _ask(self, name: str) -> None:
        pod, group = self._memory.wish.pod, self._turns.group
        if group is not None:
            wanted = WantRollout(
                group=group, pod=pod.uid, pod_name=pod.name, container=name, reply_to=self._me
            )
            self._tell(wanted)

    def _return(self, name: str) -> None:
        uid, group = self._memory.wish.pod.uid, self._turns.group
        if group is not None:
            self._tell(ReturnRollout(group=group, pod=uid, container=name))

    def _tell(self, message: RolloutMessage) -> None:
        if self._ports.rollouts is not None:
            self._ports.rollouts.tell(message)
