"""A port that remembers: what actors under test tell to the world around them."""

from __future__ import annotations

import queue
from typing import Generic, TypeVar

from typing_extensions import override

from kernel import Port
from tests.support.canary import LOOKOUT

M = TypeVar("M")

PATIENCE = 5.0
"""Seconds until a message that should come is missed. Only a failing test waits this long."""


_WITH_VALUES = frozenset(f"messages.{name}" for name in ("objects", "watches", "api"))
"""Where messages are that have values of Secrets in them, which their ``repr`` must not show."""


class Probe(Port[M], Generic[M]):
    """Collects what it is told, in order, from any thread."""

    def __init__(self) -> None:
        self._told: queue.SimpleQueue[M] = queue.SimpleQueue()

    @override
    def tell(self, message: M, /) -> None:
        if type(message).__module__ in _WITH_VALUES:
            LOOKOUT.look("repr of a message", repr(message))
        self._told.put(message)

    def next(self) -> M:
        """Return the next message; fails when none comes."""
        try:
            return self._told.get(timeout=PATIENCE)
        except queue.Empty:
            raise AssertionError("nothing was told") from None

    def expect(self, *messages: M) -> None:
        """Fail unless exactly ``messages`` come next, in this order."""
        assert [self.next() for _ in messages] == list(messages)

    def expect_silence(self) -> None:
        """Fail if anything was told that nobody looked at. Put a fence or ``settle`` before it."""
        assert self.drain() == []

    def drain(self) -> list[M]:
        """Return what was told and not looked at."""
        messages = []
        while not self._told.empty():
            messages.append(self._told.get_nowait())
        return messages
