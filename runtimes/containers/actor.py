"""The actor that runs pods as containers.

Everything it decides is in ``plan``; this file is the actor around it: what it hears, what outlives a crash,
and what is known at all.
"""

from __future__ import annotations

import logging
from typing import Final, assert_never

import structlog
from typing_extensions import override

from kernel import PooledActor
from messages.container_runtime import (
    ContainersAre,
    FollowContainers,
    PodContainersAre,
    PullImage,
    RuntimeAnswered,
    RuntimeFact,
    RuntimeIsAway,
    StartContainer,
)
from messages.pod_runtime import (
    DescribeRuntime,
    ForgetPod,
    ListRuntimePods,
    PodsObserved,
    RunPod,
    RuntimeDescribed,
    SignalContainers,
    StopPod,
)
from messages.units import Seconds
from runtimes.containers.agenda import PodAgenda
from runtimes.containers.calls import ContainerCalls
from runtimes.containers.clocks import Clocks
from runtimes.containers.commands import note_forget, note_run, note_stop
from runtimes.containers.confidential import start_in_public
from runtimes.containers.contents import Contents, in_order
from runtimes.containers.driver import PodDriver
from runtimes.containers.hook_calls import HookCalls, note_end
from runtimes.containers.learning import is_still_missing, learn, take_contents
from runtimes.containers.messages import (
    DEFAULT_OPTIONS,
    POD_RUNTIME,
    ContainersOptions,
    ContainersPorts,
    ContainersRuntimeMessage,
    RestOfPods,
)
from runtimes.containers.observing import container_states, runtime_pods
from runtimes.containers.record import Call, RuntimeMemory, RuntimeRecord
from runtimes.containers.rounds import PodRounds
from runtimes.containers.sayings import is_trouble, when_answered, when_hook_ended
from runtimes.containers.signalling import ContainerSignals, SignalRef
from runtimes.containers.situation import Limits
from runtimes.containers.telling import PodTeller
from runtimes.lifecycle_hooks.messages import HookEnded

OVERDUE_CHECK: Final = Seconds(30.0)

__all__ = ["POD_RUNTIME", "ContainersOptions", "ContainersPorts", "ContainersRuntime"]

_log = structlog.get_logger("runtime")


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
        ports: ContainersPorts,
        memory: RuntimeMemory,
        options: ContainersOptions = DEFAULT_OPTIONS,
    ) -> None:
        self._ports = ports
        self._memory = memory
        self._options = options
        self._calls = ContainerCalls(
            ports.containers, ports.me, memory, options.parallel_starts, options.parallel_stops
        )
        self._is_listed = False
        self._rounds = PodRounds(
            memory,
            self._take_contents,
            lambda: self.me.tell(RestOfPods()),
            options.pods_at_once,
        )
        self._name, self._version = "", ""

    @override
    def started(self) -> None:
        ports = self._ports
        self._agenda = PodAgenda(self._memory.records, self.alarm(self._take_due))
        self._driver = PodDriver(
            self._memory,
            self._calls,
            PodTeller(ports.events, self._level),
            self._agenda,
            HookCalls(ports.hooks, ports.me),
            Limits(longest_backoff=self._options.longest_backoff),
        )
        self._next_stop = self.alarm(self._go_on)
        self._next_check = self.alarm(self._take_overdue)
        self._signals = ContainerSignals(ports.containers, ports.me, self.incarnation)
        for record in self._memory.records.values():
            record.tell_again, record.wake_at, record.tell_by = True, None, None
        self._memory.questions = list(self._memory.followers)
        self._ports.containers.tell(FollowContainers(subscriber=self._ports.me))
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
            case RestOfPods():
                self._rounds.begin_turn()
                self._examine_rest()
            case _:
                assert_never(message)
        self._go_on()

    def _go_on(self) -> None:
        """Let those stop and start for which there is room now."""
        self._let_waiting_stop()
        self._driver.let_waiting_start(self._moment)
        self._check_later()

    # --- what it hears ---------------------------------------------------------------------------------

    def _take_command(self, command: RunPod | StopPod | ForgetPod) -> None:
        moment = self._moment()
        uid = command.pod.uid if isinstance(command, RunPod) else command.uid
        record = self._memory.record_of(uid)
        if command.mark < record.mark:
            return
        match command:
            case RunPod():
                note_run(record, command)
            case StopPod():
                note_stop(record, command, moment.now)
            case ForgetPod():
                note_forget(record, command, moment.now)
        self._examine(record, moment)

    def _take_answer(self, answer: RuntimeAnswered) -> None:
        if isinstance(answer.ref, SignalRef):
            self._signals.take(answer.ref, answer)
            return
        call = self._calls.take(answer)
        record = self._memory.records.get(call.uid) if call is not None else None
        if call is None or record is None:
            return
        self._rounds.take_listed(record)
        moment = self._moment()
        self._learn(record, call, answer, moment)
        if record.shape is not None and record.shape.is_large:
            self._rounds.add_soon(record.uid)
        else:
            self._examine(record, moment)

    def _take_hook(self, ended: HookEnded) -> None:
        record = self._memory.records.get(ended.ref.uid)
        container = note_end(record, ended) if record is not None else None
        if record is None or container is None:
            return
        teller = self._driver.teller
        teller.say_hook(record, container, ended.ref.kind, "hook ended")
        teller.say(record, when_hook_ended(ended), container)
        self._examine(record, self._moment())

    def _learn(
        self, record: RuntimeRecord, call: Call, answer: RuntimeAnswered, moment: Clocks
    ) -> None:
        before, step = record.contents, call.step
        if isinstance(answer.outcome, PodContainersAre):
            self._calls.end_before(call)
            record.is_in_doubt = False
        if isinstance(step.request, PullImage):
            record.pull_began = min(record.pull_began or call.sent_at, call.sent_at)
            record.pulling = Seconds(moment.now - record.pull_began)
        container = record.shape.get(step.target) if record.shape is not None else None
        outcome = answer.outcome
        if isinstance(step.request, StartContainer):
            outcome = start_in_public(outcome, container)
        is_known = is_still_missing(record, step, outcome)
        learn(record, step, outcome, moment.now, self._options.longest_backoff)
        self._memory.counts.note(step, outcome, record.shape, record.notes)
        teller = self._driver.teller
        if (teller.is_heard or is_trouble(outcome)) and not is_known:
            took = Seconds(moment.now - call.sent_at)
            sayings = when_answered(step, outcome, took, container)
            teller.say(record, sayings, step.target)
        teller.say_exits(record, before)

    def _take_fact(self, fact: RuntimeFact) -> None:
        match fact:
            case ContainersAre():
                self._take_listing(fact)
            case PodContainersAre(uid=uid, sandboxes=sandboxes):
                if self._is_listed and (sandboxes or uid in self._memory.records):
                    self._rounds.drop_listed(uid)
                    record = self._memory.record_of(uid)
                    self._take_contents(record, in_order(sandboxes))
                    self._examine(record, self._moment())
            case RuntimeIsAway(message=message):
                if not self._driver.away:
                    _log.debug("the runtime of containers is away", trouble=message)
                self._driver.away = message or "it cannot be asked"
                self._calls.drop_stops()
                self._rounds.add(self._memory.records)
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
        self._rounds.add_listed(listing.sandboxes)
        self._examine_rest()

    # --- pod by pod ------------------------------------------------------------------------------------

    def _examine(self, record: RuntimeRecord, moment: Clocks) -> None:
        self._rounds.take_listed(record)
        if self._is_listed or self._driver.away:
            self._driver.examine(record, moment)

    def _examine_rest(self) -> None:
        """Examine some of the pods that are to be, the others in later turns."""
        moment = self._moment()
        for record in self._rounds.turn():
            self._examine(record, moment)
        if not self._rounds:
            self._answer_questions()

    def _take_contents(self, record: RuntimeRecord, contents: Contents) -> None:
        before = record.contents
        take_contents(record, contents)
        self._driver.teller.say_exits(record, before)

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
        if not self._is_listed or self._driver.away or self._rounds or not self._memory.questions:
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

    def _moment(self) -> Clocks:
        return Clocks(self.clock.monotonic(), self.clock.wall())

    def _let_waiting_stop(self) -> None:
        """Tell the stops whose turn it is, and set the alarm for the next one."""
        if self._calls.next_stop is not None:
            self._calls.tell_stops(self.clock.monotonic())
        self._next_stop.at(self._calls.next_stop)

    def _take_due(self) -> None:
        """Examine the pods that are due."""
        moment = self._moment()
        for record in self._agenda.take_due(moment.now, self._options.pods_at_once):
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
