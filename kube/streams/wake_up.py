"""Interrupts what a task waits for without ending the task."""

from __future__ import annotations

import asyncio


class WakeUp:
    """Cancels the current wait of a task. The task catches the cancellation and calls ``received``."""

    __slots__ = ("_is_sent",)

    def __init__(self) -> None:
        self._is_sent = False

    def send(self, task: asyncio.Task[None]) -> None:
        """Interrupt what ``task`` waits for. Does nothing if a wake-up is on its way already."""
        if not self._is_sent:
            self._is_sent = True
            task.cancel()

    def withdraw(self) -> None:
        """Make a cancellation end the task again, also one that was sent as a wake-up."""
        self._is_sent = False

    def received(self) -> bool:
        """Return whether the current task was cancelled by a wake-up. If so, clear the cancellation."""
        if not self._is_sent:
            return False
        self._is_sent = False
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  # in a coroutine there is one
        while task.cancelling():  # once for each ``cancel``
            task.uncancel()
        return True
