"""Runtimes of containers under the contract that ``runtimes.containers`` relies on.

Another runtime joins by a class like ``StagedUnderTest`` in ``CONTAINER_RUNTIMES``. Pods here have commands
that real images of busybox understand, and annotations for hollow containers where that is not enough.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

from typing_extensions import override

from kernel import Key, Port
from messages.container_runtime import (
    CallRuntime,
    ContainerRuntimeMessage,
    CreateContainer,
    FollowContainers,
    LookAtPod,
    PodContainersAre,
    RunSandbox,
    RuntimeAnswered,
    RuntimeFact,
    RuntimeFailure,
    RuntimeOutcome,
    RuntimeRequest,
    SandboxContents,
    StartContainer,
)
from messages.pod_runtime import (
    ContainerObserved,
    DescribeRuntime,
    RuntimeDescribed,
    SandboxObserved,
)
from messages.pods import CONTENT_DIGEST, Pod
from runtimes.cri.messages import CRI_CONTAINERS
from runtimes.hollow.actor import HOLLOW_CONTAINERS
from runtimes.hollow.behaviours import PREFIX
from runtimes.hollow.rules import HollowRules
from tests.support.builders import make_pod
from tests.support.cri.cri_stage import CriStage, cri_stage
from tests.support.cri.fake_cri import CONTAINERD_EVENTS
from tests.support.cri.fake_machine import Behaviour
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage
from tests.support.runtimes.hollow_stage import container_of, hollow_stage

IMAGE: Final = "docker.io/library/busybox:1.37"
NO_IMAGE: Final = "registry.invalid/there-is-none:1"

RUNS: Final = ["sh", "-c", "trap 'exit 0' TERM; while true; do sleep 0.1; done"]
"""Ends when it is told to. The first process of a container gets no signal that it does not ask for."""
STUBBORN: Final = ["sh", "-c", "trap '' TERM; while true; do sleep 1; done"]
COMMANDS: Final = {
    "runs": RUNS,
    "ends": ["sh", "-c", "sleep 1; exit 3"],
    "stubborn": STUBBORN,
    "lost": RUNS,
}
"""Containers by what they do. ``lost`` has an image that cannot be pulled."""


def pod_of_each(name: str = "web") -> Pod:
    """Return a pod with a container of each kind, called as in ``COMMANDS``."""
    containers = [
        {"name": kind, "image": NO_IMAGE if kind == "lost" else IMAGE, "command": command}
        for kind, command in COMMANDS.items()
    ]
    annotations = {
        CONTENT_DIGEST: f"digest of {name}",
        f"{PREFIX}ignores-sigterm.stubborn": "true",
        f"{PREFIX}pull-error.lost": "no such host",
    }
    return make_pod(name, spec={"containers": containers}, annotations=annotations)


class ContainerRuntimeUnderTest(ABC):
    """A runtime of containers, and somebody who calls it."""

    def __init__(self) -> None:
        self.answers: Probe[RuntimeAnswered] = Probe()
        self._refs = itertools.count(1)

    # --- what differs ----------------------------------------------------------------------------------

    @abstractmethod
    def tell(self, message: ContainerRuntimeMessage) -> None:
        """Tell the runtime ``message``."""

    @abstractmethod
    def eventually(self, is_so: Callable[[], bool], within: float = 30.0) -> None:
        """Let time pass until ``is_so``. Fails if that is not so ``within`` seconds."""

    @abstractmethod
    def pass_time(self, seconds: float) -> None:
        """Let time pass."""

    @abstractmethod
    def crash(self) -> None:
        """Crash the actor, and let it live again."""

    @abstractmethod
    def described(self) -> RuntimeDescribed:
        """Return how it says that it is."""

    # --- what is the same ------------------------------------------------------------------------------

    def send(self, request: RuntimeRequest) -> int:
        """Make a call, and return its ref."""
        ref = next(self._refs)
        self.tell(CallRuntime(request=request, reply_to=self.answers, ref=ref))
        return ref

    def call(self, request: RuntimeRequest) -> RuntimeOutcome:
        """Make a call, and return its outcome. Fails for any other answer meanwhile."""
        ref = self.send(request)
        answered = self.answered(1)
        assert [answer.ref for answer in answered] == [ref]
        return answered[0].outcome

    def answered(self, count: int, within: float = 30.0) -> list[RuntimeAnswered]:
        """Return the next answers, in their order. Fails if so many do not come, or more."""
        answers: list[RuntimeAnswered] = []

        def are_there() -> bool:
            answers.extend(self.answers.drain())
            return len(answers) >= count

        self.eventually(are_there, within)
        assert len(answers) == count, answers
        return answers

    def follow(self) -> Probe[RuntimeFact]:
        """Return a follower that was told nothing yet, or just the beginning."""
        follower: Probe[RuntimeFact] = Probe()
        self.tell(FollowContainers(subscriber=follower))
        return follower

    def seen(self, pod: Pod) -> tuple[SandboxContents, ...]:
        """Return what there is of a pod."""
        outcome = self.call(LookAtPod(uid=pod.uid))
        assert isinstance(outcome, PodContainersAre), outcome
        assert outcome.uid == pod.uid
        return outcome.sandboxes

    def seen_container(self, pod: Pod, name: str) -> ContainerObserved:
        """Return the only container of a name."""
        (found,) = (
            each for sandbox in self.seen(pod) for each in sandbox.containers if each.name == name
        )
        return found

    def sandbox(self, pod: Pod, attempt: int = 0) -> SandboxObserved:
        """Make a sandbox."""
        outcome = self.call(RunSandbox(pod=pod, attempt=attempt))
        assert isinstance(outcome, SandboxObserved), outcome
        return outcome

    def created(
        self, pod: Pod, sandbox: SandboxObserved, name: str, attempt: int = 0
    ) -> ContainerObserved:
        """Create a container."""
        outcome = self.call(creation_of(pod, sandbox, name, attempt))
        assert isinstance(outcome, ContainerObserved), outcome
        return outcome

    def started(self, container: ContainerObserved) -> ContainerObserved:
        """Start a container."""
        outcome = self.call(StartContainer(id=container.id))
        assert isinstance(outcome, ContainerObserved), outcome
        return outcome

    def running(self, pod: Pod, *names: str) -> list[ContainerObserved]:
        """Have containers of these names run in a new sandbox."""
        sandbox = self.sandbox(pod)
        return [self.started(self.created(pod, sandbox, name)) for name in names]

    def failure(self, request: RuntimeRequest) -> RuntimeFailure:
        """Make a call that fails."""
        outcome = self.call(request)
        assert isinstance(outcome, RuntimeFailure), outcome
        return outcome


def creation_of(pod: Pod, sandbox: SandboxObserved, name: str, attempt: int = 0) -> CreateContainer:
    """Return the request for one container of a pod."""
    return CreateContainer(
        pod=pod,
        container=container_of(pod, name),
        sandbox=sandbox,
        attempt=attempt,
        spec_hash=f"hash-of-{name}",
        image_id="",
    )


class StagedUnderTest(ContainerRuntimeUnderTest):
    """One on the test's clock."""

    def __init__(self, play: Stage, key: Key[Any]) -> None:
        super().__init__()
        self._play = play
        self._key = key

    @override
    def tell(self, message: ContainerRuntimeMessage) -> None:
        self._play.tell(self._key, message)

    @override
    def eventually(self, is_so: Callable[[], bool], within: float = 30.0) -> None:
        for _ in range(int(within * 10)):
            if is_so():
                return
            self._play.advance(0.1)
        assert is_so()

    @override
    def pass_time(self, seconds: float) -> None:
        self._play.advance(seconds)

    @override
    def crash(self) -> None:
        self._play.system.crash(self._key.path)
        self._play.advance(1.0)

    @override
    def described(self) -> RuntimeDescribed:
        def question(reply_to: Port[RuntimeDescribed]) -> Any:
            return DescribeRuntime(reply_to=reply_to)

        return self._play.ask(self._key, question)


@contextmanager
def hollow_under_test() -> Iterator[ContainerRuntimeUnderTest]:
    """Start a hollow runtime in which things take as long as real ones may."""
    with hollow_stage(HollowRules()) as stage:
        yield StagedUnderTest(stage.play, HOLLOW_CONTAINERS)


def _with_kinds(stage: CriStage) -> None:
    """Have its containers do what their commands say."""
    stage.machine.behaviours |= {
        "ends": Behaviour(run_for=1.0, exit_code=3),
        "stubborn": Behaviour(ignores_term=True),
    }


@contextmanager
def cri_with_events() -> Iterator[ContainerRuntimeUnderTest]:
    """Start one that speaks the CRI with a runtime in memory that tells events."""
    with cri_stage(prepare=_with_kinds) as stage:
        yield StagedUnderTest(stage.play, CRI_CONTAINERS)


@contextmanager
def cri_with_containerd_events() -> Iterator[ContainerRuntimeUnderTest]:
    """Start one whose runtime has containerd's own events alone."""

    def prepare(stage: CriStage) -> None:
        _with_kinds(stage)
        stage.cri.events = (CONTAINERD_EVENTS,)

    with cri_stage(prepare=prepare) as stage:
        yield StagedUnderTest(stage.play, CRI_CONTAINERS)


@contextmanager
def cri_without_events() -> Iterator[ContainerRuntimeUnderTest]:
    """Start one whose runtime has no events at all."""

    def prepare(stage: CriStage) -> None:
        _with_kinds(stage)
        stage.cri.events = ()

    with cri_stage(prepare=prepare) as stage:
        yield StagedUnderTest(stage.play, CRI_CONTAINERS)


CONTAINER_RUNTIMES: Final[
    dict[str, Callable[[], AbstractContextManager[ContainerRuntimeUnderTest]]]
] = {
    "hollow": hollow_under_test,
    "cri in memory": cri_with_events,
    "cri in memory with containerd's events": cri_with_containerd_events,
    "cri in memory without events": cri_without_events,
}
"""Every runtime of containers that there is."""
