"""A pod is run, stopped and finished, and what it is told on the way."""

from messages.pod_lives import PodLife
from messages.pods import API, FILE, PodPhase
from tests.support.builders import make_pod
from tests.support.pod_lives.lives_stage import LivesStage, api_pod


def test_a_static_pod_runs_while_it_is_listed(lives: LivesStage) -> None:
    web = make_pod("web")
    lives.lists(FILE, web)
    assert lives.ran() == ["start web/main#0"]
    assert lives.status(web).phase is PodPhase.RUNNING
    assert lives.lives() == {web.uid: PodLife.SYNC}


def test_a_removed_pod_is_stopped_and_forgotten_and_nothing_of_it_stays(lives: LivesStage) -> None:
    web = make_pod("web", spec={"terminationGracePeriodSeconds": 7})
    lives.lists(FILE, web)
    lives.lists(FILE)
    assert lives.commanded() == ["run web", "stop web 7", "forget web"]
    assert lives.ran() == ["start web/main#0", "stop web/main#0", "remove web"]
    assert lives.lives() == {}
    assert lives.workers() == []
    assert web.uid not in lives.statuses.newest


def test_a_deleted_pod_of_the_api_is_finished_before_its_object_may_go(lives: LivesStage) -> None:
    web = api_pod()
    lives.machine.stubborn.add(web.uid)
    lives.lists(API, web)
    lives.lists(API, api_pod(deleting=True))
    assert lives.lives() == {web.uid: PodLife.TERMINATING}
    assert lives.statuses.finished == set()
    lives.play.advance(30.0)
    assert lives.statuses.finished == {web.uid}
    assert lives.status(web).phase is PodPhase.FAILED
    assert lives.lives() == {web.uid: PodLife.FINISHED}
    lives.lists(API)
    assert lives.lives() == {}


def test_a_pod_that_has_ended_is_stopped_and_stays_to_be_looked_at(lives: LivesStage) -> None:
    job = api_pod("job", spec={"restartPolicy": "Never"})
    lives.lists(API, job)
    lives.exits(job)
    assert lives.commanded() == ["run job", "stop job 30"]
    assert lives.status(job).phase is PodPhase.SUCCEEDED
    assert lives.lives() == {job.uid: PodLife.TERMINATED}
    lives.lists(API, api_pod("job", spec={"restartPolicy": "Never"}, deleting=True))
    assert lives.commanded() == ["forget job"]
    assert lives.statuses.finished == {job.uid}
