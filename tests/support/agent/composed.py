"""Some actors of an agent, as the agent composes them, among others that a test has in place of the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from agent.composition import Composition, found
from agent.edges import ClusterEdges, Edges
from agent.table import Group, Only, Row, specs_of
from agent.tree import ACTORS, composition
from files.watching.inotify import InotifyWatch, KeepWatch
from kernel import ActorSystem, Address, AnySpec, Key, Port
from settings.agent import Settings


def composed(
    settings: Settings,
    address: Address,
    others: Mapping[Key[Any], Port[Any]],
    keep_watch: KeepWatch = InotifyWatch,
) -> Composition:
    """Return what some actors of an agent are made from. ``others`` stand for those of these keys."""

    def port(key: Key[Any], /) -> Port[Any]:
        return others[key] if key in others else address(key)

    cluster = ClusterEdges(calls=_nobody, watches=_nobody)
    return composition(settings, port, _no_system, Edges(cluster=cluster, keep_watch=keep_watch))


def specs_named(agent: Composition, *names: str) -> tuple[AnySpec, ...]:
    """Return the specs of the actors and supervisors of the table that have these names."""
    return tuple(
        spec for row in _rows(ACTORS) if _name(row) in names for spec in specs_of(row, agent)
    )


def _rows(row: Row) -> Iterator[Row]:
    yield row
    if isinstance(row, Group | Only):
        for each in row.rows:
            yield from _rows(each)


def _name(row: Row) -> str:
    match row:
        case Group(name=name):
            return name
        case Only():
            return ""
        case _:
            return found(row.key).path


def _nobody(_memory: object) -> NoReturn:
    raise AssertionError("others stand for the actors that talk to the API server")


def _no_system() -> ActorSystem:
    raise AssertionError("the endpoints are not among these actors")
