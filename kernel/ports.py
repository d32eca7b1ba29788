"""Keys, ports, and the errors of asking.

A ``Key`` names an actor, also before it exists and after it crashed. A ``Port`` is all that others hold of
an actor, and its only method is ``tell``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

from typing_extensions import override

from messages.port import Port

M = TypeVar("M")
M_contra = TypeVar("M_contra", contravariant=True)

__all__ = [
    "ActorCrashedError",
    "ActorDeadError",
    "Address",
    "AskInsideActorError",
    "AskTimeoutError",
    "Key",
    "Port",
]


class Key(Generic[M_contra]):
    """The path of an actor, and how its mailbox coalesces. Two keys of one path are equal.

    The path is the actor's name in logs, threads and endpoints: ``source/file``,
    ``pod-worker/default/web-0``. Its first part is the role, the label of the actor's metrics.
    """

    # No dataclass: one with slots that is frozen cannot be called as Key[M](...).
    __slots__ = ("coalesce", "path")

    def __init__(
        self, path: str, coalesce: Callable[[M_contra], Hashable | None] | None = None
    ) -> None:
        """Name an actor.

        ``coalesce`` gives a name to a message of which only the newest matters: when two messages with
        one name wait, the older is dropped. It returns ``None`` for a message that must be handled
        whatever comes after it.
        """
        self.path = path
        self.coalesce = coalesce

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self.path == other.path

    @override
    def __hash__(self) -> int:
        return hash(self.path)

    @override
    def __repr__(self) -> str:
        return f"Key({self.path!r})"

    @property
    def role(self) -> str:
        """The first part of the path."""
        return self.path.partition("/")[0]


class Address(Protocol):
    """A function that gives the port of a key, whether or not its actor exists yet."""

    def __call__(self, key: Key[M], /) -> Port[M]:
        """Return the port of ``key``."""
        ...


class ActorDeadError(Exception):
    """The actor that was asked is gone for good, and will not answer."""


class ActorCrashedError(Exception):
    """The handler failed with an exception that the asker must not get, such as a SystemExit."""


class AskInsideActorError(Exception):
    """An actor tried to ask. Asking can deadlock and hides failures from supervisors: actors tell."""


class AskTimeoutError(Exception):
    """The actor that was asked did not answer within the deadline."""
