"""Containers of a machine: a runtime in memory at the end of the agent's wire."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from typing_extensions import override

from agent.edges import ContainerEdges
from runtimes.cri.hands import SIZES
from runtimes.cri.operations.flow import Disk
from runtimes.cri.wire import cri_pb2 as cri
from runtimes.cri.wire.transport import RpcOutcome
from tests.environment.commands import CommandedCri, HeardWire, Hooks
from tests.environment.health import Answer, Health, question_of
from tests.environment.lanes import SteppedLanes
from tests.environment.machine import NOBODYS, PARTS, Instance, Machine, Witness
from tests.environment.mounts import BindMounts
from tests.environment.outside import Outside
from tests.environment.probing import loops
from tests.environment.runtimes.runtime import InThisLife, Runtime
from tests.support.files.power import DiskTrouble
from tests.support.runtimes.hooks_stage import HandMadeSockets

IMAGES: Final = ("docker.io/library/busybox:1.36", "docker.io/library/busybox:1.37")
"""The images that pods have, and the machine, too."""
UNTOUCHED: Final = "docker.io/library/busybox:1.38"
"""An image of the machine that nobody pulls. After a pull whose end nobody knows, a pod has to pull."""
DISK_JOB: Final = "job of the disk"


class CountedDisk:
    """What is known of the disk in all lives of the agent."""

    def __init__(self, trouble: DiskTrouble) -> None:
        self.jobs = 0
        self._trouble = trouble

    def lanes(self, in_this_life: InThisLife) -> Disk:
        """Return who does the work on it in this life."""
        return SteppedLanes(SIZES, in_this_life, self._trouble, self._count)

    def _count(self) -> None:
        self.jobs += 1


class PulledCri(CommandedCri):
    """Tells the witness of its machine by which passwords images are pulled."""

    @override
    def _carry_out(self, method: str, request: Any, answer: Callable[[RpcOutcome], None]) -> None:
        if method == "PullImage":
            self._machine.witness.pulls(request.auth.password)
        super()._carry_out(method, request, answer)


class InContainers(Runtime):
    """Runs pods in containers."""

    makes_volumes = True
    flags = ("--runtime=cri", "--container-runtime-endpoint=unix:///nowhere.sock")

    def __init__(self, outside: Outside) -> None:
        super().__init__(outside)
        self.machine = Machine(lambda: int(self.wall * 1_000_000_000), outside.later)
        for number, image in enumerate((*IMAGES, UNTOUCHED)):
            self.machine.images.ids[image] = f"sha256:{number + 7:0>64x}"
        self.health = Health()
        self.hooks = Hooks()
        self.service = PulledCri(self.machine, outside.later, self._said, self.hooks)
        self.disk = CountedDisk(self.trouble)
        self.binds = BindMounts()
        self.mounts = self.binds
        self.links: list[Path] = []
        """What containers have put into their volumes to lead out of them."""
        self.pushed_at: dict[str, float] = {}
        """When names of images came to mean what they mean in the registry."""
        self._wire: HeardWire | None = None

    @property
    def wire(self) -> HeardWire:
        """What the agent reaches the machine by."""
        assert self._wire is not None
        return self._wire

    @property
    @override
    def is_there(self) -> bool:
        return self.wire.is_there

    @override
    def loses_power(self) -> None:
        self.machine.lose_power()
        self.binds.loses_power()

    @override
    def is_seen_by(self, witness: Witness) -> None:
        self.machine.witness = witness

    @override
    def edges(self, in_this_life: InThisLife) -> Mapping[str, Any]:
        was_there = self._wire is None or self._wire.is_there
        self.service.streams.clear()
        if self._wire is not None:
            self._wire.lose_agent()
        wire = self._wire = HeardWire(self.service, self.machine, in_this_life)
        wire.is_there = was_there
        containers = ContainerEdges(
            wire=lambda _: wire, disk=self.disk.lanes(in_this_life), hook_sockets=HandMadeSockets()
        )
        return {"containers": containers, "probe_loop": loops(self._ask_over, in_this_life)}

    def _ask_over(self, ip: str, port: int, sent: bytes) -> Answer | None:
        """Return what is answered by whoever listens at an address. None if nobody does."""
        for one in self.machine.at(ip):
            if what := question_of(one.config.metadata.name, port, sent):
                said, asked = self._said(one.id, what), self.machine.instance(one)
                self.machine.witness.answers(asked, what, is_yes=said is Answer.YES)
                return said
        return None

    def _said(self, container_id: str, what: str) -> Answer | None:
        """Return what a container answers. None if it does not run."""
        one = self.machine.containers.get(container_id)
        if one is None or one.has_ended or not one.started_at:
            return None
        age = (self.machine.now() - one.started_at) / 1e9
        return self.health.says(one.id, one.config.metadata.name, what, age)

    @override
    def says(self, one: Instance, what: str) -> bool:
        age = self.wall - one.started_at
        return self.health.says(one.id, one.name, what, age) is Answer.YES

    @override
    def live(self) -> Iterator[Instance]:
        return map(self.machine.instance, self.machine.running())

    @override
    def work(self) -> Counter[str]:
        calls = Counter(method for method, _ in self.service.asked)
        return calls + Counter({DISK_JOB: self.disk.jobs})

    @override
    def others(self) -> Mapping[str, str]:
        machine = self.machine
        sandboxes = {
            each.id: cri.PodSandboxState.Name(each.state)
            for each in machine.sandboxes.values()
            if each.config.metadata.uid.startswith(NOBODYS)
        }
        containers = {
            each.id: cri.ContainerState.Name(each.state)
            for each in machine.containers.values()
            if each.sandbox_id in sandboxes
        }
        return sandboxes | containers

    @override
    def meaning(self, image: str, *, is_pulled: bool) -> tuple[str, float]:
        images = self.machine.images
        if is_pulled and image in images.registry:
            return images.registry[image], self.pushed_at[image]
        return images.ids.get(image, ""), images.moved_at.get(image, 0) / 1e9

    def push(self, image: str, image_id: str) -> None:
        """Have the name of an image mean another one where images are pulled from."""
        self.machine.images.registry[image] = image_id
        self.pushed_at[image] = self.wall

    @override
    def newest_ids(self, uid: str) -> Mapping[str, str]:
        instances = map(self.machine.instance, self.machine.containers.values())
        ours = [each for each in instances if each.uid == uid and each.started_at]
        ours.sort(key=lambda each: each.attempt)
        return {each.name: f"containerd://{each.id}" for each in ours}

    @override
    def left_over(self, wanted: set[str]) -> Iterator[str]:
        machine = self.machine
        ready: Counter[str] = Counter()
        for sandbox in machine.sandboxes.values():
            uid = sandbox.config.metadata.uid
            if uid not in wanted and not uid.startswith(NOBODYS):
                yield f"a sandbox of {uid} is left"
            ready[uid] += sandbox.state == cri.SANDBOX_READY
        yield from (f"{uid} has {count} sandboxes" for uid, count in ready.items() if count > 1)
        for one in machine.containers.values():
            uid = machine.instance(one).uid
            if one.sandbox_id not in machine.sandboxes and not uid.startswith(NOBODYS):
                yield f"{one.name} is left without its sandbox"
        dead = Counter(
            (each.uid, each.name)
            for each in map(machine.instance, machine.containers.values())
            if each.finished_at and not each.uid.startswith(NOBODYS)
        )
        # The one before is the last state of what runs; of what does not, the newest is its state.
        live = {(each.uid, each.name) for each in self.live()}
        too_many = {key: count for key, count in dead.items() if count > 2 - (key in live)}
        yield from (f"{key} has {count} dead instances" for key, count in too_many.items())
        for place in self.binds.binds:
            if not any(f"/pods/{uid}{PARTS}" in place for uid in wanted):
                yield f"a part is left at {place[-80:]}"
        if self.wire.in_flight > len(self.service.streams):
            streams = len(self.service.streams)
            yield f"{self.wire.in_flight} calls are under way, {streams} streams"
