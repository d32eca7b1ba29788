"""Static pods of one full name run one after the other, and without anybody's tick (rules X18 to X22)."""

import pytest

from messages.pod_lives import PodLife
from messages.pods import FILE, Pod
from messages.statuses import PodFailure
from tests.support.builders import make_pod
from tests.support.pod_lives.lives_stage import LivesStage

EVICTED = PodFailure(reason="Evicted", message="The node was low on memory")


def version(number: int) -> Pod:
    """Return a version of the static pod ``web``: its UID follows from its content."""
    return make_pod("web", uid=f"version-{number}", image=f"web:{number}")


def test_an_edited_static_pod_starts_when_the_one_before_has_finished(lives: LivesStage) -> None:
    lives.machine.stubborn.add(version(1).uid)
    lives.lists(FILE, version(1))
    lives.lists(FILE, version(2))
    assert lives.ran() == ["start web/main#0"]
    assert lives.lives() == {"version-1": PodLife.TERMINATING, "version-2": PodLife.WAITING}
    lives.play.advance(30.0)
    assert lives.ran() == ["stop web/main#0", "remove web", "start web/main#0"]
    assert lives.lives() == {"version-2": PodLife.SYNC}


def test_versions_wait_in_the_order_in_which_they_came(lives: LivesStage) -> None:
    lives.machine.stubborn |= {version(2).uid}
    lives.lists(FILE, version(2))
    lives.lists(FILE, version(3))
    lives.lists(FILE, version(4))
    assert lives.lives() == {"version-2": PodLife.TERMINATING, "version-4": PodLife.WAITING}
    lives.play.advance(30.0)
    assert lives.commanded() == ["run web", "stop web 30", "forget web", "run web"]
    assert lives.lives() == {"version-4": PodLife.SYNC}


def test_one_that_is_killed_while_it_waits_never_starts(lives: LivesStage) -> None:
    lives.machine.stubborn.add(version(2).uid)
    lives.lists(FILE, version(2))
    lives.lists(FILE, version(3))
    told = lives.kills(version(3), EVICTED)
    assert told.next().uid == version(3).uid
    assert lives.status(version(3)).reason == "Evicted"
    lives.play.advance(30.0)
    assert lives.commanded() == ["run web", "stop web 30", "forget web"]


def test_a_uid_that_is_added_again_while_it_stops_begins_anew_at_once(lives: LivesStage) -> None:
    web = make_pod("web", uid="fixed")
    lives.machine.stubborn.add(web.uid)
    lives.lists(FILE, web)
    lives.lists(FILE)
    lives.lists(FILE, make_pod("web", uid="fixed"))
    assert lives.ran() == ["start web/main#0"]
    lives.play.advance(30.0)
    assert lives.ran() == ["stop web/main#0", "remove web", "start web/main#0"]
    assert lives.lives() == {"fixed": PodLife.SYNC}
    assert lives.described().restarted_static == 1


def test_a_uid_that_came_and_went_again_stays_away(lives: LivesStage) -> None:
    web = make_pod("web", uid="fixed")
    lives.machine.stubborn.add(web.uid)
    lives.lists(FILE, web)
    lives.lists(FILE)
    lives.lists(FILE, make_pod("web", uid="fixed"))
    lives.lists(FILE)
    lives.play.advance(30.0)
    assert lives.ran() == ["start web/main#0", "stop web/main#0", "remove web"]
    assert lives.lives() == {}


def test_a_pod_of_a_fixed_uid_that_gets_another_name_is_another_pod(lives: LivesStage) -> None:
    lives.lists(FILE, make_pod("web", uid="fixed"))
    lives.lists(FILE, make_pod("shop", uid="fixed"))
    assert lives.ran() == [
        "start web/main#0",
        "stop web/main#0",
        "remove web",
        "start shop/main#0",
    ]


@pytest.mark.parametrize("crashing", ["pod-keeper", "pods/version-1", "runtime"])
def test_a_crash_while_one_waits_changes_nothing(lives: LivesStage, crashing: str) -> None:
    lives.machine.stubborn.add(version(1).uid)
    lives.lists(FILE, version(1))
    lives.lists(FILE, version(2))
    lives.crashes(crashing)
    assert lives.ran() == ["start web/main#0"]
    lives.play.advance(30.0)
    assert lives.ran() == ["stop web/main#0", "remove web", "start web/main#0"]
