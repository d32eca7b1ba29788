"""Where the container runtime listens: at the socket that somebody has named, or at one that is found.

``SocketFinder`` looks for one that is not there yet. It may block.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog
from typing_extensions import override

from kernel import Actor, Key
from messages.units import Seconds

PLACES: Final = (
    Path("/run/containerd/containerd.sock"),
    Path("/run/crio/crio.sock"),
    Path("/var/run/containerd/containerd.sock"),
    Path("/var/run/crio/crio.sock"),
    Path("/run/cri-dockerd.sock"),
    Path("/var/run/cri-dockerd.sock"),
)
"""Where runtimes listen unless they are told otherwise; the likeliest first."""

_log = structlog.get_logger("runtime")

LOOK_EVERY: Final = Seconds(0.25)
"""A look is at six names below /run, which is in memory."""


class RuntimeSocket:
    """The socket of the container runtime, from when it is known.

    One thread at a time looks for it, until it is found. Anybody may read ``found`` and ``trouble``, on any
    thread.
    """

    def __init__(
        self, places: Iterable[Path] = PLACES, claim: Callable[[Path], str] = lambda _: ""
    ) -> None:
        self.found: Path | None = None
        """None while there is none."""
        self._places = tuple(_distinct(places))
        self._claim = claim
        self._none = f"there is no socket at {_listed(self._places)}"
        self.trouble = self._none
        """Why nothing can be said to the runtime yet."""

    @classmethod
    def of(cls, named: Path | None) -> RuntimeSocket:
        """Return the one that somebody has named, or else one that is looked for."""
        return cls() if named is None else cls.named(named)

    @classmethod
    def named(cls, socket: Path) -> RuntimeSocket:
        """Return the one that somebody has named. It need not be there yet."""
        one = cls((socket,))
        one.found = socket
        return one

    def look(self) -> bool:
        """Look at each place, and take the first socket that is there. It may block.

        ``claim`` says why that one is another agent's: then it is not found yet. Return whether there is any.
        """
        there = [each for each in self._places if _is_socket(each)]
        if not there:
            self.trouble = self._none
            return False
        self.trouble = self._claim(there[0])
        if not self.trouble:
            self._take(*there)
        return True

    def _take(self, first: Path, *others: Path) -> None:
        self.found = first
        if others:
            _log.warning(
                "there are several container runtimes: containerRuntimeEndpoint names one",
                used=str(first),
                others=[str(each) for each in others],
            )


def _distinct(places: Iterable[Path]) -> Iterator[Path]:
    """Yield the places without those that a link makes the same."""
    seen: set[str] = set()
    for each in places:
        real = os.path.realpath(each)
        if real not in seen:
            seen.add(real)
            yield each


def _listed(places: tuple[Path, ...]) -> str:
    *others, last = map(str, places)
    return f"{', '.join(others)} or {last}" if others else last


def _is_socket(path: Path) -> bool:
    try:
        return path.is_socket()
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class SearchDue:
    """It is time to look."""


SOCKET_FINDER = Key[SearchDue]("runtime/socket")


class SocketFinder(Actor[SearchDue]):
    """Looks until there is a socket, and then no more.

    Owns: the search. What is found outlives it.
    Hears: its own timer.
    Tells: no actor. The wire reads what was found.
    Fails when: it has a bug. Its next life looks again.
    """

    def __init__(self, socket: RuntimeSocket) -> None:
        self._socket = socket

    @override
    def started(self) -> None:
        self._look()

    @override
    def receive(self, message: SearchDue, /) -> None:
        self._look()

    def _look(self) -> None:
        if self._socket.found is not None:
            return
        self._socket.look()
        if self._socket.found is None:
            self.after(LOOK_EVERY, SearchDue())
        else:
            _log.info("found a container runtime", socket=str(self._socket.found))
