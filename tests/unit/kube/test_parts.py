"""The small parts of calls: what a request is about, the rate limit, certificates, troubles."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from kube.calls.failures import CallFailures
from kube.calls.rate_limit import TokenBucket
from kube.calls.request_info import attempt_of, is_heartbeat
from kube.credentials.certificates import CertificateError, read_certificate
from messages.api import ApiFailure, ApiRequest, FailureKind, Retry, Verb
from messages.pods import JsonObject
from messages.units import Seconds
from tests.support.kube.kubeconfigs import OLD_CERTIFICATE

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1"

# --- what a request is about -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "path", "name", "attempt"),
    [
        (Verb.GET, "/api/v1/pods", "", "list pods"),
        (Verb.GET, "/api/v1/namespaces/default/pods", "", "list pods in default"),
        (Verb.GET, "/api/v1/namespaces/default/pods/web", "", "get pod default/web"),
        (Verb.GET, "/api/v1/namespaces", "", "list namespaces"),
        (Verb.GET, "/api/v1/namespaces/default", "", "get namespace default"),
        (
            Verb.UPDATE,
            "/api/v1/namespaces/default/status",
            "",
            "update status of namespace default",
        ),
        (Verb.CREATE, "/api/v1/namespaces/default/pods", "web", "create pod default/web"),
        (Verb.CREATE, "/api/v1/namespaces/default/events", "", "create event default"),
        (Verb.CREATE, "/api/v1/nodes", "n1", "create node n1"),
        (Verb.PATCH, "/api/v1/nodes/n1/status", "", "patch status of node n1"),
        (Verb.DELETE, "/api/v1/namespaces/default/pods/web", "", "delete pod default/web"),
        (Verb.UPDATE, LEASE, "", "update lease kube-node-lease/n1"),
        (Verb.GET, "/apis/networking.k8s.io/v1/ingressclasses/a", "", "get ingressclass a"),
        (
            Verb.GET,
            "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies/a",
            "",
            "get networkpolicy default/a",
        ),
        (Verb.GET, "/version", "", "list version"),
        (Verb.GET, "/", "", "list "),
    ],
)
def test_what_a_request_attempts(verb: Verb, path: str, name: str, attempt: str) -> None:
    body = {"metadata": {"name": name}} if name else {}
    assert attempt_of(ApiRequest(verb=verb, path=path, body=body)) == attempt


@pytest.mark.parametrize(
    "body", [None, {}, {"metadata": []}, {"metadata": {"name": 3}}, {"metadata": {}}]
)
def test_a_body_without_a_name_is_no_trouble(body: JsonObject | None) -> None:
    request = ApiRequest(verb=Verb.CREATE, path="/api/v1/nodes", body=body)
    assert attempt_of(request) == "create node"


@pytest.mark.parametrize(
    ("path", "is_it"),
    [
        (LEASE, True),
        ("/api/v1/nodes", True),
        ("/api/v1/nodes/n1/status", True),
        ("/api/v1/namespaces/default/pods", False),
        ("/apis/storage.example/v1/nodes/n1", False),
        ("/version", False),
    ],
)
def test_the_node_and_its_lease_are_what_the_cluster_waits_for(path: str, is_it: bool) -> None:  # noqa: FBT001  # parametrized
    assert is_heartbeat(ApiRequest(verb=Verb.GET, path=path)) is is_it


# --- the rate limit ----------------------------------------------------------------------------------

NOW = Seconds(0.0)


def taken_at(bucket: TokenBucket, wishes: list[float]) -> list[float]:
    """Return when requests are sent that come at ``wishes``, each as soon as it may."""
    sent: list[float] = []
    now = 0.0
    for wish in wishes:
        now = max(now, wish)
        bucket, wait = bucket.take(Seconds(now))
        while wait > 0:
            now += wait
            bucket, wait = bucket.take(Seconds(now))
        sent.append(now)
    return sent


@given(
    st.floats(0.1, 100.0),
    st.integers(1, 20),
    st.lists(st.floats(0.0, 30.0), max_size=60).map(sorted),
)
def test_no_span_of_time_has_more_requests_than_burst_and_rate_allow(
    qps: float, burst: int, wishes: list[float]
) -> None:
    sent = taken_at(TokenBucket(qps=qps, burst=burst), wishes)
    for first, begin in enumerate(sent):
        for last in range(first, len(sent)):
            assert last - first + 1 <= burst + qps * (sent[last] - begin) + 1e-6


@given(st.floats(0.1, 100.0), st.integers(1, 20), st.integers(0, 60))
def test_nobody_waits_longer_than_the_rate_demands(qps: float, burst: int, requests: int) -> None:
    sent = taken_at(TokenBucket(qps=qps, burst=burst), [0.0] * requests)
    expected = [max(0.0, (number + 1 - burst) / qps) for number in range(requests)]
    assert sent == pytest.approx(expected, abs=1e-6)


def test_waiting_as_long_as_told_is_enough() -> None:
    bucket, _ = TokenBucket(qps=3.0, burst=1).take(Seconds(1e6))
    _, wait = bucket.take(Seconds(1e6))
    assert wait == pytest.approx(1 / 3)
    assert bucket.take(Seconds(1e6 + wait))[1] == 0.0


def test_a_time_that_goes_back_gives_no_tokens() -> None:
    bucket, _ = TokenBucket(qps=1.0, burst=1, at=Seconds(10.0)).take(Seconds(10.0))
    assert bucket.take(Seconds(5.0))[1] == 1.0


@pytest.mark.parametrize("qps", [0.0, -1.0])
def test_no_rate_is_no_limit(qps: float) -> None:
    assert taken_at(TokenBucket(qps=qps, burst=1), [0.0] * 100) == [0.0] * 100


def test_a_burst_of_nothing_still_lets_one_pass() -> None:
    assert TokenBucket(qps=1.0, burst=0).take(NOW)[1] == 0.0


# --- certificates ------------------------------------------------------------------------------------


@pytest.mark.parametrize("year", [1975, 2049, 2050, 2120])
def test_until_when_a_certificate_is_good(year: int) -> None:
    # Until 2049 years have two digits in there, after that four.
    begin, end = datetime(1970, 1, 2, tzinfo=UTC), datetime(year, 6, 1, 12, 30, tzinfo=UTC)
    leaf = trustme.CA().issue_cert("n1.example", not_before=begin, not_after=end)
    certificate = read_certificate(leaf.cert_chain_pems[0].bytes())
    assert (certificate.version, certificate.not_before, certificate.not_after) == (
        3,
        begin.timestamp(),
        end.timestamp(),
    )


def test_the_first_certificate_of_a_chain_counts() -> None:
    end = datetime(2040, 1, 1, tzinfo=UTC)
    authority = trustme.CA()
    leaf = authority.issue_cert("n1.example", not_after=end).cert_chain_pems[0].bytes()
    found = read_certificate(leaf + authority.cert_pem.bytes())
    assert found.not_after == end.timestamp()


def test_old_scripts_make_certificates_of_version_1() -> None:
    assert read_certificate(OLD_CERTIFICATE.encode()).version == 1


def x509_like(der: bytes) -> bytes:
    """Return ``der`` in the dress of a certificate."""
    return (
        b"-----BEGIN CERTIFICATE-----\n" + base64.encodebytes(der) + b"-----END CERTIFICATE-----\n"
    )


@given(st.binary(max_size=60))
def test_bytes_that_are_no_certificate_are_refused_and_nothing_worse(der: bytes) -> None:
    with pytest.raises(CertificateError):
        read_certificate(x509_like(der))


def test_a_certificate_cut_short_is_refused() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1)
        .not_valid_before(datetime(2024, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2034, 1, 1, tzinfo=UTC))
        .sign(key, hashes.SHA256())
    )
    der = made.public_bytes(serialization.Encoding.DER)
    for length in range(len(der)):
        with pytest.raises(CertificateError):
            read_certificate(x509_like(der[:length]))


# --- troubles ----------------------------------------------------------------------------------------

GET_POD = ApiRequest(verb=Verb.GET, path="/api/v1/namespaces/default/pods/web")
RENEW = ApiRequest(verb=Verb.UPDATE, path=LEASE)


def failure(kind: FailureKind, status: int = 0) -> ApiFailure:
    return ApiFailure(kind=kind, retry=Retry.NEVER, sentence=kind.value, status=status)


def after(*events: tuple[ApiRequest, JsonObject | ApiFailure]) -> list[str]:
    troubles = CallFailures()
    for request, outcome in events:
        troubles = troubles.after(request, outcome)
    return sorted(troubles.present.values())


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


def test_the_latest_trouble_comes_first() -> None:
    troubles = CallFailures()
    troubles = troubles.after(GET_POD, FORBIDDEN).after(GET_POD, TIMEOUT)
    assert [*troubles.present.values()] == ["timeout", "forbidden"]
    assert [*troubles.after(GET_POD, FORBIDDEN).present.values()] == ["forbidden"]


def test_a_trouble_keeps_the_sentence_that_it_began_with() -> None:
    second = ApiFailure(
        kind=FailureKind.UNREACHABLE, retry=Retry.NEVER, sentence="another", status=0
    )
    assert after((GET_POD, UNREACHABLE), (RENEW, second)) == ["unreachable"]


def test_a_lost_call_says_nothing_of_the_server() -> None:
    assert after((GET_POD, UNREACHABLE), (GET_POD, failure(FailureKind.LOST))) == ["unreachable"]
