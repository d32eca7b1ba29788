"""What the first read of a new pod is answered: nothing that is older than the reference of the pod."""

from __future__ import annotations

import pytest

from messages.api import FailureKind
from messages.holders import HolderIs, Mark, UnprovenUsed
from messages.objects import Change, ChangeMissed, ReadVerdict, UnprovenTaken
from messages.pods import PodUid
from messages.watches import ObjectOp
from tests.support.objects.watcher_stage import (
    WANTED,
    WHERE,
    WatcherStage,
    answered,
    listed,
    references,
    secret,
    told,
    version,
)


def test_it_waits_for_a_list_that_was_asked_for_after_the_reference(good: WatcherStage) -> None:
    # The watch lags, so it alone would show the old value.
    good.watches.pause()
    good.store.change(*WHERE, data={"a": "Mg=="})
    good.refers(2, mark=2)
    good.reads()
    assert good.answers() == []

    good.watches.resume()
    good.play.settle()
    assert good.answers() == ["found a=2"]
    assert good.news() == ["synced", "synced: modified a"]


def test_one_list_at_a_time_serves_them_all(good: WatcherStage) -> None:
    good.watches.hold_lists()
    good.refers(2, mark=2)
    good.refers(3, mark=3)
    good.refers(4, mark=4)
    assert good.asked() == ["list"]

    # The next is asked for once the first has come, and then for all that came meanwhile.
    good.watches.release_lists()
    assert good.asked() == ["list"]
    assert good.read().in_words() == "found a=1"
    assert good.asked() == []


def test_a_reference_during_the_first_list_has_a_list_of_its_own(stage: WatcherStage) -> None:
    stage.watches.hold_lists(are_carried_out=True)
    stage.refers()
    stage.refers(2, mark=2)
    stage.reads()
    assert stage.asked() == ["list"]
    stage.watches.release_lists()
    assert stage.asked() == ["watch", "list"]
    assert stage.answers() == ["not_found"]


def test_a_list_that_is_older_than_the_watch_only_proves_the_mark(by_hand: WatcherStage) -> None:
    by_hand.hears(references(2, mark=2))
    by_hand.reads()
    by_hand.hears(told(ObjectOp.MODIFIED, version(15, a="3")))
    by_hand.hears(answered(version(12, a="2"), at=12, mark=2))
    assert by_hand.answers() == ["found a=3"]
    assert by_hand.news() == ["synced", "synced: modified a"]


def test_an_empty_list_that_is_older_than_the_watch_takes_nothing_away(
    by_hand: WatcherStage,
) -> None:
    by_hand.hears(references(2, mark=2), told(ObjectOp.MODIFIED, version(15, a="3")))
    by_hand.hears(answered(at=14, mark=2))
    assert by_hand.read().in_words() == "found a=3"


def test_a_list_that_is_newer_than_the_watch_is_told_and_its_events_are_repeats(
    by_hand: WatcherStage,
) -> None:
    by_hand.hears(references(2, mark=2))
    by_hand.hears(answered(version(12, a="2"), at=14, mark=2))
    by_hand.hears(told(ObjectOp.MODIFIED, version(12, a="2")))
    assert by_hand.news() == ["synced", "synced: modified a"]


def test_an_older_list_of_the_watch_does_not_undo_it(by_hand: WatcherStage) -> None:
    """A relist was asked for before the reference, and comes after the list of its mark."""
    by_hand.hears(references(2, mark=2))
    by_hand.hears(answered(version(12, a="2"), at=14, mark=2))
    by_hand.asked()
    by_hand.hears(listed(version(10, a="1"), at=11, mark=1))
    assert by_hand.asked() == ["list"]
    assert by_hand.read().in_words() == "stale a=2 for 0 s"

    # What is asked for from here on counts, whatever its version is.
    by_hand.hears(listed(version(8, a="0"), at=9, mark=2))
    assert by_hand.read().in_words() == "found a=0"


def test_a_list_from_before_the_last_one_means_that_etcd_was_restored(
    by_hand: WatcherStage,
) -> None:
    by_hand.hears(references(2, mark=2))
    by_hand.reads()
    by_hand.asked()
    by_hand.hears(answered(version(3, a="0"), at=5, mark=2))
    assert by_hand.asked() == ["list"]
    assert by_hand.answers() == []
    by_hand.hears(listed(version(3, a="0"), at=6, mark=2))
    assert by_hand.answers() == ["found a=0"]


def test_a_read_is_answered_with_the_last_value_when_no_list_comes_in_time(
    good: WatcherStage,
) -> None:
    good.play.advance(10.0)
    good.watches.hold_lists()
    good.refers(2, mark=2)
    good.reads(within=3.0)
    good.play.advance(2.9)
    assert good.answers() == []
    good.play.advance(0.1)
    assert good.answers() == ["unproven a=1"]


def test_a_list_that_fails_is_asked_for_again_and_again(good: WatcherStage) -> None:
    good.watches.fail_lists(FailureKind.SERVER_ERROR, times=3)
    good.refers(2, mark=2)
    good.reads()
    assert good.asked() == ["list"]
    assert "server_error" in good.now().error

    good.play.advance(0.1)
    assert good.asked() == ["list"]
    good.play.advance(0.2)
    assert good.asked() == ["list"]
    assert good.answers() == []
    good.play.advance(0.4)
    assert good.asked() == ["list"]
    assert good.answers() == ["found a=1"]
    assert good.now().error == ""
    good.play.advance(10.0)
    assert good.asked() == []


def test_lists_that_fail_for_long_are_five_seconds_apart(good: WatcherStage) -> None:
    good.watches.fail_lists(FailureKind.THROTTLED, times=1000)
    good.refers(2, mark=2, is_followed=True)
    good.play.advance(20.0)
    good.asked()
    good.play.advance(50.0)
    assert good.asked() == ["list"] * 10


def test_a_list_that_is_never_answered_is_asked_for_again(good: WatcherStage) -> None:
    good.watches.hold_lists()
    good.refers(2, mark=2, is_followed=True)
    good.asked()
    good.play.advance(69.0)
    assert good.asked() == []
    good.play.advance(2.0)
    assert good.asked() == ["list"]


def test_an_answer_that_comes_after_it_was_given_up_is_ignored(by_hand: WatcherStage) -> None:
    by_hand.hears(references(2, mark=2), answered(at=9, mark=1), answered(at=20, mark=3))
    by_hand.reads()
    assert by_hand.answers() == []


def test_a_new_list_of_the_watch_has_the_other_asked_for_again(by_hand: WatcherStage) -> None:
    """The keeper of watches came back after a crash, and knows nothing of lists."""
    by_hand.hears(references(2, mark=2))
    by_hand.asked()
    by_hand.hears(listed(version(10, a="1"), at=12, mark=1))
    assert by_hand.asked() == ["list"]


@pytest.mark.parametrize("immutable", [False, True], ids=["mutable", "immutable"])
def test_a_failing_check_leaves_the_last_value(stage: WatcherStage, *, immutable: bool) -> None:
    stage.store.add(secret(immutable=immutable, a="1"))
    stage.refers()
    stage.play.advance(4.0)
    stage.watches.fail_lists(FailureKind.UNREACHABLE, times=1000)
    stage.refers(2, mark=2)
    stage.reads()
    stage.play.advance(1.0)
    assert stage.answers() == ["unproven a=1"]


# --- what nobody could prove in time --------------------------------------------------------------------


def used(mark: int, version: str) -> UnprovenUsed:
    """Return that the pod of a mark goes on with a version."""
    taken = UnprovenTaken(
        pod=PodUid("web"), object=WANTED, verdict=ReadVerdict.FOUND, resource_version=version
    )
    return UnprovenUsed(taken=taken, mark=Mark(mark))


def test_a_pod_that_goes_on_with_what_nobody_could_prove_is_concerned_by_the_next_change(
    by_hand: WatcherStage,
) -> None:
    by_hand.hears(references(2, mark=2), used(mark=2, version="10"))
    by_hand.manager.drain()
    by_hand.hears(told(ObjectOp.MODIFIED, version(15, a="3")))
    (news,) = [fact for fact in by_hand.manager.drain() if isinstance(fact, HolderIs)]
    assert (news.changed is not None, news.concerns) == (True, 2)


def test_a_change_that_was_told_before_it_was_known_what_a_pod_goes_on_with_is_told_for_it(
    by_hand: WatcherStage,
) -> None:
    by_hand.hears(references(2, mark=2), told(ObjectOp.MODIFIED, version(15, a="3")))
    by_hand.manager.drain()
    by_hand.hears(used(mark=2, version="15"))
    assert by_hand.manager.drain() == []
    by_hand.hears(used(mark=2, version="10"))
    (missed,) = by_hand.manager.drain()
    assert isinstance(missed, ChangeMissed)
    assert (missed.pod, missed.changed.keys) == ("web", ("a",))
    assert (missed.changed.resource_version, missed.changed.change) == ("15", Change.MODIFIED)
