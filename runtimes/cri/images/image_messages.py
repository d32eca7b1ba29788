"""What the keeper of images hears, and whom it tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from kernel import Key, Port
from messages.events import PostEvent
from runtimes.container_runtime import CallRuntime
from runtimes.cri.images.courses import ImageStepEnded, JobThreads
from runtimes.cri.wire.transport import Wire


@dataclass(frozen=True, slots=True)
class PullsDue:
    """Timer: look for pulls that take long, and for those who cannot wait any longer."""


ImageKeeperMessage: TypeAlias = CallRuntime | ImageStepEnded | PullsDue

IMAGE_KEEPER = Key[ImageKeeperMessage]("runtime/images")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagePorts:
    """Whom the keeper of images tells, and who works for it."""

    wire: Wire
    threads: JobThreads
    me: Port[ImageKeeperMessage]
    """Its own address, which outlives a crash: where outcomes go."""
    events: Port[PostEvent] | None = None
