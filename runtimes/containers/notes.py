"""What is remembered of one container and its hooks beyond what the runtime shows of them. Pure.

Most containers have no notes: they began when something went wrong, or took more than one answer. Most pods
have no hooks. All times are of the monotonic clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias

from messages.pod_runtime import ContainerWait
from messages.pods import JsonObject
from messages.units import Seconds
from runtimes.containers.crash_backoff import CrashNotes
from runtimes.lifecycle_hooks.messages import HookKind

ASK_AGAIN_AFTER: Final = Seconds(5.0)
"""How often who carries a hook out is told of it: a crash may have lost that, or the answer."""
HookKey: TypeAlias = tuple[str, HookKind]
"""The id of an instance, and which of its hooks."""
LATE: Final = Seconds(2.0)
"""How long after its deadline the end of a hook is still waited for. It is told at the deadline."""


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


@dataclass(slots=True)
class HookRun:
    """How one hook of one instance stands. It is called once for an instance."""

    until: Seconds = Seconds(0.0)
    """When it is given up, by the monotonic clock. It only ever gets earlier."""
    asked_at: Seconds | None = None
    """When somebody was last told to carry it out; None if it is due."""
    is_over: bool = False
    failure: str = ""
    """Why it failed; empty if it did not, or not yet."""

    @property
    def ask_again_at(self) -> Seconds:
        """When its end is asked for once more."""
        return Seconds((self.asked_at or 0.0) + ASK_AGAIN_AFTER)

    @property
    def has_succeeded(self) -> bool:
        """Whether it is over and did not fail."""
        return self.is_over and not self.failure
