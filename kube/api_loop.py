"""Where all requests of a process are: one event loop, and threads for what blocks on the way to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar

from kernel import Lanes, LaneSize
from kernel.loop_thread import LoopThread

CREDENTIALS: Final = "credentials"
MOST_AT_ONCE: Final = 8
"""Readings of credentials, and clients that are made, beside those that hang. A plugin that hangs takes a
thread for its agent alone."""

R = TypeVar("R")


class ApiLoop:
    """The loop of the process that calls and watches run on. Who made it closes it."""

    def __init__(self) -> None:
        self.thread = LoopThread("api")
        self._lane = Lanes("api", {CREDENTIALS: LaneSize(MOST_AT_ONCE)})

    async def run_blocking(self, work: Callable[[], R], turn: Hashable | None = None) -> R:
        """Run ``work``, which may block, on a thread. Return or raise what it does.

        Of one ``turn`` one is run at a time. Who is cancelled meanwhile waits for it no more.
        """
        found: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        job = self._lane[CREDENTIALS].start(partial(_attempt, work), partial(_note, found), turn)
        try:
            return await found
        finally:
            job.abandon()

    def close(self, within: float) -> None:
        """End the loop and the threads. What is in progress is cancelled."""
        self.thread.close(within)
        self._lane.close()


def _attempt(work: Callable[[], R]) -> tuple[R | None, Exception | None]:
    """Return what ``work`` returns, or what it raises."""
    try:
        return work(), None
    except Exception as error:  # noqa: BLE001  # it is raised again in who waits
        return None, error


def _note(found: asyncio.Future[Any], outcome: object) -> None:
    """Tell what came of it, from a thread of the lane."""
    with suppress(RuntimeError):  # the loop has ended
        found.get_loop().call_soon_threadsafe(_settle, found, outcome)


def _settle(found: asyncio.Future[Any], outcome: object) -> None:
    if found.done():
        return
    match outcome:
        case (result, None):
            found.set_result(result)
        case (_, Exception() as error):
            found.set_exception(error)
        case _:
            found.set_exception(OSError("no thread can be had for it"))
