"""What an answer, a Status or a broken connection means, and what of it may be said."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyreqwest.exceptions import (
    BodyDecodeError,
    ClientClosedError,
    ConnectError,
    ReadTimeoutError,
    RequestError,
)

from kube.credentials.access import Access, CredentialsError
from kube.errors import (
    LONGEST_MESSAGE,
    RETRY,
    ApiError,
    error_of_answer,
    error_of_status,
    error_of_transport,
)
from messages.api import ApiFailure, FailureKind, Retry
from messages.units import Seconds, Timestamp

CANARY = "canary-3f9c7b"
ACCESS = Access(server="https://host:6443", user="n1-user", authorization=f"Bearer {CANARY}")


def status(**fields: Any) -> bytes:
    return json.dumps({"kind": "Status", "apiVersion": "v1", **fields}).encode()


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (302, "", FailureKind.REFUSED),
        (400, "BadRequest", FailureKind.INVALID),
        (401, "Unauthorized", FailureKind.UNAUTHORIZED),
        (403, "Forbidden", FailureKind.FORBIDDEN),
        (404, "NotFound", FailureKind.NOT_FOUND),
        (405, "MethodNotAllowed", FailureKind.REFUSED),
        (408, "Timeout", FailureKind.TIMEOUT),
        (409, "AlreadyExists", FailureKind.ALREADY_EXISTS),
        (409, "Conflict", FailureKind.CONFLICT),
        (409, "", FailureKind.CONFLICT),
        (410, "Gone", FailureKind.GONE),
        (410, "Expired", FailureKind.GONE),
        (413, "RequestEntityTooLarge", FailureKind.REFUSED),
        (422, "Invalid", FailureKind.INVALID),
        (429, "TooManyRequests", FailureKind.THROTTLED),
        (500, "InternalError", FailureKind.SERVER_ERROR),
        (503, "ServiceUnavailable", FailureKind.SERVER_ERROR),
        (504, "Timeout", FailureKind.SERVER_ERROR),
    ],
)
def test_the_kind_of_an_answer(code: int, reason: str, kind: FailureKind) -> None:
    error = error_of_answer(code, {}, status(reason=reason))
    assert (error.kind, error.status) == (kind, code)
    assert error_of_answer(code, {}, b"<html>").status == code


@pytest.mark.parametrize(
    ("kind", "retry"),
    [
        (FailureKind.UNREACHABLE, Retry.AFTER_DELAY),
        (FailureKind.TIMEOUT, Retry.AFTER_DELAY),
        (FailureKind.CREDENTIALS, Retry.AFTER_DELAY),
        (FailureKind.UNAUTHORIZED, Retry.AFTER_DELAY),
        (FailureKind.FORBIDDEN, Retry.AFTER_DELAY),
        (FailureKind.NOT_FOUND, Retry.NEVER),
        (FailureKind.ALREADY_EXISTS, Retry.AFTER_RELIST),
        (FailureKind.CONFLICT, Retry.AFTER_RELIST),
        (FailureKind.GONE, Retry.AFTER_RELIST),
        (FailureKind.INVALID, Retry.NEVER),
        (FailureKind.REFUSED, Retry.NEVER),
        (FailureKind.THROTTLED, Retry.AFTER_DELAY),
        (FailureKind.SERVER_ERROR, Retry.AFTER_DELAY),
        (FailureKind.MALFORMED, Retry.AFTER_DELAY),
        (FailureKind.LOST, Retry.AFTER_DELAY),
    ],
)
def test_whether_to_try_again(kind: FailureKind, retry: Retry) -> None:
    assert ApiError("", kind=kind).retry is retry


def test_every_kind_says_whether_to_try_again() -> None:
    assert set(RETRY) == set(FailureKind)


# --- sentences ---------------------------------------------------------------------------------------


def test_a_failure_says_what_was_attempted_where_as_whom_and_why_not() -> None:
    error = error_of_answer(403, {}, status(reason="Forbidden", message='pods "web" is forbidden'))
    assert error.failure("create pod default/web", ACCESS) == ApiFailure(
        kind=FailureKind.FORBIDDEN,
        retry=Retry.AFTER_DELAY,
        sentence=(
            "cannot create pod default/web at https://host:6443 as n1-user: "
            'forbidden: pods "web" is forbidden'
        ),
        status=403,
    )


def test_without_credentials_a_failure_names_no_server() -> None:
    error = error_of_transport(CredentialsError("kubeconfig /k cannot be read: no such file"))
    failure = error.failure("list pods", None)
    assert failure.kind is FailureKind.CREDENTIALS
    assert failure.sentence == "cannot list pods: kubeconfig /k cannot be read: no such file"


@pytest.mark.parametrize(
    ("code", "body", "text"),
    [
        (500, b"<html>" + CANARY.encode(), "server error (HTTP 500)"),
        (500, b"\xff\xfe" + CANARY.encode(), "server error (HTTP 500)"),
        (500, b"[" * 100_000, "server error (HTTP 500)"),
        (500, b'["' + CANARY.encode() + b'"]', "server error (HTTP 500)"),
        (500, status(message={"a": CANARY}), "server error (HTTP 500)"),
        (503, status(message="etcd\n is\taway"), "server error: etcd is away"),
        (503, status(message=" \n"), "server error (HTTP 503)"),
        (401, status(message="Unauthorized"), "unauthorized (HTTP 401)"),
        (404, status(message="NotFound."), "not found (HTTP 404)"),
        (403, status(message="Forbidden: no"), "forbidden: Forbidden: no"),
        (418, b"", "HTTP 418"),
        (418, status(message="HTTP 418"), "HTTP 418"),
        (418, status(message="short and stout"), "HTTP 418: short and stout"),
        (302, CANARY.encode(), "HTTP 302: a redirect, which is not followed"),
    ],
)
def test_only_the_message_of_a_status_is_passed_on(code: int, body: bytes, text: str) -> None:
    assert str(error_of_answer(code, {}, body)) == text


def test_a_long_message_is_cut() -> None:
    error = error_of_answer(403, {}, status(message="a" * 1_000_000))
    assert str(error) == "forbidden: " + "a" * (LONGEST_MESSAGE - 1) + "…"


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (
            f'Pod "web" is invalid: spec.containers[0].env[0].name: Invalid value: "{CANARY}": bad',
            "invalid: Pod … is invalid: spec.containers[0].env[0].name: Invalid value: …: bad",
        ),
        (
            f'Invalid value: "a\\"{CANARY}": must be short',
            "invalid: Invalid value: …: must be short",
        ),
        (
            f"Forbidden: pod updates may not change fields core.PodSpec{{Env: {CANARY}",
            "invalid: Forbidden: pod updates may not change fields core.PodSpec…",
        ),
        (
            f'v1.Pod.Spec: ReadString: expects " but found 1, error found in #10 byte of {CANARY}',
            "invalid: v1.Pod.Spec: ReadString: expects …",
        ),
        (
            f"cannot be read, error found in #10 byte of ...|{CANARY}|...",
            "invalid: cannot be read…",
        ),
    ],
)
@pytest.mark.parametrize("code", [400, 422])
def test_values_that_a_refusal_quotes_are_left_out(code: int, message: str, text: str) -> None:
    assert str(error_of_answer(code, {}, status(message=message))) == text


# --- how long to wait --------------------------------------------------------------------------------

DATE = {"date": "Tue, 14 Nov 2023 22:13:20 GMT"}


@pytest.mark.parametrize(
    ("headers", "wish"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "60"}, 60.0),
        ({"retry-after": "3600"}, 60.0),
        ({"retry-after": "999999999999999999999"}, 60.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT", **DATE}, 30.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 -0000", **DATE}, 30.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:00 GMT", **DATE}, 0.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}, None),
        ({"retry-after": "Tue, 99 Nov 2023 22:13:50 GMT", **DATE}, None),
    ],
)
def test_how_long_the_server_wants_to_be_left_alone(
    headers: dict[str, str], wish: float | None
) -> None:
    assert error_of_answer(429, headers, b"").retry_after == wish


def test_a_date_of_a_server_that_shows_no_clock_is_taken_by_ours() -> None:
    headers = {"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}
    error = error_of_answer(429, headers, b"", now=Timestamp(1_700_000_025.0))
    assert error.retry_after == 5.0


def test_a_date_is_a_minute_away_at_most_when_our_clock_was_never_set() -> None:
    headers = {"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}
    error = error_of_answer(503, headers, b"", now=Timestamp(100.0))
    assert error.retry_after == 60.0


@pytest.mark.parametrize(
    ("details", "wish"),
    [({"retryAfterSeconds": 9}, 9.0), ({"retryAfterSeconds": 0}, 2.0), ({}, 2.0), ("x", 2.0)],
)
def test_of_two_wishes_the_longer_counts(details: Any, wish: float) -> None:
    error = error_of_answer(429, {"retry-after": "2"}, status(details=details))
    assert error.retry_after == wish


# --- events of watches -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ({"code": 410, "reason": "Expired"}, FailureKind.GONE),
        ({"reason": "Expired"}, FailureKind.GONE),
        ({"code": 500}, FailureKind.SERVER_ERROR),
        ({"code": "410"}, FailureKind.SERVER_ERROR),
        ({"code": 403}, FailureKind.FORBIDDEN),
        ({}, FailureKind.SERVER_ERROR),
    ],
)
def test_the_kind_of_an_error_event(said: dict[str, Any], kind: FailureKind) -> None:
    assert error_of_status(said).kind is kind


@given(
    st.dictionaries(
        st.sampled_from(["code", "reason", "message", "details", "retryAfterSeconds"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        ),
    )
)
def test_whatever_a_status_says_it_is_an_error_of_bounded_length(said: dict[str, Any]) -> None:
    sentence = error_of_status(said).failure("watch pods", ACCESS).sentence
    assert len(sentence) < LONGEST_MESSAGE + 150
    assert CANARY not in sentence


# --- broken connections ------------------------------------------------------------------------------


def broken(*causes: str) -> ConnectError:
    url = f"error sending request for url (https://host/api/v1/secrets/{CANARY})"
    return ConnectError("connection error", {"causes": [{"message": m} for m in (url, *causes)]})


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        ("Connection refused (os error 111)", "connection refused"),
        ("dns error: failed to lookup address information: Name not known", "no such host"),
        (
            "dns error: Temporary failure in name resolution",
            "its name cannot be looked up at present",
        ),
        ("No route to host (os error 113)", "no route to the host"),
        ("Network is unreachable (os error 101)", "the network is unreachable"),
        (
            "invalid peer certificate: UnknownIssuer",
            "its certificate is signed by an unknown authority",
        ),
        ("invalid peer certificate: certificate expired: 1", "its certificate has expired"),
        (
            "invalid peer certificate: certificate not valid yet",
            "its certificate is not valid yet",
        ),
        (
            f'invalid peer certificate: certificate not valid for name "{CANARY}"',
            "its certificate is for another name",
        ),
        ("invalid peer certificate: BadSignature", "its certificate cannot be trusted"),
        ("received fatal alert: CertificateRequired", "it demands a client certificate"),
        (
            "received fatal alert: BadCertificate",
            "it ended the TLS handshake: perhaps it refuses our certificate",
        ),
        (
            "received corrupt message of type InvalidContentType",
            "it speaks no TLS on this port",
        ),
        ("frame with invalid size", "it speaks no HTTP/2"),
        ("tunnel error: proxy authorization required", "the proxy wants to know who we are"),
        ("tunnel error: unsuccessful", "the proxy makes no connection to it"),
        ("connection error received: not a result of an error", "it is closing the connection"),
        ("http2 error", "the HTTP/2 connection broke"),
        (f"something {CANARY}", "the connection broke"),
    ],
)
def test_a_broken_connection_in_words(cause: str, text: str) -> None:
    error = error_of_transport(broken("client error (Connect)", cause))
    assert (error.kind, error.status, str(error)) == (FailureKind.UNREACHABLE, 0, text)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            broken("client error (Connect)", "Connection refused (os error 111)"),
            "the proxy proxy.example:3128: connection refused",
        ),
        (
            broken("dns error: failed to lookup address"),
            "the proxy proxy.example:3128: no such host",
        ),
        (TimeoutError(), "no answer within 2.5 s, by way of the proxy proxy.example:3128"),
        # Whose certificate it is, and who broke the connection, is not known.
        (
            broken("invalid peer certificate: BadSignature"),
            "its certificate cannot be trusted",
        ),
    ],
)
def test_a_proxy_that_cannot_be_reached_is_not_taken_for_the_server(
    error: Exception, text: str
) -> None:
    access = replace(ACCESS, proxy=f"http://me:{CANARY}@proxy.example:3128")
    failure = error_of_transport(error, Seconds(2.5)).failure("get pod default/web", access)
    assert failure.sentence == (
        f"cannot get pod default/web at https://host:6443 as n1-user: {text}"
    )


@pytest.mark.parametrize(
    ("proxy", "place"),
    [
        ("", ""),
        ("http://proxy.example:3128", "proxy.example:3128"),
        ("http://me:secret@proxy.example:3128", "proxy.example:3128"),
        ("http://me:sec@ret@[::1]:3128/", "[::1]:3128"),
        # Nobody can tell where the password ends.
        ("http://me:sec?ret@proxy.example:3128", ""),
        ("http://me:sec/ret@proxy.example:3128", ""),
        ("http://me:sec#ret@proxy.example:3128", ""),
        ("http://me:sec\u2100ret@proxy.example:3128", ""),
        ("http://[::1", ""),
    ],
)
def test_of_a_proxy_no_more_is_said_than_where_it_is(proxy: str, place: str) -> None:
    assert replace(ACCESS, proxy=proxy).proxy_place == place


def test_a_refusal_that_came_through_a_proxy_is_the_server_s() -> None:
    access = replace(ACCESS, proxy="http://proxy.example:3128")
    failure = error_of_answer(408, {}, b"").failure("get pod default/web", access)
    assert "proxy" not in failure.sentence


@pytest.mark.parametrize(
    ("cause", "kind", "text"),
    [
        (ReadTimeoutError("", {"causes": None}), FailureKind.TIMEOUT, "no answer within 2.5 s"),
        (TimeoutError(), FailureKind.TIMEOUT, "no answer within 2.5 s"),
        (
            ClientClosedError("", {"causes": None}),
            FailureKind.LOST,
            "the connection was closed by us",
        ),
        (
            BodyDecodeError("", {"causes": [{"message": "invalid gzip header"}]}),
            FailureKind.MALFORMED,
            "its answer cannot be decoded",
        ),
        (
            BodyDecodeError("", {"causes": [{"message": "error reading a body from connection"}]}),
            FailureKind.UNREACHABLE,
            "the connection broke",
        ),
        (RequestError("", {"causes": None}), FailureKind.UNREACHABLE, "the connection broke"),
        (OSError("Connection refused"), FailureKind.UNREACHABLE, "connection refused"),
    ],
    ids=lambda case: type(case).__name__,
)
def test_other_ends_of_a_request(cause: Exception, kind: FailureKind, text: str) -> None:
    error = error_of_transport(cause, Seconds(2.5))
    assert (error.kind, str(error)) == (kind, text)


def test_a_timeout_of_no_known_length() -> None:
    assert str(error_of_transport(TimeoutError())) == "no answer in time"
