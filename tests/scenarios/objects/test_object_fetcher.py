"""A fetcher between those who read a Secret and the API server: the strategies Cache and Get."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from actors.api_calls import ANSWER_WITHIN, NOT_ASKED
from actors.objects.fetcher import FetchMode, fetcher_key
from messages.api import ApiAnswered, FailureKind
from messages.holders import HolderBegan, HolderDone, HolderIs, Mark
from messages.objects import ObjectState, ReadVerdict
from tests.support.apiserver.fake_api import ALWAYS
from tests.support.apiserver.fake_failures import failure_of
from tests.support.canary import hidden
from tests.support.kernel.clock import EPOCH
from tests.support.objects.fetcher_stage import FetcherStage, fetcher_stage, secret, secret_id

TEN = tuple(f"s{number}" for number in range(10))
MODES = pytest.mark.parametrize("mode", list(FetchMode), ids=lambda mode: mode.name)


@pytest.fixture
def stage() -> Iterator[FetcherStage]:
    with fetcher_stage() as stage:
        stage.refers()
        stage.news()
        yield stage


@pytest.fixture
def good(stage: FetcherStage) -> FetcherStage:
    """A stage whose Secret was read once: it is in the cache, and a minute young."""
    stage.store.add(secret(a="1"))
    assert stage.read().verdict is ReadVerdict.FOUND
    assert stage.asked() == ["s1"]
    stage.news()
    return stage


@pytest.fixture
def old(good: FetcherStage) -> FetcherStage:
    """A stage whose Secret was read a minute ago, and is too old now."""
    good.play.advance(60.0)
    return good


@pytest.fixture
def direct() -> Iterator[FetcherStage]:
    with fetcher_stage(mode=FetchMode.GET) as stage:
        stage.refers()
        stage.news()
        stage.store.add(secret(a="1"))
        yield stage


class TestTheTimeToLive:
    """Rules T4 to T6, T10: when there is a request, and what kind of one."""

    def test_references_alone_ask_for_nothing(self) -> None:
        """Rule R10. That an unregistered read asks for nothing either is the manager's."""
        with fetcher_stage("s1", "s2", "s3") as stage:
            stage.has("s1", "s3")
            stage.refers(3, name="s1")
            stage.refers(2, name="s1")
            stage.refers(1, name="s2")
            stage.refers(0, name="s2")
            stage.refers(1, name="s3")
            assert stage.asked() == []
            assert stage.news() == ["cached unknown", "done", "cached unknown"]
            assert stage.read("s1", ttl=0.0).verdict is ReadVerdict.FOUND
            assert stage.read("s3", ttl=0.0).verdict is ReadVerdict.FOUND
            assert stage.asked() == ["s1", "s3"]

    def test_what_is_deleted_is_not_found(self, stage: FetcherStage) -> None:
        stage.store.add(secret(a="1"))
        assert stage.read(ttl=0.0).verdict is ReadVerdict.FOUND
        stage.store.remove("secrets", "shop", "s1")
        answer = stage.read(ttl=0.0)
        assert (answer.verdict, answer.age) == (ReadVerdict.NOT_FOUND, None)
        assert answer.value is None

    def test_without_a_time_to_live_each_read_has_a_request_that_began_after_it(self) -> None:
        """A kubelet sends 100 requests: here the nine that wait for one share the next."""
        with fetcher_stage(*TEN) as stage:
            stage.has(*TEN)
            answers = stage.reads_at_once(TEN, times=10, ttl=0.0)
            assert [answer.verdict for answer in answers] == [ReadVerdict.FOUND] * 100
            assert sorted(stage.asked()) == sorted(
                [*TEN, *(f"{name} of the cache" for name in TEN)]
            )

    def test_within_the_time_to_live_one_request_does_for_all(self) -> None:
        with fetcher_stage(*TEN) as stage:
            stage.has(*TEN)
            answers = stage.reads_at_once(TEN, times=10, ttl=60.0)
            assert [answer.verdict for answer in answers] == [ReadVerdict.FOUND] * 100
            assert sorted(stage.asked()) == sorted(TEN)

    @pytest.mark.parametrize(
        ("ttl", "waits", "requests"),
        [(0.0, (0,), [1]), (300.0, (0, 240, 60), [0, 0, 1]), (60.0, (55, 5), [0, 1])],
    )
    def test_another_time_to_live_is_true_of_what_is_cached_already(
        self, good: FetcherStage, ttl: float, waits: tuple[int, ...], requests: list[int]
    ) -> None:
        """Rule T4: at exactly the time to live it is too old."""
        assert good.requests_after(*waits, ttl=ttl) == requests

    def test_only_the_first_read_of_a_new_reference_asks(self) -> None:
        """Quirk K20: a new pod costs the others nothing."""
        names = ("s1", "s10", "s2", "s20", "s3")
        with fetcher_stage(*names) as stage:
            stage.has(*names)
            stage.refers_to(s1=1, s10=2, s2=3)
            assert stage.read_each(s1=1, s10=2, s2=3) == ["s1", "s10", "s2"]
            # The pod has other references now; only two are new.
            stage.refers_to(pods=0, s10=2)
            stage.refers_to(s20=4, s3=5)
            assert stage.read_each(s1=1, s2=3, s20=4, s3=5) == ["s20", "s3"]
            # A second pod takes up three of them, one of which nobody had any more.
            stage.refers_to(pods=2, s1=6, s10=7, s2=8)
            assert stage.read_each(s1=6, s10=7, s2=8, s20=4, s3=5) == ["s1", "s10", "s2"]
            assert stage.read_each(s1=1, s2=3) == []

    def test_a_good_value_that_is_too_old_is_confirmed_by_the_cache(
        self, old: FetcherStage
    ) -> None:
        """Rule T6."""
        answer = old.read()
        assert (answer.verdict, answer.age) == (ReadVerdict.FOUND, None)
        assert old.asked() == ["s1 of the cache"]
        assert old.read().verdict is ReadVerdict.FOUND
        assert old.asked() == []

    def test_a_new_reference_asks_etcd(self, old: FetcherStage) -> None:
        old.refers(2, mark=7)
        assert old.read(mark=7).verdict is ReadVerdict.FOUND
        assert old.asked() == ["s1"]

    def test_absence_is_never_answered_from_the_cache(self, stage: FetcherStage) -> None:
        """Rules T5 and T6."""
        assert stage.read().verdict is ReadVerdict.NOT_FOUND
        stage.store.add(secret(a="1"))
        assert stage.read().verdict is ReadVerdict.FOUND
        assert stage.asked() == ["s1", "s1"]

    def test_a_reference_during_a_fetch_is_not_answered_by_it(self, good: FetcherStage) -> None:
        """Rule T11, though what was fetched is kept for those whom it is good enough for."""
        good.play.advance(60.0)
        good.api.calls.hold()
        good.reads()
        good.play.settle()
        good.refers(2, mark=2)
        good.reads(mark=2)
        assert good.answers() == []
        good.api.calls.release()
        assert good.answers() == ["found"] * 2
        assert good.asked() == ["s1 of the cache", "s1"]


class TestTroubles:
    """Rules T7 to T9: what happens to what is known when a fetch does not go well."""

    def test_a_refused_refresh_leaves_the_last_value_with_its_age(self, old: FetcherStage) -> None:
        """Rule T9. A kubelet swallows the error (quirk K24)."""
        old.play.advance(5.0)
        old.api.calls.fail(FailureKind.SERVER_ERROR)
        answer = old.read()
        assert (answer.verdict, answer.age) == (ReadVerdict.STALE, 65.0)
        assert answer.value is not None
        assert answer.value.data == {"a": hidden("1").encode()}
        assert "server_error" in answer.reason
        assert old.read().verdict is ReadVerdict.FOUND
        assert len(old.asked()) == 2

    def test_an_older_version_in_the_cache_of_the_api_server_does_not_count(
        self, good: FetcherStage
    ) -> None:
        """Rule T7. A kubelet goes on with what it has; here etcd is asked."""
        good.calls.lagging = good.store.get("secrets", "shop", "s1")
        good.changes(a="2")
        good.read(mark=2)
        good.play.advance(60.0)
        good.asked()
        answer = good.read()
        assert answer.value is not None
        assert answer.value.data == {"a": hidden("2").encode()}
        assert good.asked() == ["s1"]

    def test_absence_in_the_cache_of_the_api_server_does_not_count(self, old: FetcherStage) -> None:
        old.calls.lagging = failure_of(FailureKind.NOT_FOUND)
        assert old.read().verdict is ReadVerdict.FOUND
        # So it was asked of etcd at once.
        assert old.asked() == ["s1"]

    def test_a_contested_value_stays_contested_until_etcd_has_answered(
        self, old: FetcherStage
    ) -> None:
        old.calls.lagging = failure_of(FailureKind.NOT_FOUND)
        old.api.calls.fail(FailureKind.SERVER_ERROR)
        assert old.read().verdict is ReadVerdict.STALE
        assert old.read(ttl=3600.0).verdict is ReadVerdict.FOUND
        assert old.asked() == ["s1", "s1"]

    def test_a_known_absence_is_told_with_its_age(self, stage: FetcherStage) -> None:
        assert stage.read().verdict is ReadVerdict.NOT_FOUND
        stage.play.advance(3.0)
        stage.api.calls.fail(FailureKind.UNREACHABLE)
        answer = stage.read()
        assert (answer.verdict, answer.age) == (ReadVerdict.NOT_FOUND, 3.0)
        assert "unreachable" in answer.reason

    @MODES
    @pytest.mark.parametrize(
        "kind",
        sorted(NOT_ASKED - {FailureKind.LOST}),
    )
    def test_with_nothing_known_a_failure_is_the_answer(
        self, mode: FetchMode, kind: FailureKind
    ) -> None:
        with fetcher_stage(mode=mode) as stage:
            stage.refers()
            stage.api.calls.fail(kind)
            answer = stage.read()
            assert (answer.verdict, answer.age) == (ReadVerdict.NOT_SYNCED, None)
            assert kind in answer.reason
            stage.has("s1")
            assert stage.read().verdict is ReadVerdict.FOUND

    def test_a_failure_for_a_new_reference_leaves_what_is_known(self, good: FetcherStage) -> None:
        """Rule T9: what is cached is not touched."""
        good.refers(2, mark=2)
        good.api.calls.fail(FailureKind.SERVER_ERROR)
        assert good.read().verdict is ReadVerdict.STALE
        assert good.read().verdict is ReadVerdict.FOUND
        assert good.asked() == ["s1", "s1"]

    def test_a_broken_version_leaves_the_last_good_one(self, good: FetcherStage) -> None:
        good.store.change("secrets", "shop", "s1", data={"a": "hunter2!"})
        good.play.advance(7.0)
        answer = good.read(mark=2)
        assert (answer.verdict, answer.age) == (ReadVerdict.STALE, 7.0)
        assert answer.value is not None
        assert answer.value.data == {"a": hidden("1").encode()}
        assert answer.reason == 'Secret shop/s1 cannot be used: data["a"] is no base64'
        assert good.news() == ["cached known with an error"]
        # It is known to be outdated, however young it is, until it is mended.
        assert good.read().verdict is ReadVerdict.STALE
        good.news()
        good.store.change("secrets", "shop", "s1", data={"a": "Mg=="})
        assert good.read().verdict is ReadVerdict.FOUND
        assert good.asked() == ["s1", "s1", "s1"]
        assert good.news() == ["modified a"]

    @MODES
    def test_a_broken_version_without_a_good_one_is_unusable(self, mode: FetchMode) -> None:
        with fetcher_stage(mode=mode) as stage:
            stage.refers()
            assert stage.read().verdict is ReadVerdict.NOT_FOUND
            stage.store.add({**secret(), "data": {"a": "hunter2!"}})
            answer = stage.read()
            assert (answer.verdict, answer.age, answer.value) == (ReadVerdict.UNUSABLE, None, None)
            assert "no base64" in answer.reason
            assert "hunter2" not in answer.reason

    @MODES
    def test_a_name_that_no_object_can_have_is_not_asked_for(self, mode: FetchMode) -> None:
        with fetcher_stage("../configmaps/s1", mode=mode) as stage:
            answer = stage.read("../configmaps/s1")
            assert answer.verdict is ReadVerdict.NOT_FOUND
            assert stage.asked() == []


class TestForbidden:
    """A 403 just after a new reference says nothing yet."""

    @MODES
    def test_it_is_asked_again_while_a_read_waits(self, mode: FetchMode) -> None:
        with fetcher_stage(mode=mode) as stage:
            stage.has("s1")
            stage.refers()
            stage.api.calls.fail(FailureKind.FORBIDDEN, times=3)
            stage.reads()
            assert stage.answers_after(0.04, 0.02, 0.1, 0.2) == [[], [], [], ["found"]]
            assert stage.asked() == ["s1"] * 4

    def test_it_is_asked_ever_less_often(self, stage: FetcherStage) -> None:
        stage.api.calls.fail(FailureKind.FORBIDDEN, times=ALWAYS)
        stage.reads(within=60.0)
        assert stage.answers_after(4.9) == [[]]
        # At 0, 0.05, 0.15, 0.35, 0.75, 1.55 and 3.15 seconds; then after two more.
        assert stage.asked() == ["s1"] * 7
        assert stage.answers_after(0.3) == [["forbidden"]]
        assert stage.answers_after(60.0) == [[]]
        assert stage.asked() == ["s1"]

    def test_who_cannot_wait_so_long_hears_why(self, stage: FetcherStage) -> None:
        stage.api.calls.fail(FailureKind.FORBIDDEN, times=ALWAYS)
        stage.reads(within=1.0)
        stage.play.advance(1.0)
        answer = stage.answered()[0]
        assert (answer.verdict, answer.is_fresh) == (ReadVerdict.FORBIDDEN, False)
        assert "forbidden" in answer.reason
        # Nobody waits, so nobody asks.
        stage.asked()
        stage.play.advance(60.0)
        assert stage.asked() == []

    def test_who_reads_again_need_not_wait_for_the_next_attempt(self, stage: FetcherStage) -> None:
        stage.store.add(secret(a="1"))
        stage.api.calls.fail(FailureKind.FORBIDDEN, times=ALWAYS)
        stage.reads(within=1.0)
        assert stage.answers_after(1.0) == [["forbidden"]]
        stage.api.calls.recover()
        assert stage.read().verdict is ReadVerdict.FOUND

    def test_later_it_is_the_answer(self, stage: FetcherStage) -> None:
        stage.play.advance(5.0)
        stage.api.calls.fail(FailureKind.FORBIDDEN)
        assert stage.read().verdict is ReadVerdict.FORBIDDEN
        assert stage.news() == ["cached unknown with an error"]

    def test_a_newer_reference_has_it_asked_at_once(self, stage: FetcherStage) -> None:
        stage.api.calls.fail(FailureKind.FORBIDDEN, times=ALWAYS)
        stage.reads(within=60.0)
        stage.play.advance(4.0)
        stage.asked()
        stage.refers(2, mark=2)
        assert stage.asked() == ["s1"]
        # And as often as after a first reference, for as long.
        assert stage.answers_after(0.2, 3.0) == [[], []]
        assert stage.asked() == ["s1"] * 6

    def test_what_was_known_is_still_told(self, good: FetcherStage) -> None:
        good.play.advance(60.0)
        good.api.calls.fail(FailureKind.FORBIDDEN)
        answer = good.read()
        assert (answer.verdict, answer.age) == (ReadVerdict.STALE, 60.0)


class TestDeadlines:
    """How long a read waits, and what becomes of what comes too late for it."""

    @MODES
    def test_a_read_without_an_answer_in_time_is_not_synced(self, mode: FetchMode) -> None:
        with fetcher_stage(mode=mode) as stage:
            stage.refers()
            stage.api.calls.hold()
            stage.reads(within=2.0)
            assert stage.answers_after(1.9) == [[]]
            stage.play.advance(0.1)
            answer = stage.answered()[0]
            assert (answer.verdict, answer.is_fresh) == (ReadVerdict.NOT_SYNCED, False)

    def test_the_last_value_is_told_as_unproven(self, old: FetcherStage) -> None:
        old.api.calls.hold()
        old.reads()
        assert old.answers_after(1.0) == [["unproven"]]

    def test_each_read_waits_for_its_own_time(self, stage: FetcherStage) -> None:
        stage.api.calls.hold()
        stage.reads(mark=1, within=3.0)
        stage.play.settle()
        stage.reads(mark=2, within=1.0)
        stage.reads(mark=3, within=2.0)
        stage.reads(mark=4, within=-0.5)
        waited = ["not_synced"]
        assert stage.answers_after(0.0, 1.0, 1.0, 1.0, 9.0) == [waited, waited, waited, waited, []]

    def test_a_late_answer_is_kept(self, stage: FetcherStage) -> None:
        stage.store.add(secret(a="1"))
        stage.api.calls.hold()
        stage.reads()
        assert stage.answers_after(1.0) == [["not_synced"]]
        stage.api.calls.release()
        stage.play.settle()
        assert stage.news() == ["added a for nobody"]
        stage.asked()
        assert stage.read().verdict is ReadVerdict.FOUND
        assert stage.asked() == []

    def test_a_value_is_as_old_as_the_request_for_it(self, stage: FetcherStage) -> None:
        """An answer that took four seconds may be that old: nothing says when it was read."""
        stage.store.add(secret(a="1"))
        stage.api.calls.hold()
        stage.reads(within=9.0)
        stage.play.advance(4.0)
        stage.api.calls.release()
        assert stage.answers() == ["found"]
        stage.asked()
        assert stage.requests_after(55.9, 0.1, ttl=60.0) == [0, 1]

    @MODES
    def test_a_lost_request_is_repeated_while_a_read_waits(self, mode: FetchMode) -> None:
        with fetcher_stage(mode=mode) as stage:
            stage.has("s1")
            stage.refers()
            stage.api.calls.fail(FailureKind.LOST)
            stage.reads()
            assert stage.answers_after(0.06) == [["found"]]

    def test_a_request_that_nobody_will_answer_does_not_stop_the_object(
        self, good: FetcherStage
    ) -> None:
        good.api.calls.hold()
        good.reads(mark=2)
        assert good.answers_after(ANSWER_WITHIN - 0.1) == [["unproven"]]
        good.reads(mark=2)
        # Given up, and asked anew; the answer to the first request is nobody's then.
        good.play.advance(0.2)
        assert good.asked() == ["s1", "s1"]
        good.api.calls.release()
        assert good.answers() == ["found"]


class TestWhatTheManagerHears:
    """How the object is held, and what changes about it."""

    def test_each_fetch_that_finds_another_version_tells_a_change(
        self, stage: FetcherStage
    ) -> None:
        stage.store.add(secret(a="1", b="1"))
        stage.read(ttl=0.0)
        assert stage.news() == ["added a,b for nobody"]
        stage.changes(b="2", c="1")
        assert stage.news() == []
        stage.read(ttl=0.0)
        assert stage.news() == ["modified b,c"]
        stage.read(ttl=0.0)
        assert stage.news() == ["cached known"]
        stage.store.change("secrets", "shop", "s1", metadata={"labels": {"a": "b"}})
        stage.read(ttl=0.0)
        assert stage.news() == ["modified "]
        stage.store.remove("secrets", "shop", "s1")
        stage.read(ttl=0.0)
        assert stage.news() == ["deleted a,b,c"]

    def test_what_was_missed_first_is_added_as_known(self, stage: FetcherStage) -> None:
        stage.read()
        assert stage.news() == ["absent known"]
        # What comes and is broken is there.
        stage.store.add({**secret(), "data": {"a": "hunter2!"}})
        stage.read()
        assert stage.news() == ["cached known with an error"]
        stage.store.remove("secrets", "shop", "s1")
        stage.store.add(secret(a="1"))
        stage.read()
        assert stage.news() == ["added a"]

    def test_a_change_concerns_those_who_may_have_used_what_it_was(
        self, stage: FetcherStage
    ) -> None:
        stage.has("s1")
        stage.read(mark=3)
        assert stage.concerned() == [("added", 0)]
        # The one of mark 5 is told what it has become.
        stage.changes(a="2")
        stage.read(mark=5)
        assert stage.concerned() == [("modified", 3)]
        # That of mark 7 is told what it was.
        stage.api.calls.fail(FailureKind.SERVER_ERROR)
        assert stage.read(mark=7).verdict is ReadVerdict.STALE
        stage.changes(a="3")
        stage.read(mark=9)
        assert stage.concerned() == [("modified", 7)]

    def test_a_change_concerns_those_whose_time_was_over_before_it_was_found(
        self, stage: FetcherStage
    ) -> None:
        stage.has("s1")
        stage.read(mark=3)
        version = stage.store.get("secrets", "shop", "s1")["metadata"]["resourceVersion"]
        stage.changes(a="2")
        stage.api.calls.hold()
        stage.reads(mark=5, within=1.0)
        stage.play.advance(1.0)
        assert stage.answers() == ["unproven"]
        stage.goes_on(mark=5, version=version)
        stage.api.calls.release()
        assert stage.concerned() == [("added", 0), ("modified", 5)]

    def test_one_that_broke_is_no_other_for_those_who_found_it_unusable(
        self, stage: FetcherStage
    ) -> None:
        stage.store.add({**secret(), "data": {"a": "no base64"}})
        assert stage.read(mark=3).verdict is ReadVerdict.UNUSABLE
        stage.changes(a="1")
        stage.read(mark=5)
        assert stage.concerned() == [("added", 0)]

    def test_one_that_is_there_again_as_it_was_is_another_only_for_those_who_missed_it(
        self, stage: FetcherStage
    ) -> None:
        stage.has("s1")
        stage.read(mark=3)
        stage.store.remove("secrets", "shop", "s1")
        assert stage.read(mark=5).verdict is ReadVerdict.NOT_FOUND
        stage.has("s1")
        stage.read(mark=7)
        assert stage.concerned() == [("added", 0), ("deleted", 3), ("added", 5)]

    def test_one_that_was_made_anew_between_two_looks_is_modified(self, good: FetcherStage) -> None:
        good.manager.drain()
        good.store.remove("secrets", "shop", "s1")
        made = good.store.add(secret(a="2"))
        good.read(ttl=0.0)
        (fact,) = [
            each for each in good.manager.drain() if isinstance(each, HolderIs) and each.changed
        ]
        assert fact.changed is not None
        assert (fact.changed.change, fact.changed.uid) == ("modified", made["metadata"]["uid"])

    def test_it_is_described_as_of_the_last_good_fetch(self, good: FetcherStage) -> None:
        good.play.advance(61.0)
        good.api.calls.fail(FailureKind.SERVER_ERROR)
        good.read()
        fact = good.manager.drain()[-1]
        assert isinstance(fact, HolderIs)
        document = good.store.get("secrets", "shop", "s1")
        described = fact.described
        assert described.state is ObjectState.CACHED
        assert described.uid == document["metadata"]["uid"]
        assert described.resource_version == document["metadata"]["resourceVersion"]
        assert described.current_until == EPOCH
        assert described.is_known
        assert "server_error" in described.error

    def test_without_references_everything_is_let_go(self, good: FetcherStage) -> None:
        good.api.calls.hold()
        good.reads(mark=2)
        good.refers(0)
        assert good.news() == ["done"]
        # The answer that is under way is nobody's; a new reference begins with nothing.
        good.api.calls.release()
        good.play.settle()
        assert good.news() == []
        good.play.advance(1.0)
        good.answers()
        good.asked()
        good.refers(mark=3)
        assert good.read(mark=3).verdict is ReadVerdict.FOUND
        assert good.asked() == ["s1"]
        assert good.news() == ["cached unknown", "added a for nobody"]

    def test_having_let_go_it_says_of_which_time(self, stage: FetcherStage) -> None:
        """By the mark that it was told with, whatever it has read of since."""
        stage.reads(mark=9)
        stage.refers(0, mark=7)
        stage.refers(0, mark=8)
        done = [fact for fact in stage.manager.drain() if isinstance(fact, HolderDone)]
        assert [fact.newest for fact in done] == [7, 8]


class TestGet:
    """Strategy Get: nothing is kept."""

    def test_every_read_asks_etcd(self, direct: FetcherStage) -> None:
        assert direct.read(ttl=3600.0).verdict is ReadVerdict.FOUND
        assert direct.read(ttl=3600.0).verdict is ReadVerdict.FOUND
        assert direct.asked() == ["s1", "s1"]

    def test_reads_that_come_during_a_request_share_the_next(self, direct: FetcherStage) -> None:
        answers = direct.reads_at_once(("s1",), times=10, ttl=60.0)
        assert [answer.verdict for answer in answers] == [ReadVerdict.FOUND] * 10
        assert direct.asked() == ["s1", "s1"]

    def test_the_last_value_is_not_told_when_there_is_no_other(self, direct: FetcherStage) -> None:
        direct.read()
        direct.api.calls.fail(FailureKind.SERVER_ERROR)
        answer = direct.read()
        assert (answer.verdict, answer.value) == (ReadVerdict.NOT_SYNCED, None)

    def test_no_changes_are_told(self, direct: FetcherStage) -> None:
        direct.read()
        direct.changes(a="2")
        direct.read()
        assert direct.news() == ["direct unknown"]
        direct.api.calls.fail(FailureKind.SERVER_ERROR)
        direct.read()
        assert direct.news() == ["direct unknown with an error"]
        direct.read()
        assert direct.news() == ["direct unknown"]


class TestCrashes:
    """What a crash of the fetcher costs."""

    @MODES
    def test_reads_that_wait_are_answered_by_the_next_life(self, mode: FetchMode) -> None:
        with fetcher_stage(mode=mode) as stage:
            stage.has("s1")
            stage.refers()
            stage.api.calls.hold()
            stage.reads(within=1.0)
            stage.play.settle()
            stage.crashes()
            stage.api.calls.release()
            assert stage.answers_after(0.2) == [["found"]]
            assert stage.asked() == ["s1", "s1"]

    def test_and_in_time(self, stage: FetcherStage) -> None:
        stage.api.calls.hold()
        stage.reads(within=1.0)
        stage.play.settle()
        stage.crashes()
        assert stage.answers_after(0.9, 0.1) == [[], ["not_synced"]]

    def test_what_is_known_is_known_still(self, good: FetcherStage) -> None:
        good.crashes()
        good.play.advance(0.2)
        assert good.read().verdict is ReadVerdict.FOUND
        assert good.asked() == []
        assert good.news() == ["cached known"]

    def test_an_answer_to_a_former_life_is_nobody_s(self, good: FetcherStage) -> None:
        good.api.calls.hold()
        good.reads(mark=2)
        good.play.settle()
        good.crashes()
        good.play.advance(1.0)
        good.answered()
        good.store.remove("secrets", "shop", "s1")
        good.api.calls.release()
        # One from its own life is taken in, and one only.
        assert good.play.describe()[fetcher_key(secret_id()).path].restarts == 1
        assert good.read(mark=2).verdict is ReadVerdict.NOT_FOUND

    def test_an_answer_that_comes_again_is_ignored(self, good: FetcherStage) -> None:
        good.api.calls.hold()
        good.reads(mark=2)
        good.play.settle()
        call = good.calls.last
        assert call is not None
        gone = ApiAnswered(request=call.request, outcome=failure_of(FailureKind.NOT_FOUND))
        good.api.calls.release()
        assert good.answers() == ["found"]
        call.reply_to.tell(gone)
        assert good.read().verdict is ReadVerdict.FOUND
        assert good.asked() == ["s1"]

    def test_letting_go_is_told_once(self, good: FetcherStage) -> None:
        good.refers(0)
        assert good.news() == ["done"]
        good.crashes()
        good.play.advance(0.2)
        assert good.news() == []

    def test_letting_go_is_told_by_the_next_life_if_it_was_not(self, good: FetcherStage) -> None:
        # As a crash leaves it between the decision and its telling.
        good.memories["s1"].references = 0
        good.memories["s1"].newest_told = Mark(7)
        good.crashes()
        good.play.advance(0.2)
        assert good.manager.drain() == [
            HolderBegan(object=secret_id()),
            HolderDone(object=secret_id(), newest=Mark(7)),
        ]


@MODES
def test_no_value_is_in_anything_that_people_read(
    mode: FetchMode, caplog: pytest.LogCaptureFixture
) -> None:
    with fetcher_stage(mode=mode) as stage:
        stage.store.add(secret(password="hunter2"))
        stage.refers()
        answer = stage.read()
        assert answer.value is not None
        assert answer.value.data == {"password": hidden("hunter2").encode()}
        stage.store.change("secrets", "shop", "s1", data={"password": "hunter2!"})
        broken = stage.read(mark=2)
        seen = repr((answer, broken, stage.manager.drain(), stage.memories)) + caplog.text
        assert "hunter2" not in seen
        assert "aHVudGVyMg" not in seen
