"""What ends a pod, with which grace, and what is said of it (rules X2 to X9, L14)."""

import gc
from typing import Any

import pytest

from actors.pods.keeper_parts import POD_KEEPER
from actors.pods.worker.actor import PodWorker
from messages.pod_lives import PodLife
from messages.pod_runtime import PodTrouble
from messages.pods import API, FILE, Pod, PodPhase
from messages.statuses import PodFailure
from tests.support.builders import make_pod
from tests.support.pod_lives.lives_stage import LivesStage, api_pod, lives_stage

EVICTED = PodFailure(reason="Evicted", message="The node was low on memory")


def deleting(grace: int, **fields: Any) -> Pod:
    """Return the API's pod ``web`` while it is being deleted with this grace."""
    moment = "2030-01-01T00:00:30Z"
    metadata = {"deletionTimestamp": moment, "deletionGracePeriodSeconds": grace}
    return api_pod(metadata=metadata, **fields)


def test_a_later_shorter_grace_counts_and_a_longer_one_does_not(lives: LivesStage) -> None:
    lives.machine.stubborn.add(api_pod().uid)
    lives.lists(API, api_pod())
    for grace in (20, 5, 60):
        lives.lists(API, deleting(grace))
    assert lives.commanded() == ["run web", "stop web 20", "stop web 5"]


def test_nothing_of_a_worker_stays_in_memory_until_cycles_are_looked_for() -> None:
    gc.collect()
    gc.disable()  # a look at all objects stops all actors, so it is rare
    try:
        with lives_stage() as lives:
            pods = [make_pod(f"web-{number}") for number in range(5)]
            lives.lists(FILE, *pods)
            lives.worker_crashes(pods[0])
            assert workers_in_memory() == 5
            lives.lists(FILE)
            assert lives.workers() == []
            assert workers_in_memory() == 0
    finally:
        gc.enable()


def workers_in_memory() -> int:
    return sum(type(each) is PodWorker for each in gc.get_objects())


def test_nobody_gets_less_than_a_second(lives: LivesStage) -> None:
    lives.lists(API, api_pod(spec={"terminationGracePeriodSeconds": 0}))
    lives.lists(API, deleting(0, spec={"terminationGracePeriodSeconds": 0}))
    assert lives.commanded() == ["run web", "stop web 1", "forget web"]


def test_a_grace_of_ten_years_is_no_trouble(lives: LivesStage) -> None:
    web = make_pod("web", spec={"terminationGracePeriodSeconds": 315_360_000})
    lives.machine.stubborn.add(web.uid)
    lives.lists(FILE, web)
    lives.lists(FILE)
    assert lives.commanded() == ["run web", "stop web 3.1536e+08"]
    lives.exits(web)
    assert lives.lives() == {}


def test_a_killed_pod_fails_with_the_reason_and_stays_until_it_is_deleted(
    lives: LivesStage,
) -> None:
    web = api_pod()
    lives.machine.stubborn.add(web.uid)
    lives.lists(API, web)
    told = lives.kills(web, EVICTED, grace=3)
    told.expect_silence()
    assert lives.status(web).phase is PodPhase.RUNNING
    lives.play.advance(3.0)
    assert told.next().uid == web.uid
    status = lives.status(web)
    assert (status.phase, status.reason) == (PodPhase.FAILED, "Evicted")
    assert lives.lives() == {web.uid: PodLife.TERMINATED}
    assert lives.commanded() == ["run web", "stop web 3"]


def test_a_kill_of_a_pod_that_does_not_run_is_answered_at_once(lives: LivesStage) -> None:
    lives.lists(API)
    assert lives.kills(api_pod(), EVICTED).next().uid == api_pod().uid


def test_a_kill_is_never_lost_behind_an_update(lives: LivesStage) -> None:
    web = api_pod()
    lives.lists(API, web)
    lives.play.system.crash(f"pods/{web.uid}")
    lives.play.settle()  # its worker is down, and hears nothing for a moment
    lives.kills(web, EVICTED, grace=2)
    lives.lists(API, api_pod(labels={"changed": "yes"}))
    lives.play.advance(1.0)
    assert lives.commanded() == ["run web", "run web", "stop web 2"]  # a new life repeats first
    assert lives.status(web).reason == "Evicted"


def test_a_pod_may_be_active_until_its_deadline(lives: LivesStage) -> None:
    job = api_pod("job", spec={"activeDeadlineSeconds": 60})
    lives.lists(API, job)
    lives.play.advance(59.0)
    lives.lists(API, api_pod("job", spec=job.document["spec"], labels={"changed": "yes"}))
    assert lives.lives() == {job.uid: PodLife.SYNC}
    lives.play.advance(1.0)
    status = lives.status(job)
    assert (status.phase, status.reason) == (PodPhase.FAILED, "DeadlineExceeded")
    assert [event.reason for event in lives.world.events.drain()] == ["DeadlineExceeded"]


def test_a_deadline_counts_from_the_start_time_that_the_api_shows(lives: LivesStage) -> None:
    status = {"phase": "Running", "startTime": "2023-11-14T22:00:00Z"}
    job = api_pod("job", spec={"activeDeadlineSeconds": 60}, status=status)
    lives.lists(API, job)
    assert lives.ran() == []
    assert lives.status(job).reason == "DeadlineExceeded"


def test_an_absurd_deadline_sets_no_absurd_timer(lives: LivesStage) -> None:
    job = api_pod("job", spec={"activeDeadlineSeconds": 10**15})
    lives.lists(API, job)
    timers = lives.play.system.control.timers
    assert max(due for due, _, _ in timers._heap) <= 86_400.0
    assert lives.lives() == {job.uid: PodLife.SYNC}


def test_a_trouble_that_is_for_good_fails_the_pod(lives: LivesStage) -> None:
    web = api_pod()
    lives.lists(API, web)
    trouble = PodTrouble(reason="NoGpu", message="this machine has none", is_for_good=True)
    lives.has_trouble(web, trouble)
    status = lives.status(web)
    assert (status.phase, status.reason, status.message) == (
        PodPhase.FAILED,
        "NoGpu",
        "this machine has none",
    )
    assert lives.lives() == {web.uid: PodLife.TERMINATED}


def test_a_pod_whose_phase_is_terminal_when_it_is_seen_first_starts_nothing(
    lives: LivesStage,
) -> None:
    done = api_pod("done", phase="Succeeded")
    lives.lists(API, done)
    assert lives.ran() == []
    assert lives.lives() == {done.uid: PodLife.TERMINATED}
    assert lives.status(done).phase is PodPhase.SUCCEEDED


def test_a_pod_that_others_declared_failed_is_stopped(lives: LivesStage) -> None:
    lives.lists(API, api_pod())
    lives.lists(API, api_pod(phase="Failed"))
    assert lives.ran() == ["start web/main#0", "stop web/main#0"]


def test_a_pod_that_is_being_deleted_when_it_is_seen_first_starts_nothing(
    lives: LivesStage,
) -> None:
    web = api_pod(deleting=True)
    lives.lists(API, web)
    assert lives.ran() == []
    assert lives.statuses.finished == {web.uid}


@pytest.mark.parametrize("restarted", ["Always", "OnFailure"])
def test_a_container_that_is_restarted_does_not_end_its_pod(
    lives: LivesStage, restarted: str
) -> None:
    web = api_pod(spec={"restartPolicy": restarted})
    lives.lists(API, web)
    lives.exits(web, code=1)
    assert lives.ran() == ["start web/main#0", "stop web/main#0", "start web/main#1"]
    assert lives.lives() == {web.uid: PodLife.SYNC}


def test_a_changed_pod_is_told_to_the_runtime_and_stays_the_same_pod(lives: LivesStage) -> None:
    lives.lists(FILE, make_pod("web", uid="fixed", image="web:1"))
    lives.lists(FILE, make_pod("web", uid="fixed", image="web:2"))
    assert lives.commanded() == ["run web", "run web"]
    assert lives.ran() == ["start web/main#0", "stop web/main#0", "start web/main#1"]


def test_a_status_that_the_api_server_took_is_no_news_to_the_pods_worker(
    lives: LivesStage,
) -> None:
    lives.lists(API, api_pod())
    lives.lists(API, api_pod(status={"phase": "Running"}))
    assert lives.commanded() == ["run web"]


def test_a_condition_that_others_set_is_told_to_a_worker_whose_pod_waits_for_it(
    lives: LivesStage,
) -> None:
    gate = {"readinessGates": [{"conditionType": "example.com/ready"}]}
    web = api_pod(spec=gate)

    def readiness() -> str:
        return next(each.status for each in lives.status(web).conditions if each.type == "Ready")

    lives.lists(API, web)
    assert readiness() == "False"
    condition = {"type": "example.com/ready", "status": "True"}
    lives.lists(API, api_pod(spec=gate, status={"phase": "Running", "conditions": [condition]}))
    assert readiness() == "True"


def test_how_long_operations_take_is_measured_from_the_wish_to_its_end(lives: LivesStage) -> None:
    web = api_pod()
    lives.machine.stubborn.add(web.uid)
    lives.lists(API, web)
    lives.lists(API, api_pod(annotations={"changed": "yes"}))
    lives.lists(API, api_pod(deleting=True))
    lives.play.advance(30.0)
    lives.crashes(POD_KEEPER.path)
    operations = lives.described().operations or {}
    assert {name: sum(each.buckets) for name, each in operations.items()} == {
        "create": 1,
        "update": 1,
        "kill": 1,
    }
    assert operations["kill"].seconds >= 30.0
