"""One watch, round after round: list, then watch from the list's version on, as long as it goes.

It keeps nothing of the objects, only the last version: so an event may be told twice when a stream
is opened again from a version that is older than what was told, and who is told compares versions.
How a list is got is known in ``listing``, what subscribers are told of streams in ``subscribers``.
What to do after a round is decided in ``next_round``; this carries it out.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from enum import StrEnum
from typing import Final

from kube.errors import ApiError, error_of_status
from kube.streams.circuit_breaker import LostError
from kube.streams.context import Surroundings
from kube.streams.exchange import Exchange
from kube.streams.listing import whole_list
from kube.streams.next_round import Round, Step, next_step, silence_limit, watch_timeout
from kube.streams.parsing import BOOKMARK, ERROR, Event, Lines, event_of
from kube.streams.queries import is_one_object, watch_query
from kube.streams.subscribers import Audience
from kube.streams.target_requests import Sending
from kube.streams.wake_up import Nudge
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
"""The reason of a round that a subscriber asked for."""


class State(StrEnum):
    """How a watch is, for people."""

    LISTING = "listing"
    WATCHING = "watching"
    WAITING = "waiting"


class Follower:
    """Follows one target from its ``run`` until that is cancelled. Lives on the loop."""

    __slots__ = (
        "_failures",
        "_heard",
        "_is_fresh",
        "_is_new",
        "_list_mark",
        "_lists_next",
        "_next_at",
        "_nudge",
        "_reconnects",
        "_resting",
        "_sending",
        "_shared",
        "_since",
        "_version",
        "_was_opened",
        "audience",
        "mark",
        "state",
        "target",
        "task",
    )

    def __init__(self, target: WatchTarget, shared: Surroundings) -> None:
        self.target = target
        self.mark = 0
        """The highest that a subscriber gave."""
        self.state = State.WAITING
        self.task: asyncio.Task[None] | None = None
        self._shared = shared
        self._sending = Sending(target, shared)
        self._sending.before_each = self._note_sent
        self.audience = Audience(target, self._sending, shared)
        # The last one seen. While a list comes next it is what that must not be older than.
        self._version = shared.memory.versions.get(target, "")
        self._lists_next = True
        # As it was when the first request of the present list was sent; None before, and in a stream.
        self._list_mark: int | None = None
        self._failures = 0
        self._heard = False
        self._is_fresh = False
        # Somebody asked for it, and it has not been followed since.
        self._is_new = True
        self._nudge = Nudge()
        self._was_opened: float | None = None
        self._resting = True
        self._next_at: float | None = None
        self._since = shared.clock.wall()
        self._reconnects = 0

    async def run(self) -> None:
        """Follow the target until cancelled."""
        try:
            while True:
                await self._go_round()
        except asyncio.CancelledError:
            # Not passed on: the task would keep it, with frames that hold the task.
            pass
        finally:
            self._sending.close()
            self._remember()

    def relist(self, mark: int) -> None:
        """Have the next round be a list, and at once, unless the watch waits for its next attempt.

        One that waits after a 403 does not wait any longer: who asks may know that it is over. A list
        that is under way is left alone if it has the mark, or is not sent yet.
        """
        self.mark = max(self.mark, mark)
        if self._resting:
            self._lists_next = True
            if self.task is not None and self._waits_for_permission():
                self._failures, self._is_new = 0, True
                self._nudge.give(self.task)
        elif self.task is not None and not self._lists_as_asked(mark):
            self._nudge.give(self.task)

    def stop(self) -> None:
        """Follow no longer."""
        self._nudge.withdraw()
        self.audience.close()
        # They let go of each other, and what asked to be called: circles wait for a full collection.
        task, self.task = self.task, None
        self._sending.before_each = None
        if task is not None:
            task.cancel()

    def _lists_as_asked(self, mark: int) -> bool:
        return self._lists_next and (self._list_mark is None or 0 < mark <= self._list_mark)

    def _waits_for_permission(self) -> bool:
        trouble = self.audience.trouble
        is_forbidden = trouble is not None and trouble.failure.kind is FailureKind.FORBIDDEN
        return is_forbidden and self._next_at is not None

    def described(self) -> WatchDescribed:
        """Return how the watch is."""
        trouble = self.audience.trouble
        left = None
        if self._next_at is not None:
            left = Seconds(max(0.0, self._next_at - asyncio.get_running_loop().time()))
        return WatchDescribed(
            target=self.target,
            state=self.state.value,
            resource_version=self._version,
            since=self._since,
            reconnects=self._reconnects,
            error=trouble.failure.sentence if trouble is not None else "",
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
            if not self._nudge.taken():
                raise
            self._lists_next = True
            self._count(ASKED)
            self._enter(State.WAITING)
            return
        if verb == "list" and error is None:
            return
        step = next_step(
            self._ended(error), self._failures, self._shared.rules, self._shared.chance
        )
        self._resting = True
        if self._was_opened is not None:
            self._is_fresh = False
        self._take(step, verb, error)
        await self._rest(step.delay)

    def _ended(self, error: ApiError | None) -> Round:
        lasted = 0.0
        if self._was_opened is not None:
            lasted = asyncio.get_running_loop().time() - self._was_opened
        return Round(
            version="" if self._lists_next else self._version,
            lasted=Seconds(lasted),
            heard=self._heard,
            is_fresh=self._is_fresh,
            is_new=self._is_new,
            failure=error.kind if error is not None else None,
            broken=isinstance(error, LostError),
            retry_after=error.retry_after if error is not None else None,
        )

    def _take(self, step: Step, verb: str, error: ApiError | None) -> None:
        self._lists_next = not step.version
        self._failures = step.failures
        self._enter(State.WAITING)
        if not isinstance(error, LostError) or error.was_sent:
            self._count(step.reason)
        if error is None:
            return
        if step.is_trouble:
            self.audience.take_failure(verb, error)
        else:
            self.audience.take_reason(verb, error)

    async def _rest(self, delay: Seconds) -> None:
        if delay > 0.0:
            self._next_at = asyncio.get_running_loop().time() + delay
            try:
                await asyncio.sleep(delay)
            except asyncio.CancelledError:
                if not self._nudge.taken():
                    raise
            finally:
                self._next_at = None

    # A list.

    async def _list(self) -> None:
        """Tell all objects of the target. Raises ``ApiError``."""
        self._enter(State.LISTING)
        found = await whole_list(
            self._sending.fetch, self.target, self._version, self._shared.rules
        )
        self._version = found.version
        self._lists_next, self._is_fresh = False, True
        listed = ObjectsAre(
            target=self.target,
            objects=found.objects,
            resource_version=found.version,
            mark=self._list_mark or 0,
        )
        self.audience.take_list(listed)

    def _note_sent(self) -> None:
        if self._lists_next and self._list_mark is None:
            self._list_mark = self.mark

    # A stream.

    async def _watch(self) -> None:
        """Tell events until the stream ends. Raises ``ApiError``."""
        rules = self._shared.rules
        seconds = watch_timeout(rules, self._shared.chance)
        longest = Seconds(seconds + rules.overtime + rules.answer_within)
        query = watch_query(self.target, self._version, seconds)
        exchange = await self._sending.send(query, longest)
        self._was_opened = asyncio.get_running_loop().time()
        self._is_new = False
        self._enter(State.WATCHING)
        self.audience.take_opening()
        try:
            await self._read(exchange, Seconds(seconds + rules.overtime))
        finally:
            self.audience.take_end()
            await exchange.close()

    async def _read(self, exchange: Exchange, longest: Seconds) -> None:
        """Tell what comes until the stream ends, or has to be ended here. Raises ``ApiError``."""
        rules, now = self._shared.rules, asyncio.get_running_loop().time()
        lines, ends_at = Lines(rules.most_bytes), now + longest
        silent_at = now + silence_limit(rules, self._shared.chance)
        with suppress(TimeoutError):  # as if the server had ended it
            async with asyncio.timeout_at(min(silent_at, ends_at)) as limit:
                # No name here for a chunk, a line or an event: while the next one is awaited, which
                # may be for minutes, it would keep the last one's Secret, and its buffer, in memory.
                while self._is_read(lines, await exchange.read()):
                    if self._heard and limit.when() != ends_at:
                        limit.reschedule(ends_at)

    def _is_read(self, lines: Lines, chunk: bytes | None) -> bool:
        """Tell what a chunk says, and return whether another may come. Raises ``ApiError``."""
        if chunk is None:
            return False  # what is left of a line is dropped: it comes again
        for line in lines.split(chunk):
            self._hear(event_of(line))
        return True

    def _hear(self, event: Event) -> None:
        if event.type == ERROR:
            raise error_of_status(event.object)
        self._heard = True
        self._version = event.version
        if event.type != BOOKMARK:
            self.audience.tell(
                WatchEvent(target=self.target, op=ObjectOp(event.type), object=event.object)
            )

    def _remember(self) -> None:
        # One object is read from etcd, whatever was seen of it.
        if self._version and not is_one_object(self.target):
            self._shared.memory.versions[self.target] = self._version

    def _enter(self, state: State) -> None:
        if state is not self.state:
            self.state = state
            self._since = self._shared.clock.wall()

    def _count(self, reason: str) -> None:
        self._reconnects += 1
        self._shared.memory.reconnects[reason] += 1
