"""What a table of actors is made of, and the specs that follow from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar, overload

from agent.composition import Composition, found
from kernel import AnySpec, BaseActor, ChildSpec, DynamicSpec, Key, OnExhausted, SupervisorSpec
from server.questions import Question

S = TypeVar("S")
M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class When:
    """A condition for an agent to have an actor, and the words for it."""

    words: str
    holds: Callable[[Composition], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorRow:
    """A row: an actor of the fixed part of the tree."""

    key: Key[Any]
    make: Callable[..., BaseActor[Any]]
    """Makes a new actor for each life, from the composition and the memory."""
    memory: Callable[..., object] | None
    """Makes what outlives its lives: a class, or a function of the composition."""
    when: tuple[When, ...]
    """All of them have to hold."""
    on_exhausted: OnExhausted
    answers: tuple[Question[Any], ...]
    """The questions of the endpoints that it answers."""


@dataclass(frozen=True, slots=True)
class Dynamic:
    """A row: a supervisor of actors that come and go."""

    key: Key[Any]
    when: tuple[When, ...] = ()


class Group:
    """A row: a supervisor, and the rows below it."""

    def __init__(self, name: str, *rows: Row, when: tuple[When, ...] = ()) -> None:
        self.name = name
        self.rows = rows
        self.when = when


class Only:
    """Rows with the same condition."""

    def __init__(self, when: When, *rows: Row) -> None:
        self.when = (when,)
        self.rows = rows


Row: TypeAlias = ActorRow | Dynamic | Group | Only

ESCALATE: Final = OnExhausted.ESCALATE


@overload
def actor(
    key: Key[M],
    make: Callable[[Composition], BaseActor[M]],
    *,
    when: tuple[When, ...] = ...,
    on_exhausted: OnExhausted = ...,
    answers: tuple[Question[Any], ...] = ...,
) -> ActorRow: ...


@overload
def actor(
    key: Key[M],
    make: Callable[[Composition, S], BaseActor[M]],
    *,
    memory: Callable[[Composition], S] | type[S],
    when: tuple[When, ...] = ...,
    on_exhausted: OnExhausted = ...,
    answers: tuple[Question[Any], ...] = ...,
) -> ActorRow: ...


def actor(
    key: Key[Any],
    make: Callable[..., BaseActor[Any]],
    *,
    memory: Callable[..., object] | None = None,
    when: tuple[When, ...] = (),
    on_exhausted: OnExhausted = OnExhausted.ISOLATE,
    answers: tuple[Question[Any], ...] = (),
) -> ActorRow:
    """Return the row of an actor. It is isolated, unless ``on_exhausted`` says otherwise.

    ``memory`` is a class that is made without arguments, or a function of the composition.
    """
    return ActorRow(
        key=key,
        make=make,
        memory=memory,
        when=when,
        on_exhausted=on_exhausted,
        answers=answers,
    )


def rows_of(row: Row, agent: Composition) -> Iterator[ActorRow | Dynamic | Group]:
    """Yield the row, or those in its place, if the agent has it."""
    if not all(each.holds(agent) for each in row.when):
        return
    if isinstance(row, Only):
        for each in row.rows:
            yield from rows_of(each, agent)
    else:
        yield row


def present(row: Row, agent: Composition) -> Iterator[ActorRow | Dynamic]:
    """Yield the rows of all actors that the agent has, and of supervisors of those that come and go."""
    for each in rows_of(row, agent):
        if isinstance(each, Group):
            for child in each.rows:
                yield from present(child, agent)
        else:
            yield each


def specs_of(row: Row, agent: Composition) -> Iterator[AnySpec]:
    """Yield the specs of the row, with all below it. Makes the memories."""
    for each in rows_of(row, agent):
        if isinstance(each, Group):
            children = tuple(spec for child in each.rows for spec in specs_of(child, agent))
            yield SupervisorSpec(name=each.name, children=children)
        elif isinstance(each, Dynamic):
            yield DynamicSpec(key=found(each.key))
        else:
            yield _spec_of(each, agent)


def _spec_of(row: ActorRow, agent: Composition) -> ChildSpec[Any]:
    make, memory = found(row.make), found(row.memory)
    if memory is None:
        factory = partial(make, agent)
    else:
        factory = partial(make, agent, memory() if isinstance(memory, type) else memory(agent))
    return ChildSpec(key=found(row.key), factory=factory, on_exhausted=row.on_exhausted)
