"""A history: what a seed has happen to a node, and what the oracle finds broken.

It has two phases. While things go wrong, nothing may be broken. Then nothing goes wrong any more, and within
a bound of time everything is as it should be, and costs no more than before.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from runtimes.cri.wire import cri_pb2 as cri
from tests.environment.machine import NOBODYS, Machine
from tests.environment.node import Node
from tests.environment.oracle.oracle import Oracle
from tests.environment.oracle.rest import cost_of, dearer, restless
from tests.environment.runtimes.containers import IMAGES
from tests.simulation.events.drawing import HAPPENS, drawn
from tests.simulation.events.event import Event, World
from tests.simulation.workload import OBJECTS, behaviours, rests, sources_of

EVENTS: Final = 60
"""Of one history."""
COMES_TO_REST_WITHIN: Final = 700.0
"""Seconds after the last trouble: more than two of the longest pauses."""
HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True)
class History:
    """One history, which can be told again: with the same seed and events, everything is the same."""

    seed: int
    events: tuple[Event, ...]

    @classmethod
    def of(cls, seed: int) -> History:
        """Return the history of ``seed``."""
        return cls(seed, tuple(drawn(random.Random(seed), EVENTS)))

    def broken(self) -> list[str]:
        """Have it happen, and return what is broken. Empty if nothing is."""
        with tempfile.TemporaryDirectory(prefix="history-") as folder:
            return list(_told(self, Path(folder)))

    def shortened(self) -> History:
        """Return a shorter history in which something is broken, too. What changes nothing is left out."""
        shortest, size = list(self.events), len(self.events) // 2
        while size:
            for start in range(len(shortest) - size, -1, -size):
                shorter = shortest[:start] + shortest[start + size :]
                if History(self.seed, tuple(shorter)).broken():
                    shortest = shorter
            size //= 2
        return History(self.seed, tuple(shortest))

    def lines(self) -> Iterator[str]:
        """Yield the events as people read them."""
        for each in self.events:
            yield f"    {each.kind}; then {each.pause:g} s ({each.luck})"


def _told(history: History, folder: Path) -> Iterator[str]:
    luck = random.Random(history.seed)
    node = Node(history.seed, folder, sources=sources_of(luck))
    oracle = Oracle(node)
    node.machine.behaviours = behaviours(luck)
    _settle_others(node.machine)
    oracle.moves()
    world = World(node, oracle, {}, luck)
    node.advance(5.0)
    for each in OBJECTS:
        if luck.random() < 0.7:
            world.says(*each)
    _happen(world, history.events)
    yield from oracle.broken
    oracle.broken.clear()
    _end_trouble(world)
    node.advance(COMES_TO_REST_WITHIN)
    oracle.look()
    yield from oracle.broken
    yield from restless(node, oracle.wishes)
    if luck.random() < 0.2:
        yield from _cost_of_rest(world)
    if node.stop() != 0:
        yield "the agent does not stop in order"


def _happen(world: World, events: Sequence[Event]) -> None:
    for event in events:
        world.random = random.Random(event.luck)
        HAPPENS[event.kind][1](world)
        world.node.advance(event.pause)
        world.oracle.look()


def _end_trouble(world: World) -> None:
    service = world.node.service
    world.troubles()
    service.faults.clear()
    service.loses_events = service.repeats_events = False
    world.node.wire.come_back()
    if world.node.cluster is not None:
        world.node.cluster.calls.faults.clear()
        world.node.cluster.come_back()
        for each in OBJECTS:
            world.says(*each)
    world.oracle.wishes.outages.clear()
    world.hears_late()


def _cost_of_rest(world: World) -> Iterator[str]:
    """Have only pods stay that rest, and yield what an hour costs more than the one before."""
    pods = world.oracle.wishes.pods
    for name, uid in tuple(world.pods.items()):
        if not rests(pods[uid]):
            world.takes(name)
    world.tells()
    world.node.advance(COMES_TO_REST_WITHIN)
    first = cost_of(world.node, HOUR)
    yield from dearer(first, cost_of(world.node, HOUR))


def _settle_others(machine: Machine) -> None:
    """Put on the machine what is no pod of ours: one that runs, and one whose sandbox no list shows."""
    for name in ("runs", "is-unlisted"):
        metadata = cri.PodSandboxMetadata(name=name, namespace="others", uid=f"{NOBODYS}-{name}")
        sandbox = machine.run_sandbox(cri.PodSandboxConfig(metadata=metadata))
        config = cri.ContainerConfig(
            metadata=cri.ContainerMetadata(name=name), image=cri.ImageSpec(image=IMAGES[0])
        )
        container = machine.create_container(sandbox, config)
        if name == "runs":
            machine.start_container(container)
        else:
            machine.unlisted.add(sandbox)
