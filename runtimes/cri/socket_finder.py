"""SocketFinder: looks for the socket of a container runtime that is not there yet. It may block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import structlog
from typing_extensions import override

from kernel import Actor, Key
from messages.units import Seconds
from runtimes.cri.runtime_socket import RuntimeSocket

LOOK_EVERY: Final = Seconds(0.25)
"""A look is at six names below /run, which is in memory."""

_log = structlog.get_logger("runtime")


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
