"""A class of somebody's own that runs pods as jobs. The jobs are somewhere else: they outlive the agent."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from typing_extensions import override

from actorlet import ContainerReport, PodProvider, PodReport
from agent.edges import ProviderEdges
from kernel import Port
from messages.pods import Pod
from runtimes.provider.calls import (
    ProviderCall,
    ProviderCallEnded,
    ProviderCalls,
    Returned,
    failure_of,
)
from runtimes.provider.loading import LoadedProvider, abilities_of
from tests.environment.machine import Instance
from tests.environment.outside import Outside
from tests.environment.probing import loops
from tests.environment.runtimes.runtime import InThisLife, Runtime

ENDS_AFTER: Final = "example/ends-after"
"""Annotation: the seconds after which a job ends by itself."""
EXIT_CODE: Final = "example/exit-code"
"""Annotation: with what it ends."""
STOPS_AFTER: Final = "example/stops-after"
"""Annotation: the seconds that it takes to stop. More than its grace are cut."""


@dataclass(slots=True, eq=False)
class Job:
    """A pod as the class runs it."""

    pod: Pod
    number: int
    """How often it was begun before."""
    started_at: float
    restarts: int = 0
    exit_code: int | None = None
    finished_at: float = 0.0
    gone_by: float = float("inf")
    """When it is stopped at the latest, by the seconds of the wall clock."""
    is_stopped: bool = False

    def report(self) -> PodReport:
        """Return what the class says of it."""
        names = [each["name"] for each in self.pod.document["spec"]["containers"]]
        one = ContainerReport(
            restarts=self.restarts,
            exit_code=self.exit_code,
            started_at=self.started_at,
            finished_at=self.finished_at if self.exit_code is not None else None,
        )
        return PodReport(
            containers=dict.fromkeys(names, one),
            ip="10.8.0.9",
            namespace=self.pod.namespace,
            name=self.pod.name,
            source=self.pod.source,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassFault:
    """What is wrong with the next call of a method."""

    method: str
    effect_after: float = 0.0
    answer_after: float = 0.0
    """Seconds after its begin."""
    raises: bool = False
    has_effect: bool = True
    is_async: bool = False
    """Whether a call that is given up is cancelled."""
    answer: Callable[[Any], Any] = field(default=lambda value: value, repr=False)
    """What is returned in place of the value."""


class Provided(Runtime):
    """Runs pods by a class. ``is_able`` says whether it has the optional methods, too."""

    restarts_containers = False
    flags = ("--runtime=my_node:Jobs",)

    def __init__(self, outside: Outside, *, is_able: bool) -> None:
        super().__init__(outside)
        self.follows_edits = is_able
        self.options = {"is_able": is_able}
        self.jobs: dict[str, Job] = {}
        self.strangers: dict[str, PodReport] = {}
        """What the class tells of pods that nobody here knows."""
        self.faults: list[ClassFault] = []
        self.calls: Counter[str] = Counter()
        """By method."""
        self.called_at = 0.0
        """When the call was made that has its effect now, by the seconds of the wall clock."""
        self._tell_changed: Callable[[], None] = lambda: None
        self._begun: dict[str, int] = {}
        self._ended_at: dict[str, float] = {}
        self._begins = True
        """The agent has not been answered yet how the jobs are."""

    # --- how the agent reaches it ----------------------------------------------------------------------

    @override
    def edges(self, in_this_life: InThisLife) -> Mapping[str, Any]:
        made = AbleJobs(self) if self.follows_edits else Jobs(self)
        self._tell_changed = made.changed
        self.witness.calls("", "")
        self._begins = True
        self.unnamed = set(self.jobs)
        loaded = LoadedProvider(
            name="my_node:Jobs", version="1", provider=made, can=abilities_of(type(made))
        )
        calls = CallsInTime(self, in_this_life)
        return {
            "provider": ProviderEdges(load=lambda _: loaded, calls=lambda: calls),
            "probe_loop": loops(lambda _ip, _port, _sent: None, in_this_life),
        }

    @override
    def live(self) -> Iterator[Instance]:
        for job in self.jobs.values():
            if job.exit_code is None:
                yield from _instances(job)

    @override
    def work(self) -> Counter[str]:
        return self.calls.copy()

    @override
    def others(self) -> Mapping[str, str]:
        return dict.fromkeys(self.strangers, "there")

    @override
    def left_over(self, wanted: set[str]) -> Iterator[str]:
        for uid, job in self.jobs.items():
            if job.exit_code is None and uid not in wanted:
                yield f"the class still runs {uid}"

    # --- what the class does ---------------------------------------------------------------------------

    def run(self, pod: Pod) -> None:
        """Begin a job, unless there is one that was not stopped: ``run`` must not start anything twice.

        Jobs are named by the pod's UID. One that has ended while this call was under way stays so: "a pod
        that has ended never runs again, and also if the class reports otherwise later"
        (docs/writing-a-runtime.md).
        """
        job = self.jobs.get(pod.uid)
        has_ended = self._ended_at.get(pod.uid, -math.inf) > self.called_at
        if has_ended or (job is not None and not job.is_stopped):
            return
        number = self._begun.get(pod.uid, -1) + 1
        self._begun[pod.uid] = number
        job = self.jobs[pod.uid] = Job(pod, number, self.wall)
        for one in _instances(job):
            self.witness.starts(replace(one, asked_at=self.called_at))
        if seconds := pod.annotations.get(ENDS_AFTER):
            code = int(pod.annotations.get(EXIT_CODE, "0"))
            self.outside.later(float(seconds), lambda: self.end(job, code))

    def stop(self, pod: Pod, grace: float) -> None:
        """Begin to stop a job. One that has ended is forgotten."""
        if pod.uid in self.strangers:
            del self.strangers[pod.uid]
            return
        job = self.jobs.get(pod.uid)
        if job is None:
            return
        if job.exit_code is not None:
            job.is_stopped = True
            if not self.follows_edits:
                del self.jobs[pod.uid]
            return
        for one in _instances(job):
            self.witness.is_asked_to_stop(one, grace)
        takes = min(grace, float(job.pod.annotations.get(STOPS_AFTER, "0")))
        job.gone_by = min(job.gone_by, self.wall + takes)
        self.outside.later(takes, lambda: self._stopped(job))

    def observe(self) -> Mapping[str, PodReport | str]:
        """Return how all jobs are."""
        return {uid: job.report() for uid, job in self.jobs.items()} | self.strangers

    def update(self, pod: Pod) -> None:
        """Take a changed specification."""
        if pod.uid in self.jobs:
            self.jobs[pod.uid].pod = pod

    def forget(self, pod: Pod) -> None:
        """Forget a job that has ended."""
        job = self.jobs.get(pod.uid)
        if job is not None and job.exit_code is not None:
            del self.jobs[pod.uid]

    # --- what jobs do by themselves --------------------------------------------------------------------

    def end(self, job: Job, code: int) -> None:
        """Have a job end, unless it has."""
        if job.exit_code is None and self.jobs.get(job.pod.uid) is job:
            job.exit_code, job.finished_at = code, self.wall
            self._ended_at[job.pod.uid] = self.wall
            for one in _instances(job):
                self.witness.ends(one)
            self._tell_changed()

    def restart(self, job: Job) -> None:
        """Have the class start a job again that runs."""
        if job.exit_code is None:
            job.restarts, job.started_at = job.restarts + 1, self.wall

    def vanish(self, job: Job) -> None:
        """Have a job get lost."""
        self.witness.loses(job.pod.uid)
        self.jobs.pop(job.pod.uid, None)

    def is_answered(
        self, method: str, value: Any, answer: Any, error: BaseException | None
    ) -> None:
        """Note that a call returns ``answer`` in place of ``value``, or raises an error.

        "A pod ran when the agent ended, and ``observe`` does not report it when the next one starts: it is
        run again at once, since its end was not seen" (docs/writing-a-runtime.md).
        """
        if error is not None or value is None or method != "observe":
            return
        if answer is value:
            self.unnamed.clear()
        if self._begins and (answer is value or answer == {}):
            self._begins = False
            for uid in self.jobs if answer == {} else ():
                self.witness.loses(uid)

    def take_fault(self, method: str) -> ClassFault:
        """Return what is wrong with a call that is made now."""
        for fault in self.faults:
            if fault.method == method:
                self.faults.remove(fault)
                return fault
        return ClassFault(method=method)

    def _stopped(self, job: Job) -> None:
        if job.exit_code is None and self.wall >= job.gone_by - 1e-6:
            job.is_stopped = True
            self.end(job, 0)
            if not self.follows_edits:
                self.jobs.pop(job.pod.uid, None)


class Jobs(PodProvider):
    """The class, with the methods that each one has."""

    def __init__(self, jobs: Provided) -> None:
        self._jobs = jobs

    @override
    def run(self, pod: Pod) -> None:
        self._jobs.run(pod)

    @override
    def stop(self, pod: Pod, grace: float) -> None:
        self._jobs.stop(pod, grace)

    @override
    def observe(self) -> Mapping[str, PodReport | str]:
        return self._jobs.observe()


class AbleJobs(Jobs):
    """The same with the optional ones."""

    @override
    def update(self, pod: Pod) -> None:
        self._jobs.update(pod)

    @override
    def forget(self, pod: Pod) -> None:
        self._jobs.forget(pod)


class CallsInTime(ProviderCalls):
    """Makes calls in the schedule of one agent, each with what is wrong with it."""

    def __init__(self, around: Provided, in_this_life: InThisLife) -> None:
        self._around = around
        self._in_this_life = in_this_life
        self._cancelled: dict[int, Callable[[], None]] = {}

    @override
    def start(self, call: ProviderCall, reply_to: Port[ProviderCallEnded]) -> None:
        around, arguments = self._around, getattr(call.target, "args", ())
        uid = arguments[0].uid if arguments else ""
        fault = around.take_fault(call.method.value)
        around.calls[call.method.value] += 1
        called_at = around.wall
        around.witness.calls(call.method.value, uid, *map(float, arguments[1:]))
        made: list[Any] = []

        def act() -> None:
            if fault.has_effect and call.outcome is None:
                around.called_at = called_at
                made.append(call.target())

        def answer(error: BaseException | None = None) -> None:
            if call.outcome is not None:
                return
            if error is None and fault.raises:
                error = RuntimeError("the service is not there")
            value = made[0] if made else None
            answered = fault.answer(value)
            around.is_answered(fault.method, value, answered, error)
            call.outcome = failure_of(error) if error else Returned(call.digest(answered))
            if not call.is_given_up:
                around.witness.returns(call.method.value, uid)
            reply_to.tell(ProviderCallEnded(ref=call.ref))

        if fault.is_async:
            self._cancelled[call.ref] = lambda: answer(asyncio.CancelledError())
        self._in_this_life(fault.effect_after, act)
        self._in_this_life(max(fault.effect_after, fault.answer_after), answer)

    @override
    def give_up(self, call: ProviderCall) -> None:
        arguments = getattr(call.target, "args", ())
        self._around.witness.returns(call.method.value, arguments[0].uid if arguments else "")
        cancel = self._cancelled.pop(call.ref, None)
        if cancel is not None:
            self._in_this_life(0.0, cancel)


def _instances(job: Job) -> Iterator[Instance]:
    for each in job.pod.document["spec"]["containers"]:
        yield Instance(
            id=f"{job.pod.uid}/{each['name']}/{job.number}",
            sandbox=job.pod.uid,
            uid=job.pod.uid,
            name=each["name"],
            image=each["image"],
            attempt=job.number,
            started_at=job.started_at,
            finished_at=job.finished_at,
            exit_code=job.exit_code or 0,
        )
