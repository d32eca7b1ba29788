"""Who hears of changes, and whose objects count as read all the time by that."""

from __future__ import annotations

from typing import Any

import pytest
from typing_extensions import override

from actors.objects.manager import PAUSE, PORTION
from messages.holders import HolderIs, Mark
from messages.objects import (
    Change,
    FollowObjects,
    ObjectId,
    Origin,
    UnfollowObjects,
)
from messages.pods import API, FILE, Pod, PodUid
from tests.support.objects.manager_players import (
    Follower,
    changed,
    held,
    needing,
    news_of,
    secret,
)
from tests.support.objects.manager_stage import ManagerStage

DB, TLS = secret("db"), secret("tls")
LOCAL_DB = secret("db", origin=Origin.LOCAL)
WEB = needing("web", "db")
RESTARTED = needing("restarted", "db", hook="restart")


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


def test_a_follower_who_comes_again_or_was_never_there_costs_no_look_at_any_object(
    manager: ManagerStage,
) -> None:
    manager.serves(API, *(needing(f"p{number}", f"s{number}") for number in range(50)))
    one, other = manager.follower(), manager.follower()
    looks = manager.memory.references.objects = LookedAt(manager.memory.references.objects)
    manager.tell(
        FollowObjects(subscriber=one),
        UnfollowObjects(subscriber=one),
        UnfollowObjects(subscriber=one),
        UnfollowObjects(subscriber=Follower(), object=DB),
    )
    assert looks.count == 0
    manager.tell(UnfollowObjects(subscriber=other))
    assert looks.count >= 50


def test_all_holders_are_told_of_the_first_follower_a_portion_at_a_time(
    manager: ManagerStage,
) -> None:
    many = [f"s{number}" for number in range(2 * PORTION + 1)]
    manager.serves(API, *(needing(f"p{name}", name) for name in many))

    follower = manager.follower()
    manager.says(news_of(changed(secret(many[-1]))))
    told = followed(manager, many)
    manager.play.advance(PAUSE)
    told_next = followed(manager, many)
    manager.play.advance(PAUSE)

    # The changes that it waits for do not wait for that.
    assert follower.heard() == [f"modified {many[-1]} at 2"]
    assert (told, told_next) == (PORTION, 2 * PORTION)
    assert followed(manager, many) == len(many)


def test_a_follower_who_leaves_while_holders_are_told_of_it_is_followed_by_nobody(
    manager: ManagerStage,
) -> None:
    many = [f"s{number}" for number in range(3 * PORTION)]
    manager.serves(API, *(needing(f"p{name}", name) for name in many))

    follower = manager.follower()
    manager.play.advance(PAUSE)
    manager.tell(UnfollowObjects(subscriber=follower))
    manager.play.advance(1.0)

    assert followed(manager, many) == 0


def test_all_holders_are_told_of_a_follower_although_the_manager_crashes_meanwhile(
    manager: ManagerStage,
) -> None:
    many = [f"s{number}" for number in range(3 * PORTION)]
    manager.serves(API, *(needing(f"p{name}", name) for name in many))

    manager.follower()
    manager.crashes()

    assert followed(manager, many) == len(many)


def followed(manager: ManagerStage, names: list[str]) -> int:
    """Return how many of the holders know that somebody follows their object."""
    return sum(manager.records[secret(name)].references.is_followed for name in names)


class LookedAt(dict[ObjectId, dict[PodUid, Mark]]):
    """The references of an index, which count how often somebody asks for those of an object."""

    count = 0

    @override
    def get(self, key: ObjectId, default: Any = None, /) -> Any:
        self.count += 1
        return super().get(key, default)


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        (needing("web", "db", hook="restart"), "1 at 1, followed"),
        (needing("web", "db", hook="signal:SIGHUP"), "1 at 1, followed"),
        (needing("web", "db", hook="none"), "1 at 1"),
        (needing("web", "db", hook="nonsense"), "1 at 1"),
        (needing("web", pull=["db"], hook="restart"), "1 at 1"),
        (needing("web", "db", pull=["db"], hook="restart"), "1 at 1, followed"),
        (needing("web", env=["db"], hook="restart"), "1 at 1, followed"),
        (needing("web", env=["db"], hook="signal:SIGHUP"), "1 at 1"),
        (needing("web", "db", env=["db"], hook="signal:SIGHUP"), "1 at 1, followed"),
    ],
    ids=[
        *("restart", "signal", "none", "bad", "pull secret only", "also a pull secret"),
        *("restart for variables", "signal for variables", "signal for variables and files"),
    ],
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


def test_who_runs_a_pod_hears_of_decisions_about_that_pod_alone(manager: ManagerStage) -> None:
    other = needing("other", "db", hook="restart")
    manager.serves(API, RESTARTED, other)
    of_all, of_one = manager.follower(DB), Follower()
    manager.tell(FollowObjects(subscriber=of_one, object=DB, pod=RESTARTED.uid))
    manager.says(news_of(changed(DB)))
    assert len(of_all.heard()) == 3
    told = of_one.heard()
    assert len(told) == 2
    assert RESTARTED.name in told[0]  # before the change itself
