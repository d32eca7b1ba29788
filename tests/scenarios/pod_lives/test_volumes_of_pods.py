"""A pod runs once its volumes are there, and goes once they are gone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from messages.pods import API, FILE, HTTP, Pod, PodPhase
from messages.volumes import PodVolume, VolumeTrouble
from tests.support.builders import edited, make_pod
from tests.support.pod_lives.lives_stage import LivesStage, LivesWorld, api_pod, lives_stage
from tests.support.pod_lives.plain_volumes import PlainVolumes

MAIN = {"name": "main", "volumeMounts": [{"name": "keys", "mountPath": "/keys"}]}
SPEC = {
    "containers": [MAIN],
    "volumes": [{"name": "keys", "secret": {"secretName": "keys"}}],
    "terminationGracePeriodSeconds": 1,
}
WEB = api_pod(spec=SPEC)
WHY = 'MountVolume.SetUp failed for volume "keys" : no'


@pytest.fixture
def volumes() -> PlainVolumes:
    return PlainVolumes()


@pytest.fixture
def lives(volumes: PlainVolumes) -> Iterator[LivesStage]:
    with lives_stage(world=LivesWorld(volumes=volumes)) as stage:
        yield stage


def deleted(pod: Pod) -> Pod:
    metadata = {
        **pod.document["metadata"],
        "deletionTimestamp": "2030-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 1,
    }
    return edited(pod, metadata=metadata)


def test_a_pod_without_volumes_wants_none_and_waits_for_nobody(
    lives: LivesStage, volumes: PlainVolumes
) -> None:
    web = make_pod("web")
    lives.lists(FILE, web)
    assert lives.ran() == ["start web/main#0"]
    lives.lists(FILE)
    lives.play.advance(60.0)
    assert volumes.diary == []
    assert lives.workers() == []


def test_volumes_of_other_pods_go_once_all_sources_have_listed(
    lives: LivesStage, volumes: PlainVolumes
) -> None:
    web = make_pod("web")
    lives.lists(FILE, web)
    lives.lists(HTTP)
    assert volumes.known == []
    lives.lists(API, WEB)
    assert volumes.known == [{web.uid, WEB.uid}]
    lives.lists(FILE)
    assert len(volumes.known) == 1


def test_a_pod_is_run_with_its_volumes_and_with_what_they_become(
    lives: LivesStage, volumes: PlainVolumes
) -> None:
    volumes.pending = {"keys"}
    lives.lists(API, WEB)
    assert lives.ran() == []
    assert lives.world.objects.asked == 0
    volumes.pending = set()
    volumes.tells()
    lives.play.settle()
    assert lives.ran() == ["start web/main#0"]
    assert lives.machine.runs[-1].volumes == {"keys": PodVolume(path="/volumes/keys")}


def test_a_pod_waits_for_a_volume_in_trouble_and_its_status_says_why(
    lives: LivesStage, volumes: PlainVolumes
) -> None:
    volumes.troubles = {"keys": VolumeTrouble(message="no")}
    lives.lists(API, WEB)
    assert lives.ran() == []
    status = lives.status(WEB)
    assert status.phase is PodPhase.PENDING
    ready = {each.type: each for each in status.conditions}["actorlet/VolumesReady"]
    assert (ready.status, ready.reason, ready.message) == ("False", "FailedMount", WHY)
    volumes.troubles = {}
    volumes.tells()
    lives.play.settle()
    assert lives.ran() == ["start web/main#0"]
    ready = {each.type: each for each in lives.status(WEB).conditions}["actorlet/VolumesReady"]
    assert ready.status == "True"


def test_a_volume_that_there_is_never_here_is_something_that_is_not_supported(
    lives: LivesStage, volumes: PlainVolumes
) -> None:
    volumes.troubles = {"keys": VolumeTrouble(message="no", is_for_good=True)}
    lives.lists(API, WEB)
    conditions = {each.type: each for each in lives.status(WEB).conditions}
    assert conditions["actorlet/Supported"].message == WHY
    lives.lists(API, deleted(WEB))
    lives.play.settle()
    assert lives.workers() == []


def test_a_pod_goes_only_after_its_volumes_and_then_at_once(
    lives: LivesStage, volumes: PlainVolumes
) -> None:
    lives.lists(API, WEB)
    volumes.stays = {WEB.uid}
    lives.lists(API, deleted(WEB))
    lives.play.advance(60.0)
    assert lives.ran() == ["start web/main#0", "stop web/main#0"]
    assert WEB.uid not in lives.statuses.finished
    volumes.stays = set()
    volumes.goes(WEB.uid)
    lives.play.settle()
    assert lives.ran() == ["remove web"]
    assert WEB.uid in lives.statuses.finished


HELD = 'UnmountVolume.TearDown failed for volume "pv1" : driver d mounted it'


@pytest.mark.parametrize("crashes", [False, True])
def test_a_pod_that_stays_for_a_volume_says_so_in_an_event_and_a_condition_until_it_is_gone(
    lives: LivesStage, volumes: PlainVolumes, *, crashes: bool
) -> None:
    lives.lists(API, WEB)
    volumes.stays, volumes.why = {WEB.uid}, (HELD,)
    lives.world.events.drain()
    lives.lists(API, deleted(WEB))
    lives.play.advance(60.0)
    if crashes:
        lives.worker_crashes(WEB)
    posted = [each for each in lives.world.events.drain() if each.reason == "FailedUnmount"]
    assert [each.message for each in posted] == [HELD] * (1 + crashes)
    assert [each.regarding.name for each in posted][:1] == ["web"]
    status = lives.status(WEB)
    assert (status.is_ended, WEB.uid in lives.statuses.finished) == (True, False)
    gone = {each.type: each for each in status.conditions}["actorlet/VolumesReleased"]
    assert (gone.status, gone.reason, gone.message) == ("False", "FailedUnmount", HELD)
    volumes.stays, volumes.why = set(), ()
    volumes.goes(WEB.uid)
    lives.play.settle()
    assert WEB.uid in lives.statuses.finished
    conditions = {each.type: each for each in lives.status(WEB).conditions}
    assert conditions["actorlet/VolumesReleased"].status == "True"


def test_a_static_pod_that_stays_for_a_volume_says_so_and_keeps_its_name(
    lives: LivesStage, volumes: PlainVolumes
) -> None:
    web = make_pod("web", spec=SPEC)
    lives.lists(FILE, web)
    volumes.stays, volumes.why = {web.uid}, (HELD,)
    lives.lists(FILE)
    lives.play.advance(60.0)
    assert lives.workers() == [f"pods/{web.uid}"]
    assert HELD in [each.message for each in lives.world.events.drain()]
    volumes.goes(web.uid)
    lives.play.settle()
    assert lives.workers() == []


def test_volumes_are_taken_away_after_the_last_container_and_not_before(
    lives: LivesStage, volumes: PlainVolumes
) -> None:
    lives.lists(API, WEB)
    lives.machine.stubborn = {WEB.uid}
    lives.lists(API, deleted(WEB))
    assert set(volumes.diary) == {"want web"}
    lives.play.advance(5.0)
    assert volumes.diary[-1] == f"release {WEB.uid}"


def test_a_pod_that_ended_by_itself_gives_its_volumes_back(
    lives: LivesStage, volumes: PlainVolumes
) -> None:
    job = api_pod("job", spec={**SPEC, "restartPolicy": "Never"})
    lives.lists(API, job)
    lives.exits(job)
    lives.play.advance(1.0)
    assert volumes.diary[-1] == f"release {job.uid}"
    assert lives.status(job).phase is PodPhase.SUCCEEDED


def test_what_the_keeper_of_volumes_lost_is_asked_again(
    lives: LivesStage, volumes: PlainVolumes
) -> None:
    volumes.is_silent = True
    lives.lists(API, WEB)
    volumes.is_silent = False
    lives.play.advance(3.0)
    assert lives.ran() == ["start web/main#0"]
    volumes.is_silent = True
    lives.lists(API)
    lives.play.advance(2.0)
    volumes.is_silent = False
    lives.play.advance(3.0)
    assert lives.workers() == []


def test_a_worker_that_crashes_wants_and_releases_the_same(
    lives: LivesStage, volumes: PlainVolumes
) -> None:
    lives.lists(API, WEB)
    lives.worker_crashes(WEB)
    assert lives.ran() == ["start web/main#0"]
    volumes.stays = {WEB.uid}
    lives.lists(API, deleted(WEB))
    lives.play.advance(5.0)
    lives.worker_crashes(WEB)
    volumes.stays = set()
    volumes.goes(WEB.uid)
    lives.play.settle()
    assert WEB.uid in lives.statuses.finished


def test_a_pod_that_runs_from_an_earlier_process_does_not_stop_for_a_volume_in_trouble(
    volumes: PlainVolumes,
) -> None:
    world = LivesWorld(volumes=volumes)
    with lives_stage(world=world) as first:
        first.lists(API, WEB)
        assert first.ran() == ["start web/main#0"]
    volumes.troubles = {"keys": VolumeTrouble(message="no")}
    with lives_stage(world=world) as second:
        second.lists(API, WEB)
        second.play.advance(5.0)
        assert second.commanded()[-1] == "run web"
        assert second.status(WEB).phase is PodPhase.RUNNING
        second.lists(API, deleted(WEB))
        second.play.advance(5.0)
        assert volumes.diary[-1] == f"release {WEB.uid}"
        assert WEB.uid in second.statuses.finished


def test_volumes_of_a_pod_that_is_seen_first_when_it_is_deleted_are_taken_away(
    lives: LivesStage, volumes: PlainVolumes
) -> None:
    lives.lists(API, deleted(WEB))
    lives.play.advance(5.0)
    assert volumes.diary == [f"release {WEB.uid}"]
    assert lives.ran() == []
    assert WEB.uid in lives.statuses.finished


def test_volumes_of_a_pod_that_only_the_runtime_knows_are_taken_away_before_it_is_forgotten(
    volumes: PlainVolumes,
) -> None:
    world = LivesWorld(volumes=volumes)
    with lives_stage(world=world) as first:
        first.lists(API, WEB)
    with lives_stage(world=world) as second:
        volumes.stays = {WEB.uid}
        second.lists(API)
        second.play.advance(70.0)
        assert volumes.diary[-1] == f"release {WEB.uid}"
        assert "forget web" not in second.commanded()
        volumes.goes(WEB.uid)
        second.play.settle()
        assert second.commanded() == ["forget web"]
        assert second.workers() == []
