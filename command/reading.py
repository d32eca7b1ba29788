"""Reads documents of any shape: an agent of another version may have written them. Pure.

A field that is missing, or has another type, reads as empty. So a table has a gap, and no command fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from command.failures import no_rows

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
