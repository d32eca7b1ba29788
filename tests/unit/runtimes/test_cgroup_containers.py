"""A runtime is told of a container's resources what a kubelet would tell it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from files.cgroups.names import CgroupOptions
from messages.pods import Pod
from runtimes.cri.cgroups.container_limits import (
    CgroupFacts,
    LinuxResources,
    ResourcesRefused,
    container_resources,
    sandbox_resources,
)
from tests.support.builders import make_pod

GIB = 2**30
OPTIONS = CgroupOptions(capacity={"memory": 8 * GIB})
NO_FACTS = CgroupFacts()


def container(requests: Any = None, limits: Any = None, **more: Any) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": requests or {}, "limits": limits or {}}, **more}


def pod(*containers: dict[str, Any], priority: int = 0, **spec: Any) -> Pod:
    return make_pod(source="api", priority=priority, spec={"containers": list(containers), **spec})


def told(
    one: dict[str, Any],
    of: Pod | None = None,
    options: CgroupOptions = OPTIONS,
    facts: CgroupFacts = NO_FACTS,
) -> LinuxResources:
    resources = container_resources(of or pod(one), one, options, facts)
    assert isinstance(resources, LinuxResources)
    return resources


def test_requests_and_limits_become_shares_quota_and_memory() -> None:
    one = container({"cpu": "250m", "memory": "1Gi"}, {"cpu": "500m", "memory": "2Gi"})
    assert told(one) == LinuxResources(
        cpu_shares=256,
        cpu_quota=50_000,
        cpu_period=100_000,
        memory_limit=2 * GIB,
        oom_score_adj=875,
    )


def test_without_limits_nothing_is_limited() -> None:
    assert told(container()) == LinuxResources(cpu_shares=2, cpu_period=100_000, oom_score_adj=1000)


def test_a_limit_is_a_request_too_if_there_is_no_other() -> None:
    assert told(container(limits={"cpu": "2"})).cpu_shares == 2048


def test_a_container_without_limits_has_those_of_its_pod() -> None:
    whole = {"limits": {"cpu": "1", "memory": "1Gi"}}
    one, other = container(), container(limits={"memory": "64Mi"})
    both = pod(one, other, resources=whole)
    assert (told(one, both).cpu_quota, told(one, both).memory_limit) == (100_000, GIB)
    assert (told(other, both).cpu_quota, told(other, both).memory_limit) == (100_000, 64 * 2**20)


def test_without_quotas_neither_quota_nor_period_is_said() -> None:
    resources = told(container(limits={"cpu": "1"}), options=CgroupOptions(has_cpu_quota=False))
    assert (resources.cpu_quota, resources.cpu_period) == (0, 0)


def test_each_size_of_huge_pages_has_a_limit() -> None:
    one = container(limits={"hugepages-2Mi": "4Mi"})
    facts = CgroupFacts(page_sizes=(2**21, 2**30))
    assert told(one, facts=facts).huge_pages == (("2MB", 2**22), ("1GB", 0))


@pytest.mark.parametrize(
    ("alone", "facts", "unified"),
    [
        (None, CgroupFacts(is_unified=True), {"memory.oom.group": "1"}),
        (True, CgroupFacts(is_unified=True), {}),
        (False, CgroupFacts(), {}),
        (
            None,
            CgroupFacts(is_unified=True, limits_swap=True),
            {"memory.oom.group": "1", "memory.swap.max": "0"},
        ),
    ],
)
def test_what_only_cgroup_v2_has_is_said_there_alone(
    *, alone: bool | None, facts: CgroupFacts, unified: dict[str, str]
) -> None:
    assert (
        told(container(), options=CgroupOptions(is_one_killed_alone=alone), facts=facts).unified
        == unified
    )


def test_swap_is_not_used_beyond_the_limit_of_memory() -> None:
    one = container(limits={"memory": "1Gi"})
    assert told(one, facts=CgroupFacts(limits_swap=True)).memory_swap_limit == GIB
    assert told(one).memory_swap_limit == 0


BOTH = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (container(BOTH, BOTH), -997),
        (container(), 1000),
        (container({"cpu": "1"}), 999),
        (container({"memory": "4Gi"}), 500),
        (container({"memory": "8Gi"}), 3),
        (container({"memory": "800Gi"}), 3),
    ],
)
def test_who_requests_more_memory_is_killed_later(one: dict[str, Any], expected: int) -> None:
    assert told(one).oom_score_adj == expected


def test_a_sidecar_is_killed_no_earlier_than_the_least_of_the_regular_containers() -> None:
    sidecar = container({"memory": "1Gi"}, restartPolicy="Always")
    init = container({"memory": "1Gi"})
    whole = pod(
        container({"memory": "4Gi"}), container({"memory": "6Gi"}), initContainers=[sidecar, init]
    )
    assert told(sidecar, whole).oom_score_adj == 500
    assert told(init, whole).oom_score_adj == 875


def test_what_a_pod_requests_beyond_its_containers_counts_for_each_of_them() -> None:
    one = container({"memory": "1Gi"})
    whole = pod(one, one, resources={"requests": {"memory": "4Gi"}})
    assert told(one, whole).oom_score_adj == 750


def test_a_pod_that_the_node_needs_is_killed_last() -> None:
    one, name = container(), "system-node-critical"
    assert told(one, pod(one, priorityClassName=name, priority=2_000_001_000)).oom_score_adj == -997
    assert told(one, pod(one, priorityClassName=name)).oom_score_adj == 1000
    static = make_pod(spec={"containers": [one], "priorityClassName": name})
    assert told(one, static).oom_score_adj == -997
    other = pod(one, priorityClassName="system-cluster-critical", priority=2_000_000_000)
    assert told(one, other).oom_score_adj == 1000


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (container({"cpu": "-1"}), "resources.requests.cpu: -1 is negative"),
        (container(limits={"memory": "much"}), "resources.limits.memory: 'much' is not a quantity"),
        (container(limits={"memory": 5}), "resources.limits.memory: '5' is not a quantity"),
        (
            container(limits={"hugepages-none": "1"}),
            "resources.limits.hugepages-none: not a size of huge pages",
        ),
    ],
)
def test_resources_that_mean_nothing_are_refused_with_the_field(
    one: dict[str, Any], reason: str
) -> None:
    assert container_resources(pod(one), one, OPTIONS, NO_FACTS) == ResourcesRefused(reason)


AMOUNTS = st.fixed_dictionaries(
    {},
    optional={
        name: st.one_of(
            st.integers(0, 10**30).map(str), st.sampled_from(["1m", "1n", "1e99", "5Ei", "0"])
        )
        for name in ("cpu", "memory", "hugepages-2Mi", "nvidia.com/gpu")
    },
)


@given(AMOUNTS, AMOUNTS, AMOUNTS)
def test_whatever_is_asked_the_runtime_is_told_numbers_that_it_takes(
    requests: dict[str, str], limits: dict[str, str], whole: dict[str, str]
) -> None:
    one = container(requests, limits)
    resources = told(
        one, pod(one, resources={"limits": whole}), facts=CgroupFacts(page_sizes=(2**21,))
    )
    assert 2 <= resources.cpu_shares <= 262_144
    assert resources.cpu_quota == 0 or 1_000 <= resources.cpu_quota < 2**44
    assert 0 <= resources.memory_limit < 2**63
    assert -997 <= resources.oom_score_adj <= 1000
    assert all(0 <= limit < 2**63 for _size, limit in resources.huge_pages)


def test_a_sandbox_is_told_of_all_containers_and_of_its_overhead_apart() -> None:
    one = container({"cpu": "500m"}, {"cpu": "1", "memory": "1Gi"})
    whole = pod(one, overhead={"cpu": "250m", "memory": "128Mi"})
    assert sandbox_resources(whole, OPTIONS) == (
        LinuxResources(cpu_shares=512, cpu_quota=100_000, cpu_period=100_000, memory_limit=GIB),
        LinuxResources(cpu_shares=256, cpu_quota=25_000, cpu_period=100_000, memory_limit=2**27),
    )
    assert sandbox_resources(pod(one), OPTIONS)[1] == LinuxResources()
