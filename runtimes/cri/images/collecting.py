"""Removing unused images: the calls, and what people are told about it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

import structlog

from kernel import Operation
from messages.events import EventType, ObjectReference, PostEvent
from messages.units import Seconds
from runtimes.cri import rpcs
from runtimes.cri.images.garbage import (
    DiskSpace,
    ImageHistory,
    UnusedImage,
    images_in_use,
    removable,
    sandbox_image,
    too_old,
)
from runtimes.cri.images.messages import GarbageCollection, ImageMemory, ImagePorts, RecordWriting
from runtimes.cri.images.options import GarbageOptions, ImageOptions
from runtimes.cri.images.pulling import BeginWork, message_of
from runtimes.cri.operations.flow import DiskError, RpcError, call, is_away, on_images

TOLD_AFTER: Final = 2
"""Failures in a row after which there is an event: one alone may mean that the runtime is just starting."""

_log = structlog.get_logger("images")


@dataclass(slots=True)
class Collected:
    """The result of one collection."""

    removed: Counter[str] = field(default_factory=Counter)
    """How many images were removed, by reason: ``age``, ``space``."""
    freed: int = 0
    """Bytes, as the runtime reckons them."""
    space: DiskSpace | None = None
    trouble: str = ""
    """Why it did not end well, for people."""
    reason: str = ""
    """The word for it, if it has one of its own."""
    is_away: bool = False
    """The runtime could not be asked: people are told so elsewhere."""
    present: tuple[str, ...] | None = None
    """Ids of the images that there are; None if not known."""


@dataclass(slots=True)
class CollectionRules:
    """The rules and sources of a collection."""

    options: GarbageOptions
    history: ImageHistory
    now: Callable[[], Seconds]
    space_of: Callable[[str], DiskSpace]
    """Measures the file system of a path. May block."""
    pulled: Callable[[], frozenset[str]]
    """The names of images that are being pulled."""


def collected(rules: CollectionRules) -> Operation[Collected]:
    """Remove the images that are too old and, if the disk is too full, the least recently used ones."""
    result = Collected()
    try:
        unused = yield from _unused(rules, result)
        now = rules.now()
        if rules.history.is_old_enough(rules.options, now):
            old = list(too_old(unused, rules.options, now))
            yield from _remove(old, "age", None, rules, result)
            unused = [image for image in unused if image not in old]
        if rules.options.high_percent < 100:
            yield from _make_room(unused, rules, result)
    except RpcError as error:
        result.trouble = result.trouble or message_of(error.failure)
        result.is_away = is_away(error.failure)
    except DiskError as error:
        result.trouble = str(error)
    return result


def _unused(rules: CollectionRules, result: Collected) -> Operation[list[UnusedImage]]:
    images = yield from call(rpcs.list_images())
    containers = yield from call(rpcs.list_containers())
    status = yield from call(rpcs.status(verbose=True))
    result.present = tuple(image.id for image in images.images)
    kept = sandbox_image(status.info)
    return rules.history.look(
        images.images,
        images_in_use(containers.containers),
        frozenset({kept} if kept else ()),
        rules.now(),
    )


def _make_room(
    unused: list[UnusedImage], rules: CollectionRules, result: Collected
) -> Operation[None]:
    info = yield from call(rpcs.image_fs_info())
    if not info.image_filesystems:
        result.trouble = "the runtime names no file system of images"
        return
    mountpoint = info.image_filesystems[0].fs_id.mountpoint
    space = result.space = yield from on_images(lambda: rules.space_of(mountpoint))
    if space.capacity <= 0:
        result.reason = "InvalidDiskCapacity"
        result.trouble = f"invalid capacity {space.capacity} on image filesystem"
        return
    wanted = space.too_much(rules.options)
    if not wanted:
        return
    before = result.freed
    candidates = list(removable(unused, rules.options, rules.now()))
    yield from _remove(candidates, "space", wanted, rules, result)
    freed = result.freed - before
    if freed < wanted and not result.trouble:
        result.reason = "FreeDiskSpaceFailed"
        result.trouble = (
            f"Failed to garbage collect required amount of images. Attempted to free {wanted} bytes, "
            f"but only found {freed} bytes eligible to free."
        )


def _remove(
    images: Iterable[UnusedImage],
    reason: str,
    enough: int | None,
    rules: CollectionRules,
    result: Collected,
) -> Operation[None]:
    """Remove images until ``enough`` bytes are free. Note one that cannot be removed, and pass it over."""
    freed = 0
    for image in images:
        if enough is not None and freed >= enough:
            return
        if rules.history.is_needed(image.id, rules.now()) or image.names & rules.pulled():
            continue
        try:
            yield from call(rpcs.remove_image(image.id))
        except RpcError as error:
            result.trouble = message_of(error.failure)
            continue
        freed += image.size
        result.freed += image.size
        result.removed[reason] += 1


class ImageCollector:
    """Begins collections, and tells people their results."""

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
        """Look for unused images."""
        self._memory.records.begin_look()
        self._begin(GarbageCollection(), collected(self._rules))

    def finish(self, result: Collected) -> None:
        """Handle the result of a collection: write records, tell people."""
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
