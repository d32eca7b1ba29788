"""An event of a history, and the world that it happens to."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from messages.pods import Pod
from tests.environment.crashes import CrashesAmid
from tests.environment.machine import NOBODYS
from tests.environment.node import Node
from tests.environment.oracle.oracle import Oracle
from tests.environment.oracle.rule import LOCAL
from tests.environment.origins import FromCluster, Origin
from tests.simulation.workload import PLAIN, Workload
from tests.support.cri.fake_machine import FakeContainer
from tests.support.files.power import Power

TELLS: Final = 0.6
"""The share of changes after which the agent is told to look, as a SIGHUP does."""
TOLD_WITHIN: Final = 45.0
"""Seconds after an outage within which the agent knows again what people want: two looks, or two attempts."""


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
    power: Power | None = None
    """What the disk keeps when it goes. None where it never goes."""
    crashes: CrashesAmid | None = None
    """What crashes actors amid their work. None where nobody does."""
    about: tuple[str, ...] = ()
    """The actors that an opening is about, as ``CrashesAmid`` knows them."""
    workload: Workload = PLAIN
    made: int = 0
    """How many pods there have been."""
    said: int = 0
    """How many values of objects there have been."""
    manifests: dict[str, Pod] = field(default_factory=dict)
    """The pods that are wanted, as people write them, by name."""
    renamed_at: dict[str, float] = field(default_factory=dict)
    """When the files of pods got another name, by the names of the pods."""
    places: dict[str, Origin] = field(default_factory=dict)
    """Where they come from, by name."""

    def brings(self, name: str, manifest: Pod) -> None:
        """Have somebody want a pod, or a new form of one, where pods of its name come from."""
        pod = self.places[name].bring(manifest)
        self.manifests[name] = manifest
        self.node.listed[pod.uid] = pod
        wishes = self.oracle.wishes
        if isinstance(self.places[name], FromCluster):
            wishes.bound.add(pod.uid)
        if pod.uid in wishes.pods:
            wishes.edited_at[pod.uid] = self.node.wall
        wishes.pods[pod.uid] = pod
        wishes.wanted_since.setdefault(pod.uid, self.node.wall)
        self.pods[name] = pod.uid

    def takes(self, name: str) -> None:
        """Have nobody want a pod any more."""
        pod = self.oracle.wishes.pods[self.pods.pop(name)]
        self.places.pop(name).take(pod, self.manifests.pop(name))

    def tells(self, *, surely: bool = False) -> None:
        """Have the agent see what has changed where its pods come from: by itself, or it is told to look."""
        self.oracle.wants([self.oracle.wishes.pods[uid] for uid in self.pods.values()])
        if surely or self.random.random() < TELLS:
            self.node.looks_again()
        else:
            self.hears_late()
            self.node.advance(0.0)

    def is_told_again(self, source: str) -> None:
        """Note that an outage of a source is over."""
        self.oracle.wishes.outages.pop(source, None)
        self.hears_late()

    def hears_late(self) -> None:
        """Note that the agent may know only a while later what people want."""
        self.oracle.wishes.told_by = self.node.wall + TOLD_WITHIN

    def says(self, kind: str, name: str) -> None:
        """Have a Secret or a ConfigMap of the API server say what it never said before."""
        if self.node.cluster is not None:
            self.said += 1
            self.node.cluster.says(kind, name, f"{name}-{self.said}")

    def says_here(self, kind: str, name: str) -> None:
        """Have a Secret or a ConfigMap of a file say what it never said before."""
        if self.node.sources.objects:
            self.said += 1
            text = f"{name}-{self.said}"
            self.node.objects.says(kind, name, text)
            self.oracle.objects_say(LOCAL, kind, name, text)

    def container(self) -> FakeContainer | None:
        """Return one container of a pod of ours; None if there is none."""
        machine = self.node.machine
        ours = [
            each
            for each in machine.containers.values()
            if not machine.instance(each).uid.startswith(NOBODYS)
        ]
        return self.random.choice(ours) if ours else None

    def notes_crash(self, victim: str) -> None:
        """Note that an actor crashes now."""
        self.troubles()
        self.node.runtime.crashes(victim)

    def notes_disk_failure(self) -> None:
        """Note that the disk refuses something now."""
        self.oracle.wishes.note_disk_failure()
        self.node.runtime.disk_fails()

    def troubles(self) -> None:
        """Note that what is late may be so because of this."""
        self.oracle.wishes.troubled_at = self.node.wall


Kinds: TypeAlias = Mapping[str, tuple[int, Callable[[World], None]]]
"""By what an event is called: how often it is, and what it does."""
