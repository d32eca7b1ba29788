"""Removing images that nobody uses: when, and what is told of it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

import structlog

from kernel import Operation
from messages.events import EventType, ObjectReference, PostEvent
from messages.units import Seconds
from runtimes.cri.images.collecting import Collected, CollectionRules, collected
from runtimes.cri.images.image_memory import GarbageCollection, ImageMemory, RecordWriting
from runtimes.cri.images.image_messages import ImagePorts
from runtimes.cri.images.options import ImageOptions
from runtimes.cri.images.pull_desk import BeginWork

TOLD_AFTER: Final = 2
"""Failures in a row after which there is an event: one alone may mean that the runtime is just starting."""

_log = structlog.get_logger("images")


class GarbageDesk:
    """Begins collections, and tells what came of them."""

    def __init__(
        self,
        memory: ImageMemory,
        options: ImageOptions,
        ports: ImagePorts,
        begin: BeginWork,
        save: Callable[[], Operation[None]],
        now: Callable[[], Seconds],
    ) -> None:
        self._memory = memory
        self._options = options
        self._events = ports.events
        self._begin = begin
        self._save = save
        self._rules = CollectionRules(
            options.garbage, memory.history, now, ports.measure, self._being_pulled
        )

    def begin(self) -> None:
        """Look for images that nobody uses."""
        self._memory.records.begin_look()
        self._begin(GarbageCollection(), collected(self._rules))

    def finish(self, result: Collected) -> None:
        """Tell what came of a collection."""
        memory = self._memory
        memory.figures.removed.update(result.removed)
        if result.present is not None and memory.records.keep_only(result.present):
            self._begin(RecordWriting(), self._save())
        if result.removed:
            _log.info("images removed", **dict(result.removed), freed=result.freed)
        if not result.trouble:
            memory.collection_failures = 0
            return
        memory.collection_failures += 1
        # An outage is a line of the log already.
        level = logging.DEBUG if result.is_away else logging.WARNING
        _log.log(level, "images cannot be removed as they should be", reason=result.trouble)
        if result.reason:
            self._say(result.reason, result.trouble)
        if memory.collection_failures >= TOLD_AFTER:
            self._say("ImageGCFailed", result.trouble)

    def _being_pulled(self) -> frozenset[str]:
        return frozenset(order.image.in_full for order in self._memory.queue)

    def _say(self, reason: str, message: str) -> None:
        node = self._options.node
        if self._events is not None and node:
            regarding = ObjectReference(kind="Node", name=node, uid=node)
            self._events.tell(
                PostEvent(
                    regarding=regarding, type=EventType.WARNING, reason=reason, message=message
                )
            )
