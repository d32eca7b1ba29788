"""Reads the events of the agent in a thread of its own, again and again."""

from __future__ import annotations

import http.client
import random
import socket
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from threading import Event, Thread
from typing import Final, TypeAlias

from command.agent_api import PIECE, AgentPlace
from command.event_lines import Happening, happenings
from command.reading import text
from command.server_names import PATIENCE

PATH: Final = "/events?replay=false"
PAUSES: Final = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds before each next attempt. The agent is well again once events are read."""
SILENCE: Final = 40.0
"""Seconds without a word after which nobody is believed to be there: the agent speaks every 15 s."""
MOST_CHANGES: Final = 1_000
"""Changes that are kept for whoever looks: beyond that the oldest go, and what matters is that there were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsRead:
    """Events are being read, from now on. What happened before was missed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsLost:
    """They are not."""

    why: str
    pause: float
    """Seconds until they are asked for again."""


Following: TypeAlias = EventsRead | EventsLost
"""What a follower tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenChange:
    """Something changed."""

    name: str
    """The kind of the event."""
    uid: str


class EventsFollower:
    """One thread that reads events. It tells whether it can, and puts what changed into ``changes``."""

    def __init__(
        self,
        place: AgentPlace,
        tell: Callable[[Following], None],
        *,
        silence: float = SILENCE,
        pauses: tuple[float, ...] = PAUSES,
    ) -> None:
        self.changes: deque[SeenChange] = deque(maxlen=MOST_CHANGES)
        self._place = place
        self._tell = tell
        self._silence = silence
        self._pauses = pauses
        self._wake = Event()
        self._is_closed = False
        self._wire: socket.socket | None = None
        self._thread = Thread(target=self._run, name="follower", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def retry(self) -> None:
        """Do not wait for the end of the pause."""
        self._wake.set()

    @property
    def is_alive(self) -> bool:
        """Whether the thread has not ended."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Read nothing any more."""
        self._is_closed = True
        self._wake.set()
        wire = self._wire
        if wire is not None:
            with suppress(OSError):  # it has ended by itself
                wire.shutdown(socket.SHUT_RDWR)

    def _run(self) -> None:
        failures = 0
        while not self._is_closed:
            why, was_live = self._read()
            failures = 1 if was_live else failures + 1
            pause = self._pauses[min(failures, len(self._pauses)) - 1]
            pause *= random.uniform(0.85, 1.15)  # noqa: S311 - so that readers do not come all at once
            if self._is_closed:
                return
            self._wake.clear()
            self._tell(EventsLost(why=why, pause=pause))
            self._wake.wait(pause)

    def _read(self) -> tuple[str, bool]:
        """Read until the end; return why it ended, and whether there was anything to read."""
        was_live = False
        connection = self._place.connection(PATIENCE)
        try:
            connection.connect()
            self._wire = connection.sock
            connection.request("GET", PATH, headers={"Accept": "text/event-stream"})
            response = connection.getresponse()
            if response.status != http.client.OK:
                return f"the agent answers {PATH} with {response.status}", False
            self._wire.settimeout(self._silence)
            self._tell(EventsRead())
            was_live = True
            why = self._hear(chain.from_iterable(happenings(_pieces(response))))
        except TimeoutError:
            silent = self._silence if was_live else PATIENCE
            return f"the agent was silent for {silent:g} s", was_live
        except ConnectionRefusedError:
            return f"no agent answers at {self._place}", False
        except (OSError, http.client.HTTPException, ValueError) as error:
            return f"its events broke off ({type(error).__name__})", was_live
        else:
            return why, True
        finally:
            self._wire = None
            connection.close()

    def _hear(self, events: Iterator[Happening]) -> str:
        for event in events:
            if event.comment.startswith("dropped"):
                return f"the agent says: {event.comment}"
            if event.name:
                data = event.data
                uid = text(data, "uid") or text(data, "podUid")
                self.changes.append(SeenChange(name=event.name, uid=uid))
        return "the agent has ended its events: it stops, or restarts"


def _pieces(response: http.client.HTTPResponse) -> Iterator[bytes]:
    with suppress(http.client.IncompleteRead):  # broken off is ended, too
        while piece := response.read1(PIECE):
            yield piece
