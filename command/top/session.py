"""What is asked of the agent for what is on the screen, when, and what becomes of the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Protocol, TypeAlias

from command.failures import NoAnswerError, StrangeAnswerError
from command.reading import Document, number, text
from command.top.asking import (
    Ask,
    EventsLost,
    EventsRead,
    Following,
    Question,
    Reply,
    SeenChange,
    required,
)
from command.top.details import look
from command.top.keys import Wish, clicked, pasted, pressed, wheeled
from command.top.lists import ACTORS, LISTS, OBJECTS, PODS
from command.top.pages import ListAsked, ListWindow, page_told
from command.top.screen import body_height, spot
from command.top.state import ListState, Subject, TopState
from command.wording import moment

RATIO: Final = 25
"""We wait so many times as long as the answer took before we ask again: at most 4 % of one of the agent's
cores."""
LEAST: Final = 0.25
"""Seconds between two questions at the least."""
PATIENT: Final = 15.0
"""Seconds after which an answer is not waited for any more."""

AGENT: Final = "agent"
LIST: Final = "list"
DETAIL: Final = "detail"
AGENT_PATH: Final = "/ui/agent"
EVERY: Final = 5.0
"""Seconds after which the agent and what is looked at are asked for without an event."""
SPAN: Final = 2.0
"""Seconds over which processor time is measured at the least."""
SKEW: Final = 2.0
"""Seconds that two clocks may differ before one is believed to be wrong."""

Told: TypeAlias = Reply | Following


@dataclass(slots=True, kw_only=True)
class Pace:
    """Owns when one question is due. Times are seconds of any clock that does not go back."""

    every: float
    """Seconds after which it is asked again without a reason."""
    is_wanted: bool = True
    asked_at: float | None = None
    """When it was asked; None while no answer is waited for."""
    not_before: float = 0.0
    answered_at: float = 0.0

    def poke(self) -> None:
        """Ask as soon as that is allowed."""
        self.is_wanted = True

    def at_once(self) -> None:
        """Ask at the next moment: somebody waits for it."""
        self.is_wanted = True
        self.not_before = 0.0
        self.asked_at = None

    def is_due(self, clock: float) -> bool:
        """Return whether it should be asked now."""
        if self.asked_at is not None and clock - self.asked_at < PATIENT:
            return False
        is_old = clock - self.answered_at >= self.every
        return clock >= self.not_before and (self.is_wanted or is_old)

    def asked(self, clock: float) -> None:
        """Note that it is asked now."""
        self.asked_at = clock
        self.is_wanted = False

    def answered(self, clock: float, seconds: float) -> None:
        """Note an answer, which took the agent ``seconds``."""
        self.asked_at = None
        self.answered_at = clock
        self.not_before = clock + max(LEAST, RATIO * seconds)

    def failed(self, clock: float) -> None:
        """Note that there was no answer. The next question comes after the usual time."""
        self.asked_at = None
        self.answered_at = clock
        self.not_before = clock + self.every


class Questioner(Protocol):
    """Who asks."""

    def ask(self, topic: str, about: object, question: Question) -> None:
        """Ask, some time."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ListWanted:
    """Some rows of one list."""

    name: str
    asked: ListAsked


class TopSession:
    """Owns the state of the screen. Told keys, answers and changes, it asks what is needed next.

    ``wall`` is seconds since 1970, ``clock`` seconds that never go back.
    """

    def __init__(
        self,
        state: TopState,
        sender: Questioner,
        retry: Callable[[], None],
        *,
        wall: Callable[[], float],
        clock: Callable[[], float],
    ) -> None:
        self.state = replace(state, now=wall())
        self.failure: NoAnswerError | None = None
        """Why there is no use in going on."""
        self._sender = sender
        self._retry = retry
        self._wall = wall
        self._clock = clock
        self._paces = {AGENT: Pace(every=EVERY), LIST: Pace(every=EVERY), DETAIL: Pace(every=EVERY)}
        self._used: tuple[float, float] | None = None
        """The agent's processor time, and when it was told."""

    @property
    def is_whole(self) -> bool:
        """Whether all rows on the screen are known."""
        return self.state.current.is_loaded(body_height(self.state))

    def resized(self, width: int, height: int) -> None:
        """Use a terminal of this size."""
        self.state = replace(self.state, width=width, height=height)
        kept = self.state.current.on_screen(body_height(self.state))
        self.state = self.state.with_list(kept)
        self.proceed()

    def key(self, key: str, character: str | None) -> bool:
        """Do what a key stands for. Return whether it ends everything."""
        state, wish = pressed(self.state, key, character)
        self._change(state)
        if wish is Wish.RETRY:
            self._retry()
            self._ask_for_all()
        return wish is Wish.QUIT

    def click(self, x: int, y: int) -> None:
        """Do what a click at a cell of the screen stands for."""
        self._change(clicked(self.state, spot(self.state, x, y)))

    def wheel(self, steps: int) -> None:
        """Scroll by so many steps of the wheel, downwards if they are positive."""
        self._change(wheeled(self.state, steps))

    def paste(self, told: str) -> None:
        """Put a text from the clipboard into the search."""
        self._change(pasted(self.state, told))

    def changes(self, changes: Iterable[SeenChange]) -> None:
        """Ask again for what is on the screen, if the changes are about it."""
        detail = self.state.detail
        for each in changes:
            if each.name in self.state.kind.events:
                self._paces[LIST].poke()
            if detail is not None and _is_about(detail.subject, each):
                self._paces[DETAIL].poke()

    def proceed(self) -> None:
        """Ask what is due by now."""
        self.state = replace(self.state, now=self._wall())
        self._paces[LIST].every = self.state.kind.every
        clock = self._clock()
        if self._paces[AGENT].is_due(clock):
            self._ask(AGENT, AGENT, _agent)
        if self.state.detail is not None:
            if self._paces[DETAIL].is_due(clock):
                subject = self.state.detail.subject
                self._ask(DETAIL, subject, partial(look, subject))
        elif self._paces[LIST].is_due(clock):
            kind = self.state.kind
            asked = self.state.current.asked(body_height(self.state))
            wanted = ListWanted(name=kind.name, asked=asked)
            self._ask(LIST, wanted, lambda ask: required(ask, asked.path(kind)))

    def told(self, what: Told) -> None:
        """Use what came from the agent."""
        connection, now = self.state.connection, self._wall()
        self.state = replace(self.state, now=now)
        match what:
            case EventsRead():
                self.state = replace(self.state, connection=connection.live())
                self._ask_for_all()
            case EventsLost(why=why, pause=pause):
                self.state = replace(self.state, connection=connection.lost(why, now, pause))
                self._paces[AGENT].poke()
            case Reply():
                self._replied(what, now)
        self.proceed()

    def _replied(self, reply: Reply, now: float) -> None:
        pace, clock = self._paces[reply.topic], self._clock()
        if reply.failure is not None:
            pace.failed(clock)
            self._refused(reply.failure, now)
            return
        pace.answered(clock, reply.seconds)
        was_silent = self.state.connection.silent_at is not None
        self.state = replace(self.state, connection=self.state.connection.answered(now))
        try:
            self._use(reply, now)
        except StrangeAnswerError as error:
            self.failure = error
        if was_silent and not self.state.connection.is_live:
            self._retry()

    def _refused(self, failure: NoAnswerError, now: float) -> None:
        if isinstance(failure, StrangeAnswerError):
            self.failure = failure
            return
        connection = self.state.connection.refused(str(failure), now)
        self.state = replace(self.state, connection=connection)

    def _use(self, reply: Reply, now: float) -> None:
        match reply.asked:
            case ListWanted() as wanted:
                self._use_page(wanted, reply.answer)
            case Subject() as subject:
                self._use_detail(subject, reply.answer)
            case _:
                self._use_agent(reply.answer, now)

    def _use_page(self, wanted: ListWanted, answer: Document) -> None:
        shown = self.state.lists[wanted.name]
        if not _is_same(shown, wanted.asked):
            return
        page = page_told(LISTS[wanted.name], answer, wanted.asked)
        height = body_height(self.state)
        known = shown.known(page, height)
        self.state = replace(self.state, lists={**self.state.lists, wanted.name: known})
        if wanted.name == self.state.shown and not known.is_loaded(height):
            self._again_unless_the_same(known, height, wanted.asked, page)

    def _again_unless_the_same(
        self, known: ListState, height: int, asked: ListAsked, page: ListWindow
    ) -> None:
        """Ask for the rows on the screen, unless that was asked just now: then the agent has no more."""
        if known.asked(height) != asked and page.matching:
            self._paces[LIST].at_once()

    def _use_detail(self, subject: Subject, answer: object) -> None:
        detail = self.state.detail
        if detail is None or detail.subject.key != subject.key:
            return
        if isinstance(answer, dict):
            found = replace(detail, documents=answer, is_known=True, is_gone=False)
        else:
            found = replace(detail, is_known=True, is_gone=True)
        self.state = replace(self.state, detail=found)

    def _use_agent(self, agent: Document, now: float) -> None:
        told = moment(text(agent, "now"))
        skew = told - now if told is not None and abs(told - now) > SKEW else 0.0
        used, age = number(agent, "process", "cpuSeconds"), number(agent, "process", "ageSeconds")
        old = number(self.state.agent, "process", "ageSeconds")
        connection = self.state.connection
        if age is not None and old is not None and age < old:
            connection = replace(connection, restarted_at=now)
            self._used = None
        percent = self._cpu_percent(used)
        self.state = replace(
            self.state, agent=agent, cpu_percent=percent, skew=skew, connection=connection
        )

    def _cpu_percent(self, used: float | None) -> float | None:
        """Return what of a core the agent took since it was told last, if that is not just now."""
        clock, before = self._clock(), self._used
        if before is not None and used is not None and clock - before[1] < SPAN:
            return self.state.cpu_percent
        self._used = None if used is None else (used, clock)
        if used is None or before is None:
            return None
        return max(0.0, 100 * (used - before[0]) / (clock - before[1]))

    def _change(self, state: TopState) -> None:
        """Take the state that somebody made by a key, and ask for what it lacks at once."""
        before, self.state = self.state, state
        if state.detail is not None and before.detail is None:
            self._paces[DETAIL].at_once()
        shown = state.current
        is_another = state.shown != before.shown or not shown.is_known
        is_back = before.detail is not None and state.detail is None
        has_moved = shown.top != before.current.top
        if is_another or is_back or (has_moved and not shown.is_loaded(body_height(state))):
            self._paces[LIST].at_once()
        self.proceed()

    def _ask_for_all(self) -> None:
        for pace in self._paces.values():
            pace.at_once()
        self.proceed()

    def _ask(self, topic: str, about: object, question: Question) -> None:
        self._paces[topic].asked(self._clock())
        self._sender.ask(topic, about, question)


def _agent(ask: Ask) -> Document:
    return required(ask, AGENT_PATH)


def _is_same(shown: ListState, asked: ListAsked) -> bool:
    """Return whether rows were asked for by the search and in the order that count now."""
    return (asked.search, asked.order, asked.falls, asked.only_troubled) == (
        shown.search,
        shown.order,
        shown.falls,
        shown.only_troubled,
    )


def _is_about(subject: Subject, change: SeenChange) -> bool:
    if subject.kind == PODS.name:
        return bool(change.uid) and change.uid == subject.uid
    watched = {ACTORS.name: "actor", OBJECTS.name: "object"}.get(subject.kind, "verdict")
    return change.name == watched
