"""Addresses: how an actor is named, and the only thing that others may do with it.

A ``Key`` names an actor before it exists and after it crashed; a ``Port`` is what everybody else
holds of it, and can do nothing but ``tell``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

M = TypeVar("M")
M_contra = TypeVar("M_contra", contravariant=True)


class Port(Protocol[M_contra]):
    """Somewhere to send messages of one vocabulary.

    ``tell`` never blocks and never raises: what can no longer be delivered is a dead letter.
    Messages of one sender arrive in the order in which they were told.
    """

    def tell(self, message: M_contra, /) -> None:
        """Put ``message`` into the mailbox behind this port."""
        ...


@dataclass(frozen=True, slots=True)
class Key(Generic[M]):
    """The path of an actor and the policy of its mailbox.

    The path begins with the actor's role: ``source/file``, ``pod-worker/default/web-0``. It is the
    running name in logs, threads and endpoints; the role is the label of its metrics.
    """

    path: str
    coalesce: Callable[[M], Hashable | None] | None = field(default=None, compare=False)
    """Names the messages of which only the newest matters: of two with one name that wait, the
    older is dropped. ``None`` for a message that must be handled whatever comes after it."""

    @property
    def role(self) -> str:
        """The first part of the path."""
        return self.path.partition("/")[0]


class ActorDeadError(Exception):
    """The actor that was asked is gone for good and will not answer."""


class AskInsideActorError(Exception):
    """An actor tried to ask. Actors tell: an ask can deadlock and hides failures from supervisors."""


class AskTimeoutError(Exception):
    """The actor that was asked did not answer within the deadline."""
