"""What the watches of all agents of a process share: connections, and limits."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass

from kube.api_loop import ApiLoop
from kube.clients import streaming_client
from kube.streams.connections import ConnectionPool, MakeClient
from kube.streams.parsing import UnfinishedAnswers
from kube.streams.rules import WatchRules


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """What is of one loop: no other can use it."""

    loop: asyncio.AbstractEventLoop
    pool: ConnectionPool
    pending_requests: asyncio.Semaphore
    """Limits the requests that wait for their answer."""
    one_off_lists: asyncio.Semaphore
    """Limits the lists beside watches that run at the same time."""
    unfinished: UnfinishedAnswers
    """Limits what is kept of lines and pages whose end has not come."""


class SharedStreams:
    """The connections of all watches of a process, and their limits."""

    def __init__(
        self,
        loop: ApiLoop,
        rules: WatchRules,
        make_client: MakeClient = streaming_client,
        chance: random.Random | None = None,
    ) -> None:
        self.loop = loop
        self.rules = rules
        self.chance = chance or random.Random()  # noqa: S311  # spreads load, guards nothing
        self._make_client = make_client
        self._limits: StreamLimits | None = None
        self._keepers: set[asyncio.Task[None]] = set()

    def limits(self) -> StreamLimits:
        """Return those of the running loop."""
        running = asyncio.get_running_loop()
        if self._limits is None or self._limits.loop is not running:
            rules = self.rules
            self._limits = StreamLimits(
                loop=running,
                pool=ConnectionPool(self.loop, rules, self._make_client, self.chance),
                pending_requests=asyncio.Semaphore(rules.most_pending_requests),
                one_off_lists=asyncio.Semaphore(rules.most_one_off_lists),
                unfinished=UnfinishedAnswers(rules.most_unfinished_bytes),
            )
        return self._limits

    def add_keeper(self, task: asyncio.Task[None]) -> None:
        """Have ``close`` wait for the end of a keeper's streams."""
        self._keepers.add(task)
        task.add_done_callback(self._keepers.discard)

    async def close(self) -> None:
        """Close the connections once all streams have ended: no keeper goes on. On the loop."""
        try:
            async with asyncio.timeout(self.rules.close_within):
                await asyncio.gather(*self._keepers, return_exceptions=True)
                # In this order: closing a client does not end its open streams.
                await self.limits().pool.close()
        except TimeoutError:
            pass  # the server does not answer; the sockets end with the process at the latest
