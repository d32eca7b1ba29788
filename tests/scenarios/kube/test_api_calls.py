"""ApiCalls between those who call and an API server that does as it is told."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest
from typing_extensions import override

from kernel import Runtime
from kube.calls.actor import API_CALLS, CallDone, CallRules
from kube.calls.sender import SendResult
from messages.api import (
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
from tests.support.kube.calls_stage import (
    HOST,
    CallsStage,
    calls_stage,
    create_pod,
    error,
    get,
    post_event,
    renew_lease,
)

A, B, C = get("/api/v1/pods"), get("/api/v1/secrets"), get("/api/v1/configmaps")


@pytest.fixture
def calls(runtime: Runtime) -> Iterator[CallsStage]:
    with calls_stage(runtime=runtime) as calls:
        yield calls


@pytest.fixture
def held() -> Iterator[CallsStage]:
    with calls_stage() as calls:
        calls.sender.is_held = True
        yield calls


@pytest.fixture
def slow() -> Iterator[CallsStage]:
    """Two requests at once, one each second in the long run."""
    with calls_stage(CallRules(qps=1.0, burst=2)) as calls:
        yield calls


# --- one answer for each call ------------------------------------------------------------------------


def test_the_caller_gets_the_object_with_its_request(calls: CallsStage) -> None:
    calls.sender.outcomes.append({"kind": "PodList"})
    calls.play.tell(API_CALLS, CallApi(request=A, reply_to=calls.caller))
    calls.caller.expect(ApiAnswered(request=A, outcome={"kind": "PodList"}))


def test_a_refusal_is_an_answer_like_any_other(calls: CallsStage) -> None:
    calls.sender.outcomes.append(error(FailureKind.FORBIDDEN, 403, "forbidden: no"))
    calls.calls(create_pod("web"))
    failure = ApiFailure(
        kind=FailureKind.FORBIDDEN,
        retry=Retry.AFTER_DELAY,
        sentence="cannot create pod default/web at https://api.example:6443 as n1: forbidden: no",
        status=403,
    )
    assert calls.caller.next().outcome == failure
    calls.caller.expect_silence()


def test_calls_are_sent_in_the_order_in_which_they_were_told(calls: CallsStage) -> None:
    calls.calls(A, B, C)
    assert calls.sender.drain() == ["list pods", "list secrets", "list configmaps"]


# --- how fast ----------------------------------------------------------------------------------------


def test_beyond_the_burst_one_call_is_sent_for_each_token(slow: CallsStage) -> None:
    slow.calls(A, B, C, create_pod("web"))
    assert slow.sender.drain() == ["list pods", "list secrets"]
    assert slow.described().waiting == 2

    # Half a second is half a token.
    slow.play.advance(0.5)
    assert slow.sender.drain() == []
    slow.play.advance(0.5)
    assert slow.sender.drain() == ["list configmaps"]
    slow.play.advance(1.0)
    assert slow.sender.drain() == ["create pod default/web"]


def test_an_idle_time_gives_no_more_than_the_burst(slow: CallsStage) -> None:
    slow.play.advance(3600.0)
    slow.calls(A, B, C)
    assert slow.sender.drain() == ["list pods", "list secrets"]


def test_waiting_for_a_token_does_not_count_against_the_deadline(slow: CallsStage) -> None:
    slow.calls(A, B, C, deadline=0.1)
    slow.play.advance(1.0)
    assert slow.heard() == [
        "/api/v1/pods: ok",
        "/api/v1/secrets: ok",
        "/api/v1/configmaps: ok",
    ]


def test_a_lease_overtakes_what_waits_for_a_token(slow: CallsStage) -> None:
    slow.calls(A, B, create_pod("web"), create_pod("shop"), renew_lease())
    slow.sender.drain()
    slow.play.advance(2.0)
    assert slow.sender.drain() == [
        "update lease kube-node-lease/n1",
        "create pod default/web",
    ]


def test_events_have_a_limit_of_their_own_and_go_last(held: CallsStage) -> None:
    held.calls(*(post_event() for _ in range(7)), A, B)
    held.answers(6)
    held.answers(3)
    assert held.sender.drain()[6:] == ["list pods", "list secrets", "create event default"]


def test_calls_that_wait_for_a_token_hold_up_no_event_and_events_no_call() -> None:
    rules = CallRules(qps=1.0, burst=1, event_qps=1.0, event_burst=2)
    with calls_stage(rules) as slow:
        slow.calls(post_event(), post_event(), post_event(), A, B)
        assert slow.sender.drain() == ["create event default", "create event default", "list pods"]
        assert slow.described().waiting == 2
        slow.play.advance(1.0)
        assert sorted(slow.sender.drain()) == ["create event default", "list secrets"]


def test_a_lease_is_sent_at_once_when_all_others_hang(held: CallsStage) -> None:
    held.calls(*(create_pod(f"web-{number}") for number in range(20)))
    assert len(held.sender.held) == 6
    held.calls(renew_lease())
    assert len(held.sender.held) == 7
    assert held.described().in_flight == 7
    assert held.described().waiting == 14


def test_an_answer_makes_room_for_the_next_call(held: CallsStage) -> None:
    held.calls(*(create_pod(f"web-{number}") for number in range(7)))
    held.answers()
    assert held.heard() == ["/api/v1/namespaces/default/pods: ok"]
    assert held.described().in_flight == 6
    assert held.described().waiting == 0


# --- deadlines ---------------------------------------------------------------------------------------


def test_a_call_that_nobody_answers_is_answered_in_its_time(
    held: CallsStage,
) -> None:
    held.calls(A, deadline=10.0)
    held.play.advance(10.9)
    assert held.heard() == []
    held.play.advance(0.1)
    assert held.heard() == ["/api/v1/pods: timeout"]

    # An answer that comes after that is for nobody, and makes room.
    assert held.described().in_flight == 1
    held.answers()
    assert held.heard() == []
    assert held.described().in_flight == 0


def test_a_call_that_was_answered_is_not_answered_again_at_its_deadline(calls: CallsStage) -> None:
    calls.calls(A, deadline=1.0)
    calls.play.advance(60.0)
    assert calls.heard() == ["/api/v1/pods: ok"]
    assert calls.play.describe()["api-calls"].restarts == 0


def test_nothing_is_left_of_a_call_that_was_answered() -> None:
    with calls_stage() as calls:
        timers = len(calls.play.system.control.timers)
        calls.calls(A, B, deadline=600.0)
        assert len(calls.heard()) == 2
        assert len(calls.play.system.control.timers) == timers


def test_an_answer_that_comes_just_before_its_time_is_over_is_the_answer(held: CallsStage) -> None:
    held.calls(A, B, deadline=10.0)

    # The answer is there and the time is over before the actor has looked at either.
    held.sender.answer_one()
    held.play.clock.move(Seconds(11.0))
    held.play.settle()

    assert held.heard() == ["/api/v1/pods: ok", "/api/v1/secrets: timeout"]
    assert held.described().in_flight == 1
    assert held.play.describe()["api-calls"].restarts == 0


# --- crashes and stops -------------------------------------------------------------------------------


class _Poison(Probe[ApiAnswered]):
    """A port that breaks whoever tells it something."""

    @override
    def tell(self, message: ApiAnswered, /) -> None:
        raise RuntimeError("a bug")


def test_after_a_crash_every_open_call_is_lost_and_answered_once(held: CallsStage) -> None:
    # Six are out, two wait, and one of those that are out makes the actor crash.
    requests = [get(f"/api/v1/pods/{number}") for number in range(7)]
    held.play.tell(API_CALLS, CallApi(request=A, reply_to=_Poison()))
    held.calls(*requests)
    held.answers()
    held.play.advance(1.0)

    assert held.heard() == [f"/api/v1/pods/{number}: lost" for number in range(7)]

    # Their answers are for nobody; new calls go their way.
    held.sender.is_held = False
    held.answers(5)
    assert held.heard() == []
    held.calls(A)
    assert held.heard() == ["/api/v1/pods: ok"]
    assert held.play.describe()["api-calls"].restarts == 1


def test_who_still_waits_when_the_agent_stops_is_told(held: CallsStage) -> None:
    held.calls(*(get(f"/api/v1/pods/{number}") for number in range(8)))
    held.play.stop()
    assert held.heard() == [f"/api/v1/pods/{number}: lost" for number in range(8)]


# --- what people see ---------------------------------------------------------------------------------


def test_requests_are_counted_by_code_host_and_method_across_crashes(calls: CallsStage) -> None:
    calls.sender.outcomes.extend([{}, error(FailureKind.UNREACHABLE), {}])
    calls.calls(A, B)
    calls.play.tell(API_CALLS, CallApi(request=create_pod("web"), reply_to=_Poison()))
    calls.play.advance(1.0)
    assert calls.described().requests == {
        ("200", HOST, "GET"): 1,
        ("<error>", HOST, "GET"): 1,
        ("200", HOST, "POST"): 1,
    }


def test_a_retry_of_the_sender_counts_too(held: CallsStage) -> None:
    held.calls(A)
    sent = SendResult(outcome={}, server="https://h:1", user="u", codes=("401", "200"))
    held.play.tell(API_CALLS, CallDone(number=1, request=A, sent=sent))
    assert held.described().requests == {("401", "h:1", "GET"): 1, ("200", "h:1", "GET"): 1}


def test_it_shows_whom_it_calls_as_whom_and_why_there_was_no_answer(calls: CallsStage) -> None:
    assert (calls.described().server, calls.described().user) == ("", "")

    calls.sender.outcomes.append(error(FailureKind.UNREACHABLE, text="connection refused"))
    calls.calls(A)
    described = calls.described()
    assert described.server == "https://api.example:6443"
    assert described.user == "n1"
    assert described.troubles == (
        "cannot list pods at https://api.example:6443 as n1: connection refused",
    )

    calls.calls(A)
    assert calls.described().troubles == ()


def test_it_shows_what_is_refused_until_the_same_is_allowed(calls: CallsStage) -> None:
    unauthorized, forbidden = (
        error(FailureKind.UNAUTHORIZED, 401),
        error(FailureKind.FORBIDDEN, 403),
    )
    calls.sender.outcomes.extend([unauthorized, forbidden])
    calls.calls(A)
    assert calls.described().troubles == (
        "cannot list pods at https://api.example:6443 as n1: unauthorized",
    )

    # A 403 knows who we are.
    create = "cannot create pod default/web at https://api.example:6443 as n1: forbidden"
    calls.calls(create_pod("web"))
    assert calls.described().troubles == (create,)

    # A Lease that is renewed says nothing of pods.
    calls.calls(renew_lease())
    assert calls.described().troubles == (create,)
    calls.calls(create_pod("shop"))
    assert calls.described().troubles == ()


def test_it_shows_why_credentials_cannot_be_read_again_while_calls_go_on(
    calls: CallsStage,
) -> None:
    calls.sender.unreadable = "kubeconfig /k is not YAML"
    calls.calls(A)
    assert calls.heard() == ["/api/v1/pods: ok"]
    described = calls.described()
    assert (described.troubles, described.credentials_trouble) == ((), "kubeconfig /k is not YAML")

    calls.sender.unreadable = ""
    assert calls.described().credentials_trouble == ""


def test_what_goes_wrong_is_still_shown_after_a_crash(calls: CallsStage) -> None:
    calls.sender.outcomes.extend([error(FailureKind.FORBIDDEN, 403), {}])
    calls.calls(create_pod("web"))
    calls.play.tell(API_CALLS, CallApi(request=A, reply_to=_Poison()))
    calls.play.advance(1.0)
    assert calls.play.describe()["api-calls"].restarts == 1
    assert calls.described().troubles == (
        "cannot create pod default/web at https://api.example:6443 as n1: forbidden",
    )


Logs = list[MutableMapping[str, Any]]


def test_an_api_server_that_is_away_is_two_lines_in_the_log(calls: CallsStage, logs: Logs) -> None:
    calls.sender.outcomes.extend(error(FailureKind.UNREACHABLE) for _ in range(50))
    calls.calls(*[A] * 50)
    calls.calls(A)
    sentence = "cannot list pods at https://api.example:6443 as n1: unreachable"
    assert [(line["event"], line["log_level"]) for line in logs] == [
        ("calls to the API server fail", "warning"),
        ("calls to the API server succeed again", "info"),
    ]
    assert logs[0]["reason"] == sentence


def test_what_is_forbidden_is_over_only_when_the_same_is_allowed(
    calls: CallsStage, logs: Logs
) -> None:
    forbidden = error(FailureKind.FORBIDDEN, 403)
    calls.sender.outcomes.extend([forbidden, {}, forbidden, {}])
    calls.calls(create_pod("web"))
    calls.calls(renew_lease())
    calls.calls(create_pod("shop"))
    assert [line["event"] for line in logs] == ["calls to the API server fail"]
    calls.calls(create_pod("web"))
    assert [line["event"] for line in logs[1:]] == ["calls to the API server succeed again"]


def test_a_missing_object_is_nothing_to_log(calls: CallsStage, logs: Logs) -> None:
    calls.sender.outcomes.append(error(FailureKind.NOT_FOUND, 404))
    calls.calls(A)
    assert logs == []


def test_the_body_of_a_request_is_in_no_line_and_no_answer(calls: CallsStage, logs: Logs) -> None:
    body = {"metadata": {"name": "web"}, "spec": {"env": "canary"}}
    request = ApiRequest(verb=Verb.CREATE, path="/api/v1/namespaces/default/pods", body=body)
    calls.sender.outcomes.append(error(FailureKind.REFUSED, 400))
    calls.play.tell(
        API_CALLS, CallApi(request=request, reply_to=calls.caller, deadline=Seconds(1.0))
    )
    answer = calls.caller.next()
    assert "canary" not in repr(answer) + repr(logs)
