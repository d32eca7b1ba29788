"""Pods go on in spite of containers that fail, answers that are lost, and a runtime that is away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from manifests.container_hashes import container_digests
from messages.cluster import ClusterPort, ClusterService
from messages.container_runtime import (
    CreateContainer,
    FindImage,
    PullImage,
    RemoveSandbox,
    ResizeContainer,
    RunSandbox,
    RuntimeFailure,
    RuntimeFailureKind,
    StartContainer,
    StopContainer,
    StopSandbox,
)
from messages.objects import ObjectId, ObjectKind, ObjectValue, Origin
from messages.pod_runtime import NO_MARK, ContainerState, Mark, ProbeVerdict, RunPod, SandboxState
from messages.pods import CONTAINER_DIGESTS, Pod, PodPhase
from runtimes.containers.actor import POD_RUNTIME
from runtimes.containers.event_texts import WITHHELD
from stores.statuses.phase import phase_of
from tests.support.builders import make_pod
from tests.support.manifests.manifest_text import GOOD, decoded, edited
from tests.support.runtimes.containers_stage import ScriptedStage, containers_stage, scripted_stage
from tests.support.runtimes.scripted_containers import REFUSED, UNCERTAIN, Deed
from tests.support.runtimes.situations import IMAGE, container, sidecar, spec_of

ONE = make_pod(spec=spec_of("a"))
TWO = make_pod(spec=spec_of("a", "b"))
ONCE = make_pod(spec=spec_of("a", policy="Never"))
OF_A_FIXED_UID = {**GOOD, "metadata": {"name": "web", "uid": "fixed"}}
PULLED = f'Successfully pulled image "{IMAGE}" in 0s (0s including waiting). Image size: 17 bytes.'
SECRET = {
    ObjectId(
        kind=ObjectKind.SECRET, namespace="default", name="s", origin=Origin.LOCAL
    ): ObjectValue(uid="u", resource_version="1", data={"key": b"value"})
}


def ref(name: str, key: str, **fields: Any) -> dict[str, Any]:
    return {"secretKeyRef": {"name": name, "key": key, **fields}}


@pytest.fixture
def stage() -> Iterator[ScriptedStage]:
    with scripted_stage() as made:
        yield made


@pytest.fixture
def asking() -> Iterator[ScriptedStage]:
    """A runtime that has to be asked for images."""
    with scripted_stage(assumes_images=False) as made:
        yield made


# What is counted.


def test_attempts_to_start_are_counted_with_what_kept_them_from_it(asking: ScriptedStage) -> None:
    asking.containers.next(RunSandbox, REFUSED)
    asking.containers.next(PullImage, REFUSED)
    asking.containers.next(CreateContainer, REFUSED)
    asking.containers.next(StartContainer, REFUSED)
    asking.run(make_pod(spec=spec_of("a", inits=(sidecar("side"),))))
    asking.play.advance(300)
    described = asking.described()
    assert described.starts == {"init_container": 4, "container": 1}
    assert described.start_errors == {
        ("init_container", "ErrImagePull"): 1,
        ("init_container", "CreateContainerError"): 1,
        ("init_container", "RunContainerError"): 1,
    }
    assert described.sandbox_errors == 1


# Uncertain answers.


@pytest.mark.parametrize("request_type", [RunSandbox, CreateContainer, StartContainer])
@pytest.mark.parametrize("deed", [Deed.DONE_UNCERTAINLY, Deed.LOST_UNCERTAINLY])
def test_what_may_have_happened_is_looked_at_before_the_next_step(
    stage: ScriptedStage, request_type: type, deed: Deed
) -> None:
    stage.containers.next(request_type, deed)
    stage.run(ONE)
    stage.play.advance(60)
    assert stage.containers.alive() == ["a-0"]
    current = stage.container("a").current
    assert current is not None
    assert current.state is ContainerState.RUNNING


@pytest.mark.parametrize("request_type", [StopContainer, StopSandbox])
@pytest.mark.parametrize("deed", [Deed.DONE_UNCERTAINLY, Deed.LOST_UNCERTAINLY])
def test_a_stop_that_may_have_happened_comes_to_its_end(
    stage: ScriptedStage, request_type: type, deed: Deed
) -> None:
    stage.run(ONE)
    stage.containers.next(request_type, deed)
    mark = stage.stop(ONE)
    stage.play.advance(60)
    assert stage.containers.alive() == []
    assert stage.last().mark == mark


def test_a_call_that_nobody_ever_answers_is_given_up_and_looked_after(stage: ScriptedStage) -> None:
    stage.containers.next(StartContainer, Deed.HELD)
    stage.run(ONE)
    stage.containers.lose()
    stage.play.advance(400)
    assert stage.containers.alive() == ["a-0"]


def test_after_a_crash_a_call_in_flight_is_waited_for(stage: ScriptedStage) -> None:
    stage.containers.next(CreateContainer, Deed.HELD)
    stage.run(ONE)
    stage.crash()
    assert stage.containers.held == ["create a-0", "look at uid-default-web"]
    stage.containers.release()
    stage.play.settle()
    assert stage.containers.alive() == ["a-0"]
    assert stage.containers.taken() == ["run sandbox 0", "create a-0", "start c2"]


# A runtime that is away.


def test_nothing_is_started_or_stopped_while_the_runtime_is_away(stage: ScriptedStage) -> None:
    stage.run(ONE)
    stage.containers.taken()
    stage.containers.goes_away()
    mark = stage.stop(ONE)
    other = make_pod("other")
    stage.run(other)
    stage.play.advance(100)
    assert stage.containers.taken() == []
    told = stage.told()
    assert {each.troubles[0].reason for each in told[-2:]} == {"RuntimeIsAway"}
    assert {each.mark for each in told if each.uid == other.uid} == {NO_MARK}
    assert mark not in {each.mark for each in told}
    assert stage.described().trouble == "connection refused"
    stage.containers.comes_back()
    stage.play.settle()
    assert stage.containers.alive() == ["main-0"]
    assert {each.mark for each in stage.told() if each.uid == ONE.uid} >= {mark}
    assert stage.described().trouble == ""


def test_a_pod_whose_grace_ends_while_the_runtime_is_away_is_asked_to_end_before_it_is_killed(
    stage: ScriptedStage,
) -> None:
    stage.run(ONE)
    stage.containers.goes_away()
    stage.stop(ONE, grace=30)
    stage.play.advance(100)
    stage.containers.taken()
    stage.containers.comes_back()
    stage.play.settle()
    stops = [each for each in stage.containers.taken() if each.startswith("stop c")]
    assert stops == ["stop c2 within 2"]


def test_what_happened_while_the_runtime_was_away_is_seen_when_it_is_back(
    stage: ScriptedStage,
) -> None:
    stage.run(ONCE)
    stage.containers.goes_away()
    stage.containers.exit("a", 3)
    stage.play.settle()
    stage.told()
    stage.containers.comes_back()
    stage.play.settle()
    history = stage.container("a")
    assert history.current is not None
    assert (history.current.state, history.current.exit_code) == (ContainerState.EXITED, 3)
    assert history.wait is None


# A network that is not ready.


def test_rule_x23_pods_wait_for_a_network_and_those_of_the_host_do_not(
    stage: ScriptedStage,
) -> None:
    stage.containers.has_network("no plugin")
    host = make_pod("host", spec={**spec_of("h"), "hostNetwork": True})
    stage.run(ONE)
    stage.run(host)
    stage.play.advance(100)
    assert stage.containers.alive() == ["h-0"]
    waiting = [each for each in stage.told() if each.uid == ONE.uid][-1]
    (trouble,) = waiting.troubles
    assert (trouble.reason, trouble.message) == (
        "NetworkNotReady",
        "network is not ready: no plugin",
    )
    assert stage.said().count((trouble.reason, trouble.message)) == 1

    stage.containers.has_network()
    stage.play.settle()
    assert stage.containers.alive() == ["a-0", "h-0"]
    assert stage.last().troubles == ()


def test_what_runs_goes_on_without_a_network_and_a_container_that_ended_starts_again(
    stage: ScriptedStage,
) -> None:
    stage.run(ONE)
    stage.containers.has_network("no plugin")
    stage.containers.exit("a", 1)
    stage.play.advance(20)
    assert stage.containers.alive() == ["a-1"]
    assert "NetworkNotReady" not in {reason for reason, _ in stage.said()}


# What fails.


def test_a_pod_that_can_never_run_here_is_told_of_in_the_words_for_that(
    stage: ScriptedStage,
) -> None:
    text = 'forbidden sysctl: "kernel.msgmax" not allowlisted'
    forbidden = RuntimeFailure(
        kind=RuntimeFailureKind.UNSUPPORTED, message=text, reason="SysctlForbidden"
    )
    stage.containers.next(RunSandbox, forbidden)
    stage.run(ONE)
    assert stage.said() == [("SysctlForbidden", text)]


def test_an_outage_is_said_by_no_pod(stage: ScriptedStage) -> None:
    away = RuntimeFailure(
        kind=RuntimeFailureKind.UNCERTAIN,
        message="the runtime is away: connect: no such file or directory",
        is_away=True,
    )
    stage.run(ONE)
    stage.said()
    stage.containers.next(StopContainer, away)
    with capture_logs() as lines:
        stage.stop(ONE)
    assert stage.said() == [("Killing", "Stopping container a")]
    assert [line for line in lines if line["log_level"] == "warning"] == []


def test_a_sandbox_that_cannot_be_made_is_tried_again_and_told_of(stage: ScriptedStage) -> None:
    stage.containers.next(RunSandbox, REFUSED, times=3)
    stage.run(ONE)
    trouble = stage.last().troubles[0]
    assert trouble.reason == "FailedCreatePodSandBox"
    assert trouble.message == "Failed to create pod sandbox: the runtime said no"
    stage.play.advance(7.5)
    assert stage.containers.taken()[:4] == ["run sandbox 0"] * 4
    assert stage.containers.alive() == ["a-0"]
    assert stage.last().troubles == ()
    assert (
        stage.said()[:3]
        == [("FailedCreatePodSandBox", "Failed to create pod sandbox: the runtime said no")] * 3
    )


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (RuntimeFailureKind.CONFIG, "CreateContainerConfigError"),
        (RuntimeFailureKind.REFUSED, "CreateContainerError"),
    ],
)
def test_a_container_that_cannot_be_created_is_tried_again(
    stage: ScriptedStage, kind: RuntimeFailureKind, reason: str
) -> None:
    failure = RuntimeFailure(kind=kind, message='secret "s" not found')
    stage.containers.next(CreateContainer, failure)
    stage.run(ONE)
    assert stage.waits() == {"a": reason}
    assert stage.said() == [("Failed", 'Error: secret "s" not found')]
    stage.play.advance(9)
    assert stage.containers.alive() == []
    stage.play.advance(2)
    assert stage.containers.alive() == ["a-0"]
    assert stage.waits() == {}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"envFrom": [{"secretRef": {"name": "s"}}]}, 'secret "s" not found'),
        ({"env": [{"name": "A", "valueFrom": ref("s", "key")}]}, 'secret "s" not found'),
        (
            {"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}]},
            'configmap "c" not found',
        ),
    ],
)
def test_a_container_waits_for_what_its_environment_needs(
    stage: ScriptedStage, fields: dict[str, Any], sentence: str
) -> None:
    pod = make_pod(spec={"containers": [container("a", **fields), container("b")]})
    stage.run(pod)
    assert stage.containers.alive() == ["b-0"]
    wait = stage.last().containers["a"].wait
    assert wait is not None
    assert (wait.reason, wait.message) == ("CreateContainerConfigError", sentence)
    assert ("Failed", f"Error: {sentence}") in stage.said()
    if "secret" in sentence:
        stage.run(pod, objects=SECRET)
        assert stage.containers.alive() == ["a-0", "b-0"]


def test_a_key_that_an_object_has_not_is_waited_for_unless_it_is_optional(
    stage: ScriptedStage,
) -> None:
    needs = [{"name": "A", "valueFrom": ref("s", "other")}]
    does_not = [{"name": "A", "valueFrom": ref("s", "other", optional=True)}]
    spec = {"containers": [container("a", env=needs), container("b", env=does_not)]}
    stage.run(make_pod(spec=spec), objects=SECRET)
    assert stage.containers.alive() == ["b-0"]
    wait = stage.last().containers["a"].wait
    assert wait is not None
    assert wait.message == "couldn't find key other in Secret default/s"


def test_a_container_is_not_created_without_an_optional_object_that_cannot_be_read(
    stage: ScriptedStage,
) -> None:
    needs = [{"name": "A", "valueFrom": ref("s", "key", optional=True)}]
    pod = make_pod(spec={"containers": [container("a", env=needs)]})
    stage.run(pod, unread=dict.fromkeys(SECRET, "may not be read by this node"))
    wait = stage.last().containers["a"].wait
    assert wait is not None
    assert (wait.reason, wait.message) == (
        "CreateContainerConfigError",
        'secret "s" may not be read by this node',
    )
    stage.run(pod)
    assert stage.containers.alive() == ["a-0"]


def test_a_container_is_created_with_the_services_that_were_told_last(
    stage: ScriptedStage,
) -> None:
    known = ClusterService(
        namespace="default", name="cart", address="10.0.0.9", ports=(ClusterPort(80),)
    )
    stage.run(ONE)
    stage.run(ONE, services=(known,))
    assert stage.containers.requests.count("create a-0") == 1
    stage.containers.exit("a", 1)
    stage.play.advance(11)
    assert [each.services for each in stage.containers.created_with] == [(), (known,)]


def test_a_container_whose_secret_appears_is_created_at_once(stage: ScriptedStage) -> None:
    failure = RuntimeFailure(kind=RuntimeFailureKind.CONFIG, message='secret "s" not found')
    stage.containers.next(CreateContainer, failure)
    stage.run(ONE)
    stage.run(ONE)
    assert stage.containers.alive() == []
    stage.run(ONE, objects=SECRET)
    assert stage.containers.alive() == ["a-0"]


def test_a_container_that_cannot_be_started_is_made_anew(stage: ScriptedStage) -> None:
    stage.containers.next(StartContainer, REFUSED)
    stage.run(ONE)
    assert stage.waits() == {"a": "RunContainerError"}
    assert ("Failed", "Error: the runtime said no") in stage.said()
    stage.play.advance(9)
    assert stage.containers.alive() == []
    stage.play.advance(2)
    assert stage.waits() == {}
    assert stage.containers.taken() == [
        "run sandbox 0",
        "create a-0",
        "start c2",
        "remove c2",
        "create a-1",
        "start c3",
    ]


def test_a_container_that_cannot_be_stopped_is_not_asked_for_without_pause(
    stage: ScriptedStage,
) -> None:
    stage.run(ONE)
    stage.containers.taken()
    stage.containers.next(StopContainer, REFUSED, times=3)
    stage.stop(ONE)
    stage.play.advance(0.5)
    assert len(stage.containers.taken()) == 1
    stage.play.advance(10)
    assert stage.containers.alive() == []
    assert ("FailedKillPod", "error killing pod: the runtime said no") in stage.said()


def test_a_sandbox_that_cannot_be_removed_is_said_and_removed_later(stage: ScriptedStage) -> None:
    stage.run(ONE)
    stage.containers.next(RemoveSandbox, REFUSED)
    stage.forget(ONE)
    assert ("FailedKillPod", "error removing: the runtime said no") in stage.said()
    stage.play.advance(2)
    assert stage.containers.sandboxes == {}


# Images.


def test_an_image_is_looked_for_and_pulled_once(asking: ScriptedStage) -> None:
    asking.run(ONE)
    assert asking.containers.taken() == [
        "run sandbox 0",
        f"find {IMAGE}",
        f"pull {IMAGE}",
        "create a-0",
        "start c2",
    ]
    assert asking.said()[:2] == [
        ("Pulling", f'Pulling image "{IMAGE}"'),
        ("Pulled", PULLED),
    ]
    asking.containers.exit("a")
    asking.play.settle()
    assert asking.containers.taken() == [f"find {IMAGE}", "create a-1", "start c3"]
    assert asking.said()[0] == ("Pulled", f'Container image "{IMAGE}" already present on machine')


def test_the_latest_image_is_pulled_for_each_start(asking: ScriptedStage) -> None:
    asking.run(make_pod(image="app"))
    asking.containers.exit("main")
    asking.play.settle()
    assert [each for each in asking.containers.taken() if "app" in each] == ["pull app"] * 2


def test_pulls_that_fail_wait_longer_each_time(asking: ScriptedStage) -> None:
    failure = RuntimeFailure(kind=RuntimeFailureKind.IMAGE_PULL, message="no such host")
    asking.containers.next(PullImage, failure, times=2)
    asking.run(ONE)
    told = asking.last()
    wait = told.containers["a"].wait
    assert wait is not None
    assert (wait.reason, wait.message) == ("ErrImagePull", "no such host")
    asking.play.advance(5)
    wait = asking.last().containers["a"].wait
    assert wait is not None
    assert (wait.reason, wait.message) == (
        "ImagePullBackOff",
        f'Back-off pulling image "{IMAGE}": ErrImagePull: no such host',
    )
    assert asking.said() == [
        ("Pulling", f'Pulling image "{IMAGE}"'),
        ("Failed", f'Failed to pull image "{IMAGE}": no such host'),
        ("Failed", "Error: ErrImagePull"),
        ("BackOff", f'Back-off pulling image "{IMAGE}"'),
        ("Failed", "Error: ImagePullBackOff"),
    ]
    asking.play.advance(6)
    assert asking.waits() == {"a": "ErrImagePull"}
    asking.play.advance(18)
    assert asking.containers.alive() == []
    asking.play.advance(2)
    assert asking.containers.alive() == ["a-0"]


@pytest.mark.parametrize(("name", "is_tried"), [("quay", True), ("other", False)])
def test_another_pull_secret_ends_the_wait_for_an_image(
    asking: ScriptedStage, name: str, *, is_tried: bool
) -> None:
    pod = make_pod(spec={"containers": [container("a")], "imagePullSecrets": [{"name": "quay"}]})
    failure = RuntimeFailure(kind=RuntimeFailureKind.IMAGE_PULL, message="unauthorized")
    asking.containers.next(PullImage, failure)
    asking.run(pod)
    secret = ObjectId(kind=ObjectKind.SECRET, namespace="default", name=name)
    asking.run(pod, objects={secret: ObjectValue(uid="1", resource_version="1", data={})})
    assert asking.containers.alive() == ["a-0"] * is_tried


def test_an_image_that_somebody_brings_after_a_failed_pull_is_not_pulled(
    asking: ScriptedStage,
) -> None:
    asking.containers.next(PullImage, REFUSED)
    asking.run(make_pod(image=IMAGE))
    asking.containers.images.add(IMAGE)
    asking.containers.taken()
    asking.play.advance(11.0)
    assert asking.containers.taken()[:2] == [f"find {IMAGE}", "create main-0"]


def test_an_image_that_is_removed_after_it_was_found_is_looked_for_again(
    asking: ScriptedStage,
) -> None:
    missing = RuntimeFailure(kind=RuntimeFailureKind.IMAGE_MISSING, message="not here")
    asking.containers.images.add(IMAGE)
    asking.containers.next(CreateContainer, missing)
    asking.run(make_pod(image=IMAGE))
    asking.containers.images.clear()
    asking.containers.taken()
    asking.play.advance(11.0)
    taken = asking.containers.taken()
    assert taken[:3] == [f"find {IMAGE}", f"pull {IMAGE}", "create main-0"]


def test_an_image_that_goes_before_its_container_is_made_and_is_never_pulled_is_an_error(
    stage: ScriptedStage,
) -> None:
    missing = RuntimeFailure(kind=RuntimeFailureKind.IMAGE_MISSING, message="not here")
    stage.containers.next(CreateContainer, missing)
    stage.run(make_pod(spec={"containers": [container("a", imagePullPolicy="Never")]}))
    said = [saying for saying in stage.said() if "ErrImageNeverPull" in str(saying)]
    message = f'Container image "{IMAGE}" is not present with pull policy of Never'
    assert said[:2] == [("ErrImageNeverPull", message), ("Failed", "Error: ErrImageNeverPull")]


def test_an_image_that_is_never_pulled_is_waited_for(asking: ScriptedStage) -> None:
    spec = {"containers": [container("a", imagePullPolicy="Never")]}
    asking.run(make_pod(spec=spec))
    assert asking.waits() == {"a": "ErrImageNeverPull"}
    message = f'Container image "{IMAGE}" is not present with pull policy of Never'
    assert asking.said()[-2:] == [
        ("ErrImageNeverPull", message),
        ("Failed", "Error: ErrImageNeverPull"),
    ]
    asking.play.advance(60)
    assert asking.said() == []
    asking.containers.images.add(IMAGE)
    asking.play.advance(11)
    assert asking.containers.alive() == ["a-0"]


def test_an_image_that_no_registry_could_have_is_not_asked_for(stage: ScriptedStage) -> None:
    stage.run(make_pod(image="No such image"))
    stage.play.advance(600)
    assert stage.containers.taken() == ["run sandbox 0"]
    assert stage.waits() == {"main": "InvalidImageName"}
    assert [reason for reason, _ in stage.said()] == ["InspectFailed", "Failed"]


def test_an_image_that_was_taken_for_granted_is_pulled_when_it_is_missing(
    stage: ScriptedStage,
) -> None:
    missing = RuntimeFailure(kind=RuntimeFailureKind.IMAGE_MISSING, message="not here")
    stage.containers.next(CreateContainer, missing)
    stage.run(ONE)
    assert stage.containers.taken() == [
        "run sandbox 0",
        "create a-0",
        f"pull {IMAGE}",
        "create a-0",
        "start c2",
    ]


def test_an_image_that_cannot_be_looked_for_is_tried_again(asking: ScriptedStage) -> None:
    asking.containers.next(FindImage, UNCERTAIN)
    asking.run(ONE)
    assert asking.waits() == {"a": "ImageInspectError"}
    asking.play.advance(11)
    assert asking.containers.alive() == ["a-0"]


# What happens by itself.


def test_a_sandbox_that_died_is_replaced_and_its_addresses_stay_known(stage: ScriptedStage) -> None:
    stage.run(ONE)
    stage.containers.taken()
    stage.containers.next(RunSandbox, Deed.HELD)
    stage.containers.sandbox_dies(ONE.uid)
    stage.play.settle()
    told = stage.last()
    assert told.sandbox is not None
    assert (told.sandbox.state, told.sandbox.ips) == (SandboxState.NOT_READY, ("10.0.0.7",))
    stage.containers.release()
    stage.play.settle()
    assert stage.containers.taken() == ["run sandbox 1", "create a-1", "start c4"]
    reasons = [reason for reason, _ in stage.said()]
    assert reasons.count("SandboxChanged") == 1


def test_a_pod_whose_sandbox_is_stopped_by_others_starts_once_and_its_init_container_first(
    stage: ScriptedStage,
) -> None:
    stage.containers.exits_at_once["i"] = 0
    pod = make_pod(spec=spec_of("a", inits=(container("i"),)))
    stage.run(pod)
    stage.containers.taken()
    # Who stops a sandbox kills what is in it, and each end is told by an event of its own.
    stage.containers.exit("a", 137)
    stage.play.advance(0.2)
    assert stage.containers.taken() == []
    stage.containers.sandbox_dies(pod.uid)
    stage.play.advance(1.0)
    created = [f"{each.container['name']}-{each.attempt}" for each in stage.containers.created_with]
    assert created == ["i-0", "a-0", "i-1", "a-1"]
    assert stage.containers.alive() == ["a-1"]
    assert stage.last().containers["i"].last is None


def test_nothing_starts_again_in_a_sandbox_whose_containers_others_kill_one_after_the_other(
    stage: ScriptedStage,
) -> None:
    stage.containers.exits_at_once["i"] = 0
    pod = make_pod(spec=spec_of("a", "b", inits=(container("i"),)))
    stage.run(pod)
    stage.containers.taken()
    stage.containers.exit("a", 137)
    stage.play.advance(0.4)
    stage.containers.exit("b", 137)
    stage.play.advance(0.4)
    assert stage.containers.taken() == []
    stage.containers.sandbox_dies(pod.uid)
    stage.play.advance(1.0)
    created = [f"{each.container['name']}-{each.attempt}" for each in stage.containers.created_with]
    assert created == ["i-0", "a-0", "b-0", "i-1", "a-1", "b-1"]


def test_what_others_killed_starts_half_a_second_after_the_last_of_it_if_the_sandbox_lives(
    stage: ScriptedStage,
) -> None:
    stage.run(TWO)
    stage.containers.taken()
    stage.containers.exit("a", 137)
    stage.play.advance(0.4)
    stage.containers.exit("b", 143)
    stage.play.advance(0.4)
    assert stage.containers.alive() == []
    stage.play.advance(0.1)
    assert sorted(stage.containers.alive()) == ["a-1", "b-1"]


def test_what_somebody_else_removed_is_made_again_with_the_next_attempt(
    stage: ScriptedStage,
) -> None:
    stage.run(ONE)
    stage.containers.vanish(ONE.uid)
    stage.play.settle()
    assert stage.containers.alive() == ["a-1"]


def test_a_pod_of_another_life_is_taken_over_undisturbed(stage: ScriptedStage) -> None:
    stage.run(ONE)
    stage.containers.taken()
    stage.memory.records.clear()
    stage.crash()
    assert [pod.uid for pod in stage.pods()] == [ONE.uid]
    assert stage.containers.taken() == []
    mark = stage.run(ONE)
    assert stage.containers.taken() == []
    told = stage.last()
    assert (told.mark, told.containers["a"].wait) == (mark, None)


def test_a_restart_whose_call_was_lost_is_made_again_without_another_back_off(
    stage: ScriptedStage,
) -> None:
    stage.containers.exits_at_once["a"] = 1
    stage.run(ONE)
    stage.containers.next(CreateContainer, Deed.HELD)
    stage.play.advance(10)
    assert stage.containers.held == ["create a-2"]
    stage.containers.lose()
    stage.containers.taken()
    stage.crash()
    assert stage.containers.taken()[:2] == ["create a-2", "start c4"]
    # It counts once: the next delay is that of a third restart.
    stage.play.advance(18.5)
    assert stage.containers.taken() == []
    stage.play.advance(1.0)
    assert stage.containers.taken()[:2] == ["create a-3", "start c5"]


@pytest.mark.parametrize("ahead", [7200.0, -7200.0])
def test_a_crash_loop_waits_whatever_the_clock_of_the_runtime_says(
    stage: ScriptedStage, ahead: float
) -> None:
    stage.containers.clock_is_behind = ahead
    stage.run(ONE)
    for _ in range(20):
        stage.containers.exit("a", 1)
        stage.play.advance(1)
    assert len(stage.containers.created_with) == 3
    assert stage.container("a").wait is not None


def test_a_crash_loop_goes_on_in_another_life_of_the_agent(stage: ScriptedStage) -> None:
    stage.containers.exits_at_once["a"] = 1
    stage.run(ONE)
    stage.play.advance(35)
    assert stage.waits() == {"a": "CrashLoopBackOff"}
    stage.memory.records.clear()
    stage.crash()
    stage.run(ONE)
    wait = stage.last().containers["a"].wait
    assert wait is not None
    assert wait.message.startswith("back-off 40s restarting")


def test_a_container_that_cannot_be_started_is_said_to_have_failed_not_to_have_started(
    stage: ScriptedStage,
) -> None:
    stage.containers.cannot_start["a"] = 'exec: "/none": no such file or directory'
    with capture_logs() as lines:
        stage.run(ONCE)
    assert stage.said()[-2:] == [
        ("Created", "Created container: a"),
        ("Failed", 'Error: exec: "/none": no such file or directory'),
    ]
    assert not [line for line in lines if line["event"] == "container exited"]


SECRET_COMMANDS = {
    "a variable": {"env": [{"name": "V", "valueFrom": ref("s", "key")}], "args": ["$(V)"]},
    "all variables": {"envFrom": [{"secretRef": {"name": "s"}}], "command": ["/none/$(key)"]},
}


@pytest.mark.parametrize("fields", SECRET_COMMANDS.values(), ids=SECRET_COMMANDS)
def test_values_of_secrets_in_a_command_that_cannot_be_started_are_shown_nowhere(
    stage: ScriptedStage, fields: dict[str, Any]
) -> None:
    stage.containers.cannot_start["a"] = 'exec: "/none/value": no such file or directory'
    pod = make_pod(spec={"containers": [container("a", **fields)], "restartPolicy": "Never"})
    with capture_logs() as lines:
        stage.run(pod, objects=SECRET)
        stage.containers.tell_pod(pod.uid)
        stage.play.settle()
    assert stage.said()[-1] == ("Failed", f"Error: {WITHHELD}")
    told = stage.told()
    assert "/none/value" not in f"{lines} {told}"
    ended = told[-1].containers["a"].current
    assert ended is not None
    assert (ended.reason, ended.message) == ("StartError", WITHHELD)


@pytest.mark.parametrize(("code", "reason"), [(0, "Completed"), (3, "Error")])
def test_each_exit_is_a_line_of_the_log_however_quick_it_was(
    stage: ScriptedStage, code: int, reason: str
) -> None:
    stage.containers.exits_at_once["a"] = code
    with capture_logs() as lines:
        stage.run(ONE)
    exits = [line for line in lines if line["event"] == "container exited"]
    assert [(line["container"], line["reason"], line["exit_code"]) for line in exits] == [
        ("a", reason, code),
        ("a", reason, code),
    ]


def test_what_is_killed_next_follows_when_the_runtime_tells_of_the_one_before_however_slow_it_is(
    stage: ScriptedStage,
) -> None:
    stage.containers.exits_at_once["i"] = 0
    pod = make_pod(spec=spec_of("a", "b", inits=(container("i"),)))
    stage.run(pod)
    stage.containers.taken()
    (each,) = stage.containers.sandboxes.values()
    for runs in [one for one in each.containers.values() if one.state is ContainerState.RUNNING]:
        killed = replace(runs, state=ContainerState.EXITED, exit_code=137, reason="Error")
        each.containers[runs.id] = replace(killed, is_reason_open=True)
        stage.containers.tell_pod(pod.uid)
        stage.play.advance(1.0)
        each.containers[runs.id] = killed
        stage.containers.tell_pod(pod.uid)
        stage.play.advance(1.5)
    assert stage.containers.taken() == []
    stage.containers.sandbox_dies(pod.uid)
    stage.play.advance(1.0)
    created = [f"{each.container['name']}-{each.attempt}" for each in stage.containers.created_with]
    assert created == ["i-0", "a-0", "b-0", "i-1", "a-1", "b-1"]


def test_an_exit_is_a_line_when_its_reason_is_known_and_the_restart_waits_ten_seconds_for_it(
    stage: ScriptedStage,
) -> None:
    stage.run(ONE)
    (each,) = stage.containers.sandboxes.values()
    (runs,) = each.containers.values()
    killed = replace(runs, state=ContainerState.EXITED, exit_code=137, reason="Error")
    with capture_logs() as lines:
        each.containers[runs.id] = replace(killed, is_reason_open=True)
        stage.containers.tell_pod(ONE.uid)
        stage.play.advance(9.9)
        assert stage.containers.alive() == []
        stage.play.advance(0.1)
        assert stage.containers.alive() == ["a-1"]
        assert not [line for line in lines if line["event"] == "container exited"]
        each.containers[runs.id] = replace(killed, reason="OOMKilled")
        for _ in range(2):
            stage.containers.tell_pod(ONE.uid)
            stage.play.settle()
    exits = [line for line in lines if line["event"] == "container exited"]
    assert [(line["reason"], line["exit_code"]) for line in exits] == [("OOMKilled", 137)]


# Stopping.


def test_stops_that_fail_together_are_one_failure_and_told_again_after_one_pause(
    stage: ScriptedStage,
) -> None:
    names = [f"c{number}" for number in range(8)]
    pod = make_pod(spec=spec_of(*names))
    stage.run(pod)
    for _ in names:
        stage.containers.next(StopContainer, UNCERTAIN)
    stage.stop(pod, grace=10)
    assert len(stage.containers.alive()) == len(names)
    stage.play.advance(1.5)
    assert stage.containers.alive() == []


def test_sidecars_are_stopped_last_in_reverse_order(stage: ScriptedStage) -> None:
    pod = make_pod(spec=spec_of("a", "b", inits=(sidecar("s"), sidecar("t"))))
    stage.run(pod)
    stage.containers.taken()
    stage.containers.ignores_stop = {"a"}
    stage.stop(pod, grace=10)
    assert stage.containers.alive() == ["a-0", "s-0", "t-0"]
    stage.containers.release()
    stage.play.settle()
    assert [each.split()[1] for each in stage.containers.taken()] == ["c4", "c5", "c3", "c2", "s1"]


def test_a_grace_only_ever_gets_shorter(stage: ScriptedStage) -> None:
    stage.run(ONE)
    stage.containers.taken()
    stage.containers.ignores_stop = {"a"}
    stage.stop(ONE, grace=600)
    stage.play.advance(10)
    stage.stop(ONE, grace=1000)
    assert stage.containers.taken() == ["stop c2 within 600"]
    stage.stop(ONE, grace=5)
    assert stage.containers.taken() == ["stop c2 within 5"]
    mark = stage.stop(ONE, grace=0)
    assert stage.containers.taken()[0] == "stop c2 within 0"
    assert stage.last().mark == mark


@pytest.mark.parametrize("what", ["a crash", "an outage"])
def test_a_stop_that_is_lost_is_told_again_with_what_is_left_of_its_grace(
    stage: ScriptedStage, what: str
) -> None:
    stage.run(ONE)
    stage.containers.taken()
    stage.containers.ignores_stop = {"a"}
    stage.run(ONE, verdicts={"a": ProbeVerdict(is_alive=False)})
    assert stage.containers.taken() == ["stop c2 within 30"]
    if what == "an outage":
        stage.containers.goes_away()
    stage.play.advance(10)
    stage.containers.lose()
    if what == "an outage":
        stage.containers.comes_back()
        stage.play.settle()
    else:
        stage.crash()
    assert stage.containers.taken() == [f"stop c2 within {20 if what == 'an outage' else 19.9:g}"]
    # A later stop of the pod gives it no more either, though its own grace is longer.
    stage.containers.lose()
    stage.stop(ONE, grace=60)
    stage.crash()
    assert float(stage.containers.taken()[0].rpartition(" ")[2]) < 20


def test_a_shorter_grace_counts_while_nobody_knows_what_became_of_an_earlier_stop(
    stage: ScriptedStage,
) -> None:
    stage.run(ONE)
    stage.containers.ignores_stop = {"a"}
    stage.stop(ONE, grace=600)
    stage.crash()
    stage.containers.taken()
    # A look is answered when the stop is over: that must not take ten minutes.
    stage.stop(ONE, grace=5)
    assert stage.containers.taken() == ["stop c2 within 5"]
    mark = stage.stop(ONE, grace=0)
    assert stage.containers.taken()[0] == "stop c2 within 0"
    stage.containers.heal()
    stage.play.settle()
    assert stage.containers.alive() == []
    assert stage.last().mark == mark


@pytest.mark.parametrize("grace", [1e30, float("inf"), 3.15e8])
def test_a_grace_of_many_years_is_bounded(stage: ScriptedStage, grace: float) -> None:
    stage.run(ONE)
    stage.containers.taken()
    stage.stop(ONE, grace)
    assert stage.containers.taken()[0] == f"stop c2 within {366 * 86400:g}"


def test_nothing_starts_after_a_stop_whatever_is_told(stage: ScriptedStage) -> None:
    stage.containers.next(CreateContainer, Deed.HELD)
    stage.run(ONE)
    mark = stage.stop(ONE)
    stage.run(ONE)
    stage.containers.release()
    stage.play.advance(100)
    stage.run(ONE)
    assert stage.containers.alive() == []
    assert stage.last().mark == mark
    assert not [each for each in stage.containers.taken() if each.startswith("start")]


def test_a_pod_may_run_again_after_it_was_forgotten(stage: ScriptedStage) -> None:
    stage.run(ONE)
    mark = stage.forget(ONE)
    assert stage.last().mark == mark
    assert stage.containers.sandboxes == {}
    stage.containers.forgets(ONE.uid)
    stage.run(ONE)
    assert stage.containers.alive() == ["a-0"]


def test_a_pod_that_nobody_knows_is_stopped_already(stage: ScriptedStage) -> None:
    assert stage.stop(ONE) == stage.last().mark
    assert stage.forget(ONE) == stage.last().mark
    assert stage.memory.records == {}


def test_a_command_with_a_smaller_mark_is_ignored(stage: ScriptedStage) -> None:
    stage.run(ONE)
    stage.run(ONE)
    stage.told()
    late = RunPod(pod=TWO, mark=Mark(1, 1), reply_to=stage.observations)
    stage.play.tell(POD_RUNTIME, late)
    assert stage.told() == []
    assert stage.containers.alive() == ["a-0"]


# Changes of a running pod.


def test_another_image_replaces_a_container_in_place(stage: ScriptedStage) -> None:
    stage.run(TWO)
    spec = {**spec_of(), "containers": [container("a", image="app:2"), container("b")]}
    stage.run(make_pod(spec=spec))
    assert stage.containers.alive() == ["a-1", "b-0"]
    assert ("Killing", "Container a definition changed, will be restarted") in stage.said()


def test_an_edit_of_a_static_pod_with_a_fixed_uid_replaces_the_container_that_it_is_about(
    stage: ScriptedStage,
) -> None:
    def version(command: str) -> Pod:
        containers = [container("a", command=[command]), container("b")]
        return decoded(edited("spec.containers", containers, OF_A_FIXED_UID)).pod

    stage.run(version("one"))
    stage.run(version("two"))
    assert stage.containers.alive() == ["a-1", "b-0"]
    assert stage.containers.created_with[-1].container["command"] == ["two"]
    assert ("Killing", "Container a definition changed, will be restarted") in stage.said()
    # So it is for the next process, which looks at what runs alone.
    stage.forget_everything()
    stage.run(version("two"))
    assert stage.containers.alive() == ["a-1", "b-0"]
    stage.run(version("three"))
    assert stage.containers.alive() == ["a-2", "b-0"]


def test_an_edit_after_an_upgrade_replaces_a_container_that_does_not_tell_what_it_was_made_of(
    stage: ScriptedStage,
) -> None:
    def version(command: str) -> Pod:
        containers = [container("a", command=[command]), container("b")]
        return decoded(edited("spec.containers", containers, OF_A_FIXED_UID)).pod

    # A version of the agent that knew no digests has made both of them.
    one = version("one")
    known = {key: value for key, value in one.annotations.items() if key != CONTAINER_DIGESTS}
    metadata = {**one.document["metadata"], "annotations": known}
    stage.run(Pod.of({**one.document, "metadata": metadata}))
    stage.forget_everything()
    stage.first_digests = container_digests(one)
    stage.run(one)
    assert stage.containers.alive() == ["a-0", "b-0"]
    stage.run(version("two"))
    assert stage.containers.alive() == ["a-1", "b-0"]
    # Back again: the one that runs tells what it was made of.
    stage.run(version("one"))
    assert stage.containers.alive() == ["a-2", "b-0"]


@pytest.mark.parametrize("policy", ["Never", "OnFailure"])
def test_a_pod_whose_container_is_replaced_never_looks_as_if_it_had_ended(
    stage: ScriptedStage, policy: str
) -> None:
    stage.containers.exits_when_stopped = 0
    stage.run(make_pod(spec=spec_of("a", policy=policy)))
    other = container("a", image="registry.example/app:2")
    pod = make_pod(spec={"containers": [other], "restartPolicy": policy})
    stage.told()
    stage.run(pod)
    phases = {phase_of(pod, told) for told in stage.told()}
    assert stage.containers.alive() == ["a-1"]
    assert phases == {PodPhase.RUNNING}


def resized(cpu: str, policy: str = "NotRequired") -> Any:
    policies = [{"resourceName": "cpu", "restartPolicy": policy}]
    resources = {"limits": {"cpu": cpu}}
    return make_pod(
        spec={"containers": [container("a", resources=resources, resizePolicy=policies)]}
    )


def test_other_resources_are_given_in_place(stage: ScriptedStage) -> None:
    stage.run(resized("1"))
    stage.containers.taken()
    stage.run(resized("2"))
    assert stage.containers.taken() == ["resize c2"]
    stage.run(resized("2"))
    assert stage.containers.taken() == []


def test_other_resources_may_need_a_restart(stage: ScriptedStage) -> None:
    stage.run(resized("1", "RestartContainer"))
    stage.run(resized("2", "RestartContainer"))
    assert stage.containers.alive() == ["a-1"]


def test_a_resize_that_is_refused_is_told_and_tried_again(stage: ScriptedStage) -> None:
    stage.run(resized("1"))
    stage.containers.next(ResizeContainer, REFUSED)
    stage.run(resized("2"))
    (trouble,) = stage.last().troubles
    assert (trouble.reason, trouble.message) == (
        "ResizeRefused",
        "container a: the runtime said no",
    )
    stage.play.advance(61)
    assert stage.last().troubles == ()


def test_a_resize_that_is_not_possible_is_not_tried_again(stage: ScriptedStage) -> None:
    stage.run(resized("1"))
    stage.containers.taken()
    impossible = RuntimeFailure(kind=RuntimeFailureKind.UNSUPPORTED, message="cannot be done")
    stage.containers.next(ResizeContainer, impossible)
    stage.run(resized("2"))
    stage.play.advance(10_000)
    assert stage.containers.taken() == ["resize c2"]
    assert stage.last().troubles[0].reason == "ResizeRefused"


def test_a_resize_that_was_refused_and_is_taken_back_is_no_trouble_any_more(
    stage: ScriptedStage,
) -> None:
    stage.run(resized("1"))
    stage.containers.next(ResizeContainer, REFUSED)
    stage.run(resized("2"))
    assert stage.last().troubles
    stage.containers.taken()
    stage.run(resized("1"))
    assert stage.last().troubles == ()
    assert stage.containers.taken() == []


@pytest.mark.parametrize(("policy", "runs"), [("NotRequired", "a-0"), ("RestartContainer", "a-1")])
def test_a_resize_while_the_agent_was_away_is_seen_from_what_runs(policy: str, runs: str) -> None:
    with containers_stage() as stage:
        stage.run(resized("1", policy))
        stage.memory.records.clear()
        stage.crash()
        stage.run(resized("2", policy))
        current = stage.container("a").current
        assert current is not None
        assert current.resources == {"limits": {"cpu": "2"}}
        assert stage.running(resized("2")) == [runs]


# Many pods.


def test_starts_are_bounded_and_the_oldest_pod_is_first() -> None:
    with scripted_stage(parallel_starts=2) as stage:
        stage.containers.next(RunSandbox, Deed.HELD, times=4)
        pods = [make_pod(f"p{number}", spec=spec_of("a")) for number in range(4)]
        for pod in pods:
            stage.run(pod)
        assert stage.containers.held == ["run sandbox 0"] * 2
        stage.containers.release()
        stage.play.settle()
        assert stage.containers.alive() == ["a-0"] * 2
        assert stage.containers.held == ["run sandbox 0"] * 2
        stage.containers.release()
        stage.play.settle()
        assert stage.containers.alive() == ["a-0"] * 4


def test_starts_that_wait_for_something_keep_no_room_from_others() -> None:
    with scripted_stage(parallel_starts=2) as stage:
        stage.containers.next(RunSandbox, Deed.HELD, times=2)
        for name in ("needs-a-network", "needs-it-too"):
            stage.run(make_pod(name, spec=spec_of("a")))
        stage.run(make_pod("brings-the-network", spec={**spec_of("b"), "hostNetwork": True}))
        assert stage.containers.alive() == []
        stage.play.advance(40)
        assert stage.containers.alive() == ["b-0"]
        stage.containers.release()
        stage.play.settle()
        assert sorted(stage.containers.alive()) == ["a-0", "a-0", "b-0"]


def test_pods_that_the_node_must_run_are_started_before_others_that_wait() -> None:
    with scripted_stage(parallel_starts=1) as stage:
        stage.containers.next(RunSandbox, Deed.HELD, times=1)
        stage.run(make_pod("first", spec=spec_of("a"), source="api"))
        stage.run(make_pod("second", spec=spec_of("b"), source="api"))
        stage.run(
            make_pod("critical", spec={**spec_of("c"), "priority": 2_000_000_000}, source="api")
        )
        stage.run(make_pod("static", spec=spec_of("d")))
        stage.containers.release()
        stage.play.settle()
        created = [each.container["name"] for each in stage.containers.created_with]
        assert created == ["a", "c", "d", "b"]


def many_being_stopped(stage: ScriptedStage) -> tuple[Pod, Pod]:
    """Have a pod of 100 containers, whose ends are held, be stopped beside another one."""
    names = [f"c{number}" for number in range(100)]
    many, neighbour = make_pod("many", spec=spec_of(*names)), make_pod("one", spec=spec_of("a"))
    stage.run(many)
    stage.run(neighbour)
    stage.containers.taken()
    stage.containers.ignores_stop.update(names)
    stage.stop(many, grace=30.0)
    return many, neighbour


def stops_told(stage: ScriptedStage) -> list[tuple[str, float]]:
    """Return the containers whose stops were told since the last look, each with its grace."""
    told = [each.partition(" within ") for each in stage.containers.taken()]
    return [(request, float(grace)) for request, _, grace in told if grace]


def graces_told(stage: ScriptedStage) -> list[float]:
    """Return the graces of the stops of containers that were told since the last look."""
    return [grace for _, grace in stops_told(stage)]


def test_stops_are_bounded_and_one_with_a_short_grace_is_not_behind_those_with_long_ones() -> None:
    with scripted_stage(parallel_stops=4) as stage:
        many, neighbour = many_being_stopped(stage)
        assert graces_told(stage) == [30.0] * 4
        stage.stop(neighbour, grace=1.0)
        assert graces_told(stage) == []
        stage.play.advance(0.5)
        assert graces_told(stage) == [1.0, 29.5, 29.5, 29.5, 29.5]
        assert stage.containers.alive() == sorted(f"c{number}-0" for number in range(100))
        stage.play.advance(30.0)
        told = graces_told(stage)
        assert len(told) == 100 - 4 - 4
        assert 15.0 <= min(told) <= max(told) <= 29.0
        stage.containers.heal()
        stage.play.settle()
        assert stage.containers.alive() == []
        assert stage.last().uid == many.uid


def test_a_stop_that_waits_is_shortened_where_it_waits() -> None:
    with scripted_stage(parallel_stops=1) as stage:
        many, _ = many_being_stopped(stage)
        stage.containers.taken()
        stage.stop(many, grace=4.0)
        assert graces_told(stage) == []
        stage.play.advance(0.5)
        assert graces_told(stage) == [3.5]
        stage.play.advance(0.5)
        stage.containers.heal()
        stage.play.settle()
        assert stage.containers.alive() == ["a-0"]


def test_a_look_at_a_pod_does_not_begin_stops_anew_that_wait_for_their_turn() -> None:
    with scripted_stage(parallel_stops=4) as stage:
        many_being_stopped(stage)
        said = [reason for reason, _ in stage.said()]
        assert said.count("Killing") == 100
        stage.containers.comes_back()  # so everything in doubt is looked at
        stage.play.settle()
        assert stage.containers.held[-1].startswith("look")
        stage.containers.release()
        stage.play.settle()
        assert 0 < len(stage.containers.held) < 50  # the others wait
        assert len(stage.said()) < 10  # people are not told once more of those


def test_a_look_at_a_pod_does_not_begin_stops_anew_whose_turn_comes_meanwhile() -> None:
    with scripted_stage(parallel_stops=4) as stage:
        many_being_stopped(stage)
        stage.said()
        stage.containers.comes_back()
        stage.play.settle()
        stage.containers.taken()
        stage.play.advance(0.5)
        assert graces_told(stage) == [29.5] * 4  # while the look is under way
        stage.containers.release(first=5)
        stage.play.settle()
        assert len(stage.containers.held) == 4
        assert stage.said() == []  # nor are people told of them again


@pytest.mark.parametrize("what", ["a crash", "an outage"])
def test_no_stop_is_lost_or_told_twice_that_waits_during(what: str) -> None:
    with scripted_stage(parallel_stops=4) as stage:
        many_being_stopped(stage)
        told = stops_told(stage)
        assert len(told) == 4  # the others wait
        if what == "a crash":
            stage.crash()
        else:
            stage.containers.goes_away()
            stage.play.advance(5.0)
            stage.containers.comes_back()
        stage.containers.heal()
        stage.play.advance(1.0)
        then = stops_told(stage)
        assert len({container for container, _ in told + then}) == len(told + then) == 100
        assert max(grace for _, grace in then) <= (30.0 if what == "a crash" else 25.0)
        assert stage.containers.alive() == ["a-0"]


def test_many_pods_are_looked_at_after_a_crash_in_several_turns(stage: ScriptedStage) -> None:
    for number in range(200):
        stage.run(make_pod(f"p{number}", spec=spec_of("a")))
    stage.told()
    stage.crash()
    assert len(stage.told()) == 200
    assert len(stage.pods()) == 200
    assert stage.described().containers == {ContainerState.RUNNING: 200}


def test_a_pod_at_rest_needs_no_timer(stage: ScriptedStage) -> None:
    timers = len(stage.play.system.control.timers)
    stage.run(ONE)
    stage.play.advance(60)
    assert len(stage.play.system.control.timers) == timers
