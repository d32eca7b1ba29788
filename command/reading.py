"""Reads documents of any shape, and how well an agent is. Pure.

An agent of another version may have written a document. A field that is missing, or has another type, reads
as empty. So a table has a gap, and no command fails.

A line of a verbose health endpoint is ``[+]name ok`` or ``[-]name failed: why``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from command.failures import no_rows
from command.tables import BAD, DOUBTFUL

Document: TypeAlias = Mapping[str, Any]


def value(document: object, *path: str) -> object:
    """Return what stands at ``path``; None if there is nothing."""
    found = document
    for key in path:
        # Asking for the class first: this runs a million times for ten thousand pods.
        if found.__class__ is not dict and not isinstance(found, Mapping):
            return None
        found = found.get(key)
    return found


def text(document: object, *path: str) -> str:
    """Return the text at ``path``; empty if there is none."""
    found = value(document, *path)
    return found if isinstance(found, str) else ""


def number(document: object, *path: str) -> float | None:
    """Return the number at ``path``; None if there is none."""
    found = value(document, *path)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return found


def count(document: object, *path: str) -> int:
    """Return the whole number at ``path``; 0 if there is none."""
    found = value(document, *path)
    return found if isinstance(found, int) else 0


def flag(document: object, *path: str) -> bool:
    """Return whether ``true`` stands at ``path``."""
    return value(document, *path) is True


def part(document: object, *path: str) -> Document:
    """Return the object at ``path``; an empty one if there is none."""
    found = value(document, *path)
    return found if isinstance(found, Mapping) else {}


def parts(document: object, *path: str) -> list[Document]:
    """Return the objects of the list at ``path``; none if there is no list."""
    found = value(document, *path)
    if found is None or not isinstance(found, Sequence) or isinstance(found, str):
        return []
    return [each for each in found if each.__class__ is dict or isinstance(each, Mapping)]


def texts(document: object, *path: str) -> list[str]:
    """Return the texts of the list at ``path``; none if there is no list."""
    found = value(document, *path)
    if not isinstance(found, Sequence) or isinstance(found, str):
        return []
    return [each for each in found if isinstance(each, str)]


def rows_of(document: Document, name: str, path: str) -> list[Document]:
    """Return the objects of the list ``name``. Raises ``StrangeAnswerError`` if there is no such list."""
    found = value(document, name)
    rows = parts(document, name)
    if not isinstance(found, list) or len(rows) != len(found):
        raise no_rows(name, path)
    return rows


_LINE: Final = re.compile(r"\[(?P<sign>[+-])\](?P<name>\S+) (?:ok|failed)(?:: (?P<text>.*))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckLine:
    """One check of the agent."""

    name: str
    is_well: bool
    text: str = ""


def check_lines(body: str) -> Iterator[CheckLine]:
    """Yield the checks in ``body``. Other lines are passed over."""
    for line in body.splitlines():
        if found := _LINE.fullmatch(line):
            yield CheckLine(
                name=found["name"], is_well=found["sign"] == "+", text=found["text"] or ""
            )


def runtime_style(runtime: Document) -> str:
    """Return the style of the line about what runs the pods. That hollow pods do not run is to be seen."""
    if not flag(runtime, "ok"):
        return BAD
    return DOUBTFUL if text(runtime, "kind") == "hollow" else ""
