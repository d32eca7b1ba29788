"""The lives of hollow pods at a real API server, as ``kubectl get pod -w`` would show them."""

from __future__ import annotations

import random
import threading
from itertools import groupby
from typing import Any

import pytest

from messages.api import ApiRequest, Verb
from messages.pods import JsonObject
from tests.support.agent.joined_agent import PLENTY, JoinedAgent, Onlooker, condition
from tests.support.agent.process import eventually
from tests.support.apiserver.client import ApiClient
from tests.support.apiserver.subjects import PODS, pod
from tests.support.cluster.cluster import Cluster

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(180),
]

RUN_FOR = "hollow.actorlet/run-for"
EXITS = "hollow.actorlet/exits"
IGNORES_SIGTERM = "hollow.actorlet/ignores-sigterm"


def annotated(name: str, annotations: dict[str, str], **spec: Any) -> JsonObject:
    """Return a pod whose hollow containers behave as ``annotations`` say."""
    plain = pod(name, **spec)
    return {**plain, "metadata": {**plain["metadata"], "annotations": annotations}}


class History:
    """What became of the pods in the namespace ``default`` since the test began, version by version."""

    def __init__(self, admin: ApiClient) -> None:
        self._admin = admin
        listed = admin.handle(ApiRequest(verb=Verb.GET, path=PODS))
        self._since = listed["metadata"]["resourceVersion"]

    def of(self, name: str) -> list[JsonObject]:
        """Return the events of a pod; the last one is its deletion if it is gone."""
        # The API server remembers for minutes what happened, and ends the watch after a second.
        with self._admin.watch(PODS, since=self._since, seconds=1) as events:
            seen = [each for each in events if each["type"] != "BOOKMARK"]
        return [each for each in seen if each["object"]["metadata"]["name"] == name]

    def phases(self, name: str) -> list[str]:
        """Return the phases that a pod went through."""
        seen = (each["object"]["status"].get("phase", "") for each in self.of(name))
        return [phase for phase, _ in groupby(seen)]

    def last_state(self, name: str) -> JsonObject:
        """Return the state of the only container when the pod was deleted for good."""
        last = self.of(name)[-1]
        assert last["type"] == "DELETED"
        (container,) = last["object"]["status"]["containerStatuses"]
        state: JsonObject = container["state"]
        return state


@pytest.fixture
def history(cluster: Cluster) -> History:
    """Return what becomes of the pods from now on."""
    return History(cluster.admin)


def is_gone(onlooker: Onlooker, name: str) -> bool:
    """Whether there is no such pod."""
    return not onlooker.admin.has("pods", "default", name)


def status(onlooker: Onlooker, name: str) -> JsonObject:
    """Return the status of a pod; empty if there is no such pod."""
    found = onlooker.pod(name)
    return found["status"] if found is not None else {}


def runs(onlooker: Onlooker, name: str) -> bool:
    """Whether a pod runs and is ready, as ``kubectl wait`` asks."""
    now = status(onlooker, name)
    return now.get("phase") == "Running" and condition({"status": now}, "Ready")["status"] == "True"


@pytest.mark.usefixtures("shared")
def test_a_bound_pod_goes_from_pending_to_running_to_succeeded(
    onlooker: Onlooker, history: History
) -> None:
    onlooker.admin.add(annotated("job", {RUN_FOR: "1s", EXITS: "0"}, restartPolicy="Never"))
    eventually(lambda: status(onlooker, "job").get("phase") == "Succeeded", PLENTY)
    assert history.phases("job") == ["Pending", "Running", "Succeeded"]
    (container,) = status(onlooker, "job")["containerStatuses"]
    ended = container["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (0, "Completed")
    assert container["restartCount"] == 0
    assert condition(onlooker.pod("job") or {}, "Ready")["reason"] == "PodCompleted"


@pytest.mark.usefixtures("shared")
def test_people_read_of_a_running_pod_what_a_kubelet_says(onlooker: Onlooker) -> None:
    onlooker.admin.add(pod("web"))
    eventually(lambda: runs(onlooker, "web"), PLENTY)
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

    eventually(lambda: reasons() >= {"Pulled", "Created", "Started"}, PLENTY)


def test_a_pod_that_is_deleted_stops_gracefully_and_goes_by_itself(
    shared: JoinedAgent, onlooker: Onlooker, history: History
) -> None:
    onlooker.admin.add(pod("web"))
    eventually(lambda: runs(onlooker, "web"), PLENTY)
    onlooker.admin.remove("pods", "default", "web", grace=None)
    eventually(lambda: is_gone(onlooker, "web"), PLENTY)
    assert "terminated" in history.last_state("web")
    eventually(lambda: shared.pods() == {})


@pytest.mark.usefixtures("shared")
def test_a_container_that_ignores_sigterm_costs_its_grace_and_no_more(
    onlooker: Onlooker, history: History
) -> None:
    onlooker.admin.add(annotated("deaf", {IGNORES_SIGTERM: "true"}))
    eventually(lambda: runs(onlooker, "deaf"), PLENTY)
    onlooker.admin.remove("pods", "default", "deaf", grace=2)
    eventually(lambda: is_gone(onlooker, "deaf"), PLENTY)
    assert history.last_state("deaf")["terminated"]["exitCode"] == 137


def test_a_pod_that_is_deleted_by_force_stops_too(shared: JoinedAgent, onlooker: Onlooker) -> None:
    onlooker.admin.add(pod("web"))
    eventually(lambda: runs(onlooker, "web"), PLENTY)
    onlooker.admin.remove("pods", "default", "web", grace=0)
    eventually(lambda: shared.pods() == {})
    eventually(lambda: shared.json("/runningpods")["items"] == [], PLENTY)


@pytest.mark.usefixtures("shared")
def test_a_job_that_fails_is_tried_again_until_it_succeeds(
    onlooker: Onlooker, history: History
) -> None:
    onlooker.admin.add(
        annotated("retry", {RUN_FOR: "100ms", EXITS: "1,0"}, restartPolicy="OnFailure")
    )
    eventually(lambda: status(onlooker, "retry").get("phase") == "Succeeded", PLENTY)
    (container,) = status(onlooker, "retry")["containerStatuses"]
    assert container["restartCount"] == 1
    assert container["lastState"]["terminated"]["exitCode"] == 1
    assert "Failed" not in history.phases("retry")


def test_a_static_pod_shows_its_status_on_its_mirror(
    shared: JoinedAgent, onlooker: Onlooker
) -> None:
    shared.serve("web")
    eventually(lambda: runs(onlooker, "web-n1"), PLENTY)
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
    eventually(lambda: status(onlooker, "vast").get("phase") == "Failed", PLENTY)
    assert status(onlooker, "vast")["reason"] == "OutOfcpu"


@pytest.mark.usefixtures("shared")
def test_conditions_of_others_are_left_alone(onlooker: Onlooker) -> None:
    gates = [{"conditionType": "example.org/open"}]
    onlooker.admin.add(pod("gated", readinessGates=gates))
    eventually(lambda: status(onlooker, "gated").get("phase") == "Running", PLENTY)
    ready = condition(onlooker.pod("gated") or {}, "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "ReadinessGatesNotReady")
    conditions = [
        *status(onlooker, "gated")["conditions"],
        {"type": "example.org/open", "status": "True"},
    ]
    onlooker.admin.change("pods", "default", "gated", status={"conditions": conditions})
    eventually(lambda: runs(onlooker, "gated"), PLENTY)
    assert condition(onlooker.pod("gated") or {}, "example.org/open")["status"] == "True"


def test_statuses_wait_for_an_api_server_that_is_away(
    agent: JoinedAgent, onlooker: Onlooker, cluster: Cluster
) -> None:
    agent.joins()
    onlooker.admin.add(annotated("job", {RUN_FOR: "4s", EXITS: "3"}, restartPolicy="Never"))
    eventually(lambda: status(onlooker, "job").get("phase") == "Running", PLENTY)
    cluster.stop_api_server()
    eventually(lambda: _phase_served(agent, "job") == "Failed", PLENTY)
    cluster.start_api_server()
    eventually(lambda: status(onlooker, "job").get("phase") == "Failed", PLENTY)


def _phase_served(agent: JoinedAgent, name: str) -> str:
    found = (each for each in agent.documents() if each["metadata"]["name"] == name)
    document: JsonObject = next(found, {"status": {}})
    return str(document["status"].get("phase", ""))


@pytest.mark.parametrize("seed", range(3))
def test_an_agent_that_is_killed_at_any_moment_brings_every_pod_to_its_end(
    agent: JoinedAgent, onlooker: Onlooker, history: History, seed: int
) -> None:
    chance = random.Random(seed)
    agent.joins()
    jobs = [f"job-{number}" for number in range(5)]
    for name in jobs:
        onlooker.admin.add(annotated(name, {RUN_FOR: "500ms"}, restartPolicy="Never"))
    onlooker.admin.add(pod("stays"))
    onlooker.admin.add(pod("goes"))
    agent.serve("static")
    pause = threading.Event()
    for step in range(4):
        pause.wait(chance.uniform(0.0, 1.5))
        agent.dies()
        if step == 1:
            onlooker.admin.remove("pods", "default", "goes", grace=None)
        agent.start_on_manifests()
    for name in jobs:
        eventually(lambda name=name: status(onlooker, name).get("phase") == "Succeeded", PLENTY)  # type: ignore[misc]
        assert history.phases(name)[-1] == "Succeeded"
        assert "Failed" not in history.phases(name)
    eventually(lambda: runs(onlooker, "stays"), PLENTY)
    eventually(lambda: runs(onlooker, "static-n1"), PLENTY)
    eventually(lambda: is_gone(onlooker, "goes"), PLENTY)
