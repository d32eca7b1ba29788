"""What becomes of each request to a hollow runtime, and what happens by itself as time passes. Pure.

A request takes effect at once, or once its time has passed: then it is a step in one heap, as the ends of
containers are. A step has its effect at the moment at which it was due, however late it is looked at.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple, assert_never

from messages.container_runtime import (
    CallRuntime,
    CreateContainer,
    FindImage,
    LookAtPod,
    PodContainersAre,
    PullImage,
    RemoveContainer,
    RemoveSandbox,
    ResizeContainer,
    RunSandbox,
    RuntimeOutcome,
    SignalContainer,
    StartContainer,
    StopContainer,
    StopSandbox,
)
from messages.pods import PodUid
from messages.probing import AnswersCounted, ProbeKey
from messages.units import Instant, Seconds
from runtimes.hollow.behaviours import UnreadableAnnotationError
from runtimes.hollow.inventory import (
    CarryOut,
    ContainerEnds,
    ContainerIsReady,
    ContainerRecord,
    HollowStep,
    ProbeTicks,
    SandboxDies,
)
from runtimes.hollow.machine import NO_SECONDS, HollowMachine, not_found
from runtimes.hollow.probing import HollowProbes, HollowProbesMessage, ProbeTold
from runtimes.hollow.questions import HollowHooks, HookAnswer
from runtimes.hollow.rules import HollowRules, drawn
from runtimes.lifecycle_hooks.messages import HooksMessage

AT_ONCE: Final = Seconds(1e-6)
"""Steps that are due so soon are gone now: no timer is that exact."""


class HollowAnswer(NamedTuple):
    """The outcome of one call."""

    call: CallRuntime
    outcome: RuntimeOutcome


class HollowCore:
    """A whole hollow runtime: it takes calls, goes its steps, and says what to answer."""

    def __init__(self, rules: HollowRules) -> None:
        self._rules = rules
        self.machine = HollowMachine(rules)
        self._answers: list[HollowAnswer] = []
        self._stops: dict[str, list[CallRuntime]] = {}
        """Calls that wait for the end of a container, by its id."""
        self._in_progress: Counter[PodUid] = Counter()
        """How many calls about each pod wait for something."""
        self._looks: dict[PodUid, list[CallRuntime]] = {}
        self._hooks = HollowHooks()
        self._hook_answers: list[HookAnswer] = []
        self._probes = HollowProbes()

    @property
    def next_due(self) -> Seconds | None:
        """When the next step is due; None if there is none."""
        return self.machine.schedule.next_due()

    def take(self, call: CallRuntime, now: Instant) -> list[HollowAnswer]:
        """Take a call, and return what is to be answered by now."""
        request = call.request
        if isinstance(request, StopContainer):
            self._stop(call, request, now)
        elif isinstance(request, LookAtPod):
            self._looks.setdefault(request.uid, []).append(call)
            self._answer_looks(request.uid)
        else:
            delay, uid = self._delay(call)
            if delay and uid is not None:
                self._in_progress[uid] += 1
                self.machine.schedule.add(CarryOut(Seconds(now.monotonic + delay), call, uid))
            else:
                self._answers.append(HollowAnswer(call, self._outcome(call, now)))
        return self._taken()

    def take_hook(self, message: HooksMessage, now: Instant) -> None:
        """Take what is said about a hook. How it ended is among ``hooks_ended`` when its time has come."""
        self._hooks.take(message, self.machine, now.monotonic)

    def take_probe(self, message: HollowProbesMessage, now: Instant) -> None:
        """Take what is to be probed. What the probes say is among ``probes_told``."""
        self._probes.take(message, self.machine, now)

    def probes_told(self) -> list[ProbeTold]:
        """Return what probes say, once."""
        return self._probes.told()

    def answers(self, now: Instant) -> dict[ProbeKey, AnswersCounted]:
        """Return the last answers of all probes."""
        return self._probes.described(self.machine, now)

    def hooks_ended(self) -> list[HookAnswer]:
        """Return the hooks that have ended, once."""
        ended, self._hook_answers = self._hook_answers, []
        return ended

    def go_on(self, now: Instant, limit: int) -> list[HollowAnswer]:
        """Go at most ``limit`` of the steps that are due, and return what is to be answered."""
        for _ in range(limit):
            step = self.machine.schedule.pop_due(Seconds(now.monotonic + AT_ONCE))
            if step is None:
                break
            self._go(step, now.back_to(step.due))
        return self._taken()

    def take_changed(self) -> tuple[PodUid, ...]:
        """Return the pods of which something changed without an answer that says so, once."""
        changed = tuple(self.machine.changed)
        self.machine.changed.clear()
        return changed

    # --- steps -----------------------------------------------------------------------------------------

    def _go(self, step: HollowStep, at: Instant) -> None:
        machine = self.machine
        match step:
            case CarryOut(call=call, uid=uid):
                self._answers.append(HollowAnswer(call, self._outcome(call, at)))
                self._settle(uid)
            case ContainerEnds(container=container, ending=ending):
                machine.end(container, ending, at)
                if not self._answer_stops(container):
                    machine.changed[container.sandbox.pod.uid] = None
            case ContainerIsReady(container=container):
                machine.become_ready(container)
                machine.changed[container.sandbox.pod.uid] = None
            case SandboxDies(sandbox=sandbox):
                for killed in machine.stop_sandbox(sandbox, at):
                    self._answer_stops(killed)
                machine.changed[sandbox.pod.uid] = None
            case ProbeTicks():
                self._probes.tick(step, machine, at)
            case _:
                self._hook_answers.append(self._hooks.end(step))

    # --- requests --------------------------------------------------------------------------------------

    def _delay(self, call: CallRuntime) -> tuple[Seconds, PodUid | None]:
        """Return how long a request takes before it has its effect, and the pod that it is about."""
        machine = self.machine
        match call.request:
            case RunSandbox() | PullImage() | CreateContainer() as request:
                uid = request.pod.uid
                if not machine.behaviours.takes_time(request.pod):
                    return NO_SECONDS, uid
                return self._time_to_make(request), uid
            case StartContainer(id=container_id):
                record = machine.inventory.container(container_id)
                if record is not None:
                    return machine.drawn_for(record, "to_start"), record.sandbox.pod.uid
            case _:
                pass  # the others take no time
        return NO_SECONDS, None

    def _time_to_make(self, request: RunSandbox | PullImage | CreateContainer) -> Seconds:
        machine, seed, uid = self.machine, self._rules.seed, request.pod.uid
        match request:
            case RunSandbox(pod=pod, attempt=attempt):
                span = machine.behaviours.of_sandbox(pod).to_create
                return drawn(span, seed, uid, "sandbox", attempt)
            case PullImage(image=image, pod=pod):
                if machine.find(image, pod).image_id:
                    return NO_SECONDS
                return drawn(machine.behaviours.of_image(pod, image).to_pull, seed, uid, image)
            case CreateContainer(pod=pod, container=container, attempt=attempt):
                try:
                    span = machine.behaviours.of_container(pod, container).to_create
                except UnreadableAnnotationError:
                    return NO_SECONDS  # it is refused at once
                return drawn(span, seed, uid, container["name"], "create", attempt)
            case _:
                assert_never(request)

    def _outcome(self, call: CallRuntime, at: Instant) -> RuntimeOutcome:
        """Carry out a request that does not wait for others, and return its outcome."""
        machine = self.machine
        match call.request:
            case RunSandbox() as request:
                return machine.run_sandbox(request, at)
            case StopSandbox() | RemoveSandbox() as request:
                self._end_sandbox(request, at)
            case FindImage(image=image, pod=pod):
                return machine.find(image, pod)
            case PullImage() as request:
                return machine.pull(request)
            case CreateContainer() as request:
                return machine.create(request, at)
            case (
                StartContainer() | RemoveContainer() | ResizeContainer() | SignalContainer()
            ) as request:
                return self._outcome_for_container(request, at)
            case _:
                pass
        return None

    def _outcome_for_container(
        self,
        request: StartContainer | RemoveContainer | ResizeContainer | SignalContainer,
        at: Instant,
    ) -> RuntimeOutcome:
        record = self.machine.inventory.container(request.id)
        if record is None:
            is_removal = isinstance(request, RemoveContainer)
            return None if is_removal else not_found("container", request.id)
        match request:
            case StartContainer():
                return self.machine.start(record, at)
            case ResizeContainer():
                return self.machine.resize(record, request)
            case SignalContainer(signal=signal):
                return self._signal(record, signal, at)
            case RemoveContainer():
                self.machine.remove(record, at)
                self._answer_stops(record)
                return None
            case _:
                assert_never(request)

    def _signal(self, record: ContainerRecord, signal: str, at: Instant) -> RuntimeOutcome:
        if not record.is_running:
            return not_found("process of container", record.observed.id)
        if self.machine.signal(record, signal, at):
            self._answer_stops(record)
            self.machine.changed[record.sandbox.pod.uid] = None
        return None

    def _end_sandbox(self, request: StopSandbox | RemoveSandbox, at: Instant) -> None:
        machine = self.machine
        record = machine.inventory.sandbox(request.id)
        if record is None:
            return
        is_removal = isinstance(request, RemoveSandbox)
        end = machine.remove_sandbox if is_removal else machine.stop_sandbox
        killed = end(record, at)
        for container in killed:
            self._answer_stops(container)
        if killed and not is_removal:
            machine.changed[record.pod.uid] = None  # the answer does not say how they ended

    def _stop(self, call: CallRuntime, request: StopContainer, now: Instant) -> None:
        machine = self.machine
        record = machine.inventory.container(request.id)
        if record is None or not record.is_running:
            observed = None if record is None else record.observed
            self._answers.append(HollowAnswer(call, observed))
            return
        self._stops.setdefault(request.id, []).append(call)
        self._in_progress[record.sandbox.pod.uid] += 1
        end = machine.end_by(record, request.grace, now)
        if end.due <= now.monotonic:
            machine.end(record, end.ending, now)
            self._answer_stops(record)

    # --- answers ---------------------------------------------------------------------------------------

    def _answer_stops(self, record: ContainerRecord) -> bool:
        """Answer those who wait for the end of a container. Return whether there was anybody."""
        calls = self._stops.pop(record.observed.id, ())
        for call in calls:
            self._answers.append(HollowAnswer(call, record.observed))
            self._settle(record.sandbox.pod.uid)
        return bool(calls)

    def _settle(self, uid: PodUid) -> None:
        self._in_progress[uid] -= 1
        if not self._in_progress[uid]:
            del self._in_progress[uid]
            self._answer_looks(uid)

    def _answer_looks(self, uid: PodUid) -> None:
        if self._in_progress.get(uid):
            return
        for call in self._looks.pop(uid, ()):
            contents = self.machine.inventory.contents(uid)
            self._answers.append(HollowAnswer(call, PodContainersAre(uid=uid, sandboxes=contents)))

    def _taken(self) -> list[HollowAnswer]:
        answers, self._answers = self._answers, []
        return answers
