"""Brings one pod after the other a step further: asks the plan, begins its calls, and tells what is."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Final, assert_never

from kernel import Clock, Timer
from messages.pod_runtime import ForgetPod, PodTrouble, RunPod, StopPod
from messages.pods import Pod, PodUid
from messages.units import Seconds
from runtimes.provider.calls_under_way import CallsUnderWay
from runtimes.provider.memory import ProviderMemory, remember
from runtimes.provider.notices import ProviderNotices
from runtimes.provider.observing import nothing_left, observation, take_report
from runtimes.provider.plan import Abilities, CallProvider, Rest, WaitUntil, next_step
from runtimes.provider.pods import (
    UNFOLLOWED,
    Method,
    ProviderPod,
    note_call,
    note_lost,
    note_unfollowed,
)

SHORTEST_WAIT: Final = 0.001
"""In seconds. The difference of two moments may be rounded down: its timer would be early, for ever."""


class PodExaminer:
    """Examines pods. One life of the runtime has one."""

    def __init__(
        self,
        memory: ProviderMemory,
        under_way: CallsUnderWay,
        notices: ProviderNotices,
        can: Abilities,
        later: Callable[[Seconds, PodUid], Timer],
    ) -> None:
        """``later`` has a pod examined again after so many seconds."""
        self.unsettled: set[PodUid] = set(memory.pods)
        """Pods for which the next observation matters, even if it says the same of them."""
        self.common: tuple[PodTrouble, ...] = ()
        """What is wrong with all pods."""
        self._memory = memory
        self._under_way = under_way
        self._notices = notices
        self._can = can
        self._later = later
        self._waiting: dict[PodUid, None] = {}
        """Pods that wait until fewer calls are under way, the oldest first."""
        self._timers: dict[PodUid, Timer] = {}

    def examine(self, it: ProviderPod, clock: Clock) -> None:
        """Take what was observed of a pod, do what follows, and tell how it is."""
        memory, now = self._memory, clock.monotonic()
        self._waiting.pop(it.uid, None)
        if it.looked < memory.observed and it.fresh_from <= memory.observed:
            it.looked = memory.observed
            is_known = it.may_be_there or it.state is not None
            learned = take_report(it, memory.readings.get(it.uid), clock.wall(), now)
            # What ran before the agent started was not started now.
            self._notices.learned(it, learned if is_known else learned.without_steps())
        step = next_step(it, memory.observed, now, self._can)
        self.unsettled.add(it.uid)
        match step:
            case CallProvider():
                self._begin(it, step, clock)
            case WaitUntil(moment=moment):
                self._wait(it.uid, Seconds(max(moment - now, SHORTEST_WAIT)))
            case Rest.WAITING:
                pass
            case Rest.LOST:
                self._lose(it, clock)
            case Rest.AS_COMMANDED:
                self._note_effect(it, clock)
            case Rest.GONE:
                self._drop(it)
                return
            case _:
                assert_never(step)
        self._tell(it)

    def forget_timer(self, uid: PodUid) -> None:
        """Note that the timer of a pod has come."""
        self._timers.pop(uid, None)

    def next_waiting(self) -> tuple[PodUid, ...]:
        """Return as many of the pods that wait for room as there is room now, the oldest first."""
        return tuple(islice(self._waiting, max(self._under_way.room, 0)))

    # --- inside ----------------------------------------------------------------------------------------

    def _wait(self, uid: PodUid, delay: Seconds) -> None:
        timer = self._timers.pop(uid, None)
        if timer is not None:
            timer.cancel()
        self._timers[uid] = self._later(delay, uid)

    def _begin(self, it: ProviderPod, step: CallProvider, clock: Clock) -> None:
        if self._under_way.room <= 0:
            self._waiting[it.uid] = None
            return
        method = step.method
        pod = it.pod or Pod.of({"metadata": {"uid": it.uid}, "spec": {}})
        if method is Method.STOP and it.stopping_by is None and it.lives:
            self._notices.stopping(it, step.grace)
        ref = self._under_way.begin(
            method,
            *((pod, float(step.grace)) if method is Method.STOP else (pod,)),
            clock=clock,
            more_time=step.grace,
            uid=it.uid,
            spec=pod.document.get("spec"),
        )
        it.calls[ref] = method
        note_call(it, method, clock.monotonic() + step.grace, clock.wall())

    def _lose(self, it: ProviderPod, clock: Clock) -> None:
        note_lost(it, clock.wall())
        sentence = "it is not told any more, and nobody knows how it ended"
        it.trouble = PodTrouble(reason="ContainerStatusUnknown", message=sentence, is_for_good=True)
        self._notices.warning(it, "ContainerStatusUnknown", sentence)
        self._note_effect(it, clock)

    def _note_effect(self, it: ProviderPod, clock: Clock) -> None:
        it.effective = it.command.mark
        self.unsettled.discard(it.uid)
        if isinstance(it.command, StopPod) and not it.is_told:
            note_lost(it, clock.wall())
        can = self._can
        for sentence in note_unfollowed(it, has_update=can.update, has_volumes=can.volumes):
            self._notices.warning(it, UNFOLLOWED, sentence)

    def _drop(self, it: ProviderPod) -> None:
        assert isinstance(it.command, ForgetPod)  # noqa: S101  # else it would not be gone
        it.command.reply_to.tell(nothing_left(it.command))
        remember(self._memory.forgotten, it.uid, it.command.mark)
        del self._memory.pods[it.uid]
        self.unsettled.discard(it.uid)
        timer = self._timers.pop(it.uid, None)
        if timer is not None:
            timer.cancel()

    def _tell(self, it: ProviderPod) -> None:
        has_stopped = isinstance(it.command, StopPod) and it.effective == it.command.mark
        if self._memory.observed == 0 or (it.is_unclear and not has_stopped):
            return  # how it is is not known yet: it may be shown as running, since an earlier agent
        if isinstance(it.command, RunPod):
            it.effective = it.command.mark
        told = observation(it, self.common)
        if told != it.last_told:
            it.last_told = told
            it.command.reply_to.tell(told)
