"""ObjectFetcher: asks the API server for one Secret or ConfigMap when somebody reads or follows it.

It is the holder of an object under the strategies Cache and Get. ``stores.objects.cached`` decides
what counts as fresh and what a read is answered, ``fetcher_memory`` beside it when to fetch although nobody
reads. The actor fetches, answers, and sets the timers. It knows nothing of pods, and fetches nothing that
nobody reads or follows.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias, assert_never

from typing_extensions import override

from actors.pending_calls import PendingCalls
from kernel import Backoff, Key, Level, PooledActor, Port, Timer
from messages.api import ApiAnswered, CallApi
from messages.holders import (
    HolderBegan,
    HolderDone,
    HolderFact,
    HolderMessage,
    Mark,
    ReadObject,
    ReferencesAre,
    StopIfIdle,
    UnprovenUsed,
)
from messages.objects import ChangeMissed, HeldObject, ObjectId, ObjectState, ReadVerdict
from messages.units import Seconds
from stores.objects.cached import (
    CachedObject,
    FailedFetch,
    FetchResult,
    ObjectFetch,
    availability,
    found,
    is_passing,
    request_for,
)
from stores.objects.changes import change_after
from stores.objects.fetcher_memory import FetcherMemory
from stores.objects.last_known import Moment
from stores.objects.paths import can_exist, holder_path
from stores.objects.waiting_reads import WaitingRead

__all__ = [
    "FetchMode",
    "FetcherMemory",
    "FetcherPorts",
    "ObjectFetcher",
    "ObjectFetcherMessage",
    "fetcher_key",
]

PASSING_BACKOFF: Final = Backoff(initial=Seconds(0.05), cap=Seconds(2.0), jitter=Seconds(0.0))
"""Between requests whose answers mean nothing yet, while a read waits. Watches are retried as fast after a
403."""
_UNREFERENCED: Final = FailedFetch(ReadVerdict.NOT_REGISTERED, "no pod references it any more")


class FetchMode(Enum):
    """How much a fetcher remembers."""

    CACHE = ObjectState.CACHED
    """A value answers reads until it is too old. After that it is the last known value."""
    GET = ObjectState.DIRECT
    """It remembers nothing: each read is answered by a request that was sent after the read came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmDue:
    """Timer: a read has waited as long as it may, or it is time to fetch for followers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchDue:
    """Timer: repeat a request whose answer meant nothing."""


ObjectFetcherMessage: TypeAlias = HolderMessage | ApiAnswered | AlarmDue | FetchDue


def fetcher_key(wanted: ObjectId) -> Key[ObjectFetcherMessage]:
    """Return the key of the fetcher of an object."""
    return Key[ObjectFetcherMessage](holder_path(wanted), coalesce=_name_of_newest)


def _name_of_newest(message: ObjectFetcherMessage) -> Hashable | None:
    return ReferencesAre if isinstance(message, ReferencesAre) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class FetcherPorts:
    """The ports of a fetcher."""

    calls: Port[CallApi]
    manager: Port[HolderFact | ChangeMissed]
    objects: Level[ObjectId, HeldObject]
    """Its manager's. The fetcher sets the key of its object."""


class ObjectFetcher(PooledActor[ObjectFetcherMessage]):
    """Answers the reads of one object by fetching it.

    Owns: what is known of the object, and the reads that wait.
    Hears: ``ReferencesAre``, ``ReadObject``, ``UnprovenUsed``; ``ApiAnswered``; its own timers.
    Tells: followers what the object is, by the level of its manager; the sender of calls ``CallApi``; its
    manager ``ChangeMissed`` for a pod that has begun with what changed meanwhile; who reads ``ObjectRead``;
    its manager ``HolderIs`` after each fetch, and ``HolderDone`` when nobody references the object.
    Fails when: it has a bug. The reads that wait are answered by the next life, or when it is stopped.

    There is one fetch at a time. A read is answered by a fetch that began after the read came or, in mode
    CACHE, by a value that is fresh enough for it. So reads that come together share a fetch; a kubelet
    sends one request for each, and learns nothing newer. A read that has waited as long as it may gets the
    last known value; the answer to the fetch is then kept for others. In mode CACHE changes are told when a
    fetch finds them. A followed object is fetched once per time to live even if nobody reads it. As for a
    read, whatever the API server's cache cannot prove is asked of etcd.
    """

    def __init__(
        self, wanted: ObjectId, mode: FetchMode, ports: FetcherPorts, memory: FetcherMemory
    ) -> None:
        self._object = wanted
        self._mode = mode
        self._ports = ports
        self._memory = memory
        self._calls = PendingCalls[ObjectFetch](ports.calls, self.after)
        self._alarm: Timer | None = None
        self._alarm_at = Seconds(0.0)
        self._retry: Timer | None = None
        self._passed = 0
        """How many answers in a row meant nothing."""

    @override
    def started(self) -> None:
        if self._memory.has_lived:
            self._ports.manager.tell(HolderBegan(object=self._object))
        self._memory.has_lived = True
        self._memory.ask_again()
        if self._memory.references == 0:
            self._let_go()
        elif self._memory.references:
            self._report()
        self._go_on()

    @override
    def receive(self, message: ObjectFetcherMessage, /) -> None:
        match message:
            case ReferencesAre():
                self._note_references(message)
            case ReadObject():
                self._take_read(message)
            case UnprovenUsed():
                self._note_use(message)
            case StopIfIdle():
                pass  # asked of those that say that they are idle, and a fetcher never does
            case ApiAnswered():
                self._take_answer(message)
            case AlarmDue():
                self._alarm = None
                self._answer_overdue()
            case FetchDue():
                self._retry = None
            case _:
                assert_never(message)
        self._go_on()

    @override
    def stopping(self) -> None:
        cached, why = CachedObject(), _UNREFERENCED
        if self._memory.references:
            cached = self._memory.cached
            why = FailedFetch(ReadVerdict.NOT_SYNCED, cached.error or "it is being stopped")
        self._answer(self._memory.reads.take(), cached, why)

    # --- what it hears ---------------------------------------------------------------------------------

    def _note_references(self, told: ReferencesAre) -> None:
        self._memory.references, self._memory.newest_told = told.references, told.newest
        if self._mode is FetchMode.CACHE:
            self._memory.note_followers(told, self.clock.monotonic())
        self._memory.note_wanted(told)
        if self._mode is FetchMode.GET and not told.wanted:
            self._ports.objects.remove(self._object)
        if told.references:
            self._note_mark(told.newest)
            self._report()
        else:
            self._let_go()

    def _take_read(self, read: ReadObject) -> None:
        self._memory.reads.add(read, self.clock.monotonic())
        self._note_mark(read.mark)

    def _note_mark(self, mark: Mark) -> None:
        if self._memory.note_mark(mark, self.clock.monotonic()):
            self._stop_retrying()

    def _note_use(self, used: UnprovenUsed) -> None:
        self._memory.usage.note_answer(used.mark, used.taken.verdict)
        missed = change_after(used.taken, self._memory.cached.known.value)
        if missed is not None:
            self._ports.manager.tell(missed)

    def _take_answer(self, answer: ApiAnswered) -> None:
        fetch, outcome = self._calls.take(answer), answer.outcome
        if fetch is None:
            return
        since_reference = Seconds(self.clock.monotonic() - self._memory.newest_since)
        result = found(outcome, self._object)
        if isinstance(result, FailedFetch) and is_passing(outcome, since_reference):
            self._memory.cached.trouble = result.reason
            self._report()
            self._set(self._memory.cached.held(result))
            self._memory.ask_again()
            self._passed += 1
            self._retry = self.after(PASSING_BACKOFF.delay(self._passed), FetchDue())
        else:
            self._passed = 0
            self._conclude(fetch, result)

    # --- what it does ----------------------------------------------------------------------------------

    def _go_on(self) -> None:
        """Answer the reads that can be answered; fetch for the others, and for followers."""
        memory, now = self._memory, self.clock.monotonic()
        self._answer(memory.take_fresh(now), memory.cached)
        if memory.is_wanted and memory.is_fresh(now):
            held, memory.looked = memory.cached.held(None), memory.wanted
            self._set(held)
            memory.note_use(held, memory.wanted_for)
        if not memory.is_read and not memory.is_due_unread(now):
            self._stop_retrying()
        elif not self._calls and self._retry is None:
            self._begin()
        self._set_alarm()

    def _begin(self) -> None:
        memory = self._memory
        from_etcd = memory.cached.needs_etcd(memory.begin_fetch())
        fetch = ObjectFetch(self._now(), memory.newest, from_etcd, memory.wanted)
        if not can_exist(self._object):
            self._conclude(fetch, None)
            return
        self._calls.send(fetch, request_for(self._object, from_etcd=from_etcd), self.me)

    def _conclude(self, fetch: ObjectFetch, result: FetchResult) -> None:
        """Note the result of a fetch, and answer the reads that waited for it."""
        memory = self._memory
        if not memory.cached.learn(fetch, result):
            memory.ask_again()
            return
        memory.asked_at = fetch.begun.at
        cached, failed = memory.cached, result if isinstance(result, FailedFetch) else None
        memory.availability = availability(cached.known, result)
        if self._mode is FetchMode.GET:
            memory.cached = CachedObject(trouble=cached.error)
        held, has_waited = cached.held(failed), fetch.wanted > memory.looked
        memory.looked = max(memory.looked, fetch.wanted)
        self._set(held)  # before the change is told: whoever hears of it then knows the new value
        self._report()
        if failed is None:
            # A pod that is told of changes need not read: it counts as having started with this value.
            memory.usage.note(fetch.mark)
        memory.note_use(held, fetch.mark if has_waited else None)
        self._answer(memory.take_asked_for(), cached, failed)

    def _set(self, held: HeldObject) -> None:
        """Tell followers what is known, unless the object is let go, or nobody follows what is not kept."""
        if self._memory.references and (self._memory.wanted or self._mode is FetchMode.CACHE):
            self._ports.objects.set(self._object, held, proven=self._memory.looked)

    def _stop_retrying(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
        self._retry, self._passed = None, 0

    def _let_go(self) -> None:
        """Forget the object, and tell the manager once: it may be needed again before this actor ends."""
        memory = self._memory
        self._calls.forget()
        memory.forget()
        self._answer(memory.reads.take(), memory.cached, _UNREFERENCED)
        self._ports.manager.tell(HolderDone(object=self._object, newest=memory.newest_told))
        memory.references = None

    # --- deadlines -------------------------------------------------------------------------------------

    def _set_alarm(self) -> None:
        """Set one timer for all deadlines. If it fires too early, it is set again."""
        now = self.clock.monotonic()
        due = self._memory.next_due(now)
        if due is None or (self._alarm is not None and self._alarm_at <= due):
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm, self._alarm_at = self.after(Seconds(max(0.0, due - now)), AlarmDue()), due

    def _answer_overdue(self) -> None:
        cached, now = self._memory.cached, self.clock.monotonic()
        reason = cached.error or "the API server has not answered in time"
        late = FailedFetch(ReadVerdict.NOT_SYNCED, reason)
        self._answer(self._memory.reads.take_overdue(now), cached, late)

    # --- what it tells ---------------------------------------------------------------------------------

    def _report(self) -> None:
        """Tell the manager how the object is held, and what changed since it was told last."""
        memory = self._memory
        if memory.references is not None:
            self._ports.manager.tell(memory.news(self._object, self._mode.value))
            memory.note_told()

    def _now(self) -> Moment:
        return Moment(self.clock.monotonic(), self.clock.wall())

    def _answer(
        self, reads: Iterable[WaitingRead], cached: CachedObject, failed: FailedFetch | None = None
    ) -> None:
        """Answer ``reads`` with what is cached. It counts as current unless ``failed`` says why not."""
        for _, read, _ in reads:
            answer = cached.answer(read, self._now(), failed)
            read.reply_to.tell(answer)
            self._memory.usage.note_answer(read.mark, answer.verdict)
