"""What another thread may read of an actor: one frozen value, which is replaced whole."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Shared(Generic[T]):
    """A value with one writer, which anybody may read, on any thread. Nobody is told when it is replaced.

    The value is immutable: who reads it has all of one state, never half of it and half of the next.
    """

    __slots__ = ("_value",)

    def __init__(self, value: T) -> None:
        self._value = value

    @property
    def value(self) -> T:
        """The present value."""
        return self._value

    def replace(self, value: T) -> None:
        """Have ``value`` read from now on. For the one writer."""
        self._value = value
