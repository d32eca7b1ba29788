"""Queues of messages that wait for an actor. They have no lock: the cell locks around them.

A FIFO mailbox is a plain ``collections.deque``. ``CoalescingQueue`` has the same three methods.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Protocol


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
