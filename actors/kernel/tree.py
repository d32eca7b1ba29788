"""The tree as data: who is below whom, and how each of them is.

Read on the control thread, where nothing of it changes meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from actors.kernel.children import ActorChild, Child
from actors.kernel.supervisor import Supervisor


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


def family(child: Child) -> Iterator[Child]:
    """Yield ``child`` and all below it, parents before their children."""
    yield child
    if isinstance(child, Supervisor):
        for grandchild in child.children.values():
            yield from family(grandchild)


def described(root: Child) -> Iterator[ActorDescription]:
    """Yield how each of ``family`` is."""
    for child in family(root):
        cell = child.cell if isinstance(child, ActorChild) else None
        yield ActorDescription(
            name=child.name,
            parent=child.parent.name if isinstance(child.parent, Supervisor) else "",
            type=child.type,
            state=child.state.value,
            restarts=child.restarts,
            mailbox=cell.depth if cell else 0,
            handled=cell.handled if cell else 0,
            last_error=child.last_error,
        )
