"""A thousand objects that a joined agent watches, and how much it asks of the API server meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from messages.pods import JsonObject
from tests.support.agent.joined_agent import OWN_STREAMS, JoinedAgent, Onlooker
from tests.support.agent.joined_objects import (
    PLURALS,
    config_map,
    secret,
    using,
    versions,
    watchers,
)
from tests.support.agent.process import eventually
from tests.support.patience import PATIENCE
from tests.support.wire.client import NotYet

OF_EACH_KIND: Final = 500
PODS: Final = 20
HANDS: Final = 8
"""Requests under way at a time."""
ITS_OWN: Final = 1
"""What the API server watches itself within a namespace: the ConfigMap about its authentication."""
LOOK_EVERY: Final = 0.1
FEW: Final = 5
WINDOW: Final = 1.0
"""Seconds over which requests are counted."""


class Crowd:
    """The agent, and its objects: half of them Secrets, each referenced by one pod."""

    def __init__(self, agent: JoinedAgent, onlooker: Onlooker) -> None:
        self.agent = agent
        self.onlooker = onlooker
        self.names = [f"o{number}" for number in range(OF_EACH_KIND)]
        # Those of an agent before this one are counted until the API server misses it.
        eventually(lambda: [watchers(onlooker, each) for each in PLURALS.values()] == [0, ITS_OWN])
        self.took = 0.0
        """Seconds from the first pod's binding until all were synced."""

    def gather(self) -> None:
        """Create all of it, and return once all are watched."""
        documents = [make(name) for make in (secret, config_map) for name in self.names]
        with ThreadPoolExecutor(HANDS) as hands:
            [*hands.map(self._create, documents)]
        began = time.monotonic()
        for number in range(PODS):
            names = self.names[number::PODS]
            pod = using(f"p{number}", secrets=names, config_maps=names)
            self.onlooker.admin.add(pod)
        self.is_current_within(PATIENCE)
        self.took = time.monotonic() - began

    def is_current(self) -> bool:
        """Return that all are watched, nothing is wrong with any, and they are as the API server has them.

        Raises ``NotYet`` with what is lacking.
        """
        if lacks := self.lacks():
            raise NotYet("; ".join(lacks))
        return True

    def is_current_within(self, seconds: float) -> float:
        """Return after how many seconds that is so; fails when it takes longer."""
        began = time.monotonic()
        eventually(self.is_current, seconds)
        return time.monotonic() - began

    def lacks(self) -> list[str]:
        """Return in words, for at most a few objects, what is not yet as it should be."""
        held, present = self.agent.objects(), self.present()
        lacks = [f"{self.agent.streams()} streams"]
        lacks *= lacks != [f"{len(present) + OWN_STREAMS} streams"]
        for place, (uid, version) in present.items():
            row = held.get(place, {})
            seen = {
                name: row.get(name) for name in ("state", "lastError", "uid", "resourceVersion")
            }
            if [*seen.values()] != ["synced" if uid else "absent", "", uid, version]:
                lacks.append(f"{place} is {seen}, but there is {uid} {version}")
        return [*lacks[:FEW], *([f"and {len(lacks) - FEW} more"] if len(lacks) > FEW else [])]

    def present(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Return UID and version of each object, both empty where there is none."""
        nothing = {
            (kind, name): ("", "") for kind in ("Secret", "ConfigMap") for name in self.names
        }
        return nothing | versions(self.onlooker)

    def watchers(self) -> int:
        """Return how many watches of objects the API server has open for the agent."""
        return sum(watchers(self.onlooker, plural) for plural in PLURALS.values()) - ITS_OWN

    def gone(self) -> float:
        """Return how often a watch was opened anew since its version had gone."""
        return self.agent.metric("actorlet_watch_reconnects_total").get("gone", 0.0)

    def threads(self) -> int:
        """Return how many threads the agent has."""
        return len([*Path(f"/proc/{self.agent.process.pid}/task").iterdir()])

    def _create(self, document: JsonObject) -> None:
        plural = PLURALS[document["kind"]]
        self.onlooker.create(f"/api/v1/namespaces/default/{plural}", document)


class Meter:
    """Counts the requests that an agent sends, time after time."""

    def __init__(self, agent: JoinedAgent) -> None:
        self._agent = agent
        self._counts: list[tuple[float, float]] = []
        self._is_over = threading.Event()

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count until the end of the block."""
        thread = threading.Thread(target=self._count, name="meter")
        thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            thread.join()

    def peak(self) -> float:
        """Return the most requests a second, over any second."""
        counts = self._counts
        return max(most_within(counts[start:], WINDOW) for start in range(len(counts)))

    def _count(self) -> None:
        while not self._is_over.wait(LOOK_EVERY):
            counts = self._agent.metric("rest_client_requests_total")
            self._counts.append((time.monotonic(), sum(counts.values())))


def most_within(counts: Sequence[tuple[float, float]], seconds: float) -> float:
    """Return by how much a count has grown within ``seconds`` of the first."""
    began, first = counts[0]
    return max(count - first for at, count in counts if at <= began + seconds)
