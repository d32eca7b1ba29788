"""What waits for an actor. Policies of keeping only: the lock around them belongs to the cell.

A FIFO mailbox is a plain ``collections.deque``; ``CoalescingQueue`` has the same three methods.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Protocol


class MessageQueue(Protocol):
    """The part of a deque that a cell needs."""

    def append(self, item: object, /) -> None:
        """Add at the back."""
        ...

    def popleft(self) -> object:
        """Take from the front; IndexError when there is nothing."""
        ...

    def __len__(self) -> int: ...


class CoalescingQueue:
    """Keeps, of the messages with one name, only the newest, at the place of the newest.

    What comes out is a subsequence of what a FIFO would give. Dropping the older and appending the
    newer takes O(1) on an OrderedDict; tombstones in a deque pile up, and a plain dict gets slow at
    its emptied front.
    """

    __slots__ = ("_items", "_name")

    def __init__(self, name: Callable[[object], Hashable | None]) -> None:
        self._name = name
        self._items: OrderedDict[Hashable, object] = OrderedDict()

    def append(self, item: object) -> None:
        """Add ``item`` at the back, in place of an older one of its name."""
        name = self._name(item)
        if name is None:
            # A bare object is equal to itself alone: it coalesces with nothing.
            self._items[object()] = item
            return
        self._items.pop(name, None)
        self._items[name] = item

    def popleft(self) -> object:
        """Take the oldest."""
        if not self._items:
            raise IndexError("pop from an empty mailbox")
        return self._items.popitem(last=False)[1]

    def __contains__(self, item: object) -> bool:
        """Whether appending ``item`` would replace one that waits."""
        return self._name(item) in self._items

    def __len__(self) -> int:
        return len(self._items)
