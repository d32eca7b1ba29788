"""Who hears of changes, and what pods want done about them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from actors.messages.holders import HolderIs
from actors.messages.objects import (
    Change,
    ChangeAction,
    ChangeDecided,
    FollowObjects,
    ObjectFact,
    Origin,
    RegisterPod,
    UnfollowObjects,
    UnregisterPod,
)
from actors.messages.pods import API, FILE, Pod
from actors.messages.units import Seconds
from tests.support.builders import edited
from tests.support.manager_players import CANARY, changed, held, needing, news_of, secret
from tests.support.manager_stage import ManagerStage, manager_stage

DB, TLS = secret("db"), secret("tls")
LOCAL_DB = secret("db", origin=Origin.LOCAL)
WEB = needing("web", "db")
RESTARTED = needing("restarted", "db", hook="restart")
SIGNALLED = needing("signalled", "db", hook="signal:SIGHUP,splay=30s")


@pytest.fixture
def manager() -> Iterator[ManagerStage]:
    with manager_stage() as stage:
        yield stage


# --- following ----------------------------------------------------------------------------------------


def test_followers_of_an_object_and_of_all_hear_of_its_changes(manager: ManagerStage) -> None:
    manager.serves(API, WEB, needing("shop", "tls"))
    of_db, of_all = manager.follower(DB), manager.follower()
    manager.says(news_of(changed(DB, "2")))
    manager.says(news_of(changed(TLS, "3", Change.DELETED)))
    manager.says(news_of(changed(TLS, "4", Change.ADDED)))
    assert of_db.heard() == ["modified db at 2"]
    assert of_all.heard() == ["modified db at 2", "deleted tls at 3", "added tls at 4"]
    assert manager.described().changes == {
        Change.MODIFIED: 1,
        Change.DELETED: 1,
        Change.ADDED: 1,
    }


def test_who_follows_an_object_and_all_hears_each_change_once(manager: ManagerStage) -> None:
    manager.serves(API, WEB)
    follower = manager.follower(DB)
    manager.tell(FollowObjects(subscriber=follower), FollowObjects(subscriber=follower, object=DB))
    manager.says(news_of(changed(DB)))
    assert follower.heard() == ["modified db at 2"]


def test_who_follows_no_more_hears_no_more(manager: ManagerStage) -> None:
    manager.serves(API, WEB)
    one, other = manager.follower(DB), manager.follower(DB)
    manager.tell(UnfollowObjects(subscriber=one, object=DB))
    manager.tell(UnfollowObjects(subscriber=one, object=DB))
    manager.tell(UnfollowObjects(subscriber=other))
    manager.says(news_of(changed(DB)))
    assert one.heard() == []
    assert other.heard() == ["modified db at 2"]


def test_news_without_a_change_is_told_to_nobody(manager: ManagerStage) -> None:
    manager.serves(API, WEB)
    follower = manager.follower()
    manager.says(HolderIs(described=held(DB, "7")))
    assert follower.heard() == []


def test_a_change_that_a_holder_repeats_is_told_once(manager: ManagerStage) -> None:
    manager.serves(API, RESTARTED)
    follower = manager.follower()
    manager.says(news_of(changed(DB, "2")))
    manager.says(news_of(changed(DB, "2")))
    assert follower.heard() == ["modified db at 2", "restarted: restart"]


def test_an_object_may_be_followed_before_anybody_references_it(manager: ManagerStage) -> None:
    follower = manager.follower(DB)
    assert manager.holders() == []
    manager.serves(API, WEB)
    assert manager.heard(DB) == ["1 at 1, followed"]
    manager.says(news_of(changed(DB)))
    assert follower.heard() == ["modified db at 2"]


def test_of_local_objects_that_nobody_references_only_those_followed_by_name_are_told(
    manager: ManagerStage,
) -> None:
    of_it, of_all = manager.follower(LOCAL_DB), manager.follower()
    manager.says(news_of(changed(LOCAL_DB, "1", Change.ADDED)))
    assert of_it.heard() == ["added db at 1"]
    assert of_all.heard() == []
    manager.serves(FILE, needing("web", "db", source=FILE))
    manager.says(news_of(changed(LOCAL_DB, "2")))
    assert of_all.heard() == ["modified db at 2"]


def test_what_nobody_references_or_follows_is_not_even_counted(manager: ManagerStage) -> None:
    manager.says(news_of(changed(LOCAL_DB, "1", Change.ADDED)))
    assert manager.described().changes == {}


def test_local_and_api_objects_of_one_name_have_different_followers(
    manager: ManagerStage,
) -> None:
    manager.serves(API, WEB)
    of_local = manager.follower(LOCAL_DB)
    manager.says(news_of(changed(DB)))
    assert of_local.heard() == []


# --- what counts as read all the time -----------------------------------------------------------------


def test_holders_hear_whether_somebody_follows_their_object(manager: ManagerStage) -> None:
    manager.serves(API, needing("web", "db", "tls"))
    assert manager.heard(DB) == ["1 at 1"]
    follower = manager.follower(DB)
    assert manager.heard(DB) == ["1 at 1, followed"]
    of_all = manager.follower()
    assert (manager.heard(DB), manager.heard(TLS)) == (
        [],
        ["1 at 2", "1 at 2, followed"],
    )
    manager.tell(UnfollowObjects(subscriber=follower, object=DB))
    assert manager.heard(DB) == []
    manager.tell(UnfollowObjects(subscriber=of_all))
    assert (manager.heard(DB), manager.heard(TLS)) == (["1 at 1"], ["1 at 2"])


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        (needing("web", "db", hook="restart"), "1 at 1, followed"),
        (needing("web", "db", hook="signal:SIGHUP"), "1 at 1, followed"),
        (needing("web", "db", hook="none"), "1 at 1"),
        (needing("web", "db", hook="nonsense"), "1 at 1"),
        (needing("web", pull=["db"], hook="restart"), "1 at 1"),
        (needing("web", "db", pull=["db"], hook="restart"), "1 at 1, followed"),
    ],
    ids=["restart", "signal", "none", "bad", "pull secret only", "also a pull secret"],
)
def test_a_pod_that_wants_something_done_follows_what_it_uses(
    manager: ManagerStage, pod: Pod, words: str
) -> None:
    manager.serves(API, pod)
    assert manager.heard(DB) == [words]


def test_a_pod_that_changes_its_mind_is_heard(manager: ManagerStage) -> None:
    manager.serves(API, needing("web", "db"))
    manager.serves(API, needing("web", "db", hook="restart"))
    manager.serves(API, needing("web", "db", hook="none"))
    assert manager.heard(DB) == ["1 at 1", "1 at 1, followed", "1 at 1"]


# --- decisions ----------------------------------------------------------------------------------------


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
        (news_of(changed(DB, "2", ADDED), was_known=False), ["added db at 2"]),
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


def test_local_objects_have_pods_decide_as_well(manager: ManagerStage) -> None:
    manager.serves(FILE, needing("web", "db", source=FILE, hook="signal:SIGUSR1"))
    follower = manager.follower()
    manager.says(news_of(changed(LOCAL_DB)))
    assert follower.heard() == ["modified db at 2", "web: SIGUSR1"]


def _delay(fact: ObjectFact) -> Seconds:
    assert isinstance(fact, ChangeDecided)
    return fact.delay
