"""Calls that the end of the process waits for, since they leave something behind when they are cut off."""

from __future__ import annotations

from collections.abc import Callable


class LastCalls:
    """Knows how many of these calls are out. They begin and end on any thread."""

    def __init__(self) -> None:
        self._out: set[object] = set()
        self.when_none: Callable[[], None] = lambda: None
        """Called when the last of them has ended. Callable from any thread."""

    def __len__(self) -> int:
        """How many are out."""
        return len(self._out)

    def begin(self) -> Callable[[], None]:
        """Note that one is sent. Return what is to be called when it has ended."""
        call = object()
        self._out.add(call)

        def end() -> None:
            self._out.discard(call)
            if not self._out:
                self.when_none()

        return end
