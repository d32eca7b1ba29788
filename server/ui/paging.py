"""Pages of long tables: what is searched for, where a page starts, and how long it is. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeAlias, TypeVar

from messages.pods import JsonObject

T = TypeVar("T")

Order: TypeAlias = Callable[[T], Any]
"""What rows are sorted by: values that can be compared with each other."""

DEFAULT_LIMIT: Final = 50
MOST: Final = 500
"""Rows of the longest page."""


class WrongPageError(Exception):
    """Something about a page was asked for that cannot be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAsked:
    """Which page somebody wants."""

    search: str = ""
    """Words that a row has to contain, all of them. Upper and lower case are the same."""
    after: str = ""
    """The key of the last row of the page before; empty for the first page."""
    limit: int = DEFAULT_LIMIT
    skip: int = 0
    """How many of the rows that are found come before the page. They are counted behind ``after``."""
    sort: str = ""
    """By which order the rows are sorted; empty for that of their keys."""
    is_reversed: bool = False
    """The last row of that order is the first one."""

    @classmethod
    def of(cls, query: Mapping[str, str], orders: Collection[str] = ()) -> PageAsked:
        """Return what ``query`` asks for of a table that has ``orders``. Raises WrongPageError."""
        limit, skip = query.get("limit", str(DEFAULT_LIMIT)), query.get("skip", "0")
        if not re.fullmatch("[0-9]{1,4}", limit) or not 1 <= int(limit) <= MOST:
            raise WrongPageError(f"limit is a number from 1 to {MOST}")
        if not re.fullmatch("[0-9]{1,9}", skip):
            raise WrongPageError("skip is a number of rows")
        sort, after = query.get("sort", ""), query.get("after", "")
        order = sort.removeprefix("-")
        if order and order not in orders:
            known = f"one of {', '.join(orders)}" if orders else "not for this table"
            raise WrongPageError(f"sort is {known}")
        if sort and after:
            raise WrongPageError(
                "after is for rows in the order of their keys: sort goes with skip"
            )
        return cls(
            search=query.get("search", ""),
            after=after,
            limit=int(limit),
            skip=int(skip),
            sort=order,
            is_reversed=sort.startswith("-"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PagedTable(Generic[T]):
    """What a table is made of."""

    name: str
    key: Callable[[T], str]
    """Unique: rows are in the order of it unless another one is asked for."""
    text: Callable[[T], str]
    """What a row is found by."""
    shown: Callable[[T], JsonObject]
    orders: Mapping[str, Order[T]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFound(Generic[T]):
    """One page of rows."""

    rows: list[T]
    total: int
    """All rows."""
    matching: int
    """Those that were searched for."""
    before: int
    """Those of them that come before the page."""
    following: str | None
    """What ``after`` has to be for the next page; None at the end, and unless the order is that of keys."""

    def document(
        self, name: str, key: Callable[[T], str], shown: Callable[[T], JsonObject]
    ) -> dict[str, Any]:
        """Return the page as it is answered."""
        return {
            name: [{**shown(row), "key": key(row)} for row in self.rows],
            "total": self.total,
            "matching": self.matching,
            "before": self.before,
            "next": self.following,
        }


def page_found(
    rows: Iterable[T],
    asked: PageAsked,
    *,
    key: Callable[[T], str],
    text: Callable[[T], str],
    orders: Mapping[str, Order[T]],
) -> PageFound[T]:
    """Return one page of ``rows``, by their ``key`` unless another order is asked for."""
    everything = list(rows)
    words = asked.search.casefold().split()
    found = [row for row in everything if _has(text(row), words)] if words else everything
    rest = sorted((row for row in found if not asked.after or key(row) > asked.after), key=key)
    before = len(found) - len(rest) + min(asked.skip, len(rest))
    if asked.sort:
        rest.sort(key=orders[asked.sort], reverse=asked.is_reversed)
    elif asked.is_reversed:
        rest.reverse()
    page = rest[asked.skip : asked.skip + asked.limit]
    is_by_key = not (asked.sort or asked.is_reversed)
    goes_on = page and is_by_key and len(rest) > asked.skip + len(page)
    return PageFound(
        rows=page,
        total=len(everything),
        matching=len(found),
        before=before,
        following=key(page[-1]) if goes_on else None,
    )


def page_of(rows: Iterable[T], asked: PageAsked, table: PagedTable[T]) -> dict[str, Any]:
    """Return one page of ``rows`` as a document."""
    found = page_found(rows, asked, key=table.key, text=table.text, orders=table.orders)
    return found.document(table.name, table.key, table.shown)


def _has(text: str, words: Iterable[str]) -> bool:
    folded = text.casefold()
    return all(word in folded for word in words)
