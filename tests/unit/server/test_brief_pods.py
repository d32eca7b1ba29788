"""Which pods of ``/pods`` somebody wants, and how much of each."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from command.pod_words import is_well, pod_name, readiness, restarts, since, source_of, state
from messages.pod_manager import PodsDescribed
from messages.pods import Pod, PodPhase
from messages.statuses import PodStatus
from server.brief_pods import PodsAsked, brief, brief_pod
from server.pod_pages import pod_list
from stores.statuses.rendering import with_status
from tests.support.agent.served import NO_PODS
from tests.support.builders import make_pod
from tests.support.command.agents import body
from tests.support.pods.observations import backing_off, exited, lost, running, waiting
from tests.unit.server.test_pod_pages import status

WEB = make_pod("web", spec={"nodeName": "edge-1", "containers": [{"name": "main", "image": "i"}]})
JOB = make_pod("job", spec={"restartPolicy": "Never"})
OTHER = make_pod("other", namespace="shop", source="api", status={"phase": "Pending"})
PODS: PodsDescribed = dataclasses.replace(NO_PODS, pods=(WEB, OTHER, JOB))
STATUSES = {WEB.uid: status(WEB, running()), JOB.uid: status(JOB, exited())}


def listed(query: dict[str, str], statuses: Any = STATUSES) -> Any:
    return json.loads("".join(pod_list(PODS, statuses, PodsAsked.of(query))))


def names(query: dict[str, str], statuses: Any = STATUSES) -> list[str]:
    return [item["metadata"]["name"] for item in listed(query, statuses)["items"]]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, ["web", "other", "job"]),
        ({"brief": "false"}, ["web", "other", "job"]),
        ({"brief": ""}, ["job", "web", "other"]),
        ({"namespace": "shop"}, ["other"]),
        ({"name": "o"}, ["other"]),
        ({"name": "shop/ot"}, ["other"]),
        ({"name": WEB.uid}, ["web"]),
        ({"name": "eb"}, []),
        ({"unready": "true"}, ["other"]),
        ({"unready": "true", "namespace": "default"}, []),
    ],
)
def test_only_those_are_told_that_are_asked_for(query: dict[str, str], found: list[str]) -> None:
    assert names(query) == found


def test_while_nobody_knows_statuses_it_is_the_source_that_says_who_is_ready() -> None:
    assert names({"unready": "true"}, None) == ["web", "other", "job"]


def test_whoever_gets_some_pods_in_brief_is_told_how_many_there_are() -> None:
    assert listed({"brief": "true", "unready": "true"})["summary"] == {
        "pods": 3,
        "phases": {"Running": 1, "Pending": 1, "Succeeded": 1},
        "nodeName": "edge-1",
    }
    assert listed({"brief": "true", "namespace": "shop"})["summary"]["pods"] == 1
    assert "summary" not in listed({"unready": "true"})


@pytest.mark.parametrize("pod", body("pods")["items"], ids=pod_name)
def test_a_pod_in_brief_reads_as_the_whole_one(pod: Any) -> None:
    told, now = brief(pod), 1_800_000_000.0
    for word in (pod_name, readiness, state, since, source_of, is_well):
        assert word(told) == word(pod)
    assert restarts(told, now) == restarts(pod, now)
    for name in ("podIP", "qosClass"):
        assert told["status"].get(name) == pod["status"].get(name)
    assert len(json.dumps(told)) < len(json.dumps(pod)) / 2


INIT = {"name": "first", "image": "i"}
SIDECAR = {"name": "aside", "image": "i", "restartPolicy": "Always"}
ALL_KINDS = make_pod(
    "all",
    spec={
        "nodeName": "edge-1",
        "initContainers": [INIT, SIDECAR],
        "containers": [{"name": "main", "image": "i"}, {"name": "else", "image": "i"}],
    },
)


@pytest.mark.parametrize("pod", [WEB, JOB, OTHER, ALL_KINDS], ids=lambda pod: pod.name)
@pytest.mark.parametrize(
    "histories",
    [
        (),
        (running(),),
        (exited(),),
        (exited("first"), running("aside"), running(), exited("else", code=3)),
        (exited("first", code=3),),
        (waiting(),),
        (backing_off(),),
        (lost(), running("aside")),
    ],
)
@pytest.mark.parametrize("is_ended", [False, True])
def test_a_status_in_brief_is_what_is_left_of_the_whole_one(
    pod: Pod, histories: tuple[Any, ...], *, is_ended: bool
) -> None:
    seen = dataclasses.replace(status(pod, *histories), is_ended=is_ended)
    refused = PodStatus(phase=PodPhase.FAILED, conditions=(), observed=None, reason="OutOfcpu")
    for each in (seen, refused, dataclasses.replace(seen, reason="Evicted", message="why")):
        assert brief_pod(pod, each) == brief(with_status(pod, each))


def test_messages_of_containers_are_left_out() -> None:
    waits = {"waiting": {"reason": "CrashLoopBackOff", "message": "long"}}
    ended = {
        "terminated": {"exitCode": 3, "reason": "Error", "message": "long", "containerID": "x"}
    }
    statuses = [{"name": "a", "state": waits, "lastState": ended}]
    pod = {"metadata": {"name": "a"}, "spec": {}, "status": {"containerStatuses": statuses}}
    (told,) = brief(pod)["status"]["containerStatuses"]
    assert told["state"] == {"waiting": {"reason": "CrashLoopBackOff"}}
    assert told["lastState"] == {"terminated": {"exitCode": 3, "reason": "Error"}}
