"""The world of the crash matrix around the runtime that speaks the CRI, and the runtime of pods above it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from typing_extensions import override

from kernel import AnySpec, Backoff, SupervisorSpec, isolated
from messages.container_runtime import FollowContainers
from messages.pod_runtime import ForgetPod, Mark, PodObserved, RunPod, StopPod
from messages.pods import Pod
from messages.units import Seconds
from runtimes.containers.actor import POD_RUNTIME, ContainersRuntime
from runtimes.containers.record import RuntimeMemory
from runtimes.cri.images.messages import IMAGE_KEEPER
from runtimes.cri.messages import CRI_CONTAINERS
from runtimes.cri.wire import cri_pb2 as cri
from tests.support.crash_matrix import Outcome, StoryRun, World
from tests.support.cri.cri_stage import IMAGE, CriParts
from tests.support.cri.fake_cri import FakeCri
from tests.support.cri.fake_machine import Behaviour, FakeMachine
from tests.support.cri.fake_wire import FAKE_CRI, Errand, FakeCriDesk, FakeWire
from tests.support.kernel.probe import Probe


class CriWorld(World):
    """Pods run through a runtime in memory; who speaks to it is the victim."""

    pause = 2.0
    in_the_end = 900.0
    taken_at_once = (RunPod, StopPod, ForgetPod, FollowContainers)

    def __init__(self, run: StoryRun) -> None:
        self.machine = FakeMachine(self._nanoseconds, self._later)
        self.machine.images.ids[IMAGE] = f"sha256:{7:0>64x}"
        self.machine.behaviours["job"] = Behaviour(run_for=1.0, exit_code=3)
        self.service = FakeCri(self.machine, self._later)
        self.wire = FakeWire(self.service, self._later)
        self.parts = CriParts(run.folder, self.wire)
        self.memory = RuntimeMemory()
        self.observations: Probe[PodObserved] = Probe()
        self._number = 0
        super().__init__(
            run,
            SupervisorSpec(
                name="root",
                backoff=Backoff(initial=Seconds(0.1), cap=Seconds(1.0)),
                children=(
                    isolated(FAKE_CRI, FakeCriDesk),
                    isolated(IMAGE_KEEPER, self.parts.make_images),
                    isolated(CRI_CONTAINERS, lambda: self.parts.make_containers(self.play.port)),
                    isolated(POD_RUNTIME, self._make_runtime),
                ),
            ),
        )

    # --- what a story does -----------------------------------------------------------------------------

    def run(self, pod: Pod) -> None:
        command = RunPod(pod=pod, mark=self._mark(), reply_to=self.observations)
        self.play.port(POD_RUNTIME).tell(command)

    def stop(self, pod: Pod) -> None:
        command = StopPod(
            uid=pod.uid, mark=self._mark(), reply_to=self.observations, grace=Seconds(5.0)
        )
        self.play.port(POD_RUNTIME).tell(command)

    def forget(self, pod: Pod) -> None:
        command = ForgetPod(uid=pod.uid, mark=self._mark(), reply_to=self.observations)
        self.play.port(POD_RUNTIME).tell(command)

    def lose_connection(self) -> None:
        """Have nobody listen for a second."""
        self.wire.go_away()
        self._later(1.0, self.wire.come_back)

    # --- inside ----------------------------------------------------------------------------------------

    @override
    def _with_victims(self, spec: AnySpec) -> Any:
        """Who speaks to the runtime is the victim; the others have matrices of their own."""
        if isinstance(spec, SupervisorSpec) or spec.key == CRI_CONTAINERS:
            return super()._with_victims(spec)
        return spec

    def _later(self, seconds: float, action: Any) -> None:
        self.play.port(FAKE_CRI).tell(Errand(seconds, action))

    def _nanoseconds(self) -> int:
        return int(self.play.clock.wall() * 1_000_000_000)

    def _mark(self) -> Mark:
        self._number += 1
        return Mark(0, self._number)

    def _make_runtime(self) -> ContainersRuntime:
        containers = self.play.port(CRI_CONTAINERS)
        me = self.play.port(POD_RUNTIME)
        return ContainersRuntime(containers, Probe(), me, self.memory)

    @override
    def _outcome(self) -> Outcome:
        inventory = self.parts.memory.inventory
        known = sorted(one.id for each in inventory.everything() for one in each.containers)
        observed: dict[str, object] = {
            "other errors": self.other_errors,
            "sandboxes": sorted(
                (each.config.metadata.name, each.config.metadata.attempt, each.state)
                for each in self.machine.sandboxes.values()
            ),
            "containers": sorted(
                (each.config.metadata.name, each.config.metadata.attempt, each.state)
                for each in self.machine.containers.values()
            ),
            "what is known is what there is": known
            == sorted(f"containerd://{each}" for each in self.machine.containers),
            "streams": len(self.service.streams),
            "calls in flight": self.wire.in_flight,
            "operations": len(self.parts.memory.operations.running),
            "calls of the runtime of pods": len(self.memory.calls),
        }
        return Outcome(observed, Counter(self._losses()))

    def _losses(self) -> list[str]:
        """Return what was started: a crash must not have anything started twice."""
        return [
            f"a start of {request.config.metadata.name}"
            for method, request in self.service.asked
            if method == "CreateContainer" and isinstance(request, cri.CreateContainerRequest)
        ]
