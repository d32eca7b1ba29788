"""Holders come and go: nothing is held that nobody needs, and nothing that somebody needs is let go of."""

from __future__ import annotations

import pytest

from messages.holders import HolderDone, Mark
from messages.objects import (
    ReadVerdict,
    RegisterPod,
    UnregisterPod,
)
from messages.pods import API
from tests.support.objects.manager_players import changed, holder_key, needing, news_of, secret
from tests.support.objects.manager_stage import ManagerStage, manager_stage

DB = secret("db")
WEB, SHOP = needing("web", "db"), needing("shop", "db", "tls")
LET_GO = HolderDone(object=DB, newest=Mark(1))


def test_a_holder_is_stopped_once_it_has_let_go_and_not_before(slow: ManagerStage) -> None:
    slow.serves(API, WEB)
    slow.serves(API)
    assert slow.heard(DB) == ["1 at 1", "none"]
    assert slow.holders() == ["objects/secrets/default/db"]
    slow.says(LET_GO)
    assert slow.holders() == []


def test_a_holder_that_first_hears_that_nobody_needs_it_hears_whose_mark_it_missed(
    slow: ManagerStage,
) -> None:
    # What it was told first may wait in its mailbox, and is replaced by what it is told next.
    slow.serves(API, WEB)
    slow.serves(API)
    assert [heard.newest for heard in slow.records[DB].heard] == [1, 1]


def test_a_reference_that_comes_while_a_holder_lets_go_is_told_when_it_has(
    slow: ManagerStage,
) -> None:
    slow.serves(API, WEB)
    slow.serves(API)
    slow.heard(DB)

    # One that follows it waits too: the holder would say that it is not registered.
    slow.serves(API, SHOP)
    slow.begins_to_read(SHOP, "db")
    assert slow.answers() == []
    assert slow.heard(DB) == []

    slow.says(LET_GO)
    assert slow.heard(DB)[0] == "1 at 2, followed"
    (answer,) = slow.answers()
    assert (answer.verdict, answer.is_fresh) == (ReadVerdict.FOUND, True)
    assert slow.records[DB].lives == 1
    assert slow.made == ["db", "tls"]


def test_who_waits_for_a_holder_that_is_not_needed_any_more_is_told_so(slow: ManagerStage) -> None:
    slow.serves(API, WEB)
    slow.serves(API)
    slow.serves(API, SHOP)
    slow.begins_to_read(SHOP, "db")
    slow.serves(API)
    slow.says(LET_GO)
    (answer,) = slow.answers()
    assert answer.verdict is ReadVerdict.NOT_REGISTERED


def test_references_that_come_and_go_while_a_holder_lets_go_are_not_told(
    slow: ManagerStage,
) -> None:
    slow.serves(API, WEB)
    slow.serves(API)
    slow.heard(DB)
    slow.serves(API, WEB)
    slow.serves(API)
    assert slow.heard(DB) == []
    slow.says(LET_GO)
    assert slow.holders() == []


def test_a_holder_that_says_it_let_go_of_what_is_referenced_goes_on(manager: ManagerStage) -> None:
    manager.serves(API, WEB)
    manager.says(LET_GO)
    assert manager.holders() == ["objects/secrets/default/db"]
    assert manager.heard(DB) == ["1 at 1"]


def test_a_holder_that_says_so_after_it_was_stopped_troubles_nobody(manager: ManagerStage) -> None:
    manager.serves(API, WEB)
    manager.serves(API)
    manager.tell(LET_GO, news_of(changed(DB)))
    assert manager.holders() == []
    assert manager.described().objects == ()


def test_a_word_of_an_earlier_letting_go_stops_nobody(slow: ManagerStage) -> None:
    slow.serves(API, WEB)
    slow.serves(API)
    # The manager crashes, and tells the holder once more: so there are two answers.
    slow.crashes()
    slow.serves(API, SHOP)
    slow.says(LET_GO)
    slow.serves(API)
    assert slow.heard(DB) == ["1 at 1", "none", "none", "1 at 2", "none"]

    slow.says(LET_GO)
    assert slow.holders() == ["objects/secrets/default/db", "objects/secrets/default/tls"]
    slow.says(HolderDone(object=DB, newest=Mark(2)))
    assert slow.holders() == ["objects/secrets/default/tls"]


def test_a_holder_in_backoff_lets_go_before_it_is_stopped(manager: ManagerStage) -> None:
    manager.serves(API, WEB)
    manager.play.system.crash(holder_key(DB).path)
    manager.serves(API)
    assert manager.holders() == ["objects/secrets/default/db"]
    manager.play.advance(1.0)
    assert manager.records[DB].lives == 2
    assert manager.heard(DB) == ["1 at 1", "none"]
    assert manager.holders() == []


@pytest.mark.parametrize("seed", range(30))
def test_an_object_that_is_referenced_anew_while_its_holder_stops_is_held(seed: int) -> None:
    register, unregister = RegisterPod(pod=WEB), UnregisterPod(pod=WEB.uid)
    with manager_stage(seed=seed) as manager:
        # Whichever of its two lives hears what is told in between, the last one knows it.
        manager.tells_at_random(register, unregister, register)
        assert manager.holders() == ["objects/secrets/default/db"]
        assert manager.counts() == {"db": 1}
        assert manager.reads(WEB, "db").verdict is ReadVerdict.FOUND


def test_a_holder_that_was_stopped_long_ago_is_made_anew(manager: ManagerStage) -> None:
    manager.serves(API, WEB)
    manager.serves(API)
    # It may still be stopping: the next one has to know what this one may hear.
    manager.serves(API, WEB)
    manager.serves(API)
    assert manager.made == ["db"]
    manager.play.advance(20.0)
    manager.serves(API, WEB)
    assert manager.made == ["db", "db"]


def test_others_that_came_and_went_do_not_shorten_how_long_one_is_remembered(
    manager: ManagerStage,
) -> None:
    manager.serves(API, WEB)
    manager.serves(API)
    manager.serves(API, WEB)
    manager.play.advance(0.5)
    manager.serves(API)
    manager.serves(API, WEB)
    manager.play.advance(9.3)
    manager.serves(API)
    manager.play.advance(9.9)
    manager.serves(API, WEB)
    assert manager.made == ["db"]


def test_what_was_stopped_is_not_remembered_for_long(manager: ManagerStage) -> None:
    memory = manager.memory.api
    manager.serves(API, SHOP)
    manager.serves(API, WEB)
    manager.play.advance(5.0)
    manager.serves(API)
    assert len(memory.stopped) == 2
    manager.crashes()
    manager.play.advance(20.0)
    assert (memory.holders, memory.stopped, memory.stopped_before) == ({}, {}, {})
