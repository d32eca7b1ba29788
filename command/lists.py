"""Reads a long list out of a JSON document while that arrives: who waits for all of it waits long. Pure."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from command.reading import Document

FIRST: Final = 100
"""Rows of the first page: the sooner it is there, the sooner there is something to see."""
PAGE: Final = 500
"""Rows of each further page."""
MOST_PENDING: Final = 2**24
"""Characters of the longest row, and of what may stand before the list and behind it."""

_DECODER: Final = json.JSONDecoder()
_BETWEEN: Final = re.compile(r"[\s,]*")
_SPACES: Final = 100
"""How many there may be between the name of the list and its begin."""


class NoListError(Exception):
    """What arrives is no JSON object, or has no such list of objects."""

    def __init__(self, *, is_an_object: bool) -> None:
        super().__init__()
        self.is_an_object = is_an_object


class ListInPieces:
    """A document with one long list, which is read a page at a time, once."""

    def __init__(self, pieces: Iterable[bytes], name: str) -> None:
        """Read as far as the list called ``name``. Raises ``NoListError``, and what ``pieces`` raises."""
        self._pieces = iter(pieces)
        self._name = name
        self._decoded = codecs.getincrementaldecoder("utf-8")()
        self._text = ""
        self._place = 0
        self._is_whole = False
        self.head: Document = self._read_head()
        """What stands before the list."""
        self.rest: Document = {}
        """What stands behind it. Empty until all pages are read."""

    def pages(self) -> Iterator[list[Document]]:
        """Yield the rows of the list, as they arrive. Raises ``NoListError``, and what the pieces raise."""
        page: list[Document] = []
        wanted = FIRST
        for row in self._rows():
            page.append(row)
            if len(page) >= wanted:
                yield page
                page, wanted = [], PAGE
        if page:
            yield page
        self.rest = self._read_rest()

    def _read_head(self) -> Document:
        begins = re.compile(rf'"{re.escape(self._name)}"\s*:\s*\[')
        seen = 0
        while True:
            for found in begins.finditer(self._text, seen):
                head = _object(f'{self._text[: found.start()]}"{self._name}": null}}')
                if head is not None:  # else it stands deeper inside
                    self._place = found.end()
                    return {key: each for key, each in head.items() if key != self._name}
            seen = max(0, len(self._text) - len(self._name) - _SPACES)
            if not self._read():
                raise NoListError(is_an_object=_object(self._text) is not None)

    def _rows(self) -> Iterator[Document]:
        tried = 0
        while True:
            self._place = _end(_BETWEEN, self._text, self._place)
            following = self._text[self._place : self._place + 1]
            if following == "]":
                self._place += 1
                return
            if following not in {"", "{"}:
                raise NoListError(is_an_object=True)
            left = len(self._text) - self._place
            # A long row is not tried again with each piece of it that arrives.
            is_due = left > 1.5 * tried or self._is_whole
            row = self._row() if following and is_due else None
            if row is not None:
                tried = 0
                yield row
                continue
            if is_due:
                tried = left
            if not self._read():
                raise NoListError(is_an_object=False)

    def _row(self) -> Document | None:
        """Return the next row; None if it is not there as a whole."""
        try:
            row, self._place = _DECODER.raw_decode(self._text, self._place)
        except ValueError:
            return None
        except RecursionError:
            raise NoListError(is_an_object=False) from None
        return row if isinstance(row, dict) else None

    def _read(self) -> bool:
        """Read one more piece. Return whether there was one."""
        if self._is_whole or len(self._text) - self._place > MOST_PENDING:
            return False
        piece = next(self._pieces, b"")
        self._is_whole = not piece
        try:
            more = self._decoded.decode(piece, self._is_whole)
        except ValueError:
            raise NoListError(is_an_object=False) from None
        self._text = self._text[self._place :] + more
        self._place = 0
        return True

    def _read_rest(self) -> Document:
        while self._read():
            pass
        found = _object(f'{{"": 0{self._text[self._place :]}')
        if found is None:
            raise NoListError(is_an_object=False)
        return {key: each for key, each in found.items() if key}


def _object(text: str) -> dict[str, Any] | None:
    """Return the JSON object that ``text`` is; None if it is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _end(pattern: re.Pattern[str], text: str, place: int) -> int:
    found = pattern.match(text, place)
    return place if found is None else found.end()


def in_pages(rows: Iterable[Document]) -> Iterator[list[Document]]:
    """Yield ``rows`` in pages."""
    page: list[Document] = []
    for row in rows:
        page.append(row)
        if len(page) >= PAGE:
            yield page
            page = []
    if page:
        yield page
