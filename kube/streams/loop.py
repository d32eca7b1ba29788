"""The asyncio loop of the watches, on a thread of its own, driven from another one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from kube.streams.keeper import WatchKeeper
from messages.units import Seconds

PATIENCE: Final = Seconds(3.0)
"""For closing, which is over within ``close_within`` unless something hangs."""
TURNS: Final = 3
"""Of the loop after everything is closed: pyreqwest's own threads hand over their last results."""


class WatchLoop:
    """A loop with a keeper on it, from construction until ``close``."""

    def __init__(
        self, make_keeper: Callable[[], WatchKeeper], ended: Callable[[BaseException], None]
    ) -> None:
        """``ended`` is called, on the loop's thread, if the loop ends before ``close``."""  # noqa: D401
        self._ended = ended
        self._closing = False
        self._bug: BaseException | None = None
        """What it ended by."""
        self._loop = asyncio.new_event_loop()
        self._keeper = make_keeper()
        self._keeper.on_bug = self._end
        self._thread = threading.Thread(target=self._run, name="watch-loop", daemon=True)
        self._thread.start()

    def call(self, action: Callable[[WatchKeeper], None]) -> bool:
        """Have ``action`` done on the loop; return whether that is still there to do it."""
        try:
            self._loop.call_soon_threadsafe(self._guarded, action)
        except RuntimeError:  # closed; ``ended`` says so
            return False
        return True

    def close(self) -> None:
        """End every watch, then the loop."""
        self._closing = True
        with suppress(RuntimeError):  # the loop ended by itself and is closed
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)

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
        except BaseException as bug:  # noqa: BLE001  # whatever it was, nothing is watched any more
            self._bug = self._bug or bug

    async def _finish(self) -> None:
        await self._keeper.close()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        for _ in range(TURNS):
            await asyncio.sleep(0)
