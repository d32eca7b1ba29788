"""A call to the API server, as an operation."""

from __future__ import annotations

from typing import Any

from actors.api_calls import ANSWER_WITHIN, api_call
from kernel import Failure, LateError
from kernel.steps import Within, carried_out
from messages.api import (
    REQUEST_DEADLINE,
    ApiAnswered,
    ApiFailure,
    ApiRequest,
    CallApi,
    FailureKind,
    Retry,
    Verb,
)
from messages.units import Seconds
from tests.support.kernel.probe import Probe

GET = ApiRequest(verb=Verb.GET, path="/api/v1/nodes/n1")
NODE = {"kind": "Node"}


class Server(Probe[CallApi]):
    """Answers each call with a Node."""

    def outcome_of(self, step: Any) -> Any:
        """Return what comes of a step."""
        answers: list[ApiAnswered] = []
        assert isinstance(step, Within)
        self.within = step.seconds
        step.step.begin(answers.append)  # type: ignore[attr-defined]
        (self.call,) = self.drain()
        self.call.reply_to.tell(ApiAnswered(request=GET, outcome=NODE))
        return answers[0]


def test_a_call_returns_the_object_that_it_is_answered_with() -> None:
    server = Server()
    assert carried_out(api_call(server, GET), server.outcome_of) == NODE
    assert (server.call.request, server.call.deadline) == (GET, REQUEST_DEADLINE)
    assert server.within == ANSWER_WITHIN


def test_a_request_has_its_own_deadline_and_its_answer_another() -> None:
    server = Server()
    flow = api_call(server, GET, within=Seconds(20.0), deadline=Seconds(2.5))
    carried_out(flow, server.outcome_of)
    assert (server.call.deadline, server.within) == (2.5, 20.0)


def test_a_call_that_nobody_answers_is_lost_and_may_be_made_again() -> None:
    late = Failure(LateError("nothing came of it"))
    outcome = carried_out(api_call(Probe(), GET), lambda _step: late)
    assert outcome == ApiFailure(
        kind=FailureKind.LOST,
        retry=Retry.AFTER_DELAY,
        sentence="nobody answered within 60 s",
    )
