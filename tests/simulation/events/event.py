"""An event of a history, and the world that it happens to."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tests.environment.machine import NOBODYS
from tests.environment.node import Node
from tests.environment.oracle.oracle import Oracle
from tests.support.cri.fake_machine import FakeContainer


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happens, and how long nothing happens after it."""

    kind: str
    luck: int
    """The seed of what is drawn when it happens."""
    pause: float


@dataclass(slots=True, eq=False)
class World:
    """What events happen to."""

    node: Node
    oracle: Oracle
    pods: dict[str, str]
    """The UIDs of the pods that are wanted, by name."""
    random: random.Random
    """The luck of the event that happens."""
    made: int = 0
    """How many pods there have been."""

    def tells(self) -> None:
        """Have the source list the pods that are wanted."""
        pods = [self.oracle.wishes.pods[uid] for uid in self.pods.values()]
        self.oracle.wants(pods)
        self.node.lists(pods)

    def container(self) -> FakeContainer | None:
        """Return one container of a pod of ours; None if there is none."""
        machine = self.node.machine
        ours = [
            each
            for each in machine.containers.values()
            if not machine.instance(each).uid.startswith(NOBODYS)
        ]
        return self.random.choice(ours) if ours else None

    def troubles(self) -> None:
        """Note that what is late may be so because of this."""
        self.oracle.wishes.troubled_at = self.node.wall


Kinds: TypeAlias = Mapping[str, tuple[int, Callable[[World], None]]]
"""By what an event is called: how often it is, and what it does."""
