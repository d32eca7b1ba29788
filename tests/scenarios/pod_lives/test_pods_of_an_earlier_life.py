"""Pods that ran before the agent did: adopted, left alone, or stopped (K27, L9, X6, X26)."""

import pytest

from messages.pod_lives import PodLife, WorkingPod
from messages.pods import API, FILE, HTTP
from tests.support.builders import make_pod
from tests.support.pod_lives.lives_stage import LivesStage, LivesWorld, api_pod, lives_stage


def test_a_pod_that_runs_goes_on_undisturbed_when_its_source_lists_it() -> None:
    web = make_pod("web")
    world = LivesWorld()
    world.machine.has_running(web)
    with lives_stage(world=world) as lives:
        lives.lists(FILE, web)
        assert lives.ran() == []
        assert lives.commanded() == ["run web"]
        assert lives.lives() == {web.uid: PodLife.SYNC}


def test_a_pod_that_nobody_lists_is_stopped_when_its_source_has_listed() -> None:
    web, shop = make_pod("web"), make_pod("shop")
    world = LivesWorld()
    world.machine.has_running(web)
    with lives_stage(world=world) as lives:
        lives.lists(API, api_pod("other"))
        lives.takes_for_empty(FILE)
        assert "web/main" in world.machine.running()
        lives.lists(FILE, shop)
        commanded = lives.commanded()
        assert commanded[0] == "run other"
        assert [each for each in commanded[1:] if "web" in each] == ["stop web 1", "forget web"]
        assert [each for each in commanded[1:] if "web" not in each] == ["run shop"]
        assert world.machine.running() == ["other/main", "shop/main"]
        assert web.uid not in lives.statuses.newest


@pytest.mark.parametrize("source", ["", "a-source-of-earlier-days"])
def test_a_pod_of_an_unknown_source_is_stopped_when_all_have_listed(source: str) -> None:
    world = LivesWorld()
    world.machine.has_running(make_pod("web", source=source))
    with lives_stage(world=world) as lives:
        lives.lists(FILE)
        lives.lists(API)
        assert world.machine.running() == ["web/main"]
        lives.lists(HTTP)
        assert world.machine.running() == []


def test_without_any_source_nothing_is_stopped() -> None:
    world = LivesWorld(sources=frozenset())
    world.machine.has_running(make_pod("web"))
    with lives_stage(world=world) as lives:
        lives.play.advance(300.0)
        assert world.machine.running() == ["web/main"]


def test_an_edited_static_pod_waits_for_the_version_of_an_earlier_life() -> None:
    before, after = make_pod("web", uid="before"), make_pod("web", uid="after")
    world = LivesWorld()
    world.machine.has_running(before)
    world.machine.stubborn.add(before.uid)
    with lives_stage(world=world) as lives:
        lives.lists(FILE, after)
        assert lives.ran() == []
        lives.play.advance(1.0)
        assert lives.ran() == ["stop web/main#0", "remove web", "start web/main#0"]


def test_no_pod_starts_before_the_runtime_has_said_what_it_has() -> None:
    world = LivesWorld()
    world.machine.is_away = True
    with lives_stage(world=world) as lives:
        lives.lists(FILE, make_pod("web"))
        assert lives.commanded() == []
        world.machine.is_away = False
        lives.play.advance(5.0)
        assert lives.ran() == ["start web/main#0"]


def test_a_pod_that_appears_at_the_runtime_later_is_stopped_within_a_minute(
    lives: LivesStage,
) -> None:
    lives.lists(FILE)
    lives.machine.has_running(make_pod("web"))
    lives.play.advance(60.0)
    assert lives.ran() == ["stop web/main#0", "remove web"]


def test_a_pod_that_is_listed_while_it_is_stopped_begins_anew() -> None:
    web = make_pod("web")
    world = LivesWorld()
    world.machine.has_running(web)
    world.machine.stubborn.add(web.uid)
    with lives_stage(world=world) as lives:
        lives.lists(FILE)
        lives.lists(FILE, web)
        assert lives.ran() == []
        lives.play.advance(1.0)
        assert lives.ran() == ["stop web/main#0", "remove web", "start web/main#0"]
        assert lives.lives() == {web.uid: PodLife.SYNC}


def test_what_a_source_tells_removed_is_stopped_though_others_never_list(
    lives: LivesStage,
) -> None:
    lives.lists(FILE, make_pod("web"))
    lives.lists(FILE)
    assert lives.ran() == ["start web/main#0", "stop web/main#0", "remove web"]


def test_a_mirror_pod_has_no_worker(lives: LivesStage) -> None:
    lives.lists(API, api_pod("mirror", mirror="hash"))
    assert lives.workers() == []


def test_pods_are_counted_by_who_wants_them_and_how_far_they_are() -> None:
    web, shop, late = make_pod("web"), make_pod("shop"), make_pod("late")
    job = api_pod("job", spec={"restartPolicy": "Never"})
    world = LivesWorld()
    world.machine.has_running(web)
    world.machine.stubborn |= {shop.uid, web.uid}
    with lives_stage(world=world) as lives:
        lives.lists(API, job)
        lives.exits(job)
        assert lives.described().working == {
            WorkingPod("sync", "runtime_only", "unknown"): 1,
            WorkingPod("terminated", "desired", ""): 1,
        }
        lives.lists(FILE, shop, late)
        lives.lists(FILE, late)
        described = lives.described()
        assert described.working == {
            WorkingPod("terminating", "runtime_only", "unknown"): 1,
            WorkingPod("terminating", "orphan", "true"): 1,
            WorkingPod("sync", "desired", "true"): 1,
            WorkingPod("terminated", "desired", ""): 1,
        }
        assert described.orphans == 1
