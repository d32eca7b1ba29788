"""A pod's cgroup, those of the classes and that of all pods are limited as a kubelet limits them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from files.cgroups.limits import CgroupLimits
from files.cgroups.names import CgroupOptions
from manifests.qos import QosClass
from messages.pods import Pod
from messages.units import Seconds
from runtimes.cri.cgroups.pod_limits import (
    limits_of_all_pods,
    limits_of_levels,
    limits_of_pod,
    wider,
)
from tests.support.builders import make_pod

OPTIONS = CgroupOptions()
MIB = 2**20


def container(cpu: str = "", memory: str = "", requested_cpu: str = "") -> dict[str, Any]:
    limits = {name: value for name, value in (("cpu", cpu), ("memory", memory)) if value}
    requests = {**limits, "cpu": requested_cpu} if requested_cpu else limits
    return {"name": "c", "resources": {"limits": limits, "requests": requests}}


def pod(*containers: dict[str, Any], **spec: Any) -> Pod:
    return make_pod(spec={"containers": list(containers), **spec})


def test_a_guaranteed_pod_has_what_its_containers_have_together() -> None:
    assert limits_of_pod(
        pod(container("500m", "64Mi"), container("1", "64Mi")), OPTIONS
    ) == CgroupLimits(
        cpu_shares=1536,
        cpu_quota=150_000,
        cpu_period=100_000,
        memory=128 * MIB,
        pids=-1,
    )


def test_a_burstable_pod_is_limited_only_where_each_of_its_containers_is() -> None:
    limits = limits_of_pod(pod(container("500m", "64Mi", "100m"), container("1", "")), OPTIONS)
    assert (limits.cpu_shares, limits.cpu_quota, limits.memory) == (1126, 150_000, -1)


def test_a_best_effort_pod_gets_what_others_leave() -> None:
    limits = limits_of_pod(pod({"name": "c"}), OPTIONS)
    assert (limits.cpu_shares, limits.cpu_quota, limits.memory) == (2, -1, -1)


def test_an_init_container_without_limits_leaves_its_pod_without() -> None:
    limits = limits_of_pod(
        pod(container("1", "64Mi"), initContainers=[{"name": "i", "resources": {}}]), OPTIONS
    )
    assert (limits.cpu_quota, limits.memory) == (-1, -1)


def test_sidecars_count_beside_the_rest_and_init_containers_before_it() -> None:
    sidecar = {**container("200m", "32Mi"), "restartPolicy": "Always"}
    inits = [sidecar, container("2", "16Mi")]
    limits = limits_of_pod(pod(container("1", "64Mi"), initContainers=inits), OPTIONS)
    assert limits.cpu_quota == 220_000
    assert limits.memory == 96 * MIB


def test_the_overhead_of_a_runtime_class_is_added_to_what_is_limited() -> None:
    overhead = {"cpu": "250m", "memory": "100Mi"}
    limits = limits_of_pod(pod(container("1", "64Mi"), overhead=overhead), OPTIONS)
    assert (limits.cpu_shares, limits.cpu_quota, limits.memory) == (1280, 125_000, 164 * MIB)
    unlimited = limits_of_pod(pod({"name": "c"}, overhead=overhead), OPTIONS)
    assert (unlimited.cpu_shares, unlimited.cpu_quota, unlimited.memory) == (2, -1, -1)


def test_what_a_pod_has_as_a_whole_counts_in_place_of_its_containers() -> None:
    whole = {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}
    limits = limits_of_pod(pod(container("1", ""), {"name": "b"}, resources=whole), OPTIONS)
    assert (limits.cpu_shares, limits.cpu_quota, limits.memory) == (1024, 200_000, 2**30)


def test_huge_pages_are_limited_to_what_is_asked_and_to_none_of_other_sizes() -> None:
    one = {"name": "c", "resources": {"limits": {"hugepages-2Mi": "4Mi"}}}
    limits = limits_of_pod(pod(one, one), OPTIONS, (2**21, 2**30))
    assert limits.huge_pages == {2**21: 8 * MIB, 2**30: 0}


def test_quotas_periods_and_process_ids_are_as_configured() -> None:
    both = pod(container("1", "64Mi"))
    assert limits_of_pod(both, CgroupOptions(has_cpu_quota=False)).cpu_quota == -1
    assert limits_of_pod(both, CgroupOptions(pods_pids=100)).pids == 100
    assert limits_of_pod(both, CgroupOptions(pods_pids=0)).pids == -1
    limits = limits_of_pod(both, CgroupOptions(cpu_period=Seconds(0.01)))
    assert (limits.cpu_quota, limits.cpu_period) == (10_000, 10_000)


@pytest.mark.parametrize("cpu", ["-1", "nonsense", "1e99", "9999999999999999999", ""])
@pytest.mark.parametrize("memory", ["-5Gi", "1e99", "0"])
def test_no_absurd_amount_makes_a_limit_that_the_kernel_refuses(cpu: str, memory: str) -> None:
    limits = limits_of_pod(pod(container(cpu, memory)), OPTIONS)
    assert 2 <= (limits.cpu_shares or 0) <= 262_144
    assert limits.cpu_quota == -1 or 1_000 <= (limits.cpu_quota or 0) < 2**44
    assert limits.memory == -1 or 0 < (limits.memory or 0) < 2**63


@given(st.lists(st.tuples(st.integers(0, 10_000), st.booleans()), max_size=8))
def test_burstable_pods_have_the_shares_of_what_they_request_together(
    requests: list[tuple[int, bool]],
) -> None:
    pods = [
        make_pod(
            spec={"containers": [{"resources": {"requests": {"cpu": f"{milli}m"}}}]},
            phase="Succeeded" if has_ended else "Running",
        )
        for milli, has_ended in requests
    ]
    guaranteed = pod(container("64", "1Gi"))
    levels = limits_of_levels([*pods, guaranteed])
    total = sum(milli for milli, has_ended in requests if not has_ended)
    assert levels[QosClass.BURSTABLE].cpu_shares == max(2, min(total * 1024 // 1000, 262_144))
    assert levels[QosClass.BEST_EFFORT].cpu_shares == 2


def test_all_pods_have_what_is_not_reserved() -> None:
    options = CgroupOptions(
        capacity={"cpu": 4000, "memory": 2**33, "pid": 1000, "hugepages-2Mi": 2**22},
        reserved={"cpu": 500, "memory": 2**30, "pid": 2000},
    )
    assert limits_of_all_pods(options) == CgroupLimits(
        cpu_shares=3584, memory=7 * 2**30, pids=0, huge_pages={2**21: 2**22}
    )


def test_all_pods_have_the_whole_node_where_nothing_is_enforced() -> None:
    options = CgroupOptions(
        capacity={"cpu": 4000, "memory": 2**33}, reserved={"cpu": 500}, enforced=frozenset({"none"})
    )
    assert limits_of_all_pods(options) == CgroupLimits(cpu_shares=4096, memory=2**33)
    assert limits_of_all_pods(CgroupOptions()) == CgroupLimits()


def test_while_it_is_resized_a_pod_has_the_larger_of_old_and_new() -> None:
    old = CgroupLimits(cpu_shares=2, cpu_quota=-1, memory=64, huge_pages={2: 5})
    new = CgroupLimits(cpu_shares=8, cpu_quota=500, cpu_period=1000, memory=32, pids=7)
    assert wider(old, new) == CgroupLimits(
        cpu_shares=8, cpu_quota=-1, cpu_period=1000, memory=64, pids=7, huge_pages={2: 5}
    )
