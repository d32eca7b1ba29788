"""What people do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from messages.pods import Pod
from tests.simulation.events.event import Kinds, World
from tests.simulation.workload import KINDS, NAMES, pod_of, with_least_grace, with_other_image


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


PEOPLE: Final[Kinds] = {
    "a pod is added": (10, _add),
    "a pod is removed": (6, _remove),
    "a pod is removed in a hurry": (3, _hurry),
    "a pod is edited": (4, _edit),
}
