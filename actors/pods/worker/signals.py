"""Signals to the containers of one pod because objects changed. A part of the worker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from actors.pods.worker.hook_memory import HooksMemory, SentSignal, WaitingHook
from actors.pods.worker.hook_reports import HookReports
from actors.pods.worker.object_hooks import names_of, running_instances
from actors.pods.worker.parts import WorkerMemory
from kernel import Port
from messages.change_hooks import HookResult
from messages.objects import ChangeAction
from messages.pod_runtime import ContainersSignalled, PodObserved, SignalContainers
from messages.units import Seconds

SIGNAL_AGAIN: Final = Seconds(40.0)
"""How long an answer is waited for. The runtime answers within 30 s, unless the question was lost."""
MOST_ATTEMPTS: Final = 3
FAILED_SIGNAL: Final = "FailedSignal"


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

    def take_answer(self, answer: ContainersSignalled, observed: PodObserved | None) -> None:
        """Take what came of the signal that is under way."""
        sent = self._hooks.sent
        if sent is None or answer.ref != sent.number:
            return
        self._hooks.sent = None
        running = running_instances(observed, sent.instances)
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

    def ask_again(self, now: Seconds, observed: PodObserved | None) -> Seconds | None:
        """Send again what was not answered in time, or give up. Return when to look again, if ever."""
        sent = self._hooks.sent
        if sent is None or now < sent.again_at:
            return sent.again_at if sent is not None else None
        if sent.attempts >= MOST_ATTEMPTS:
            failures = dict.fromkeys(sent.instances, "the runtime does not answer")
            uid = self._memory.wish.pod.uid
            given_up = ContainersSignalled(uid=uid, ref=sent.number, failures=failures)
            self.take_answer(given_up, observed)
            return None
        sent.attempts += 1
        sent.again_at = Seconds(now + SIGNAL_AGAIN)
        self._send(sent)
        return sent.again_at

    def resume(self) -> None:
        """Ask again at once: an answer may have been lost with the life before."""
        if self._hooks.sent is not None:
            self._hooks.sent.again_at = Seconds(0.0)

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
