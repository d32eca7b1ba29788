"""The tree as data: who is below whom, and how each of them is.

Read on the control thread, where nothing of it changes meanwhile. To describe thousands of children
takes it tens of milliseconds, to count them two: whoever asks again and again asks for the summary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kernel.children import ActorChild, Child, ChildState
from kernel.dynamic import DynamicSupervisor
from kernel.loops import crowd_name, is_crowd_failing
from kernel.supervisor import Supervisor

MOST_SHOWN: Final = 20
"""Children of a crowd that a summary describes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorDescription:
    """One node of the tree, as it is at present."""

    name: str
    parent: str
    type: str
    state: str
    restarts: int
    mailbox: int
    """How many messages wait."""
    handled: int
    last_error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdSummary:
    """The children of one dynamic supervisor, counted."""

    name: str
    """As which it is a loop: ``objects/*``."""
    supervisor: str
    states: Mapping[str, int]
    """How many are in which state, where there are any."""
    mailbox: int
    """How many messages wait, for all of them together."""
    is_failing: bool
    """At present so many are in state ``failed`` that it is more than their own trouble."""
    not_running: tuple[ActorDescription, ...]
    """Some of those in another state, the failed ones first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSummary:
    """The tree: supervisors and their fixed children as they are, those that come and go counted."""

    loops: tuple[ActorDescription, ...]
    """Parents before their children."""
    crowds: tuple[CrowdSummary, ...]
    """One for each dynamic supervisor."""


def family(child: Child) -> Iterator[Child]:
    """Yield ``child`` and all below it, parents before their children."""
    yield child
    if isinstance(child, Supervisor):
        for grandchild in child.children.values():
            yield from family(grandchild)


def described(root: Child) -> tuple[ActorDescription, ...]:
    """Return how each of ``family`` is."""
    return tuple(_described(child) for child in family(root))


def summarized(root: Child) -> TreeSummary:
    """Return how the tree is."""
    fixed = tuple(_fixed(root))
    return TreeSummary(
        loops=tuple(_described(child) for child in fixed),
        crowds=tuple(_crowd(child) for child in fixed if isinstance(child, DynamicSupervisor)),
    )


def _fixed(child: Child) -> Iterator[Child]:
    """Yield those of ``family`` that are there as long as the tree is."""
    yield child
    if isinstance(child, Supervisor) and not isinstance(child, DynamicSupervisor):
        for grandchild in child.children.values():
            yield from _fixed(grandchild)


def _crowd(supervisor: DynamicSupervisor) -> CrowdSummary:
    members = supervisor.children.values()
    # Apart from the others, which are few as a rule: counting by state takes several times as long.
    others = [child for child in members if child.state is not ChildState.RUNNING]
    running = len(members) - len(others)
    others.sort(key=lambda child: child.state is not ChildState.FAILED)
    states = Counter({ChildState.RUNNING: running} if running else {})
    states.update(child.state for child in others)
    return CrowdSummary(
        name=crowd_name(supervisor.name),
        supervisor=supervisor.name,
        states={state.value: count for state, count in states.items()},
        mailbox=sum(child.cell.depth for child in members if isinstance(child, ActorChild)),
        is_failing=is_crowd_failing(states[ChildState.FAILED], len(members)),
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
    )
