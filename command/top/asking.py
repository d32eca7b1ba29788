"""Asks the agent in threads of their own, so that the screen never waits for it."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, TypeAlias

from command.agent_api import AgentApi
from command.failures import NoAnswerError, StrangeAnswerError, UnreachableError
from command.reading import Document, text
from command.wording import plain

Ask: TypeAlias = Callable[[str], Document | None]
Question: TypeAlias = Callable[[Ask], object]
"""Asks what it needs, and returns what was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What became of a question."""

    topic: str
    asked: object
    """What it was about, as whoever asked named it."""
    answer: Any = None
    failure: NoAnswerError | None = None
    seconds: float = 0.0
    """How long the agent took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    topic: str
    about: object
    question: Question


_END: Final = None


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
