"""ObjectFetcher: asks the API server for one Secret or ConfigMap when somebody wants to know it.

It is the holder of an object under the strategies Cache and Get. ``stores.objects.cached`` decides
what counts as fresh and what followers are told, ``fetcher_memory`` beside it when to fetch although nobody
wants a look. The actor fetches, and sets the timers. It knows nothing of pods, and fetches nothing that
nobody follows.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias, assert_never

from typing_extensions import override

from actors.api_calls import api_call
from kernel import Backoff, Key, Level, OperationsMemory, PooledActor, Port
from messages.api import ApiFailure, CallApi
from messages.holders import (
    HolderBegan,
    HolderDone,
    HolderFact,
    HolderMessage,
    Mark,
    ReferencesAre,
    StopIfIdle,
    UnprovenUsed,
)
from messages.objects import ChangeMissed, HeldObject, ObjectId, ObjectState
from messages.pods import JsonObject
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
from stores.objects.paths import can_exist, holder_path

__all__ = [
    "FetchMode",
    "FetcherMemory",
    "FetcherPorts",
    "ObjectFetcher",
    "ObjectFetcherMessage",
    "fetcher_key",
]

PASSING_BACKOFF: Final = Backoff(initial=Seconds(0.05), cap=Seconds(2.0), jitter=Seconds(0.0))
"""Between requests whose answers mean nothing yet, while followers wait. Watches are retried as fast after a
403."""


class FetchMode(Enum):
    """How much a fetcher remembers."""

    CACHE = ObjectState.CACHED
    """A value is fresh until it is too old. After that it is the last known value."""
    GET = ObjectState.DIRECT
    """It remembers nothing: each look is a request that was sent after the look was wanted."""


ObjectFetcherMessage: TypeAlias = HolderMessage


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
    """Fetches one object when its followers want to know it, and tells them by the level of its manager.

    Owns: what is known of the object, and its key in that level.
    Hears: ``ReferencesAre`` (coalesced), ``UnprovenUsed``, ``StopIfIdle``.
    Tells: the sender of calls ``CallApi``; its manager ``HolderIs`` after each fetch, ``ChangeMissed`` for a
    pod that has begun with what changed meanwhile, and ``HolderDone`` when nobody references the object.
    Fails when: it has a bug. What followers wait for is fetched by the next life.

    There is one fetch at a time. A look that followers want is a fetch that began after it was wanted or, in
    mode CACHE, a value that is fresh enough. So looks that are wanted together share a fetch; a kubelet sends
    one request for each, and learns nothing newer. In mode CACHE changes are told when a fetch finds them,
    and a followed object is fetched once per time to live. Whatever the API server's cache cannot prove is
    asked of etcd. In mode GET nothing is kept: the key has a value while somebody follows it.
    """

    def __init__(
        self, wanted: ObjectId, mode: FetchMode, ports: FetcherPorts, memory: FetcherMemory
    ) -> None:
        self._object = wanted
        self._mode = mode
        self._ports = ports
        self._memory = memory
        self._passed = 0
        """How many answers in a row meant nothing."""

    @override
    def started(self) -> None:
        self._calls = self.operations(OperationsMemory[ObjectFetch](), self._take_answer)
        self._due, self._retry = self.alarm(self._go_on), self.alarm(self._go_on)
        if self._memory.has_lived:
            self._ports.manager.tell(HolderBegan(object=self._object))
        self._memory.has_lived = True
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
            case UnprovenUsed():
                self._note_use(message)
            case StopIfIdle():
                pass  # asked of those that say that they are idle, and a fetcher never does
            case _:
                assert_never(message)
        self._go_on()

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

    def _note_mark(self, mark: Mark) -> None:
        if self._memory.note_mark(mark, self.clock.monotonic()):
            self._stop_retrying()

    def _note_use(self, used: UnprovenUsed) -> None:
        self._memory.usage.note_answer(used.mark, used.taken.verdict)
        missed = change_after(used.taken, self._memory.cached.known.value)
        if missed is not None:
            self._ports.manager.tell(missed)

    def _take_answer(self, fetch: ObjectFetch, outcome: JsonObject | ApiFailure) -> None:
        now = self.clock.monotonic()
        result = found(outcome, self._object)
        if isinstance(result, FailedFetch) and is_passing(
            outcome, Seconds(now - self._memory.newest_since)
        ):
            self._memory.cached.trouble = result.reason
            self._report()
            self._set(self._memory.cached.held(result))
            self._passed += 1
            self._retry.after(PASSING_BACKOFF.delay(self._passed))
        else:
            self._passed = 0
            self._conclude(fetch, result)
        self._go_on()

    # --- what it does ----------------------------------------------------------------------------------

    def _go_on(self) -> None:
        """Tell followers what is fresh enough; else fetch for them."""
        memory, now = self._memory, self.clock.monotonic()
        if memory.is_wanted and memory.is_fresh(now):
            held, memory.looked = memory.cached.held(None), memory.wanted
            self._set(held)
            memory.note_use(held, memory.wanted_for)
        if not memory.is_wanted and not memory.is_due_unread(now):
            self._stop_retrying()
        elif not self._calls and self._retry.due is None:
            self._begin()
        self._due.at(memory.next_due(now))

    def _begin(self) -> None:
        memory = self._memory
        from_etcd = memory.cached.needs_etcd([memory.wanted_for] if memory.is_wanted else [])
        fetch = ObjectFetch(self.clock.now(), memory.newest, from_etcd, memory.wanted)
        if not can_exist(self._object):
            self._conclude(fetch, None)
            return
        request = request_for(self._object, from_etcd=from_etcd)
        self._calls.begin(fetch, api_call(self._ports.calls, request))

    def _conclude(self, fetch: ObjectFetch, result: FetchResult) -> None:
        """Note the result of a fetch, and tell followers."""
        memory = self._memory
        if not memory.cached.learn(fetch, result):
            return
        memory.asked_at = fetch.begun.monotonic
        cached, failed = memory.cached, result if isinstance(result, FailedFetch) else None
        memory.availability = availability(cached.known, result)
        if self._mode is FetchMode.GET:
            memory.cached = CachedObject(trouble=cached.error)
        held, has_waited = cached.held(failed), fetch.wanted > memory.looked
        memory.looked = max(memory.looked, fetch.wanted)
        self._set(held)  # before the change is told: whoever hears of it then knows the new value
        self._report()
        if failed is None:
            # A pod that is told of changes need not wait: it counts as having started with this value.
            memory.usage.note(fetch.mark)
        memory.note_use(held, fetch.mark if has_waited else None)

    def _set(self, held: HeldObject) -> None:
        """Tell followers what is known, unless the object is let go, or nobody follows what is not kept."""
        if self._memory.references and (self._memory.wanted or self._mode is FetchMode.CACHE):
            self._ports.objects.set(self._object, held, proven=self._memory.looked)

    def _stop_retrying(self) -> None:
        self._retry.at(None)
        self._passed = 0

    def _let_go(self) -> None:
        """Forget the object, and tell the manager once: it may be needed again before this actor ends."""
        memory = self._memory
        for fetch in tuple(self._calls.purposes()):
            self._calls.drop(fetch)
        memory.forget()
        self._ports.manager.tell(HolderDone(object=self._object, newest=memory.newest_told))
        memory.references = None

    # --- what it tells ---------------------------------------------------------------------------------

    def _report(self) -> None:
        """Tell the manager how the object is held, and what changed since it was told last."""
        memory = self._memory
        if memory.references is not None:
            self._ports.manager.tell(memory.news(self._object, self._mode.value))
            memory.note_told()
