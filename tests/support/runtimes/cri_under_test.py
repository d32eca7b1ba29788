"""The runtimes on a real containerd, under the contracts that every runtime keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from typing_extensions import override

from kernel import Key, Port, Steps
from messages.container_runtime import ContainerRuntimeMessage
from messages.pod_runtime import (
    ContainerState,
    DescribeRuntime,
    Mark,
    PodObserved,
    PodRuntimeMessage,
    RunPod,
    RuntimeDescribed,
)
from messages.pods import Pod
from runtimes.containers.actor import POD_RUNTIME
from runtimes.cri.messages import CRI_CONTAINERS
from runtimes.cri.wire import cri_pb2 as cri
from tests.support.containers import needs
from tests.support.containers.containerd import Containerd
from tests.support.containers.images import BUSYBOX, LocalImage
from tests.support.containers.registry import registry_of
from tests.support.kernel.stage import Stage
from tests.support.patience import PATIENCE, SLOWNESS
from tests.support.runtimes.container_runtimes import ContainerRuntimeUnderTest
from tests.support.runtimes.cri_stage import CriStage, cri_stage, wait, wait_until
from tests.support.runtimes.pod_runtimes import PodRuntimeUnderTest

PACE: Final = 0.4
"""Times in which nothing is to happen pass so much faster than on the test's clock, and so do graces."""
LONG_ENOUGH: Final = 6.0
"""Seconds of real time that stand for any longer time."""
STARTS_WITHIN: Final = 3.0 * SLOWNESS
"""Seconds in which a command for one pod mostly has shown what comes of it."""
IN_BETWEEN: Final = frozenset({"", "ContainerCreating", "PodInitializing"})


class CriUnderTest(ContainerRuntimeUnderTest):
    """The one that speaks the CRI."""

    def __init__(self, stage: CriStage) -> None:
        super().__init__()
        self._stage = stage

    @override
    def tell(self, message: ContainerRuntimeMessage) -> None:
        self._stage.play.system.address(CRI_CONTAINERS).tell(message)

    @override
    def eventually(self, is_so: Callable[[], bool], within: float = 30.0) -> None:
        wait_until(is_so, within + PATIENCE)

    @override
    def pass_time(self, seconds: float) -> None:
        wait(seconds)

    @override
    def crash(self) -> None:
        self._stage.play.system.crash(CRI_CONTAINERS.path)

    @override
    def described(self) -> RuntimeDescribed:
        def question(reply_to: Port[RuntimeDescribed]) -> Any:
            return DescribeRuntime(reply_to=reply_to)

        return self._stage.play.ask(CRI_CONTAINERS, question)


@contextmanager
def cri_under_test(containerd: Containerd) -> Iterator[ContainerRuntimeUnderTest]:
    """Start the runtime for the ``with`` block, with a registry for its image."""
    busybox = needs.busybox()
    assert busybox is not None
    with (
        registry_of("docker.io", [LocalImage(name=BUSYBOX)], busybox) as registry,
        cri_stage(containerd, with_pods=False) as stage,
    ):
        containerd.add_registry(registry.name, registry.port)
        yield CriUnderTest(stage)


class RealContainersUnderTest(PodRuntimeUnderTest):
    """``runtimes.containers`` over real containers."""

    key = Key[Any](POD_RUNTIME.path)
    victims = (key, Key[Any](CRI_CONTAINERS.path))
    why_impossible = "127.0.0.1:1: connect: connection refused"

    def __init__(self, stage: CriStage) -> None:
        self._stage = stage
        self._inbox: list[PodObserved] = []
        super().__init__(Steps())

    @override
    def make_stage(self, schedule: Steps) -> Stage:
        return self._stage.play

    @override
    def tell(self, message: PodRuntimeMessage) -> None:
        """Tell, and wait until a pod that is to run shows what comes of that."""
        self.play.system.address(self.key).tell(message)
        if isinstance(message, RunPod):
            with_mark = message
            try:
                wait_until(lambda: self._has_come_of(with_mark), STARTS_WITHIN)
            except AssertionError:
                return  # What did not come, the test may not want.
        else:
            self.play.settle()

    @override
    def pass_time(self, seconds: float) -> None:
        wait(min(seconds * PACE, LONG_ENOUGH))

    @override
    def eventually(self, is_so: Callable[[], bool], within: float) -> None:
        wait_until(is_so, PATIENCE)

    @override
    def stop(self, pod: Pod, grace: float = 30.0, mark: Mark | None = None) -> Mark:
        return super().stop(pod, grace * PACE, mark)

    @override
    def all_told(self) -> list[PodObserved]:
        self._inbox += self.worker.drain()
        told, self._inbox = self._inbox, []
        return told

    @override
    def starts(self, pod: Pod) -> int:
        return sum(each.started_at > 0 for each in self._statuses(pod))

    @override
    def lives(self, pod: Pod) -> bool:
        return any(each.state == cri.CONTAINER_RUNNING for each in self._statuses(pod))

    @override
    def forget_everything(self) -> None:
        self._stage.die()
        self._stage.start()
        self.play = self._stage.play

    @override
    def go_blind(self) -> None:
        self._stage.containerd.kill()
        wait_until(lambda: bool(self.described().trouble), PATIENCE)

    @override
    def see_again(self) -> None:
        self._stage.containerd.start()
        wait_until(lambda: not self.described().trouble, PATIENCE)

    def _has_come_of(self, command: RunPod) -> bool:
        self._inbox += self.worker.drain()
        told = [each for each in self._inbox if each.uid == command.pod.uid] or [
            each for uid, each in self._last.items() if uid == command.pod.uid
        ]
        if not told or told[-1].mark < command.mark:
            return False
        return all(
            (history.current is not None and history.current.state is not ContainerState.CREATED)
            or (history.wait is not None and history.wait.reason not in IN_BETWEEN)
            for history in told[-1].containers.values()
        ) and bool(told[-1].containers)

    def _statuses(self, pod: Pod) -> list[cri.ContainerStatus]:
        with self._stage.containerd.client() as client:
            return [
                client.container(each.id)
                for each in client.containers()
                if each.labels["io.kubernetes.pod.uid"] == pod.uid
            ]


@contextmanager
def real_containers_under_test(containerd: Containerd) -> Iterator[PodRuntimeUnderTest]:
    """Start ``runtimes.containers`` on real containers for the ``with`` block."""
    with cri_stage(containerd, with_pods=True) as stage:
        yield RealContainersUnderTest(stage)
