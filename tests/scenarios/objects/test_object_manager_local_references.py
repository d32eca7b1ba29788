"""What a manager tells the holder of all local files: who needs each of them."""

from __future__ import annotations

from messages.objects import FollowObjects
from messages.pods import API, FILE, Pod
from tests.support.objects.manager_players import Follower, needing
from tests.support.objects.manager_stage import ManagerStage


def static(name: str, *secrets: str) -> Pod:
    return needing(name, *secrets, source=FILE)


def heard(manager: ManagerStage) -> list[str]:
    """Return what the holder was told since the last call: ``2 of db up to 5``."""
    told, manager.files.heard = manager.files.heard, []
    return [f"{each.references} of {each.object.name} up to {each.newest}" for each in told]


def test_who_needs_an_object_is_told_with_the_newest_reference_to_any(
    manager: ManagerStage,
) -> None:
    manager.serves(FILE, static("web", "db", "tls"))
    assert heard(manager) == ["1 of db up to 2", "1 of tls up to 2"]
    manager.serves(FILE, static("web", "db", "tls"), static("shop", "db"))
    assert heard(manager) == ["2 of db up to 3"]
    manager.serves(FILE, static("web", "tls"))
    assert heard(manager) == ["0 of db up to 3", "1 of tls up to 3"]


def test_what_does_not_come_from_files_is_not_told(manager: ManagerStage) -> None:
    manager.serves(API, needing("web", "db"))
    manager.tell(FollowObjects(subscriber=Follower()))
    assert heard(manager) == []


def test_a_manager_that_crashes_tells_it_again(manager: ManagerStage) -> None:
    manager.serves(FILE, static("web", "db", "tls"))
    manager.serves(FILE, static("web", "db", "tls"), static("shop", "db"))
    heard(manager)
    manager.crashes()
    assert {"2 of db up to 3", "1 of tls up to 3"} <= set(heard(manager))
