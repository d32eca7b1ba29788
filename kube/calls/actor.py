"""ApiCalls: sends the requests of the other actors to the API server. Each gets one answer.

The actor decides on turns: which request is next, how fast, how many at the same time. A task on the loop of
the process does the waiting (``sender``); each knows only its one request. Nothing is sent again here: the
caller knows whether the world has changed meanwhile.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias, assert_never
from urllib.parse import urlsplit

import structlog
from typing_extensions import override

from kernel import Alarm, Key, PooledActor, Port, Timer, TokenBucket
from kube.calls.request_info import attempt_of, is_event, is_heartbeat, request_info
from kube.calls.sender import Sender, SendResult
from kube.credentials.access import Access
from kube.errors import ApiError
from messages.api import (
    ApiAnswered,
    ApiFailure,
    ApiRequest,
    CallApi,
    CallsDescribed,
    CallsMessage,
    DescribeCalls,
    FailureKind,
)
from messages.pods import JsonObject
from messages.units import Seconds

_OF_ALL: Final[frozenset[Hashable]] = frozenset(
    {
        FailureKind.UNREACHABLE,
        FailureKind.TIMEOUT,
        FailureKind.CREDENTIALS,
        FailureKind.UNAUTHORIZED,
    }
)
"""Failures that all calls share."""
_ALLOWED: Final = frozenset(
    {
        FailureKind.NOT_FOUND,
        FailureKind.ALREADY_EXISTS,
        FailureKind.CONFLICT,
        FailureKind.GONE,
    }
)
"""The API server finds these only after it has allowed the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFailures:
    """The ongoing failures, each with the sentence that it began with."""

    present: Mapping[Hashable, str] = field(default_factory=dict)
    """Ordered by when they occurred last, the latest first."""

    def after(self, request: ApiRequest, outcome: JsonObject | ApiFailure) -> CallFailures:
        """Return the ongoing failures after ``request`` ended with ``outcome``."""
        refused = (FailureKind.FORBIDDEN, *_kind_of_request(request))
        over: set[Hashable] = set()
        begun: dict[Hashable, str] = {}
        if not isinstance(outcome, ApiFailure):
            over = {*_OF_ALL, refused}
        else:
            if outcome.status:
                over = {*_OF_ALL - {outcome.kind}}
            if outcome.kind in _ALLOWED:
                over.add(refused)
            if outcome.kind in _OF_ALL:
                begun = {outcome.kind: outcome.sentence}
            elif outcome.kind is FailureKind.FORBIDDEN:
                begun = {refused: outcome.sentence}
        left = {key: text for key, text in self.present.items() if key not in over}
        return CallFailures(present={**begun, **left})


def _kind_of_request(request: ApiRequest) -> tuple[str, str, str]:
    info = request_info(request.path)
    return request.verb.value, info.group, info.resource


GRACE: Final = Seconds(1.0)
"""How much later than its deadline a request may be before its caller is answered for it."""

_log = structlog.get_logger("api-calls")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDone:
    """A request has ended. Told once for each call that was sent."""

    number: int
    request: ApiRequest
    sent: SendResult


CallsActorMessage: TypeAlias = CallsMessage | CallDone

API_CALLS = Key[CallsActorMessage]("api-calls")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRules:
    """How fast calls are sent, and how many at the same time."""

    qps: float = 50.0
    """``kubeAPIQPS``: requests a second in the long run; zero or less for no limit."""
    burst: int = 100
    """``kubeAPIBurst``."""
    event_qps: float = 50.0
    """``eventRecordQPS``: the same for events, whose limit is their own: many of them hold up nobody."""
    event_burst: int = 100
    """``eventBurst``."""
    in_flight: int = 8
    """Requests at the same time."""
    kept_free: int = 2
    """Of these, how many are for heartbeats alone. Even if all others wait for a slow API server, the Lease
    is renewed."""


@dataclass(slots=True)
class _Turns:
    """Calls that share a rate limit: those of the first queue go before those of the second."""

    bucket: TokenBucket
    token: Alarm
    """Rings when the limit has a token again; set while it has none."""
    urgent: deque[int] = field(default_factory=deque)
    others: deque[int] = field(default_factory=deque)

    def next_queue(self, free: int, kept_free: int) -> deque[int] | None:
        """Return the queue whose first call may be sent, the limit aside."""
        if self.urgent and free > 0:
            return self.urgent
        return self.others if self.others and free > kept_free else None

    @property
    def waiting(self) -> int:
        return len(self.urgent) + len(self.others)


@dataclass(slots=True)
class CallMemory:
    """What outlives a life of ApiCalls. One life at a time uses it, so it needs no lock."""

    unanswered: dict[int, CallApi] = field(default_factory=dict)
    """In the order in which they were told."""
    last_number: int = 0
    requests: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    failures: CallFailures = field(default_factory=CallFailures)
    server: str = ""
    user: str = ""


class ApiCalls(PooledActor[CallsActorMessage]):
    """Sends calls to the API server and answers each exactly once.

    Owns: the order of the calls, the rate limit, the number of calls in flight.
    Hears: ``CallApi``, ``DescribeCalls``; ``CallDone`` from the sender.
    Tells: the caller one ``ApiAnswered``; LOST when this life ends before the call does.
    Fails when: there is a bug. Whatever the API server does is an answer.

    Order: calls are sent in the order in which they were told, but those about the Node and its Lease
    before all others, and events last. A thousand pods to be created at 50 a second would make a Lease of
    40 s wait for 20 s; soon after that the cluster takes the node for dead. Answers come in any order.
    Repetition: none. A call that is answered with LOST or TIMEOUT may still have arrived.
    """

    def __init__(
        self,
        sender: Sender,
        memory: CallMemory,
        rules: CallRules,
    ) -> None:
        self._sender = sender
        self._memory = memory
        self._rules = rules
        self._in_flight: dict[int, Timer] = {}

    @override
    def started(self) -> None:
        rules = self._rules
        self._turns = self._turns_at(rules.qps, rules.burst)
        self._event_turns = self._turns_at(rules.event_qps, rules.event_burst)
        # What an earlier life sent ends by its own deadline.
        self._answer_all_lost("the sender of calls crashed")

    @override
    def stopping(self) -> None:
        self._answer_all_lost("the agent is stopping")

    @override
    def receive(self, message: CallsActorMessage, /) -> None:
        match message:
            case CallApi():
                self._take(message)
            case DescribeCalls(reply_to=reply_to):
                reply_to.tell(self._described())
            case CallDone():
                self._finish(message)
            case _:
                assert_never(message)
        self._send_who_may()

    # The turns.

    def _turns_at(self, rate: float, burst: int) -> _Turns:
        return _Turns(TokenBucket(rate=rate, burst=burst), self.alarm(self._send_who_may))

    def _take(self, call: CallApi) -> None:
        self._memory.last_number += 1
        number = self._memory.last_number
        self._memory.unanswered[number] = call
        if is_event(call.request):
            self._event_turns.others.append(number)
        elif is_heartbeat(call.request):
            self._turns.urgent.append(number)
        else:
            self._turns.others.append(number)

    def _send_who_may(self) -> None:
        for turns in (self._turns, self._event_turns):
            while turns.token.due is None and (queue := self._next_queue(turns)) is not None:
                turns.bucket, wait = turns.bucket.take(self.clock.monotonic())
                if wait > 0:
                    turns.token.after(wait)
                else:
                    self._send(queue.popleft())

    def _next_queue(self, turns: _Turns) -> deque[int] | None:
        free = self._rules.in_flight - len(self._in_flight)
        return turns.next_queue(free, self._rules.kept_free)

    def _send(self, number: int) -> None:
        call = self._memory.unanswered[number]
        within = Seconds(call.deadline + GRACE)
        self._in_flight[number] = self.later(within, self._give_up, number)
        done = partial(_report, self.me, number, call.request)
        self._sender.begin(call.request, call.deadline, done)

    # The answers.

    def _finish(self, done: CallDone) -> None:
        self._in_flight.pop(done.number).cancel()
        self._note(done)
        self._answer(done.number, done.sent.outcome)

    def _give_up(self, number: int) -> None:
        """Answer for a request that is overdue. It stays in flight: something of it still waits."""
        call = self._memory.unanswered.get(number)
        # None when it ended just as its time was over.
        if call is not None:
            why = f"no answer within {call.deadline:g} s"
            self._answer(number, self._failure(call, why, FailureKind.TIMEOUT))

    def _answer(self, number: int, outcome: JsonObject | ApiFailure) -> None:
        # None when it ends after its time.
        call = self._memory.unanswered.pop(number, None)
        if call is not None:
            call.reply_to.tell(ApiAnswered(request=call.request, outcome=outcome))

    def _answer_all_lost(self, why: str) -> None:
        for number, call in tuple(self._memory.unanswered.items()):
            self._answer(number, self._failure(call, why, FailureKind.LOST))

    def _failure(self, call: CallApi, why: str, kind: FailureKind) -> ApiFailure:
        server, user = self._memory.server, self._memory.user
        access = Access(server=server, user=user) if server else None
        return ApiError(why, kind=kind).failure(attempt_of(call.request), access)

    # What people see.

    def _note(self, done: CallDone) -> None:
        sent, memory = done.sent, self._memory
        host = urlsplit(sent.server).netloc
        memory.requests.update((code, host, done.request.verb.value) for code in sent.codes)
        memory.server, memory.user = sent.server or memory.server, sent.user or memory.user
        before, memory.failures = memory.failures, memory.failures.after(done.request, sent.outcome)
        _log_changes(before, memory.failures)

    def _described(self) -> CallsDescribed:
        return CallsDescribed(
            server=self._memory.server,
            user=self._memory.user,
            troubles=tuple(self._memory.failures.present.values()),
            requests=dict(self._memory.requests),
            waiting=self._turns.waiting + self._event_turns.waiting,
            in_flight=len(self._in_flight),
            credentials_trouble=self._sender.credentials_trouble,
        )


def _report(me: Port[CallDone], number: int, request: ApiRequest, sent: SendResult) -> None:
    """Tell the actor what came of a request, on any thread."""
    me.tell(CallDone(number=number, request=request, sent=sent))


def _log_changes(before: CallFailures, after: CallFailures) -> None:
    for key in after.present.keys() - before.present.keys():
        _log.warning("calls to the API server fail", reason=after.present[key])
    for key in before.present.keys() - after.present.keys():
        _log.info("calls to the API server succeed again", reason_was=before.present[key])
