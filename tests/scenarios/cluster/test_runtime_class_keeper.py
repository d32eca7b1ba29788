"""The keeper of RuntimeClasses: what the watch tells, what who runs containers hears."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

import pytest

from actors.cluster.runtime_class_keeper import (
    RUNTIME_CLASS_KEEPER,
    WATCHED,
    RuntimeClassKeeper,
    RuntimeClassMemory,
    RuntimeClassMessage,
    RuntimeClassPorts,
)
from kernel import Level, Runtime, SupervisorSpec, isolated
from messages.api import ApiFailure, FailureKind, Retry
from messages.cluster import RUNTIME_CLASSES, RuntimeClasses, RuntimeHandlers
from messages.pods import JsonObject
from messages.watches import (
    ObjectOp,
    ObjectsAre,
    Watch,
    WatchEvent,
    WatchFailed,
    WatchRecovered,
)
from tests.support.kernel.followers import Followers
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage

WATCH_FAILED = WatchFailed(
    target=WATCHED,
    failure=ApiFailure(
        kind=FailureKind.FORBIDDEN, retry=Retry.NEVER, sentence="cannot list runtimeclasses"
    ),
)


class ClassStage:
    """The keeper at work, and what it told the others."""

    def __init__(self, runtime: Runtime) -> None:
        self.watches: Probe[Watch] = Probe()
        self.memory = RuntimeClassMemory()
        self._followers = Followers()
        keeper = isolated(RUNTIME_CLASS_KEEPER, self._make)
        children = (keeper, *self._followers.actors())
        self.play = Stage(SupervisorSpec(name="root", children=children), runtime)
        self.level: Level[RuntimeClasses, RuntimeHandlers] = Level()
        self.me = self.play.port(RUNTIME_CLASS_KEEPER)

    def _make(self) -> RuntimeClassKeeper:
        ports = RuntimeClassPorts(watches=self.watches, me=self.me, classes=self.level)
        return RuntimeClassKeeper(ports, self.memory)

    def hears(self, *messages: RuntimeClassMessage) -> None:
        self.play.tell_all(RUNTIME_CLASS_KEEPER, *messages)

    def follow(self) -> Probe[RuntimeHandlers]:
        return self._followers.follow(self.play, self.level, RUNTIME_CLASSES)

    def lists(self, *classes: JsonObject) -> None:
        self.hears(ObjectsAre(target=WATCHED, objects=classes, resource_version="1"))

    def changes(self, op: ObjectOp, document: JsonObject) -> None:
        self.hears(WatchEvent(target=WATCHED, op=op, object=document))


@pytest.fixture
def classes(runtime: Runtime) -> Iterator[ClassStage]:
    stage = ClassStage(runtime)
    stage.play.start()
    yield stage
    stage.play.stop()


def runtime_class(name: str, handler: Any = "runc") -> JsonObject:
    return {"metadata": {"name": name}, "handler": handler}


def told(follower: Probe[RuntimeHandlers]) -> list[Mapping[str, str]]:
    return list(follower.drain())


def test_they_are_followed_by_one_watch_once_somebody_asks(classes: ClassStage) -> None:
    classes.watches.expect_silence()
    classes.follow()
    classes.follow()
    classes.watches.expect(Watch(target=WATCHED, subscriber=classes.me))
    classes.watches.expect_silence()


def test_followers_are_told_all_of_them_as_soon_as_they_are_known(classes: ClassStage) -> None:
    first = classes.follow()
    first.expect_silence()
    classes.lists(runtime_class("kata", "kata-qemu"), runtime_class("plain"))
    known = {"kata": "kata-qemu", "plain": "runc"}
    assert told(first) == [known]
    assert told(classes.follow()) == [known]


def test_each_change_is_told_and_what_is_no_change_is_not(classes: ClassStage) -> None:
    follower = classes.follow()
    classes.lists(runtime_class("plain"))
    classes.changes(ObjectOp.ADDED, runtime_class("kata", "k1"))
    classes.changes(ObjectOp.MODIFIED, runtime_class("kata", "k2"))
    classes.changes(ObjectOp.MODIFIED, {**runtime_class("kata", "k2"), "overhead": {}})
    classes.changes(ObjectOp.DELETED, runtime_class("kata", "k2"))
    classes.lists(runtime_class("plain"))
    assert told(follower) == [
        {"plain": "runc"},
        {"plain": "runc", "kata": "k1"},
        {"plain": "runc", "kata": "k2"},
        {"plain": "runc"},
    ]


@pytest.mark.parametrize(
    "bad",
    [{}, {"metadata": 7}, {"metadata": {"name": 7}}, runtime_class("x", 7), runtime_class("x", "")],
)
def test_one_that_cannot_be_read_is_as_if_it_were_not_there(
    classes: ClassStage, bad: JsonObject
) -> None:
    follower = classes.follow()
    classes.lists(bad, runtime_class("plain"))
    classes.changes(ObjectOp.ADDED, bad)
    assert told(follower) == [{"plain": "runc"}]


def test_a_node_that_may_not_read_them_says_so_once_until_it_may(
    classes: ClassStage, logs: list[MutableMapping[str, Any]]
) -> None:
    follower = classes.follow()
    recovered = WatchRecovered(target=WATCHED)
    classes.hears(WATCH_FAILED, WATCH_FAILED, recovered, WATCH_FAILED)
    said = [each for each in logs if each["event"] == "pods with a runtime class cannot start"]
    assert len(said) == 2
    follower.expect_silence()


def test_a_crash_loses_neither_followers_nor_classes(classes: ClassStage) -> None:
    follower = classes.follow()
    classes.lists(runtime_class("plain"))
    told(follower)
    classes.play.system.crash(RUNTIME_CLASS_KEEPER.path)
    classes.play.advance(1.0)
    assert len(classes.watches.drain()) == 2
    classes.lists(runtime_class("kata"))
    assert told(follower) == [{"kata": "runc"}]
