"""What actors rely on of whoever keeps their watches: of the real keeper, and of the one in stories."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from kube.streams.actor import WATCHES, WatchesOwnMessage
from messages.api import ApiFailure, FailureKind
from messages.pods import JsonObject
from messages.port import Port
from messages.units import Seconds
from messages.watches import (
    ListTarget,
    ObjectOp,
    ObjectsAre,
    TargetListed,
    Unwatch,
    Watch,
    WatchEvent,
    WatchFact,
    WatchFailed,
    WatchRecovered,
    WatchTarget,
)
from tests.support.apiserver.fake_api import FakeApi
from tests.support.apiserver.fake_api_server import FakeApiServer
from tests.support.apiserver.store import ApiStore
from tests.support.kernel.probe import Probe
from tests.support.kube.calls_wire import GivenCredentials
from tests.support.kube.watch_stage import quick_rules, watch_stage

WEB = WatchTarget(path="/api/v1/namespaces/default/secrets", field_selector="metadata.name=web")
SECRET: JsonObject = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "web"}}
POD: JsonObject = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "nodeName": "n1",
        "containers": [{"name": "main", "image": "registry.example/web:1"}],
        "volumes": [{"name": "v", "secret": {"secretName": "web"}}],
    },
}


@dataclass
class Keeper:
    """A keeper of watches for node n1, and the objects as an administrator has them."""

    port: Port[Watch | Unwatch | ListTarget]
    store: ApiStore


@pytest.fixture(params=["real", "fake"])
def keeper(request: pytest.FixtureRequest) -> Iterator[Keeper]:
    if request.param == "fake":
        api = FakeApi()
        yield Keeper(api.watches, api.store)
        return
    # Nothing is tried again unless somebody asks.
    rules = quick_rules(first_forbidden_backoff=Seconds(60.0), longest_backoff=Seconds(60.0))
    with (
        FakeApiServer() as server,
        watch_stage(GivenCredentials(server.access()), rules) as watches,
    ):
        port: Port[WatchesOwnMessage] = watches.stage.port(WATCHES)
        yield Keeper(port, server.store)


@pytest.fixture
def facts() -> Probe[WatchFact]:
    return Probe()


@pytest.fixture
def lists() -> Probe[TargetListed]:
    return Probe()


def test_a_watch_is_a_list_with_its_mark_and_then_every_change(
    keeper: Keeper, facts: Probe[WatchFact]
) -> None:
    keeper.store.add(POD)
    made = keeper.store.add(SECRET)
    keeper.port.tell(Watch(target=WEB, subscriber=facts, mark=3))
    version = made["metadata"]["resourceVersion"]
    assert facts.next() == ObjectsAre(target=WEB, objects=(made,), resource_version=version, mark=3)
    changed = keeper.store.change("secrets", "default", "web", data={"k": "dg=="})
    assert facts.next() == WatchEvent(target=WEB, op=ObjectOp.MODIFIED, object=changed)


def test_a_repeat_lists_anew_with_the_highest_mark_and_doubles_nothing(
    keeper: Keeper, facts: Probe[WatchFact]
) -> None:
    keeper.store.add(POD)
    keeper.port.tell(Watch(target=WEB, subscriber=facts, mark=3))
    facts.next()
    keeper.port.tell(Watch(target=WEB, subscriber=facts, mark=5))
    again = facts.next()
    assert isinstance(again, ObjectsAre)
    assert again.mark == 5
    made = keeper.store.add(SECRET)
    assert facts.next() == WatchEvent(target=WEB, op=ObjectOp.ADDED, object=made)
    facts.expect_silence()


def test_a_list_beside_a_watch_is_for_who_asked(
    keeper: Keeper, facts: Probe[WatchFact], lists: Probe[TargetListed]
) -> None:
    keeper.store.add(POD)
    made = keeper.store.add(SECRET)
    keeper.port.tell(Watch(target=WEB, subscriber=facts, mark=3))
    facts.next()
    keeper.port.tell(ListTarget(target=WEB, reply_to=lists, mark=9))
    version = made["metadata"]["resourceVersion"]
    found = ObjectsAre(target=WEB, objects=(made,), resource_version=version, mark=9)
    lists.expect(TargetListed(target=WEB, mark=9, outcome=found))
    facts.expect_silence()


def test_what_is_forbidden_fails_until_it_is_allowed_and_somebody_asks_again(
    keeper: Keeper, facts: Probe[WatchFact]
) -> None:
    keeper.port.tell(Watch(target=WEB, subscriber=facts, mark=1))
    failed = facts.next()
    assert isinstance(failed, WatchFailed)
    assert (failed.failure.kind, failed.failure.status) == (FailureKind.FORBIDDEN, 403)
    assert failed.failure.sentence.startswith(f"cannot list {WEB.path} ({WEB.field_selector})")

    # A pod of the node references it.
    keeper.store.add(POD)
    keeper.port.tell(Watch(target=WEB, subscriber=facts, mark=2))
    assert facts.next() == failed
    found = facts.next()
    assert isinstance(found, ObjectsAre)
    assert (found.objects, found.mark) == ((), 2)
    assert facts.next() == WatchRecovered(target=WEB)


def test_a_list_that_is_forbidden_is_answered_and_not_repeated(
    keeper: Keeper, lists: Probe[TargetListed]
) -> None:
    keeper.port.tell(ListTarget(target=WEB, reply_to=lists, mark=4))
    listed = lists.next()
    assert isinstance(listed.outcome, ApiFailure)
    assert (listed.mark, listed.outcome.kind) == (4, FailureKind.FORBIDDEN)
    keeper.store.add(POD)
    lists.expect_silence()


def test_who_unwatches_hears_nothing_more(keeper: Keeper, facts: Probe[WatchFact]) -> None:
    keeper.store.add(POD)
    keeper.port.tell(Watch(target=WEB, subscriber=facts))
    facts.next()
    keeper.port.tell(Unwatch(target=WEB, subscriber=facts))
    other: Probe[WatchFact] = Probe()
    keeper.port.tell(Watch(target=WEB, subscriber=other))
    other.next()
    keeper.store.add(SECRET)
    assert isinstance(other.next(), WatchEvent)
    facts.expect_silence()
