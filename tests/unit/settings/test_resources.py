"""What the node has for pods, as flags and files say."""

from __future__ import annotations

from typing import Any

import pytest

from manifests.thresholds import DEFAULT_THRESHOLDS, Threshold
from settings.agent import effective_configuration
from settings.resources import NO_LIMIT_OF_PODS, ResourceSettings
from tests.support.settings.settled import refusal, settled

PIDS = {"pid.available": DEFAULT_THRESHOLDS["pid.available"]}


def of(*arguments: str, **fields: Any) -> ResourceSettings:
    return settled(*arguments, **fields).resources


def test_a_node_of_a_cluster_takes_a_kubelet_s_number_of_pods() -> None:
    assert of("--kubeconfig=k", "--runtime=m:C") == ResourceSettings(max_pods=110, is_machine=True)
    assert of("--kubeconfig=k", "--runtime=m:C", "--max-pods=0").max_pods == 110


def test_a_hollow_node_by_itself_takes_any_number_unless_one_is_given() -> None:
    hollow = "--runtime=hollow"
    assert of(hollow) == ResourceSettings(max_pods=NO_LIMIT_OF_PODS, is_machine=False)
    assert of(hollow, maxPods=110).max_pods == 110
    assert of("--max-pods=5", maxPods=110).max_pods == 5
    assert of("--pods-per-core=4").pods_per_core == 4
    assert of(podsPerCore=3).pods_per_core == 3


def test_what_system_and_agent_need_is_reserved_together() -> None:
    reserved = of(
        "--system-reserved=cpu=100m,memory=1Gi",
        kubeReserved={"cpu": "0.25", "ephemeral-storage": "1G", "pid": "100"},
    ).reserved
    assert reserved == {"cpu": 350, "memory": 2**30, "ephemeral-storage": 10**9, "pid": 100}
    assert of("--kube-reserved=memory=1Ki").reserved == {"memory": 1024}


def test_thresholds_of_eviction_are_amounts_or_shares() -> None:
    assert of("--eviction-hard=memory.available<1Gi,nodefs.available<7.5%").thresholds == {
        **PIDS,
        "memory.available": Threshold(amount=2**30),
        "nodefs.available": Threshold(share=0.075),
    }
    assert of(evictionHard={"imagefs.available": "0%", "pid.available": "10"}).thresholds == {
        "imagefs.available": Threshold(share=0.0),
        "pid.available": Threshold(amount=10),
    }


def test_thresholds_that_nobody_set_are_a_kubelet_s() -> None:
    assert of().thresholds == DEFAULT_THRESHOLDS
    assert of("--eviction-hard=").thresholds == DEFAULT_THRESHOLDS
    merged = of(evictionHard={"memory.available": "1"}, mergeDefaultEvictionSettings=True)
    assert merged.thresholds == {**DEFAULT_THRESHOLDS, "memory.available": Threshold(amount=1)}


def test_a_hollow_node_has_what_it_is_told_to_have() -> None:
    told = of(
        "--runtime=hollow",
        "--hollow-capacity",
        "cpu=32,memory=64Gi,pods=10k,example.com/gpu=8,hugepages-2Mi=4Mi",
    )
    assert told.hollow_capacity == {
        "cpu": 32_000,
        "memory": 64 * 2**30,
        "pods": 10_000,
        "example.com/gpu": 8,
        "hugepages-2Mi": 4 * 2**20,
    }


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        (
            "--system-reserved=cpu=much",
            "systemReserved has 'much' for cpu, which should be an amount such as 500m or 2Gi",
        ),
        (
            "--kube-reserved=memory=-1",
            "kubeReserved has '-1' for memory, which should be an amount such as 500m or 2Gi",
        ),
        (
            "--kube-reserved=gpu=1",
            "kubeReserved has 'gpu'; what can be reserved is cpu, ephemeral-storage, memory, pid",
        ),
        (
            "--eviction-hard=memory.available<110%",
            (
                "evictionHard has '110%' for memory.available, "
                "which should be an amount such as 100Mi or a share such as 10%"
            ),
        ),
        (
            "--eviction-hard=memory.free<1Gi",
            "evictionHard has 'memory.free', which no kubelet looks at",
        ),
        (
            "--hollow-capacity=pods=1.5",
            "--hollow-capacity has '1.5' for pods, which should be a whole number",
        ),
        (
            "--hollow-capacity=example.com/gpu=500m",
            "--hollow-capacity has '500m' for example.com/gpu, which should be a whole number",
        ),
        (
            "--hollow-capacity=cpu=1x",
            "--hollow-capacity has '1x' for cpu, which should be an amount such as 500m or 2Gi",
        ),
        (
            "--hollow-capacity=cores=1",
            (
                "--hollow-capacity has 'cores'; a hollow node has cpu, memory, ephemeral-storage, pods, "
                "hugepages-SIZE, and resources with a domain such as example.com/gpu"
            ),
        ),
    ],
)
def test_what_is_no_amount_is_refused_with_one_sentence(flag: str, said: str) -> None:
    assert refusal(lambda: settled("--runtime=hollow", flag)) == said


@pytest.mark.parametrize("flag", ["--hollow-capacity=cpu", "--system-reserved==1"])
def test_what_is_no_list_of_amounts_is_refused(flag: str) -> None:
    name = flag.partition("=")[0]
    assert refusal(lambda: settled(flag)) == (
        f"Invalid value for '{name}': should be name=amount,name=amount (--help lists the flags)"
    )


def test_what_is_in_effect_is_shown() -> None:
    settings = settled(
        "--kubeconfig=k",
        "--runtime=m:C",
        "--kube-reserved=cpu=1",
        evictionHard={"nodefs.available": "1%"},
    )
    shown = effective_configuration(settings)["kubeletconfig"]
    assert shown["maxPods"] == 110
    assert shown["kubeReserved"] == {"cpu": "1"}
    assert shown["evictionHard"] == {"nodefs.available": "1%"}
