"""The actor that runs pods as containers.

Everything it decides is in ``plan``; this file is the actor around it: what it hears, what outlives a crash,
and what is known at all.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

import structlog
from typing_extensions import override

from kernel import Key, PooledActor, Port
from messages.container_runtime import (
    ContainerRuntimeMessage,
    ContainersAre,
    FollowContainers,
    PodContainersAre,
    PullImage,
    RuntimeAnswered,
    RuntimeFact,
    RuntimeIsAway,
    StartContainer,
)
from messages.events import PostEvent
from messages.pod_runtime import (
    DescribeRuntime,
    ForgetPod,
    ListRuntimePods,
    PodRuntimeMessage,
    PodsObserved,
    RunPod,
    RuntimeDescribed,
    SignalContainers,
    StopPod,
)
from messages.units import Instant, Seconds
from runtimes.containers.calls import ContainerCalls, ContainerSignals, SignalRef
from runtimes.containers.commands import note_forget, note_run, note_stop
from runtimes.containers.contents import Contents, in_order
from runtimes.containers.driver import PodDriver
from runtimes.containers.event_texts import (
    is_trouble,
    start_in_public,
    when_answered,
    when_hook_ended,
)
from runtimes.containers.hook_calls import HookCalls, note_end
from runtimes.containers.images import is_still_missing
from runtimes.containers.learning import learn, take_contents
from runtimes.containers.observing import container_states, runtime_pods
from runtimes.containers.pod_reporter import PodReporter
from runtimes.containers.pod_turns import DuePods, PodsToExamine
from runtimes.containers.record import Call, RuntimeMemory, RuntimeRecord
from runtimes.containers.situation import Limits
from runtimes.lifecycle_hooks.messages import HookEnded, HooksMessage

ContainersRuntimeMessage: TypeAlias = PodRuntimeMessage | RuntimeAnswered | RuntimeFact | HookEnded

POD_RUNTIME = Key[ContainersRuntimeMessage]("runtime")
OVERDUE_CHECK: Final = Seconds(30.0)

_log = structlog.get_logger("runtime")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainersOptions:
    """What a configuration says about running containers."""

    longest_backoff: Seconds = Seconds(300.0)
    """``crashLoopBackOff.maxContainerRestartPeriod``."""
    parallel_starts: int | None = None
    """Sandboxes and containers that are started at the same time; None for any number."""
    parallel_stops: int | None = None
    """Containers that are stopped at the same time, but for those that take long; None for any number."""
    pods_at_once: int = 64
    """Pods that are examined in one turn, so that others need not wait for long."""
    pods_told_of: int = 100
    """While there are no more pods than these, each step has a line of the log at level info. With more of
    them its level is debug: such a line takes 23 us, and nobody reads thousands."""


DEFAULT_OPTIONS: Final = ContainersOptions()


class ContainersRuntime(PooledActor[ContainersRuntimeMessage]):
    """Runs pods as containers, by ``plan``, on any runtime of containers.

    Owns: what is wanted and known of each pod, its back-offs, and the calls in flight.
    Hears: ``PodRuntimeMessage``, ``RuntimeAnswered``, ``RuntimeFact``, ``HookEnded``.
    Tells: the runtime of containers ``FollowContainers`` when it starts, and ``CallRuntime``; who carries
    hooks out ``HooksMessage``; who commanded a pod ``PodObserved``; who asked for a signal
    ``ContainersSignalled``; events ``PostEvent``.
    Fails when: it has a bug. The next life keeps commands, back-offs and calls, and decides nothing before
    the runtime of containers has told what there is, nor about a pod with a call in flight before a look at
    it. So it does whenever that runtime tells anew what there is.

    Order: one request in flight for each container and each sandbox; of pods that wait for room to start
    the oldest is first, and of stops that wait the one that is to be over first. Repetition: commands may
    repeat. What is known of a pod is told again after a crash. It never waits and does no I/O. One alarm
    serves all pods, and a pod at rest needs none.
    """

    def __init__(
        self,
        containers: Port[ContainerRuntimeMessage],
        hooks: Port[HooksMessage],
        me: Port[ContainersRuntimeMessage],
        memory: RuntimeMemory,
        options: ContainersOptions = DEFAULT_OPTIONS,
        events: Port[PostEvent] | None = None,
    ) -> None:
        """``hooks`` carries out the hooks of containers.

        ``me`` is its own address, which outlives a crash: it subscribes with that, and gets answers there.
        """
        self._containers = containers
        self._hooks = hooks
        self._address = me
        self._memory = memory
        self._options = options
        self._events = events
        self._calls = ContainerCalls(
            containers, me, memory, options.parallel_starts, options.parallel_stops
        )
        self._is_listed = False
        self._name, self._version = "", ""

    @override
    def started(self) -> None:
        memory, options = self._memory, self._options
        self._due = DuePods(memory.records, self.alarm(self._take_due))
        self._to_examine = PodsToExamine(
            memory, self._take_contents, self.alarm(self._take_rest), options.pods_at_once
        )
        self._driver = PodDriver(
            memory,
            self._calls,
            PodReporter(self._events, self._level),
            self._due,
            HookCalls(self._hooks, self._address),
            Limits(longest_backoff=options.longest_backoff),
        )
        self._next_stop = self.alarm(self._go_on)
        self._next_check = self.alarm(self._take_overdue)
        self._signals = ContainerSignals(self._containers, self._address, self.incarnation)
        for record in memory.records.values():
            record.tell_again, record.wake_at, record.tell_by = True, None, None
        memory.questions = list(memory.followers)
        self._containers.tell(FollowContainers(subscriber=self._address))
        self._check_later()

    @override
    def receive(self, message: ContainersRuntimeMessage, /) -> None:
        match message:
            case RunPod() | StopPod() | ForgetPod():
                self._take_command(message)
            case RuntimeAnswered():
                self._take_answer(message)
            case SignalContainers(uid=uid):
                self._signals.send(message, self._memory.records.get(uid))
            case HookEnded():
                self._take_hook(message)
            case ContainersAre() | PodContainersAre() | RuntimeIsAway():
                self._take_fact(message)
            case ListRuntimePods() | DescribeRuntime():
                self._take_question(message)
            case _:
                assert_never(message)
        self._go_on()

    def _go_on(self) -> None:
        """Let those stop and start for which there is room now."""
        self._let_waiting_stop()
        self._driver.let_waiting_start(self.clock.now)
        self._check_later()

    # --- what it hears ---------------------------------------------------------------------------------

    def _take_command(self, command: RunPod | StopPod | ForgetPod) -> None:
        moment = self.clock.now()
        uid = command.pod.uid if isinstance(command, RunPod) else command.uid
        record = self._memory.record_of(uid)
        if command.mark < record.mark:
            return
        match command:
            case RunPod():
                note_run(record, command)
            case StopPod():
                note_stop(record, command, moment.monotonic)
            case ForgetPod():
                note_forget(record, command, moment.monotonic)
        self._examine(record, moment)

    def _take_answer(self, answer: RuntimeAnswered) -> None:
        if isinstance(answer.ref, SignalRef):
            self._signals.take(answer.ref, answer)
            return
        call = self._calls.take(answer)
        record = self._memory.records.get(call.uid) if call is not None else None
        if call is None or record is None:
            return
        self._to_examine.take_listed(record)
        moment = self.clock.now()
        self._learn(record, call, answer, moment)
        if record.shape is not None and record.shape.is_large:
            self._to_examine.add_soon(record.uid)
        else:
            self._examine(record, moment)

    def _take_hook(self, ended: HookEnded) -> None:
        record = self._memory.records.get(ended.ref.uid)
        container = note_end(record, ended) if record is not None else None
        if record is None or container is None:
            return
        reporter = self._driver.reporter
        reporter.say_hook(record, container, ended.ref.kind, "hook ended")
        reporter.say(record, when_hook_ended(ended), container)
        self._examine(record, self.clock.now())

    def _learn(
        self, record: RuntimeRecord, call: Call, answer: RuntimeAnswered, moment: Instant
    ) -> None:
        before, step = record.contents, call.step
        if isinstance(answer.outcome, PodContainersAre):
            self._calls.end_before(call)
            record.is_in_doubt = False
        if isinstance(step.request, PullImage):
            record.pull_began = min(record.pull_began or call.sent_at, call.sent_at)
            record.pulling = Seconds(moment.monotonic - record.pull_began)
        container = record.container(step.target)
        outcome = answer.outcome
        if isinstance(step.request, StartContainer):
            outcome = start_in_public(outcome, container)
        notes = record.known_notes(step.target)
        is_known = is_still_missing(notes, step.request, outcome)
        learn(record, step, outcome, moment.monotonic, self._options.longest_backoff)
        self._memory.counts.note(step, outcome, record.shape, record.notes)
        reporter = self._driver.reporter
        if (reporter.is_heard or is_trouble(outcome)) and not is_known:
            took = Seconds(moment.monotonic - call.sent_at)
            texts = when_answered(step, outcome, took, container)
            reporter.say(record, texts, step.target)
        reporter.say_exits(record, before)

    def _take_fact(self, fact: RuntimeFact) -> None:
        match fact:
            case ContainersAre():
                self._take_listing(fact)
            case PodContainersAre(uid=uid, sandboxes=sandboxes):
                if self._is_listed and (sandboxes or uid in self._memory.records):
                    self._to_examine.drop_listed(uid)
                    record = self._memory.record_of(uid)
                    self._take_contents(record, in_order(sandboxes))
                    self._examine(record, self.clock.now())
            case RuntimeIsAway(message=message):
                if not self._driver.away:
                    _log.debug("the runtime of containers is away", trouble=message)
                self._driver.away = message or "it cannot be asked"
                self._calls.drop_stops()
                self._to_examine.add(self._memory.records)
                self._examine_rest()

    def _take_listing(self, listing: ContainersAre) -> None:
        if self._driver.away:
            _log.debug("the runtime of containers is there again")
        self._name, self._version = listing.name, listing.version
        self._driver.away, self._is_listed = "", True
        self._driver.limits = Limits(
            longest_backoff=self._options.longest_backoff,
            assumes_images=listing.assumes_images,
            mounts_images=listing.mounts_images,
            network_trouble=listing.network_trouble,
        )
        for record in self._memory.records.values():
            # Either side may have crashed: an answer, or the call itself, may be lost.
            record.is_in_doubt |= bool(record.calls)
        self._to_examine.add_listed(listing.sandboxes)
        self._examine_rest()

    # --- pod by pod ------------------------------------------------------------------------------------

    def _examine(self, record: RuntimeRecord, moment: Instant) -> None:
        self._to_examine.take_listed(record)
        if self._is_listed or self._driver.away:
            self._driver.examine(record, moment)

    def _examine_rest(self) -> None:
        """Examine some of the pods that are to be, the others in later turns."""
        moment = self.clock.now()
        for record in self._to_examine.turn():
            self._examine(record, moment)
        if not self._to_examine:
            self._answer_questions()

    def _take_contents(self, record: RuntimeRecord, contents: Contents) -> None:
        before = record.contents
        take_contents(record, contents)
        self._driver.reporter.say_exits(record, before)

    # --- what is asked ---------------------------------------------------------------------------------

    def _take_question(self, question: ListRuntimePods | DescribeRuntime) -> None:
        match question:
            case ListRuntimePods(reply_to=reply_to):
                self._memory.followers[reply_to] = None
                self._memory.questions.append(reply_to)
                self._answer_questions()
            case DescribeRuntime(reply_to=reply_to):
                reply_to.tell(self._described())

    def _answer_questions(self) -> None:
        if (
            not self._is_listed
            or self._driver.away
            or self._to_examine
            or not self._memory.questions
        ):
            return
        pods = runtime_pods(self._memory.records.values())
        answer = PodsObserved(pods=pods, life=self.incarnation)
        for reply_to in self._memory.questions:
            reply_to.tell(answer)
        self._memory.questions.clear()

    def _described(self) -> RuntimeDescribed:
        records = self._memory.records.values()
        waiting = "" if self._is_listed else "it has not told yet what there is"
        return RuntimeDescribed(
            name=self._name,
            version=self._version,
            trouble=self._driver.away or waiting,
            pods=runtime_pods(records),
            containers=container_states(records),
            starts=dict(self._memory.counts.containers),
            start_errors=dict(self._memory.counts.errors),
            sandbox_errors=self._memory.counts.sandbox_errors,
        )

    def _level(self) -> int:
        """Return the level of the lines of the log for each step."""
        few = len(self._memory.records) <= self._options.pods_told_of
        return logging.INFO if few else logging.DEBUG

    # --- time ------------------------------------------------------------------------------------------

    def _let_waiting_stop(self) -> None:
        """Tell the stops whose turn it is, and set the alarm for the next one."""
        if self._calls.next_stop is not None:
            self._calls.tell_stops(self.clock.monotonic())
        self._next_stop.at(self._calls.next_stop)

    def _take_rest(self) -> None:
        """Examine pods that did not fit into the last turn."""
        self._examine_rest()
        self._go_on()

    def _take_due(self) -> None:
        """Examine the pods that are due."""
        moment = self.clock.now()
        for record in self._due.take_due(moment.monotonic, self._options.pods_at_once):
            self._examine(record, moment)
        self._go_on()

    def _take_overdue(self) -> None:
        """Give up the calls that nobody answered."""
        self._calls.make_room(self.clock.monotonic())
        for answer in self._calls.overdue(self.clock.monotonic()):
            self._take_answer(answer)
        self._go_on()

    def _check_later(self) -> None:
        if self._next_check.due is None and len(self._calls):
            self._next_check.after(OVERDUE_CHECK)
