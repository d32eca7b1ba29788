"""What the watches of a keeper share, and those of all agents of a process, and what outlives a crash."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import TypeAlias
from urllib.parse import urlsplit

from kernel import Clock
from kube.api_loop import ApiLoop, SharedCredentials
from kube.clients import streaming_client
from kube.credentials.access import Access
from kube.streams.connections import ConnectionPool, MakeClient
from kube.streams.failures import WatchFailures
from kube.streams.parsing import UnfinishedAnswers
from kube.streams.rules import WatchRules
from messages.port import Port
from messages.watches import WatchFact, WatchTarget

SubscriberPorts: TypeAlias = tuple[Port[WatchFact], ...]


@dataclass(slots=True)
class WatchMemory:
    """Needs no lock: its two writers, the actor and the loop's thread, write different fields.

    What the loop's thread writes is read by that thread alone.
    """

    subscribers: dict[WatchTarget, SubscriberPorts] = field(default_factory=dict)
    """Written by the actor. The loop has a copy of its own, so that a new subscriber is told nothing before
    its list."""
    marks: dict[WatchTarget, int] = field(default_factory=dict)
    """Written by the actor: the highest mark of each wanted target, if it is not 0."""
    descriptors_lacked: int = 0
    """Written by the actor: how many descriptors the log asked for last."""
    reconnects: Counter[str] = field(default_factory=Counter)
    """Written by the loop's thread: how often watches were opened again, by reason."""
    requests: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Written by the loop's thread: requests by status code, host and method."""
    failures: WatchFailures = field(default_factory=WatchFailures)
    """Written by the loop's thread."""
    versions: dict[WatchTarget, str] = field(default_factory=dict)
    """Written by the loop's thread when a watch ends: the last version seen, so that the next life does not
    go back in time. Only for collections, which are read from the server's cache."""

    def want(self, target: WatchTarget, subscriber: Port[WatchFact], mark: int) -> None:
        """Remember that ``subscriber`` wants ``target``, and the highest mark."""
        self.subscribers[target] = with_one(self.subscribers.get(target, ()), subscriber)
        if mark > self.marks.get(target, 0):
            self.marks[target] = mark

    def forget(self, target: WatchTarget, subscriber: Port[WatchFact]) -> None:
        """Forget that ``subscriber`` wants ``target``. Without other subscribers, forget the target."""
        left = without_one(self.subscribers.pop(target, ()), subscriber)
        if left:
            self.subscribers[target] = left
        else:
            self.marks.pop(target, None)


def with_one(subscribers: SubscriberPorts, subscriber: Port[WatchFact]) -> SubscriberPorts:
    """Return ``subscribers`` with ``subscriber`` in it once."""
    return subscribers if subscriber in subscribers else (*subscribers, subscriber)


def without_one(subscribers: SubscriberPorts, subscriber: Port[WatchFact]) -> SubscriberPorts:
    """Return ``subscribers`` without ``subscriber``."""
    return tuple(each for each in subscribers if each != subscriber)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchContext:
    """Passed to every watch and to every list beside a watch."""

    credentials: SharedCredentials
    pool: ConnectionPool
    pending_requests: asyncio.Semaphore
    """Limits the requests that wait for their answer, of the whole process."""
    one_off_lists: asyncio.Semaphore
    """Limits the lists beside watches that run at the same time, of the whole process."""
    unfinished: UnfinishedAnswers
    """Limits what all watches of the process keep of lines and pages whose end has not come."""
    memory: WatchMemory
    rules: WatchRules
    chance: random.Random
    clock: Clock

    def count_request(self, access: Access, code: str) -> None:
        """Count a request by its status code, or by ``<error>`` when there was no answer."""
        self.memory.requests[code, urlsplit(access.server).netloc, "GET"] += 1
