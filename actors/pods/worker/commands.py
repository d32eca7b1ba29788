"""What a worker tells the runtime about its pod. A part of the worker."""

from __future__ import annotations

from actors.pods.lifecycle import FORGET, RUN, LifeStep, StopStep
from actors.pods.worker.news import WorkerNews
from actors.pods.worker.parts import WorkerMemory, WorkerPorts
from actors.pods.worker.probes import WorkerProbes
from actors.pods.worker.supply import NO_SUPPLIES, Supplies
from kernel import Port
from messages.pod_runtime import ForgetPod, Mark, PodObserved, RunPod, StopPod
from messages.pods import PodPhase


class WorkerCommands:
    """Gives the commands of one life of a worker, each with a greater mark."""

    def __init__(
        self, ports: WorkerPorts, memory: WorkerMemory, me: Port[PodObserved], news: WorkerNews
    ) -> None:
        self._runtime = ports.runtime
        self._memory = memory
        self._me = me
        self._news = news
        self._count = 0
        self._supplied: Supplies = NO_SUPPLIES
        """What the runtime was told with the last ``RunPod``."""
        self.told: LifeStep | None = None
        """The last step that the runtime was told; None for one that it is to be told again."""

    @property
    def is_told_to_run(self) -> bool:
        """Whether the last step was to run it."""
        return self.told is RUN

    def is_other(self, supplies: Supplies) -> bool:
        """Return whether the pod is not run yet, or with something else than this."""
        return not self.is_told_to_run or supplies != self._supplied

    def is_included_in(self, observed: PodObserved, incarnation: int) -> bool:
        """Return whether an observation includes the effect of the last command."""
        return observed.mark >= Mark(incarnation, self._count)

    def run(self, incarnation: int, supplies: Supplies, probes: WorkerProbes | None) -> None:
        """Have it run, with what it is supplied with and what its probes say."""
        memory = self._memory
        memory.has_begun, self._supplied, self.told = True, supplies, RUN
        outdated = frozenset[str]() if memory.hooks is None else memory.hooks.outdated
        self._runtime.tell(
            RunPod(
                pod=memory.wish.pod,
                mark=self._next(incarnation),
                reply_to=self._me,
                is_running=memory.status is not None and memory.status.phase is PodPhase.RUNNING,
                verdicts=probes.verdicts() if probes is not None else {},
                first_digests=memory.first_digests or {},
                outdated=outdated,
                **supplies._asdict(),
            )
        )

    def stop(self, incarnation: int, step: StopStep, left: StopStep) -> None:
        """Have it stopped with what is ``left`` of the grace, as ``step`` wants it."""
        memory, self.told = self._memory, step
        self._news.say("stopping a pod", grace=round(left.grace, 3), reason=self._news.reason())
        self._runtime.tell(
            StopPod(
                uid=memory.wish.pod.uid,
                mark=self._next(incarnation),
                reply_to=self._me,
                grace=left.grace,
                pod=None if memory.wish.has_no_document else memory.wish.pod,
            )
        )

    def take_step(self, step: LifeStep, incarnation: int) -> None:
        """Take a step of a pod that is stopped: have it forgotten, or do nothing. May repeat."""
        if step is FORGET and self.told is not FORGET:
            uid, mark = self._memory.wish.pod.uid, self._next(incarnation)
            self._runtime.tell(ForgetPod(uid=uid, mark=mark, reply_to=self._me))
        self.told = step

    def _next(self, incarnation: int) -> Mark:
        self._count += 1
        return Mark(incarnation, self._count)
