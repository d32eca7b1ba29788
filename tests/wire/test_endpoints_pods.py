"""The pages of pods over HTTP: each pod with its status, and what the runtime runs."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from dataclasses import replace

import pytest

from messages.pod_lives import DescribePodLives, PodLife, PodLivesDescribed
from messages.pod_runtime import (
    ContainerState,
    DescribeRuntime,
    RuntimeDescribed,
    RuntimePod,
)
from messages.statuses import DescribeStatuses, StatusesDescribed
from messages.units import Timestamp
from stores.statuses.status import StatusSituation, status_after
from tests.support.agent.served import NO_PODS, SOON, Served, StandIns, served_tree
from tests.support.builders import make_pod
from tests.support.patience import PATIENCE
from tests.support.pods.observations import observation, running

MANY = tuple(make_pod(f"web-{number}") for number in range(3_000))
STATUSES = {
    pod.uid: status_after(
        StatusSituation(pod=pod, observed=observation(running(), uid=pod.uid), now=Timestamp(1.0))
    )
    for pod in MANY
}
RUNTIME = RuntimeDescribed(
    name="hollow",
    pods=tuple(
        RuntimePod(
            uid=pod.uid, namespace=pod.namespace, name=pod.name, source="file", is_running=True
        )
        for pod in MANY[:2]
    ),
    containers={ContainerState.RUNNING: 2},
)
LIVES = PodLivesDescribed(
    lives={pod.uid: PodLife.SYNC for pod in MANY},
    started=3_000,
    refused={},
    restarted_static=0,
    restarted=0,
    preempted=0,
)
ANSWERS = {
    DescribeStatuses: StatusesDescribed(statuses=STATUSES, written=7),
    DescribePodLives: LIVES,
    DescribeRuntime: RUNTIME,
}
PODS = replace(NO_PODS, pods=MANY)


@pytest.fixture(scope="module")
def agent() -> Iterator[Served]:
    with served_tree(stand_ins=StandIns(pods=PODS, running=ANSWERS)) as served:
        yield served


def test_each_pod_is_shown_with_its_status(agent: Served) -> None:
    answer = agent.get("/pods")
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
    document = json.loads(answer.text)
    assert [item["metadata"]["name"] for item in document["items"]] == [pod.name for pod in MANY]
    assert {item["status"]["phase"] for item in document["items"]} == {"Running"}


def test_a_client_of_the_first_http_gets_the_whole_list(agent: Served) -> None:
    with socket.create_connection(("127.0.0.1", agent.port), timeout=PATIENCE) as old:
        old.sendall(b"GET /pods HTTP/1.0\r\n\r\n")
        said = b"".join(iter(lambda: old.recv(65536), b""))
    head, _, body = said.partition(b"\r\n\r\n")
    assert b"200 OK" in head
    assert len(json.loads(body)["items"]) == len(MANY)


def test_a_client_that_leaves_in_the_middle_of_the_list_disturbs_nobody(agent: Served) -> None:
    with socket.create_connection(("127.0.0.1", agent.port), timeout=PATIENCE) as leaving:
        leaving.sendall(b"GET /pods HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert leaving.recv(10)
    assert len(agent.get("/pods").document["items"]) == len(MANY)


def test_running_pods_are_shown(agent: Served) -> None:
    document = agent.get("/runningpods").json
    assert [item["metadata"]["name"] for item in document["items"]] == ["web-0", "web-1"]
    assert document["items"][0]["spec"]["containers"][0]["name"] == "main"


def test_running_pods_and_statuses_are_measured(agent: Served) -> None:
    text = agent.get("/metrics").text
    for line in (
        "kubelet_running_pods 2.0",
        'kubelet_running_containers{container_state="running"} 2.0',
        "kubelet_started_pods_total 3000.0",
        'actorlet_pods{phase="Running"} 3000.0',
        "actorlet_pod_status_writes_total 7.0",
    ):
        assert f"\n{line}\n" in text


def test_an_agent_that_runs_no_pods_says_so() -> None:
    with served_tree(stand_ins=StandIns(pods=PODS)) as served:
        answer = served.get("/runningpods")
        assert (answer.status, answer.json["error"]) == (404, "this agent runs no pods")
        assert served.get("/pods").json["items"][0] == MANY[0].document


def test_statuses_that_nobody_tells_are_no_lie() -> None:
    with served_tree(stand_ins=StandIns(pods=PODS, running={}, answer_within=SOON)) as served:
        answer = served.get("/pods")
        assert (answer.status, len(answer.json["items"])) == (200, len(PODS.pods))
        assert "status-keeper" in answer.headers["Actorlet-Statuses"]
        assert "kubelet_running_pods" not in served.get("/metrics").text
