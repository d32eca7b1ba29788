"""All watches of one life of the loop: who follows what, and the way they end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from actors.kernel import Clock
from actors.messages.port import Port
from actors.messages.watches import WatchesDescribed, WatchFact, WatchTarget
from kube.access import Credentials
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
            memory=memory,
            rules=rules,
            chance=chance,
            clock=clock,
        )
        self._followers: dict[WatchTarget, Follower] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.on_bug: Callable[[BaseException], None] = lambda _error: None
        """Called when a follower ends by anything but its stopping. Set before the first ``watch``."""

    def watch(self, target: WatchTarget, subscriber: Port[WatchFact]) -> None:
        """Have ``subscriber`` told of ``target``: a list first, and everybody else with it."""
        follower = self._followers.get(target)
        is_known = follower is not None
        follower = follower or self._start(target)
        follower.subscribers = with_one(follower.subscribers, subscriber)
        # Of an earlier life perhaps: it stands until ``WatchRecovered``.
        if follower.trouble is not None:
            subscriber.tell(follower.trouble)
        if is_known:
            follower.relist()

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
        follower.task = asyncio.get_running_loop().create_task(follower.run())
        self._tasks.add(follower.task)
        follower.task.add_done_callback(self._note_end)
        return follower

    def _note_end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.on_bug(error)
