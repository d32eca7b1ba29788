"""The API server as actors see it, without a network: the two ports that they talk to.

A call is carried out at once and answered to whoever it names; a watch hears of each change while it is
made. Everything can be made to fail, to wait and to get lost. Behind it stands an ``ApiStore``: ``store``
is how an administrator changes its objects. Holds neither threads nor time, so that scenarios stay step by
step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from typing_extensions import override

from messages.api import ApiAnswered, ApiFailure, ApiRequest, CallApi, FailureKind, Verb
from messages.pods import JsonObject
from messages.port import Port
from tests.support.apiserver.fake_failures import failure_of, failure_of_status
from tests.support.apiserver.fake_watches import FakeWatches
from tests.support.apiserver.status import StatusError
from tests.support.apiserver.store import ApiStore

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
        self._late: deque[tuple[CallApi, ApiAnswered]] | None = None
        """Answers that are under way; None if each comes at once."""
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
        """Carry out and answer what was held, in order, and hold no more, answers neither."""
        late, self._late = self._late or (), None
        for call, answer in late:
            call.reply_to.tell(answer)
        self._holds = None
        while self._held:
            self._answer(self._held.popleft())

    def hold_answers(self) -> None:
        """Carry requests out, and keep their answers under way: watches are faster."""
        self._late = deque()

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
        outcome = self._outcome(call.request)
        answer = ApiAnswered(request=call.request, outcome=outcome)
        if self._late is None:
            call.reply_to.tell(answer)
        else:
            self._late.append((call, answer))

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
