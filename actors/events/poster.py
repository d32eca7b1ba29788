"""EventPoster: posts events at the API server. Nobody waits for it.

``events.series`` decides how equal and similar events are combined; this file is the actor around it. It
sends one request at a time and drops events rather than queue many: people read them, and nothing
depends on one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import assert_never

import structlog
from typing_extensions import override

from actors.api_calls import NOT_ASKED, api_call
from actors.events.series import EventCorrelator, EventSeries, posting
from kernel import Backoff, Key, OperationsMemory, PooledActor, Port
from messages.api import ApiFailure, CallApi, FailureKind, Verb
from messages.events import DescribeEvents, EventsDescribed, EventsMessage, PostEvent
from messages.pods import JsonObject
from messages.units import Seconds

QUEUE_LEN = 1000
"""How many series may wait to be posted. The oldest one is dropped first."""

MOST_HELD = 100
"""How many series of one namespace wait while they are forbidden. The oldest are dropped first."""

MAX_ATTEMPTS = 12
BACKOFF = Backoff(initial=Seconds(1.0), cap=Seconds(30.0), jitter=Seconds(0.5))
"""Twelve attempts take about four minutes."""

_TRANSIENT = NOT_ASKED | {FailureKind.CONFLICT}
"""Failures after which a later attempt may work."""

_log = structlog.get_logger("events")

EVENT_POSTER = Key[EventsMessage]("events")


@dataclass(slots=True)
class EventMemory:
    """What outlives a life of EventPoster: its counts."""

    posted: int = 0
    dropped: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class _Sent:
    series: EventSeries
    verb: Verb
    count: int


class EventPoster(PooledActor[EventsMessage]):
    """Posts events soon, or drops them.

    Owns: the memory of recent events, and those that wait.
    Hears: ``PostEvent``, ``DescribeEvents``; answers to its calls.
    Tells: ``CallApi``.
    Fails when: it has a bug. Waiting events are lost then.

    Order: series are posted in the order of their first events; events that join a waiting series are
    posted with it. One request is in flight. An event that cannot be posted is dropped and counted. One that
    is forbidden waits, and others of its namespace with it: the right to it may be given later.
    """

    def __init__(self, calls: Port[CallApi], node_name: str, memory: EventMemory) -> None:
        self._port = calls
        self._node_name = node_name
        self._memory = memory
        self._correlator = EventCorrelator()
        self._waiting: dict[EventSeries, None] = {}
        self._forbidden = ForbiddenEvents()
        self._refused: set[FailureKind] = set()
        """The kinds of refusals that were logged."""

    @override
    def started(self) -> None:
        self._calls = self.operations(OperationsMemory[_Sent](), self._take_answer)
        self._pause = self.alarm(self._send_next)

    @override
    def receive(self, message: EventsMessage, /) -> None:
        match message:
            case PostEvent():
                self._take(message)
            case DescribeEvents(reply_to=reply_to):
                dropped = dict(self._memory.dropped)
                reply_to.tell(EventsDescribed(posted=self._memory.posted, dropped=dropped))
            case _:
                assert_never(message)
        self._send_next()

    def _take(self, post: PostEvent) -> None:
        series = self._correlator.series_of(post, self.clock.wall())
        if series is None:
            self._memory.dropped["spam"] += 1
            return
        if self._forbidden.holds(series.namespace):
            if series not in self._waiting:
                self._hold(series)
            return
        self._waiting.setdefault(series)
        if len(self._waiting) > QUEUE_LEN:
            under_way = {sent.series for sent in self._calls.purposes()}
            self._drop(next(s for s in self._waiting if s not in under_way), "queue_full")

    def _send_next(self) -> None:
        if len(self._calls) or self._pause.due is not None or not self._waiting:
            return
        series = next(iter(self._waiting))
        request = posting(series, self._node_name)
        sent = _Sent(series, request.verb, series.count)
        self._calls.begin(sent, api_call(self._port, request))

    def _take_answer(self, sent: _Sent, outcome: JsonObject | ApiFailure) -> None:
        self._note_answer(sent, outcome)
        self._send_next()

    def _note_answer(self, sent: _Sent, outcome: JsonObject | ApiFailure) -> None:
        if isinstance(outcome, ApiFailure) and outcome.kind is FailureKind.FORBIDDEN:
            self._note_forbidden(sent.series, outcome)
            return
        if not isinstance(outcome, ApiFailure) or outcome.kind not in _TRANSIENT:
            self._waiting.update(dict.fromkeys(self._forbidden.release(sent.series.namespace)))
        if not isinstance(outcome, ApiFailure):
            self._note_success(sent)
        elif outcome.kind in _TRANSIENT:
            self._note_outage(sent.series, outcome)
        elif outcome.kind is FailureKind.ALREADY_EXISTS and sent.verb is Verb.CREATE:
            sent.series.is_known = True  # an earlier attempt went through, and its answer was lost
        elif outcome.kind is FailureKind.NOT_FOUND and sent.verb is Verb.PATCH:
            self._correlator.rename(sent.series)  # it has expired there
        else:
            self._note_refusal(sent.series, outcome)

    def _note_success(self, sent: _Sent) -> None:
        series = sent.series
        self._memory.posted += sent.count - series.posted
        series.is_known, series.posted, series.attempts = True, sent.count, 0
        if series.is_told:
            self._waiting.pop(series, None)

    def _note_outage(self, series: EventSeries, failure: ApiFailure) -> None:
        series.attempts += 1
        self._pause.after(max(BACKOFF.delay(series.attempts), failure.retry_after or Seconds(0.0)))
        if series.attempts == MAX_ATTEMPTS:
            series.attempts = 0
            self._drop(series, "given_up")

    def _note_forbidden(self, series: EventSeries, failure: ApiFailure) -> None:
        """Have the events of a namespace wait: somebody may give the right to them."""
        self._say_refused(failure)
        namespace = series.namespace
        attempts = self._forbidden.note_refusal(namespace)
        for each in [each for each in self._waiting if each.namespace == namespace]:
            del self._waiting[each]
            self._hold(each)
        self.later(BACKOFF.delay(attempts), self._try_forbidden, namespace)

    def _hold(self, series: EventSeries) -> None:
        dropped = self._forbidden.hold(series)
        if dropped is not None:
            self._drop(dropped, "refused")

    def _try_forbidden(self, namespace: str) -> None:
        series = self._forbidden.probe(namespace)
        if series is not None:
            self._waiting.setdefault(series)
            self._send_next()

    def _note_refusal(self, series: EventSeries, failure: ApiFailure) -> None:
        self._say_refused(failure)
        self._drop(series, "refused")

    def _say_refused(self, failure: ApiFailure) -> None:
        if failure.kind not in self._refused:
            self._refused.add(failure.kind)
            _log.warning("an event was refused", reason=failure.kind, error=failure.sentence)

    def _drop(self, series: EventSeries, why: str) -> None:
        """Drop the events of ``series`` that the API server does not know, and count them by ``why``."""
        self._memory.dropped[why] += series.count - series.posted
        series.count = series.posted
        self._waiting.pop(series, None)


@dataclass(slots=True)
class _Namespace:
    attempts: int = 0
    series: dict[EventSeries, None] = field(default_factory=dict)
    """Those that wait, the oldest first."""


class ForbiddenEvents:
    """Events that the API server forbids: they wait, by namespace, until it allows one of them.

    A right is given for a namespace or for all. So one event of each namespace is tried again after pauses,
    and the others go once it went.
    """

    def __init__(self) -> None:
        self._namespaces: dict[str, _Namespace] = {}

    def holds(self, namespace: str) -> bool:
        """Return whether events of ``namespace`` have to wait."""
        return namespace in self._namespaces

    def note_refusal(self, namespace: str) -> int:
        """Note that an event was forbidden; return how many were in a row."""
        held = self._namespaces.setdefault(namespace, _Namespace())
        held.attempts += 1
        return held.attempts

    def hold(self, series: EventSeries) -> EventSeries | None:
        """Have ``series`` wait. Return the one that has to go for it, if there are too many."""
        held = self._namespaces[series.namespace].series
        held.setdefault(series)
        if len(held) <= MOST_HELD:
            return None
        oldest = next(iter(held))
        del held[oldest]
        return oldest

    def probe(self, namespace: str) -> EventSeries | None:
        """Take the event that is tried next."""
        held = self._namespaces[namespace].series
        series = next(iter(held), None)
        if series is not None:
            del held[series]
        return series

    def release(self, namespace: str) -> list[EventSeries]:
        """Return what waited in ``namespace``: events may be posted there, or it is gone."""
        held = self._namespaces.pop(namespace, None)
        return [] if held is None else [*held.series]
