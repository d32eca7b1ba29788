"""The manager with the holders that it has in earnest: references come and go faster than they follow.

Each seed is another schedule, and another number of steps between two words to the manager, which may
crash in between: over none of them, so that nothing may get lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from typing_extensions import override

from actors.events.recorder import EVENT_RECORDER
from actors.node.registrar import NODE_REGISTRAR
from agent.objects import holder_spec
from kernel import ChildSpec, Key, Port
from kube.calls.actor import API_CALLS
from kube.streams.actor import WATCHES
from messages.objects import (
    DescribeObjects,
    FollowObjects,
    ObjectFact,
    ObjectId,
    ObjectManagerMessage,
    ObjectsDescribed,
    ReadVerdict,
    RegisterPod,
    UnfollowObjects,
    UnregisterPod,
)
from messages.units import Seconds
from settings.cluster import ChangeDetection
from tests.support.agent.composed import composed
from tests.support.apiserver.fake_api import FakeApi
from tests.support.kernel.probe import Probe
from tests.support.objects.manager_players import needing, secret
from tests.support.objects.manager_stage import ManagerStage
from tests.support.objects.reader import READER, Read
from tests.support.objects.settings import cluster_settings

DB = secret("db")
WEB = needing("web", "db")
SHOP = needing("shop", "db")
HOLDER = "objects/secrets/default/db"
TARGET = "/api/v1/namespaces/default/secrets"
IDLE_LIMIT = 300.0
"""Seconds: five times the sync frequency of the settings."""
REGISTER = RegisterPod(pod=WEB)
UNREGISTER = UnregisterPod(pod=WEB.uid)
COMES_AND_GOES: list[RegisterPod | UnregisterPod] = [REGISTER, UNREGISTER] * 3
DOCUMENT = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "db", "namespace": "default"},
    "data": {"password": "b2s="},
}


class RealHolders(ManagerStage):
    """With the holders of a strategy in place of those that only speak."""

    def __init__(self, detection: ChangeDetection, seed: int) -> None:
        super().__init__(seed=seed)
        self.api = FakeApi(as_node="")
        self.api.store.add(DOCUMENT)
        settings = cluster_settings(detection)
        others: dict[Key[Any], Port[Any]] = {
            API_CALLS: self.api.calls,
            WATCHES: self.api.watches,
            NODE_REGISTRAR: self.node,
            EVENT_RECORDER: self.events,
        }
        self._agent = composed(settings, self.play.port, others)
        self.level = self._agent.objects[self.kind]

    @override
    def make_spec(self, wanted: ObjectId) -> ChildSpec[Any]:
        return self.endanger(holder_spec(self._agent, wanted))


@contextmanager
def on(detection: ChangeDetection, seed: int) -> Iterator[RealHolders]:
    """Start a manager with these holders."""
    stage = RealHolders(detection, seed)
    stage.play.start()
    try:
        yield stage
        stage.check()
    finally:
        stage.play.stop()


@pytest.fixture(params=[ChangeDetection.WATCH, ChangeDetection.CACHE], ids=["watch", "cache"])
def detection(request: pytest.FixtureRequest) -> ChangeDetection:
    return ChangeDetection(request.param)


@pytest.mark.parametrize("seed", range(40))
def test_what_nobody_references_in_the_end_is_held_by_nobody(
    detection: ChangeDetection, seed: int
) -> None:
    with on(detection, seed) as manager:
        manager.tells_at_random(*COMES_AND_GOES)
        assert manager.holders() == []
        assert manager.api.watches.targets == []


@pytest.mark.parametrize("seed", range(40))
def test_what_is_referenced_in_the_end_is_held_and_read(
    detection: ChangeDetection, seed: int
) -> None:
    with on(detection, seed) as manager:
        manager.tells_at_random(*COMES_AND_GOES, REGISTER)
        assert manager.holders() == ["objects/secrets/default/db"]
        manager.begins_to_read(WEB, "db")
        manager.play.advance(1.0)
        (answer,) = manager.answers()
        assert answer.verdict is ReadVerdict.FOUND
        assert manager.described().objects[0].is_known


@pytest.mark.parametrize("crashing", [0.0, 0.3], ids=["healthy", "crashing"])
@pytest.mark.parametrize("seed", range(80))
def test_every_pod_that_comes_reads_goes_and_comes_again_is_answered(
    detection: ChangeDetection, seed: int, crashing: float
) -> None:
    with on(detection, seed) as manager:
        for _ in range(4):
            manager.play.port(READER).tell(Read(DB))
            manager.tells_at_random(REGISTER, UNREGISTER, crashing=crashing)
        manager.play.advance(2.0)
        assert len(manager.answers()) == 4
        assert manager.holders() == []
        assert manager.api.watches.targets == []


@pytest.mark.parametrize("crashing", [0.0, 0.3], ids=["healthy", "crashing"])
@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("comes", ["a read", "a pod", "a follower"])
def test_whoever_comes_while_the_holder_of_an_idle_object_is_stopped_finds_one(
    comes: str, seed: int, crashing: float
) -> None:
    with on(ChangeDetection.WATCH, seed) as manager:
        manager.tell(REGISTER)
        manager.play.advance(IDLE_LIMIT - 1.0)
        assert manager.holders() == [HOLDER]
        manager.play.clock.move(Seconds(manager.play.clock.monotonic() + 1.5))
        follower = Probe[ObjectFact]()
        described = DescribeObjects(reply_to=Probe[ObjectsDescribed]())
        news: dict[str, list[ObjectManagerMessage]] = {
            "a read": [],
            "a pod": [RegisterPod(pod=SHOP)],
            "a follower": [FollowObjects(subscriber=follower)],
        }
        if comes != "a follower":
            manager.play.port(READER).tell(Read(DB))
        manager.tells_at_random(described, described, *news[comes], crashing=crashing)
        manager.play.advance(2.0)
        assert manager.holders() == [HOLDER]
        assert [target.path for target in manager.api.watches.targets] == [TARGET]
        answers = manager.answers()
        assert len(answers) == (comes != "a follower")
        assert all(answer.value is not None for answer in answers)

        manager.tell(UnfollowObjects(subscriber=follower))
        manager.play.advance(IDLE_LIMIT + 1.0)
        assert (manager.holders(), manager.api.watches.targets) == ([], [])
