"""The API server as actors see it, without a network: the two ports that they talk to.

A call is carried out at once and answered to whoever it names; a watch hears of each change while it is
made. Everything can be made to fail, to wait and to get lost. Behind it stands an ``ApiStore``: ``store``
is the administrator's hand. Holds neither threads nor time, so that scenarios stay step by step.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from typing_extensions import override

from actors.messages.api import ApiAnswered, ApiFailure, ApiRequest, CallApi, FailureKind, Verb
from actors.messages.pods import JsonObject
from actors.messages.port import Port
from actors.messages.watches import (
    ObjectsAre,
    Unwatch,
    Watch,
    WatchEvent,
    WatchFact,
    WatchFailed,
    WatchRecovered,
    WatchTarget,
)
from kube.errors import RETRY, error_of_answer
from tests.support.api_history import Change, event_of
from tests.support.api_status import StatusError
from tests.support.api_store import ApiStore

ALWAYS = 1_000_000
"""As ``times``: until ``recover``."""

Picks = Callable[[ApiRequest], bool]


def asks(verb: Verb, part: str = "") -> Picks:
    """Return what picks requests of this verb whose path has ``part`` in it."""
    return lambda request: request.verb is verb and part in request.path


def any_request(_request: ApiRequest) -> bool:
    """Pick every request."""
    return True


@dataclass(slots=True, kw_only=True, eq=False)
class _Trouble:
    failure: ApiFailure
    when: Picks
    left: int
    is_carried_out: bool


class FakeApi:
    """An API server for one agent: ``calls`` and ``watches`` are what the agent's actors are given.

    ``as_node`` empty acts as an administrator.
    """

    def __init__(self, store: ApiStore | None = None, *, as_node: str = "n1") -> None:
        self.store = store or ApiStore()
        self.calls = FakeCalls(self.store, as_node)
        self.watches = FakeWatches(self.store, as_node)

    def go_away(self) -> None:
        """Be unreachable, for calls and watches, until ``come_back``."""
        self.calls.fail(FailureKind.UNREACHABLE, times=ALWAYS)
        self.watches.break_off(FailureKind.UNREACHABLE)

    def come_back(self) -> None:
        """Answer again; watches list anew."""
        self.calls.recover()
        self.watches.mend()


class FakeCalls(Port[CallApi]):
    """Carries calls out, one at a time, in the order in which they come."""

    def __init__(self, store: ApiStore, as_node: str) -> None:
        self._store = store
        self._as_node = as_node
        self._troubles: list[_Trouble] = []
        self._held: deque[CallApi] = deque()
        self._holds: Picks | None = None
        self.requests: list[ApiRequest] = []
        """Everything that was asked, in order, held and failed ones included."""

    @override
    def tell(self, message: CallApi, /) -> None:
        self.requests.append(message.request)
        if self._holds is not None and self._holds(message.request):
            self._held.append(message)
        else:
            self._answer(message)

    def asked(self) -> list[str]:
        """Return method and path of all requests since the last look, and forget them."""
        asked = [f"{request.verb.value} {request.path}" for request in self.requests]
        self.requests.clear()
        return asked

    def hold(self, when: Picks = any_request) -> None:
        """Keep the requests that ``when`` picks under way: neither carried out nor answered."""
        self._holds = when

    def release(self) -> None:
        """Carry out and answer what was held, in order, and hold no more."""
        self._holds = None
        while self._held:
            self._answer(self._held.popleft())

    def fail(
        self, what: FailureKind | ApiFailure, *, when: Picks = any_request, times: int = 1
    ) -> None:
        """Answer the next ``times`` requests that ``when`` picks with a failure, and do nothing else."""
        self._troubles.append(
            _Trouble(failure=failure_of(what), when=when, left=times, is_carried_out=False)
        )

    def lose_answers(self, *, when: Picks = any_request, times: int = 1) -> None:
        """Carry out the next ``times`` requests that ``when`` picks, but let them time out."""
        lost = failure_of(FailureKind.TIMEOUT)
        self._troubles.append(_Trouble(failure=lost, when=when, left=times, is_carried_out=True))

    def recover(self) -> None:
        """Have no more troubles."""
        self._troubles.clear()

    def _answer(self, call: CallApi) -> None:
        call.reply_to.tell(
            ApiAnswered(request=call.request, ref=call.ref, outcome=self._outcome(call.request))
        )

    def _outcome(self, request: ApiRequest) -> JsonObject | ApiFailure:
        trouble = next((one for one in self._troubles if one.left and one.when(request)), None)
        if trouble is not None:
            trouble.left -= 1
            if not trouble.is_carried_out:
                return trouble.failure
        try:
            outcome: JsonObject | ApiFailure = self._store.handle(request, as_node=self._as_node)
        except StatusError as error:
            outcome = failure_of_status(error, f"{request.verb.name.lower()} {request.path}")
        return outcome if trouble is None else trouble.failure


@dataclass(slots=True, kw_only=True, eq=False)
class _Followed:
    target: WatchTarget
    subscriber: Port[WatchFact]
    stop: Callable[[], None] | None = None
    """Ends it at the store; None while it is deaf."""
    version: str = ""
    """Of the last change that it was told; empty before the first list."""
    is_failing: bool = False


@dataclass(slots=True)
class FakeWatches(Port[Watch | Unwatch]):
    """Tells who watches what changes, while it changes."""

    _store: ApiStore
    _as_node: str
    _followed: list[_Followed] = field(default_factory=list)
    _broken: ApiFailure | None = None
    _queue: deque[tuple[Port[WatchFact], WatchFact]] | None = None

    @override
    def tell(self, message: Watch | Unwatch, /) -> None:
        was_failing = self._forget(message.target, message.subscriber)
        if isinstance(message, Watch):
            followed = _Followed(
                target=message.target, subscriber=message.subscriber, is_failing=was_failing
            )
            self._followed.append(followed)
            self._list(followed)

    @property
    def targets(self) -> list[WatchTarget]:
        """What is wanted at present, in the order of asking."""
        return [followed.target for followed in self._followed]

    def break_off(self, what: FailureKind | ApiFailure = FailureKind.UNREACHABLE) -> None:
        """Tell all that their watch failed, and nothing more until ``mend``."""
        self._broken = failure_of(what)
        for followed in self._followed:
            self._fail(followed, self._broken)

    def mend(self) -> None:
        """Work again: each watch lists anew, and those that had failed recover."""
        self._broken = None
        for followed in tuple(self._followed):
            self._list(followed)

    def mend_and_resume(self) -> None:
        """Work again: each watch goes on where it was, and is told what it missed.

        One that has no place to go on from, or a forgotten one, lists anew.
        """
        self._broken = None
        for followed in tuple(self._followed):
            if self._store.remembers(followed.version):
                self._recover(followed)
                self._follow(followed)
            else:
                self._list(followed)

    def pause(self) -> None:
        """Keep facts back: the watches lag."""
        if self._queue is None:
            self._queue = deque()

    def resume(self) -> None:
        """Tell what was kept back, in order, and lag no more."""
        waiting, self._queue = self._queue or (), None
        for subscriber, fact in waiting:
            subscriber.tell(fact)

    def _list(self, followed: _Followed) -> None:
        if self._broken is not None:
            self._fail(followed, self._broken)
            return
        target = followed.target
        request = ApiRequest(
            verb=Verb.GET, path=target.path, query={"fieldSelector": target.field_selector}
        )
        try:
            answer = self._store.handle(request, as_node=self._as_node)
        except StatusError as error:
            self._fail(followed, failure_of_status(error, f"list {target.path}"))
            return
        if followed.stop is not None:
            followed.stop()
        kind = self._store.collection(target.path, target.field_selector).kind
        typed = {"apiVersion": kind.api_version, "kind": kind.name}
        followed.version = answer["metadata"]["resourceVersion"]
        objects = tuple({**typed, **item} for item in answer["items"])
        self._tell(
            followed,
            ObjectsAre(target=target, objects=objects, resource_version=followed.version),
        )
        self._recover(followed)
        self._follow(followed)

    def _follow(self, followed: _Followed) -> None:
        target = followed.target
        collection = self._store.collection(target.path, target.field_selector)

        def heard(change: Change) -> None:
            followed.version = str(change.version)
            event = event_of(change, collection, target.field_selector)
            if event is not None:
                op, document = event
                self._tell(followed, WatchEvent(target=target, op=op, object=document))

        followed.stop = self._store.follow(followed.version, heard)

    def _fail(self, followed: _Followed, failure: ApiFailure) -> None:
        if followed.stop is not None:
            followed.stop()
            followed.stop = None
        followed.is_failing = True
        self._tell(followed, WatchFailed(target=followed.target, failure=failure))

    def _recover(self, followed: _Followed) -> None:
        if followed.is_failing:
            followed.is_failing = False
            self._tell(followed, WatchRecovered(target=followed.target))

    def _forget(self, target: WatchTarget, subscriber: Port[WatchFact]) -> bool:
        """End what the subscriber follows of ``target``; return whether that was failing."""
        was_failing = False
        for followed in tuple(self._followed):
            if followed.target == target and followed.subscriber == subscriber:
                self._followed.remove(followed)
                was_failing = followed.is_failing
                if followed.stop is not None:
                    followed.stop()
        return was_failing

    def _tell(self, followed: _Followed, fact: WatchFact) -> None:
        if self._queue is None:
            followed.subscriber.tell(fact)
        else:
            self._queue.append((followed.subscriber, fact))


STATUS_OF: dict[FailureKind, int] = {
    FailureKind.UNAUTHORIZED: 401,
    FailureKind.FORBIDDEN: 403,
    FailureKind.NOT_FOUND: 404,
    FailureKind.ALREADY_EXISTS: 409,
    FailureKind.CONFLICT: 409,
    FailureKind.GONE: 410,
    FailureKind.INVALID: 422,
    FailureKind.THROTTLED: 429,
    FailureKind.SERVER_ERROR: 503,
}


def failure_of(what: FailureKind | ApiFailure) -> ApiFailure:
    """Return a failure of the kind ``what``, or ``what`` itself."""
    if isinstance(what, ApiFailure):
        return what
    return ApiFailure(
        kind=what,
        retry=RETRY[what],
        sentence=f"cannot reach what the story is about: {what.value}",
        status=STATUS_OF.get(what, 0),
    )


def failure_of_status(error: StatusError, attempt: str) -> ApiFailure:
    """Return what the sender of calls makes of a Status."""
    body = json.dumps(error.status).encode()
    return error_of_answer(error.code, {}, body).failure(attempt, None)
