"""Runtimes on the tests' containerd: the one that speaks the CRI, and the one of pods on top of it.

They run on real threads and on the machine's clock, as containers do.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from actors.probes.names import look_up_lanes
from actors.volumes.mounts.system_calls import KernelMounts
from files.cgroups.names import CgroupOptions
from kernel import Port, Threads
from messages.events import PostEvent
from runtimes.containers.actor import POD_RUNTIME, ContainersOptions, ContainersRuntime
from runtimes.containers.record import RuntimeMemory
from runtimes.cri.actor import CriRuntime
from runtimes.cri.cgroups.opening import open_cgroups
from runtimes.cri.configs.documents import ConfigNotice
from runtimes.cri.configs.node import CriNode
from runtimes.cri.hands import disk_lanes
from runtimes.cri.images.actor import ImageKeeper
from runtimes.cri.images.messages import IMAGE_KEEPER, ImageMemory, ImagePorts
from runtimes.cri.messages import CRI_CONTAINERS, CriMemory, CriPorts
from runtimes.cri.operations.flow import OperationContext
from runtimes.cri.wire.grpc_wire import GrpcWire
from runtimes.lifecycle_hooks.actor import HOOK_RUNNER, HookMemory, HookRunner
from runtimes.lifecycle_hooks.sockets import LoopSockets
from tests.support.containers.cgroups import make_cgroup
from tests.support.containers.containerd import Containerd
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import PATIENT_ROOT, Stage, StagedActor, stage_for
from tests.support.patience import PATIENCE

LOOK_EVERY: Final = 0.02
"""Seconds between two looks at whether something has come."""


class CriStage:
    """A runtime of containers on a containerd and, if it is to be, one of pods on top."""

    play: Stage

    def __init__(self, containerd: Containerd, *, with_pods: bool) -> None:
        self.containerd = containerd
        self.events: Probe[PostEvent] = Probe()
        self.node = CriNode(
            name="n1",
            root_dir=str(containerd.folder / "agent"),
            pod_logs_dir=str(containerd.folder / "logs"),
            ips=("127.0.0.1",),
        )
        self.notices: list[ConfigNotice] = []
        self._with_pods = with_pods
        self.start()

    def start(self) -> None:
        """Begin as a new process does: with a connection of its own, and without memories."""
        self.memory = CriMemory()
        self.wire = GrpcWire(self.containerd.socket)
        self._disk = disk_lanes()
        self._images = ImageMemory.of()
        actors: list[StagedActor] = [
            (IMAGE_KEEPER, lambda _: self._image_keeper()),
            (CRI_CONTAINERS, self._containers),
        ]
        if self._with_pods:
            self._pods, self._hooks = RuntimeMemory(), HookMemory()
            self._names = look_up_lanes("hooks")
            self._hook_sockets = LoopSockets(self._names)
            actors += [(HOOK_RUNNER, self._hook_runner), (POD_RUNTIME, self._runtime)]
        self.play = stage_for(*actors, runtime=Threads(), root=PATIENT_ROOT, live=True)
        self.play.system.start()

    def die(self) -> None:
        """End as a process that is killed: what was asked for is not waited for, and nothing is stopped."""
        assert self.play.stop() == 0
        self.wire.close()
        self._disk.close()

    def _image_keeper(self) -> ImageKeeper:
        ports = ImagePorts(
            wire=self.wire,
            disk=self._disk,
            events=self.events,
        )
        return ImageKeeper(ports, self._images)

    def _containers(self, play: Stage) -> CriRuntime:
        make_cgroup(self.containerd.cgroup)
        options = CgroupOptions(root=self.containerd.cgroup)
        cgroups = open_cgroups(options)
        context = OperationContext(
            inventory=self.memory.inventory,
            node=lambda: self.node,
            runtime=self._name,
            cgroups=cgroups,
            mounts=KernelMounts(),
            cgroup_options=options,
            cgroup_facts=cgroups.facts,
            notice=lambda _pod, notice: self.notices.append(notice),
        )
        images: Port[Any] = play.port(IMAGE_KEEPER)
        me = play.port(CRI_CONTAINERS)
        ports = CriPorts(me=me, images=images, events=self.events)
        return CriRuntime(ports, self.memory, context, self.wire, self._disk)

    def _hook_runner(self, play: Stage) -> HookRunner:
        containers: Port[Any] = play.port(CRI_CONTAINERS)
        return HookRunner(containers, self._hook_sockets, self._hooks)

    def _name(self) -> str:
        greeting = self.memory.greeting
        return greeting.name if greeting is not None else ""

    def _runtime(self, play: Stage) -> ContainersRuntime:
        containers: Port[Any] = play.port(CRI_CONTAINERS)
        hooks: Port[Any] = play.port(HOOK_RUNNER)
        me, options = play.port(POD_RUNTIME), ContainersOptions(parallel_starts=8, parallel_stops=8)
        return ContainersRuntime(containers, hooks, me, self._pods, options, self.events)


@contextmanager
def cri_stage(containerd: Containerd, *, with_pods: bool) -> Iterator[CriStage]:
    """Start the runtimes on a containerd with a network, for the ``with`` block."""
    containerd.add_network()
    stage = CriStage(containerd, with_pods=with_pods)
    try:
        wait_until(lambda: not stage.memory.away, PATIENCE)
        yield stage
    finally:
        stage.die()


def wait(seconds: float) -> None:
    """Let a time pass in which nothing is to happen."""
    threading.Event().wait(seconds)


def wait_until(is_so: Callable[[], bool], within: float) -> None:
    """Return as soon as ``is_so``. Fails if that is not so ``within`` seconds."""
    deadline = time.monotonic() + within
    while not is_so():
        assert time.monotonic() < deadline, f"not so after {within:g} s"
        wait(LOOK_EVERY)
