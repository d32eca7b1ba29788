"""A watcher between those who read a Secret and the API server: what it learns, and when."""

from __future__ import annotations

import pytest

from kernel import Runtime
from messages.objects import ObjectState
from messages.watches import ObjectOp
from tests.support.objects.watcher_stage import (
    KEY,
    RULES,
    WHERE,
    WatcherStage,
    listed,
    object_id,
    references,
    secret,
    told,
    version,
    watcher_stage,
)

# --- what it learns -----------------------------------------------------------------------------------


def test_it_asks_for_nothing_until_somebody_references_the_object(stage: WatcherStage) -> None:
    assert stage.asked() == []
    assert stage.news() == []


def test_what_happens_at_the_api_server_is_what_is_read(stage: WatcherStage) -> None:
    stage.refers()
    answer = stage.read()
    assert (answer.in_words(), answer.reason) == ("not_found", "there is no Secret shop/s1")

    stage.store.add(secret(a="1"))
    assert stage.read().in_words() == "found a=1"

    stage.store.remove(*WHERE)
    assert stage.read().in_words() == "not_found"


def test_one_list_and_one_watch_serve_all_references(stage: WatcherStage) -> None:
    """Rules W1 and W12. A new reference has its own list, for its freshness."""
    stage.hears(*(references(count % 2 + 1) for count in range(20)))
    assert stage.asked() == ["list", "watch"]
    stage.refers(0)
    assert not stage.is_watched


def test_changes_are_told_with_their_keys_and_never_with_values(stage: WatcherStage) -> None:
    stage.store.add(secret(a="canary", b="2"))
    stage.refers()
    assert stage.news() == ["initialising", "synced: added a b at first"]

    stage.store.change(*WHERE, data={"a": "Mg==", "b": None, "c": ""})
    assert stage.news() == ["synced: modified a b c"]

    stage.store.change(*WHERE, metadata={"labels": {"app": "web"}})
    assert stage.news() == ["synced: modified"]

    stage.store.remove(*WHERE)
    assert stage.news() == ["absent: deleted a c"]
    stage.store.add(secret(a="1"))
    assert stage.news() == ["synced: added a"]


def test_that_there_is_none_is_learned_before_one_is_added(stage: WatcherStage) -> None:
    stage.refers()
    assert stage.news() == ["initialising", "absent"]
    assert stage.now().is_known
    stage.store.add(secret(a="1"))
    assert stage.news() == ["synced: added a"]


def test_what_there_is_none_of_is_shown_as_absent_also_when_nobody_reads_it(
    stage: WatcherStage,
) -> None:
    stage.refers()
    stage.play.advance(RULES.idle_limit)
    assert stage.news() == ["initialising", "absent", "absent"]
    assert not stage.is_watched
    assert stage.now().current_until is not None

    # Who asks is answered at once, and has it looked for: it is there by now.
    stage.store.add(secret(a="1"))
    stage.reads()
    assert stage.news() == ["initialising", "synced: added a"]


def test_what_came_and_cannot_be_used_is_not_absent(stage: WatcherStage) -> None:
    stage.refers()
    assert stage.news() == ["initialising", "absent"]
    stage.store.add({**secret(), "data": {"a": "%"}})
    assert stage.news() == ["synced"]
    assert "base64" in stage.now().error


def test_no_repr_of_what_it_tells_or_remembers_shows_a_value(good: WatcherStage) -> None:
    good.store.change(*WHERE, data={"a": "Y2FuYXJ5"})  # canary
    answer = good.read()
    assert answer.in_words() == "found a=canary"
    shown = repr((answer, good.manager.drain(), good.memory))
    assert "canary" not in shown
    assert "Y2FuYXJ5" not in shown


def test_a_list_without_news_tells_nothing(good: WatcherStage) -> None:
    """410, or the keeper of watches came back: the relist shows what is known."""
    good.watches.mend()
    assert good.asked() == ["list", "watch"]
    assert good.news() == []


def test_one_that_was_made_anew_between_two_looks_is_modified_with_another_uid(
    good: WatcherStage,
) -> None:
    before = good.read().value
    good.watches.break_off()
    good.store.remove(*WHERE)
    good.store.add(secret(a="1"))
    good.watches.mend()
    assert good.news() == ["synced", "synced: modified", "synced"]
    after = good.read().value
    assert before is not None
    assert after is not None
    assert before.uid != after.uid


def test_events_that_come_again_after_a_reconnect_change_nothing(silent: WatcherStage) -> None:
    silent.hears(
        references(),
        listed(version(10, a="1"), at=12),
        told(ObjectOp.MODIFIED, version(13, a="2")),
        told(ObjectOp.DELETED, version(14, a="2")),
        told(ObjectOp.ADDED, version(15, uid="u2", a="3")),
    )
    silent.news()
    silent.hears(
        told(ObjectOp.MODIFIED, version(13, a="2")),
        told(ObjectOp.DELETED, version(14, a="2")),
        told(ObjectOp.ADDED, version(15, uid="u2", a="3")),
    )
    assert silent.news() == []
    assert silent.read().in_words() == "found a=3"


def test_a_list_of_the_watch_counts_although_its_version_is_lower(silent: WatcherStage) -> None:
    """etcd was restored from a backup."""
    silent.hears(references(), listed(version(500, a="new"), at=500))
    silent.hears(listed(version(20, a="old"), at=30))
    assert silent.read().in_words() == "found a=old"
    silent.hears(told(ObjectOp.MODIFIED, version(31, a="newer")))
    assert silent.read().in_words() == "found a=newer"


# --- slow lists ---------------------------------------------------------------------------------------


@pytest.mark.rule("W3", "W4")
def test_a_read_waits_for_the_first_list_and_is_answered_by_it(stage: WatcherStage) -> None:
    stage.store.add(secret(a="1"))
    stage.watches.hold_lists()
    stage.refers()
    stage.reads()
    stage.play.advance(0.5)
    assert stage.answers() == []
    stage.watches.release_lists()
    stage.play.settle()
    assert stage.answers() == ["found a=1"]


@pytest.mark.rule("W4")
def test_events_do_not_stand_for_the_first_list(silent: WatcherStage) -> None:
    silent.refers()
    silent.hears(told(ObjectOp.ADDED, version(5, a="1")))
    silent.reads()
    assert silent.answers() == []
    assert silent.now().state is ObjectState.INITIALISING


@pytest.mark.rule("W8")
def test_a_first_list_that_takes_long_is_never_given_up(stage: WatcherStage) -> None:
    stage.store.add(secret(a="1"))
    stage.watches.hold_lists()
    stage.refers()
    stage.play.advance(90.0)
    stage.reads()
    stage.play.advance(1.0)
    (answer,) = stage.answered()
    assert (answer.in_words(), answer.reason) == (
        "not_synced",
        "Secret shop/s1 was not listed in time",
    )
    stage.play.advance(30.0)
    assert stage.is_watched
    stage.watches.release_lists()
    assert stage.read().in_words() == "found a=1"


def test_it_says_again_how_the_object_is_held_when_it_is_told_of_references(
    good: WatcherStage,
) -> None:
    """The manager may have crashed over what it was told."""
    good.refers(2)
    assert good.news() == ["synced"]


def test_an_object_whose_name_cannot_exist_is_never_asked_for(runtime: Runtime) -> None:
    """Pods may name what the API server would refuse, and the name must not get into a selector."""
    with watcher_stage(runtime, wanted=object_id(name="a,metadata.name!=b")) as stage:
        stage.refers()
        assert stage.read().in_words() == "not_found"
        stage.refers(2, mark=2)
        answer = stage.read()
        assert (answer.in_words(), answer.reason) == ("not_found", "no object can have this name")
        assert stage.now().error == "no object can have this name"
        assert stage.now().state is ObjectState.ABSENT
        assert stage.asked() == []


def test_its_address_is_the_object() -> None:
    assert KEY.path == "objects/secrets/shop/s1"
    assert KEY.role == "objects"
