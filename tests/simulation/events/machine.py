"""What happens on the machine by itself, or by others than the agent."""

from __future__ import annotations

from typing import Final

from tests.environment.health import Answer
from tests.environment.machine import NOBODYS
from tests.environment.node import Node
from tests.environment.runtimes.containers import IMAGES
from tests.simulation.events.event import Kinds, World
from tests.simulation.reading import DEEP, ROOM
from tests.support.cri.fake_machine import KILLED


def _end(world: World) -> None:
    if one := world.container():
        world.node.machine.end(one.id, world.random.choice([0, 1]))


def _run_out_of_memory(world: World) -> None:
    if one := world.container():
        world.node.machine.end(one.id, KILLED, "OOMKilled", oom=True)


def _end_together(world: World) -> None:
    """End all containers of some pods in one moment, or nearly all."""
    for one in list(world.node.machine.running()):
        is_ours = not world.node.machine.instance(one).uid.startswith(NOBODYS)
        if is_ours and world.random.random() < 0.8:
            world.node.machine.end(one.id, world.random.choice([0, 1, KILLED]))


def _vanish(world: World) -> None:
    if one := world.container():
        world.oracle.wishes.touched.add(world.node.machine.instance(one).uid)
        world.node.machine.vanish(one.id)


def _lose_sandbox(world: World) -> None:
    one = world.container()
    if one and one.sandbox_id in world.node.machine.sandboxes:
        world.oracle.wishes.touched.add(world.node.machine.instance(one).uid)
        world.node.machine.kill_pause(one.sandbox_id)


def _lose_all_but_one(world: World) -> None:
    if one := world.container():
        world.oracle.wishes.touched.add(world.node.machine.instance(one).uid)
        if one.sandbox_id in world.node.machine.sandboxes:
            world.node.machine.lose_sandbox(one.id)


def _lose_sandboxes(world: World) -> None:
    """End the sandboxes of all pods in one moment."""
    machine = world.node.machine
    for sandbox in list(machine.sandboxes.values()):
        uid = sandbox.config.metadata.uid
        if not uid.startswith(NOBODYS):
            world.oracle.wishes.touched.add(uid)
            machine.kill_pause(sandbox.id)


def _move_tag(world: World) -> None:
    """Have the name of an image mean another one: in the registry, or here, since somebody has pulled it."""
    image, image_id = world.random.choice(IMAGES), f"sha256:{world.random.randrange(1 << 30):0>64x}"
    if world.random.random() < 0.5:
        world.node.containers.push(image, image_id)
    else:
        world.node.machine.images.move(image, image_id)


def _sicken(world: World) -> None:
    """Have a container answer one of its probes no, or not at all."""
    wishes, health = world.oracle.wishes, world.node.containers.health
    probed = [
        (one.id, what)
        for one in world.node.runtime.live()
        for what in ("alive", "ready")
        if wishes.probe(one, what)
    ]
    if probed:
        health.troubles[world.random.choice(probed)] = world.random.choice([Answer.NO, Answer.NONE])


def _heal(world: World) -> None:
    """Have a container answer yes again that did not."""
    troubles = world.node.containers.health.troubles
    if troubles:
        del troubles[world.random.choice(list(troubles))]


def _plant_link(world: World) -> None:
    """Have a container put a link that leads out of its volume where a part of that is mounted from."""
    above, name = DEEP.split("/")
    for one in world.node.runtime.live():
        pod = world.node.folder / "root" / "pods" / one.uid
        part = pod / "volumes" / "kubernetes.io~empty-dir" / ROOM / above / name
        if part.is_dir() and not part.is_symlink():
            part.rmdir()
            part.symlink_to(world.node.folder)
            world.node.containers.links.append(part)


def pull_links(node: Node) -> None:
    """Take the links away that containers have put into volumes."""
    for part in node.containers.links:
        part.unlink(missing_ok=True)


MACHINE: Final[Kinds] = {
    "a container ends": (6, _end),
    "a container runs out of memory": (2, _run_out_of_memory),
    "containers end together": (3, _end_together),
    "a container vanishes": (2, _vanish),
    "a sandbox ends": (2, _lose_sandbox),
    "a container loses its sandbox": (2, _lose_all_but_one),
    "sandboxes end together": (1, _lose_sandboxes),
    "a tag moves": (3, _move_tag),
    "a container answers no": (6, _sicken),
    "a container answers again": (4, _heal),
    "a container plants a link": (2, _plant_link),
}
