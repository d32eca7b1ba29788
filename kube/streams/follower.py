"""One watch, round after round: a list, then streams from the list's version on.

A follower keeps no objects, only the last version. When a stream is opened again from a version older than
what was told, an event may be told twice: receivers compare versions. ``listing`` knows how to get a list,
``subscribers`` what to tell of streams, ``next_round`` what to do after a round. This module carries it
out.
"""

from __future__ import annotations

import asyncio
from contextlib import closing, suppress
from enum import StrEnum
from typing import Final

from kube.errors import ApiError, error_of_status
from kube.streams.circuit_breaker import ConnectionLostError
from kube.streams.exchange import Exchange
from kube.streams.listing import whole_list
from kube.streams.next_round import EndedRound, NextRound, next_round, silence_limit, watch_timeout
from kube.streams.parsing import (
    BOOKMARK,
    ERROR,
    LineSplitter,
    StreamEvent,
    UnfinishedAnswer,
    event_of,
)
from kube.streams.queries import is_one_object, watch_query
from kube.streams.shared import WatchContext
from kube.streams.subscribers import Subscribers
from kube.streams.target_requests import TargetRequests
from messages.api import FailureKind
from messages.units import Seconds
from messages.watches import (
    ObjectOp,
    ObjectsAre,
    WatchDescribed,
    WatchEvent,
    WatchTarget,
)

ASKED: Final = "asked"
"""The reason of a round that a subscriber asked for, in metrics."""


class WakeUp:
    """Cancels the current wait of a task. The task catches the cancellation and calls ``received``."""

    __slots__ = ("_is_sent",)

    def __init__(self) -> None:
        self._is_sent = False

    def send(self, task: asyncio.Task[None]) -> None:
        """Interrupt what ``task`` waits for. Does nothing if a wake-up is on its way already."""
        if not self._is_sent:
            self._is_sent = True
            task.cancel()

    def withdraw(self) -> None:
        """Make a cancellation end the task again, also one that was sent as a wake-up."""
        self._is_sent = False

    def received(self) -> bool:
        """Return whether the current task was cancelled by a wake-up. If so, clear the cancellation."""
        if not self._is_sent:
            return False
        self._is_sent = False
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  # in a coroutine there is one
        while task.cancelling():  # once for each ``cancel``
            task.uncancel()
        return True


class WatchState(StrEnum):
    """What a watch is doing, for people."""

    LISTING = "listing"
    WATCHING = "watching"
    WAITING = "waiting"


class Follower:
    """Follows one target from ``run`` until that is cancelled. Lives on the loop."""

    __slots__ = (
        "_context",
        "_failures",
        "_heard",
        "_is_fresh",
        "_is_new",
        "_list_mark",
        "_lists_next",
        "_next_at",
        "_reconnects",
        "_requests",
        "_resting",
        "_since",
        "_version",
        "_wake_up",
        "_was_opened",
        "mark",
        "state",
        "subscribers",
        "target",
        "task",
    )

    def __init__(self, target: WatchTarget, context: WatchContext) -> None:
        self.target = target
        self.mark = 0
        """The highest mark that a subscriber gave."""
        self.state = WatchState.WAITING
        self.task: asyncio.Task[None] | None = None
        self._context = context
        self._requests = TargetRequests(target, context)
        self._requests.before_send = self._note_sent
        self.subscribers = Subscribers(target, self._requests, context)
        # The last version seen. The next list must not be older.
        self._version = context.memory.versions.get(target, "")
        self._lists_next = True
        # The mark when the first request of the current list was sent; None before that, and in a stream.
        self._list_mark: int | None = None
        self._failures = 0
        self._heard = False
        self._is_fresh = False
        # The watch was asked for and has not had a stream since.
        self._is_new = True
        self._wake_up = WakeUp()
        self._was_opened: float | None = None
        self._resting = True
        self._next_at: float | None = None
        self._since = context.clock.wall()
        self._reconnects = 0

    async def run(self) -> None:
        """Follow the target until cancelled."""
        try:
            while True:
                await self._go_round()
        except asyncio.CancelledError:
            # Not raised again: the task would keep the exception, whose frames hold the task.
            pass
        finally:
            self._requests.close()

    def relist(self, mark: int) -> None:
        """Make the next round a list, and start it at once unless the watch waits for its next attempt.

        A watch that waits after a 403 is tried at once too: the asker may know that it is allowed now. A
        list that is under way is left alone if it has the mark, or if it is not sent yet.
        """
        self.mark = max(self.mark, mark)
        if self._resting:
            self._lists_next = True
            if self.task is not None and self._waits_for_permission():
                self._failures, self._is_new = 0, True
                self._wake_up.send(self.task)
        elif self.task is not None and not self._lists_as_asked(mark):
            self._wake_up.send(self.task)

    def list_anew(self) -> None:
        """Make the next round a list, also if a list is under way: that may be from before.

        It starts at once unless the watch waits for its next attempt. It demands the version seen, which a
        server that was put back into its past does not have: then it is read from etcd.
        """
        if self._resting:
            self._lists_next = True
        elif self.task is not None:
            self._wake_up.send(self.task)

    def stop(self) -> None:
        """Stop following. The next life may begin at once, with the version that was seen last."""
        self._remember()
        self._wake_up.withdraw()
        self.subscribers.close()
        # Break reference cycles, which would wait for a full garbage collection.
        task, self.task = self.task, None
        self._requests.before_send = None
        if task is not None:
            task.cancel()

    def _lists_as_asked(self, mark: int) -> bool:
        return self._lists_next and (self._list_mark is None or 0 < mark <= self._list_mark)

    def _waits_for_permission(self) -> bool:
        failed = self.subscribers.failed
        is_forbidden = failed is not None and failed.failure.kind is FailureKind.FORBIDDEN
        return is_forbidden and self._next_at is not None

    def described(self) -> WatchDescribed:
        """Return the state of the watch."""
        failed = self.subscribers.failed
        left = None
        if self._next_at is not None:
            left = Seconds(max(0.0, self._next_at - asyncio.get_running_loop().time()))
        return WatchDescribed(
            target=self.target,
            state=self.state.value,
            resource_version=self._version,
            since=self._since,
            reconnects=self._reconnects,
            error=failed.failure.sentence if failed is not None else "",
            next_attempt_in=left,
        )

    # One round.

    async def _go_round(self) -> None:
        error: ApiError | None = None
        self._resting = False
        self._was_opened = None
        self._list_mark = None
        self._heard = False
        verb = "list" if self._lists_next else "watch"
        try:
            await (self._list() if self._lists_next else self._watch())
        except ApiError as failed:
            error = failed
        except asyncio.CancelledError:
            if not self._wake_up.received():
                raise
            self._lists_next = True
            self._count(ASKED)
            self._enter(WatchState.WAITING)
            return
        if verb == "list" and error is None:
            return
        upcoming = next_round(
            self._ended(error), self._failures, self._context.rules, self._context.chance
        )
        self._resting = True
        if self._was_opened is not None:
            self._is_fresh = False
        self._take(upcoming, verb, error)
        await self._rest(upcoming.delay)

    def _ended(self, error: ApiError | None) -> EndedRound:
        lasted = 0.0
        if self._was_opened is not None:
            lasted = asyncio.get_running_loop().time() - self._was_opened
        return EndedRound(
            version="" if self._lists_next else self._version,
            lasted=Seconds(lasted),
            heard=self._heard,
            is_fresh=self._is_fresh,
            is_new=self._is_new,
            failure=error.kind if error is not None else None,
            connection_lost=isinstance(error, ConnectionLostError),
            retry_after=error.retry_after if error is not None else None,
        )

    def _take(self, upcoming: NextRound, verb: str, error: ApiError | None) -> None:
        self._lists_next = not upcoming.version
        self._failures = upcoming.failures
        self._enter(WatchState.WAITING)
        if not isinstance(error, ConnectionLostError) or error.was_sent:
            self._count(upcoming.reason)
        if error is None:
            return
        if upcoming.is_failure:
            self.subscribers.on_attempt_failed(verb, error)
        else:
            self.subscribers.on_reason(verb, error)

    async def _rest(self, delay: Seconds) -> None:
        if delay > 0.0:
            self._next_at = asyncio.get_running_loop().time() + delay
            try:
                await asyncio.sleep(delay)
            except asyncio.CancelledError:
                if not self._wake_up.received():
                    raise
            finally:
                self._next_at = None

    # A list.

    async def _list(self) -> None:
        """Tell all objects of the target. Raises ``ApiError``."""
        self._enter(WatchState.LISTING)
        found = await whole_list(
            self._requests.fetch, self.target, self._version, self._context.rules
        )
        self._version = found.version
        self._lists_next, self._is_fresh = False, True
        listed = ObjectsAre(
            target=self.target,
            objects=found.objects,
            resource_version=found.version,
            mark=self._list_mark or 0,
        )
        self.subscribers.on_list(listed)

    def _note_sent(self) -> None:
        if self._lists_next and self._list_mark is None:
            self._list_mark = self.mark

    # A stream.

    async def _watch(self) -> None:
        """Tell events until the stream ends. Raises ``ApiError``."""
        rules = self._context.rules
        seconds = watch_timeout(rules, self._context.chance)
        longest = Seconds(seconds + rules.overtime + rules.answer_within)
        query = watch_query(self.target, self._version, seconds)
        exchange = await self._requests.send(query, longest)
        self._was_opened = asyncio.get_running_loop().time()
        self._is_new = False
        self._enter(WatchState.WATCHING)
        self.subscribers.on_stream_opened()
        try:
            await self._read(exchange, Seconds(seconds + rules.overtime))
        finally:
            self.subscribers.on_stream_ended()
            await exchange.close()

    async def _read(self, exchange: Exchange, longest: Seconds) -> None:
        """Tell events until the stream ends or has to be ended on this side. Raises ``ApiError``."""
        rules, now = self._context.rules, asyncio.get_running_loop().time()
        waiting, ends_at = UnfinishedAnswer(self._context.unfinished), now + longest
        lines = LineSplitter(rules.most_bytes, waiting.hold)
        silent_at = now + silence_limit(rules, self._context.chance)
        with closing(waiting), suppress(TimeoutError):  # then it counts as ended by the server
            async with asyncio.timeout_at(min(silent_at, ends_at)) as limit:
                # No local variable holds a chunk, a line or an event here: the next one may take
                # minutes, and meanwhile the variable would keep the last Secret and its network
                # buffer in memory.
                while self._is_read(lines, await exchange.read()):
                    if self._heard and limit.when() != ends_at:
                        limit.reschedule(ends_at)

    def _is_read(self, lines: LineSplitter, chunk: bytes | None) -> bool:
        """Tell the events in ``chunk``. Return whether more may come. Raises ``ApiError``."""
        if chunk is None:
            return False  # an unfinished line is dropped: the next stream brings it again
        for line in lines.split(chunk):
            self._hear(event_of(line))
        return True

    def _hear(self, event: StreamEvent) -> None:
        if event.type == ERROR:
            raise error_of_status(event.object)
        self._heard = True
        self._version = event.version
        if event.type != BOOKMARK:
            self.subscribers.tell(
                WatchEvent(target=self.target, op=ObjectOp(event.type), object=event.object)
            )

    def _remember(self) -> None:
        # The list of one object is read from etcd, whatever version was seen of it.
        if self._version and not is_one_object(self.target):
            self._context.memory.versions[self.target] = self._version

    def _enter(self, state: WatchState) -> None:
        if state is not self.state:
            self.state = state
            self._since = self._context.clock.wall()

    def _count(self, reason: str) -> None:
        self._reconnects += 1
        self._context.memory.reconnects[reason] += 1
