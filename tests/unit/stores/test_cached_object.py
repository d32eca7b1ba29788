"""What is known of a fetched object, apart from the actor that fetches it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from messages.api import ApiFailure, ApiRequest, FailureKind, Retry, Verb
from messages.holders import Mark
from messages.objects import (
    Change,
    HeldObject,
    ObjectChanged,
    ObjectId,
    ObjectKind,
    ObjectValue,
    ReadVerdict,
)
from messages.pods import JsonObject
from messages.units import Instant, Seconds, Timestamp
from stores.objects.cached import (
    CachedObject,
    FailedFetch,
    ObjectFetch,
    change_between,
    found,
    is_passing,
    request_for,
)
from stores.objects.knowledge import FORBIDDEN_GRACE, LastKnown
from stores.objects.paths import can_exist

WANTED = ObjectId(kind=ObjectKind.SECRET, namespace="shop", name="tls")
AWAY = FailedFetch(ReadVerdict.NOT_SYNCED, "away")
BROKEN = FailedFetch(ReadVerdict.UNUSABLE, "broken")


def at(seconds: float) -> Instant:
    """Return a moment so long after the beginning."""
    return Instant(Seconds(seconds), Timestamp(1000.0 + seconds))


NOW = at(100.0)


def value(version: int = 10, uid: str = "u1", **data: bytes) -> ObjectValue:
    return ObjectValue(uid=uid, resource_version=str(version), data=data)


def fetch(begun: float = 0.0, mark: int = 1, *, from_etcd: bool = True) -> ObjectFetch:
    return ObjectFetch(at(begun), Mark(mark), from_etcd)


def is_fresh(cached: CachedObject, now: float, *, mark: int = 1, ttl: float = 60.0) -> bool:
    return cached.is_fresh(Mark(mark), Seconds(ttl), Seconds(now))


def failure(kind: FailureKind) -> ApiFailure:
    return ApiFailure(kind=kind, retry=Retry.AFTER_DELAY, sentence=f"it is {kind}")


def knows(result: ObjectValue | None, at: ObjectFetch | None = None) -> CachedObject:
    cached = CachedObject()
    assert cached.learn(at or fetch(), result)
    return cached


def known(value: ObjectValue | None, since: float) -> LastKnown:
    return LastKnown(value=value, is_known=True, current_until=at(since))


def document(**fields: Any) -> JsonObject:
    metadata = {"namespace": "shop", "name": "tls", "uid": "u1", "resourceVersion": "10"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, **fields}


class TestFreshness:
    """Rules T4 to T6 and the marks."""

    @pytest.mark.parametrize(
        ("ttl", "now", "expected"),
        [(60.0, 0.0, True), (60.0, 59.9, True), (60.0, 60.0, False), (0.0, 0.0, False)],
    )
    def test_a_value_is_fresh_for_less_than_its_time(
        self, *, ttl: float, now: float, expected: bool
    ) -> None:
        """Rule T4: counted from when it was asked for."""
        assert is_fresh(knows(value()), now, ttl=ttl) is expected

    @pytest.mark.parametrize(("mark", "expected"), [(1, True), (3, True), (4, False)])
    def test_a_value_is_fresh_for_references_before_it_was_asked_for(
        self, *, mark: int, expected: bool
    ) -> None:
        cached = knows(value(), fetch(mark=3))
        assert is_fresh(cached, 0.0, mark=mark) is expected
        assert cached.needs_etcd([Mark(mark)]) is not expected

    def test_what_is_cached_at_the_api_server_proves_no_mark(self) -> None:
        cached = knows(value(10), fetch(mark=1))
        assert cached.learn(fetch(5.0, mark=4, from_etcd=False), value(11))
        assert cached.known.value == value(11)
        assert not is_fresh(cached, 5.0, mark=4)
        assert is_fresh(cached, 64.9)

    @pytest.mark.parametrize("nothing", [CachedObject(), knows(None)])
    def test_nothing_is_fresh_for_nobody(self, nothing: CachedObject) -> None:
        """Rule T5."""
        assert not is_fresh(nothing, 0.0)
        assert nothing.needs_etcd([])

    def test_a_value_whose_newest_version_is_broken_is_not_fresh(self) -> None:
        cached = knows(value())
        cached.learn(fetch(), BROKEN)
        assert not is_fresh(cached, 0.0)
        assert cached.needs_etcd([Mark(1)])

    def test_a_failed_fetch_makes_nothing_older(self) -> None:
        """Rule T9."""
        cached = knows(value())
        assert cached.learn(fetch(30.0), AWAY)
        assert is_fresh(cached, 59.9)
        assert not cached.needs_etcd([Mark(1)])


class TestLearning:
    """Rules T7 to T9."""

    @pytest.mark.parametrize("result", [value(9), None, BROKEN, value("x")])  # type: ignore[arg-type]
    def test_the_api_server_s_cache_must_be_confirmed_unless_it_knows_as_much(
        self, result: ObjectValue | FailedFetch | None
    ) -> None:
        cached = knows(value(10))
        assert not cached.learn(fetch(50.0, from_etcd=False), result)
        assert cached.known == known(value(10), 0.0)
        assert not is_fresh(cached, 1.0)
        assert cached.needs_etcd([])

    @pytest.mark.parametrize("result", [value(9), value(11), None])
    def test_etcd_is_right_even_with_an_older_version(self, result: ObjectValue | None) -> None:
        """It was restored from a backup."""
        cached = knows(value(10))
        cached.learn(fetch(40.0, from_etcd=False), None)
        assert cached.learn(fetch(50.0), result)
        assert cached.known == known(result, 50.0)
        assert not cached.is_contested

    def test_a_version_that_is_known_keeps_its_value(self) -> None:
        """So that no two copies are held where one does."""
        first = value(10)
        cached = knows(first)
        cached.learn(fetch(50.0), value(10))
        assert cached.known.value is first
        assert cached.known.current_until == at(50.0)

    def test_an_error_goes_with_its_cause(self) -> None:
        cached = knows(value())
        cached.learn(fetch(), BROKEN)
        assert cached.error == "broken"
        cached.learn(fetch(), AWAY)
        assert cached.error == "away"
        cached.learn(fetch(), BROKEN)
        assert cached.error == "broken"
        cached.learn(fetch(), value())
        assert cached.error == ""


class TestWhatFollowersAreTold:
    """What is held, after a fetch or without one."""

    def test_what_was_fetched_is_current(self) -> None:
        found = knows(value(), fetch(30.0)).held(None)
        assert found == HeldObject(verdict=ReadVerdict.FOUND, value=value())
        gone = knows(None, fetch(30.0)).held(None)
        assert (gone.verdict, gone.is_current) == (ReadVerdict.NOT_FOUND, True)

    def test_the_last_known_has_an_age_and_says_why(self) -> None:
        stale = knows(value(), fetch(30.0)).held(AWAY)
        assert (stale.verdict, stale.value) == (ReadVerdict.STALE, value())
        assert (stale.age(NOW.monotonic), stale.reason) == (70.0, "away")
        absent = knows(None, fetch(30.0)).held(AWAY)
        assert (absent.verdict, absent.age(NOW.monotonic)) == (ReadVerdict.NOT_FOUND, 70.0)
        assert absent.reason == "away"

    def test_where_nothing_was_known_the_failure_is_what_is_told(self) -> None:
        held = CachedObject().held(AWAY)
        assert (held.verdict, held.known_at, held.reason) == (AWAY.verdict, None, "away")

    def test_an_object_that_is_broken_is_not_absent(self) -> None:
        cached = knows(None)
        cached.learn(fetch(), BROKEN)
        assert cached.held(BROKEN).verdict is ReadVerdict.UNUSABLE
        assert cached.held(AWAY).verdict is ReadVerdict.NOT_SYNCED


class TestRequests:
    """What is asked, and what an answer means."""

    @pytest.mark.parametrize(
        ("kind", "from_etcd", "path", "query"),
        [
            (ObjectKind.SECRET, True, "/api/v1/namespaces/shop/secrets/tls", {}),
            (
                ObjectKind.CONFIG_MAP,
                False,
                "/api/v1/namespaces/shop/configmaps/tls",
                {"resourceVersion": "0"},
            ),
        ],
    )
    def test_one_object_is_asked_for(
        self, *, kind: ObjectKind, from_etcd: bool, path: str, query: dict[str, str]
    ) -> None:
        wanted = ObjectId(kind=kind, namespace="shop", name="tls")
        request = request_for(wanted, from_etcd=from_etcd)
        assert request == ApiRequest(verb=Verb.GET, path=path, query=query)
        assert request.query == query

    @pytest.mark.parametrize("name", ["a", "0", "a.b-c", "kube-root-ca.crt", "a" * 253])
    def test_a_dns_name_can_be_one(self, name: str) -> None:
        assert can_exist(ObjectId(kind=ObjectKind.SECRET, namespace="shop", name=name))

    @pytest.mark.parametrize(
        "name", ["", ".", "..", "a/b", "../pods", "a%2fb", "a?b", "A", "a.", "a\n", "a" * 254]
    )
    def test_any_other_cannot(self, name: str) -> None:
        assert not can_exist(ObjectId(kind=ObjectKind.SECRET, namespace="shop", name=name))
        assert not can_exist(ObjectId(kind=ObjectKind.SECRET, namespace=name, name="tls"))

    def test_an_object_is_a_value(self) -> None:
        assert found(document(data={"a": "MQ=="}), WANTED) == value(a=b"1")

    @pytest.mark.parametrize(
        ("outcome", "verdict"),
        [
            (failure(FailureKind.FORBIDDEN), ReadVerdict.FORBIDDEN),
            (failure(FailureKind.SERVER_ERROR), ReadVerdict.NOT_SYNCED),
            (failure(FailureKind.REFUSED), ReadVerdict.NOT_SYNCED),
            (document(kind="ConfigMap"), ReadVerdict.UNUSABLE),
            ({"kind": "Status", "metadata": {}}, ReadVerdict.UNUSABLE),
        ],
    )
    def test_anything_else_is_a_failure(
        self, outcome: JsonObject | ApiFailure, verdict: ReadVerdict
    ) -> None:
        result = found(outcome, WANTED)
        assert isinstance(result, FailedFetch)
        assert result.verdict is verdict
        assert result.reason

    def test_a_404_says_that_there_is_none(self) -> None:
        assert found(failure(FailureKind.NOT_FOUND), WANTED) is None

    @pytest.mark.parametrize(
        ("outcome", "since", "passes"),
        [
            (failure(FailureKind.FORBIDDEN), FORBIDDEN_GRACE - 0.1, True),
            (failure(FailureKind.FORBIDDEN), FORBIDDEN_GRACE, False),
            (failure(FailureKind.LOST), 3600.0, True),
            (failure(FailureKind.UNREACHABLE), 0.0, False),
            (document(), 0.0, False),
        ],
    )
    def test_a_403_just_after_a_reference_says_nothing_yet(
        self, *, outcome: JsonObject | ApiFailure, since: float, passes: bool
    ) -> None:
        assert is_passing(outcome, Seconds(since)) is passes


class TestChanges:
    """What is told of a step between two versions."""

    @pytest.mark.parametrize(
        ("before", "after", "change", "version", "keys"),
        [
            (None, value(10, a=b"1"), Change.ADDED, "10", ("a",)),
            (value(10, a=b"1"), value(11, a=b"2"), Change.MODIFIED, "11", ("a",)),
            (value(10, a=b"1"), value(11, a=b"1"), Change.MODIFIED, "11", ()),
            (value(10, "u0", a=b"1"), value(11), Change.MODIFIED, "11", ("a",)),
            (value(10, a=b"1", b=b"1"), None, Change.DELETED, "10", ("a", "b")),
        ],
    )
    def test_a_step_is_told_without_values(
        self,
        before: ObjectValue | None,
        after: ObjectValue | None,
        change: Change,
        version: str,
        keys: tuple[str, ...],
    ) -> None:
        assert change_between(WANTED, before, after) == ObjectChanged(
            object=WANTED, change=change, uid="u1", resource_version=version, keys=keys
        )

    @pytest.mark.parametrize("same", [None, value(10)])
    def test_no_step_is_not_told(self, same: ObjectValue | None) -> None:
        assert change_between(WANTED, same, same) is None

    def test_one_of_another_uid_is_another_one(self) -> None:
        """Even of the same version, in an etcd that was restored."""
        assert change_between(WANTED, value(uid="u1"), value(uid="u2")) is not None


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[int, ObjectFetch, ObjectValue | FailedFetch | None]]:
    """Return fetches of an object that only grows, each with the version that etcd had when it began.

    The API server's cache says something true of an earlier time; anything may fail.
    """
    history, version, began = (
        list[tuple[int, ObjectFetch, ObjectValue | FailedFetch | None]](),
        0,
        0.0,
    )
    for mark in range(1, draw(st.integers(1, 12)) + 1):
        version += draw(st.integers(0, 2))
        began += draw(st.floats(0.1, 40.0))
        from_etcd = draw(st.booleans())
        shown = version if from_etcd else draw(st.integers(0, version))
        result = draw(st.sampled_from((value(shown) if shown else None, AWAY, BROKEN)))
        history.append((version, fetch(began, mark, from_etcd=from_etcd), result))
    return history


@given(
    history=histories(), mark=st.integers(1, 12), ttl=st.floats(0.0, 100.0), late=st.floats(0, 90)
)
def test_what_is_fresh_is_no_older_than_the_read_s_reference(
    history: list[tuple[int, ObjectFetch, ObjectValue | FailedFetch | None]],
    mark: int,
    ttl: float,
    late: float,
) -> None:
    cached = CachedObject()
    for _, asked, result in history:
        if asked.from_etcd or not cached.needs_etcd([]):
            cached.learn(asked, result)
    at_mark = [version for version, asked, _ in history if asked.mark >= mark]
    now = Seconds(history[-1][1].begun.monotonic + late)
    if cached.is_fresh(Mark(mark), Seconds(ttl), now):
        assert cached.known.value is not None
        assert int(cached.known.value.resource_version) >= at_mark[0]
        assert cached.known.current_until is not None
        assert now - cached.known.current_until.monotonic < ttl
