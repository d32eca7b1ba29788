"""What changed at the API server of the tests, for those who watch and those who list in pages."""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from messages.pods import JsonObject
from messages.watches import ObjectOp
from tests.support.apiserver.paths import Kind, Place, is_selected
from tests.support.apiserver.status import expired


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One step of the version counter."""

    kind: Kind
    namespace: str
    before: JsonObject | None
    after: JsonObject
    """As it is from here on; with ``is_gone`` as it was, with the version of its removal."""
    is_gone: bool

    @property
    def version(self) -> int:
        return int(self.after["metadata"]["resourceVersion"])


def event_of(
    change: Change, collection: Place, selector: str
) -> tuple[ObjectOp, JsonObject] | None:
    """Return what a watch of ``collection`` says of ``change``; None if it does not concern it.

    An object that is no longer selected is deleted as far as this watch goes.
    """
    if change.kind is not collection.kind or collection.namespace not in {"", change.namespace}:
        return None
    was = change.before is not None and is_selected(change.before, selector)
    is_in = not change.is_gone and is_selected(change.after, selector)
    if is_in:
        return ObjectOp.MODIFIED if was else ObjectOp.ADDED, change.after
    return (ObjectOp.DELETED, change.after) if was else None


class History:
    """The version counter, and the newest changes."""

    def __init__(self, length: int) -> None:
        self.version = 0
        self.compacted = 0
        """Up to this version all changes are forgotten."""
        self._changes: deque[Change] = deque(maxlen=length)
        self._listeners: list[Callable[[Change], None]] = []

    def record(self, change: Change) -> None:
        """Count ``change`` and tell it to all who follow."""
        if len(self._changes) == self._changes.maxlen:
            self.compacted = self._changes[0].version
        self._changes.append(change)
        self.version = change.version
        for listener in tuple(self._listeners):
            listener(change)

    def compact(self) -> None:
        """Forget every change so far."""
        self.compacted = self.version
        self._changes.clear()

    def go_back(self, version: int) -> None:
        """Have what came after ``version`` never have been. Nobody is told."""
        self.version = version
        kept = [change for change in self._changes if change.version <= version]
        self._changes.clear()
        self._changes.extend(kept)

    def follow(self, since: int, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Tell ``listener`` every change after ``since``; return what ends it. Raises a 410."""
        if since < self.compacted:
            raise expired(f"too old resource version: {since} ({self.compacted})")
        for change in tuple(self._changes):
            if change.version > since:
                listener(change)
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One answer to a list."""

    items: Sequence[JsonObject]
    metadata: JsonObject


class Pages:
    """The rests of lists that were cut by a limit, as they were when the list began."""

    def __init__(self) -> None:
        self._rests: dict[str, tuple[Sequence[JsonObject], int]] = {}

    def page(self, items: Sequence[JsonObject], version: int, limit: int, token: str) -> Page:
        """Return ``items``, or what is left of those that ``token`` stands for, up to ``limit``."""
        if token:
            if token not in self._rests:
                raise expired(
                    "The provided continue parameter is too old to display a consistent list"
                )
            items, version = self._rests[token]
        metadata = {"resourceVersion": str(version)}
        if not limit or len(items) <= limit:
            return Page(items=items, metadata=metadata)
        rest = uuid.uuid4().hex
        self._rests[rest] = (items[limit:], version)
        return Page(items=items[:limit], metadata={**metadata, "continue": rest})

    def forget(self) -> None:
        """Have every token expire."""
        self._rests.clear()
