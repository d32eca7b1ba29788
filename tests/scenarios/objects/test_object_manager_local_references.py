"""What a manager tells the holder of all local files of its references: which is the newest."""

from __future__ import annotations

from messages.objects import FollowObjects, ObjectKind
from messages.pods import API, FILE, Pod
from tests.support.objects.manager_players import Follower, needing
from tests.support.objects.manager_stage import ManagerStage


def static(name: str, *secrets: str) -> Pod:
    return needing(name, *secrets, source=FILE)


def heard(manager: ManagerStage) -> list[int]:
    """Return the marks that the holder was told since the last call."""
    told, manager.files.heard = manager.files.heard, []
    assert {each.kind for each in told} <= {ObjectKind.SECRET}
    return [each.newest for each in told]


def test_each_new_reference_of_a_static_pod_is_told(manager: ManagerStage) -> None:
    manager.serves(FILE, static("web", "db"))
    assert heard(manager) == [1]
    manager.serves(FILE, static("web", "db"), static("shop", "db"))
    assert heard(manager) == [2]


def test_the_last_that_is_told_of_several_is_the_newest(manager: ManagerStage) -> None:
    """The holder may hear of the last one only."""
    manager.serves(FILE, static("web", "db"))
    manager.serves(FILE, static("web", "tls", "db"), static("shop", "db", "tls"))
    assert heard(manager)[-1] == 4
    # One that goes makes none newer.
    manager.serves(FILE, static("web", "tls", "db"))
    assert heard(manager) == []


def test_what_does_not_come_from_files_is_not_told(manager: ManagerStage) -> None:
    manager.serves(API, needing("web", "db"))
    manager.tell(FollowObjects(subscriber=Follower()))
    assert heard(manager) == []


def test_a_manager_that_crashes_tells_it_again(manager: ManagerStage) -> None:
    manager.serves(FILE, static("web", "db", "tls"))
    manager.serves(FILE, static("web", "db", "tls"), static("shop", "db"))
    heard(manager)
    manager.crashes()
    assert heard(manager)[-1] == 3
