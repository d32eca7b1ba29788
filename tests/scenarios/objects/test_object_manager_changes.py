"""What pods want done about changes of the objects that they use."""

from __future__ import annotations

import pytest

from messages.holders import NO_MARK, HolderIs
from messages.objects import (
    Change,
    ChangeAction,
    ChangeDecided,
    ObjectFact,
    Origin,
    RegisterPod,
    UnregisterPod,
)
from messages.pods import API, FILE, Pod
from messages.units import Seconds
from tests.support.builders import edited
from tests.support.objects.manager_players import (
    CANARY,
    changed,
    needing,
    news_of,
    secret,
)
from tests.support.objects.manager_stage import ManagerStage

DB = secret("db")
LOCAL_DB = secret("db", origin=Origin.LOCAL)
CHAP = {"name": "disk", "iscsi": {"secretRef": {"name": "db"}}}
BY_SUB_PATH = {
    "volumes": [{"name": "db", "secret": {"secretName": "db"}}],
    "containers": [{"name": "c", "volumeMounts": [{"name": "db", "subPath": "password"}]}],
}
WEB = needing("web", "db")
RESTARTED = needing("restarted", "db", hook="restart")
SIGNALLED = needing("signalled", "db", hook="signal:SIGHUP,splay=30s")


def test_each_pod_with_a_hook_decides_after_the_change_is_told(manager: ManagerStage) -> None:
    manager.serves(API, WEB, RESTARTED, SIGNALLED)
    follower = manager.follower()
    manager.says(news_of(changed(DB)))
    first, restart, signal = follower.drain()
    assert first == changed(DB)
    assert restart == ChangeDecided(
        pod=RESTARTED.uid,
        pod_name="default/restarted",
        action=ChangeAction.RESTART,
        signal="",
        delay=_delay(restart),
        changed=changed(DB),
    )
    assert isinstance(signal, ChangeDecided)
    assert (signal.pod, signal.action, signal.signal) == (
        SIGNALLED.uid,
        ChangeAction.SIGNAL,
        "SIGHUP",
    )
    assert _delay(restart) == 0.0
    assert 0.0 < _delay(signal) < 30.0
    assert manager.described().decisions == {ChangeAction.RESTART: 1, ChangeAction.SIGNAL: 1}
    assert CANARY.decode() not in repr([first, restart, signal])


ADDED, MODIFIED, DELETED = Change.ADDED, Change.MODIFIED, Change.DELETED


@pytest.mark.parametrize(
    ("news", "told"),
    [
        (news_of(changed(DB, "2", MODIFIED)), ["modified db at 2", "restarted: restart"]),
        (news_of(changed(DB, "2", MODIFIED, keys=())), ["modified db at 2"]),
        (news_of(changed(DB, "2", DELETED)), ["deleted db at 2"]),
        (news_of(changed(DB, "2", ADDED)), ["added db at 2", "restarted: restart"]),
        (news_of(changed(DB, "2", ADDED), NO_MARK), ["added db at 2"]),
        (news_of(changed(DB, "2", ADDED, keys=())), ["added db at 2"]),
    ],
    ids=["modified", "metadata", "deleted", "came into being", "first seen", "came empty"],
)
def test_a_pod_only_wants_something_done_about_what_it_can_see(
    manager: ManagerStage, news: HolderIs, told: list[str]
) -> None:
    manager.serves(API, RESTARTED)
    follower = manager.follower()
    manager.says(news)
    assert follower.heard() == told


@pytest.mark.parametrize(
    "pod",
    [
        needing("web", "db"),
        needing("web", "db", hook="none"),
        needing("web", "db", hook="nonsense"),
        needing("web", pull=["db"], hook="restart"),
        needing("web", "tls", env=["db"], pull=["db"], hook="signal:SIGHUP"),
        needing("web", hook="restart", spec={"volumes": [CHAP]}),
        needing("web", hook="signal:SIGHUP", spec=BY_SUB_PATH),
        needing("web", "db", hook="restart", phase="Failed"),
        needing("web", "db", hook="restart", deleting=True),
        needing("web", "tls", hook="restart"),
        needing("web", "db", hook="restart", namespace="other"),
        needing("web", "db", hook="restart", source=FILE),
    ],
    ids=[
        "no hook",
        "none",
        "bad hook",
        "for pulling only",
        "a signal for variables",
        "for mounting only",
        "a signal for what is mounted by a path in its volume",
        "terminal",
        "being deleted",
        "another object",
        "another namespace",
        "static",
    ],
)
def test_nothing_is_decided_for_other_pods(manager: ManagerStage, pod: Pod) -> None:
    manager.serves(API, needing("holds-it", "db"))
    manager.tell(RegisterPod(pod=pod))
    follower = manager.follower()
    manager.says(news_of(changed(DB)))
    assert follower.heard() == ["modified db at 2"]


def test_a_pod_whose_variables_are_others_is_restarted(manager: ManagerStage) -> None:
    # A process that runs never sees a new variable, so that no signal helps.
    restarted = needing("restarted", env=["db"], hook="restart")
    signalled = needing("signalled", env=["db"], hook="signal:SIGHUP")
    manager.serves(API, restarted, signalled)
    follower = manager.follower()
    manager.says(news_of(changed(DB)))
    assert follower.heard() == ["modified db at 2", "restarted: restart"]


def test_only_pods_that_reference_the_object_by_then_decide(manager: ManagerStage) -> None:
    manager.serves(API, WEB)
    follower = manager.follower()
    manager.tell(RegisterPod(pod=RESTARTED), UnregisterPod(pod=RESTARTED.uid))
    manager.says(news_of(changed(DB, "2")))
    assert follower.heard() == ["modified db at 2"]
    manager.tell(RegisterPod(pod=RESTARTED))
    manager.says(news_of(changed(DB, "3")))
    assert follower.heard() == ["modified db at 3", "restarted: restart"]


def test_a_pod_of_whose_end_its_source_has_told_decides_nothing_however_it_was_registered(
    manager: ManagerStage,
) -> None:
    manager.tell(RegisterPod(pod=RESTARTED))
    manager.serves(API, edited(RESTARTED, status={"phase": "Failed"}))
    follower = manager.follower()
    manager.says(news_of(changed(DB)))
    assert follower.heard() == ["modified db at 2"]


def test_decisions_are_made_and_counted_when_nobody_follows(manager: ManagerStage) -> None:
    manager.serves(API, RESTARTED)
    manager.says(news_of(changed(DB)))
    assert manager.described().decisions == {ChangeAction.RESTART: 1}


def test_a_pod_that_begins_with_what_changed_decides_nothing(manager: ManagerStage) -> None:
    later = needing("later", "db", hook="restart")
    manager.serves(API, RESTARTED)
    manager.serves(API, RESTARTED, later)
    follower = manager.follower()
    manager.says(news_of(changed(DB, "2"), concerns=1))
    assert follower.heard() == ["modified db at 2", "restarted: restart"]
    # By the next change it has something to lose.
    manager.says(news_of(changed(DB, "3"), concerns=2))
    assert follower.heard() == ["modified db at 3", "restarted: restart", "later: restart"]


def test_local_objects_have_pods_decide_as_well(manager: ManagerStage) -> None:
    manager.serves(FILE, needing("web", "db", source=FILE, hook="signal:SIGUSR1"))
    follower = manager.follower()
    manager.says(news_of(changed(LOCAL_DB)))
    assert follower.heard() == ["modified db at 2", "web: SIGUSR1"]


def _delay(fact: ObjectFact) -> Seconds:
    assert isinstance(fact, ChangeDecided)
    return fact.delay
