"""What outlives a life of the keeper of images: everything that is under way, and what was learned."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TypeAlias

from kernel import OperationsMemory
from messages.container_runtime import CallRuntime, FindImage
from runtimes.cri.images.figures import ImageFigures
from runtimes.cri.images.garbage import ImageHistory
from runtimes.cri.images.options import DEFAULT_IMAGES, ImageOptions
from runtimes.cri.images.plugin_answers import PluginCache
from runtimes.cri.images.pull_queue import PullOrder, PullQueue
from runtimes.cri.images.pull_records import SALT_BYTES, PullRecords


@dataclass(frozen=True, slots=True, eq=False)
class ImageSearch:
    """One look for an image."""

    call: CallRuntime
    request: FindImage


@dataclass(frozen=True, slots=True, eq=False)
class GarbageCollection:
    """One time that images are looked at."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordReading:
    """Reading what the process before remembered."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordWriting:
    """Writing down what changed without a pull."""


ImageWork: TypeAlias = ImageSearch | PullOrder | GarbageCollection | RecordReading | RecordWriting


@dataclass(slots=True)
class ImageMemory:
    """One life of the keeper of images at a time uses it."""

    queue: PullQueue
    records: PullRecords = field(default_factory=lambda: PullRecords(os.urandom(SALT_BYTES)))
    has_records: bool = False
    """Whether it knows what the process before remembered."""
    operations: OperationsMemory[ImageWork] = field(default_factory=OperationsMemory)
    history: ImageHistory = field(default_factory=ImageHistory)
    cache: PluginCache = field(default_factory=PluginCache)
    figures: ImageFigures = field(default_factory=ImageFigures)
    waiting: list[CallRuntime] = field(default_factory=list)
    """Calls that came before it knew that."""
    in_hand: CallRuntime | None = None
    """The call that is being taken. A life that finds one here follows on a crash over it."""
    collection_failures: int = 0
    """How often in a row images could not be removed as they should be."""
    writing_trouble: str = ""

    @classmethod
    def of(cls, options: ImageOptions = DEFAULT_IMAGES) -> ImageMemory:
        """Return the memory of a process that begins."""
        return cls(queue=PullQueue(options.pulls), has_records=options.records is None)
