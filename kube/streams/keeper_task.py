"""A keeper of watches as a task on the loop of the process, driven from another thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from kube.streams.keeper import WatchKeeper
from kube.streams.shared import SharedStreams

ENDED: Final = "the loop of the watches ended"


class KeeperTask:
    """A keeper that runs from construction until ``close``, or until there is a bug."""

    def __init__(
        self,
        streams: SharedStreams,
        make_keeper: Callable[[], WatchKeeper],
        ended: Callable[[BaseException], None],
    ) -> None:
        """``ended`` is called, on the loop's thread, if the keeper ends before ``close``."""  # noqa: D401
        self._streams = streams
        self._make_keeper = make_keeper
        self._ended = ended
        self._is_closing = False
        self._bug: BaseException | None = None
        """What the keeper ended with."""
        self._keeper: WatchKeeper | None = None
        self._over: asyncio.Future[None] | None = None
        # Of this loop alone. If it ends by itself, so does the keeper.
        self._loop = streams.loop.thread.loop
        if not self._call(self._begin):
            ended(RuntimeError(ENDED))

    def call(self, action: Callable[[WatchKeeper], None]) -> bool:
        """Run ``action`` on the loop. Return False if the loop has ended and cannot run it."""
        return self._call(self._guarded, action)

    def close(self) -> None:
        """Have every watch end. Does not wait for that."""
        self._is_closing = True
        self._call(self._end, None)

    def _call(self, action: Callable[..., None], *given: object) -> bool:
        try:
            self._loop.call_soon_threadsafe(action, *given)
        except RuntimeError:  # the loop is closed; ``ended`` was called
            return False
        return True

    # --- on the loop -----------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._over = self._loop.create_future()
        keeper = self._keeper = self._make_keeper()
        keeper.on_bug = self._end
        task = self._loop.create_task(self._run(keeper, self._over))
        self._streams.add_keeper(task)
        task.add_done_callback(self._note_end)

    @staticmethod
    async def _run(keeper: WatchKeeper, over: asyncio.Future[None]) -> None:
        await over
        await keeper.close()

    def _guarded(self, action: Callable[[WatchKeeper], None]) -> None:
        assert self._keeper is not None  # noqa: S101  # since ``_begin``
        try:
            action(self._keeper)
        except BaseException as bug:  # noqa: BLE001  # it ends this keeper, and no other
            self._end(bug)

    def _end(self, bug: BaseException | None) -> None:
        """Stop every watch at once, and begin to close what they have open."""
        self._bug = self._bug or bug
        if self._over is not None and not self._over.done():
            self._over.set_result(None)
            self._stop_all()

    def _stop_all(self) -> None:
        assert self._keeper is not None  # noqa: S101  # since ``_begin``
        try:
            self._keeper.stop_all()
        except Exception as bug:  # noqa: BLE001  # whatever it was, the watches have ended
            self._bug = self._bug or bug

    def _note_end(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():  # the loop has ended by itself
            self._stop_all()
        elif (bug := task.exception()) is not None:
            self._bug = self._bug or bug
        if not self._is_closing:
            self._ended(self._bug or RuntimeError(ENDED))
