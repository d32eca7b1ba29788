"""The manager with the holders that it has in earnest: references come and go faster than they follow.

Each seed is another schedule, and another number of steps between two words to the manager, which may
crash in between: over none of them, so that nothing may get lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import pytest
from typing_extensions import override

from actors.objects.fetcher import (
    FetcherMemory,
    FetcherPorts,
    FetchMode,
    ObjectFetcher,
    fetcher_key,
)
from actors.objects.watcher import (
    ObjectWatcher,
    WatcherMemory,
    WatcherPorts,
    watcher_key,
    watcher_rules,
)
from kernel import ChildSpec, isolated
from messages.objects import (
    GetObject,
    ObjectId,
    ObjectManagerMessage,
    ObjectRead,
    ReadVerdict,
    RegisterPod,
    UnregisterPod,
)
from messages.units import Seconds
from tests.support.apiserver.fake_api import FakeApi
from tests.support.kernel.probe import Probe
from tests.support.objects.manager_players import needing
from tests.support.objects.manager_stage import ManagerStage

WEB = needing("web", "db")
REGISTER = RegisterPod(pod=WEB)
UNREGISTER = UnregisterPod(pod=WEB.uid)
COMES_AND_GOES: list[RegisterPod | UnregisterPod] = [REGISTER, UNREGISTER] * 3
DOCUMENT = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "db", "namespace": "default"},
    "data": {"password": "b2s="},
}


class WatchedStage(ManagerStage):
    """With the watchers of strategy Watch."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed=seed)
        self.api = FakeApi(as_node="")
        self.api.store.add(DOCUMENT)

    @override
    def make_spec(self, wanted: ObjectId) -> ChildSpec[Any]:
        key, memory = watcher_key(wanted), WatcherMemory(wanted)
        me, manager = self.play.port(key), self.play.port(self.key)
        ports = WatcherPorts(watches=self.api.watches, manager=manager, me=me)
        rules = watcher_rules(Seconds(60.0))
        return self.endanger(isolated(key, lambda: ObjectWatcher(ports, rules, memory)))


class FetchedStage(WatchedStage):
    """With the fetchers of strategy Cache."""

    @override
    def make_spec(self, wanted: ObjectId) -> ChildSpec[Any]:
        memory, manager = FetcherMemory(), self.play.port(self.key)
        ports = FetcherPorts(calls=self.api.calls, manager=manager)
        return self.endanger(
            isolated(
                fetcher_key(wanted),
                lambda: ObjectFetcher(wanted, FetchMode.CACHE, ports, memory),
            )
        )


@contextmanager
def on(make_stage: Callable[[int], WatchedStage], seed: int) -> Iterator[WatchedStage]:
    """Start a manager with these holders."""
    stage = make_stage(seed)
    stage.play.start()
    try:
        yield stage
        stage.check()
    finally:
        stage.play.stop()


@pytest.fixture(params=[WatchedStage, FetchedStage], ids=["watch", "cache"])
def make_stage(request: pytest.FixtureRequest) -> Callable[[int], WatchedStage]:
    kind: type[WatchedStage] = request.param
    return kind


@pytest.mark.parametrize("seed", range(40))
def test_what_nobody_references_in_the_end_is_held_by_nobody(
    make_stage: Callable[[int], WatchedStage], seed: int
) -> None:
    with on(make_stage, seed) as manager:
        manager.tells_at_random(*COMES_AND_GOES)
        assert manager.holders() == []
        assert manager.api.watches.targets == []


@pytest.mark.parametrize("seed", range(40))
def test_what_is_referenced_in_the_end_is_held_and_read(
    make_stage: Callable[[int], WatchedStage], seed: int
) -> None:
    with on(make_stage, seed) as manager:
        manager.tells_at_random(*COMES_AND_GOES, REGISTER)
        assert manager.holders() == ["objects/secrets/default/db"]
        reader: Probe[ObjectRead] = Probe()
        manager.tell(GetObject(pod=WEB.uid, name="db", reply_to=reader))
        manager.play.advance(1.0)
        assert reader.next().verdict is ReadVerdict.FOUND
        assert manager.described().objects[0].is_known


@pytest.mark.parametrize("crashing", [0.0, 0.3], ids=["healthy", "crashing"])
@pytest.mark.parametrize("seed", range(80))
def test_every_pod_that_comes_reads_goes_and_comes_again_is_answered(
    make_stage: Callable[[int], WatchedStage], seed: int, crashing: float
) -> None:
    readers = [Probe[ObjectRead]() for _ in range(4)]
    rounds: list[tuple[ObjectManagerMessage, ...]] = [
        (REGISTER, GetObject(pod=WEB.uid, name="db", reply_to=reader), UNREGISTER)
        for reader in readers
    ]
    with on(make_stage, seed) as manager:
        manager.tells_at_random(*chain.from_iterable(rounds), crashing=crashing)
        manager.play.advance(2.0)
        assert [len(reader.drain()) for reader in readers] == [1, 1, 1, 1]
        assert manager.holders() == []
        assert manager.api.watches.targets == []
