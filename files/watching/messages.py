"""The messages of an actor that reads files, and what such an actor offers to the watch on them."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from kernel import Clock, Port, Timer
from messages.units import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesNoticed:
    """Something in the watched directories changed. Coalesced. May come although nothing did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchLost:
    """Watching ended by itself, or could not begin."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchDue:
    """It is time to try watching again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookDue:
    """It is time to look: a scan is due, or something that was moving may have settled."""


FilesMessage: TypeAlias = FilesNoticed | LookDue | WatchLost | WatchDue
"""What an actor that looks at files hears from its watch and its timers."""


class FilesHost(Protocol):
    """One life of an actor that hears ``FilesMessage``."""

    @property
    def me(self) -> Port[FilesMessage]:
        """Its port."""
        ...

    @property
    def clock(self) -> Clock:
        """The time that counts for it."""
        ...

    @property
    def resources(self) -> ExitStack:
        """What is closed when its life ends."""
        ...

    def after(self, delay: Seconds, message: FilesMessage) -> Timer:
        """Have it told ``message`` in ``delay`` seconds. The timer ends with its life."""
        ...
