"""Pages of long tables: what is searched for, where a page starts, and how long it is. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from messages.pods import JsonObject

T = TypeVar("T")

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

    @classmethod
    def of(cls, query: Mapping[str, str]) -> PageAsked:
        """Return what ``query`` asks for. Raises WrongPageError."""
        limit = query.get("limit", str(DEFAULT_LIMIT))
        if not re.fullmatch("[0-9]{1,4}", limit) or not 1 <= int(limit) <= MOST:
            raise WrongPageError(f"limit is a number from 1 to {MOST}")
        return cls(search=query.get("search", ""), after=query.get("after", ""), limit=int(limit))


def page_of(
    name: str,
    rows: Iterable[T],
    asked: PageAsked,
    *,
    key: Callable[[T], str],
    text: Callable[[T], str],
    shown: Callable[[T], JsonObject],
) -> dict[str, Any]:
    """Return one page of ``rows`` as a document, in the order of their keys.

    ``key`` is unique, ``text`` is what a row is found by. ``total`` counts all rows, ``matching`` those that
    are found. ``next`` is what ``after`` has to be for the next page, null at the end.
    """
    everything = list(rows)
    words = asked.search.casefold().split()
    found = [row for row in everything if _has(text(row), words)] if words else everything
    rest = sorted((row for row in found if key(row) > asked.after), key=key)
    page = rest[: asked.limit]
    return {
        name: [{**shown(row), "key": key(row)} for row in page],
        "total": len(everything),
        "matching": len(found),
        "before": len(found) - len(rest),
        "next": key(page[-1]) if len(rest) > len(page) else None,
    }


def _has(text: str, words: Iterable[str]) -> bool:
    folded = text.casefold()
    return all(word in folded for word in words)
