"""A keeper of watches that has the Services that the test puts into it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from typing_extensions import override

from actors.cluster.service_keeper import SERVICES
from kernel import Port
from messages.api import ApiFailure
from messages.pods import JsonObject
from messages.watches import (
    ObjectOp,
    ObjectsAre,
    Unwatch,
    Watch,
    WatchEvent,
    WatchFact,
    WatchFailed,
)


@dataclass
class PlainWatches(Port[Watch | Unwatch]):
    """Answers at once with a list, or with a failure, unless it is silent; then it tells changes."""

    services: dict[tuple[str, str], JsonObject] = field(default_factory=dict)
    subscribers: dict[Port[WatchFact], None] = field(default_factory=dict)
    failure: ApiFailure | None = None
    is_silent: bool = False

    @override
    def tell(self, message: Watch | Unwatch, /) -> None:
        if isinstance(message, Unwatch):
            self.subscribers.pop(message.subscriber, None)
            return
        self.subscribers[message.subscriber] = None
        if not self.is_silent:
            message.subscriber.tell(self._answer())

    def put(self, document: dict[str, Any] | JsonObject) -> None:
        """Create a Service, or change it."""
        metadata = document["metadata"]
        self.services[metadata["namespace"], metadata["name"]] = document
        self._tell_all(WatchEvent(target=SERVICES, op=ObjectOp.MODIFIED, object=document))

    def answer(self) -> None:
        """Answer what was not answered."""
        self.is_silent = False
        self._tell_all(self._answer())

    def _answer(self) -> WatchFact:
        if self.failure is not None:
            return WatchFailed(target=SERVICES, failure=self.failure)
        objects = tuple(self.services.values())
        return ObjectsAre(target=SERVICES, objects=objects, resource_version="10")

    def _tell_all(self, fact: WatchFact) -> None:
        for subscriber in self.subscribers if not self.is_silent else ():
            subscriber.tell(fact)
