"""Trees that several stories are played in."""

from __future__ import annotations

from typing import Any

from kernel import AnySpec, ChildSpec, DynamicMessage, DynamicSpec, Key, StartChild, SupervisorSpec
from messages.units import Seconds
from tests.support.kernel.players import STEADY, Line
from tests.support.kernel.stage import Stage


def tolerating(intensity: int, *children: AnySpec, **spec: Any) -> SupervisorSpec:
    """Return a root that tolerates so many restarts within ten seconds, with a steady backoff."""
    return SupervisorSpec(
        name="root",
        children=children,
        backoff=STEADY,
        intensity=intensity,
        period=Seconds(10.0),
        **spec,
    )


POOL = Key[DynamicMessage]("pool")
WITH_POOL = SupervisorSpec(name="root", children=(DynamicSpec(key=POOL),))
"""A root with a supervisor of dynamic children, none of which exists yet."""
WITH_STRICT_POOL = SupervisorSpec(
    name="root",
    children=(DynamicSpec(key=POOL, backoff=STEADY, intensity=1, period=Seconds(10.0)),),
)
"""The same, with one restart tolerated within ten seconds, and a steady backoff."""


def start_in_pool(play: Stage, *children: ChildSpec[Line]) -> None:
    """Have the supervisor of dynamic children start these."""
    for child in children:
        play.port(POOL).tell(StartChild(spec=child))
    play.settle()
