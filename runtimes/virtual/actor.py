"""VirtualRuntime: a runtime of pods that calls somebody's Python class.

``reports`` and ``following`` say what a provider's answers mean, ``pods`` and ``observing`` what is known of
each pod, ``plan`` what to call next, ``desk`` which calls are under way. This file is the actor around them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, assert_never

from typing_extensions import override

from kernel import PooledActor, Port, Timer
from messages.pod_runtime import (
    DescribeRuntime,
    ForgetPod,
    ListRuntimePods,
    PodsObserved,
    PodTrouble,
    RunPod,
    RuntimeDescribed,
    RuntimeNode,
    StopPod,
)
from messages.pods import Pod, PodUid
from messages.units import Seconds
from runtimes.virtual.calls import ProviderCallEnded, ProviderCalls, ProviderFailure, Returned
from runtimes.virtual.deadlines import (
    MorePodsToExamine,
    NodeDue,
    ObserveDue,
    PodDue,
    ProviderCallLate,
    ProviderChanged,
    VirtualDeadline,
)
from runtimes.virtual.desk import CallDesk
from runtimes.virtual.listing import counted, is_stranger, listed
from runtimes.virtual.loading import LoadedProvider
from runtimes.virtual.looks import Looks
from runtimes.virtual.memory import CallOut, VirtualMemory, VirtualRules, remember
from runtimes.virtual.messages import VirtualPorts, VirtualRuntimeMessage
from runtimes.virtual.node_reports import sound_node
from runtimes.virtual.notices import VirtualNotices, reason_of, sentence_of
from runtimes.virtual.observing import nothing_left, observation, take_report
from runtimes.virtual.plan import CallProvider, Rest, WaitUntil, next_virtual_step, pause_after
from runtimes.virtual.pods import (
    UNFOLLOWED,
    Method,
    VirtualPod,
    is_obsolete,
    note_call,
    note_failure,
    note_lost,
    note_success,
    note_unfollowed,
    take_command,
)
from runtimes.virtual.reports import Nonsense, Readings

PORTION: Final = 128
"""Pods that are examined in one turn."""
SHORTEST_WAIT: Final = 0.001
"""In seconds. The difference of two moments may be rounded down: its timer would be early, for ever."""


class VirtualRuntime(PooledActor[VirtualRuntimeMessage]):
    """Runs pods by calling a class with ``run``, ``stop`` and ``observe``.

    Owns: what is known of each pod, and which calls are made for it.
    Hears: ``PodRuntimeMessage``; ``ProviderChanged`` from the provider, ``ProviderCallEnded`` from
    threads; its own timers.
    Tells: ``PodObserved`` to whoever gave the last command; ``PodsObserved``, ``RuntimeDescribed``;
    ``PostEvent``.
    Fails when: it has a bug. Whatever the provider raises, returns or never returns is an answer.

    Order: calls about one pod come one after another. A new life takes the answers of calls that an
    earlier one began, and begins none of them again.
    Repetition: of a command with the same mark, and of the same observation, changes nothing.
    """

    def __init__(
        self,
        loaded: LoadedProvider,
        calls: ProviderCalls,
        ports: VirtualPorts,
        memory: VirtualMemory,
        rules: VirtualRules,
    ) -> None:
        self._loaded = loaded
        self._memory = memory
        self._rules = rules
        self._desk = CallDesk(loaded.provider, calls, ports.me, memory, rules)
        self._looks = Looks(self._desk, memory, rules, self.after)
        self._notices = VirtualNotices(ports.events, loaded.name)
        self._to_examine: dict[PodUid, None] = {}
        self._is_examining = False
        self._unsettled: set[PodUid] = set(memory.pods)
        """Pods for which the next observation matters, even if it says the same of them."""
        self._waiting: dict[PodUid, None] = {}
        """Pods that wait until fewer calls are under way."""
        self._timers: dict[PodUid, Timer] = {}
        self._lists: list[Port[PodsObserved]] = []
        self._node_trouble = ""
        self._common: tuple[PodTrouble, ...] = ()

    @override
    def started(self) -> None:
        self._desk.resume(self.clock, self.after)
        self._lists = list(self._memory.followers)
        for it in self._memory.pods.values():
            it.last_told = None
        self._examine_later(self._memory.pods)
        self._looks.look(self.clock)
        if self._loaded.can.node:
            self._ask_node()

    @override
    def receive(self, message: VirtualRuntimeMessage, /) -> None:
        match message:
            case RunPod() | StopPod() | ForgetPod():
                self._take_command(message)
            case ListRuntimePods(reply_to=reply_to):
                self._memory.followers[reply_to] = None
                self._lists.append(reply_to)
            case DescribeRuntime(reply_to=reply_to):
                reply_to.tell(self._described())
            case ProviderCallEnded(ref=ref):
                self._take_outcome(ref)
            case ProviderCallLate() | ObserveDue() | NodeDue() | PodDue() | MorePodsToExamine():
                self._take_deadline(message)
            case ProviderChanged():
                self._looks.look(self.clock)
            case _:
                assert_never(message)
        self._examine_some()
        self._answer_lists()

    def _take_deadline(self, message: VirtualDeadline) -> None:
        match message:
            case ProviderCallLate(ref=ref):
                self._give_up(ref)
            case ObserveDue():
                self._looks.due(self.clock)
            case NodeDue():
                self._ask_node()
            case PodDue(uid=uid):
                self._timers.pop(uid, None)
                self._examine_later((uid,))
            case MorePodsToExamine():
                self._is_examining = False

    # --- commands and pods ------------------------------------------------------------------------------

    def _take_command(self, command: RunPod | StopPod | ForgetPod) -> None:
        uid = command.pod.uid if isinstance(command, RunPod) else command.uid
        it = self._memory.pods.get(uid)
        if it is None:
            forgotten = self._memory.forgotten.get(uid)
            if forgotten is not None and command.mark < forgotten:
                return
            it = VirtualPod(uid=uid, command=command, is_new_run=forgotten is not None)
            self._memory.pods[uid] = it
        elif is_obsolete(it, command):
            return
        take_command(it, command, self.clock.monotonic())
        self._examine_later((uid,))

    def _examine_later(self, uids: Iterable[PodUid]) -> None:
        self._to_examine |= dict.fromkeys(uids)

    def _examine_some(self) -> None:
        for _ in range(PORTION):
            if not self._to_examine:
                return
            uid = next(iter(self._to_examine))
            del self._to_examine[uid]
            it = self._memory.pods.get(uid)
            if it is not None:
                self._examine(it)
        if self._to_examine and not self._is_examining:
            self._is_examining = True
            self.me.tell(MorePodsToExamine())

    def _examine(self, it: VirtualPod) -> None:
        memory, now = self._memory, self.clock.monotonic()
        if it.looked < memory.observed and it.fresh_from <= memory.observed:
            it.looked = memory.observed
            is_known = it.may_be_there or it.state is not None
            learned = take_report(it, memory.readings.get(it.uid), self.clock.wall(), now)
            # What ran before the agent started was not started now.
            self._notices.learned(it, learned if is_known else learned.without_steps())
        step = next_virtual_step(it, memory.observed, now, self._loaded.can)
        self._unsettled.add(it.uid)
        match step:
            case CallProvider():
                self._begin(it, step)
            case WaitUntil(moment=moment):
                self._wait(it.uid, Seconds(max(moment - now, SHORTEST_WAIT)))
            case Rest.WAITING:
                pass
            case Rest.LOST:
                self._lose(it)
            case Rest.AS_COMMANDED:
                self._note_effect(it)
            case Rest.GONE:
                self._drop(it)
                return
            case _:
                assert_never(step)
        self._tell(it)

    def _wait(self, uid: PodUid, delay: Seconds) -> None:
        timer = self._timers.pop(uid, None)
        if timer is not None:
            timer.cancel()
        self._timers[uid] = self.after(delay, PodDue(uid=uid))

    def _begin(self, it: VirtualPod, step: CallProvider) -> None:
        if self._desk.room <= 0:
            self._waiting[it.uid] = None
            return
        method = step.method
        pod = it.pod or Pod.of({"metadata": {"uid": it.uid}, "spec": {}})
        if method is Method.STOP and it.stopping_by is None and it.lives:
            self._notices.stopping(it, step.grace)
        ref = self._desk.begin(
            method,
            *((pod, float(step.grace)) if method is Method.STOP else (pod,)),
            clock=self.clock,
            after=self.after,
            more_time=step.grace,
            uid=it.uid,
            spec=pod.document.get("spec"),
        )
        it.calls[ref] = method
        note_call(it, method, self.clock.monotonic() + step.grace, self.clock.wall())

    def _lose(self, it: VirtualPod) -> None:
        note_lost(it, self.clock.wall())
        sentence = "it is not told any more, and nobody knows how it ended"
        it.trouble = PodTrouble(reason="ContainerStatusUnknown", message=sentence, is_for_good=True)
        self._notices.warning(it, "ContainerStatusUnknown", sentence)
        self._note_effect(it)

    def _note_effect(self, it: VirtualPod) -> None:
        it.effective = it.command.mark
        self._unsettled.discard(it.uid)
        if isinstance(it.command, StopPod) and not it.is_told:
            note_lost(it, self.clock.wall())
        for sentence in note_unfollowed(it, has_update=self._loaded.can.update):
            self._notices.warning(it, UNFOLLOWED, sentence)

    def _drop(self, it: VirtualPod) -> None:
        assert isinstance(it.command, ForgetPod)  # noqa: S101  # else it would not be gone
        it.command.reply_to.tell(nothing_left(it.command))
        remember(self._memory.forgotten, it.uid, it.command.mark)
        del self._memory.pods[it.uid]
        self._unsettled.discard(it.uid)
        timer = self._timers.pop(it.uid, None)
        if timer is not None:
            timer.cancel()

    def _tell(self, it: VirtualPod) -> None:
        if self._memory.observed == 0:
            return  # what runs is not known yet
        if isinstance(it.command, RunPod):
            it.effective = it.command.mark
        told = observation(it, self._common)
        if told != it.last_told:
            it.last_told = told
            it.command.reply_to.tell(told)

    # --- calls ------------------------------------------------------------------------------------------

    def _take_outcome(self, ref: int) -> None:
        out = self._desk.take(ref)
        if out is None:
            return
        outcome = out.call.outcome
        assert outcome is not None  # noqa: S101  # it is set before it is told
        if out.call.method is Method.OBSERVE:
            self._take_look(out, outcome)
        elif out.call.method is Method.NODE:
            self._take_node(outcome)
        elif out.uid is not None:
            self._take_pod_outcome(out.uid, out, outcome)
        self._note_runtime()

    def _take_pod_outcome(
        self, uid: PodUid, out: CallOut, outcome: Returned | ProviderFailure
    ) -> None:
        it = self._memory.pods.get(uid)
        self._examine_later(tuple(self._waiting)[: max(self._desk.room, 0)])
        if it is None:
            return
        method = out.call.method
        it.calls.pop(out.call.ref, None)
        if it.hung.pop(out.call.ref, None) is not None:
            self._notices.returned_late(it, method)
        it.fresh_from = self._memory.begun + 1
        if isinstance(outcome, Returned):
            note_success(it, method, out.spec)
        elif not out.call.is_given_up:
            self._note_failure(it, method, sentence_of(it, method, outcome))
        self._examine_later((uid,))
        self._looks.look(self.clock)

    def _note_failure(self, it: VirtualPod, method: Method, sentence: str) -> None:
        note_failure(it, self.clock.monotonic() + pause_after(it.failures + 1))
        it.trouble = PodTrouble(reason=reason_of(method), message=sentence)
        self._notices.failed(it, method, sentence)

    def _give_up(self, ref: int) -> None:
        out = self._desk.give_up(ref)
        if out is None:
            return
        method = out.call.method
        sentence = f"{method.value} has not returned in time"
        it = self._memory.pods.get(out.uid) if out.uid is not None else None
        if method is Method.OBSERVE:
            self._looks.fail(sentence, self.clock)
        elif method is Method.NODE:
            self._node_trouble = sentence
            self.after(self._rules.node_every, NodeDue())
        elif it is not None:
            it.calls.pop(ref, None)
            it.hung[ref] = method
            it.fresh_from = self._memory.begun + 1
            self._note_failure(it, method, sentence)
            self._examine_later((it.uid, *tuple(self._waiting)[: max(self._desk.room, 0)]))
            self._looks.look(self.clock)
        self._note_runtime()

    # --- observations -----------------------------------------------------------------------------------

    def _take_look(self, out: CallOut, outcome: Returned | ProviderFailure) -> None:
        readings = self._looks.take(out, outcome, self.clock)
        if readings is not None:
            self._take_readings(out.number, readings)

    def _take_readings(self, number: int, readings: Readings) -> None:
        memory, before = self._memory, self._memory.readings
        memory.observed, memory.readings = number, readings
        changed = (uid for uid in memory.pods if readings.get(uid) != before.get(uid))
        self._examine_later((*changed, *self._unsettled))
        known = before.keys() | memory.pods.keys() | memory.forgotten.keys()
        for uid in readings.keys() - known:
            if is_stranger(readings[uid]) and uid not in memory.unknown:
                remember(memory.unknown, uid, None)
                self._notices.unknown(uid)

    def _note_runtime(self) -> None:
        """Tell people, and all pods, whether the provider can be used."""
        sentence = self._trouble()
        self._notices.trouble(sentence)
        away = (PodTrouble(reason="RuntimeIsAway", message=sentence),)
        common = away if self._looks.is_away(self.clock) or self._desk.is_stuck else ()
        if bool(common) != bool(self._common):
            self._common = common
            self._examine_later(self._memory.pods)

    def _trouble(self) -> str:
        stuck = "too many calls hang, so no other is made" if self._desk.is_stuck else ""
        return self._looks.trouble or stuck or self._node_trouble

    # --- the Node, and what others ask -------------------------------------------------------------------

    def _ask_node(self) -> None:
        if self._desk.may_begin(Method.NODE):
            self._desk.begin(Method.NODE, clock=self.clock, after=self.after, digest=sound_node)

    def _take_node(self, outcome: Returned | ProviderFailure) -> None:
        self.after(self._rules.node_every, NodeDue())
        value = outcome.value if isinstance(outcome, Returned) else outcome
        if isinstance(value, RuntimeNode):
            self._memory.node, self._node_trouble = value, ""
        elif isinstance(value, Nonsense):
            self._node_trouble = value.sentence
        elif isinstance(value, ProviderFailure):
            self._node_trouble = sentence_of(None, Method.NODE, value)

    def _answer_lists(self) -> None:
        if self._lists and self._memory.observed and not self._looks.trouble:
            pods = listed(self._memory)
            lists, self._lists = self._lists, []
            for reply_to in lists:
                reply_to.tell(PodsObserved(pods=pods, life=self.incarnation))

    def _described(self) -> RuntimeDescribed:
        return RuntimeDescribed(
            name=self._loaded.name,
            version=self._loaded.version,
            trouble=self._trouble(),
            pods=listed(self._memory),
            containers=counted(self._memory),
            node=self._memory.node,
        )
