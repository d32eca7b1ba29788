"""A stage with CgroupKeeper on it, on cgroups in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from typing_extensions import override

from files.cgroups.kernel_trees import V1Tree
from files.cgroups.names import CgroupOptions
from kernel import Port
from messages.changes import Op, PodChange
from messages.container_runtime import FollowContainers, PodContainersAre, RuntimeIsAway
from messages.pod_lives import PodLife
from messages.pod_manager import PodsAre, PodsChanged
from messages.pods import FILE, Pod, PodUid, SourceName
from runtimes.cri.cgroup_keeper import CGROUP_KEEPER, CgroupKeeper, CgroupKeeperPorts
from runtimes.cri.cgroups.pod_cgroups import PodCgroups
from runtimes.cri.messages import ForgetPodsBut
from tests.support.kernel.hand_lanes import HandLanes
from tests.support.kernel.stage import Stage, stage_of
from tests.support.runtimes.cgroup_model import CgroupModel
from tests.support.runtimes.logging_runtime import LoggingRuntime, PodsOfNode

OPTIONS = CgroupOptions(capacity={"cpu": 4000, "memory": 2**33})


class RuntimeOfPods(Port[FollowContainers | ForgetPodsBut]):
    """A runtime of containers that has nothing, and knows which pods may keep their user ids."""

    def __init__(self) -> None:
        self.runtime = LoggingRuntime()
        self.keep_ids: list[frozenset[PodUid]] = []

    @override
    def tell(self, message: FollowContainers | ForgetPodsBut, /) -> None:
        if isinstance(message, ForgetPodsBut):
            self.keep_ids.append(message.known)
        else:
            self.runtime.tell(message)


class CgroupStage:
    """CgroupKeeper, and what is around it."""

    play: Stage

    def __init__(self) -> None:
        self.model = CgroupModel()
        self.model.mount_v1("cpu", "memory")
        self.cgroups = PodCgroups(OPTIONS, V1Tree(self.model, self.model.mounts))
        self.work = HandLanes()
        self.pods, self.runtime = PodsOfNode(), RuntimeOfPods()
        self.pods.have_listed = False

    def make(self, play: Stage) -> CgroupKeeper:
        ports = CgroupKeeperPorts(
            me=play.port(CGROUP_KEEPER),
            containers=self.runtime,
            pod_manager=self.pods,
            pod_keeper=self.pods,
            sources=frozenset({FILE}),
        )
        return CgroupKeeper(ports, self.cgroups, self.work)

    def list(self, *pods: Pod, source: SourceName = FILE, is_provisional: bool = False) -> None:
        """Have a source tell all its pods."""
        fact = PodsAre(source=source, pods=pods, is_provisional=is_provisional)
        self.play.tell(CGROUP_KEEPER, fact)

    def change(self, op: Op, pod: Pod) -> None:
        """Have the source of files tell a change."""
        change = PodChange(op=op, pod=pod)
        self.play.tell(CGROUP_KEEPER, PodsChanged(source=FILE, changes=(change,)))

    def live(self, pod: Pod) -> None:
        """Have the node have a life of a pod."""
        self.pods.lives[pod.uid] = PodLife.SYNC

    def leave(self) -> None:
        """Have the runtime be away."""
        self.play.tell(CGROUP_KEEPER, RuntimeIsAway(message="refused"))

    def has_nothing_of(self, pod: Pod) -> None:
        """Have the runtime have nothing of a pod."""
        self.play.tell(CGROUP_KEEPER, PodContainersAre(uid=pod.uid, sandboxes=()))

    def shares(self) -> str | None:
        """Return the shares of burstable pods."""
        return self.model.read("/cg/cpu/kubepods/burstable/cpu.shares")

    def has_cgroup(self, pod: Pod) -> bool:
        """Return whether a pod has a cgroup."""
        return any(name.endswith(f"pod{pod.uid}") for name in self.model.cgroups)


@contextmanager
def cgroup_stage() -> Iterator[CgroupStage]:
    """Start a keeper for the ``with`` block."""
    made = CgroupStage()
    with stage_of((CGROUP_KEEPER, made.make)) as made.play:
        yield made
