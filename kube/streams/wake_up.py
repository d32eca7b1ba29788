"""A cancelling that ends what a task waits for, and not the task."""

from __future__ import annotations

import asyncio


class WakeUp:
    """Makes a task go on: it catches the cancelling and asks whether it was ``taken`` as a nudge."""

    __slots__ = ("_is_sent",)

    def __init__(self) -> None:
        self._is_sent = False

    def send(self, task: asyncio.Task[None]) -> None:
        """End what ``task`` waits for. Once is enough until it is taken."""
        if not self._is_sent:
            self._is_sent = True
            task.cancel()

    def withdraw(self) -> None:
        """Let a cancelling be one, also one that is under way."""
        self._is_sent = False

    def received(self) -> bool:
        """Return whether the cancelling of the present task was a nudge; if it was, it is over."""
        if not self._is_sent:
            return False
        self._is_sent = False
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  # in a coroutine there is one
        while task.cancelling():  # once for each time that it was asked
            task.uncancel()
        return True
