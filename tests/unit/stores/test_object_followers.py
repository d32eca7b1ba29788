"""Who follows what: whose coming and going is news to the holders, and who hears of an object."""

from __future__ import annotations

import pytest

from messages.objects import FollowObjects, ObjectFact, ObjectId, UnfollowObjects
from stores.objects.followers import FollowerMemory, ObjectFollowers
from tests.support.kernel.probe import Probe
from tests.support.objects.manager_players import secret

DB, TLS = secret("db"), secret("tls")
ONE, OTHER = Probe[ObjectFact](), Probe[ObjectFact]()


@pytest.fixture
def memory() -> FollowerMemory:
    return {}


@pytest.fixture
def followers(memory: FollowerMemory) -> ObjectFollowers:
    return ObjectFollowers(memory)


@pytest.mark.parametrize("wanted", [DB, None], ids=["of one", "of all"])
def test_only_the_first_that_comes_and_the_last_that_goes_are_news(
    followers: ObjectFollowers, memory: FollowerMemory, wanted: ObjectId | None
) -> None:
    messages: list[FollowObjects | UnfollowObjects] = [
        FollowObjects(subscriber=ONE, object=wanted),
        FollowObjects(subscriber=ONE, object=wanted),
        FollowObjects(subscriber=OTHER, object=wanted),
        UnfollowObjects(subscriber=ONE, object=wanted),
        UnfollowObjects(subscriber=ONE, object=wanted),
        UnfollowObjects(subscriber=OTHER, object=wanted),
        UnfollowObjects(subscriber=OTHER, object=wanted),
    ]
    assert [followers.note(message) for message in messages] == [
        *(True, False, False),
        *(False, False, True, False),
    ]
    assert memory == {}


def test_who_follows_one_object_follows_no_other(followers: ObjectFollowers) -> None:
    followers.note(FollowObjects(subscriber=ONE, object=DB))
    assert (followers.are_there(DB), followers.are_there(TLS)) == (True, False)
    # Nor did they follow all, so that there is nothing to take back.
    assert not followers.note(UnfollowObjects(subscriber=ONE))
    assert followers.are_there(DB)


def test_who_follows_all_hears_of_what_is_referenced_and_of_each_once(
    followers: ObjectFollowers,
) -> None:
    followers.note(FollowObjects(subscriber=ONE, object=DB))
    followers.note(FollowObjects(subscriber=ONE))
    followers.note(FollowObjects(subscriber=OTHER))
    assert list(followers.get(DB, is_referenced=True)) == [ONE, OTHER]
    assert list(followers.get(DB, is_referenced=False)) == [ONE]
    assert list(followers.get(TLS, is_referenced=False)) == []
