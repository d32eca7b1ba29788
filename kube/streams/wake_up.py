"""A cancelling that ends what a task waits for, and not the task."""

from __future__ import annotations

import asyncio


class Nudge:
    """Makes a task go on: it catches the cancelling and asks whether it was ``taken`` as a nudge."""

    __slots__ = ("_is_given",)

    def __init__(self) -> None:
        self._is_given = False

    def give(self, task: asyncio.Task[None]) -> None:
        """End what ``task`` waits for. Once is enough until it is taken."""
        if not self._is_given:
            self._is_given = True
            task.cancel()

    def withdraw(self) -> None:
        """Let a cancelling be one, also one that is under way."""
        self._is_given = False

    def taken(self) -> bool:
        """Return whether the cancelling of the present task was a nudge; if it was, it is over."""
        if not self._is_given:
            return False
        self._is_given = False
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  # in a coroutine there is one
        while task.cancelling():  # once for each time that it was asked
            task.uncancel()
        return True
