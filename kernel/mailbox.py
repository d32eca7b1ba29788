"""Queues of messages that wait for an actor, and what they hold besides plain messages.

Queues have no lock: the cell locks around them. A FIFO mailbox is a plain ``collections.deque``.
``CoalescingQueue`` has the same three methods. Beside plain messages there are questions, messages for one
incarnation, and those of the kernel.
"""

from __future__ import annotations

import queue
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Protocol

import pykka
from pykka._envelope import Envelope as PykkaEnvelope
from typing_extensions import override

from kernel.ports import Port


class Receiver(Protocol):
    """An actor as messages of the kernel see it."""

    @property
    def receive(self) -> Callable[[Any], None]:
        """Handle one message."""
        ...


class LifeOfActor(Protocol):
    """An incarnation as messages of the kernel see it."""

    @property
    def actor(self) -> Receiver:
        """The actor whose life this is."""
        ...

    @property
    def is_cut_off(self) -> bool:
        """Whether it ended or was abandoned."""
        ...


class KernelMessage:
    """A message that the kernel handles instead of the actor, on the actor's thread and in its turn.

    It never coalesces, since an actor's names are for its own messages.
    """

    __slots__ = ()

    @property
    def title(self) -> str:
        """What logs, dead letters and crash reports call it. Never its content."""
        return type(self).__name__

    def perform(self, life: LifeOfActor, /) -> None:
        """Carry out the message in a turn of ``life``. An exception counts as a failure of the actor."""


class Fence(KernelMessage):
    """Does nothing. Once it is handled, all messages told before it are handled, too."""

    __slots__ = ()


class InjectedCrashError(Exception):
    """An actor was crashed on request."""


class Crash(KernelMessage):
    """Makes the actor fail as a bug in its handler would."""

    __slots__ = ()

    @override
    def perform(self, life: LifeOfActor, /) -> None:
        raise InjectedCrashError("crashed on request")


class Envelope(PykkaEnvelope[Any]):
    """A question: a message, and the future of the asker. Only the first answer or failure counts."""

    __slots__ = ()

    def __init__(self, message: object, reply_to: pykka.Future[Any]) -> None:
        super().__init__(message, reply_to)

    @override
    def __repr__(self) -> str:
        # Pykka's shows the message, and with it whatever it carries.
        return f"Envelope({type(self.message).__name__})"

    def answer(self, value: object) -> None:
        """Give ``value`` to the asker."""
        assert self.reply_to is not None  # noqa: S101  # the constructor requires it
        try:
            self.reply_to.set(value)
        except queue.Full:
            return

    def fail(self, error: BaseException) -> None:
        """Raise ``error`` at the asker."""
        assert self.reply_to is not None  # noqa: S101  # the constructor requires it
        try:
            self.reply_to.set_exception((type(error), error, None))
        except queue.Full:
            return


class ForIncarnation:
    """A message for one incarnation alone: from a timer that it set, or from its own port ``me``."""

    __slots__ = ("message", "number")

    def __init__(self, number: int, message: object) -> None:
        self.number = number
        self.message = message


def unwrapped(item: object) -> object:
    """Return the message in an item of a mailbox."""
    return item.message if isinstance(item, Envelope | ForIncarnation) else item


def title_of(message: object) -> str:
    """Return what logs, dead letters and crash reports call a message: its type, never its content."""
    return message.title if isinstance(message, KernelMessage) else type(message).__name__


class ReplyPort(Port[Any]):
    """The port for the answer to one question. The first message told to it is the answer."""

    __slots__ = ("_future",)

    def __init__(self, future: pykka.Future[Any]) -> None:
        self._future = future

    @override
    def tell(self, message: Any, /) -> None:
        try:
            self._future.set(message)
        except queue.Full:
            return


class MessageQueue(Protocol):
    """The part of a deque that a cell uses."""

    def append(self, item: object, /) -> None:
        """Add at the back."""
        ...

    def popleft(self) -> object:
        """Take from the front. Raises IndexError when the queue is empty."""
        ...

    def __len__(self) -> int: ...


class CoalescingQueue:
    """Keeps only the newest of the messages with one name, at the place of the newest.

    What comes out is a subsequence of what a FIFO would give. On an OrderedDict, dropping the older
    message and appending the newer takes O(1). Tombstones in a deque would pile up, and a plain dict
    gets slow at its emptied front.
    """

    __slots__ = ("_items", "_name")

    def __init__(self, name: Callable[[object], Hashable | None]) -> None:
        self._name = name
        self._items: OrderedDict[Hashable, object] = OrderedDict()

    def append(self, item: object) -> None:
        """Add ``item`` at the back, and drop an older one of its name."""
        name = self._name(item)
        if name is None:
            # As a name, a bare object equals only itself: the message replaces nothing.
            self._items[object()] = item
            return
        self._items.pop(name, None)
        self._items[name] = item

    def popleft(self) -> object:
        """Take the oldest. Raises IndexError when the queue is empty."""
        if not self._items:
            raise IndexError("pop from an empty mailbox")
        return self._items.popitem(last=False)[1]

    def __contains__(self, item: object) -> bool:
        """Whether appending ``item`` would replace a message that waits."""
        return self._name(item) in self._items

    def __len__(self) -> int:
        return len(self._items)
