"""Draws the events of a history. Each carries its own luck: without the others it still happens."""

from __future__ import annotations

import random
from typing import Final

from tests.simulation.events.cluster import CLUSTER
from tests.simulation.events.event import Event, Kinds, World
from tests.simulation.events.machine import MACHINE
from tests.simulation.events.people import PEOPLE
from tests.simulation.events.sources import SOURCES
from tests.simulation.events.trouble import AGENT, TROUBLE


def _nothing(world: World) -> None:
    """Let time pass alone."""


HAPPENS: Final[Kinds] = {
    **PEOPLE,
    **MACHINE,
    **TROUBLE,
    **CLUSTER,
    **SOURCES,
    "time passes": (16, _nothing),
}
"""Everything that may happen. Who adds an event adds it to the table of its module."""

WITHOUT_MACHINE: Final[Kinds] = {
    **PEOPLE,
    **AGENT,
    **CLUSTER,
    **SOURCES,
    "time passes": (16, _nothing),
}
"""What may happen whatever runs the pods."""


def drawn(random_: random.Random, count: int, happens: Kinds) -> list[Event]:
    """Return so many events of these kinds."""
    kinds = random_.choices(list(happens), [weight for weight, _ in happens.values()], k=count)
    long, short = [0.02, 0.06, 0.3, 2.0, 12.0, 61.0, 305.0], [0.0, 0.02, 0.3]
    return [
        Event(
            kind,
            random_.randrange(1 << 30),
            random_.choice(long if kind == "time passes" else short),
        )
        for kind in kinds
    ]
