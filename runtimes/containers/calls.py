"""The calls to the runtime of containers: sending them, matching answers, giving up what nobody answers.

Signals are calls, too. A crash drops them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from kernel import Port
from messages.container_runtime import (
    CallRuntime,
    ContainerRuntimeMessage,
    CreateContainer,
    LookAtPod,
    PullImage,
    RunSandbox,
    RuntimeAnswered,
    RuntimeFailure,
    RuntimeFailureKind,
    RuntimeRequest,
    SignalContainer,
    StartContainer,
    StopContainer,
)
from messages.pod_runtime import ContainersSignalled, ContainerState, SignalContainers
from messages.units import Seconds
from runtimes.containers.contents import newest_instances
from runtimes.containers.record import Call, RuntimeMemory, RuntimeRecord
from runtimes.containers.situation import Step
from runtimes.containers.stopping import WaitingStop

DEADLINE: Final = Seconds(240.0)
PULL_DEADLINE: Final = Seconds(3600.0)
"""A large image over a slow network takes long, and so may its turn."""
SLOW: Final = Seconds(10.0)
"""A start that takes longer waits for something else than the processor, a network for example."""
MARGIN: Final = Seconds(30.0)
"""How long after its deadline an answer is still waited for."""
_STARTS = RunSandbox | CreateContainer | StartContainer
SENT_WITHIN: Final = Seconds(30.0)
ENDED: Final = "it does not run any more"


def is_start(step: Step) -> bool:
    """Return whether the step starts something, and so counts among those in parallel."""
    return isinstance(step.request, _STARTS)


class ContainerCalls:
    """Sends calls and knows those in flight. They are in the memory, and so outlive a crash.

    Answers go to the address of the actor, not to one life of it. A crash may lose one of them, the one
    that was being handled: a look at the pod then says what became of the call.
    """

    def __init__(
        self,
        port: Port[ContainerRuntimeMessage],
        me: Port[RuntimeAnswered],
        memory: RuntimeMemory,
        parallel_starts: int | None,
        parallel_stops: int | None,
    ) -> None:
        self._port = port
        self._me = me
        self._memory = memory
        self._parallel_starts = parallel_starts
        self._parallel_stops = parallel_stops
        self._starts = {call.ref for call in memory.calls.values() if is_start(call.step)}
        """Those in flight, but for those that are slow."""

    def __len__(self) -> int:
        """How many calls are in flight."""
        return len(self._memory.calls)

    @property
    def has_room(self) -> bool:
        """Whether one more start may be sent."""
        return self._parallel_starts is None or len(self._starts) < self._parallel_starts

    def send(self, record: RuntimeRecord, step: Step, now: Seconds) -> None:
        """Send a step of a pod. The stop of a container may have to wait for its turn first."""
        memory, request = self._memory, step.request
        if isinstance(request, StopContainer):
            self._end_waiting(record, request.id)
        memory.last_ref += 1
        call = Call(memory.last_ref, memory.last_ref, record.uid, step, now, _deadline(request))
        memory.calls[call.ref] = call
        record.calls = (*record.calls, call)
        if is_start(step):
            self._starts.add(call.ref)
        if isinstance(request, StopContainer):
            memory.stops.add(WaitingStop(call.ref, now, request.grace))
            self.tell_stops(now)
        else:
            self._tell(call, request)

    def tell_stops(self, now: Seconds) -> None:
        """Tell the stops whose turn it is, each with what is left of its grace."""
        for stop in self._memory.stops.turns(now, self._parallel_stops):
            call = self._memory.calls[stop.ref]
            self._memory.last_ref += 1
            call.told = self._memory.last_ref
            request = call.step.request
            if isinstance(request, StopContainer):
                self._tell(call, replace(request, grace=stop.left(now)))

    @property
    def next_stop(self) -> Seconds | None:
        """When the next stop that waits has its turn at the latest; None if none waits."""
        return self._memory.stops.next_turn()

    def drop_stops(self) -> None:
        """Drop the stops that wait: nothing of them was told, so they are decided anew."""
        for ref in self._memory.stops.waiting():
            self._end(self._memory.calls[ref])

    def look(self, record: RuntimeRecord, now: Seconds) -> None:
        """Ask what there is of the pod, unless that was asked already."""
        if not any(call.is_look for call in record.calls):
            self.send(record, Step(record.uid, LookAtPod(uid=record.uid)), now)

    def take(self, answer: RuntimeAnswered) -> Call | None:
        """Return the call that is answered, which ends it; None for a late answer."""
        call = self._memory.calls.get(answer.ref) if isinstance(answer.ref, int) else None
        if call is not None:
            self._end(call)
        return call

    def end_before(self, look: Call) -> None:
        """End the calls about a pod that were told before this look at it: their effects are seen.

        A stop that waits for its turn has none yet, and goes on waiting. One whose turn came after the look
        was told may have none that the look has seen, and its answer comes.
        """
        record = self._memory.records.get(look.uid)
        for call in record.calls if record is not None else ():
            if call.told < look.told and call.ref not in self._memory.stops:
                self._end(call)

    def drop(self, record: RuntimeRecord) -> None:
        """Drop the calls about a pod: their answers will be ignored."""
        for call in record.calls:
            self._end(call)

    def overdue(self, now: Seconds) -> list[RuntimeAnswered]:
        """Return answers in the place of those that will not come."""
        late = []
        for call in self._memory.calls.values():
            if call.sent_at + DEADLINE + MARGIN > now:
                break
            if call.sent_at + call.deadline + MARGIN <= now:
                late.append(call)
        return [_lost(call, now) for call in late]

    def make_room(self, now: Seconds) -> None:
        """Count slow starts no more: what they wait for may be a pod that has no room because of them."""
        calls = self._memory.calls
        self._starts = {ref for ref in self._starts if calls[ref].sent_at + SLOW > now}

    def _end(self, call: Call) -> None:
        self._memory.calls.pop(call.ref, None)
        record = self._memory.records.get(call.uid)
        if record is not None:
            record.calls = tuple(each for each in record.calls if each.ref != call.ref)
        self._starts.discard(call.ref)
        self._memory.stops.end(call.ref)

    def _end_waiting(self, record: RuntimeRecord, container_id: str) -> None:
        """End the stop of a container that still waits: one with a shorter grace takes its place."""
        for call in record.calls:
            request = call.step.request
            is_same = isinstance(request, StopContainer) and request.id == container_id
            if is_same and call.ref in self._memory.stops:
                self._end(call)

    def _tell(self, call: Call, request: RuntimeRequest) -> None:
        self._port.tell(
            CallRuntime(request=request, reply_to=self._me, ref=call.ref, deadline=call.deadline)
        )


def _deadline(request: RuntimeRequest) -> Seconds:
    match request:
        case PullImage():
            return PULL_DEADLINE
        case StopContainer(grace=grace):
            return Seconds(DEADLINE + grace)
        case _:
            return DEADLINE


def _lost(call: Call, now: Seconds) -> RuntimeAnswered:
    failure = RuntimeFailure(
        kind=RuntimeFailureKind.UNCERTAIN,
        message=f"nobody answered within {now - call.sent_at:g} s",
    )
    return RuntimeAnswered(ref=call.ref, outcome=failure)


class SignalRef(NamedTuple):
    """Names one signal to one container. No other life of the actor has the same."""

    life: int
    number: int
    container: str


@dataclass(slots=True)
class _Asked:
    command: SignalContainers
    waiting: set[str]
    failures: dict[str, str] = field(default_factory=dict)


class ContainerSignals:
    """The signals that are under way. A crash drops them: who asked asks again."""

    def __init__(
        self, port: Port[ContainerRuntimeMessage], me: Port[RuntimeAnswered], life: int
    ) -> None:
        self._port = port
        self._me = me
        self._life = life
        self._asked: dict[int, _Asked] = {}
        self._last = 0

    def send(self, command: SignalContainers, record: RuntimeRecord | None) -> None:
        """Send the signal to those instances that run. Answers at once if there are none."""
        self._last += 1
        newest = newest_instances(record.contents) if record is not None else {}
        asked = _Asked(command, set())
        for name, instance_id in command.instances.items():
            one = newest.get(name)
            if one is None or one.id != instance_id or one.state is not ContainerState.RUNNING:
                asked.failures[name] = ENDED
            else:
                asked.waiting.add(name)
        self._asked[self._last] = asked
        for name in sorted(asked.waiting):
            request = SignalContainer(id=command.instances[name], signal=command.signal)
            ref = SignalRef(self._life, self._last, name)
            self._port.tell(
                CallRuntime(request=request, reply_to=self._me, ref=ref, deadline=SENT_WITHIN)
            )
        self._answer_if_done(self._last)

    def take(self, ref: SignalRef, answer: RuntimeAnswered) -> None:
        """Take what came of one signal."""
        asked = self._asked.get(ref.number) if ref.life == self._life else None
        if asked is None or ref.container not in asked.waiting:
            return
        asked.waiting.remove(ref.container)
        outcome = answer.outcome
        if isinstance(outcome, RuntimeFailure):
            has_ended = outcome.kind is RuntimeFailureKind.NOT_FOUND
            asked.failures[ref.container] = ENDED if has_ended else outcome.message
        self._answer_if_done(ref.number)

    def _answer_if_done(self, number: int) -> None:
        asked = self._asked[number]
        if asked.waiting:
            return
        del self._asked[number]
        command = asked.command
        command.reply_to.tell(
            ContainersSignalled(uid=command.uid, ref=command.ref, failures=asked.failures)
        )
