"""What the next process knows of pods, and does with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from actors.pods.node_fit import NodeView
from actors.pods.orders import worker_key
from actors.pods.records import KeptPod
from manifests.container_hashes import container_hash
from messages.objects import Change, ObjectKind
from messages.pod_lives import PodLife
from messages.pod_runtime import (
    NO_MARK,
    PodObserved,
    PodTrouble,
    RunPod,
    SandboxObserved,
    SandboxState,
)
from messages.pods import (
    API,
    CONTAINER_DIGESTS,
    CONTENT_DIGEST,
    FILE,
    Pod,
    PodPhase,
    PodUid,
    SourceName,
)
from messages.statuses import PodFailure
from messages.units import Timestamp
from tests.support.builders import make_pod
from tests.support.pod_lives.kept_in_memory import KeptInMemory
from tests.support.pod_lives.lives_stage import LivesStage, LivesWorld, api_pod, lives_stage


@pytest.fixture
def world() -> LivesWorld:
    return LivesWorld(records=KeptInMemory())


def records_of(world: LivesWorld) -> KeptInMemory:
    assert isinstance(world.records, KeptInMemory)
    return world.records


def acting(action: str = "restart", **fields: Any) -> Pod:
    """Return a pod that wants something done when its ConfigMap changes."""
    source = [{"configMapRef": {"name": "settings"}}]
    spec = {"containers": [{"name": "main", "envFrom": source}]}
    return api_pod(spec=spec, annotations={"actorlet/on-object-change": action}, **fields)


def test_a_static_pod_keeps_its_start_time(world: LivesWorld) -> None:
    web = make_pod("web")
    with lives_stage(world=world) as lives:
        lives.lists(FILE, web)
        began = lives.status(web).start_time
    with lives_stage(world=world) as lives:
        lives.play.advance(500.0)
        lives.lists(FILE, web)
        assert lives.status(web).start_time == began


def test_conditions_of_a_static_pod_keep_their_times_over_a_restart_where_they_are_still_true(
    world: LivesWorld,
) -> None:
    web = make_pod("web", phase="Pending")
    with lives_stage(world=world) as lives:
        lives.lists(FILE, web)
        before = lives.status(web).conditions
    with lives_stage(world=world) as lives:
        lives.play.advance(500.0)
        lives.lists(FILE, web)
        assert lives.status(web).conditions == before


def test_a_static_pod_keeps_its_address_though_the_first_that_is_told_is_a_sandbox_without_one(
    world: LivesWorld,
) -> None:
    web, address = make_pod("web"), ("10.0.0.7",)
    records_of(world).pods[web.uid] = KeptPod(
        uid=web.uid, ips=address, conditions={"Ready": ("False", Timestamp(5.0))}
    )
    stopped = SandboxObserved(
        id="s1", attempt=0, state=SandboxState.NOT_READY, created_at=Timestamp(1.0)
    )
    world.machine.is_silent = True
    with lives_stage(world=world) as lives:
        lives.lists(FILE, web)
        for mark in (NO_MARK, lives.machine.pods[web.uid].mark):
            seen = PodObserved(uid=web.uid, mark=mark, sandbox=stopped)
            lives.play.tell(worker_key(web.uid), seen)
            observed = lives.status(web).observed
            assert observed is not None
            assert observed.sandbox == replace(stopped, ips=address)


@pytest.mark.parametrize("is_told_late", [False, True], ids=["while it stops", "with its end"])
def test_a_static_pod_keeps_an_address_that_it_is_told_to_have_once_it_is_stopped(
    world: LivesWorld, *, is_told_late: bool
) -> None:
    late, address = make_pod("late", spec={"activeDeadlineSeconds": 5}), ("10.0.0.7",)
    made = SandboxObserved(
        id="s1", attempt=0, state=SandboxState.READY, created_at=Timestamp(1.0), ips=address
    )
    stopped = replace(made, state=SandboxState.NOT_READY, ips=())
    world.machine.is_silent = True
    with lives_stage(world=world) as lives:
        lives.lists(FILE, late)
        lives.play.advance(6.0)
        mark = lives.machine.pods[late.uid].mark
        end = (mark, replace(stopped, ips=address if is_told_late else ()))
        for mark, sandbox in (end,) if is_told_late else ((NO_MARK, made), end):
            seen = PodObserved(uid=late.uid, mark=mark, sandbox=sandbox)
            lives.play.tell(worker_key(late.uid), seen)
    with lives_stage(world=world) as lives:
        lives.lists(FILE, late)
        seen = PodObserved(uid=late.uid, mark=NO_MARK, sandbox=stopped)
        lives.play.tell(worker_key(late.uid), seen)
        observed = lives.status(late).observed
        assert observed is not None
        assert observed.sandbox == replace(stopped, ips=address)


def test_a_record_goes_with_its_pod_and_those_of_strangers_when_all_have_listed(
    world: LivesWorld,
) -> None:
    world.sources = frozenset({FILE, API})
    records_of(world).pods[PodUid("stranger")] = KeptPod(uid=PodUid("stranger"))
    with lives_stage(world=world) as lives:
        lives.lists(FILE, make_pod("web"))
        assert set(records_of(world).pods) == {"stranger", "uid-default-web"}
        lives.lists(FILE)
        assert set(records_of(world).pods) == {"stranger"}
        lives.lists(API)
        assert records_of(world).pods == {}


def test_a_disk_that_does_not_answer_keeps_no_pod_from_running(world: LivesWorld) -> None:
    records_of(world).hangs = True
    with lives_stage(world=world) as lives:
        lives.lists(FILE, make_pod("web"))
        lives.play.advance(29.0)
        assert lives.ran() == []
        lives.play.advance(1.0)
        assert lives.ran() == ["start web/main#0"]


def test_an_answer_of_the_disk_that_is_lost_is_asked_for_again(world: LivesWorld) -> None:
    job = api_pod("job", spec={"restartPolicy": "Never"})
    records_of(world).pods[job.uid] = KeptPod(uid=job.uid, ended={"phase": "Succeeded"})
    records_of(world).hangs = True
    with lives_stage(world=world) as lives:
        lives.lists(API, job)
        records_of(world).hangs = False
        lives.play.advance(5.0)
        assert lives.status(job).phase is PodPhase.SUCCEEDED
        assert lives.ran() == []


def test_what_ends_well_while_the_pod_can_never_run_here_is_kept_as_it_is_shown(
    world: LivesWorld,
) -> None:
    job = make_pod("job", spec={"restartPolicy": "Never", "containers": [{"name": "main"}]})
    trouble = PodTrouble(reason="Unsupported", message="no such class", is_for_good=True)
    with lives_stage(world=world) as lives:
        lives.lists(FILE, job)
        world.machine.pods[job.uid].troubles = (trouble,)
        lives.exits(job, 0)
        shown = lives.status(job)
        assert (shown.phase, shown.reason) == (PodPhase.FAILED, "Unsupported")
        ended = records_of(world).pods[job.uid].ended
        assert ended is not None
        assert (ended["phase"], ended["reason"]) == ("Failed", "Unsupported")
    lost(world)
    with lives_stage(world=world) as lives:
        lives.lists(FILE, job)
        again = lives.status(job)
        assert (again.phase, again.reason) == (PodPhase.FAILED, "Unsupported")


def test_a_pod_that_was_active_for_too_long_has_failed_for_the_next_process_too(
    world: LivesWorld,
) -> None:
    job = make_pod("job", spec={"activeDeadlineSeconds": 5, "containers": [{"name": "main"}]})
    with lives_stage(world=world) as lives:
        lives.lists(FILE, job)
        lives.play.advance(5.0)
        assert lives.status(job).phase is PodPhase.FAILED
        ended = records_of(world).pods[job.uid].ended
        assert ended is not None
        assert (ended["phase"], ended["reason"]) == ("Failed", "DeadlineExceeded")
        assert lives.ran()
    lost(world)
    with lives_stage(world=world) as lives:
        lives.lists(FILE, job)
        again = lives.status(job)
        assert (again.phase, again.reason) == (PodPhase.FAILED, "DeadlineExceeded")
        assert lives.ran() == []


def test_a_success_is_kept_without_the_reason_of_a_kill_that_came_later(world: LivesWorld) -> None:
    job = make_pod("job", spec={"restartPolicy": "Never", "containers": [{"name": "main"}]})
    with lives_stage(world=world) as lives:
        lives.lists(FILE, job)
        records_of(world).hangs = True
        lives.exits(job, 0)
        lives.kills(job, PodFailure(reason="Evicted", message="the disk is full"))
        records_of(world).hangs = False
        lives.worker_crashes(job)
        lives.play.advance(5.0)
        assert lives.status(job).phase is PodPhase.SUCCEEDED
        ended = records_of(world).pods[job.uid].ended
        assert ended is not None
        assert (ended["phase"], ended.get("reason")) == ("Succeeded", None)


def test_a_change_while_no_agent_was_there_is_decided_at_the_next_start(world: LivesWorld) -> None:
    world.objects.put(ObjectKind.CONFIG_MAP, "settings", level="info")
    with lives_stage(world=world) as lives:
        lives.lists(API, acting())
    world.machine.forget_commands()
    world.objects.put(ObjectKind.CONFIG_MAP, "settings", level="debug")
    with lives_stage(world=world) as lives:
        lives.lists(API, acting())
        (missed,) = world.objects.missed
        assert (missed.pod, missed.changed.change, missed.changed.keys) == (
            acting().uid,
            Change.MODIFIED,
            ("level",),
        )
        assert [event.reason for event in world.events.drain()] == ["ReferenceChanged"]
        lives.worker_crashes(acting())
        assert len(world.objects.missed) == 1


def test_a_change_that_the_agent_was_there_for_is_not_decided_again(world: LivesWorld) -> None:
    world.objects.put(ObjectKind.CONFIG_MAP, "settings", level="info")
    with lives_stage(world=world) as lives:
        lives.lists(API, acting())
        world.objects.put(ObjectKind.CONFIG_MAP, "settings", level="debug")
        lives.play.settle()
    world.machine.forget_commands()
    with lives_stage(world=world) as lives:
        lives.lists(API, acting())
        assert world.objects.missed == []


@pytest.mark.parametrize("is_running", [True, False])
def test_nothing_is_decided_for_pods_that_want_nothing_or_start_anew(
    world: LivesWorld, *, is_running: bool
) -> None:
    pod = acting("none" if is_running else "restart")
    world.objects.put(ObjectKind.CONFIG_MAP, "settings", level="info")
    with lives_stage(world=world) as lives:
        lives.lists(API, pod)
    world.machine.forget_commands()
    if not is_running:
        world.machine.pods.clear()
    world.objects.put(ObjectKind.CONFIG_MAP, "settings", level="debug")
    with lives_stage(world=world) as lives:
        lives.lists(API, pod)
        assert world.objects.missed == []


def test_a_grace_that_has_begun_is_not_given_anew_by_the_next_process(world: LivesWorld) -> None:
    goes = api_pod(deleting=True)
    world.machine.stubborn.add(goes.uid)
    with lives_stage(world=world) as lives:
        lives.lists(API, api_pod())
        lives.lists(API, goes)
        began = lives.play.clock.wall()
        assert lives.commanded()[-1] == "stop web 30"
    assert records_of(world).pods[goes.uid].stopped_by == began + 30.0
    world.machine.forget_commands()
    with lives_stage(world=world) as lives:
        lives.play.advance(10.0)
        lives.lists(API, goes)
        assert lives.commanded()[-1] == "stop web 20"
        lives.worker_crashes(goes)
        assert lives.commanded()[-1].startswith("stop web 1")  # what was left after the crash


@pytest.mark.parametrize(("asked", "given"), [(1, 1), (19, 19), (20, 20), (21, 20), (30, 20)])
def test_the_next_process_gives_what_is_left_of_a_grace_or_less_if_that_is_asked_for(
    world: LivesWorld, asked: int, given: int
) -> None:
    goes = api_pod(deleting=True, metadata={"deletionGracePeriodSeconds": asked})
    world.machine.stubborn.add(goes.uid)
    with lives_stage(world=world) as lives:
        lives.lists(API, api_pod())
        lives.lists(API, api_pod(deleting=True))
    world.machine.forget_commands()
    with lives_stage(world=world) as lives:
        lives.play.advance(10.0)
        lives.lists(API, goes)
        assert lives.commanded()[-1] == f"stop web {given}"


def version(number: str) -> Pod:
    """Return a version of a static pod whose UID its user has fixed."""
    return make_pod(
        "web", annotations={CONTAINER_DIGESTS: f"main={number}", CONTENT_DIGEST: number}
    )


def test_what_a_container_was_at_first_is_told_each_process_after_an_edit_too(
    world: LivesWorld,
) -> None:
    world.machine.has_running(version("one"), begun_with="one")
    with lives_stage(world=world) as lives:
        lives.lists(FILE, version("one"))
        lives.lists(FILE, version("two"))
        assert [each.first_digests for each in world.machine.runs] == [{"main": "one"}] * 2
    world.machine.forget_commands()
    with lives_stage(world=world) as lives:
        lives.lists(FILE, version("three"))
        assert world.machine.runs[-1].first_digests == {"main": "one"}
    assert "EditUnknown" not in [each.reason for each in world.events.drain()]


def test_of_a_container_that_may_be_older_than_an_edit_people_are_told_once(
    world: LivesWorld,
) -> None:
    world.machine.has_running(version("one"), begun_with="one")
    with capture_logs() as logs, lives_stage(world=world) as lives:
        lives.lists(FILE, version("two"))
        lives.lists(FILE, version("three"))
    world.machine.forget_commands()
    with lives_stage(world=world) as lives:
        lives.lists(FILE, version("three"))
    (told,) = [each for each in world.events.drain() if each.reason == "EditUnknown"]
    assert "container main does not tell" in told.message
    (line,) = [each for each in logs if each["log_level"] == "warning"]
    assert (line["event"], line["container"]) == (told.message, "main")


@pytest.mark.parametrize("begun_with", ["two", ""])
def test_of_a_container_of_which_no_edit_is_known_people_are_told_nothing(
    world: LivesWorld, begun_with: str
) -> None:
    world.machine.has_running(version("two"), begun_with=begun_with)
    with lives_stage(world=world) as lives:
        lives.lists(FILE, version("two"))
    assert "EditUnknown" not in [each.reason for each in world.events.drain()]


def test_a_container_that_tells_what_it_was_made_of_is_not_said_to_be_old(
    world: LivesWorld,
) -> None:
    world.machine.has_running(version("two"), begun_with="one")
    web = world.machine.pods[version("two").uid]
    history = web.containers["main"]
    assert history.current is not None
    made = replace(history.current, spec_hash=container_hash("main", "", "two"))
    web.containers["main"] = replace(history, current=made)
    with lives_stage(world=world) as lives:
        lives.lists(FILE, version("two"))
    assert "EditUnknown" not in [each.reason for each in world.events.drain()]


def test_a_grace_of_an_earlier_stop_says_nothing_once_the_pod_runs_again(world: LivesWorld) -> None:
    web = make_pod("web")
    world.machine.has_running(web)
    records_of(world).pods[web.uid] = KeptPod(uid=web.uid, stopped_by=Timestamp(1.0))
    with lives_stage(world=world) as lives:
        lives.lists(FILE, web)
        lives.lists(FILE)
        assert "stop web 30" in lives.commanded()


def lost(world: LivesWorld) -> None:
    """Have the machine know nothing any more, and nobody of the next process know what was told."""
    world.machine.forget_commands()
    world.machine.pods.clear()
    world.statuses.newest.clear()


@pytest.mark.parametrize(("source", "policy"), [(FILE, "Never"), (API, "OnFailure")])
def test_a_pod_that_has_ended_is_shown_so_by_the_next_process_and_not_run_whatever_the_runtime_has(
    world: LivesWorld, source: SourceName, policy: str
) -> None:
    job = make_pod("job", source=source, spec={"restartPolicy": policy})
    with lives_stage(world=world) as lives:
        lives.lists(source, job)
        lives.exits(job)
        before = lives.status(job)
        assert lives.lives()[job.uid] is PodLife.TERMINATED
    lost(world)
    with lives_stage(world=world) as lives:
        lives.play.advance(100.0)
        lives.lists(source, job)
        after = lives.status(job)
        assert (after.phase, after.start_time) == (PodPhase.SUCCEEDED, before.start_time)
        assert after.observed is not None
        ended = after.observed.containers["main"].current
        assert ended is not None
        assert (ended.exit_code, ended.finished_at is None) == (0, False)
        assert lives.lives()[job.uid] is PodLife.TERMINATED
        lives.worker_crashes(job)
        assert "start job/main#0" not in lives.ran()[1:]


def test_a_pod_that_ended_and_that_the_runtime_tells_to_run_after_all_is_stopped(
    world: LivesWorld,
) -> None:
    job = make_pod("job", spec={"restartPolicy": "Never"})
    records_of(world).pods[job.uid] = KeptPod(uid=job.uid, ended={"phase": "Failed"})
    world.machine.has_running(job)
    with lives_stage(world=world) as lives:
        lives.lists(FILE, job)
        assert "stop job/main#0" in lives.ran()
        assert lives.status(job).phase is PodPhase.FAILED


def test_nothing_of_a_pod_that_ended_is_removed_before_the_disk_has_its_end(
    world: LivesWorld,
) -> None:
    job = make_pod("job", spec={"restartPolicy": "Never"})
    with lives_stage(world=world) as lives:
        lives.lists(FILE, job)
        records_of(world).hangs = True
        lives.exits(job, 7)
        assert lives.status(job).phase is PodPhase.FAILED
        lives.worker_crashes(job)
        assert lives.commanded() == ["run job"]
        lives.play.advance(5.0)
        assert lives.commanded() == ["stop job 30"]  # a disk that does not answer is done without


def test_a_pod_that_is_removed_while_the_disk_takes_its_end_waits_for_no_disk(
    world: LivesWorld,
) -> None:
    job = make_pod("job", spec={"restartPolicy": "Never"})
    with lives_stage(world=world) as lives:
        lives.lists(FILE, job)
        records_of(world).hangs = True
        lives.exits(job)
        lives.lists(FILE)
        assert lives.commanded() == ["run job", "stop job 30", "forget job"]
        assert records_of(world).pods == {}


def test_a_pod_that_ended_takes_no_room_after_a_restart_and_is_not_refused(
    world: LivesWorld,
) -> None:
    world.node = NodeView(name="node", allocatable={"cpu": 1000, "pods": 10})
    job, web = requesting("job", "1"), requesting("web", "1")
    records_of(world).pods[job.uid] = KeptPod(uid=job.uid, ended={"phase": "Succeeded"})
    with lives_stage(world=world) as lives:
        lives.lists(API, job, web)
        assert lives.status(job).phase is PodPhase.SUCCEEDED
        assert lives.ran() == ["start web/main#0"]


def test_a_uid_that_is_added_anew_has_a_life_of_its_own_in_the_next_process_too(
    world: LivesWorld,
) -> None:
    job = make_pod("job", uid="fixed", spec={"restartPolicy": "Never"})
    with lives_stage(world=world) as lives:
        lives.lists(FILE, job)
        lives.exits(job)
        lives.lists(FILE)
        lives.lists(FILE, job)
        assert lives.lives()[job.uid] is PodLife.SYNC
        kept_now = records_of(world).pods[job.uid]
        assert kept_now.ended is None


def test_a_pod_that_a_node_ends_for_its_own_sake_is_not_kept_as_one_that_ended_by_itself(
    world: LivesWorld,
) -> None:
    web = make_pod("web")
    with lives_stage(world=world) as lives:
        lives.lists(FILE, web)
        lives.kills(web, PodFailure(reason="Evicted", message="no memory"))
        assert lives.status(web).phase is PodPhase.FAILED
        assert records_of(world).pods[web.uid].ended is None


def test_a_static_pod_shows_since_when_its_containers_run_though_the_runtime_forgot_that(
    world: LivesWorld,
) -> None:
    web = make_pod("web")
    world.keeps_starts = True
    with lives_stage(world=world) as lives:
        lives.lists(FILE, web)
        began = started_at(lives, web)
        kept_first = records_of(world).pods[web.uid]
        lives.play.advance(100.0)
        assert records_of(world).pods[web.uid] is kept_first
    (history,) = world.machine.pods[web.uid].containers.values()
    assert history.current is not None
    later = replace(history.current, started_at=Timestamp(began + 500.0))
    world.machine.pods[web.uid].containers["main"] = replace(history, current=later)
    world.machine.forget_commands()
    with lives_stage(world=world) as lives:
        lives.play.advance(600.0)
        del world.machine.runs[:]
        lives.lists(FILE, web)
        assert world.machine.runs[0].is_running
        assert int(started_at(lives, web)) == int(began)
        lives.exits(web, 1)
        lives.play.advance(1.0)
        assert started_at(lives, web) > began + 500.0


def started_at(lives: LivesStage, pod: Pod) -> Timestamp:
    """Return since when the container of a pod is shown to run."""
    observed = lives.status(pod).observed
    current = observed.containers["main"].current if observed is not None else None
    assert current is not None
    assert current.started_at is not None
    return current.started_at


def test_a_pod_without_records_is_kept_nowhere(lives: LivesStage) -> None:
    lives.lists(FILE, make_pod("web"))
    assert lives.world.records is None


def requesting(name: str, cpu: str) -> Pod:
    resources = {"requests": {"cpu": cpu}}
    return api_pod(name, spec={"containers": [{"name": "main", "resources": resources}]})


def test_a_pod_goes_on_with_what_it_had_though_it_came_to_request_more_while_no_agent_was_there(
    world: LivesWorld,
) -> None:
    world.node = NodeView(name="node", allocatable={"cpu": 4000, "pods": 10})
    shop = requesting("shop", "2")
    with lives_stage(world=world) as lives:
        lives.lists(API, requesting("web", "1"), shop)
    with lives_stage(world=world) as lives:
        larger = requesting("web", "3")
        lives.lists(API, larger, shop)
        command = lives.machine.pods[larger.uid].command
        assert isinstance(command, RunPod)
        had = command.pod.document["spec"]["containers"][0]["resources"]
        assert had == {"requests": {"cpu": "1"}}
        assert lives.memory.admission.used["cpu"] == 3000
        conditions = {each.type: each.reason for each in lives.status(larger).conditions}
        assert conditions["PodResizePending"] == "Deferred"
