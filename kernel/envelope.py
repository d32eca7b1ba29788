"""What a mailbox holds besides plain messages: those that somebody waits for, and those for one life."""

from __future__ import annotations

import queue
from typing import Any

import pykka
from pykka._envelope import Envelope as PykkaEnvelope
from typing_extensions import override

from kernel.ports import Port


class KernelMessage:
    """A message that the kernel handles in place of the actor, in its turn and on its thread."""

    __slots__ = ()

    def happen(self) -> None:
        """Do what the message says. What it raises is the actor's failure."""


class Fence(KernelMessage):
    """Asks nothing: once it is handled, so is all that was told before it."""

    __slots__ = ()


class InjectedCrashError(Exception):
    """Somebody wanted to see the actor recover."""


class Crash(KernelMessage):
    """Makes the actor fail, as a bug in its handler would."""

    __slots__ = ()

    @override
    def happen(self) -> None:
        raise InjectedCrashError("crashed on request")


class Envelope(PykkaEnvelope[Any]):
    """A message with the future of who waits for it. Failing or answering twice does nothing."""

    __slots__ = ()

    def __init__(self, message: object, reply_to: pykka.Future[Any]) -> None:
        super().__init__(message, reply_to)

    @override
    def __repr__(self) -> str:
        # Pykka's shows the message, and with it whatever it carries.
        return f"Envelope({type(self.message).__name__})"

    def answer(self, value: object) -> None:
        """Give ``value`` to who waits."""
        assert self.reply_to is not None  # noqa: S101  # the constructor requires it
        try:
            self.reply_to.set(value)
        except queue.Full:
            return

    def fail(self, error: BaseException) -> None:
        """Raise ``error`` at who waits."""
        assert self.reply_to is not None  # noqa: S101  # the constructor requires it
        try:
            self.reply_to.set_exception((type(error), error, None))
        except queue.Full:
            return


class ForLife:
    """A message for one life of an actor only: a deadline that it set, or what it told itself."""

    __slots__ = ("message", "number")

    def __init__(self, number: int, message: object) -> None:
        self.number = number
        self.message = message


def unwrapped(item: object) -> object:
    """Return the message in what a mailbox holds."""
    return item.message if isinstance(item, Envelope | ForLife) else item


class ReplyPort(Port[Any]):
    """Where the answer to one question goes: the first message told to it."""

    __slots__ = ("_future",)

    def __init__(self, future: pykka.Future[Any]) -> None:
        self._future = future

    @override
    def tell(self, message: Any, /) -> None:
        try:
            self._future.set(message)
        except queue.Full:
            return
