"""What the keeper of images hears, and whom it tells."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from kernel import Key, Port
from messages.container_runtime import CallRuntime
from messages.events import PostEvent
from messages.images import DescribeImages
from runtimes.cri.images.garbage import DiskSpace
from runtimes.cri.operations.flow import Disk
from runtimes.cri.wire.transport import Wire

ImageKeeperMessage: TypeAlias = CallRuntime | DescribeImages

IMAGE_KEEPER = Key[ImageKeeperMessage]("runtime/images")


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
