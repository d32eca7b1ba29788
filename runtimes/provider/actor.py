"""PodProviderRuntime: a runtime of pods that calls somebody's Python class.

``reports`` and ``following`` say what a provider's answers mean, ``pods`` and ``observing`` what is known of
each pod, ``plan`` what to call next, ``calls_under_way`` which calls have not returned, and ``examining``
brings them together. This file is the actor around them.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Final, TypeAlias, assert_never

from typing_extensions import override

from kernel import Key, PooledActor, Port, Timer
from messages.events import PostEvent
from messages.pod_runtime import (
    ContainersSignalled,
    DescribeRuntime,
    ForgetPod,
    ListRuntimePods,
    PodRuntimeMessage,
    PodsObserved,
    PodTrouble,
    RunPod,
    RuntimeDescribed,
    RuntimeNode,
    SignalContainers,
    StopPod,
)
from messages.pods import PodUid
from messages.units import Seconds
from runtimes.provider.calls import (
    ProviderCallEnded,
    ProviderCalls,
    ProviderChanged,
    ProviderFailure,
    Returned,
)
from runtimes.provider.calls_under_way import CallsUnderWay, Looks
from runtimes.provider.examining import PodExaminer
from runtimes.provider.loading import LoadedProvider
from runtimes.provider.memory import CallOut, ProviderMemory, ProviderRules, remember
from runtimes.provider.notices import ProviderNotices, reason_of, sentence_of
from runtimes.provider.observing import counted, is_stranger, listed
from runtimes.provider.plan import pause_after
from runtimes.provider.pods import (
    Method,
    ProviderPod,
    is_obsolete,
    note_failure,
    note_success,
    take_command,
)
from runtimes.provider.reports import Nonsense, Readings, sound_node

PORTION: Final = 128
"""Pods that are examined in one turn."""
UNKNOWN_FOR: Final = 60.0
"""Seconds after which a pod is said to be ignored that the class tells and nobody knows."""
NO_SIGNALS: Final = "pods of this runtime get no signals"

ProviderRuntimeMessage: TypeAlias = PodRuntimeMessage | ProviderChanged | ProviderCallEnded


def _name_of(message: ProviderRuntimeMessage) -> type | None:
    return ProviderChanged if isinstance(message, ProviderChanged) else None


PROVIDER_RUNTIME = Key[ProviderRuntimeMessage]("runtime", coalesce=_name_of)
"""The address of the runtime of pods, if that is this one."""


class PodProviderRuntime(PooledActor[ProviderRuntimeMessage]):
    """Runs pods by calling a class with ``run``, ``stop`` and ``observe``.

    Owns: what is known of each pod, and which calls are made for it.
    Hears: ``PodRuntimeMessage``; ``ProviderChanged`` from the provider, ``ProviderCallEnded`` from
    threads.
    Tells: ``PodObserved`` to whoever gave the last command; ``PodsObserved``, ``RuntimeDescribed``;
    ``ContainersSignalled``, which says that there are no signals; ``PostEvent``.
    Fails when: it has a bug. Whatever the provider raises, returns or never returns is an answer.

    Order: calls about one pod come one after another. A new life takes the answers of calls that an
    earlier one began, and begins none of them again.
    Repetition: of a command with the same mark, and of the same observation, changes nothing.
    """

    def __init__(
        self,
        loaded: LoadedProvider,
        calls: ProviderCalls,
        me: Port[ProviderCallEnded],
        memory: ProviderMemory,
        rules: ProviderRules,
        events: Port[PostEvent] | None = None,
    ) -> None:
        """``me`` is its own address, which outlives a crash: calls are answered there.

        ``events`` is None for a standalone agent.
        """
        self._loaded = loaded
        self._calls = calls
        self._address = me
        self._memory = memory
        self._rules = rules
        self._notices = ProviderNotices(events, loaded.name)
        self._to_examine: dict[PodUid, None] = {}
        self._lists: list[Port[PodsObserved]] = []
        self._node_trouble = ""

    @override
    def started(self) -> None:
        memory, rules, loaded = self._memory, self._rules, self._loaded
        self._under_way = CallsUnderWay(
            loaded.provider, self._calls, self._address, memory, rules, self._give_up_later
        )
        self._looks = Looks(self._under_way, memory, rules, self.alarm(self._look))
        self._pods = PodExaminer(
            memory, self._under_way, self._notices, loaded.can, self._examine_one_later
        )
        self._more = self.alarm(self._go_on)
        self._under_way.resume(self.clock)
        self._lists = list(self._memory.followers)
        for it in self._memory.pods.values():
            it.last_told = None
        self._examine_later(self._memory.pods)
        self._looks.look(self.clock)
        if self._loaded.can.node:
            self._ask_node()

    @override
    def receive(self, message: ProviderRuntimeMessage, /) -> None:
        match message:
            case RunPod() | StopPod() | ForgetPod():
                self._take_command(message)
            case ListRuntimePods(reply_to=reply_to):
                self._memory.followers[reply_to] = None
                self._lists.append(reply_to)
            case SignalContainers():
                _refuse(message)
            case DescribeRuntime(reply_to=reply_to):
                reply_to.tell(self._described())
            case ProviderCallEnded(ref=ref):
                self._take_outcome(ref)
            case ProviderChanged():
                self._looks.look(self.clock)
            case _:
                assert_never(message)
        self._go_on()

    def _go_on(self) -> None:
        self._examine_some()
        self._answer_lists()

    def _look(self) -> None:
        self._looks.look(self.clock)
        self._go_on()

    def _examine_one_later(self, delay: Seconds, uid: PodUid) -> Timer:
        return self.later(delay, self._examine_again, uid)

    def _examine_again(self, uid: PodUid) -> None:
        self._pods.forget_timer(uid)
        self._examine_later((uid,))
        self._go_on()

    # --- commands and pods ------------------------------------------------------------------------------

    def _take_command(self, command: RunPod | StopPod | ForgetPod) -> None:
        uid = command.pod.uid if isinstance(command, RunPod) else command.uid
        it = self._memory.pods.get(uid)
        if it is None:
            forgotten = self._memory.forgotten.get(uid)
            if forgotten is not None and command.mark < forgotten:
                return
            it = ProviderPod(uid=uid, command=command, is_new_run=forgotten is not None)
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
                self._pods.examine(it, self.clock)
        if self._to_examine:
            self._more.after(Seconds(0.0))

    # --- calls ------------------------------------------------------------------------------------------

    def _take_outcome(self, ref: int) -> None:
        out = self._under_way.take(ref)
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
        self._examine_later(self._pods.next_waiting())
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

    def _note_failure(self, it: ProviderPod, method: Method, sentence: str) -> None:
        note_failure(it, self.clock.monotonic() + pause_after(it.failures + 1))
        it.trouble = PodTrouble(reason=reason_of(method), message=sentence)
        self._notices.failed(it, method, sentence)

    def _give_up_later(self, delay: Seconds, ref: int) -> Timer:
        return self.later(delay, self._give_up, ref)

    def _give_up(self, ref: int) -> None:
        """Wait no longer for a call that has had its time."""
        out = self._under_way.give_up(ref)
        if out is not None:
            self._note_late(ref, out)
            self._go_on()

    def _note_late(self, ref: int, out: CallOut) -> None:
        method = out.call.method
        sentence = f"{method.value} has not returned in time"
        it = self._memory.pods.get(out.uid) if out.uid is not None else None
        if method is Method.OBSERVE:
            self._looks.fail(sentence, self.clock)
        elif method is Method.NODE:
            self._node_trouble = sentence
            self.later(self._rules.node_every, self._ask_node)
        elif it is not None:
            it.calls.pop(ref, None)
            it.hung[ref] = method
            it.fresh_from = self._memory.begun + 1
            self._note_failure(it, method, sentence)
            self._examine_later((it.uid, *self._pods.next_waiting()))
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
        self._examine_later((*changed, *self._pods.unsettled))
        self._note_strangers(readings)

    def _note_strangers(self, readings: Readings) -> None:
        """Say once of each pod that nobody knows that it is ignored. Its source may have yet to list it."""
        memory, now = self._memory, self.clock.monotonic()
        for uid in readings.keys() - memory.pods.keys() - memory.forgotten.keys():
            if not is_stranger(readings[uid]):
                continue
            since = memory.unknown.get(uid)
            if since is None:
                remember(memory.unknown, uid, now)
            elif since + UNKNOWN_FOR <= now:
                memory.unknown[uid] = inf
                self._notices.unknown(uid)

    def _note_runtime(self) -> None:
        """Tell people, and all pods, whether the provider can be used."""
        sentence = self._trouble()
        self._notices.trouble(sentence)
        away = (PodTrouble(reason="RuntimeIsAway", message=sentence),)
        common = away if self._looks.is_away(self.clock) or self._under_way.is_stuck else ()
        if bool(common) != bool(self._pods.common):
            self._pods.common = common
            self._examine_later(self._memory.pods)

    def _trouble(self) -> str:
        stuck = "too many calls hang, so no other is made" if self._under_way.is_stuck else ""
        return self._looks.trouble or stuck or self._node_trouble

    # --- the Node, and what others ask -------------------------------------------------------------------

    def _ask_node(self) -> None:
        if self._under_way.may_begin(Method.NODE):
            self._under_way.begin(Method.NODE, clock=self.clock, digest=sound_node)

    def _take_node(self, outcome: Returned | ProviderFailure) -> None:
        self.later(self._rules.node_every, self._ask_node)
        value = outcome.value if isinstance(outcome, Returned) else outcome
        if isinstance(value, RuntimeNode):
            self._memory.node.replace(value)
            self._node_trouble = ""
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
            node=self._memory.node.value,
        )


def _refuse(command: SignalContainers) -> None:
    failures = dict.fromkeys(command.instances, NO_SIGNALS)
    command.reply_to.tell(ContainersSignalled(uid=command.uid, ref=command.ref, failures=failures))
