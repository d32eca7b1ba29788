"""A watcher lets go: nobody references the object any more, or it is stopped itself."""

from __future__ import annotations

import pytest

from messages.holders import HolderDone, Mark
from messages.watches import ObjectOp
from tests.support.objects.watcher_stage import (
    WANTED,
    WatcherStage,
    listed,
    told,
    version,
)


@pytest.mark.rule("W1")
def test_who_comes_after_the_last_reference_went_begins_with_nothing(good: WatcherStage) -> None:
    good.refers(0)
    good.watches.hold_lists()
    good.refers(1, mark=2)
    good.reads()
    assert good.answers() == []
    good.watches.release_lists()
    assert good.news() == ["stopped", "done", "initialising", "synced: added a at first"]
    assert good.answers() == ["found a=1"]


def test_facts_that_were_under_way_when_it_let_go_are_nobodys_news(good: WatcherStage) -> None:
    good.refers(0)
    good.news()
    good.hears(listed(version(900, a="1"), at=900), told(ObjectOp.MODIFIED, version(901, a="2")))
    assert good.news() == []


def test_one_that_is_stopped_leaves_no_watch(stage: WatcherStage) -> None:
    stage.watches.hold_lists()
    stage.refers()
    assert stage.is_watched
    stage.play.system.stop()
    stage.play.settle()
    assert not stage.is_watched


@pytest.mark.parametrize("mark", [0, 1, 7])
def test_it_says_of_which_time_that_it_let_go(stage: WatcherStage, mark: int) -> None:
    stage.refers(3)
    stage.refers(0, mark=mark)
    stage.news()
    stage.refers(0, mark=mark)
    stage.play.settle()
    assert stage.manager.drain()[-1] == HolderDone(object=WANTED, newest=Mark(mark))


def test_it_lets_go_although_it_was_told_of_no_reference(stage: WatcherStage) -> None:
    stage.refers(0, mark=0)
    assert stage.news() == ["done"]
