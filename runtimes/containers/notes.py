"""What is remembered of one container beyond what the runtime shows of it. Pure.

Most containers have no notes: they began when something went wrong, or took more than one answer.
All times are of the monotonic clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from messages.pod_runtime import ContainerWait
from messages.pods import JsonObject
from messages.units import Seconds


@dataclass(slots=True)
class CrashNotes:
    """How a container has crashed so far."""

    spec_hash: str
    """Crashes of another specification do not count."""
    exited_id: str = ""
    """The instance that exited last."""
    exited_at: Seconds = Seconds(0.0)
    delay: Seconds = Seconds(0.0)
    """How long after its exit it may be started again; 0 for at once."""
    restarted_at: Seconds = Seconds(0.0)
    """When it was last started again."""
    counted_id: str = ""
    """The instance whose exit ``delay`` was last lengthened for."""
    told_at: Seconds | None = None
    """When the runtime itself had told of the last exit. None as long as an event alone tells of it."""


@dataclass(slots=True)
class ImageNotes:
    """How the search for an image stands."""

    image: str
    is_missing: bool = False
    image_id: str = ""
    """As it was found, for the container that is created next."""
    failures: int = 0
    """How often in a row it could not be pulled."""
    failed_at: Seconds = Seconds(0.0)
    retry_at: Seconds = Seconds(0.0)
    error: ContainerWait | None = None
    is_stale: bool = False
    """It was missing before a pull that failed: somebody may have brought it since."""


@dataclass(slots=True)
class ContainerNotes:
    """What is remembered of one container."""

    highest: int = -1
    """The highest attempt that was ever seen: also of instances that somebody else removed."""
    has_ended: bool = False
    """It ended for good, and somebody else removed the instance that did."""
    crashes: CrashNotes | None = None
    images: dict[str, ImageNotes] = field(default_factory=dict)
    """How the search for each image stands, for the instance that is created next. By name."""
    error: ContainerWait | None = None
    """Why it could not be created or started, until it is."""
    failures: int = 0
    """How often in a row that was so."""
    retry_at: Seconds = Seconds(0.0)
    replaced_id: str = ""
    """The instance that was killed to be replaced: it is, whatever its restart policy says."""
    discarded_id: str = ""
    """An instance that was created and can never be started."""
    resize_of: str = ""
    """The instance that other resources are wanted for; empty if none is."""
    resize_retry_at: Seconds = Seconds(0.0)
    resize_error: str = ""
    old_resources: JsonObject | None = None
    """What it had before."""

    def end_resize(self) -> None:
        """Note that its resources are as wanted."""
        self.resize_of, self.resize_error, self.old_resources = "", "", None
