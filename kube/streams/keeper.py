"""All watches of one life of an agent's watcher, the lists beside them, and the task that runs them.

Another thread drives the task, on the loop of the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from kernel import Clock
from kube.api_loop import SharedCredentials
from kube.streams.follower import Follower, WatchState
from kube.streams.listing import lost_answer, one_off_list
from kube.streams.shared import SharedStreams, WatchContext, WatchMemory, with_one, without_one
from messages.port import Port
from messages.watches import (
    DescribeWatches,
    ListTarget,
    TargetListed,
    WatchesDescribed,
    WatchFact,
    WatchTarget,
)

T = TypeVar("T")

ENDED: Final = "the loop of the watches ended"


class WatchKeeper:
    """Runs one follower for each target. Lives on the loop."""

    def __init__(
        self,
        credentials: SharedCredentials,
        memory: WatchMemory,
        streams: SharedStreams,
        clock: Clock,
    ) -> None:
        limits = streams.limits()
        self._context = WatchContext(
            credentials=credentials,
            pool=limits.pool,
            pending_requests=limits.pending_requests,
            one_off_lists=limits.one_off_lists,
            unfinished=limits.unfinished,
            memory=memory,
            rules=streams.rules,
            chance=streams.chance,
            clock=clock,
        )
        self._followers: dict[WatchTarget, Follower] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._one_off_lists: dict[asyncio.Task[TargetListed], ListTarget] = {}
        """Those of the tasks that somebody waits for an answer of."""
        self._is_over = False
        self.on_bug: Callable[[BaseException], None] = lambda _error: None
        """Called when a task ends with a bug. Set it before the first call."""

    def watch(self, target: WatchTarget, subscriber: Port[WatchFact], mark: int = 0) -> None:
        """Tell ``subscriber`` of ``target`` from now on, a list first. All other subscribers get it too.

        The list is no older than this call and has at least this ``mark``.
        """
        if self._is_over:
            return  # the next life reads it from the memory
        follower = self._followers.get(target)
        is_known = follower is not None
        follower = follower or self._start(target)
        subscribers = follower.subscribers
        subscribers.ports = with_one(subscribers.ports, subscriber)
        # The failure may be of an earlier life. It lasts until ``WatchRecovered``.
        if subscribers.failed is not None:
            subscriber.tell(subscribers.failed)
        if is_known:
            follower.relist(mark)
        else:
            follower.mark = mark

    def list_once(self, asked: ListTarget) -> None:
        """List a target once for the asker, whether or not the target is watched."""
        if self._is_over:
            asked.reply_to.tell(lost_answer(asked))
            return
        task = self._run(one_off_list(asked, self._context))
        self._one_off_lists[task] = asked
        task.add_done_callback(self._answer)

    def list_all_anew(self) -> None:
        """List every target anew, whatever it is doing: what was told of it may never have been."""
        for follower in self._followers.values():
            follower.list_anew()

    def unwatch(self, target: WatchTarget, subscriber: Port[WatchFact]) -> None:
        """Tell ``subscriber`` nothing more of ``target``. Without other subscribers its watch ends."""
        follower = self._followers.get(target)
        if follower is None:
            return
        subscribers = follower.subscribers
        subscribers.ports = without_one(subscribers.ports, subscriber)
        if not subscribers.ports:
            del self._followers[target]
            follower.stop()
            self._context.memory.failures.forget(target)

    def describe(self, asked: DescribeWatches) -> None:
        """Tell the state of all watches."""
        followers = self._followers.values()
        shown = followers if asked.in_detail else self._failing()
        asked.reply_to.tell(
            WatchesDescribed(
                watches=tuple(follower.described() for follower in shown),
                connections=len(self._context.pool),
                streams=sum(follower.state is WatchState.WATCHING for follower in followers),
                reconnects=dict(self._context.memory.reconnects),
                requests=dict(self._context.memory.requests),
            )
        )

    def _failing(self) -> list[Follower]:
        # From those that fail, which are few as a rule: to look at each of 5,000 takes 4 ms.
        targets = self._context.memory.failures.targets()
        return [self._followers[target] for target in targets if target in self._followers]

    def stop_all(self) -> None:
        """Stop every watch, and tell subscribers and those who wait for a list.

        Called first when it ends, however it ends. Closing the streams takes longer (``close``).
        """
        self._is_over = True
        for follower in self._followers.values():
            follower.subscribers.on_keeper_ended()
            follower.stop()
        self._followers.clear()
        while self._one_off_lists:
            task, asked = self._one_off_lists.popitem()
            # A task that has not started yet cannot answer by itself.
            task.cancel()
            asked.reply_to.tell(lost_answer(asked))

    async def close(self) -> None:
        """Wait until every stream has ended at the server, for ``close_within``.

        Connections without streams are closed by who shares them.
        """
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._context.rules.close_within)

    def _start(self, target: WatchTarget) -> Follower:
        follower = self._followers[target] = Follower(target, self._context)
        follower.task = self._run(follower.run())
        return follower

    def _run(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._note_end)
        return task

    def _answer(self, task: asyncio.Task[TargetListed]) -> None:
        asked = self._one_off_lists.pop(task, None)
        if asked is None:
            return
        if task.cancelled():  # before it began, since the loop ends
            asked.reply_to.tell(lost_answer(asked))
        elif task.exception() is None:
            asked.reply_to.tell(task.result())

    def _note_end(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.on_bug(error)


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
