"""The runtime that speaks the CRI on a stage, with a runtime in memory at the other end of its wire."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from actors.volumes.mounts.system_calls import KernelMounts
from files.cgroups.names import CgroupOptions
from kernel import Key, Port, Runtime
from messages.container_runtime import (
    AskContainer,
    CallRuntime,
    ContainerAnswered,
    ContainerQuestion,
    ContainersAre,
    CreateContainer,
    FollowContainers,
    LookAtPod,
    PodContainersAre,
    RunSandbox,
    RuntimeAnswered,
    RuntimeFact,
    RuntimeFailure,
    RuntimeIsAway,
    RuntimeOutcome,
    RuntimeRequest,
    SandboxContents,
    StartContainer,
)
from messages.node import RuntimeHasNews
from messages.pod_runtime import (
    ContainerObserved,
    DescribeRuntime,
    RuntimeDescribed,
    SandboxObserved,
)
from messages.pods import Pod
from messages.units import Seconds
from runtimes.cri.actor import CriRuntime
from runtimes.cri.cgroups.pod_cgroups import PodCgroups
from runtimes.cri.configs.documents import ConfigNotice
from runtimes.cri.configs.node import CriNode
from runtimes.cri.images.actor import ImageKeeper
from runtimes.cri.images.messages import IMAGE_KEEPER, ImageMemory, ImagePorts
from runtimes.cri.images.options import GarbageOptions, ImageOptions
from runtimes.cri.messages import CRI_CONTAINERS, CriMemory, CriPorts
from runtimes.cri.operations.flow import Disk, OperationContext
from runtimes.cri.wire.transport import Wire
from tests.support.builders import make_pod
from tests.support.cri.fake_cri import FakeCri
from tests.support.cri.fake_machine import FakeMachine
from tests.support.cri.fake_wire import FAKE_CRI, Errand, FakeCriDesk, FakeWire
from tests.support.kernel.hand_lanes import HandLanes
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import PATIENT_ROOT, Stage, StagedActor, stage_for
from tests.support.runtimes.hollow_stage import container_of

IMAGE: Final = "docker.io/library/busybox:1.37"
NO_CGROUPS: Final = CgroupOptions(per_qos=False)
IMAGES: Final = ImageOptions(garbage=GarbageOptions(high_percent=100))


class CriParts:
    """What the actors of the runtime are made of, and what outlives their crashes."""

    def __init__(self, folder: Path, wire: Wire, disk: Disk | None = None) -> None:
        self.memory = CriMemory()
        self.images = ImageMemory.of(IMAGES)
        self.notices: list[ConfigNotice] = []
        self.news: Probe[RuntimeHasNews] = Probe()
        """What is told to who reports the Node."""
        self._wire = wire
        self._disk = disk or HandLanes()
        self.node = CriNode(
            name="node",
            root_dir=str(folder / "root"),
            pod_logs_dir=str(folder / "logs"),
            ips=("192.0.2.1",),
            cgroups=NO_CGROUPS,
        )
        self.context = OperationContext(
            inventory=self.memory.inventory,
            node=lambda: self.node,
            runtime=self._name,
            cgroups=PodCgroups(NO_CGROUPS, None),
            mounts=KernelMounts(),
            cgroup_options=NO_CGROUPS,
            notice=lambda _, notice: self.notices.append(notice),
        )

    def actors(self) -> Iterator[StagedActor]:
        """Yield the actors, those first that others need."""
        yield IMAGE_KEEPER, lambda _: self.make_images()
        yield CRI_CONTAINERS, lambda play: self.make_containers(play.port)

    def make_images(self) -> ImageKeeper:
        ports = ImagePorts(
            wire=self._wire,
            disk=self._disk,
        )
        return ImageKeeper(ports, self.images, IMAGES)

    def make_containers(self, address: Callable[[Key[Any]], Port[Any]]) -> CriRuntime:
        ports = CriPorts(me=address(CRI_CONTAINERS), images=address(IMAGE_KEEPER), node=self.news)
        return CriRuntime(ports, self.memory, self.context, self._wire, self._disk)

    def _name(self) -> str:
        greeting = self.memory.greeting
        return greeting.name if greeting is not None else ""


class CriStage:
    """Calls the runtime, follows it, and shows what it answers and tells. Time is the test's."""

    def __init__(self, folder: Path, runtime: Runtime | None = None) -> None:
        self.machine = FakeMachine(self._nanoseconds, self.later)
        self.machine.images.ids[IMAGE] = f"sha256:{7:0>64x}"
        self.cri = FakeCri(self.machine, self.later)
        self.wire = FakeWire(self.cri, self.later)
        self.parts = CriParts(folder, self.wire)
        desk: StagedActor = FAKE_CRI, lambda _: FakeCriDesk()
        self.play: Stage = stage_for(desk, *self.parts.actors(), runtime=runtime, root=PATIENT_ROOT)
        self.answers: Probe[RuntimeAnswered] = Probe()
        self.replies: Probe[ContainerAnswered] = Probe()
        self.facts: Probe[RuntimeFact] = Probe()
        self._refs = itertools.count(1)

    @property
    def memory(self) -> CriMemory:
        """What outlives its crashes."""
        return self.parts.memory

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        """Have something done at the other end of the wire."""
        self.play.port(FAKE_CRI).tell(Errand(seconds, action))

    def _nanoseconds(self) -> int:
        return int(self.play.clock.wall() * 1_000_000_000)

    # --- calls -----------------------------------------------------------------------------------------

    def send(self, request: RuntimeRequest, deadline: float = 240.0) -> int:
        """Make a call, and return its ref."""
        ref = next(self._refs)
        call = CallRuntime(
            request=request, reply_to=self.answers, ref=ref, deadline=Seconds(deadline)
        )
        self.play.tell(CRI_CONTAINERS, call)
        return ref

    def ask(self, question: ContainerQuestion, deadline: float = 30.0) -> int:
        """Ask a question, and return its ref."""
        ref = next(self._refs)
        asked = AskContainer(
            question=question, reply_to=self.replies, ref=ref, deadline=Seconds(deadline)
        )
        self.play.tell(CRI_CONTAINERS, asked)
        return ref

    def call(self, request: RuntimeRequest, within: float = 5.0) -> RuntimeOutcome:
        """Make a call, and return its outcome."""
        ref = self.send(request)
        for _ in range(int(within * 20)):
            if answered := self.answers.drain():
                assert [each.ref for each in answered] == [ref]
                return answered[0].outcome
            self.play.advance(0.05)
        raise AssertionError(f"no answer to {request}")

    def outcomes(self) -> dict[Any, RuntimeOutcome]:
        """Return what was answered since the last look, by ref. No ref may be answered twice."""
        answered = self.answers.drain()
        refs = [each.ref for each in answered]
        assert len(refs) == len({*refs}), refs
        return {each.ref: each.outcome for each in answered}

    def sandbox(self, pod: Pod, attempt: int = 0) -> SandboxObserved:
        """Make a sandbox."""
        outcome = self.call(RunSandbox(pod=pod, attempt=attempt))
        assert isinstance(outcome, SandboxObserved), outcome
        return outcome

    def created(
        self, pod: Pod, sandbox: SandboxObserved, name: str = "main", attempt: int = 0
    ) -> ContainerObserved:
        """Create a container."""
        outcome = self.call(creation_in(pod, sandbox, name, attempt))
        assert isinstance(outcome, ContainerObserved), outcome
        return outcome

    def started(self, pod: Pod, name: str = "main", attempt: int = 0) -> ContainerObserved:
        """Run a container of ``pod`` in its newest sandbox, which is made if there is none."""
        contents = self.seen(pod)
        sandbox = contents[0].sandbox if contents else self.sandbox(pod)
        outcome = self.call(StartContainer(id=self.created(pod, sandbox, name, attempt).id))
        assert isinstance(outcome, ContainerObserved), outcome
        return outcome

    def refused(self, request: RuntimeRequest) -> RuntimeFailure:
        """Make a call that fails."""
        outcome = self.call(request)
        assert isinstance(outcome, RuntimeFailure), outcome
        return outcome

    def seen(self, pod: Pod) -> tuple[SandboxContents, ...]:
        """Return what the runtime sees of a pod when it looks."""
        outcome = self.call(LookAtPod(uid=pod.uid))
        assert isinstance(outcome, PodContainersAre), outcome
        return outcome.sandboxes

    def known(self, pod: Pod) -> list[ContainerObserved]:
        """Return which containers of a pod are known, without a look."""
        contents = self.memory.inventory.contents(pod.uid)
        return [one for each in contents for one in each.containers]

    # --- facts -----------------------------------------------------------------------------------------

    def follow(self) -> list[RuntimeFact]:
        """Begin to follow, and return what is told at once."""
        self.facts.drain()
        self.play.tell(CRI_CONTAINERS, FollowContainers(subscriber=self.facts))
        return self.facts.drain()

    def told(self, pod: Pod | None = None) -> list[RuntimeFact]:
        """Return what was told since the last look, of one pod or of all."""
        facts = self.facts.drain()
        if pod is None:
            return facts
        return [
            each for each in facts if isinstance(each, PodContainersAre) and each.uid == pod.uid
        ]

    def away(self) -> list[str]:
        """Return why the runtime was said to be away since the last look."""
        return [each.message for each in self.told() if isinstance(each, RuntimeIsAway)]

    def complete(self) -> list[ContainersAre]:
        """Return each complete account since the last look."""
        return [each for each in self.told() if isinstance(each, ContainersAre)]

    # --- the rest --------------------------------------------------------------------------------------

    def described(self) -> RuntimeDescribed:
        def question(reply_to: Port[RuntimeDescribed]) -> Any:
            return DescribeRuntime(reply_to=reply_to)

        return self.play.ask(CRI_CONTAINERS, question)

    def crash(self) -> None:
        """Crash the runtime's actor, and let it live again."""
        self.play.system.crash(CRI_CONTAINERS.path)
        self.play.advance(1.0)


def creation_in(
    pod: Pod, sandbox: SandboxObserved, name: str = "main", attempt: int = 0
) -> CreateContainer:
    """Return the request for one container of a pod."""
    return CreateContainer(
        pod=pod,
        container=container_of(pod, name),
        sandbox=sandbox,
        attempt=attempt,
        spec_hash=f"hash-of-{name}",
        image_id="",
    )


def cri_pod(name: str = "web", *containers: str) -> Pod:
    """Return a pod with these containers."""
    spec = {
        "containers": [{"name": each, "image": IMAGE} for each in containers or ("main", "beside")]
    }
    return make_pod(name, spec=spec)


@contextmanager
def cri_stage(
    runtime: Runtime | None = None, prepare: Callable[[CriStage], object] = lambda _: None
) -> Iterator[CriStage]:
    """Start the runtime for the ``with`` block. ``prepare`` sees the stage before anything runs."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="cri-"))
        stage = CriStage(Path(folder), runtime)
        prepare(stage)
        stage.play.start()
        try:
            yield stage
        finally:
            assert stage.play.stop() == 0
