"""What goes wrong with calls, the runtime and the agent."""

from __future__ import annotations

from typing import Final

from tests.simulation.events.event import Kinds, World
from tests.support.cri.fake_cri import CONTAINERD_EVENTS, CRI_EVENTS, NEVER, Fault
from tests.support.cri.fake_wire import BROKEN, TOO_LATE

METHODS: Final = (
    *("RunPodSandbox", "StopPodSandbox", "RemovePodSandbox", "PodSandboxStatus", "ListPodSandbox"),
    *("CreateContainer", "StartContainer", "StopContainer", "RemoveContainer"),
    *("ListContainers", "ContainerStatus", "ImageStatus", "Version"),
)


def _fault(world: World) -> None:
    random_ = world.random
    world.troubles()
    fault = Fault(
        method=random_.choice(METHODS), delay=random_.choice([0.0, 0.05, 0.7, 3.0, NEVER])
    )
    fault.failure = random_.choice([BROKEN, TOO_LATE, None])
    if fault.delay == NEVER:
        fault.failure = None  # the caller gives up when its deadline has come
    fault.effect_after = random_.choice([0.0, 0.3, 4.0, 70.0, 300.0, NEVER])
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
    world.node.is_told_to_look()
    for _ in range(world.random.randrange(40)):
        world.node.steps.step()
    world.node.play.system.crash(victim)


def _kill(world: World) -> None:
    world.troubles()
    world.oracle.wishes.killed_at = world.node.wall
    world.node.is_killed()


TROUBLE: Final[Kinds] = {
    "a call will fail": (6, _fault),
    "the runtime goes": (2, _go_away),
    "the runtime comes back": (4, _come_back),
    "events change": (2, _change_streams),
    "an actor crashes": (5, _crash),
    "an actor crashes amid": (3, _crash_amid),
    "the agent is killed": (2, _kill),
}
