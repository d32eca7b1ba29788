"""Takes a list in JSON apart into the texts of its items, without making values of them.

So an item whose text is known need not be read, and each item has the limits of a document of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from manifests.findings import FieldFinding
from manifests.reading.decoding import not_json, read_json, too_large
from manifests.reading.document import MAX_BYTES, Document, DocumentError, too_deep
from messages.sources import RejectReason

ITEMS: Final = "items"
_SPACE: Final = re.compile(r"[ \t\n\r]*")
# Numbers are not looked at: as floats they cost least.
_DECODER: Final = json.JSONDecoder(parse_int=float)


class ItemText(NamedTuple):
    """Where one item of a list stands."""

    begin: int
    end: int
    line: int
    """The line on which it begins, counted from 1."""


@dataclass(frozen=True, slots=True)
class JsonList:
    """An object with a list of items, taken apart."""

    text: str
    rest: Document
    """The object with no items. Its fields have the lines that they have in the whole text."""
    items: tuple[ItemText, ...]

    def text_of(self, item: ItemText) -> str:
        """Return the text of one item."""
        return self.text[item.begin : item.end]

    def read(self, item: ItemText) -> Document:
        """Return the document that one item is. Raises ``DocumentError``."""
        if item.end - item.begin >= MAX_BYTES:
            raise too_large()
        return read_json(self.text_of(item), item.line)


def take_apart(text: str, most: int) -> JsonList | None:
    """Return the object in ``text`` with the places of its items; None if it has no list called ``items``.

    Raises ``DocumentError`` if ``text`` is no JSON, or if there are more than ``most`` items.
    """
    try:
        found = None
        for field in _fields(text, most):
            found = field if field.key == ITEMS else found  # of several the last one counts
    except json.JSONDecodeError as error:
        raise not_json(error) from error
    except RecursionError:
        raise too_deep() from None
    if found is None or found.items is None:
        return None
    if len(text) - (found.end - found.begin) >= MAX_BYTES:
        raise too_large()
    # What is wrong with the rest is told by who reads it.
    gap = "\n" * text.count("\n", found.begin, found.end)
    rest = read_json(f"{text[: found.begin]}[{gap}]{text[found.end :]}")
    return JsonList(text, rest, found.items)


class _Field(NamedTuple):
    """A field of the outermost object, and where its value stands."""

    key: str
    begin: int
    end: int
    items: tuple[ItemText, ...] | None
    """Those of the value, if this is the list of items."""


def _fields(text: str, most: int) -> Iterator[_Field]:
    """Yield the fields of the object in ``text``, up to what is no field."""
    place = _past(text, 0)
    while text.startswith(("{", ","), place):
        place = _past(text, place + 1)
        if not text.startswith('"', place):
            return
        key, end = _DECODER.raw_decode(text, place)
        colon = _past(text, end)
        if not text.startswith(":", colon):
            return
        begin = _past(text, colon + 1)
        if key == ITEMS and text.startswith("[", begin):
            items, end = _items(text, begin, most)
            yield _Field(key, begin, end, items)
        else:
            end = _DECODER.raw_decode(text, begin)[1]
            yield _Field(key, begin, end, None)
        place = _past(text, end)


def _items(text: str, begin: int, most: int) -> tuple[tuple[ItemText, ...], int]:
    """Return the items of the list that begins at ``begin``, and where it ends."""
    items: list[ItemText] = []
    line, seen = text.count("\n", 0, begin) + 1, begin
    place = _past(text, begin + 1)
    while not text.startswith("]", place):
        if items:
            if not text.startswith(",", place):
                raise json.JSONDecodeError("Expecting ',' delimiter", text, place)
            place = _past(text, place + 1)
        if len(items) == most:
            raise _too_many(most, text.count("\n", 0, begin) + 1)
        line, seen = line + text.count("\n", seen, place), place
        _, end = _DECODER.raw_decode(text, place)
        items.append(ItemText(place, end, line))
        place = _past(text, end)
    return tuple(items), place + 1


def _too_many(most: int, line: int) -> DocumentError:
    finding = FieldFinding((ITEMS,), f"must not be more than {most:,}")
    return DocumentError(RejectReason.NOT_A_POD, finding.sentence(lambda _: line))


def _past(text: str, place: int) -> int:
    """Return the next place that is no white space."""
    found = _SPACE.match(text, place)
    return found.end() if found else place
