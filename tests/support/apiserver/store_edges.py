"""The agent's edge towards the API server, over an ``ApiStore``: for trees that the real actors are in.

``StoreSender`` is what the real ``ApiCalls`` sends through, ``StoreWatches`` stands in for ``Watches``:
its streams end with each life, and a life begins with what the memory says is wanted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final, assert_never

from typing_extensions import override

from kernel import PooledActor
from kube.calls.request_info import attempt_of
from kube.calls.sender import NO_ANSWER, Sender, SendResult
from kube.streams.actor import KeeperEnded, WatchError, WatchesOwnMessage
from kube.streams.shared import WatchMemory
from messages.api import ApiFailure, ApiRequest, FailureKind, Verb
from messages.pods import JsonObject, Pod
from messages.units import Seconds
from messages.watches import (
    DescribeWatches,
    ListAllAnew,
    ListTarget,
    Unwatch,
    Watch,
    WatchesDescribed,
)
from tests.support.apiserver.fake_failures import failure_of, failure_of_status
from tests.support.apiserver.fake_watches import FakeWatches
from tests.support.apiserver.paths import EVENT, POD, Place, place_of
from tests.support.apiserver.status import StatusError
from tests.support.apiserver.store import ApiStore

SERVER: Final = "https://api.example:6443"


class StoreSender(Sender):
    """Has requests carried out at once, and records what was done."""

    def __init__(self, store: ApiStore, node: str, is_right: Callable[[Pod], bool]) -> None:
        self._store = store
        self._node = node
        self._is_right = is_right
        self.is_away = False
        """The API server cannot be reached."""
        self.changes: Counter[str] = Counter()
        """Objects that were created and deleted, and how often."""
        self.violations: list[str] = []
        """What no agent may do."""

    @override
    def begin(
        self, request: ApiRequest, deadline: Seconds, done: Callable[[SendResult], None]
    ) -> None:
        done(self.result(request))

    def result(self, request: ApiRequest) -> SendResult:
        """Carry ``request`` out, and return what came of it."""
        if self.is_away:
            return self._sent(failure_of(FailureKind.UNREACHABLE))
        place = place_of(request.path)
        assert place is not None
        if request.verb is Verb.DELETE:
            self._watch_over(request, place)
        try:
            outcome = self._store.handle(request, as_node=self._node)
        except StatusError as error:
            return self._sent(failure_of_status(error, attempt_of(request)))
        self._note(request, place)
        return self._sent(outcome)

    def _sent(self, outcome: JsonObject | ApiFailure) -> SendResult:
        status = outcome.status if isinstance(outcome, ApiFailure) else 200
        code = str(status) if status else NO_ANSWER
        return SendResult(outcome=outcome, server=SERVER, user=self._node, codes=(code,))

    def _watch_over(self, request: ApiRequest, place: Place) -> None:
        """Note a deletion that should not be: of a name, of somebody else's pod, of a right mirror."""
        uid = ((request.body or {}).get("preconditions") or {}).get("uid")
        if place.kind is not POD or not uid:
            self.violations.append(f"the deletion of {place.path} names no UID")
        elif self._store.has(place.kind.plural, place.namespace, place.name):
            pod = Pod.of(self._store.get(place.kind.plural, place.namespace, place.name))
            if pod.uid == uid and not pod.is_mirror and not pod.is_deleting:
                self.violations.append(f"{place.path} is no mirror and nobody else deleted it")
            if pod.uid == uid and self._is_right(pod):
                self.violations.append(f"{place.path} was right and was deleted")

    def _note(self, request: ApiRequest, place: Place) -> None:
        if place.kind is not EVENT and request.verb in {Verb.CREATE, Verb.DELETE}:
            name = place.name or (request.body or {})["metadata"]["name"]
            self.changes[f"{request.verb.name.lower()} {place.kind.name} {name}"] += 1


class StoreWatches(PooledActor[WatchesOwnMessage]):
    """Keeps everybody's watches on a ``FakeWatches``, as long as it lives."""

    def __init__(self, streams: FakeWatches, memory: WatchMemory) -> None:
        self._streams = streams
        self._memory = memory

    @override
    def started(self) -> None:
        self.resources.callback(self._close)
        for target, subscribers in self._memory.subscribers.items():
            mark = self._memory.marks.get(target, 0)
            for subscriber in subscribers:
                self._streams.tell(Watch(target=target, subscriber=subscriber, mark=mark))

    @override
    def receive(self, message: WatchesOwnMessage, /) -> None:
        match message:
            case Watch(target=target, subscriber=subscriber, mark=mark):
                self._memory.want(target, subscriber, mark)
                self._streams.tell(message)
            case Unwatch(target=target, subscriber=subscriber):
                self._memory.forget(target, subscriber)
                self._streams.tell(message)
            case ListTarget() | ListAllAnew():
                self._streams.tell(message)
            case DescribeWatches(reply_to=reply_to):
                streams = len(self._streams.targets)
                reply_to.tell(
                    WatchesDescribed(
                        watches=(), connections=1, streams=streams, reconnects={}, requests={}
                    )
                )
            case KeeperEnded():
                raise WatchError
            case _:
                assert_never(message)

    def _close(self) -> None:
        for target, subscribers in self._memory.subscribers.items():
            for subscriber in subscribers:
                self._streams.tell(Unwatch(target=target, subscriber=subscriber))
