"""The manager, its holders and PodManager crash: nothing is let go of by that, and no change is lost."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from actors.objects.manager_parts import OBJECT_HOLDERS
from actors.pod_manager import POD_MANAGER
from kernel import ChildSpec, StopChild
from messages.objects import (
    FollowObjects,
    ObjectFact,
    ReadVerdict,
    RegisterPod,
)
from messages.pods import API, FILE
from stores.objects.reference_index import ReferenceIndex
from tests.support.kernel.probe import Probe
from tests.support.objects.manager_players import changed, holder_key, needing, news_of, secret
from tests.support.objects.manager_stage import ManagerStage

DB, TLS = secret("db"), secret("tls")
WEB, SHOP = needing("web", "db"), needing("shop", "db", "tls")


def test_a_manager_that_crashes_adopts_the_holders_that_live(manager: ManagerStage) -> None:
    manager.serves(API, WEB, SHOP)
    manager.tell(RegisterPod(pod=needing("third", "db")))
    manager.heard(DB)
    manager.crashes()
    assert {wanted.name: record.lives for wanted, record in manager.records.items()} == {
        "db": 1,
        "tls": 1,
    }
    # What was said last is repeated, and nothing else: nobody had been gone in between.
    assert manager.heard(DB) == ["3 at 4"]
    assert manager.counts() == {"db": 3, "tls": 1}
    assert manager.made == ["db", "tls"]
    assert manager.files.asked == 2


def test_a_holder_that_a_manager_crashed_before_it_started_is_started_by_the_next_life(
    manager: ManagerStage,
) -> None:
    manager.serves(API, WEB)
    manager.play.tell(OBJECT_HOLDERS, StopChild(path=holder_key(DB).path))
    assert manager.holders() == []
    manager.crashes()
    assert manager.holders() == [holder_key(DB).path]
    assert manager.counts() == {"db": 1}


def test_a_holder_lets_go_though_a_life_of_the_manager_crashed_before_it_said_so(
    manager: ManagerStage,
) -> None:
    manager.serves(API, WEB)
    manager.play.system.crash(manager.key.path)
    manager.play.settle()
    manager.serves(API)
    ReferenceIndex(manager.kind, manager.memory.references).replace(API, ())  # noted, and not told
    manager.play.advance(1.0)
    assert manager.counts() == {}
    assert manager.holders() == []


def test_who_follows_a_value_no_more_is_forgotten_though_a_life_crashed_over_that(
    manager: ManagerStage,
) -> None:
    manager.serves(API, WEB)
    manager.memory.wanted[DB] = 1  # the message that took it away was lost
    manager.crashes()
    assert not manager.records[DB].references.is_followed
    assert manager.records[DB].references.wanted == 0


def test_a_manager_that_crashes_learns_what_it_missed(manager: ManagerStage) -> None:
    manager.serves(API, WEB, SHOP)
    manager.play.system.crash(manager.key.path)
    manager.play.settle()
    manager.serves(API, WEB)
    manager.play.advance(1.0)
    assert manager.counts() == {"db": 1}


def test_a_registration_that_was_interrupted_is_finished_by_the_next_life(
    manager: ManagerStage,
) -> None:
    fails = Fails()
    manager.endanger = fails.once
    manager.tell(RegisterPod(pod=SHOP))
    manager.play.advance(1.0)
    assert [ended.error for ended in manager.play.endings] == ["RuntimeError: no spec today"]
    assert manager.counts() == {"db": 1, "tls": 1}
    manager.play.endings.clear()


def test_marks_go_on_after_a_crash(manager: ManagerStage) -> None:
    manager.serves(API, WEB)
    manager.crashes()
    manager.heard(DB)
    manager.serves(API, WEB, needing("other", "db"))
    assert manager.heard(DB) == ["2 at 2"]


def test_subscribers_and_news_outlive_a_crash(manager: ManagerStage) -> None:
    manager.serves(API, WEB)
    follower = manager.follower()
    manager.says(news_of(changed(DB, "2")))
    described = manager.described().objects
    manager.crashes()
    assert manager.described().objects == described
    manager.says(news_of(changed(DB, "3")))
    assert follower.heard() == ["modified db at 2", "modified db at 3"]
    # A holder that crashed as well repeats what it had told.
    manager.says(news_of(changed(DB, "3")))
    assert follower.heard() == []


def test_a_change_whose_telling_was_interrupted_is_told_again(manager: ManagerStage) -> None:
    manager.serves(API, needing("web", "db", hook="restart"))
    first, grenade, last = manager.follower(), Grenade(), Probe[ObjectFact]()
    manager.tell(FollowObjects(subscriber=grenade), FollowObjects(subscriber=last))
    manager.says(news_of(changed(DB)))
    last.expect_silence()
    manager.play.advance(1.0)
    assert len(last.drain()) == 2
    assert first.heard() == ["modified db at 2", "web: restart"] * 2
    assert manager.memory.outbox == []
    assert [ended.error for ended in manager.play.endings] == ["RuntimeError: the pin is out"]
    manager.play.endings.clear()


def test_a_change_that_can_never_be_told_is_tried_twice(manager: ManagerStage) -> None:
    manager.serves(API, WEB)
    manager.tell(FollowObjects(subscriber=Grenade(pins=2)))
    manager.says(news_of(changed(DB)))
    manager.play.advance(5.0)
    assert len(manager.play.endings) == 2
    assert manager.counts() == {"db": 1}
    manager.play.endings.clear()


def test_a_holder_that_had_let_go_when_the_manager_crashed_is_stopped(slow: ManagerStage) -> None:
    slow.serves(API, WEB)
    slow.serves(API)
    slow.records[DB].takes_its_time = False
    # Its word, if it gave it, is lost: so it is asked once more.
    slow.crashes()
    assert slow.heard(DB) == ["1 at 1", "none", "none"]
    assert slow.holders() == []


def test_a_pod_manager_that_crashes_has_nobody_let_go(manager: ManagerStage) -> None:
    manager.serves(API, WEB)
    manager.serves(FILE, needing("static", "db", source=FILE))
    manager.heard(DB)
    manager.sources[API].is_silent = manager.sources[FILE].is_silent = True
    manager.crashes(POD_MANAGER)
    assert manager.counts() == {"db": 1}
    # It lists anew, and one source after the other: what is the same is no news.
    manager.serves(FILE, needing("static", "db", source=FILE))
    manager.serves(API, WEB)
    assert manager.heard(DB) == []
    manager.serves(API)
    assert manager.holders() == []
    assert len(manager.described().objects) == 1


def test_a_holder_that_crashes_is_no_other_s_trouble(manager: ManagerStage) -> None:
    manager.serves(API, SHOP)
    manager.crashes(holder_key(DB))
    assert (manager.records[DB].lives, manager.records[TLS].lives) == (2, 1)
    assert manager.reads(SHOP, "db").verdict is ReadVerdict.FOUND


class Fails:
    """Nobody can be made at first."""

    def __init__(self) -> None:
        self._has_failed = False

    def once(self, spec: ChildSpec[Any]) -> ChildSpec[Any]:
        """Return ``spec``; raises the first time."""
        if not self._has_failed:
            self._has_failed = True
            raise RuntimeError("no spec today")
        return spec


class Grenade(Probe[ObjectFact]):
    """A subscriber whose port raises at first."""

    def __init__(self, pins: int = 1) -> None:
        super().__init__()
        self._pins = pins

    @override
    def tell(self, message: ObjectFact, /) -> None:
        if self._pins:
            self._pins -= 1
            raise RuntimeError("the pin is out")
        super().tell(message)
