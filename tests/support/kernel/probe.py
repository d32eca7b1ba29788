"""A port that collects what actors under test tell it."""

from __future__ import annotations

import queue
from typing import Generic, TypeVar

from typing_extensions import override

from kernel import Port
from tests.support.canary import LOOKOUT
from tests.support.patience import PATIENCE

M = TypeVar("M")


_WITH_VALUES = frozenset(
    f"messages.{name}" for name in ("access", "api", "certificates", "objects", "tokens", "watches")
)
"""Modules with messages that carry values of Secrets, or keys. Their ``repr`` must not show them."""


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
        """Return the next message. Fails when none comes."""
        try:
            return self._told.get(timeout=PATIENCE)
        except queue.Empty:
            raise AssertionError("nothing was told") from None

    def expect(self, *messages: M) -> None:
        """Fail unless exactly ``messages`` come next, in this order."""
        assert [self.next() for _ in messages] == list(messages)

    def expect_silence(self) -> None:
        """Fail if there are messages that the test has not taken. Call ``fence`` or ``settle`` before."""
        told = self.drain()
        assert told == [], told

    def drain(self) -> list[M]:
        """Return all messages that the test has not taken."""
        messages = []
        while not self._told.empty():
            messages.append(self._told.get_nowait())
        return messages
