"""All that the screen follows from: lists, details, and whether the agent answers. Pure."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from command.reading import Document
from command.top.lists import LISTS, PODS, ListKind
from command.top.pages import ListAsked, ListWindow, key_of
from command.wording import span

RESTART_TOLD = 30.0
"""Seconds for which a restart of the agent is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLink:
    """What became of asking the agent, and of reading its events. Times are seconds since 1970."""

    server: str
    is_live: bool = False
    """Its events are being read."""
    lost_at: float | None = None
    """Since when events are not read, although they were, or should be."""
    why: str = ""
    next_try: float | None = None
    """When events are asked for again."""
    silent_at: float | None = None
    """Since when the agent answers no questions."""
    refusal: str = ""
    """Why it does not."""
    answered_at: float | None = None
    """When it answered last."""
    restarted_at: float | None = None
    """When it was seen to be another process than before."""

    def live(self) -> AgentLink:
        """Return it once events are read."""
        return replace(self, is_live=True, lost_at=None, why="", next_try=None)

    def lost(self, why: str, now: float, pause: float) -> AgentLink:
        """Return it once they are not read any more, and are asked for again after a pause."""
        began = now if self.lost_at is None else self.lost_at
        return replace(self, is_live=False, lost_at=began, why=why, next_try=now + pause)

    def answered(self, now: float) -> AgentLink:
        """Return it once the agent has answered a question."""
        return replace(self, answered_at=now, silent_at=None, refusal="")

    def refused(self, why: str, now: float) -> AgentLink:
        """Return it once the agent did not."""
        began = now if self.silent_at is None else self.silent_at
        return replace(self, silent_at=began, refusal=why)

    def word(self) -> str:
        """Return its state in a word."""
        if self.is_live and self.silent_at is None:
            return "live"
        return "connecting" if self.lost_at is None and self.silent_at is None else "not live"

    def sentence(self, now: float) -> str:
        """Return what people have to know about how old things are; empty if they are as of now."""
        if self.silent_at is not None:
            known = self.answered_at
            age = "Nothing is known yet" if known is None else f"This is as of {_clock(known)}"
            return f"{age}{self._next(now)}: {self.refusal}"
        if self.lost_at is not None:
            age = f"Not live since {_clock(self.lost_at)}, changes show late"
            return f"{age}{self._next(now)}: {self.why}"
        if self.restarted_at is not None and now - self.restarted_at < RESTART_TOLD:
            return f"The agent was restarted; it answers again since {_clock(self.restarted_at)}."
        return ""

    def _next(self, now: float) -> str:
        if self.next_try is None or self.next_try <= now:
            return "; trying again"
        return f"; next try in {span(self.next_try - now + 0.9)} (r: now)"


def _clock(at: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at))


@dataclass(frozen=True, slots=True, kw_only=True)
class ListState:
    """One list: what of it is wanted, what is known, and where somebody looks."""

    search: str = ""
    order: str = ""
    falls: bool = False
    only_troubled: bool = False
    page: ListWindow = field(default_factory=ListWindow)
    is_known: bool = False
    """The agent has answered for this search and this order."""
    cursor: int = 0
    """The place of the chosen row in the whole list."""
    key: str = ""
    """What the chosen row is known by, so that it stays chosen where it moves."""
    top: int = 0
    """The place of the first row on the screen."""

    def asked(self, height: int) -> ListAsked:
        """Return what the agent is to be asked for: what is on the screen, and as much above and below."""
        return ListAsked(
            search=self.search,
            order=self.order,
            falls=self.falls,
            only_troubled=self.only_troubled,
            skip=max(0, self.top - height),
            limit=3 * height,
        )

    def is_loaded(self, height: int) -> bool:
        """Return whether all rows on the screen are known."""
        return self.is_known and self.page.holds(self.top, self.top + height)

    def moved(self, steps: int, height: int) -> ListState:
        """Return the list with another row chosen."""
        return self.at(self.cursor + steps, height)

    def at(self, place: int, height: int) -> ListState:
        """Return the list with the row at ``place`` chosen, or the nearest there is."""
        cursor = max(0, min(place, self.page.matching - 1))
        row = self.page.row(cursor)
        moved = replace(self, cursor=cursor, key=key_of(row) if row is not None else "")
        return moved.on_screen(height)

    def on_screen(self, height: int) -> ListState:
        """Return the list scrolled so that the chosen row is on the screen, and no row is left out below."""
        top = min(max(self.top, self.cursor - height + 1), self.cursor)
        return replace(self, top=max(0, min(top, self.page.matching - height)))

    def known(self, page: ListWindow, height: int) -> ListState:
        """Return the list with what the agent has answered.

        The chosen row stays chosen where it went. At the top of the list the first row is.
        """
        place = page.place_of(self.key) if self.key and self.cursor else None
        cursor = self.cursor if place is None else place
        shift = cursor - self.cursor
        kept = replace(self, page=page, is_known=True, top=max(0, self.top + shift))
        return kept.at(cursor, height)

    def searched(self, search: str, *, only_troubled: bool) -> ListState:
        """Return the list with only what is searched for, from its beginning."""
        return replace(self._anew(), search=search, only_troubled=only_troubled)

    def sorted_by(self, order: str, *, falls: bool) -> ListState:
        """Return the list in another order, from its beginning."""
        return replace(self._anew(), order=order, falls=falls)

    def _anew(self) -> ListState:
        return replace(self, is_known=False, cursor=0, key="", top=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One thing that somebody looks at."""

    kind: str
    """The name of its list."""
    key: str
    row: Document
    """What its list said of it."""

    @property
    def uid(self) -> str:
        """The UID of a pod; empty for others."""
        metadata = self.row.get("metadata")
        found = metadata.get("uid") if isinstance(metadata, Mapping) else None
        return found if isinstance(found, str) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DetailState:
    """What is known of the thing that somebody looks at."""

    subject: Subject
    documents: Mapping[str, Document] = field(default_factory=dict)
    """What the agent has answered, by what it was asked about."""
    is_known: bool = False
    is_gone: bool = False
    top: int = 0
    """The first line on the screen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopState:
    """All of it."""

    connection: AgentLink
    width: int = 80
    height: int = 24
    shown: str = PODS.name
    lists: Mapping[str, ListState] = field(
        default_factory=lambda: {name: ListState() for name in LISTS}
    )
    detail: DetailState | None = None
    is_help: bool = False
    typed: str | None = None
    """The search that is being typed; None while there is none."""
    agent: Document = field(default_factory=dict)
    """What ``/ui/agent`` has answered."""
    now: float = 0.0
    """By this machine's clock, in seconds since 1970."""
    cpu_percent: float | None = None
    """Of one core, between the last two answers."""
    skew: float = 0.0
    """Seconds that the agent's clock is ahead of this one."""

    @property
    def kind(self) -> ListKind:
        """Return the list that is shown."""
        return LISTS[self.shown]

    @property
    def current(self) -> ListState:
        """Return the state of that list."""
        return self.lists[self.shown]

    def with_list(self, changed: ListState) -> TopState:
        """Return it with that list changed."""
        return replace(self, lists={**self.lists, self.shown: changed})
