"""Which claim is the oldest, across lives of the index."""

from __future__ import annotations

from messages.pods import API, FILE, HTTP, FullName, Pod
from stores.pods.claims import Claims
from stores.pods.index import PodIndex
from tests.support.builders import make_mirror, make_pod

FROM_FILE = make_pod(uid="u1", source=FILE)
FROM_HTTP = make_pod(uid="u2", source=HTTP)
FROM_API = make_pod(uid="u3", source=API)
WEB_NAME = FullName("web_default")


def indexed(claims: Claims, *pods: Pod) -> None:
    index = PodIndex(claims)
    for pod in pods:
        index.add(pod)


def test_the_holder_of_a_name_outlives_the_index() -> None:
    claims = Claims()
    indexed(claims, FROM_FILE, FROM_HTTP)

    # The next index hears of them in the other order.
    index = PodIndex(claims)
    index.add(FROM_HTTP)
    assert index.add(FROM_FILE) == ((FROM_FILE,), (FROM_HTTP,))
    assert index.get_by_full_name(WEB_NAME) is FROM_FILE


def test_a_pod_waits_for_the_source_that_holds_its_name() -> None:
    claims = Claims()
    indexed(claims, FROM_FILE, FROM_HTTP, FROM_API)
    holders = claims.holders()
    assert holders.awaited(FROM_HTTP, {HTTP}) == FILE
    assert holders.awaited(FROM_HTTP, {HTTP, FILE}) is None
    assert holders.awaited(FROM_FILE, set()) is None


def test_a_pod_waits_for_the_source_that_holds_its_uid() -> None:
    claims = Claims()
    indexed(claims, make_pod("web", uid="u"), make_pod("shop", uid="u", source=HTTP))
    assert claims.holders().awaited(make_pod("shop", uid="u", source=HTTP), {HTTP}) == FILE


def test_a_pod_that_nobody_claimed_before_waits_for_the_holder_too() -> None:
    claims = Claims()
    PodIndex(claims).add(FROM_FILE)
    assert claims.holders().awaited(FROM_API, {API}) == FILE


def test_nobody_waits_for_a_name_of_which_only_a_mirror_is_known() -> None:
    claims = Claims()
    PodIndex(claims).add(make_mirror(FROM_FILE))
    assert claims.holders().awaited(FROM_HTTP, {HTTP}) is None


def test_a_mirror_does_not_wait_for_its_pod() -> None:
    claims = Claims()
    PodIndex(claims).add(FROM_FILE)
    assert claims.holders().awaited(make_mirror(FROM_FILE), {API}) is None


def test_what_went_while_nobody_looked_holds_nothing() -> None:
    claims = Claims()
    indexed(claims, FROM_FILE, FROM_HTTP, FROM_API)
    claims.retain(FILE, set())

    # The next oldest source is awaited in its place.
    assert claims.holders().awaited(FROM_API, {API, FILE}) == HTTP


def test_retaining_touches_the_claims_of_one_source_only() -> None:
    claims = Claims()
    age = claims.record(FROM_HTTP)
    claims.record(FROM_FILE)
    claims.retain(FILE, {FROM_FILE.uid})
    assert claims.record(FROM_HTTP) == age


def test_a_released_claim_is_made_anew_as_the_youngest() -> None:
    claims = Claims()
    first = claims.record(FROM_FILE)
    second = claims.record(FROM_HTTP)
    claims.release(FILE, FROM_FILE.uid)
    assert first < second < claims.record(FROM_FILE)


def test_release_of_an_unknown_claim_changes_nothing() -> None:
    claims = Claims()
    age = claims.record(FROM_FILE)
    claims.release(HTTP, FROM_FILE.uid)
    claims.release(HTTP, FROM_HTTP.uid)
    assert claims.record(FROM_FILE) == age


def test_a_second_source_of_a_pod_inherits_since_when_it_is_there() -> None:
    claims = Claims()
    first = claims.record(make_pod(uid="u", source=FILE))
    second = claims.record(make_pod(uid="u", source=HTTP))
    claims.release(FILE, make_pod(uid="u").uid)
    assert claims.record(make_pod(uid="u", source=HTTP)) == second
    assert second.since == first.since
