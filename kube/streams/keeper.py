"""All watches of one life of the loop, and the lists beside them: who follows what, and how they end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from kernel import Clock
from kube.credentials.access import Credentials
from kube.streams.connections import Lanes, MakeClient
from kube.streams.context import Surroundings
from kube.streams.follower import Follower, State
from kube.streams.memory import WatchMemory, with_one, without_one
from kube.streams.one_off_list import lost, run_errand
from kube.streams.rules import WatchRules
from kube.streams.shared_credentials import Identity
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


class Keeper:
    """Has one follower for each target. Lives on the loop."""

    def __init__(
        self,
        credentials: Credentials,
        memory: WatchMemory,
        rules: WatchRules,
        make_client: MakeClient,
        chance: random.Random,
        clock: Clock,
    ) -> None:
        identity = Identity(credentials, rules)
        self._shared = Surroundings(
            identity=identity,
            lanes=Lanes(identity, rules, make_client, chance),
            openings=asyncio.Semaphore(rules.most_openings),
            errands=asyncio.Semaphore(rules.most_errands),
            memory=memory,
            rules=rules,
            chance=chance,
            clock=clock,
        )
        self._followers: dict[WatchTarget, Follower] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._errands: dict[asyncio.Task[TargetListed], ListTarget] = {}
        """Of the tasks, those that somebody waits for an answer of."""
        self._is_over = False
        self.on_bug: Callable[[BaseException], None] = lambda _error: None
        """Called when a task ends by a bug. Set before the first call."""

    def watch(self, target: WatchTarget, subscriber: Port[WatchFact], mark: int = 0) -> None:
        """Have ``subscriber`` told of ``target``: a list first, and everybody else with it.

        What that list says is no older than this call, and it has at least this ``mark``.
        """
        if self._is_over:
            return  # the next life hears of it
        follower = self._followers.get(target)
        is_known = follower is not None
        follower = follower or self._start(target)
        audience = follower.audience
        audience.subscribers = with_one(audience.subscribers, subscriber)
        # Of an earlier life perhaps: it stands until ``WatchRecovered``.
        if audience.trouble is not None:
            subscriber.tell(audience.trouble)
        if is_known:
            follower.relist(mark)
        else:
            follower.mark = mark

    def list_once(self, asked: ListTarget) -> None:
        """Have who asked be told one list, whether or not its target is watched."""
        if self._is_over:
            asked.reply_to.tell(lost(asked))
            return
        errand = self._run(run_errand(asked, self._shared))
        self._errands[errand] = asked
        errand.add_done_callback(self._answer)

    def unwatch(self, target: WatchTarget, subscriber: Port[WatchFact]) -> None:
        """Have ``subscriber`` told nothing more of ``target``; the last one ends its stream."""
        follower = self._followers.get(target)
        if follower is None:
            return
        audience = follower.audience
        audience.subscribers = without_one(audience.subscribers, subscriber)
        if not audience.subscribers:
            del self._followers[target]
            follower.stop()
            self._shared.memory.troubles.forget(target)

    def describe(self, asked: DescribeWatches) -> None:
        """Tell how all watches are."""
        followers = self._followers.values()
        asked.reply_to.tell(
            WatchesDescribed(
                watches=tuple(
                    follower.described()
                    for follower in followers
                    if asked.in_detail or follower.audience.trouble is not None
                ),
                connections=len(self._shared.lanes),
                streams=sum(follower.state is State.WATCHING for follower in followers),
                reconnects=dict(self._shared.memory.reconnects),
                requests=dict(self._shared.memory.requests),
            )
        )

    def resign(self) -> None:
        """Follow nothing any more, and tell everybody so: subscribers, and who waits for a list.

        First of all when the loop ends, however it ends; closing streams takes a while.
        """
        self._is_over = True
        for follower in self._followers.values():
            follower.audience.take_leave()
            follower.stop()
        self._followers.clear()
        while self._errands:
            errand, asked = self._errands.popitem()
            # One that was not begun yet will never run a line of its own.
            errand.cancel()
            asked.reply_to.tell(lost(asked))

    async def close(self) -> None:
        """End every stream at the server, then every connection, within the rules' time."""
        try:
            async with asyncio.timeout(self._shared.rules.close_within):
                # In this order: closing a client does not end its live streams.
                await asyncio.gather(*self._tasks, return_exceptions=True)
                await self._shared.lanes.close()
        except TimeoutError:
            pass  # a server that does not answer; the sockets end with the process, at the latest
        self._shared.identity.close()

    def _start(self, target: WatchTarget) -> Follower:
        follower = self._followers[target] = Follower(target, self._shared)
        follower.task = self._run(follower.run())
        return follower

    def _run(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._note_end)
        return task

    def _answer(self, errand: asyncio.Task[TargetListed]) -> None:
        asked = self._errands.pop(errand, None)
        if asked is not None and not errand.cancelled() and errand.exception() is None:
            asked.reply_to.tell(errand.result())

    def _note_end(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.on_bug(error)
