"""What goes wrong with calls, the runtime and the agent."""

from __future__ import annotations

import errno
from typing import Final

from runtimes.cri.wire import cri_pb2 as cri
from tests.environment.crashes import How
from tests.environment.health import COMMAND, Answer
from tests.simulation.events.event import Kinds, World
from tests.support.cri.fake_cri import CONTAINERD_EVENTS, CRI_EVENTS, NEVER, Fault
from tests.support.cri.fake_wire import BROKEN, TOO_LATE

METHODS: Final = (
    *("RunPodSandbox", "StopPodSandbox", "RemovePodSandbox", "PodSandboxStatus", "ListPodSandbox"),
    *("CreateContainer", "StartContainer", "StopContainer", "RemoveContainer"),
    *("ListContainers", "ContainerStatus", "ImageStatus", "PullImage", "Version"),
)
ALIKE: Final = frozenset({"pods", "objects", "probers"})
"""What the names of actors begin with of which there are many."""
ABOUT: Final = 0.8
"""The share of crashes of one actor that are of those that an opening is about."""


def _fault(world: World) -> None:
    random_ = world.random
    world.troubles()
    fault = Fault(
        method=random_.choice(METHODS), delay=random_.choice([0.0, 0.05, 0.7, 3.0, NEVER])
    )
    fault.failure = random_.choice([BROKEN, TOO_LATE, None])
    if fault.method == "PullImage":
        fault.failure, fault.delay = BROKEN, 3.0  # a pull has an hour: it is not waited for here
    elif fault.delay == NEVER:
        fault.failure = None  # the caller gives up when its deadline has come
    fault.effect_after = random_.choice([0.0, 0.3, 4.0, 70.0, 300.0, NEVER])
    fault.leaves_half = fault.failure is not None and random_.random() < 0.3
    world.node.service.faults.append(fault)


def _fault_command(world: World) -> None:
    """Have a command in a container be carried out or not, and be answered late, otherwise or never."""
    random_ = world.random
    world.troubles()
    fault = Fault(method="ExecSync", times=random_.choice([1, 1, 3]))
    fault.delay = random_.choice([0.0, 0.05, 0.7, 2.0, NEVER])
    fault.failure = random_.choice([BROKEN, TOO_LATE, None]) if fault.delay != NEVER else None
    fault.effect_after = random_.choice([0.0, 0.3, 4.0, NEVER])
    if fault.failure is None and NEVER in {fault.delay, fault.effect_after}:
        fault.of = _is_of_probe  # a postStart has a day: it is not waited for here
    world.node.service.faults.append(fault)


def _is_of_probe(request: cri.ExecSyncRequest) -> bool:
    return request.cmd[0] == COMMAND


def _fail_hooks(world: World) -> None:
    """Have the commands of some hooks fail, or go on for as long as they may."""
    random_ = world.random
    world.troubles()
    troubles = world.node.containers.hooks.troubles
    troubles += random_.choices([Answer.NO, Answer.NONE], k=random_.choice([1, 1, 3]))


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


def _have_crashed(world: World, victim: str) -> None:
    world.node.runtime.crashes(victim)
    world.node.play.system.crash(victim)


def _crash(world: World) -> None:
    world.troubles()
    _have_crashed(world, world.random.choice(world.node.actors()))


def _crash_amid(world: World) -> None:
    """Crash an actor after some turns of what follows a listing."""
    world.troubles()
    victim = world.random.choice(world.node.actors())
    world.node.is_told_to_look()
    for _ in range(world.random.randrange(40)):
        world.node.steps.step()
    _have_crashed(world, victim)


def _crash_working(world: World) -> None:
    """Crash an actor amid its work on the things that happen from now on."""
    assert world.crashes is not None
    world.troubles()
    random_ = world.random
    how, left = random_.choice(list(How)), random_.randrange(1, random_.choice([5, 50, 500]))
    world.crashes.arm(left, how)


def _crash_one_working(world: World) -> None:
    """Crash one actor, or one of those that are alike, amid its work on what happens from now on."""
    is_about = world.about and world.random.random() < ABOUT
    _arm(world, world.random.choice(world.about if is_about else _groups(world)))


def _crash_some_working(world: World) -> None:
    """Crash a few actors, each once, amid their work on what happens from now on."""
    for victim in _groups(world):
        if world.random.random() < 0.25:
            _arm(world, victim)


def _groups(world: World) -> list[str]:
    """Return the actors that there are, and what the names of those begin with that are alike."""
    groups = {each: each.partition("/")[0] for each in world.node.actors()}
    return sorted({group if group in ALIKE else each for each, group in groups.items()})


def _arm(world: World, victim: str) -> None:
    assert world.crashes is not None
    world.troubles()
    random_ = world.random
    how, left = random_.choice(list(How)), random_.randrange(1, random_.choice([3, 6, 20]))
    world.crashes.arm(left, how, victim)


def _kill(world: World) -> None:
    world.troubles()
    world.oracle.wishes.note_kill(world.node.wall)
    world.node.is_killed()


def _die(world: World) -> None:
    """Have no agent for a while in which the machine goes on."""
    world.troubles()
    pause = world.random.choice([0.3, 5.0, 70.0, 700.0])
    world.oracle.wishes.note_kill(world.node.wall + pause)
    world.node.is_dead_for(pause)


def _lose_power(world: World) -> None:
    assert world.power is not None
    world.troubles()
    world.oracle.wishes.note_kill(world.node.wall)
    world.node.loses_power(world.power)


def _fail_disk(world: World) -> None:
    world.troubles()
    trouble, random_ = world.node.runtime.trouble, world.random
    trouble.well, trouble.times = random_.randrange(8), random_.choice([1, 1, 3, 20])
    trouble.code = random_.choice([errno.EIO, errno.ENOSPC])


AGENT: Final[Kinds] = {
    "an actor crashes": (5, _crash),
    "an actor crashes amid": (3, _crash_amid),
    "an actor crashes amid its work": (5, _crash_working),
    # In openings alone, in which they crash again and again:
    "one actor crashes amid its work": (0, _crash_one_working),
    "some actors crash amid their work": (0, _crash_some_working),
    "the agent is killed": (2, _kill),
    "the agent is dead for a while": (2, _die),
    "the power goes": (2, _lose_power),
}
"""What goes wrong with the agent itself."""
DISK: Final[Kinds] = {"the disk will fail": (3, _fail_disk)}
TROUBLE: Final[Kinds] = {
    "a call will fail": (6, _fault),
    "a command will fail": (3, _fault_command),
    "hooks will fail": (2, _fail_hooks),
    "the runtime goes": (2, _go_away),
    "the runtime comes back": (4, _come_back),
    "events change": (2, _change_streams),
    **AGENT,
    **DISK,
}
