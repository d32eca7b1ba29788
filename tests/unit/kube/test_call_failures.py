"""Which failures of calls are ongoing."""

from __future__ import annotations

import pytest

from kube.calls.actor import CallFailures
from messages.api import ApiFailure, ApiRequest, FailureKind, Retry, Verb
from messages.pods import JsonObject

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1"


GET_POD = ApiRequest(verb=Verb.GET, path="/api/v1/namespaces/default/pods/web")
RENEW = ApiRequest(verb=Verb.UPDATE, path=LEASE)


def failure(kind: FailureKind, status: int = 0) -> ApiFailure:
    return ApiFailure(kind=kind, retry=Retry.NEVER, sentence=kind.value, status=status)


def after(*events: tuple[ApiRequest, JsonObject | ApiFailure]) -> list[str]:
    failures = CallFailures()
    for request, outcome in events:
        failures = failures.after(request, outcome)
    return sorted(failures.present.values())


UNREACHABLE, TIMEOUT = failure(FailureKind.UNREACHABLE), failure(FailureKind.TIMEOUT)
FORBIDDEN = failure(FailureKind.FORBIDDEN, 403)
UNAUTHORIZED = failure(FailureKind.UNAUTHORIZED, 401)


def test_a_server_that_answers_is_neither_unreachable_nor_slow() -> None:
    assert after((GET_POD, UNREACHABLE), (GET_POD, TIMEOUT)) == ["timeout", "unreachable"]
    assert after((GET_POD, UNREACHABLE), (RENEW, failure(FailureKind.NOT_FOUND, 404))) == []
    assert after((GET_POD, UNREACHABLE), (RENEW, FORBIDDEN)) == ["forbidden"]
    assert after((GET_POD, UNREACHABLE), (RENEW, UNAUTHORIZED)) == ["unauthorized"]


def test_a_token_is_good_when_anything_but_a_401_comes() -> None:
    assert after((GET_POD, UNAUTHORIZED), (GET_POD, UNREACHABLE)) == [
        "unauthorized",
        "unreachable",
    ]
    assert after((GET_POD, UNAUTHORIZED), (GET_POD, {})) == []


@pytest.mark.parametrize(
    ("kind", "status", "left"),
    [
        (FailureKind.NOT_FOUND, 404, []),
        (FailureKind.ALREADY_EXISTS, 409, []),
        (FailureKind.CONFLICT, 409, []),
        (FailureKind.GONE, 410, []),
        # These may come before anybody has asked whether it is allowed, or instead.
        (FailureKind.THROTTLED, 429, ["forbidden"]),
        (FailureKind.SERVER_ERROR, 500, ["forbidden"]),
        (FailureKind.REFUSED, 415, ["forbidden"]),
    ],
)
def test_what_is_allowed_shows_in_answers_that_are_no_objects_too(
    kind: FailureKind, status: int, left: list[str]
) -> None:
    assert after((RENEW, FORBIDDEN), (RENEW, failure(kind, status))) == left
    # Of another kind of request it says nothing.
    assert after((GET_POD, FORBIDDEN), (RENEW, failure(kind, status))) == ["forbidden"]


def test_the_latest_failure_comes_first() -> None:
    failures = CallFailures()
    failures = failures.after(GET_POD, FORBIDDEN).after(GET_POD, TIMEOUT)
    assert [*failures.present.values()] == ["timeout", "forbidden"]
    assert [*failures.after(GET_POD, FORBIDDEN).present.values()] == ["forbidden"]


def test_a_failure_keeps_the_sentence_that_it_began_with() -> None:
    second = ApiFailure(
        kind=FailureKind.UNREACHABLE, retry=Retry.NEVER, sentence="another", status=0
    )
    assert after((GET_POD, UNREACHABLE), (RENEW, second)) == ["unreachable"]


def test_a_lost_call_says_nothing_of_the_server() -> None:
    assert after((GET_POD, UNREACHABLE), (GET_POD, failure(FailureKind.LOST))) == ["unreachable"]
