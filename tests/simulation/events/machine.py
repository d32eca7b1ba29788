"""What happens on the machine by itself, or by others than the agent."""

from __future__ import annotations

from typing import Final

from tests.simulation.events.event import Kinds, World


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


MACHINE: Final[Kinds] = {
    "a container ends": (6, _end),
    "a container vanishes": (2, _vanish),
    "a sandbox ends": (2, _lose_sandbox),
}
