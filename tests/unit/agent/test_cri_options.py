"""What a configuration says about cgroups, name servers, logs and images, and what of it is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.cri_options import cgroup_options, check_cgroups, cri_node, image_options, log_options
from files.cgroups.names import CgroupDriver, CgroupOptions
from runtimes.cri.images.options import ImageOptions, VerificationPolicy
from settings.agent import Settings
from settings.command_line import parse
from settings.containers import DRIVERS, POLICIES, ContainerSettings
from settings.errors import UsageError
from settings.load import load_settings
from tests.support.settings.settled import refusal, settled


def told(**fields: Any) -> ContainerSettings:
    runtime = settings_with(**fields).runtime
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


def options(tmp_path: Path, *flags: str, **fields: Any) -> ImageOptions:
    """Return the options of a configuration with these ``fields``."""
    file = tmp_path / "config.json"
    document = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        **fields,
    }
    file.write_text(json.dumps(document))
    arguments = ["--config", str(file), "--runtime", "cri", "--root-dir", str(tmp_path / "root")]
    settings = load_settings(parse([*arguments, *flags, "--hostname-override", "node-1"]))
    told = settings.runtime.containers
    assert told is not None
    return image_options(settings, told)


def test_the_defaults_for_images_are_a_kubelets(tmp_path: Path) -> None:
    found = options(tmp_path)
    assert (found.pulls.parallel, found.pulls.per_second, found.pulls.burst) == (1, 5.0, 10)
    garbage = found.garbage
    assert (garbage.high_percent, garbage.low_percent) == (85, 80)
    assert (garbage.minimum_age, garbage.maximum_age, garbage.every) == (120.0, 0.0, 300.0)
    assert found.verification.policy is VerificationPolicy.NOT_PRELOADED
    assert found.node == "node-1"
    assert found.records == tmp_path / "root" / "image-pulls.json"
    assert found.credentials.directories[0] == tmp_path / "root"


@pytest.mark.parametrize(
    ("fields", "parallel"),
    [
        ({"serializeImagePulls": False}, None),
        ({"serializeImagePulls": False, "maxParallelImagePulls": 3}, 3),
        ({"maxParallelImagePulls": 3}, 3),
        ({"maxParallelImagePulls": 1}, 1),
        ({"serializeImagePulls": True, "maxParallelImagePulls": 1}, 1),
    ],
)
def test_so_many_images_are_pulled_at_the_same_time(
    tmp_path: Path, fields: dict[str, Any], parallel: int | None
) -> None:
    assert options(tmp_path, **fields).pulls.parallel == parallel


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"serializeImagePulls": True, "maxParallelImagePulls": 2},
            "maxParallelImagePulls 2 has no",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(
    tmp_path: Path, fields: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UsageError) as error:
        options(tmp_path, **fields)
    assert sentence in str(error.value)


def test_a_configuration_of_plugins_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    config = f"--image-credential-provider-config={tmp_path / 'plugins.yaml'}"
    programs = f"--image-credential-provider-bin-dir={tmp_path}"
    with pytest.raises(UsageError, match=r"plugins\.yaml: cannot be read: No such file"):
        options(tmp_path, config, programs)
    for flag in (config, programs):
        with pytest.raises(UsageError, match="need each other"):
            options(tmp_path, flag)


def test_the_policies_that_a_file_may_name_are_those_that_there_are() -> None:
    assert tuple(VerificationPolicy) == POLICIES
