"""Which pods of ``/pods`` somebody wants, and how much of each."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from command.pod_words import pod_name, since, source_of
from messages.pod_manager import PodsDescribed
from messages.pods import Pod, PodPhase
from messages.statuses import PodStatus
from server.pod_pages import PodsAsked, brief_pod, pod_list
from server.pod_summary import pod_summary
from stores.statuses.rendering import with_brief_status, with_status
from tests.support.agent.served import NO_PODS
from tests.support.builders import make_pod
from tests.support.command.agents import body
from tests.support.pods.observations import backing_off, exited, lost, running, waiting
from tests.unit.server.test_pod_pages import NOW, status

WEB = make_pod("web", spec={"nodeName": "edge-1", "containers": [{"name": "main", "image": "i"}]})
JOB = make_pod("job", spec={"restartPolicy": "Never"})
OTHER = make_pod("other", namespace="shop", source="api", status={"phase": "Pending"})
PODS: PodsDescribed = dataclasses.replace(NO_PODS, pods=(WEB, OTHER, JOB))
STATUSES = {WEB.uid: status(WEB, running()), JOB.uid: status(JOB, exited())}


def listed(query: dict[str, str], statuses: Any = STATUSES) -> Any:
    return json.loads("".join(pod_list(PODS, statuses, NOW, PodsAsked.of(query))))


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
        ({"troubled": "true"}, ["other"]),
        ({"troubled": "true", "namespace": "default"}, []),
    ],
)
def test_only_those_are_told_that_are_asked_for(query: dict[str, str], found: list[str]) -> None:
    assert names(query) == found


def test_while_nobody_knows_statuses_it_is_the_source_that_says_who_is_well() -> None:
    assert names({"troubled": "true"}, None) == ["web", "other", "job"]


def test_whoever_gets_some_pods_in_brief_is_told_how_many_there_are() -> None:
    assert listed({"brief": "true", "troubled": "true"})["summary"] == {
        "pods": 3,
        "phases": {"Running": 1, "Pending": 1, "Succeeded": 1},
        "nodeName": "edge-1",
    }
    assert listed({"brief": "true", "namespace": "shop"})["summary"]["pods"] == 1
    assert "summary" not in listed({"troubled": "true"})


@pytest.mark.parametrize("shown", body("pods")["items"], ids=pod_name)
def test_a_pod_in_brief_says_what_a_table_shows_in_a_third_of_the_bytes(shown: Any) -> None:
    told = brief_pod(Pod.of(shown), None, shown, NOW)
    for word in (pod_name, since, source_of):
        assert word(told) == word(shown)
    assert told["summary"] == pod_summary(Pod.of(shown), None, shown, NOW)
    assert told["spec"]["nodeName"] == shown["spec"]["nodeName"]
    for name in ("phase", "podIP", "qosClass"):
        assert told["status"].get(name) == shown["status"].get(name)
    assert len(json.dumps(told)) < len(json.dumps(shown)) / 3


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
def test_a_pod_in_brief_has_the_summary_of_the_whole_one(
    pod: Pod, histories: tuple[Any, ...], *, is_ended: bool
) -> None:
    seen = dataclasses.replace(status(pod, *histories), is_ended=is_ended)
    refused = PodStatus(phase=PodPhase.FAILED, conditions=(), observed=None, reason="OutOfcpu")
    for each in (seen, refused, dataclasses.replace(seen, reason="Evicted", message="why")):
        whole = with_status(pod, each)
        brief = brief_pod(pod, each, with_brief_status(pod, each), NOW)
        assert brief["summary"] == pod_summary(pod, each, whole, NOW)
        assert brief["status"].items() <= whole["status"].items()
