"""What happens to the jobs of a class of somebody's own, and what goes wrong with its calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from actorlet import ContainerReport, PodReport
from tests.environment.machine import NOBODYS
from tests.environment.runtimes.provider import ClassFault, Job, Provided
from tests.simulation.events.event import Kinds, World

METHODS: Final = ("run", "run", "stop", "stop", "observe", "update", "forget")
RUBBISH: Final[Mapping[str, Callable[[Any], Any]]] = {
    "nothing": lambda _: None,
    "no pods": lambda _: {},
    "a list": list,
    "numbers": lambda _: {1: "Running"},
    "no report": lambda told: dict.fromkeys(told, 3),
    "no phase": lambda told: dict.fromkeys(told, "Gone"),
    "a phase that goes back": lambda told: dict.fromkeys(told, "Pending"),
    "fewer restarts": lambda told: dict.fromkeys(
        told, PodReport(containers={"main": ContainerReport(restarts=-1)})
    ),
    "no address": lambda told: dict.fromkeys(told, PodReport("Running", ip="home")),
}
"""What may be observed in place of how the pods are."""


def provided(world: World) -> Provided:
    """Return what runs the pods."""
    runtime = world.node.runtime
    assert isinstance(runtime, Provided)
    return runtime


def _job(world: World) -> Job | None:
    jobs = list(provided(world).jobs.values())
    return world.random.choice(jobs) if jobs else None


def _end(world: World) -> None:
    if job := _job(world):
        provided(world).end(job, world.random.choice([0, 1]))


def _restart(world: World) -> None:
    if job := _job(world):
        provided(world).restart(job)


def _vanish(world: World) -> None:
    if job := _job(world):
        world.troubles()
        provided(world).vanish(job)


def _tell_stranger(world: World) -> None:
    runtime = provided(world)
    uid = f"{NOBODYS}-{len(runtime.strangers)}"
    runtime.strangers[uid] = PodReport(world.random.choice(["Running", "Succeeded", "Pending"]))


def _fault(world: World) -> None:
    random_ = world.random
    world.troubles()
    effect = random_.choice([0.0, 0.0, 0.3, 7.0, 40.0])
    fault = ClassFault(
        method=random_.choice(METHODS),
        effect_after=effect,
        answer_after=effect + random_.choice([0.0, 0.0, 0.3, 7.0, 90.0]),
        raises=random_.random() < 0.5,
        has_effect=random_.random() < 0.7,
        is_async=random_.random() < 0.3,
    )
    provided(world).faults.append(fault)


def _talk_rubbish(world: World) -> None:
    world.troubles()
    answer = RUBBISH[world.random.choice(sorted(RUBBISH))]
    for _ in range(world.random.choice([1, 3])):
        provided(world).faults.append(ClassFault(method="observe", answer=answer))


JOBS: Final[Kinds] = {
    "a job ends": (6, _end),
    "a job is restarted by the class": (3, _restart),
    "a job gets lost": (3, _vanish),
    "the class tells of a stranger": (1, _tell_stranger),
    "a call of the class will fail": (8, _fault),
    "the class will tell rubbish": (4, _talk_rubbish),
}
