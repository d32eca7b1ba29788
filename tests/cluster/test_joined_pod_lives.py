"""The lives of hollow pods at a real API server, as ``kubectl get pod -w`` would show them."""

from __future__ import annotations

import pytest

from tests.support.agent.joined_agent import JoinedAgent, Onlooker, condition
from tests.support.agent.joined_pods import (
    EXITS,
    IGNORES_SIGTERM,
    RUN_FOR,
    STOPS_IN,
    PodHistory,
    add_ephemeral_container,
    annotated,
    is_gone,
    runs,
    status,
)
from tests.support.agent.process import eventually
from tests.support.apiserver.subjects import pod

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(180),
]


@pytest.mark.usefixtures("shared")
def test_a_bound_pod_goes_from_pending_to_running_to_succeeded(
    onlooker: Onlooker, history: PodHistory
) -> None:
    onlooker.admin.add(annotated("job", {RUN_FOR: "1s", EXITS: "0"}, restartPolicy="Never"))
    eventually(lambda: status(onlooker, "job").get("phase") == "Succeeded")
    assert history.phases("job") == ["Pending", "Running", "Succeeded"]
    (container,) = status(onlooker, "job")["containerStatuses"]
    ended = container["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (0, "Completed")
    assert container["restartCount"] == 0
    assert condition(onlooker.pod("job") or {}, "Ready")["reason"] == "PodCompleted"


@pytest.mark.usefixtures("shared")
def test_people_read_of_a_running_pod_what_a_kubelet_says(onlooker: Onlooker) -> None:
    onlooker.admin.add(pod("web"))
    eventually(lambda: runs(onlooker, "web"))
    now = status(onlooker, "web")
    (container,) = now["containerStatuses"]
    assert container["ready"]
    assert container["started"]
    assert "running" in container["state"]
    assert now["podIP"] == now["podIPs"][0]["ip"]
    assert now["hostIP"]
    assert now["startTime"]
    assert now["qosClass"] == "BestEffort"
    types = {each["type"] for each in now["conditions"] if each["status"] == "True"}
    assert types >= {"PodScheduled", "Initialized", "ContainersReady", "Ready"}

    def reasons() -> set[str]:
        return {each["reason"] for each in onlooker.admin.events()}

    eventually(lambda: reasons() >= {"Pulled", "Created", "Started"})
    about = [each["involvedObject"] for each in onlooker.admin.events()]
    parts = {each.get("fieldPath") for each in about if each["name"] == "web"}
    assert parts == {"spec.containers{main}"}


def written(agent: JoinedAgent) -> float:
    """Return how many statuses the API server has taken from an agent, as this one counts."""
    return eventually(lambda: agent.metric("actorlet_pod_status_writes_total"))[""]


def test_a_pod_is_pending_and_then_running_by_a_single_write(
    shared: JoinedAgent, onlooker: Onlooker, history: PodHistory
) -> None:
    before = written(shared)
    onlooker.admin.add(pod("web"))
    eventually(lambda: runs(onlooker, "web"))
    # It is counted when it is answered: the API server shows it before.
    eventually(lambda: written(shared) > before)
    assert [each["type"] for each in history.of("web")] == ["ADDED", "MODIFIED"]
    assert written(shared) == before + 1


@pytest.mark.usefixtures("shared")
def test_a_running_pod_is_debugged_by_a_container_that_comes_to_it(
    onlooker: Onlooker, history: PodHistory
) -> None:
    onlooker.admin.add(pod("web"))
    eventually(lambda: runs(onlooker, "web"))
    debugger = {"name": "debugger", "image": "registry.example/busybox:1"}
    add_ephemeral_container(onlooker, "web", debugger)

    def states() -> dict[str, list[str]]:
        found = status(onlooker, "web").get("ephemeralContainerStatuses") or ()
        return {each["name"]: list(each["state"]) for each in found}

    eventually(lambda: states() == {"debugger": ["running"]})
    assert history.restarts("web") == [0]


def test_a_pod_that_is_deleted_stops_gracefully_and_goes_by_itself(
    shared: JoinedAgent, onlooker: Onlooker, history: PodHistory
) -> None:
    onlooker.admin.add(pod("web"))
    eventually(lambda: runs(onlooker, "web"))
    onlooker.admin.remove("pods", "default", "web", grace=None)
    eventually(lambda: is_gone(onlooker, "web"))
    assert "terminated" in history.last_state("web")
    eventually(lambda: shared.pods() == {})


def test_a_graceful_deletion_costs_one_status_and_the_deletion(
    shared: JoinedAgent, onlooker: Onlooker, history: PodHistory
) -> None:
    containers = [{"name": each, "image": "registry.example/web:1"} for each in ("main", "late")]
    slow = annotated("web", {f"{STOPS_IN}.late": "300ms"}, containers=containers)
    before = written(shared)
    onlooker.admin.add(slow)
    eventually(lambda: runs(onlooker, "web"))
    eventually(lambda: written(shared) > before)
    running = written(shared)
    onlooker.admin.remove("pods", "default", "web", grace=None)
    eventually(lambda: is_gone(onlooker, "web"))
    assert history.phases("web")[-1] == "Succeeded"
    eventually(lambda: written(shared) > running)
    assert written(shared) == running + 1


@pytest.mark.usefixtures("shared")
def test_a_container_that_ignores_sigterm_costs_its_grace_and_no_more(
    onlooker: Onlooker, history: PodHistory
) -> None:
    onlooker.admin.add(annotated("deaf", {IGNORES_SIGTERM: "true"}))
    eventually(lambda: runs(onlooker, "deaf"))
    onlooker.admin.remove("pods", "default", "deaf", grace=2)
    eventually(lambda: is_gone(onlooker, "deaf"))
    assert history.last_state("deaf")["terminated"]["exitCode"] == 137


def test_a_pod_that_is_deleted_by_force_stops_too(shared: JoinedAgent, onlooker: Onlooker) -> None:
    onlooker.admin.add(pod("web"))
    eventually(lambda: runs(onlooker, "web"))
    onlooker.admin.remove("pods", "default", "web", grace=0)
    eventually(lambda: shared.pods() == {})
    eventually(lambda: shared.json("/runningpods")["items"] == [])


@pytest.mark.usefixtures("shared")
def test_a_job_that_fails_is_tried_again_until_it_succeeds(
    onlooker: Onlooker, history: PodHistory
) -> None:
    onlooker.admin.add(
        annotated("retry", {RUN_FOR: "100ms", EXITS: "1,0"}, restartPolicy="OnFailure")
    )
    eventually(lambda: status(onlooker, "retry").get("phase") == "Succeeded")
    (container,) = status(onlooker, "retry")["containerStatuses"]
    assert container["restartCount"] == 1
    assert container["lastState"]["terminated"]["exitCode"] == 1
    assert "Failed" not in history.phases("retry")


def test_a_static_pod_shows_its_status_on_its_mirror(
    shared: JoinedAgent, onlooker: Onlooker
) -> None:
    shared.serve("web")
    eventually(lambda: runs(onlooker, "web-n1"))
    (served,) = shared.documents()
    shown = status(onlooker, "web-n1")
    assert shown["containerStatuses"] == served["status"]["containerStatuses"]


@pytest.mark.usefixtures("shared")
def test_a_pod_that_does_not_fit_fails_with_the_kubelets_reason(onlooker: Onlooker) -> None:
    containers = [
        {
            "name": "main",
            "image": "registry.example/web:1",
            "resources": {"requests": {"cpu": "100k"}},
        }
    ]
    onlooker.admin.add(pod("vast", containers=containers))
    eventually(lambda: status(onlooker, "vast").get("phase") == "Failed")
    assert status(onlooker, "vast")["reason"] == "OutOfcpu"


@pytest.mark.usefixtures("shared")
def test_conditions_of_others_are_left_alone(onlooker: Onlooker) -> None:
    gates = [{"conditionType": "example.org/open"}]
    onlooker.admin.add(pod("gated", readinessGates=gates))
    eventually(lambda: status(onlooker, "gated").get("phase") == "Running")
    ready = condition(onlooker.pod("gated") or {}, "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "ReadinessGatesNotReady")
    conditions = [
        *status(onlooker, "gated")["conditions"],
        {"type": "example.org/open", "status": "True"},
    ]
    onlooker.admin.change("pods", "default", "gated", status={"conditions": conditions})
    eventually(lambda: runs(onlooker, "gated"))
    assert condition(onlooker.pod("gated") or {}, "example.org/open")["status"] == "True"
