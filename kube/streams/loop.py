"""The asyncio loop of the watches, on its own thread, driven from another one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from kube.streams.keeper import WatchKeeper
from messages.units import Seconds

CLOSE_TIMEOUT: Final = Seconds(3.0)
"""How long to wait for the thread. It ends within ``close_within`` unless something hangs."""
TURNS: Final = 3
"""Steps of the loop after everything is closed, so that pyreqwest's threads deliver their last results."""


class WatchLoop:
    """A loop with a keeper on it. Runs from construction until ``close``."""

    def __init__(
        self, make_keeper: Callable[[], WatchKeeper], ended: Callable[[BaseException], None]
    ) -> None:
        """``ended`` is called, on the loop's thread, if the loop ends before ``close``."""  # noqa: D401
        self._ended = ended
        self._closing = False
        self._bug: BaseException | None = None
        """What the loop ended with."""
        self._loop = asyncio.new_event_loop()
        self._keeper = make_keeper()
        self._keeper.on_bug = self._end
        self._thread = threading.Thread(target=self._run, name="watch-loop", daemon=True)
        self._thread.start()

    def call(self, action: Callable[[WatchKeeper], None]) -> bool:
        """Run ``action`` on the loop. Return False if the loop has ended and cannot run it."""
        try:
            self._loop.call_soon_threadsafe(self._guarded, action)
        except RuntimeError:  # the loop is closed; ``ended`` was called
            return False
        return True

    def close(self) -> None:
        """End every watch, then the loop. Blocks until its thread ends, for at most 3 s."""
        self._closing = True
        with suppress(RuntimeError):  # the loop has ended by itself
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_TIMEOUT)

    def _guarded(self, action: Callable[[WatchKeeper], None]) -> None:
        try:
            action(self._keeper)
        except Exception as bug:  # noqa: BLE001  # ends the loop, and with it this life of the actor
            self._end(bug)

    def _end(self, bug: BaseException) -> None:
        self._bug = self._bug or bug
        self._loop.stop()

    def _run(self) -> None:
        self._attempt(self._loop.run_forever)
        self._attempt(self._keeper.stop_all)
        self._attempt(lambda: self._loop.run_until_complete(self._finish()))
        self._loop.close()
        if not self._closing:
            self._ended(self._bug or RuntimeError("the loop of the watches ended"))

    def _attempt(self, part: Callable[[], None]) -> None:
        try:
            part()
        except BaseException as bug:  # noqa: BLE001  # whatever it was, the watches have ended
            self._bug = self._bug or bug

    async def _finish(self) -> None:
        await self._keeper.close()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        for _ in range(TURNS):
            await asyncio.sleep(0)
