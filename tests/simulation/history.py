"""A history: what a seed has happen to a node, and what the oracle finds broken.

It has two phases. While things go wrong, nothing may be broken. Then nothing goes wrong any more, and within
a bound of time everything is as it should be, and costs no more than before.
"""

from __future__ import annotations

import hashlib
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.environment.crashes import CrashesAmid
from tests.environment.node import USUAL, Node, NodeBounds, Sources
from tests.environment.oracle.cost import (
    BETWEEN,
    Cost,
    CostOfChange,
    cost_of,
    cost_of_change,
    dearer,
    unlike_fresh,
)
from tests.environment.oracle.oracle import Oracle
from tests.environment.oracle.rest import restless
from tests.environment.oracle.rule import Judgements
from tests.environment.outside import Outside
from tests.environment.runtimes.containers import UNTOUCHED, InContainers
from tests.environment.runtimes.runtime import Runtime
from tests.simulation.events.cluster import free_names
from tests.simulation.events.drawing import HAPPENS, drawn
from tests.simulation.events.event import Event, Kinds, World
from tests.simulation.events.sources import mend_sources
from tests.simulation.families import FAMILIES
from tests.simulation.openings import ABOUT, JOINED, OF, OPENINGS, SOURCES, opened
from tests.simulation.reading import OBJECTS
from tests.simulation.workload import bounds_of, pod_of, rests, with_image
from tests.support.canary import LOOKOUT
from tests.support.files.power import Power

EVENTS: Final = 60
"""Of one history."""
COMES_TO_REST_WITHIN: Final = 700.0
"""Seconds after the last trouble: more than two of the longest pauses."""
KNOWN_WITHIN: Final = 1.8
"""Seconds after an exit: without events there is a look each second, and a runtime says it 0.3 s late."""
LOOKS: Final = 2
"""In that time. A container that ends again and again may have ended just before one of them."""
MEASURED: Final = 0.3
"""The share of histories in which it is measured what a rest costs: that takes longer than all the rest."""
HOUR: Final = 3600.0
WHILE: Final = 600.0
"""In place of that hour in most histories: twice the longest time between two looks."""


@dataclass(frozen=True, slots=True)
class Told:
    """What became of a history."""

    broken: list[str]
    """What is broken, in the order in which it was seen."""
    judgements: Mapping[str, Judgements]
    """How often each rule judged, by its name."""
    digest: str
    """Of each call, in their order, and of each container. Equal if everything happened alike."""


@dataclass(frozen=True, slots=True)
class History:
    """One history, which can be told again: with the same seed and events, everything is the same."""

    seed: int
    events: tuple[Event, ...]
    bounds: NodeBounds = USUAL
    """Of the agent."""
    runtime: str = "cri"
    """What runs the pods: the name of its family."""
    sources: Sources | None = None
    """Where the pods of an opening come from. None if the seed draws it, and a rest is measured."""
    kinds: tuple[str, ...] = ()
    """The only kinds of pods of an opening. Empty if the seed draws them."""
    about: tuple[str, ...] = ()
    """The actors that an opening is about."""

    @classmethod
    def of(cls, seed: int, runtime: str = "cri") -> History:
        """Return the history of ``seed`` with one runtime."""
        luck, family = random.Random(seed), FAMILIES[runtime]
        sources = family.sources(random.Random(seed))  # as those of its node are
        events = tuple(drawn(luck, EVENTS, family.happens, sources))
        return cls(seed, events, bounds_of(luck), runtime)

    @classmethod
    def opened_by(cls, opening: str, seed: int, runtime: str = "cri") -> History:
        """Return the history of ``seed`` in which an opening happens.

        What ends again and again waits as long as it does for people: its restarts are not the story.
        """
        luck = random.Random(seed)
        events = tuple(opened(luck, OPENINGS[opening]))
        bounds = replace(bounds_of(luck), longest_pause=USUAL.longest_pause)
        return cls(
            seed,
            events,
            bounds,
            runtime,
            sources=SOURCES.get(opening, JOINED),
            kinds=OF.get(opening, ()),
            about=ABOUT[opening],
        )

    @property
    def happens(self) -> Kinds:
        """What may happen: an opening says itself what does."""
        return FAMILIES[self.runtime].happens if self.sources is None else HAPPENS

    def broken(self) -> list[str]:
        """Have it happen, and return what is broken. Empty if nothing is."""
        return self.told().broken

    def told(self) -> Told:
        """Have it happen, and return what became of it."""
        with (
            tempfile.TemporaryDirectory(prefix="history-") as name,
            pytest.MonkeyPatch.context() as patched,
        ):
            family, luck = FAMILIES[self.runtime], random.Random(self.seed)
            sources = self.sources or family.sources(luck)

            def runtime(outside: Outside) -> Runtime:
                return family.runtime(outside, luck)

            node = Node(self.seed, Path(name), runtime, sources, self.bounds)
            oracle = Oracle(node)
            power = Power(patched, node.runtime.trouble)
            crashes = CrashesAmid(patched, lambda: node.wall)
            LOOKOUT.sightings()
            broken = list(_broken(self, oracle, luck, power, crashes))
            broken += [f"a value of a Secret is seen: {each}" for each in LOOKOUT.sightings()]
            return Told(broken, oracle.judgements, _digest(node))

    def lines(self) -> Iterator[str]:
        """Yield the bounds and the events as people read them."""
        yield f"    {self.bounds}"
        for each in self.events:
            yield f"    {each.kind}; then {each.pause:g} s ({each.luck})"


def _broken(
    history: History,
    oracle: Oracle,
    luck: random.Random,
    power: Power,
    crashes: CrashesAmid,
) -> Iterator[str]:
    family, node = FAMILIES[history.runtime], oracle.node
    family.prepare(node, luck)
    oracle.moves()
    workload = family.workload(luck)
    workload = workload.of(history.kinds) if history.kinds else workload.focused(luck)
    world = World(node, oracle, {}, luck, power, crashes, history.about, workload)
    crashes.when_crashed = world.notes_crash
    if isinstance(node.runtime, InContainers):
        node.service.when_spoilt = world.troubles
    node.runtime.trouble.when_struck = world.notes_disk_failure
    node.advance(5.0)
    for each in OBJECTS:
        if luck.random() < 0.7:
            world.says(*each)
            world.says_here(*each)
    _happen(world, history.happens, history.events)
    yield from oracle.broken
    oracle.broken.clear()
    family.end_trouble(node)
    _end_trouble(world)
    node.advance(COMES_TO_REST_WITHIN)
    oracle.look()
    yield from oracle.broken
    yield from _stuck(world)
    if history.sources is None and luck.random() < MEASURED:
        yield from _cost_of_rest(world, HOUR if luck.random() < 0.2 else WHILE)
    if node.stop() != 0:
        yield "the agent does not stop in order"


def _digest(node: Node) -> str:
    folder, digest = str(node.folder).encode(), hashlib.sha256()
    if not isinstance(node.runtime, InContainers):
        return hashlib.sha256(repr(list(node.runtime.live())).encode()).hexdigest()
    for method, request in node.service.asked:
        digest.update(method.encode())
        digest.update(request.SerializeToString(deterministic=True).replace(folder, b""))
    for each in node.machine.containers.values():
        digest.update(repr(node.machine.instance(each)).encode())
    return digest.hexdigest()


def _happen(world: World, happens: Kinds, events: Sequence[Event]) -> None:
    for event in events:
        world.random = random.Random(event.luck)
        happens[event.kind][1](world)
        world.node.advance(event.pause)
        world.oracle.look()


def _end_trouble(world: World) -> None:
    world.troubles()
    world.node.runtime.trouble.times = 0
    if world.crashes is not None:
        world.crashes.disarm()
    if world.node.cluster is not None:
        world.node.cluster.calls.faults.clear()
        world.node.cluster.come_back()
        world.node.cluster.refuses_mirrors = False
        free_names(world.node.cluster)
    for each in OBJECTS:
        world.says(*each)
        world.says_here(*each)
    mend_sources(world)
    world.oracle.wishes.outages.clear()
    world.hears_late()


def _stuck(world: World) -> Iterator[str]:
    """Yield what is not as it should be, and stays so for longer than an exit may be unknown."""
    node, wishes = world.node, world.oracle.wishes
    stuck = list(restless(node, wishes))
    for _ in range(LOOKS if stuck else 0):
        node.advance(KNOWN_WITHIN / LOOKS)
        found = set(restless(node, wishes))
        stuck = [each for each in stuck if each in found]
    yield from stuck


def _cost_of_rest(world: World, seconds: float) -> Iterator[str]:
    """Have only pods stay that rest, and yield what such a while, and a new pod after it, costs too much."""
    pods = world.oracle.wishes.pods
    for name, uid in tuple(world.pods.items()):
        if not rests(pods[uid]):
            world.takes(name)
    world.tells()
    world.node.advance(COMES_TO_REST_WITHIN + BETWEEN)
    first, then = cost_of(world.node, seconds), cost_of(world.node, seconds)
    yield from dearer(first, then)
    before = then if seconds == WHILE else cost_of(world.node, WHILE)
    one_more, runtime = cost_of_one_more(world, before), world.node.runtime
    options = tuple(runtime.options.items())
    # A new node draws anew, for this process: so not before all of this history has happened.
    fresh = cost_of_first(type(runtime), options, world.node.sources)
    yield from unlike_fresh(one_more, fresh)


def cost_of_one_more(world: World, before: Cost) -> CostOfChange:
    """Return what a new pod costs, with one container that goes on for ever.

    ``before`` is what the last ``WHILE`` has cost.
    """

    def change() -> None:
        world.places["new"] = world.node.origins()[0]
        pod = pod_of("new", "new-1", "plain", random.Random(1))
        world.brings("new", with_image(pod, UNTOUCHED))
        world.tells(surely=True)

    return cost_of_change(world.node, change, before, WHILE)


@cache
def cost_of_first(
    kind: Callable[..., Runtime], options: tuple[tuple[str, bool], ...], sources: Sources
) -> CostOfChange:
    """Return what the same pod costs in a fresh node with this kind of runtime."""

    def runtime(outside: Outside) -> Runtime:
        return kind(outside, **dict(options))

    with tempfile.TemporaryDirectory(prefix="fresh-") as folder:
        node = Node(0, Path(folder), runtime, sources)
        world = World(node, Oracle(node), {}, random.Random(0))
        node.advance(COMES_TO_REST_WITHIN)
        return cost_of_one_more(world, cost_of(node, WHILE))
