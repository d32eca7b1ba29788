"""What a configuration says about cgroups, name servers and logs, and what of it is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.cri_options import cgroup_options, check_cgroups, cri_node, log_options
from files.cgroups.options import CgroupDriver, CgroupOptions
from settings.agent import Settings
from settings.cgroup_checks import DRIVERS
from settings.containers import ContainerSettings
from tests.support.settings.settled import refusal, settled


def told(**fields: Any) -> ContainerSettings:
    runtime = settings_with(**fields).runtime
    assert runtime is not None
    assert runtime.containers is not None
    return runtime.containers


def settings_with(**fields: Any) -> Settings:
    return settled("--runtime=cri", **fields)


def cgroups(**fields: Any) -> CgroupOptions:
    return cgroup_options(told(**fields), {"cpu": 4000}, {"cpu": 500})


def test_the_defaults_are_a_kubelets() -> None:
    assert cgroups() == CgroupOptions(capacity={"cpu": 4000}, reserved={"cpu": 500})


def test_what_is_said_of_cgroups_is_passed_on() -> None:
    found = cgroups(
        cgroupDriver="systemd",
        cgroupRoot="/kube",
        podPidsLimit=99,
        cpuCFSQuota=False,
        cpuCFSQuotaPeriod="20ms",
        singleProcessOOMKill=True,
        enforceNodeAllocatable=["none"],
    )
    assert (found.driver, found.root, found.pods_pids) == (CgroupDriver.SYSTEMD, "/kube", 99)
    assert (found.has_cpu_quota, found.period) == (False, 20_000)
    assert (found.is_one_killed_alone, found.enforced) == (True, frozenset({"none"}))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"cgroupDriver": "docker"}, "cgroupDriver 'docker' should be cgroupfs or systemd"),
        ({"cgroupRoot": "a b"}, "cgroupRoot must be an absolute path of plain names, not 'a b'"),
        ({"cgroupRoot": "/a/../b"}, "cgroupRoot must be an absolute path of plain names, not '/a/../b'"),
        ({"cpuCFSQuotaPeriod": "2s"}, "cpuCFSQuotaPeriod must be from 1ms to 1s, not 2.0 s"),
        (
            {"enforceNodeAllocatable": ["pods", "system-reserved"]},
            "enforceNodeAllocatable: system-reserved is not supported: only pods are held to their share",
        ),
        (
            {"cgroupsPerQOS": False},
            "enforceNodeAllocatable needs cgroupsPerQOS: without it there is no cgroup of all pods",
        ),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_in_one_sentence(fields: dict[str, Any], said: str) -> None:
    assert refusal(lambda: cgroups(**fields)) == said


def test_what_only_v2_can_do_is_refused_on_v1() -> None:
    options = cgroups(singleProcessOOMKill=False)
    check_cgroups(options, is_unified=True)
    said = refusal(lambda: check_cgroups(options, is_unified=False))
    assert said == "singleProcessOOMKill can be false under cgroup v2 alone"


def test_cgroups_of_daemons_have_no_effect_and_keep_nobody_from_starting() -> None:
    settings = settings_with(
        staticPodPath="/pods", systemReservedCgroup="/sys", kubeReservedCgroup="/kube"
    )
    (warning,) = settings.warnings
    assert warning.endswith(": kubeReservedCgroup, systemReservedCgroup")


def test_name_servers_of_the_node_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    missing = tmp_path / "none"
    settings = settings_with(resolvConf=str(missing))
    containers = told(resolvConf=str(missing))
    said = refusal(lambda: cri_node(settings, containers, cgroups()))
    assert said.startswith(f"resolvConf {missing} cannot be read: ")


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("", "should be the name of a sysctl, or the beginning of one and *"),
        ("*", "should be the name of a sysctl, or the beginning of one and *"),
        ("net.*.x", "should be the name of a sysctl, or the beginning of one and *"),
        ("net." + 250 * "a", "should be the name of a sysctl, or the beginning of one and *"),
        ("vm.swappiness", "has no namespace of its own in a pod"),
        ("kernel.*", "has no namespace of its own in a pod"),
        ("net*", "has no namespace of its own in a pod"),
    ],
)
def test_sysctls_that_no_pod_can_have_are_refused(pattern: str, said: str) -> None:
    settings = settings_with(resolvConf="")
    allowed = told(resolvConf="", allowedUnsafeSysctls=["net.core.somaxconn", pattern])
    assert refusal(lambda: cri_node(settings, allowed, cgroups())) == (
        f"allowedUnsafeSysctls has {pattern[:64]!r}, which {said}"
    )


def test_sysctls_of_namespaces_may_be_allowed_in_either_form() -> None:
    patterns = ("kernel.msg*", "kernel.sem", "net.core.somaxconn", "net/ipv4/*", "fs.mqueue.*")
    settings = settings_with(resolvConf="")
    allowed = told(resolvConf="", allowedUnsafeSysctls=list(patterns))
    assert cri_node(settings, allowed, cgroups()).allowed_unsafe_sysctls == patterns


def test_links_for_collectors_are_made_only_for_logs_in_the_usual_place(tmp_path: Path) -> None:
    assert log_options(told()).links_directory == Path("/var/log/containers")
    elsewhere = log_options(told(podLogsDir=str(tmp_path), containerLogMaxSize="1Ki"))
    assert (elsewhere.links_directory, elsewhere.max_size) == (None, 1024)


def test_the_drivers_that_a_file_may_name_are_those_that_there_are() -> None:
    assert tuple(CgroupDriver) == DRIVERS
