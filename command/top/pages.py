"""Pages of lists as the agent answers them. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from command.event_lines import reach
from command.failures import StrangeAnswerError
from command.reading import Document, count, part, parts, rows_of, text, value
from command.top.lists import ACTORS, EVENTS, ListKind

MOST: Final = 500
"""Rows that an agent tells at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAsked:
    """Which rows of a list are wanted, and in which order."""

    search: str = ""
    order: str = ""
    falls: bool = False
    only_troubled: bool = False
    skip: int = 0
    limit: int = 50

    def path(self, kind: ListKind) -> str:
        """Return what the agent is asked for."""
        sort = f"{'-' if self.falls else ''}{self.order}"
        if kind is ACTORS and not self.search:
            return kind.path
        query = {
            "search": self.search,
            "sort": sort,
            "skip": str(self.skip) if self.skip else "",
            "limit": str(min(self.limit, MOST)),
        }
        wanted = {name: each for name, each in query.items() if each}
        if self.only_troubled and kind.has_trouble:
            wanted["troubled"] = ""
        return f"{kind.path}?{urlencode(wanted)}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ListWindow:
    """The rows from a place of the list on. Each answer is another one, even with the same rows."""

    rows: tuple[Document, ...] = ()
    before: int = 0
    """How many rows come before them."""
    matching: int = 0
    total: int = 0
    reach: str = ""
    """How far back it goes, of a list of the past."""

    def row(self, place: int) -> Document | None:
        """Return the row at a place of the whole list; None if it is not here."""
        found = place - self.before
        return self.rows[found] if 0 <= found < len(self.rows) else None

    def holds(self, first: int, last: int) -> bool:
        """Return whether all rows from ``first`` to before ``last`` are here, as far as there are any."""
        end = min(last, self.matching)
        return first >= end or (self.before <= first and end <= self.before + len(self.rows))

    def place_of(self, key: str) -> int | None:
        """Return the place of a row in the whole list; None if it is not here."""
        for place, row in enumerate(self.rows):
            if key_of(row) == key:
                return self.before + place
        return None


def key_of(row: Document) -> str:
    """Return what a row is known by."""
    return text(row, "key") or text(row, "name")


def page_told(kind: ListKind, document: Document, asked: ListAsked) -> ListWindow:
    """Return the page that the agent has answered. Raises ``StrangeAnswerError``."""
    rows = rows_of(document, kind.field, kind.path)
    if kind is ACTORS and "groups" in document:
        return _tree(document, asked)
    for name in ("before", "matching", "total"):
        if not isinstance(value(document, name), int):
            raise StrangeAnswerError(
                f"the answer to {kind.path} does not count its rows: the agent is of another version"
            )
    if rows and not isinstance(rows[0].get("key"), str):
        raise StrangeAnswerError(
            f"the rows at {kind.path} have no keys: the agent is of another version"
        )
    return ListWindow(
        rows=tuple(rows),
        before=max(0, count(document, "before")),
        matching=max(0, count(document, "matching")),
        total=max(0, count(document, "total")),
        reach=reach(document) if kind is EVENTS else "",
    )


def _tree(document: Document, asked: ListAsked) -> ListWindow:
    """Return the fixed part of the tree, and below each supervisor of many actors one row for those."""
    depths: dict[str, int] = {}
    rows = list(_with_groups(document))
    if asked.order == "state":
        rows.sort(key=lambda row: text(row, "state"), reverse=asked.falls)
    elif asked.order:
        rows.sort(key=lambda row: count(row, asked.order), reverse=asked.falls)
    else:
        for place, row in enumerate(rows):
            depth = depths.get(text(row, "parent"), -1) + 1
            depths[text(row, "name")] = depth
            rows[place] = {**row, "depth": depth}
        if asked.falls:
            rows.reverse()
    return ListWindow(rows=tuple(rows), matching=len(rows), total=len(rows))


def _with_groups(document: Document) -> Iterator[Document]:
    groups: dict[str, list[Document]] = {}
    for each in parts(document, "groups"):
        groups.setdefault(text(each, "parent"), []).append(each)
    for actor in parts(document, "actors"):
        yield actor
        for group in groups.get(text(actor, "name"), ()):
            yield _group(group)
            yield from parts(group, "notRunning")


def _group(group: Document) -> Document:
    states = part(group, "states")
    said = ", ".join(f"{many:,} {word}" for word, many in states.items() if isinstance(many, int))
    name = text(group, "name")
    return {**group, "name": name, "state": said or "none"}
