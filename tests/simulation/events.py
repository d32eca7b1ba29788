"""What happens in a history. Each event carries its own luck: without the others it still happens."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from messages.pods import Pod
from messages.sources import Rescan
from tests.environment.node import Node
from tests.environment.oracle.oracle import Oracle
from tests.environment.oracle.stops import NOBODYS
from tests.simulation.workload import KINDS, NAMES, pod_of, with_least_grace, with_other_image
from tests.support.cri.fake_cri import CONTAINERD_EVENTS, CRI_EVENTS, Fault
from tests.support.cri.fake_machine import FakeContainer
from tests.support.cri.fake_wire import BROKEN
from tests.support.sources.memory_source import FAKE_SOURCE

METHODS: Final = (
    *("RunPodSandbox", "StopPodSandbox", "RemovePodSandbox", "PodSandboxStatus", "ListPodSandbox"),
    *("CreateContainer", "StartContainer", "StopContainer", "RemoveContainer"),
    *("ListContainers", "ContainerStatus", "ImageStatus", "Version"),
)


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happens, and how long nothing happens after it."""

    kind: str
    luck: int
    """The seed of what is drawn when it happens."""
    pause: float


@dataclass(slots=True, eq=False)
class World:
    """What events happen to."""

    node: Node
    oracle: Oracle
    pods: dict[str, str]
    """The UIDs of the pods that are wanted, by name."""
    random: random.Random
    """The luck of the event that happens."""
    made: int = 0
    """How many pods there have been."""

    def tells(self) -> None:
        """Have the source list the pods that are wanted."""
        pods = [self.oracle.wishes.pods[uid] for uid in self.pods.values()]
        self.oracle.wants(pods)
        self.node.lists(pods)

    def container(self) -> FakeContainer | None:
        """Return one container of a pod of ours; None if there is none."""
        machine = self.node.machine
        ours = [
            each
            for each in machine.containers.values()
            if not machine.instance(each).uid.startswith(NOBODYS)
        ]
        return self.random.choice(ours) if ours else None

    def troubles(self) -> None:
        """Note that what is late may be so because of this."""
        self.oracle.wishes.troubled_at = self.node.wall


# --- what people do ------------------------------------------------------------------------------------


def _add(world: World) -> None:
    name, kind = world.random.choice(NAMES), world.random.choice(sorted(KINDS))
    if name not in world.pods:
        world.made += 1
        pod = pod_of(name, f"{name}-{world.made}", kind, world.random)
        world.oracle.wishes.pods[pod.uid] = pod
        world.pods[name] = pod.uid
        world.tells()


def _remove(world: World) -> None:
    if world.pods:
        del world.pods[world.random.choice(sorted(world.pods))]
        world.tells()


def _hurry(world: World) -> None:
    """Edit a pod, and while that has effects, give it the shortest grace and remove it."""
    if world.pods:
        name = world.random.choice(sorted(world.pods))
        uid = world.pods[name]
        for edited in (with_other_image, with_least_grace):
            _change(world, uid, edited)
            world.node.advance(world.random.choice([0.0, 0.3]))
        del world.pods[name]
        world.tells()


def _edit(world: World) -> None:
    if world.pods:
        _change(world, world.pods[world.random.choice(sorted(world.pods))], with_other_image)


def _change(world: World, uid: str, edited: Callable[[Pod], Pod]) -> None:
    wishes = world.oracle.wishes
    wishes.pods[uid] = edited(wishes.pods[uid])
    wishes.edited_at[uid] = world.node.wall
    world.tells()


# --- what happens on the machine -----------------------------------------------------------------------


def _end(world: World) -> None:
    if one := world.container():
        world.node.machine.end(one.id, world.random.choice([0, 1]))


def _vanish(world: World) -> None:
    if one := world.container():
        world.oracle.wishes.touched.add(world.node.machine.instance(one).uid)
        world.node.machine.vanish(one.id)


def _lose_sandbox(world: World) -> None:
    if one := world.container():
        world.oracle.wishes.touched.add(world.node.machine.instance(one).uid)
        world.node.machine.kill_pause(one.sandbox_id)


# --- what goes wrong -----------------------------------------------------------------------------------


def _fault(world: World) -> None:
    random_ = world.random
    world.troubles()
    fault = Fault(
        method=random_.choice(METHODS),
        delay=random_.choice([0.0, 0.05, 0.7, 3.0]),
        failure=BROKEN if random_.random() < 0.5 else None,
        has_effect=random_.random() < 0.5,
    )
    world.node.service.faults.append(fault)


def _go_away(world: World) -> None:
    world.troubles()
    world.node.wire.go_away()


def _come_back(world: World) -> None:
    world.troubles()
    world.node.wire.come_back()


def _change_streams(world: World) -> None:
    random_, service = world.random, world.node.service
    world.troubles()
    service.loses_events, service.repeats_events = random_.random() < 0.5, random_.random() < 0.5
    service.events = random_.choice([(CRI_EVENTS,), (CONTAINERD_EVENTS,), ()])
    service.end_streams()


def _crash(world: World) -> None:
    world.troubles()
    world.node.play.system.crash(world.random.choice(world.node.actors()))


def _crash_amid(world: World) -> None:
    """Crash an actor after some turns of what follows a listing."""
    world.troubles()
    victim = world.random.choice(world.node.actors())
    world.node.play.port(FAKE_SOURCE).tell(Rescan())
    for _ in range(world.random.randrange(40)):
        world.node.steps.step()
    world.node.play.system.crash(victim)


def _kill(world: World) -> None:
    world.troubles()
    world.oracle.wishes.killed_at = world.node.wall
    world.node.is_killed()


def _nothing(world: World) -> None:
    """Let time pass alone."""


HAPPENS: Final[Mapping[str, tuple[int, Callable[[World], None]]]] = {
    "a pod is added": (10, _add),
    "a pod is removed": (6, _remove),
    "a pod is removed in a hurry": (3, _hurry),
    "a pod is edited": (4, _edit),
    "a container ends": (6, _end),
    "a container vanishes": (2, _vanish),
    "a sandbox ends": (2, _lose_sandbox),
    "a call will fail": (6, _fault),
    "the runtime goes": (2, _go_away),
    "the runtime comes back": (4, _come_back),
    "events change": (2, _change_streams),
    "an actor crashes": (5, _crash),
    "an actor crashes amid": (3, _crash_amid),
    "the agent is killed": (2, _kill),
    "time passes": (16, _nothing),
}
"""How often each event is, and what it does."""


def drawn(random_: random.Random, count: int) -> list[Event]:
    """Return so many events."""
    kinds = random_.choices(list(HAPPENS), [weight for weight, _ in HAPPENS.values()], k=count)
    long, short = [0.02, 0.06, 0.3, 2.0, 12.0, 61.0, 305.0], [0.0, 0.02, 0.3]
    return [
        Event(
            kind,
            random_.randrange(1 << 30),
            random_.choice(long if kind == "time passes" else short),
        )
        for kind in kinds
    ]
