"""A change that happened while no agent was there is decided for the pod that noticed it, and no other."""

from __future__ import annotations

from actors.objects.manager_parts import SECRET_MANAGER
from messages.objects import ChangeAction, ChangeDecided, ChangeMissed
from messages.pods import API, PodUid
from tests.support.objects.manager_players import changed, needing, secret
from tests.support.objects.manager_stage import ManagerStage

DB, OTHER = secret("db"), secret("other")
ONE = needing("one", "db", hook="restart")
TWO = needing("two", "db", hook="restart")


def test_followers_hear_the_decision_and_it_is_counted(manager: ManagerStage) -> None:
    manager.serves(API, ONE, TWO)
    follower = manager.follower()
    manager.play.tell(SECRET_MANAGER, ChangeMissed(pod=ONE.uid, changed=changed(DB)))
    (decided,) = follower.drain()
    assert isinstance(decided, ChangeDecided)
    assert (decided.pod, decided.action) == (ONE.uid, ChangeAction.RESTART)
    assert manager.described().decisions == {ChangeAction.RESTART: 1}


def test_a_pod_that_is_gone_or_never_had_the_object_decides_nothing(manager: ManagerStage) -> None:
    manager.serves(API, ONE)
    follower = manager.follower()
    for missed in (
        ChangeMissed(pod=PodUid("gone"), changed=changed(DB)),
        ChangeMissed(pod=ONE.uid, changed=changed(OTHER)),
    ):
        manager.play.tell(SECRET_MANAGER, missed)
    follower.expect_silence()
