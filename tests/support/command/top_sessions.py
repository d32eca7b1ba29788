"""A session of the live view on the test's own clock: its questions are answered when the test says so."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from command.failures import NoAnswerError
from command.top.asking import EventsRead, Question, Reply
from command.top.lines import text_of
from command.top.screen import screen
from command.top.session import TopSession
from command.top.state import AgentLink, TopState
from command.wording import moment
from tests.support.command.live_agent import LiveAgent

NOW = moment("2026-11-23T02:35:00Z") or 0.0
"""A little after the fixtures were told."""


@dataclass(slots=True)
class SessionStage:
    """Owns the clock, the questions that wait, and the agent that answers them."""

    width: int = 80
    height: int = 24
    agent: LiveAgent = field(default_factory=LiveAgent)
    now: float = 0.0
    retries: int = 0
    questions: list[tuple[str, object, Question]] = field(default_factory=list)
    session: TopSession = field(init=False)

    def __post_init__(self) -> None:
        state = TopState(
            connection=AgentLink(server="127.0.0.1:10255"), width=self.width, height=self.height
        )
        self.session = TopSession(
            state,
            self,
            self._retry,
            wall=lambda: NOW + self.now,
            clock=lambda: self.now,
        )

    def ask(self, topic: str, about: object, question: Question) -> None:
        """Let a question wait."""
        self.questions.append((topic, about, question))

    def _retry(self) -> None:
        self.retries += 1

    def answer(self, seconds: float = 0.0, failure: NoAnswerError | None = None) -> list[str]:
        """Answer all that waits; return about which topics that was."""
        waiting, self.questions = self.questions, []
        for topic, about, question in waiting:
            found: Any = None if failure is not None else question(self._document)
            self.session.told(
                Reply(topic=topic, asked=about, answer=found, failure=failure, seconds=seconds)
            )
        return [topic for topic, _, _ in waiting]

    def _document(self, path: str) -> Any:
        self.agent.asked.append(path)
        return json.loads(json.dumps(self.agent.document(path)))

    def live(self) -> SessionStage:
        """Let events be read, and everything be answered."""
        self.session.told(EventsRead())
        self.settle()
        return self

    def settle(self) -> None:
        """Answer until nothing is asked."""
        while self.questions:
            self.answer()

    def press(self, *keys: str) -> str:
        """Press keys, answer what is asked, and return the screen."""
        for key in keys:
            self.session.key(key, key if len(key) == 1 else None)
            self.settle()
        return self.text()

    def passes(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        self.session.proceed()

    def text(self) -> str:
        """Return what is on the screen."""
        return text_of(screen(self.session.state))
