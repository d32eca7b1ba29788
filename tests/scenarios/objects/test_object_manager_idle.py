"""Holders of objects that nobody reads are stopped, and started again when somebody needs the object."""

from __future__ import annotations

import pytest

from actors.objects.manager_parts import OBJECT_HOLDERS
from kernel import StartChild
from messages.holders import HolderBegan, HolderIdle, HolderIs, LocalHolderFact
from messages.objects import FollowObjects, ObjectId, ObjectState, ReadVerdict
from messages.pods import API, FILE
from tests.support.objects.manager_players import held, holder_key, needing, secret
from tests.support.objects.manager_stage import ManagerStage

DB, TLS = secret("db"), secret("tls")
WEB = needing("web", "db")
SHOP = needing("shop", "db")
IDLE = HolderIs(described=held(DB, state=ObjectState.IDLE))
IS_IDLE = HolderIdle(object=DB)
HOLDER = holder_key(DB).path


@pytest.fixture
def manager(manager: ManagerStage) -> ManagerStage:
    """Return a manager whose pod needs a Secret."""
    manager.serves(API, WEB)
    return manager


@pytest.fixture
def idle(manager: ManagerStage) -> ManagerStage:
    """Return a manager that has stopped the holder of that Secret."""
    manager.says(IDLE)
    manager.says(IS_IDLE)
    assert manager.holders() == []
    manager.heard(DB)
    return manager


def test_a_holder_that_is_idle_is_asked_and_stopped(manager: ManagerStage) -> None:
    manager.says(IDLE)
    assert manager.holders() == [HOLDER]
    manager.says(IS_IDLE)
    assert manager.records[DB].asked == [1]
    assert manager.holders() == []
    (described,) = manager.described().objects
    assert (described.state, described.resource_version) == (ObjectState.IDLE, "1")
    assert described.references == 1
    assert manager.made == ["db"]


def test_one_that_is_idle_no_more_when_it_is_asked_stays(manager: ManagerStage) -> None:
    manager.records[DB].is_idle = False
    manager.says(IS_IDLE)
    assert (manager.records[DB].asked, manager.holders()) == ([1], [HOLDER])
    # It is asked again the next time that it is idle.
    manager.records[DB].is_idle = True
    manager.says(IS_IDLE)
    assert (manager.records[DB].asked, manager.holders()) == ([1, 2], [])


def test_one_that_was_told_something_after_the_question_is_asked_again(
    manager: ManagerStage,
) -> None:
    record = manager.records[DB]
    record.is_idle = False
    manager.says(IS_IDLE)
    assert manager.reads(WEB, "db").verdict is ReadVerdict.FOUND
    # The answer is of the time before the read.
    manager.says(HolderIdle(object=DB, number=1))
    assert (record.asked, manager.holders()) == ([1], [HOLDER])
    manager.says(IS_IDLE)
    manager.says(HolderIdle(object=DB, number=1))
    assert (record.asked, manager.holders()) == ([1, 2], [HOLDER])
    manager.says(HolderIdle(object=DB, number=2))
    assert manager.holders() == []


def test_one_that_says_twice_that_it_is_idle_is_stopped_by_the_last_answer(
    manager: ManagerStage,
) -> None:
    record = manager.records[DB]
    record.is_idle = False
    manager.says(IS_IDLE)
    manager.says(IS_IDLE)
    manager.says(HolderIdle(object=DB, number=1))
    assert (record.asked, manager.holders()) == ([1, 2], [HOLDER])
    manager.says(HolderIdle(object=DB, number=2))
    assert (record.asked, manager.holders()) == ([1, 2], [])


def test_a_read_starts_it_again_and_is_answered(idle: ManagerStage) -> None:
    assert idle.reads(WEB, "db").verdict is ReadVerdict.FOUND
    assert idle.holders() == [HOLDER]
    assert idle.heard(DB)[0] == "1 at 1, followed"
    assert idle.records[DB].lives == 2
    # It goes on with what it knew.
    assert idle.made == ["db"]


def test_so_does_a_new_reference(idle: ManagerStage) -> None:
    idle.serves(API, WEB, SHOP)
    assert idle.holders() == [HOLDER]
    assert idle.heard(DB) == ["2 at 2"]


@pytest.mark.parametrize("wanted", [DB, None], ids=["of this object", "of all"])
def test_so_does_a_follower(idle: ManagerStage, wanted: ObjectId | None) -> None:
    idle.follower(wanted)
    assert idle.holders() == [HOLDER]
    assert idle.heard(DB) == ["1 at 1, followed"]


def test_so_does_a_pod_that_wants_something_done_about_changes(idle: ManagerStage) -> None:
    idle.serves(API, needing("web", "db", hook="restart"))
    assert idle.heard(DB) == ["1 at 1, followed"]


def test_a_reference_that_goes_starts_nothing_as_long_as_another_is_left(
    manager: ManagerStage,
) -> None:
    manager.serves(API, WEB, SHOP)
    manager.says(IS_IDLE)
    manager.serves(API, SHOP)
    assert manager.holders() == []
    assert manager.described().references == 1
    manager.heard(DB)
    manager.reads(SHOP, "db")
    assert manager.heard(DB)[0] == "1 at 2, followed"


def test_the_last_reference_starts_it_so_that_it_lets_go_in_order(idle: ManagerStage) -> None:
    idle.serves(API)
    assert idle.heard(DB) == ["none"]
    assert (idle.holders(), idle.memory.api.holders) == ([], {})
    # The next reference begins with nothing.
    idle.play.advance(60.0)
    idle.serves(API, WEB)
    assert idle.made == ["db", "db"]


def test_a_pod_that_comes_while_the_holder_ends_is_told_to_the_next_life(
    manager: ManagerStage,
) -> None:
    key = manager.key
    manager.play.port(key).tell(IS_IDLE)
    manager.play.port(key).tell(HolderIdle(object=DB, number=1))
    manager.play.port(key).tell(FollowObjects(subscriber=manager.follower()))
    manager.serves(API, WEB, SHOP)
    assert manager.holders() == [HOLDER]
    assert manager.records[DB].references.references == 2
    assert manager.reads(SHOP, "db").verdict is ReadVerdict.FOUND


def test_a_crash_of_the_manager_starts_no_holder_that_was_stopped(idle: ManagerStage) -> None:
    idle.crashes()
    assert idle.holders() == []
    (described,) = idle.described().objects
    assert (described.state, described.resource_version) == (ObjectState.IDLE, "1")
    assert idle.reads(WEB, "db").verdict is ReadVerdict.FOUND
    assert idle.holders() == [HOLDER]


def test_a_crash_of_the_manager_before_it_stopped_an_idle_holder_stops_it_all_the_same(
    idle: ManagerStage,
) -> None:
    spec = idle.memory.api.holders[DB].spec
    idle.play.tell(OBJECT_HOLDERS, StartChild(spec=spec))  # as if it had never been stopped
    assert idle.holders() == [HOLDER]
    idle.crashes()
    assert idle.holders() == []


def test_a_crash_of_the_manager_before_the_answer_makes_the_answer_void(
    manager: ManagerStage,
) -> None:
    record = manager.records[DB]
    record.is_idle = False
    manager.says(IS_IDLE)
    manager.crashes()
    manager.says(HolderIdle(object=DB, number=1))
    assert (record.asked, manager.holders()) == ([1], [HOLDER])
    manager.says(IS_IDLE)
    assert record.asked == [1, 2]


def test_a_crash_of_the_holder_after_the_question_leaves_it_running(manager: ManagerStage) -> None:
    manager.records[DB].is_idle = False
    manager.says(IS_IDLE)
    manager.crashes(holder_key(DB))
    manager.says(HolderBegan(object=DB))
    assert manager.holders() == [HOLDER]
    manager.says(HolderIdle(object=DB, number=1))
    assert manager.holders() == [HOLDER]


def test_what_a_stopped_holder_said_last_starts_nothing(idle: ManagerStage) -> None:
    late: tuple[LocalHolderFact | HolderBegan | HolderIdle, ...] = (
        HolderBegan(object=DB),
        IS_IDLE,
        HolderIdle(object=DB, number=1),
        IDLE,
    )
    idle.tell(*late)
    assert idle.holders() == []


def test_what_nobody_references_is_no_holder_to_ask(manager: ManagerStage) -> None:
    manager.tell(HolderIdle(object=TLS))
    manager.take_their_time = True
    manager.serves(API, needing("web", "tls"))
    manager.serves(API)
    manager.says(HolderIdle(object=TLS))
    assert manager.records[TLS].asked == []


def test_local_objects_have_no_holders_that_could_be_stopped(manager: ManagerStage) -> None:
    manager.serves(FILE, needing("static", "db", source=FILE))
    assert manager.holders() == [HOLDER]
