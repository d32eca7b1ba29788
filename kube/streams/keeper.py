"""All watches of one life of the loop, and the lists beside them: who follows what, and how they end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

from actors.kernel import Clock
from actors.messages.port import Port
from actors.messages.watches import TargetListed, WatchesDescribed, WatchFact, WatchTarget
from kube.access import Credentials
from kube.streams.errand import run_errand
from kube.streams.follower import Follower, State
from kube.streams.identity import Identity
from kube.streams.lanes import Lanes, MakeClient
from kube.streams.memory import WatchMemory, with_one, without_one
from kube.streams.rules import WatchRules
from kube.streams.surroundings import Surroundings


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
        self._tasks: set[asyncio.Task[None]] = set()
        self._errands: set[asyncio.Task[None]] = set()
        """Of the tasks, those that nobody stops before the end."""
        self.on_bug: Callable[[BaseException], None] = lambda _error: None
        """Called when a task ends by a bug. Set before the first call."""

    def watch(self, target: WatchTarget, subscriber: Port[WatchFact], mark: int = 0) -> None:
        """Have ``subscriber`` told of ``target``: a list first, and everybody else with it.

        What that list says is no older than this call, and it has at least this ``mark``.
        """
        follower = self._followers.get(target)
        is_known = follower is not None
        follower = follower or self._start(target)
        follower.subscribers = with_one(follower.subscribers, subscriber)
        # Of an earlier life perhaps: it stands until ``WatchRecovered``.
        if follower.trouble is not None:
            subscriber.tell(follower.trouble)
        if is_known:
            follower.relist(mark)
        else:
            follower.mark = mark

    def list_once(self, target: WatchTarget, reply_to: Port[TargetListed], mark: int) -> None:
        """Have ``reply_to`` told one list of ``target``, whether or not it is watched."""
        self._errands.add(self._run(run_errand(target, mark, reply_to, self._shared)))

    def unwatch(self, target: WatchTarget, subscriber: Port[WatchFact]) -> None:
        """Have ``subscriber`` told nothing more of ``target``; the last one ends its stream."""
        follower = self._followers.get(target)
        if follower is None:
            return
        follower.subscribers = without_one(follower.subscribers, subscriber)
        if not follower.subscribers:
            del self._followers[target]
            follower.stop()
            self._shared.memory.troubles.forget(target)

    def describe(self, reply_to: Port[WatchesDescribed]) -> None:
        """Tell how all watches are."""
        followers = tuple(self._followers.values())
        reply_to.tell(
            WatchesDescribed(
                watches=tuple(follower.described() for follower in followers),
                connections=len(self._shared.lanes),
                streams=sum(follower.state is State.WATCHING for follower in followers),
                reconnects=dict(self._shared.memory.reconnects),
                requests=dict(self._shared.memory.requests),
            )
        )

    async def close(self) -> None:
        """End every stream at the server, then every connection, within the rules' time."""
        for follower in self._followers.values():
            follower.stop()
        self._followers.clear()
        for errand in self._errands:
            errand.cancel()
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

    def _run(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._note_end)
        return task

    def _note_end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._errands.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.on_bug(error)
