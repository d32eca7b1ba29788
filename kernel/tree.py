"""The tree as data: all nodes with their parents and states.

Read on the control thread, so nothing changes meanwhile. That takes it tens of milliseconds for a
description of thousands of children, and two for a summary: use the summary for what is asked often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kernel.children import ActorChild, Child, ChildState
from kernel.dynamic import DynamicSupervisor
from kernel.reports import are_most_failing, dynamic_loop_name
from kernel.supervisor import Supervisor

MOST_SHOWN: Final = 20
"""Most dynamic children of a supervisor that a summary describes one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorDescription:
    """One node of the tree, as it is at present. Supervisors handle no messages, and have no mailbox."""

    name: str
    parent: str
    type: str
    state: str
    restarts: int
    mailbox: int
    """How many messages wait."""
    handled: int
    """How many messages all its lives have handled."""
    last_error: str
    on_exhausted: str
    """What happens when it fails more often than its supervisor tolerates: ``escalate`` or ``isolate``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicSummary:
    """The children of one dynamic supervisor, counted."""

    name: str
    """The name of the loop that they are: ``objects/*``."""
    supervisor: str
    states: Mapping[str, int]
    """How many children are in which state. States without children are left out."""
    mailbox: int
    """How many messages wait for all of them together."""
    is_failing: bool
    """Whether so many are in state ``failed`` that the loop counts as failed."""
    not_running: tuple[ActorDescription, ...]
    """At most ``MOST_SHOWN`` of the children that do not run, the failed ones first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSummary:
    """The tree in short: its fixed part as it is, and the numbers of dynamic children."""

    loops: tuple[ActorDescription, ...]
    """Parents before their children."""
    dynamic: tuple[DynamicSummary, ...]
    """One for each dynamic supervisor."""


def family(child: Child) -> Iterator[Child]:
    """Yield ``child`` and all nodes below it, parents before their children."""
    yield child
    if isinstance(child, Supervisor):
        for grandchild in child.children.values():
            yield from family(grandchild)


def described(root: Child) -> tuple[ActorDescription, ...]:
    """Return descriptions of ``root`` and of all nodes below it, parents before their children."""
    return tuple(_described(child) for child in family(root))


def summarized(root: Child) -> TreeSummary:
    """Return the summary of the tree below ``root``."""
    fixed = tuple(_fixed(root))
    return TreeSummary(
        loops=tuple(_described(child) for child in fixed),
        dynamic=tuple(
            _summarized(child) for child in fixed if isinstance(child, DynamicSupervisor)
        ),
    )


def _fixed(child: Child) -> Iterator[Child]:
    """Yield ``child`` and all nodes below it but dynamic children."""
    yield child
    if isinstance(child, Supervisor) and not isinstance(child, DynamicSupervisor):
        for grandchild in child.children.values():
            yield from _fixed(grandchild)


def _summarized(supervisor: DynamicSupervisor) -> DynamicSummary:
    members = supervisor.children.values()
    # Those that run are counted apart. The others are few as a rule, and counting by state is slower.
    others = [child for child in members if child.state is not ChildState.RUNNING]
    running = len(members) - len(others)
    others.sort(key=lambda child: child.state is not ChildState.FAILED)
    states = Counter({ChildState.RUNNING: running} if running else {})
    states.update(child.state for child in others)
    return DynamicSummary(
        name=dynamic_loop_name(supervisor.name),
        supervisor=supervisor.name,
        states={state.value: count for state, count in states.items()},
        mailbox=sum(child.cell.depth for child in members if isinstance(child, ActorChild)),
        is_failing=are_most_failing(states[ChildState.FAILED], len(members)),
        not_running=tuple(_described(child) for child in others[:MOST_SHOWN]),
    )


def _described(child: Child) -> ActorDescription:
    cell = child.cell if isinstance(child, ActorChild) else None
    return ActorDescription(
        name=child.name,
        parent=child.parent.name if isinstance(child.parent, Supervisor) else "",
        type=child.type,
        state=child.state.value,
        restarts=child.restarts,
        mailbox=cell.depth if cell else 0,
        handled=cell.handled if cell else 0,
        last_error=child.last_error,
        on_exhausted=child.on_exhausted.value,
    )
