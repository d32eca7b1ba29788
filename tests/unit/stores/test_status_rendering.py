"""The API's form of a status, compared with what kubelets write, and read back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from messages.pod_runtime import PodObserved, PodTrouble, ProbeVerdict
from messages.pods import JsonObject, Pod, PodPhase
from messages.statuses import PodFailure, PodStatus
from messages.units import Timestamp
from stores.statuses.reading import status_of
from stores.statuses.rendering import render_status, with_status
from stores.statuses.status import StatusSituation, shows_same, status_after
from tests.support.builders import make_pod
from tests.support.pods.observations import (
    backing_off,
    created,
    exited,
    lost,
    observation,
    restarted,
    running,
    sandbox,
    waiting,
)

NOW = Timestamp(1_700_000_100.9)
IMAGE = "registry.example/web:1"
STARTED_AT, ENDED_AT = "2023-11-14T22:13:20Z", "2023-11-14T22:14:20Z"
SINCE = "2023-11-14T22:15:00Z"


def pod_of(*names: str, **spec: Any) -> Pod:
    containers = [{"name": name, "image": IMAGE} for name in names or ("main",)]
    return make_pod("web", spec={"containers": containers, **spec})


def after(pod: Pod, observed: PodObserved | None, **fields: Any) -> PodStatus:
    situation = StatusSituation(pod=pod, observed=observed, host_ips=("192.0.2.1",), now=NOW)
    return status_after(replace(situation, **fields))


def rendered(pod: Pod, observed: PodObserved | None, **fields: Any) -> JsonObject:
    return render_status(pod, after(pod, observed, **fields))


def only(status: JsonObject, kind: str = "containerStatuses") -> JsonObject:
    (found,) = status[kind]
    assert isinstance(found, dict)
    return found


def condition(type_: str) -> JsonObject:
    return {
        "type": type_,
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": SINCE,
    }


def test_a_running_pod_has_the_shape_of_a_kubelets() -> None:
    pod = make_pod(
        "web",
        source="api",
        metadata={"generation": 3},
        status={"phase": "Pending", "qosClass": "BestEffort"},
    )
    assert rendered(pod, observation(restarted(running(attempt=1)))) == {
        "phase": "Running",
        "observedGeneration": 3,
        "conditions": [
            condition("PodReadyToStartContainers"),
            condition("Initialized"),
            condition("Ready"),
            condition("ContainersReady"),
            condition("PodScheduled"),
        ],
        "hostIP": "192.0.2.1",
        "hostIPs": [{"ip": "192.0.2.1"}],
        "podIP": "10.0.0.7",
        "podIPs": [{"ip": "10.0.0.7"}],
        "startTime": SINCE,
        "containerStatuses": [
            {
                "name": "main",
                "state": {"running": {"startedAt": STARTED_AT}},
                "lastState": {
                    "terminated": {
                        "exitCode": 1,
                        "reason": "Error",
                        "startedAt": STARTED_AT,
                        "finishedAt": ENDED_AT,
                        "containerID": "containerd://main-0",
                    }
                },
                "ready": True,
                "restartCount": 1,
                "image": IMAGE,
                "imageID": "registry.example/web@sha256:1",
                "containerID": "containerd://main-1",
                "started": True,
            }
        ],
        "qosClass": "BestEffort",
    }


def test_a_refused_pod_has_phase_reason_and_message_alone() -> None:
    failure = PodFailure(reason="OutOfcpu", message="not enough cpu")
    assert rendered(pod_of(), None, failure=failure) == {
        "phase": "Failed",
        "conditions": [],
        "reason": "OutOfcpu",
        "message": "not enough cpu",
        "startTime": SINCE,
        "qosClass": "BestEffort",
    }


# --- states of containers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("history", "state", "last"),
    [
        (None, {"waiting": {"reason": "ContainerCreating"}}, {}),
        (created(), {"waiting": {"reason": "ContainerCreating"}}, {}),
        (
            waiting(reason="ErrImagePull", message="no such image"),
            {"waiting": {"reason": "ErrImagePull", "message": "no such image"}},
            {},
        ),
    ],
)
def test_a_container_that_never_ran_waits(history: Any, state: object, last: object) -> None:
    shown = only(rendered(pod_of(), observation(*([history] if history else []))))
    assert (shown["state"], shown["lastState"]) == (state, last)
    assert (shown["ready"], shown["started"], shown["restartCount"]) == (False, False, 0)


def test_a_container_in_back_off_waits_and_shows_how_it_ended() -> None:
    shown = only(rendered(pod_of(), observation(backing_off(code=3, attempt=4))))
    assert shown["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert shown["lastState"]["terminated"]["exitCode"] == 3
    assert shown["restartCount"] == 4


def test_containers_of_a_pod_with_init_containers_wait_for_initializing() -> None:
    pod = pod_of(initContainers=[{"name": "init", "image": IMAGE}])
    status = rendered(pod, observation())
    waits = {"waiting": {"reason": "PodInitializing"}}
    assert only(status)["state"] == waits
    assert only(status, "initContainerStatuses")["state"] == waits


def test_a_container_that_the_runtime_lost_has_ended_with_137() -> None:
    ended = only(rendered(pod_of(), observation(lost())))["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (137, "ContainerStatusUnknown")


def test_containers_of_an_ended_pod_have_ended() -> None:
    # Rule V12.
    for history in (waiting(), running(), created()):
        shown = only(rendered(pod_of(), observation(history), is_ended=True))
        ended = shown["state"]["terminated"]
        assert (ended["exitCode"], ended["reason"]) == (137, "ContainerStatusUnknown")
        assert (shown["ready"], shown["started"]) == (False, False)
    shown = only(rendered(pod_of(), observation(backing_off(code=3)), is_ended=True))
    assert shown["state"]["terminated"]["exitCode"] == 3


INITS = [{"name": name, "image": IMAGE} for name in ("first", "second")]
SIDECAR = [*INITS, {"name": "side", "image": IMAGE, "restartPolicy": "Always"}]


@pytest.mark.parametrize(
    ("inits", "histories", "waiting"),
    [
        # The first one fails: nothing behind it has ever begun.
        (INITS, [exited("first", code=3)], ["second", "main"]),
        (INITS, [exited("first"), exited("second", code=3)], ["main"]),
        (INITS, [exited("first"), lost("second")], ["main"]),
        (INITS, [waiting("first", reason="ErrImagePull")], ["second", "main"]),
        (INITS, [], ["second", "main"]),
        # The last one has succeeded, or a regular container has run: what is missing is lost.
        (INITS, [exited("first"), exited("second")], []),
        (INITS, [exited("first"), exited("second"), waiting("main", reason="ErrImagePull")], []),
        (INITS, [exited("main", code=3)], ["second"]),
        # A sidecar that has ended says nothing about those behind it.
        (SIDECAR, [exited("first"), exited("second"), exited("side")], ["main"]),
        (SIDECAR, [exited("first"), exited("second"), exited("side"), exited("main")], []),
    ],
)
def test_of_a_pod_that_ended_before_it_was_initialized_what_never_began_waits(
    inits: list[dict[str, str]], histories: list[Any], waiting: list[str]
) -> None:
    # Rule V12.
    status = rendered(pod_of(initContainers=inits), observation(*histories), is_ended=True)
    found = [*status["initContainerStatuses"], *status["containerStatuses"]]
    assert [each["name"] for each in found if "waiting" in each["state"]] == waiting
    reasons = {each["state"]["waiting"]["reason"] for each in found if "waiting" in each["state"]}
    assert reasons <= {"PodInitializing"}
    assert not any(each["started"] for each in found)


def test_init_containers_are_in_their_order_and_others_by_name() -> None:
    inits = [{"name": name, "image": IMAGE} for name in ("z", "a")]
    helpers = [{"name": name, "image": IMAGE} for name in ("y", "x")]
    pod = pod_of("d", "c", initContainers=inits, ephemeralContainers=helpers)
    status = rendered(pod, observation(running("c")))
    names = {
        key: [each["name"] for each in status[key]] for key in status if key.endswith("Statuses")
    }
    assert names == {
        "initContainerStatuses": ["z", "a"],
        "containerStatuses": ["c", "d"],
        "ephemeralContainerStatuses": ["x", "y"],
    }


def test_an_init_container_that_succeeded_is_ready_and_not_started() -> None:
    pod = pod_of(initContainers=[{"name": "init", "image": IMAGE}])
    shown = only(rendered(pod, observation(exited("init"))), "initContainerStatuses")
    assert (shown["ready"], shown["started"]) == (True, False)
    shown = only(rendered(pod, observation(running("init"))), "initContainerStatuses")
    assert (shown["ready"], shown["started"]) == (False, True)


def test_an_ephemeral_container_is_neither_ready_nor_started() -> None:
    pod = make_pod("web", ephemeral_containers=1)
    status = rendered(pod, observation(running(), running("debug-0")))
    shown = only(status, "ephemeralContainerStatuses")
    assert "running" in shown["state"]
    assert shown["ready"] is False
    assert "started" not in shown


def test_a_container_whose_startup_probe_has_not_passed_has_not_started() -> None:
    verdicts = {"main": ProbeVerdict(is_started=False)}
    shown = only(rendered(pod_of(), observation(running()), verdicts=verdicts))
    assert (shown["started"], shown["ready"]) == (False, False)


def test_a_restart_count_fits_into_32_bits() -> None:
    shown = only(rendered(pod_of(), observation(running(attempt=2**40))))
    assert shown["restartCount"] == 2**31 - 1


def test_long_messages_are_cut_evenly_and_at_whole_characters() -> None:
    # Rule V2.
    pod = pod_of("a", "b", restartPolicy="Never")
    long = "\N{SNOWMAN}" * 5000
    status = rendered(pod, observation(exited("a", message=long), exited("b", message="short")))
    messages = [each["state"]["terminated"]["message"] for each in status["containerStatuses"]]
    assert messages == ["\N{SNOWMAN}" * 2048, "short"]


def test_a_container_shows_its_resources_while_they_are_not_being_changed() -> None:
    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}
    spec = {"containers": [{"name": "main", "image": IMAGE, "resources": resources}]}
    pod = make_pod("web", spec=spec)
    shown = only(rendered(pod, observation(running())))
    assert (shown["allocatedResources"], shown["resources"]) == ({"cpu": "1"}, resources)
    trouble = PodTrouble(reason="ResizeRefused", message="no")
    assert "resources" not in only(rendered(pod, observation(running(), troubles=(trouble,))))
    assert rendered(pod, None)["qosClass"] == "Burstable"


def test_a_container_shows_the_resources_that_it_has_while_others_are_refused() -> None:
    spec = {"containers": [{"name": "main", "image": "i", "resources": {"requests": {"cpu": "2"}}}]}
    trouble = PodTrouble(reason="ResizeRefused", message="no")
    seen = observation(running(resources={"requests": {"cpu": "1"}}), troubles=(trouble,))
    shown = only(rendered(make_pod("web", spec=spec), seen))
    assert shown["allocatedResources"] == {"cpu": "1"}
    assert shown["resources"] == {"requests": {"cpu": "1"}}


# --- addresses -------------------------------------------------------------------------------------------


def test_a_pod_on_the_hosts_network_has_the_hosts_addresses() -> None:
    box = replace(sandbox(), ips=())
    status = rendered(pod_of(hostNetwork=True), observation(running(), sandbox=box))
    assert (status["podIP"], status["podIPs"]) == ("192.0.2.1", [{"ip": "192.0.2.1"}])


def test_a_pod_on_the_hosts_network_has_its_addresses_before_there_is_a_sandbox() -> None:
    for seen in (observation(waiting(), sandbox=None), None):
        status = rendered(pod_of(hostNetwork=True), seen)
        assert (status["podIP"], status["podIPs"]) == ("192.0.2.1", [{"ip": "192.0.2.1"}])


def test_a_pod_of_two_families_shows_both_addresses() -> None:
    status = rendered(pod_of(), observation(running(), sandbox=sandbox("10.0.0.7", "fd00::7")))
    assert status["podIPs"] == [{"ip": "10.0.0.7"}, {"ip": "fd00::7"}]


def test_a_pod_without_a_sandbox_has_no_address() -> None:
    assert "podIP" not in rendered(pod_of(), observation(sandbox=None))


# --- runtimes that tell a phase -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("phase", "state"),
    [
        (PodPhase.RUNNING, "running"),
        (PodPhase.SUCCEEDED, "terminated"),
        (PodPhase.FAILED, "terminated"),
        (PodPhase.PENDING, "waiting"),
    ],
)
def test_containers_are_as_the_phase_says_if_a_runtime_tells_nothing_else(
    phase: PodPhase, state: str
) -> None:
    status = rendered(pod_of(), observation(sandbox=None, phase=phase))
    assert status["phase"] == phase.value
    assert list(only(status)["state"]) == [state]
    assert only(status)["ready"] is (phase is PodPhase.RUNNING)


def test_a_container_that_runs_since_nobody_knows_when_runs_since_the_pod_does() -> None:
    status = rendered(pod_of(), observation(sandbox=None, phase=PodPhase.RUNNING))
    assert only(status)["state"]["running"]["startedAt"] == SINCE


# --- documents and reading ------------------------------------------------------------------------------


def test_a_pod_without_a_status_of_the_nodes_is_shown_as_its_source_has_it() -> None:
    pod = pod_of()
    assert with_status(pod, None) is pod.document


@pytest.mark.parametrize(
    "observed",
    [
        observation(running()),
        observation(restarted(running(attempt=1))),
        observation(backing_off(attempt=2)),
        observation(exited(code=1)),
        observation(waiting(reason="ErrImagePull", message="no such image")),
        None,
    ],
)
def test_a_status_that_is_read_back_shows_the_same(observed: PodObserved | None) -> None:
    # So an agent that was started again writes nothing new.
    pod = pod_of()
    told = after(pod, observed)
    read = status_of(with_status(pod, told))
    assert read is not None
    assert read.start_time == told.start_time
    assert read.conditions == told.conditions
    later = after(pod, observed, previous=read, now=Timestamp(NOW + 60))
    assert render_status(pod, later) == render_status(pod, told)


def test_what_was_read_back_stays_until_the_runtime_tells_something() -> None:
    pod = pod_of()
    told = after(pod, observation(running()))
    read = status_of(render_status(pod, told))
    later = after(pod, None, previous=read)
    assert later.phase is PodPhase.RUNNING
    assert only(render_status(pod, later))["state"] == {"running": {"startedAt": STARTED_AT}}
    assert shows_same(later, after(pod, None, previous=later))


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"phase": "Nonsense"},
        {"phase": 7},
        {"metadata": {"uid": "u"}},
        {"metadata": {"uid": "u"}, "status": {"conditions": []}},
    ],
)
def test_without_a_phase_there_is_no_status(document: JsonObject) -> None:
    assert status_of(document) is None


def test_fields_that_are_not_as_the_api_writes_them_count_as_missing() -> None:
    read = status_of(
        {
            "phase": "Running",
            "startTime": "yesterday",
            "hostIP": 7,
            "conditions": [7, {"type": "Ready", "lastTransitionTime": 1}, {"type": "others"}],
            "containerStatuses": [{"name": "a", "restartCount": "x", "state": 7}, "b"],
            "podIPs": "10.0.0.7",
        }
    )
    assert read is not None
    assert (read.start_time, read.host_ips) == (None, ())
    assert [each.type for each in read.conditions] == ["Ready"]
    assert read.observed is not None
    assert list(read.observed.containers) == ["a"]
