"""What actors rely on of whoever keeps their watches: the real keeper, and those in stories and histories."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

import pytest
from typing_extensions import override

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
from tests.environment.outside import Outside
from tests.environment.streams import Streams
from tests.support.apiserver.fake_api import FakeApi
from tests.support.apiserver.fake_api_server import FakeApiServer
from tests.support.apiserver.fake_failures import failure_of
from tests.support.apiserver.store import ApiStore
from tests.support.kernel.probe import Probe
from tests.support.kube.calls_wire import GivenCredentials
from tests.support.kube.watch_stage import quick_rules, watch_stage

M = TypeVar("M")
A_WHILE = 0.1
"""Seconds that nothing which was begun is under way, and nothing is tried again."""
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


AWAY = failure_of(FailureKind.UNREACHABLE)


@dataclass(kw_only=True)
class Keeper:
    """A keeper of watches for node n1, and the objects as an administrator has them."""

    port: Port[Watch | Unwatch | ListTarget]
    store: ApiStore
    go_away: Callable[[], object]
    """Nobody reaches the API server any more but its administrators."""
    come_back: Callable[[], object]
    end_streams: Callable[[], object]
    """Every stream ends, as each does now and then, and can be had again at once."""
    outside: Outside = field(default_factory=Outside)
    """What happens later, of the one whose time a test moves."""

    def probe(self) -> Probe[Any]:
        return Waiting(self.outside)


class Waiting(Probe[M]):
    """Lets time pass outside until something is told."""

    def __init__(self, outside: Outside) -> None:
        super().__init__()
        self._outside = outside

    @override
    def next(self) -> M:
        while self._told.empty() and self._outside.next_due() < math.inf:
            self._do_next()
        return super().next()

    @override
    def expect_silence(self) -> None:
        ends = self._outside.now + A_WHILE
        while self._outside.next_due() <= ends:
            self._do_next()
        super().expect_silence()

    def _do_next(self) -> None:
        self._outside.now = self._outside.next_due()
        self._outside.do_next()


def in_stories() -> Keeper:
    api = FakeApi()

    def end_streams() -> None:
        api.watches.break_off()
        api.watches.mend_and_resume()

    return Keeper(
        port=api.watches,
        store=api.store,
        go_away=api.watches.break_off,
        come_back=api.watches.mend_and_resume,
        end_streams=end_streams,
    )


def in_histories() -> Keeper:
    store, outside = ApiStore(), Outside()
    streams = Streams(store, "n1", outside, random.Random(1))
    return Keeper(
        port=streams,
        store=store,
        go_away=lambda: streams.go_away(AWAY),
        come_back=streams.come_back,
        end_streams=streams.end,
        outside=outside,
    )


@pytest.fixture(params=["real", "stories", "histories"])
def keeper(request: pytest.FixtureRequest) -> Iterator[Keeper]:
    if request.param != "real":
        yield in_stories() if request.param == "stories" else in_histories()
        return
    # Nothing is tried again unless somebody asks.
    rules = quick_rules(first_forbidden_backoff=Seconds(60.0), longest_backoff=Seconds(60.0))
    with (
        FakeApiServer() as server,
        watch_stage(GivenCredentials(server.access()), rules) as watches,
    ):
        port: Port[WatchesOwnMessage] = watches.stage.port(WATCHES)

        def go_away() -> None:
            server.http.stop_listening()
            server.http.cut_connections()

        yield Keeper(
            port=port,
            store=server.store,
            go_away=go_away,
            come_back=server.http.listen_again,
            end_streams=server.http.cut_connections,
        )


@pytest.fixture
def facts(keeper: Keeper) -> Probe[WatchFact]:
    return keeper.probe()


@pytest.fixture
def lists(keeper: Keeper) -> Probe[TargetListed]:
    return keeper.probe()


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
    other: Probe[WatchFact] = keeper.probe()
    keeper.port.tell(Watch(target=WEB, subscriber=other))
    other.next()
    keeper.store.add(SECRET)
    assert isinstance(other.next(), WatchEvent)
    facts.expect_silence()


# --- streams that end, and an API server that is away ---------------------------------------------


def followed(keeper: Keeper, facts: Probe[WatchFact]) -> None:
    """Have a Secret be there, and be followed."""
    keeper.store.add(POD)
    keeper.store.add(SECRET)
    keeper.port.tell(Watch(target=WEB, subscriber=facts))
    assert isinstance(facts.next(), ObjectsAre)
    change(keeper, "first")
    assert isinstance(facts.next(), WatchEvent)


def left(keeper: Keeper, facts: Probe[WatchFact]) -> None:
    """Have a Secret be followed, and then the API server be away."""
    followed(keeper, facts)
    keeper.go_away()
    failed = facts.next()
    assert isinstance(failed, WatchFailed)
    assert failed.failure.kind is FailureKind.UNREACHABLE


def change(keeper: Keeper, text: str) -> JsonObject:
    return keeper.store.change("secrets", "default", "web", metadata={"labels": {"is": text}})


def test_a_stream_that_ends_is_replaced_and_each_change_is_told_once(
    keeper: Keeper, facts: Probe[WatchFact]
) -> None:
    followed(keeper, facts)
    for text in ("second", "third"):
        keeper.end_streams()
        made = [change(keeper, f"{text}-{number}") for number in range(2)]
        # Whether it is said to fail meanwhile depends on how long that takes.
        events = (each for each in iter(facts.next, None) if isinstance(each, WatchEvent))
        assert [each.object for each in islice(events, 2)] == made


def test_what_happened_while_the_api_server_was_away_is_told_before_the_recovery(
    keeper: Keeper, facts: Probe[WatchFact]
) -> None:
    left(keeper, facts)
    missed = [change(keeper, text) for text in ("second", "third")]
    keeper.come_back()
    events = [WatchEvent(target=WEB, op=ObjectOp.MODIFIED, object=each) for each in missed]
    facts.expect(*events, WatchRecovered(target=WEB))
    later = change(keeper, "fourth")
    facts.expect(WatchEvent(target=WEB, op=ObjectOp.MODIFIED, object=later))


def test_what_the_api_server_has_forgotten_meanwhile_is_listed_anew(
    keeper: Keeper, facts: Probe[WatchFact]
) -> None:
    left(keeper, facts)
    missed = change(keeper, "second")
    keeper.store.compact()
    keeper.come_back()
    found = facts.next()
    assert isinstance(found, ObjectsAre)
    assert found.objects == (missed,)
    facts.expect(WatchRecovered(target=WEB))


def test_who_asks_while_the_api_server_is_away_is_told_so_and_then_what_there_is(
    keeper: Keeper, facts: Probe[WatchFact]
) -> None:
    left(keeper, facts)
    keeper.port.tell(Watch(target=WEB, subscriber=facts, mark=7))
    again = facts.next()
    assert isinstance(again, WatchFailed)
    missed = change(keeper, "second")
    keeper.come_back()
    found = facts.next()
    assert isinstance(found, ObjectsAre)
    assert (found.objects, found.mark) == ((missed,), 7)
    facts.expect(WatchRecovered(target=WEB))
