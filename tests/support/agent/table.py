"""The rows of the table of actors, as lines of a tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, get_origin, get_type_hints

from agent.composition import found
from agent.table import ActorRow, Dynamic, Group, Only, Row
from kernel import BaseActor
from kube.calls.actor import API_CALLS, ApiCalls
from kube.streams.actor import WATCHES, Watches

SUPERVISOR: Final = "supervisor"
OF_EDGES: Final[dict[Any, type[BaseActor[Any]]]] = {API_CALLS: ApiCalls, WATCHES: Watches}
"""The classes of actors that tests have others in the place of."""


@dataclass(frozen=True, slots=True)
class Line:
    """An actor or supervisor of the tree."""

    depth: int
    name: str
    kind: type[BaseActor[Any]] | None
    """The class of an actor; None for a supervisor."""
    is_dynamic: bool
    whens: frozenset[str]
    """The conditions on which it is there."""


def lines(row: Row, depth: int = 0, whens: frozenset[str] = frozenset()) -> Iterator[Line]:
    """Yield the lines of a row: conditions of a supervisor are not repeated for those below it."""
    whens = whens.union(each.words for each in row.when)
    match row:
        case Only():
            for each in row.rows:
                yield from lines(each, depth, whens)
        case Group():
            yield Line(depth, row.name, None, is_dynamic=False, whens=whens)
            for each in row.rows:
                yield from lines(each, depth + 1)
        case Dynamic():
            yield Line(depth, row.key.path, None, is_dynamic=True, whens=whens)
        case ActorRow():
            yield Line(depth, found(row.key).path, made_by(row), is_dynamic=False, whens=whens)


def rows(row: Row) -> Iterator[Row]:
    """Yield the row, and all below it."""
    yield row
    if isinstance(row, Group | Only):
        for each in row.rows:
            yield from rows(each)


def made_by(row: ActorRow) -> type[BaseActor[Any]]:
    """Return the class of an actor."""
    returned = get_type_hints(found(row.make))["return"]
    made: type[BaseActor[Any]] = get_origin(returned) or returned
    return OF_EDGES.get(found(row.key), made)
