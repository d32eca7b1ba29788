"""Asks the agent, and reads its events, in threads of their own. So the screen never waits for it."""

from __future__ import annotations

import http.client
import json
import random
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any, Final, TypeAlias

from command.agent_api import PIECE, AgentApi, AgentPlace
from command.event_lines import Happening, happenings
from command.failures import NoAnswerError, StrangeAnswerError, UnreachableError
from command.reading import Document, text
from command.server_names import PATIENCE
from command.wording import plain

Ask: TypeAlias = Callable[[str], Document | None]
Question: TypeAlias = Callable[[Ask], object]
"""Asks what it needs, and returns what was asked for."""

_END: Final = None

PATH: Final = "/events?replay=false"
PAUSES: Final = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds before each next attempt. The agent is well again once events are read."""
SILENCE: Final = 40.0
"""Seconds without a word after which the agent counts as gone: the agent speaks every 15 s."""
MOST_CHANGES: Final = 1_000
"""Changes that are kept for the session. Beyond that the oldest go: it only needs to know that there were
some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What became of a question."""

    topic: str
    asked: object
    """What it was about, by the name that the question had."""
    answer: Any = None
    failure: NoAnswerError | None = None
    seconds: float = 0.0
    """How long the agent took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    topic: str
    about: object
    question: Question


class Asker:
    """One thread that asks. Of several questions of one topic that wait, only the newest is asked."""

    def __init__(self, api: AgentApi, tell: Callable[[Reply], None]) -> None:
        self._api = api
        self._tell = tell
        self._waiting: SimpleQueue[_Asked | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="asker", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def ask(self, topic: str, about: object, question: Question) -> None:
        """Ask, as soon as what was asked before is answered. ``tell`` is told the answer."""
        self._waiting.put(_Asked(topic=topic, about=about, question=question))

    @property
    def is_alive(self) -> bool:
        """Whether the thread has not ended."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Ask nothing any more."""
        self._waiting.put(_END)

    def _run(self) -> None:
        while (asked := self._waiting.get()) is not _END:
            newest = {asked.topic: asked}
            while not self._waiting.empty():
                following = self._waiting.get()
                if following is _END:
                    return
                newest[following.topic] = following
            for each in newest.values():
                self._tell(self._answered(each))

    def _answered(self, asked: _Asked) -> Reply:
        began = time.monotonic()
        answer: object = None
        failure: NoAnswerError | None = None
        try:
            answer = asked.question(lambda path: document_at(self._api, path))
        except NoAnswerError as error:
            failure = error
        return Reply(
            topic=asked.topic,
            asked=asked.about,
            answer=answer,
            failure=failure,
            seconds=time.monotonic() - began,
        )


def document_at(api: AgentApi, path: str) -> Document | None:
    """Return the object that the agent answers at ``path``; None if there is no such thing.

    Raises ``UnreachableError`` where asking again may help, and ``StrangeAnswerError`` where it does not.
    """
    answer = api.answer(path)
    if answer.status == http.client.NOT_FOUND:
        return None
    if answer.status >= http.client.INTERNAL_SERVER_ERROR:
        said = _error_of(answer.body)
        told = f": {said}" if said else ""
        raise UnreachableError(f"the agent at {api.name} answers {answer.status}{told}")
    found = _object_of(answer.body)
    if answer.status != http.client.OK or found is None:
        said = text(found, "error")
        told = f": {plain(said)[:300]}" if said else ""
        raise StrangeAnswerError(
            f"what answers {path} at {api.name} is of another version, or no agent "
            f"({answer.status}){told}"
        )
    return found


def required(ask: Ask, path: str) -> Document:
    """Return what the agent answers at ``path``. Raises as ``document_at``, also if it has no such path."""
    found = ask(path)
    if found is None:
        raise StrangeAnswerError(
            f"the agent has nothing at {path.partition('?')[0]}: it is of another version, or none"
        )
    return found


def _object_of(body: bytes) -> Document | None:
    try:
        found: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _error_of(body: bytes) -> str:
    return plain(text(_object_of(body) or {}, "error"))[:300]


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
