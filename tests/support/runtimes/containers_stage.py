"""The runtime of pods that drives hollow or scripted containers, and somebody who commands it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from kernel import Port, Runtime
from messages.cluster import ClusterServices
from messages.container_runtime import ContainerRuntimeMessage
from messages.events import PostEvent
from messages.objects import ObjectId, ObjectValue
from messages.pod_runtime import (
    ContainerHistory,
    ContainerState,
    DescribeRuntime,
    ForgetPod,
    ListRuntimePods,
    Mark,
    PodObserved,
    PodsObserved,
    ProbeVerdict,
    RunPod,
    RuntimeDescribed,
    RuntimePod,
    StopPod,
)
from messages.pods import Pod, PodUid
from messages.units import Seconds
from runtimes.containers.actor import POD_RUNTIME, ContainersOptions, ContainersRuntime
from runtimes.containers.record import RuntimeMemory
from runtimes.hollow.actor import HOLLOW_CONTAINERS, HollowContainers, HollowMemory
from runtimes.hollow.core import HollowCore
from runtimes.hollow.rules import HollowRules
from runtimes.lifecycle_hooks.messages import HooksMessage
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import PATIENT_ROOT, Stage, stage_for
from tests.support.runtimes.hollow_stage import VERSION
from tests.support.runtimes.scripted_containers import ScriptedContainers


class PodsStage:
    """Commands pods, and shows what is told of them."""

    play: Stage

    def __init__(self, options: ContainersOptions) -> None:
        self.memory = RuntimeMemory()
        self.events: Probe[PostEvent] = Probe()
        self.observations: Probe[PodObserved] = Probe()
        self.first_digests: Mapping[str, str] = {}
        """What each command tells of that."""
        self._options = options
        self._number = 0

    def _make(
        self,
        stage: Stage,
        containers: Port[ContainerRuntimeMessage],
        hooks: Port[HooksMessage],
    ) -> ContainersRuntime:
        me = stage.port(POD_RUNTIME)
        return ContainersRuntime(containers, hooks, me, self.memory, self._options, self.events)

    # --- commands --------------------------------------------------------------------------------------

    def run(
        self,
        pod: Pod,
        verdicts: Mapping[str, ProbeVerdict] | None = None,
        objects: Mapping[ObjectId, ObjectValue] | None = None,
        unread: Mapping[ObjectId, str] | None = None,
        services: ClusterServices = (),
        outdated: Iterable[str] = (),
    ) -> Mark:
        """Tell it to run a pod, and let everything that follows at once happen."""
        command = RunPod(
            pod=pod,
            mark=self._mark(),
            reply_to=self.observations,
            verdicts=verdicts or {},
            objects=objects or {},
            unread=unread or {},
            services=services,
            outdated=frozenset(outdated),
            first_digests=self.first_digests,
        )
        self.play.tell(POD_RUNTIME, command)
        return command.mark

    def stop(self, pod: Pod, grace: float = 30.0) -> Mark:
        command = StopPod(
            uid=pod.uid, mark=self._mark(), reply_to=self.observations, grace=Seconds(grace)
        )
        self.play.tell(POD_RUNTIME, command)
        return command.mark

    def forget(self, pod: Pod) -> Mark:
        command = ForgetPod(uid=pod.uid, mark=self._mark(), reply_to=self.observations)
        self.play.tell(POD_RUNTIME, command)
        return command.mark

    def _mark(self) -> Mark:
        self._number += 1
        return Mark(1, self._number)

    # --- what is seen ----------------------------------------------------------------------------------

    def told(self) -> list[PodObserved]:
        """Return what was told since the last look."""
        return self.observations.drain()

    def last(self) -> PodObserved:
        """Return what was told last."""
        return self.told()[-1]

    def container(self, name: str = "main") -> ContainerHistory:
        """Return what was told last of one container."""
        return self.last().containers[name]

    def said(self) -> list[tuple[str, str]]:
        """Return the events since the last look: reason and message."""
        return [(event.reason, event.message) for event in self.events.drain()]

    def pods(self) -> tuple[RuntimePod, ...]:
        def question(reply_to: Port[PodsObserved]) -> ListRuntimePods:
            return ListRuntimePods(reply_to=reply_to)

        return self.play.ask(POD_RUNTIME, question).pods

    def asked_for_pods(self) -> Probe[PodsObserved]:
        """Ask what pods there are, and return where the answer comes."""
        answers: Probe[PodsObserved] = Probe()
        self.play.tell(POD_RUNTIME, ListRuntimePods(reply_to=answers))
        return answers

    def described(self) -> RuntimeDescribed:
        def question(reply_to: Port[RuntimeDescribed]) -> DescribeRuntime:
            return DescribeRuntime(reply_to=reply_to)

        return self.play.ask(POD_RUNTIME, question)

    def crash(self) -> None:
        self.play.system.crash(POD_RUNTIME.path)
        self.play.advance(1.0)


class ContainersStage(PodsStage):
    """With hollow containers below."""

    def __init__(
        self, rules: HollowRules, options: ContainersOptions, runtime: Runtime | None = None
    ) -> None:
        super().__init__(options)
        self.hollow_memory = HollowMemory(core=HollowCore(rules))
        self.play = stage_for(
            (HOLLOW_CONTAINERS, lambda _: HollowContainers(VERSION, self.hollow_memory)),
            (POD_RUNTIME, self._make_on_hollow),
            runtime=runtime,
            root=PATIENT_ROOT,
        )

    def _make_on_hollow(self, stage: Stage) -> ContainersRuntime:
        containers = stage.port(HOLLOW_CONTAINERS)
        return self._make(stage, containers, containers)

    def running(self, pod: Pod) -> list[str]:
        """Return the containers that really run, by name and attempt."""
        contents = self.hollow_memory.core.machine.inventory.contents(PodUid(pod.uid))
        return sorted(
            f"{one.name}-{one.attempt}"
            for each in contents
            for one in each.containers
            if one.state is ContainerState.RUNNING
        )


class ScriptedStage(PodsStage):
    """With a runtime of containers below that does what the test says."""

    def __init__(
        self,
        containers: ScriptedContainers,
        options: ContainersOptions = ContainersOptions(),  # noqa: B008  # frozen
        runtime: Runtime | None = None,
    ) -> None:
        super().__init__(options)
        self.containers = containers
        self.play = stage_for(
            (POD_RUNTIME, lambda stage: self._make(stage, containers, containers.hooks)),
            runtime=runtime,
            root=PATIENT_ROOT,
        )
        containers.clock = self.play.clock

    def forget_everything(self) -> None:
        """Have the next life begin as in a new process."""
        self.memory = RuntimeMemory()
        self.crash()

    def waits(self) -> dict[str, str]:
        """Return why containers wait, as it was told last."""
        histories = self.last().containers
        return {name: each.wait.reason for name, each in histories.items() if each.wait is not None}


@contextmanager
def scripted_stage(
    *,
    assumes_images: bool = True,
    parallel_starts: int | None = None,
    parallel_stops: int | None = None,
) -> Iterator[ScriptedStage]:
    """Start a stage with scripted containers for the ``with`` block."""
    containers = ScriptedContainers(assumes_images=assumes_images)
    options = ContainersOptions(parallel_starts=parallel_starts, parallel_stops=parallel_stops)
    stage = ScriptedStage(containers, options)
    stage.play.start()
    try:
        yield stage
    finally:
        assert containers.faults == []
        stage.play.system.stop()


@contextmanager
def containers_stage(
    rules: HollowRules = HollowRules(),  # noqa: B008  # frozen
    options: ContainersOptions = ContainersOptions(),  # noqa: B008  # frozen
    runtime: Runtime | None = None,
) -> Iterator[ContainersStage]:
    """Start such a stage for the ``with`` block."""
    stage = ContainersStage(rules, options, runtime)
    stage.play.start()
    try:
        yield stage
    finally:
        stage.play.system.stop()
