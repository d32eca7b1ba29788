"""Addresses of host names. They are looked up in a lane, since that may block for half a minute."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from kernel import Lanes, LaneSize
from messages.units import Seconds

NAMES: Final = "names"
"""The lane in which names are looked up."""
MOST_LOOKUPS: Final = 8
"""Threads at a time, beside those that hang. Further names wait for one of them."""
MOST_NAMES: Final = 4_096
"""That are remembered. Beyond it all are forgotten, and looked up anew."""
KEPT_FOR: Final = Seconds(5.0)
"""How long addresses are used again."""
TROUBLE_KEPT_FOR: Final = Seconds(1.0)
"""How long a name that has none is not looked up again."""

LookUp: TypeAlias = Callable[[str], tuple[str, ...]]
"""Returns the addresses of a name. May block. Raises ``OSError``."""


class HostAddresses(NamedTuple):
    """What a name stands for."""

    addresses: tuple[str, ...]
    why: str = ""
    """Why there are none, for people."""


@dataclass(slots=True)
class _Known:
    found: HostAddresses | None
    """None while it is being looked up."""
    until: Seconds


class HostNames:
    """Looks names up, a few at a time, and remembers them for some seconds. Belongs to one thread."""

    def __init__(
        self, landed: Callable[[], None], lanes: Lanes[str], look_up: LookUp | None = None
    ) -> None:
        """``landed`` is called, on a thread of a lane, when ``take`` has something."""
        self._landed = landed
        self._lane = lanes[NAMES]
        self._look_up = look_up or system_look_up
        self._known: dict[str, _Known] = {}
        self._answers: deque[tuple[str, HostAddresses]] = deque()

    def find(self, host: str, now: Seconds) -> HostAddresses | None:
        """Return the addresses of ``host``; None if they are to come, and ``take`` will name it."""
        known = self._known.get(host)
        if known is not None and (known.found is None or now < known.until):
            return known.found
        if len(self._known) >= MOST_NAMES:
            self._known = {name: each for name, each in self._known.items() if each.found is None}
        self._known[host] = _Known(None, now)
        work = partial(looked_up, host, self._look_up)
        self._lane.start(work, partial(self._note, host))
        return None

    def take(self, now: Seconds) -> Iterator[tuple[str, HostAddresses]]:
        """Yield the names that have been looked up since the last call, with what was found."""
        while self._answers:
            host, found = self._answers.popleft()
            kept_for = KEPT_FOR if found.addresses else TROUBLE_KEPT_FOR
            self._known[host] = _Known(found, Seconds(now + kept_for))
            yield host, found

    def _note(self, host: str, outcome: object) -> None:
        self._answers.append((host, found_by(outcome)))
        self._landed()


def look_up_lanes(name: str) -> Lanes[str]:
    """Return a lane ``NAMES``, whose threads look names up. ``name`` begins theirs."""
    return Lanes(name, {NAMES: LaneSize(MOST_LOOKUPS)})


def looked_up(host: str, look_up: LookUp) -> HostAddresses:
    """Return what ``host`` stands for. Blocks as long as ``look_up`` does."""
    try:
        addresses = look_up(host)
    except (OSError, UnicodeError):
        addresses = ()
    return HostAddresses(addresses, "" if addresses else "no such host")


def found_by(outcome: object) -> HostAddresses:
    """Return what came of looking a name up in a lane."""
    if isinstance(outcome, HostAddresses):
        return outcome
    return HostAddresses((), "there is no thread to look the name up")


def system_look_up(host: str) -> tuple[str, ...]:
    """Return the addresses that this machine knows for ``host``. Blocks. Raises ``OSError``."""
    answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(answer[4][0]) for answer in answers))
