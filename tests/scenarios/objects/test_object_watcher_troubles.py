"""A watcher when the API server is away or refuses, and when it crashes itself."""

from __future__ import annotations

from messages.api import ApiFailure, FailureKind, Retry
from messages.objects import ReadVerdict
from messages.units import Seconds
from messages.watches import WatchFailed, WatchRecovered
from tests.support.canary import revealed
from tests.support.kernel.clock import EPOCH
from tests.support.objects.watcher_stage import (
    TARGET,
    WHERE,
    WatcherStage,
    listed,
    references,
    secret,
    version,
)

FORBIDDEN = ApiFailure(
    kind=FailureKind.FORBIDDEN,
    retry=Retry.AFTER_DELAY,
    sentence="cannot list secrets at https://127.0.0.1:6443 as n1: forbidden",
    status=403,
)


def begins_with(stage: WatcherStage) -> str:
    """Return the value that the one who waits is told to be fresh, in the moment before the watch is."""
    stage.play.settle()
    (answer,) = stage.answered()
    assert answer.is_fresh
    assert answer.value is not None
    return revealed(answer.value.data["a"])


class TestTheApiServerIsAway:
    def test_what_is_known_is_served_with_its_age(self, good: WatcherStage) -> None:
        """Quirk K24: a kubelet does not say so."""
        good.play.advance(5.0)
        good.api.go_away()
        good.play.advance(30.0)
        away = good.read()
        assert away.in_words() == "stale a=1 for 30 s"
        assert "unreachable" in away.reason
        assert good.now().current_until == EPOCH + 5

        good.api.come_back()
        assert good.read().in_words() == "found a=1"
        assert (good.now().current_until, good.now().error) == (None, "")

    def test_that_there_was_none_is_served_with_its_age(self, stage: WatcherStage) -> None:
        stage.refers()
        stage.api.go_away()
        stage.play.advance(30.0)
        away = stage.read()
        assert away.in_words() == "not_found for 30 s"
        assert "unreachable" in away.reason

    def test_what_was_never_listed_is_not_synced(self, stage: WatcherStage) -> None:
        stage.api.go_away()
        stage.refers()
        stage.reads()
        stage.play.advance(1.0)
        (found,) = stage.answered()
        assert found.verdict is ReadVerdict.NOT_SYNCED
        assert "unreachable" in found.reason

        stage.reads()
        stage.store.add(secret(a="1"))
        stage.api.come_back()
        assert begins_with(stage) == "1"

    def test_a_watch_that_goes_on_where_it_was_is_current_again(self, good: WatcherStage) -> None:
        good.watches.break_off()
        good.store.change(*WHERE, data={"a": "Mg=="})
        good.play.advance(3.0)
        good.watches.mend_and_resume()
        assert good.read().in_words() == "found a=2"
        assert good.news() == ["synced", "synced: modified a", "synced"]

    def test_a_list_while_the_watch_fails_is_what_a_new_pod_begins_with(
        self, by_hand: WatcherStage
    ) -> None:
        by_hand.hears(references(2, mark=2))
        by_hand.reads()
        by_hand.hears(
            WatchFailed(target=TARGET, failure=FORBIDDEN),
            listed(version(11, a="2"), at=11, mark=2),
        )
        assert by_hand.answers() == ["stale a=2 for 0 s"]
        by_hand.play.advance(4.0)
        assert by_hand.read().in_words() == "stale a=2 for 4 s"
        by_hand.hears(WatchRecovered(target=TARGET))
        assert by_hand.read().in_words() == "found a=2"

    def test_the_age_counts_from_the_end_of_the_stream_and_not_from_the_word_of_it(
        self, by_hand: WatcherStage
    ) -> None:
        by_hand.play.advance(10.0)
        lost = Seconds(by_hand.play.clock.monotonic() - 3.0)
        by_hand.hears(WatchFailed(target=TARGET, failure=FORBIDDEN, since=lost))
        assert by_hand.read().in_words() == "stale a=1 for 3 s"
        assert by_hand.now().current_until == EPOCH + 7

    def test_a_new_reference_has_a_failing_watch_tried_again(self, good: WatcherStage) -> None:
        good.watches.break_off()
        good.asked()
        good.refers(2, mark=2)
        assert good.asked() == ["list"]
        good.refers(3, mark=2)
        assert good.asked() == []
        good.reads()
        assert good.answers() == []
        good.watches.mend()
        good.play.settle()
        assert good.answers() == ["found a=1"]

    def test_a_reference_that_is_not_proven_when_the_watch_is_back_is_proven_then(
        self, good: WatcherStage
    ) -> None:
        good.watches.fail_lists(FailureKind.UNREACHABLE)
        good.refers(2, mark=2)
        good.reads(within=60.0)
        good.watches.break_off()
        good.play.advance(30.0)
        good.asked()
        good.watches.mend_and_resume()
        assert good.asked() == ["list", "watch"]
        assert begins_with(good) == "1"

    def test_an_immutable_object_needs_no_api_server(self, stage: WatcherStage) -> None:
        stage.store.add(secret(immutable=True, a="1"))
        stage.refers()
        stage.api.go_away()
        stage.hears(WatchFailed(target=TARGET, failure=FORBIDDEN))
        stage.play.advance(100.0)
        assert stage.read().in_words() == "found a=1"


class TestForbidden:
    def test_just_after_a_pod_was_bound_it_does_not_count(self, stage: WatcherStage) -> None:
        """Rule W17."""
        stage.store.add(secret(a="1"))
        stage.watches.break_off(FORBIDDEN)
        stage.refers()
        stage.reads()
        stage.play.advance(0.9)
        assert stage.answers() == []
        stage.watches.mend()
        stage.play.settle()
        assert stage.answers() == ["found a=1"]

    def test_it_counts_once_the_reference_is_older(self, stage: WatcherStage) -> None:
        stage.watches.break_off(FORBIDDEN)
        stage.refers()
        stage.reads(within=1.0)
        stage.reads(within=60.0)
        stage.play.advance(1.0)
        assert stage.answers() == ["not_synced"]
        stage.play.advance(3.9)
        assert stage.answers() == []
        stage.play.advance(0.1)
        assert stage.answers() == ["forbidden"]

        # From then on nobody waits.
        refused = stage.read()
        assert (refused.verdict, refused.reason) == (ReadVerdict.FORBIDDEN, FORBIDDEN.sentence)

    def test_a_new_reference_has_it_tried_again_and_waits(self, stage: WatcherStage) -> None:
        stage.watches.break_off(FORBIDDEN)
        stage.refers()
        stage.play.advance(6.0)
        assert stage.read().in_words() == "forbidden"
        stage.asked()
        stage.refers(2, mark=2)
        assert stage.asked() == ["list"]
        stage.reads()
        assert stage.answers() == []

    def test_what_is_known_is_served_all_the_same(self, good: WatcherStage) -> None:
        good.play.advance(10.0)
        good.watches.break_off(FORBIDDEN)
        good.play.advance(10.0)
        assert good.read().in_words() == "stale a=1 for 10 s"


class TestCrashes:
    def test_the_last_value_is_served_with_its_age_until_a_list_has_come(
        self, good: WatcherStage
    ) -> None:
        good.watches.hold_lists()
        good.crashes()
        good.play.advance(5.0)
        assert good.read().in_words() == "stale a=1 for 5.1 s"
        good.watches.release_lists()
        assert good.read().in_words() == "found a=1"
        assert good.news() == ["initialising", "synced"]

    def test_an_idle_object_stays_idle(self, good: WatcherStage) -> None:
        good.play.advance(61.0)
        good.crashes()
        assert not good.is_watched
        good.watches.hold_lists()
        assert good.read().in_words() == "stale a=1 for 1.2 s"

    def test_an_immutable_object_stays_what_it_is(self, stage: WatcherStage) -> None:
        stage.store.add(secret(immutable=True, a="1"))
        stage.refers()
        stage.crashes()
        assert not stage.is_watched
        assert stage.read().in_words() == "found a=1"

    def test_one_that_was_told_nothing_asks_for_nothing(self, stage: WatcherStage) -> None:
        stage.crashes()
        assert stage.asked() == []
        assert stage.news() == []

    def test_one_that_let_go_is_silent(self, good: WatcherStage) -> None:
        good.refers(0)
        good.asked()
        good.news()
        good.crashes()
        assert good.asked() == []
        assert good.news() == []
