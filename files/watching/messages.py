"""What an actor that reads files hears, what it offers to the watch on them, and how often a path is scanned.

Scans come as often as configured, unless that took too much of the machine. People are told when they come
less often, and again when that has changed much. Pure.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

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


SHARE: Final = 0.03
"""How much of the time scans may take. More would be a waste where notifications work. With all else that an
idle agent does it is less than 5% of a core."""

LONGEST_PAUSE: Final = Seconds(20.0)
"""The default of a kubelet between two scans: a path that is slow is scanned as often as that at least."""

MUCH: Final = 1.5
"""By which factor the time between two scans differs from what people know, before they are told anew."""


def until_next_scan(check_frequency: Seconds, took: Seconds) -> Seconds:
    """Return how long to wait after a look that ``took`` so long."""
    return Seconds(max(check_frequency, min(took / SHARE - took, LONGEST_PAUSE)))


class ScanPace:
    """What people know of how often a path is scanned: at first, that it is every ``asked`` seconds."""

    def __init__(self, asked: Seconds) -> None:
        self._asked = asked
        self._known = asked
        self._before = asked

    def note(self, took: Seconds) -> Seconds | None:
        """Note how long a look took; return how often scans come from now on, None if that is known.

        It counts when two looks in a row agree: one look may be slow by accident.
        """
        pause = until_next_scan(self._asked, took)
        every = self._asked if pause <= self._asked else Seconds(took + pause)
        shorter, longer = sorted((self._before, every))
        self._before = every
        if shorter >= self._known * MUCH:
            self._known = shorter
        elif longer <= self._known / MUCH or self._known > longer == self._asked:
            self._known = longer
        else:
            return None
        return self._known
