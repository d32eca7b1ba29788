"""What the keeper of images hears, tells, counts, and remembers from life to life."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from kernel import Key, OperationsMemory, Port
from messages.container_runtime import CallRuntime, FindImage
from messages.container_runtime_health import (
    PULL_BOUNDS,
    DescribeImages,
    ImagesDescribed,
    PullTimes,
)
from messages.events import PostEvent
from messages.units import Seconds
from runtimes.cri.images.garbage import DiskSpace, ImageHistory
from runtimes.cri.images.options import DEFAULT_IMAGES, ImageOptions
from runtimes.cri.images.plugins import PluginCache
from runtimes.cri.images.pull_queue import PullOrder, PullQueue
from runtimes.cri.images.pull_records import SALT_BYTES, PullRecords
from runtimes.cri.operations.flow import Disk
from runtimes.cri.wire.transport import Wire

_MB: Final = 10**6
_SIZES: Final = (
    (10 * _MB, "0-10MB"),
    (100 * _MB, "10MB-100MB"),
    (500 * _MB, "100MB-500MB"),
    (1_000 * _MB, "500MB-1GB"),
    (5_000 * _MB, "1GB-5GB"),
    (10_000 * _MB, "5GB-10GB"),
    (20_000 * _MB, "10GB-20GB"),
    (30_000 * _MB, "20GB-30GB"),
    (40_000 * _MB, "30GB-40GB"),
    (60_000 * _MB, "40GB-60GB"),
    (100_000 * _MB, "60GB-100GB"),
)
_LARGEST: Final = "GT100GB"

ImageKeeperMessage: TypeAlias = CallRuntime | DescribeImages

IMAGE_KEEPER = Key[ImageKeeperMessage]("runtime/images")

IMAGE_RECORDS: Final = "image records"
"""The turn of work on the file of records, which is done one after the other."""


@dataclass(slots=True)
class _Times:
    buckets: list[int] = field(default_factory=lambda: [0] * (len(PULL_BOUNDS) + 1))
    seconds: float = 0.0


@dataclass(slots=True)
class ImageFigures:
    """What was counted since the process began."""

    removed: Counter[str] = field(default_factory=Counter)
    plugin_errors: Counter[str] = field(default_factory=Counter)
    failed_pulls: int = 0
    _pulls: dict[str, _Times] = field(default_factory=dict)

    def note_pull(self, size: int, took: Seconds) -> None:
        """Count a pull that succeeded."""
        times = self._pulls.setdefault(size_class(size), _Times())
        times.buckets[bisect_left(PULL_BOUNDS, took)] += 1
        times.seconds += took

    def described(self, queue: PullQueue) -> ImagesDescribed:
        """Return it all."""
        return ImagesDescribed(
            pulls={
                size: PullTimes(buckets=tuple(times.buckets), seconds=Seconds(times.seconds))
                for size, times in self._pulls.items()
            },
            failed_pulls=self.failed_pulls,
            pulls_under_way=queue.under_way,
            pulls_waiting=len(queue) - queue.under_way,
            removed=dict(self.removed),
            plugin_errors=dict(self.plugin_errors),
        )


def size_class(size: int) -> str:
    """Return what a kubelet calls images of this size, in bytes."""
    return next((name for limit, name in _SIZES if size <= limit), _LARGEST)


def space_of(path: str) -> DiskSpace:
    """Measure the file system that a path is on. May block. Raises ``OSError``."""
    found = os.statvfs(path)
    return DiskSpace(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagePorts:
    """Whom the keeper of images tells, and who works for it."""

    wire: Wire
    disk: Disk
    events: Port[PostEvent] | None = None
    measure: Callable[[str], DiskSpace] = space_of
    """Measures the file system of a path. May block."""


@dataclass(frozen=True, slots=True, eq=False)
class ImageSearch:
    """One look for an image."""

    call: CallRuntime
    request: FindImage


@dataclass(frozen=True, slots=True, eq=False)
class GarbageCollection:
    """One collection of unused images."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordReading:
    """Reading the records of the process before."""


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
    handling: CallRuntime | None = None
    """The call that is being handled. A life that finds one here follows on a crash over it."""
    collection_failures: int = 0
    """How often in a row images could not be removed as they should be."""
    writing_trouble: str = ""

    @classmethod
    def of(cls, options: ImageOptions = DEFAULT_IMAGES) -> ImageMemory:
        """Return the memory of a process that begins."""
        return cls(queue=PullQueue(options.pulls), has_records=options.records is None)
