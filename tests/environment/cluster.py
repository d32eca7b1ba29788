"""The cluster of a node: its API server, what is wrong with it, and what the agent asks it for.

Its objects outlive the agent. Each request is under way for a while, and may fail, with its effect or not.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from typing_extensions import override

from agent.edges import ClusterEdges
from kube.calls.actor import ApiCalls, CallRules
from kube.calls.sender import NO_ANSWER, SendResult
from messages.api import ApiRequest, FailureKind, Verb
from messages.pods import Pod
from messages.units import Seconds
from tests.environment.machine import Witness
from tests.environment.objects import document_of
from tests.environment.outside import Outside
from tests.environment.streams import LAGS, Streams
from tests.support.apiserver.fake_failures import failure_of
from tests.support.apiserver.history import Change
from tests.support.apiserver.paths import POD, place_of
from tests.support.apiserver.store import ApiStore
from tests.support.apiserver.store_edges import SERVER, StoreSender, StoreWatches
from tests.support.kernel.clock import EPOCH

NODE: Final = "node1"


@dataclass(frozen=True, slots=True)
class CallFault:
    """What happens to one request."""

    verb: Verb
    part: str
    """Of its path."""
    failure: FailureKind
    has_effect: bool
    """It is carried out, and its answer gets lost."""

    def is_about(self, request: ApiRequest) -> bool:
        """Return whether it is such a request that this happens to."""
        return request.verb is self.verb and self.part in request.path


class Calls(StoreSender):
    """Carries requests out, each a moment later, and tells what the agent is about to delete."""

    def __init__(self, store: ApiStore, outside: Outside, luck: random.Random) -> None:
        super().__init__(store, NODE, lambda _: False)
        self.faults: list[CallFault] = []
        self.slowness = 0.0
        """Seconds that each request takes longer."""
        self.requests: Counter[str] = Counter()
        """How many there were, by what they ask for: ``UPDATE leases``."""
        self.is_at_work = False
        """It is the agent that changes something."""
        self.deletes: Callable[[Pod], None] = lambda _: None
        """Is told of a pod before the agent deletes it."""
        self._outside = outside
        self._luck = luck
        self._under_way: list[Callable[[], object]] = []

    def lose_sender(self) -> None:
        """Have each request under way carried out now, or never: its connection is gone with the agent."""
        under_way, self._under_way = self._under_way, []
        for request in under_way:
            if self._luck.random() < 0.5:
                request()

    @override
    def begin(
        self, request: ApiRequest, deadline: Seconds, done: Callable[[SendResult], None]
    ) -> None:
        after = self.slowness + self._luck.choice(LAGS)
        arrive = partial(super().begin, request, deadline, done)
        if after:
            self._under_way.append(arrive)
            self._outside.later(after, partial(self._arrive, arrive))
        else:
            arrive()

    def _arrive(self, request: Callable[[], object]) -> None:
        if request in self._under_way:
            self._under_way.remove(request)
            request()

    @override
    def result(self, request: ApiRequest) -> SendResult:
        place = place_of(request.path)
        self.requests[f"{request.verb.name} {place.kind.plural if place else request.path}"] += 1
        fault = next((each for each in self.faults if each.is_about(request)), None)
        if fault is None or self.is_away:
            return self._carried_out(request)
        self.faults.remove(fault)
        if fault.has_effect:
            self._carried_out(request)
        failure = failure_of(fault.failure)
        code = str(failure.status) if failure.status else NO_ANSWER
        return SendResult(outcome=failure, server=SERVER, user=NODE, codes=(code,))

    def _carried_out(self, request: ApiRequest) -> SendResult:
        self._look_at(request)
        self.is_at_work = True
        try:
            return super().result(request)
        finally:
            self.is_at_work = False

    def _look_at(self, request: ApiRequest) -> None:
        place = place_of(request.path)
        if request.verb is not Verb.DELETE or place is None or place.kind is not POD:
            return
        if not self.is_away and self._store.has("pods", place.namespace, place.name):
            pod = Pod.of(self._store.get("pods", place.namespace, place.name))
            wanted = ((request.body or {}).get("preconditions") or {}).get("uid")
            if wanted in {None, pod.uid}:
                self.deletes(pod)


class Cluster:
    """An API server, which may be away, slow or forgetful. Tells a witness what changes there."""

    def __init__(self, outside: Outside, luck: random.Random) -> None:
        self._outside = outside
        self._luck = luck
        self.witness = Witness()
        self._lists = 0
        """Of the watches of earlier lives of the agent."""
        self.store = ApiStore(now=lambda: EPOCH + outside.now, new_uid=self._new_uid)
        self.calls = Calls(self.store, outside, luck)
        self.calls.deletes = self._note_deletion
        self.refuses_mirrors = False
        """Somebody there refuses the mirrors of agents."""
        self.store.refuse(
            lambda request: self.refuses_mirrors and self.calls.is_at_work and _creates_pod(request)
        )
        self.streams = Streams(self.store, NODE, outside, luck)
        account = {"metadata": {"name": "default", "namespace": "default"}}
        self.store.add({"apiVersion": "v1", "kind": "ServiceAccount", **account})
        self.store.follow(str(self.store.history.version), self._note)

    def edges(self, rules: CallRules) -> ClusterEdges:
        """Return what a new life of the agent has of it. What was told to the one before is lost."""
        self.calls.lose_sender()
        self.streams.close()
        self._lists += self.streams.lists
        streams = self.streams = Streams(self.store, NODE, self._outside, self._luck)
        if self.calls.is_away:
            streams.go_away(failure_of(FailureKind.UNREACHABLE))
        return ClusterEdges(
            calls=lambda memory: ApiCalls(self.calls, memory, rules),
            watches=lambda memory: StoreWatches(streams, memory),
        )

    def go_away(self) -> None:
        """Have nobody reach it any more but its administrators."""
        self.calls.is_away = True
        self.streams.go_away(failure_of(FailureKind.UNREACHABLE))

    def come_back(self) -> None:
        """Have it answer again, and as fast as ever; its watches, too."""
        self.calls.is_away = False
        self.calls.slowness = 0.0
        self.streams.come_back()
        self.streams.catch_up()

    def says(self, kind: str, name: str, text: str) -> None:
        """Have a Secret or a ConfigMap of the default namespace have this value."""
        plural = f"{kind.lower()}s"
        document = document_of(kind, name, text)
        if self.store.has(plural, "default", name):
            self.store.change(plural, "default", name, data=document["data"])
        else:
            self.store.add(document)

    @property
    def asked(self) -> Counter[str]:
        """How many requests there were, by what they ask for, and lists of watches."""
        return self.calls.requests + Counter({"LIST": self._lists + self.streams.lists})

    def _note(self, change: Change) -> None:
        self.witness.changes(change, is_agents=self.calls.is_at_work)

    def _note_deletion(self, pod: Pod) -> None:
        self.witness.deletes(pod)

    def _new_uid(self) -> str:
        return f"{self._luck.getrandbits(128):032x}"


def _creates_pod(request: ApiRequest) -> bool:
    return request.verb is Verb.CREATE and request.path.endswith("/pods")
