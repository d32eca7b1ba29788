"""What is around a watched object in its model: an API server with a past, and a keeper of watches.

Lists are asked for, found and answered at three moments, and whatever the keeper tells lies on a wire until
it is delivered. So a list can be older than an event that overtook it, as in the world.
"""

from __future__ import annotations

import base64
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from messages.api import ApiFailure, FailureKind, Retry
from messages.pods import JsonObject
from messages.units import Seconds
from messages.watches import (
    ObjectOp,
    ObjectsAre,
    TargetListed,
    WatchEvent,
    WatchFact,
    WatchFailed,
    WatchRecovered,
)
from tests.support.canary import hidden
from tests.support.objects.watcher_stage import NAME, NAMESPACE, TARGET

AWAY = ApiFailure(kind=FailureKind.UNREACHABLE, retry=Retry.AFTER_DELAY, sentence="away")


@dataclass(frozen=True, slots=True)
class State:
    """The object at one moment; its data says which."""

    index: int
    version: int
    document: dict[str, Any] | None
    event: WatchEvent | None = None


class Server:
    """An API server with one object. No two of its states have the same data."""

    def __init__(self) -> None:
        self.past = [State(0, 10, None)]

    @property
    def present(self) -> State:
        return self.past[-1]

    @property
    def index(self) -> int:
        return self.present.index

    def put(self, *, uid: str = "", immutable: bool = False) -> WatchEvent:
        """Make a new version, of the same object unless ``uid`` is given."""
        before = self.present.document
        op = ObjectOp.MODIFIED if before and not uid else ObjectOp.ADDED
        kept = before["metadata"]["uid"] if before else f"u{self.index + 1}"
        return self._note(op, self._document(uid or kept, immutable=immutable))

    def remove(self) -> WatchEvent:
        """Delete the object."""
        gone = self.present.document
        assert gone is not None
        gone = {**gone, "metadata": {**gone["metadata"], "resourceVersion": self._next()}}
        return self._note(ObjectOp.DELETED, gone)

    def restore(self, back: int) -> None:
        """Be as it was ``back`` states ago, with the versions of then."""
        then = self.past[-1 - min(back, len(self.past) - 1)]
        self.past.append(State(self.index + 1, then.version, then.document))

    def since(self, index: int) -> list[WatchEvent]:
        """Return what happened after a state."""
        return [state.event for state in self.past[index + 1 :] if state.event]

    def _note(self, op: ObjectOp, document: JsonObject) -> WatchEvent:
        event = WatchEvent(target=TARGET, op=op, object=document)
        kept = None if op is ObjectOp.DELETED else dict(document)
        number = int(document["metadata"]["resourceVersion"])
        self.past.append(State(self.index + 1, number, kept, event))
        return event

    def _next(self) -> str:
        return str(self.present.version + 1)

    def _document(self, uid: str, *, immutable: bool) -> JsonObject:
        index = base64.b64encode(hidden(str(self.index + 1)).encode()).decode()
        metadata = {"namespace": NAMESPACE, "name": NAME, "uid": uid}
        return {
            "kind": "Secret",
            "metadata": {**metadata, "resourceVersion": self._next()},
            "data": {"index": index},
            "immutable": immutable,
        }


@dataclass(slots=True)
class Listing:
    """A list that was asked for at a mark."""

    mark: int
    found: ObjectsAre | None = None
    index: int = 0


@dataclass(slots=True)
class Keeper:
    """One watch, and lists beside it."""

    server: Server
    is_watching: bool = False
    mark: int = 0
    listing: Listing | None = None
    """Of the watch."""
    is_open: bool = False
    """Changes are put on the wire as they happen."""
    is_failing: bool = False
    lost_at: Seconds | None = None
    """When its stream was, if nobody was told of that yet."""
    at: int = 0
    """The state up to which the wire has it."""
    wire: deque[WatchFact] = field(default_factory=deque)
    lists: deque[Listing] = field(default_factory=deque)
    """Those beside the watch that are not answered."""

    def watch(self, mark: int) -> None:
        """Begin, or list anew."""
        self.mark = max(mark, self.mark) if self.is_watching else mark
        self.is_watching, self.is_open = True, False
        self.listing = Listing(self.mark)
        if self.is_failing:
            self.wire.append(WatchFailed(target=TARGET, failure=AWAY))

    def unwatch(self) -> None:
        """Watch no longer; what is on the wire arrives all the same."""
        self.is_watching = self.is_open = self.is_failing = False
        self.listing = self.lost_at = None

    def changes(self, event: WatchEvent) -> None:
        """Put a change on the wire."""
        if self.is_open:
            self.wire.append(event)
            self.at = self.server.index

    def find(self, listing: Listing) -> None:
        """Carry out a list."""
        state = self.server.present
        listing.index = state.index
        listing.found = ObjectsAre(
            target=TARGET,
            objects=(state.document,) if state.document else (),
            resource_version=str(state.version),
            mark=listing.mark,
        )

    def answer(self) -> None:
        """Tell what the list of the watch found, and open the watch from there on."""
        listing = self.listing
        assert listing is not None
        if listing.found is None:
            self.find(listing)
        assert listing.found is not None
        self.listing = None
        self.wire.append(listing.found)
        self.at = listing.index
        self.resume(repeats=0)

    def cut(self) -> None:
        """Lose the connection, and say so."""
        self.lose(None)
        self.doubt()

    def lose(self, now: Seconds | None) -> None:
        """Lose the stream in silence."""
        self.is_open, self.lost_at = False, now

    def doubt(self) -> None:
        """Say that there is no stream, and since when."""
        self.is_failing = True
        self.wire.append(WatchFailed(target=TARGET, failure=AWAY, since=self.lost_at))
        self.lost_at = None

    def resume(self, repeats: int) -> None:
        """Go on where the wire ended, or a little before."""
        self.wire.extend(self.server.since(max(0, self.at - repeats)))
        if self.is_failing:
            self.is_failing = False
            self.wire.append(WatchRecovered(target=TARGET))
        self.at = self.server.index
        self.is_open, self.lost_at = True, None

    def relist(self) -> None:
        """Have to list anew, with what was asked for last."""
        self.is_open = False
        self.listing = Listing(self.mark)

    def list_answered(self, outcome: ObjectsAre | ApiFailure) -> TargetListed:
        """Return the answer to the first of the lists beside the watch."""
        mark = self.lists.popleft().mark
        return TargetListed(target=TARGET, mark=mark, outcome=outcome)
