"""Draws the events of a history. Each carries its own luck: without the others it still happens."""

from __future__ import annotations

import random
from typing import Final

from tests.environment.node import Sources
from tests.simulation.events.cluster import CLUSTER
from tests.simulation.events.event import Event, Kinds, World
from tests.simulation.events.machine import MACHINE
from tests.simulation.events.people import PEOPLE
from tests.simulation.events.sources import FILES, OBJECTS_OF_FILES, SOURCES, URL
from tests.simulation.events.trouble import AGENT, TROUBLE


def _nothing(world: World) -> None:
    """Let time pass alone."""


HAPPENS: Final[Kinds] = {
    **PEOPLE,
    **MACHINE,
    **TROUBLE,
    **CLUSTER,
    **SOURCES,
    "time passes": (20, _nothing),
}
"""Everything that may happen. Who adds an event adds it to the table of its module."""

WITHOUT_MACHINE: Final[Kinds] = {
    **PEOPLE,
    **AGENT,
    **CLUSTER,
    **SOURCES,
    "time passes": (20, _nothing),
}
"""What may happen whatever runs the pods."""


GENTLE: Final = frozenset(
    {
        *PEOPLE,
        *("a deletion is hurried", "an object changes", "an object of a file changes"),
        *("a container ends", "a container answers no", "a container answers again"),
        *("a job ends", "a job is restarted by the class"),
        "time passes",
    }
)
"""What happens in a calm history: nothing that would excuse the agent from a promise."""
CALM: Final = 0.25
"""The share of calm histories."""


def drawn(random_: random.Random, count: int, happens: Kinds, sources: Sources) -> list[Event]:
    """Return so many events of these kinds, for a node whose pods come from there."""
    is_calm = random_.random() < CALM
    impossible = {
        *(CLUSTER if not sources.cluster else ()),
        *(FILES if not sources.directory else ()),
        *(URL if not sources.url else ()),
        *(OBJECTS_OF_FILES if not sources.objects else ()),
    }
    weights = {
        kind: weight
        for kind, (weight, _) in happens.items()
        if kind not in impossible and (kind in GENTLE or not is_calm)
    }
    kinds = random_.choices(list(weights), list(weights.values()), k=count)
    long, short = [0.02, 0.06, 0.3, 2.0, 12.0, 61.0, 305.0], [0.0, 0.02, 0.3]
    return [
        Event(
            kind,
            random_.randrange(1 << 30),
            random_.choice(long if kind == "time passes" else short),
        )
        for kind in kinds
    ]
