"""What is not watched although pods reference it: what nobody reads, and what cannot change."""

from __future__ import annotations

import pytest

from messages.objects import ObjectState
from messages.pods import JsonObject
from messages.watches import ObjectOp, WatchEvent
from tests.support.kernel.clock import EPOCH
from tests.support.objects.watcher_stage import (
    WHERE,
    WatcherStage,
    listed,
    references,
    secret,
    told,
    version,
)

# --- idleness -----------------------------------------------------------------------------------------


def test_what_nobody_reads_is_idle_a_full_limit_after_its_registration(good: WatcherStage) -> None:
    """Rules W8 and W10; quirk K22: a kubelet stops it at the first look."""
    good.play.advance(59.0)
    assert good.is_watched
    good.play.advance(1.1)
    assert not good.is_watched
    assert good.news() == ["idle"]
    assert good.now().current_until == pytest.approx(EPOCH + 60.0, abs=0.01)


def test_an_idle_object_is_answered_at_once_and_watched_again(good: WatcherStage) -> None:
    """Quirk K25: a kubelet makes the reader wait for a new list, and serve nothing else."""
    good.read()
    good.play.advance(90.0)
    assert not good.is_watched

    good.watches.hold_lists()
    assert good.read().in_words() == "stale a=1 for 30 s"
    assert good.is_watched
    good.watches.release_lists()
    assert good.read().in_words() == "found a=1"


def test_reads_keep_an_object_awake(good: WatcherStage) -> None:
    good.asked()
    good.play.advance(50.0)
    good.read()
    good.play.advance(50.0)
    good.read()
    good.play.advance(50.0)
    assert good.is_watched
    assert good.asked() == []


def test_what_changed_while_it_was_idle_is_told(good: WatcherStage) -> None:
    good.play.advance(61.0)
    good.store.change(*WHERE, data={"a": "Mg=="})
    assert good.news() == ["idle"]
    good.reads()
    assert good.news() == ["initialising", "synced: modified a"]


def test_what_is_followed_is_never_idle(good: WatcherStage) -> None:
    good.refers(is_followed=True)
    good.play.advance(600.0)
    assert good.is_watched

    # From when the last follower goes it has the full limit.
    good.refers(is_followed=False)
    good.play.advance(59.0)
    assert good.is_watched
    good.play.advance(2.0)
    assert not good.is_watched


@pytest.mark.parametrize("why", [references(is_followed=True), references(2, mark=2)])
def test_an_idle_object_is_watched_again_when_it_is_needed(good: WatcherStage, why: object) -> None:
    good.play.advance(61.0)
    good.hears(why)  # type: ignore[arg-type]  # pytest's parameters are objects
    assert good.is_watched


def test_an_idle_object_that_there_was_none_of_is_answered_with_its_age(
    stage: WatcherStage,
) -> None:
    stage.refers()
    stage.play.advance(70.0)
    stage.watches.hold_lists()
    assert stage.read().in_words() == "not_found for 10 s"
    stage.watches.release_lists()
    assert stage.read().in_words() == "not_found"


def test_a_read_that_waits_keeps_an_object_from_becoming_idle(good: WatcherStage) -> None:
    good.watches.hold_lists()
    good.refers(2, mark=2)
    good.reads(within=100.0)
    good.play.advance(90.0)
    assert good.is_watched
    good.play.advance(11.0)
    assert not good.is_watched


# --- immutable objects --------------------------------------------------------------------------------


def test_an_immutable_object_is_watched_no_longer_as_soon_as_it_is_seen(
    stage: WatcherStage,
) -> None:
    """A kubelet goes on until somebody reads it (rule W7)."""
    stage.store.add(secret(immutable=True, a="1"))
    stage.refers()
    assert not stage.is_watched
    assert stage.news() == ["initialising", "immutable: added a at first"]
    stage.play.advance(600.0)
    assert stage.read().in_words() == "found a=1"
    assert stage.now().state is ObjectState.IMMUTABLE


@pytest.mark.parametrize(
    ("before", "event"),
    [
        ((), told(ObjectOp.ADDED, version(12, a="2"))),
        ((), told(ObjectOp.ADDED, version(12, immutable=True, a="2"))),
        ((version(10, a="1"),), told(ObjectOp.MODIFIED, version(12, a="2"))),
        ((version(10, a="1"),), told(ObjectOp.MODIFIED, version(12, immutable=True, a="2"))),
    ],
    ids=["made mutable", "made immutable", "changed", "becomes immutable"],
)
def test_only_what_is_immutable_is_watched_no_longer(
    silent: WatcherStage, before: tuple[JsonObject, ...], event: WatchEvent
) -> None:
    silent.hears(references(), listed(*before, at=11))
    assert silent.is_watched
    silent.hears(event)
    assert silent.is_watched is not event.object.get("immutable", False)
    assert silent.read().in_words() == "found a=2"


def test_an_immutable_object_is_listed_once_for_each_new_reference(stage: WatcherStage) -> None:
    stage.store.add(secret(immutable=True, a="1"))
    stage.refers()
    stage.asked()
    stage.refers(2, mark=2)
    assert stage.read().in_words() == "found a=1"
    assert stage.asked() == ["list"]
    assert not stage.is_watched


def test_an_immutable_object_is_known_as_of_the_last_look_at_it(stage: WatcherStage) -> None:
    stage.store.add(secret(immutable=True, a="1"))
    stage.refers()
    stage.play.advance(100.0)
    assert stage.now().current_until == EPOCH
    # Who reads it does not care: it says that it does not change.
    assert stage.read().in_words() == "found a=1"

    stage.refers(2, mark=2)
    stage.play.advance(50.0)
    assert stage.now().current_until == EPOCH + 100


def test_an_immutable_object_that_was_made_anew_is_replaced(stage: WatcherStage) -> None:
    """Quirk K23: a kubelet serves the old one as long as anybody references it."""
    stage.store.add(secret(immutable=True, a="1"))
    stage.refers()
    stage.store.remove(*WHERE)
    stage.store.add(secret(immutable=True, a="2"))
    assert stage.read().in_words() == "found a=1"
    stage.news()

    stage.refers(2, mark=2)
    assert stage.news() == ["immutable", "immutable: modified a"]
    assert stage.read().in_words() == "found a=2"
    assert not stage.is_watched


def test_an_immutable_object_that_was_made_anew_as_a_mutable_one_is_watched(
    stage: WatcherStage,
) -> None:
    stage.store.add(secret(immutable=True, a="1"))
    stage.refers()
    stage.store.remove(*WHERE)
    stage.store.add(secret(a="2"))
    stage.refers(2, mark=2)
    assert stage.is_watched
    stage.store.change(*WHERE, data={"a": "Mw=="})
    assert stage.read().in_words() == "found a=3"


def test_an_immutable_object_that_is_gone_is_watched_for_its_return(stage: WatcherStage) -> None:
    stage.store.add(secret(immutable=True, a="1"))
    stage.refers()
    stage.store.remove(*WHERE)
    stage.news()
    stage.refers(2, mark=2)
    assert stage.news()[:2] == ["immutable", "initialising: deleted a"]
    assert stage.read().in_words() == "not_found"
    stage.store.add(secret(a="2"))
    assert stage.read().in_words() == "found a=2"


def test_what_was_under_way_when_an_immutable_object_was_let_alone_is_heard(
    silent: WatcherStage,
) -> None:
    silent.hears(
        references(),
        listed(version(10, immutable=True, a="1"), at=10),
        told(ObjectOp.DELETED, version(11, immutable=True, a="1")),
    )
    assert silent.is_watched
    assert silent.read().in_words() == "not_found for 0 s"
