"""What people do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from messages.pods import Pod
from tests.environment.origins import FromCluster, Origin
from tests.simulation.events.event import Kinds, World
from tests.simulation.reading import WITH_TOKEN
from tests.simulation.workload import NAMES, pod_of, with_grace, with_other_image


def _add(world: World) -> None:
    name, kind = world.random.choice(NAMES), world.random.choice(sorted(world.workload.kinds))
    _bring(world, name, kind)


def _add_of(kind: str) -> Callable[[World], None]:
    return lambda world: _bring(world, world.random.choice(NAMES), kind)


def _bring(world: World, name: str, kind: str) -> None:
    made = world.workload.kinds[kind]
    places = [each for each in world.node.origins() if _may_have(world, each, made)]
    place = world.random.choice(places) if places else None
    if name not in world.pods and place is not None and place.has_room_for(name):
        world.made += 1
        world.places[name] = place
        uid = f"{name}-{world.made}"
        world.brings(name, pod_of(name, uid, kind, world.random, world.workload))
        world.tells()


def _may_have(world: World, place: Origin, made: Mapping[str, Any]) -> bool:
    """Return whether there may be such pods. Static pods may read objects of files, and have no token."""
    reads = made.get("reads", "")
    has_objects = world.node.sources.objects and reads != WITH_TOKEN
    return not reads or has_objects or isinstance(place, FromCluster)


def _remove(world: World) -> None:
    if world.pods:
        world.takes(world.random.choice(sorted(world.pods)))
        world.tells()


def _hurry(world: World) -> None:
    """Edit a pod, and while that has effects, give it the shortest grace and remove it."""
    if world.pods:
        name = world.random.choice(sorted(world.pods))
        for edited in (with_other_image, _with_least_grace):
            _change(world, name, edited)
            world.node.advance(world.random.choice([0.0, 0.3]))
        world.takes(name)
        world.tells()


def _with_least_grace(pod: Pod) -> Pod:
    return with_grace(pod, 1)


def _edit(world: World) -> None:
    if world.pods:
        _change(world, world.random.choice(sorted(world.pods)), with_other_image)


def _change(world: World, name: str, edited: Callable[[Pod], Pod]) -> None:
    world.brings(name, edited(world.manifests[name]))
    world.tells()


PEOPLE: Final[Kinds] = {
    "a pod is added": (32, _add),
    "a pod is removed": (14, _remove),
    "a pod is removed in a hurry": (8, _hurry),
    "a pod is edited": (12, _edit),
    # In openings alone, which say of which kind it is:
    "an aging pod is added": (0, _add_of("aging")),
}
