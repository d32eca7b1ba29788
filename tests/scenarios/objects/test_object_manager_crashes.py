"""Stories of references and changes, with a crash of each actor at each step and message.

Whoever crashes: holders are there for exactly what is referenced, each knows by how many, no object is
let go of that would have been kept, and followers know of every object what it is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest
from typing_extensions import override

from actors.objects.manager_parts import ObjectManagerOwnMessage
from kernel import AnySpec, ChildSpec, DynamicSpec
from messages.holders import NO_MARK, HolderIs, ReferencesAre
from messages.objects import (
    Change,
    FollowObjects,
    ObjectChanged,
    ObjectFact,
    RegisterPod,
    UnregisterPod,
)
from messages.pod_manager import Subscribe
from messages.pods import API, FILE, Pod, SourceName
from tests.support.crash_matrix import Action, Matrix, Outcome, StoryRun, World
from tests.support.kernel.probe import Probe
from tests.support.objects.manager_players import Say, changed, holder_key, needing, news_of, secret
from tests.support.objects.manager_stage import ManagerStage
from tests.support.objects.reader import READER

DB, TLS = secret("db"), secret("tls")
WEB = needing("web", "db", hook="restart")
SHOP = needing("shop", "db", "tls")
OLD, NEW = needing("mail", "tls", uid="old"), needing("mail", "tls", uid="new")
STATIC = needing("static", "db", source=FILE)


class ManagerWorld(World):
    """The manager, its holders and PodManager, with a follower of all objects."""

    pause: ClassVar[float] = 1.0
    in_the_end: ClassVar[float] = 40.0
    players = (READER,)
    taken_at_once: ClassVar[tuple[type, ...]] = (
        *(RegisterPod, UnregisterPod, FollowObjects, Subscribe, HolderIs, ReferencesAre),
        Say,  # the test's own hand
    )

    def __init__(self, run: StoryRun) -> None:
        self.stage = ManagerStage()
        super().__init__(run, self.stage.tree())
        self.stage.play = self.play
        self.stage.endanger = self._with_holder_as_victim
        self.follower: Probe[ObjectFact] = Probe()

    @override
    def _with_victims(self, spec: AnySpec) -> Any:
        return spec if isinstance(spec, DynamicSpec) else super()._with_victims(spec)

    def _with_holder_as_victim(self, spec: ChildSpec[Any]) -> ChildSpec[Any]:
        if spec.key not in self.victims:
            self.victims.append(spec.key)
        return replace(spec, factory=partial(self._make_victim, spec))

    @override
    def _outcome(self) -> Outcome:
        stage = self.stage
        described = stage.described()
        told = {
            fact.object.name: (fact.change, fact.resource_version)
            for fact in self.follower.drain()
            if isinstance(fact, ObjectChanged)
        }
        released = Counter(
            f"let go of {record.object.name}"
            for record in stage.history
            for before, after in pairwise(record.heard)
            if before.references and not after.references
        )
        return Outcome(
            observed={
                "holders": stage.holders(),
                "references": stage.counts(),
                "described": {(one.object, one.references) for one in described.objects},
                "versions": {(one.object, one.resource_version) for one in described.objects},
                "pods": described.pods,
                "told": told,
                "reads": {
                    (pod.name, name): stage.reads(pod, name).verdict
                    for pod in (WEB, SHOP, OLD, NEW, STATIC)
                    for name in ("db", "tls")
                },
                "outbox": stage.memory.outbox,
            },
            losses=released,
        )


def serves(source: SourceName, *pods: Pod) -> Action[ManagerWorld]:
    return lambda world: world.stage.serves(source, *pods)


def says(*messages: ObjectManagerOwnMessage) -> Action[ManagerWorld]:
    return lambda world: world.stage.tell(*messages)


def follows(world: ManagerWorld) -> None:
    world.stage.tell(FollowObjects(subscriber=world.follower))


def holder_says(news: HolderIs) -> Action[ManagerWorld]:
    return lambda world: world.play.tell(holder_key(news.described.object), Say(news))


STORIES: dict[str, tuple[Action[ManagerWorld], ...]] = {
    "pods come, change and go": (
        serves(API, WEB, OLD),
        serves(FILE, STATIC),
        serves(API, WEB, NEW),
        serves(API, SHOP, NEW),
        serves(API, WEB),
        serves(FILE),
    ),
    "the last reference goes and comes back": (
        serves(API, WEB),
        serves(API),
        serves(API, WEB),
        serves(API),
        serves(API, SHOP),
        serves(API),
    ),
    "pods are held by hand": (
        says(RegisterPod(pod=WEB)),
        serves(API, WEB),
        serves(API),
        says(RegisterPod(pod=SHOP), UnregisterPod(pod=WEB.uid)),
        says(RegisterPod(pod=needing("shop", "tls"))),
        says(UnregisterPod(pod=SHOP.uid), RegisterPod(pod=NEW)),
    ),
    "objects change": (
        serves(API, WEB, SHOP),
        follows,
        holder_says(news_of(changed(DB, "1", Change.ADDED), NO_MARK)),
        holder_says(news_of(changed(TLS, "2", Change.ADDED))),
        holder_says(news_of(changed(DB, "3"))),
        serves(API, WEB),
        holder_says(news_of(changed(DB, "4", Change.DELETED))),
    ),
}


@pytest.mark.parametrize("name", STORIES)
def test_a_crash_at_any_moment_changes_nothing_in_the_end(name: str, tmp_path: Path) -> None:
    matrix = Matrix(ManagerWorld, tmp_path, STORIES[name])
    matrix.run(range(2), every=4)
    assert matrix.differences == []
    assert matrix.reached > 25
