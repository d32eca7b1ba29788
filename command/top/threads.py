"""What goes on beside the screen: the threads that ask, and the session that they tell. Knows no textual."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from threading import Event

from command.agent_api import AgentApi
from command.failures import NoAnswerError
from command.top.asking import Asker, EventsFollower, Reply
from command.top.session import AGENT, Told, TopSession
from command.top.state import AgentLink, TopState


class Inbox:
    """Owns what threads have told until somebody takes it. They may tell before there is anybody."""

    def __init__(self) -> None:
        self._told: deque[Told] = deque()
        self._is_agent_told = Event()
        self._refusal: NoAnswerError | None = None
        self._wake: Callable[[], object] | None = None

    def put(self, told: Told) -> None:
        """Put this in, and wake the thread that takes it out. On any thread."""
        self._told.append(told)
        if isinstance(told, Reply) and told.topic == AGENT:
            self._refusal = told.failure
            self._is_agent_told.set()
        wake = self._wake
        if wake is not None:
            wake()

    def refusal(self) -> NoAnswerError | None:
        """Wait until the agent was asked; return why it did not answer."""
        self._is_agent_told.wait()
        return self._refusal

    def opened(self, wake: Callable[[], object] | None) -> None:
        """From now on ``wake`` is called when something is told."""
        self._wake = wake

    def taken(self) -> list[Told]:
        """Return what was told since the last time."""
        taken = []
        while self._told:
            taken.append(self._told.popleft())
        return taken


class Senders:
    """The threads that ask: one for the agent itself, one for all that is looked at."""

    def __init__(self, api: AgentApi, tell: Callable[[Reply], None]) -> None:
        self._of_agent, self._others = Asker(api, tell), Asker(api, tell)

    def start(self) -> None:
        """Begin."""
        self._of_agent.start()
        self._others.start()

    def ask(self, topic: str, about: object, question: Callable[..., object]) -> None:
        """Ask, as soon as the thread for it is free."""
        (self._of_agent if topic == AGENT else self._others).ask(topic, about, question)

    def close(self) -> None:
        """Ask nothing any more."""
        self._of_agent.close()
        self._others.close()


class TopThreads:
    """What goes on beside the screen: the threads, and the session that they tell."""

    def __init__(self, api: AgentApi, width: int, height: int) -> None:
        self.inbox = Inbox()
        self._senders = Senders(api, self.inbox.put)
        self._follower = EventsFollower(api.place, self.inbox.put)
        self.changes_seen = 0
        """How many events told that something changed."""
        self.session = TopSession(
            TopState(connection=AgentLink(server=api.name), width=width, height=height),
            self._senders,
            self._follower.retry,
            wall=time.time,
            clock=time.monotonic,
        )

    def start(self) -> None:
        """Begin to ask, and to read events."""
        self._senders.start()
        self._follower.start()
        self.session.proceed()

    def close(self) -> None:
        """End the threads."""
        self.inbox.opened(None)
        self._senders.close()
        self._follower.close()

    def proceed(self) -> None:
        """Hand what was told, and what changed, to the session."""
        for each in self.inbox.taken():
            self.session.told(each)
        changes = self._follower.changes
        taken = [changes.popleft() for _ in range(len(changes))]
        self.changes_seen += len(taken)
        self.session.changes(taken)
        self.session.proceed()
