from dataclasses import dataclass, field

import pytest

from actors.pending_calls import ANSWER_WITHIN, PendingCalls
from kernel import Timer
from kernel.timers import Timers
from messages.api import REQUEST_DEADLINE, ApiAnswered, ApiFailure, ApiRequest, CallApi, Verb
from messages.units import Seconds
from tests.support.kernel.probe import Probe

GET = ApiRequest(verb=Verb.GET, path="/api/v1/nodes/n1")


@dataclass
class Caller:
    """The actor: what it sends, and what its timers will tell it."""

    sent: Probe[CallApi] = field(default_factory=Probe)
    answers: Probe[ApiAnswered] = field(default_factory=Probe)
    timers: Timers = field(default_factory=Timers)
    deadlines: list[tuple[Seconds, ApiAnswered]] = field(default_factory=list)

    def after(self, delay: Seconds, message: ApiAnswered) -> Timer:
        self.deadlines.append((delay, message))
        timer, _ = self.timers.add(delay, lambda: None)
        return timer

    def answer(self, ref: object) -> ApiAnswered:
        return ApiAnswered(request=GET, ref=ref, outcome={})


@pytest.fixture
def caller() -> Caller:
    return Caller()


@pytest.fixture
def calls(caller: Caller) -> PendingCalls[str]:
    return PendingCalls[str](caller.sent, caller.after)


def test_a_call_goes_out_with_its_own_number(calls: PendingCalls[str], caller: Caller) -> None:
    calls.send("look", GET, caller.answers)
    calls.send("renew", GET, caller.answers, deadline=Seconds(2.5))
    caller.sent.expect(
        CallApi(request=GET, reply_to=caller.answers, ref=1, deadline=REQUEST_DEADLINE),
        CallApi(request=GET, reply_to=caller.answers, ref=2, deadline=Seconds(2.5)),
    )
    assert calls.purposes() == ("look", "renew")


def test_each_answer_ends_its_own_call(calls: PendingCalls[str], caller: Caller) -> None:
    calls.send("look", GET, caller.answers)
    calls.send("renew", GET, caller.answers)
    assert calls.take(caller.answer(2)) == "renew"
    assert calls.purposes() == ("look",)
    assert len(calls) == len(caller.timers) == 1


def test_an_answer_that_was_not_waited_for_any_more_is_late(
    calls: PendingCalls[str], caller: Caller
) -> None:
    calls.send("look", GET, caller.answers)
    assert calls.take(caller.answer(1)) == "look"
    assert calls.take(caller.answer(1)) is None
    calls.send("look again", GET, caller.answers)
    assert calls.take(caller.answer(1)) is None
    assert calls.take(caller.answer(None)) is None
    assert calls.purposes() == ("look again",)


def test_nobody_answered_is_an_answer_too(calls: PendingCalls[str], caller: Caller) -> None:
    calls.send("look", GET, caller.answers)
    ((delay, message),) = caller.deadlines
    assert delay == ANSWER_WITHIN
    assert isinstance(message.outcome, ApiFailure)
    assert message.outcome.sentence == "nobody answered within 60 s"
    assert calls.take(message) == "look"
    assert calls.take(caller.answer(1)) is None


def test_calls_that_are_forgotten_are_over(calls: PendingCalls[str], caller: Caller) -> None:
    calls.send("look", GET, caller.answers)
    calls.forget()
    assert calls.take(caller.answer(1)) is None
    assert len(calls) == len(caller.timers) == 0
