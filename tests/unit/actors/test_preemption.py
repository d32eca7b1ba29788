"""Which pods have to go for a critical one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actors.pods.node_fit import Candidate, is_ever_preemptable, victims
from manifests.qos import is_critical
from manifests.requests import pod_requests
from messages.pods import Pod
from tests.support.builders import make_pod

GI = 2**30


def burstable(name: str, priority: int | None = None, **requests: str) -> Candidate:
    return candidate(name, {"requests": requests}, priority)


def guaranteed(name: str, cpu: str, memory: str) -> Candidate:
    amounts = {"cpu": cpu, "memory": memory}
    return candidate(name, {"requests": amounts, "limits": amounts})


def best_effort(name: str) -> Candidate:
    return candidate(name, {})


def candidate(name: str, resources: Mapping[str, Any], priority: int | None = None) -> Candidate:
    spec: dict[str, Any] = {"containers": [{"name": "main", "resources": resources}]}
    if priority is not None:
        spec["priority"] = priority
    pod = make_pod(name, source="api", spec=spec)
    return Candidate(pod=pod, requests={"pods": 1, **pod_requests(pod.document["spec"])})


def names(pod: Pod, lacking: Mapping[str, int], *held: Candidate) -> list[str]:
    return [each.pod.name for each in victims(pod, lacking, held)]


STATIC = make_pod("static")


def test_the_smallest_pod_that_is_enough_goes() -> None:
    held = (burstable("small", cpu="1"), burstable("right", cpu="2"), burstable("large", cpu="4"))
    assert names(STATIC, {"cpu": 2000}, *held) == ["right"]


def test_few_large_pods_go_rather_than_many_small_ones() -> None:
    held = [burstable(f"small-{number}", cpu="500m") for number in range(8)]
    assert names(STATIC, {"cpu": 4000}, *held, burstable("large", cpu="4")) == ["large"]


def test_all_resources_that_lack_are_freed() -> None:
    held = (burstable("cpu", cpu="2"), burstable("memory", memory="2Gi"), burstable("none"))
    chosen = names(STATIC, {"cpu": 1000, "memory": GI}, *held)
    assert sorted(chosen) == ["cpu", "memory"]


def test_guaranteed_pods_go_only_if_all_others_are_not_enough() -> None:
    held = (guaranteed("g", "4", "1Gi"), burstable("b1", cpu="1"), burstable("b2", cpu="1"))
    assert sorted(names(STATIC, {"cpu": 2000}, *held)) == ["b1", "b2"]
    assert names(STATIC, {"cpu": 4000}, *held) == ["g"]


def test_best_effort_pods_go_first_when_there_are_too_many_pods() -> None:
    held = (guaranteed("g", "1", "1Gi"), burstable("b", cpu="1"), best_effort("e"))
    assert names(STATIC, {"pods": 1}, *held) == ["e"]
    assert sorted(names(STATIC, {"pods": 2}, *held)) == ["b", "e"]


def test_of_equal_pods_the_one_with_the_lowest_priority_goes() -> None:
    held = (burstable("high", 1_000, cpu="1"), burstable("low", 10, cpu="1"))
    assert names(STATIC, {"cpu": 1000}, *held) == ["low"]


def test_nobody_goes_if_all_together_are_not_enough() -> None:
    assert names(STATIC, {"cpu": 3000}, burstable("a", cpu="1"), burstable("b", cpu="1")) == []


def test_critical_pods_go_only_for_a_higher_priority() -> None:
    own = make_pod("own", source="api", spec={"priority": 2_000_001_000, "containers": []})
    other = burstable("other", 2_000_000_000, cpu="1")
    static = Candidate(pod=make_pod("static-one"), requests={"cpu": 1000})
    assert names(own, {"cpu": 1000}, other, static) == ["other"]
    assert names(STATIC, {"cpu": 1000}, other, static) == []


def test_who_is_critical_and_who_can_ever_go() -> None:
    ranked = make_pod("ranked", priority=5)
    ordinary = make_pod("ordinary", source="api")
    mirror = make_pod("mirror", source="api", mirror="x")
    assert [is_critical(each) for each in (STATIC, ranked, mirror, ordinary)] == [
        True,
        True,
        True,
        False,
    ]
    assert not is_ever_preemptable(STATIC)
    assert is_ever_preemptable(ranked)
    assert is_ever_preemptable(ordinary)
