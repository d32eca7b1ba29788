"""What is said of real containers: which runtime, by which flags, and what of it is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from settings.agent import Settings, effective_configuration
from settings.containers import ContainerSettings
from settings.load_containers import SERVED_OF_CONTAINERS
from tests.support.settings.settled import refusal, settled, unserved

CRIO = Path("/run/crio/crio.sock")


def containers(settings: Settings) -> ContainerSettings:
    assert settings.runtime is not None
    assert settings.runtime.containers is not None
    return settings.runtime.containers


# Which runtime it is.


@pytest.mark.parametrize("joins", [(), ("--kubeconfig=k",), ("--in-cluster",)])
def test_a_socket_that_is_named_is_that_of_the_runtime(joins: tuple[str, ...]) -> None:
    settings = settled(*joins, containerRuntimeEndpoint=f"unix://{CRIO}", staticPodPath="/pods")
    assert containers(settings).container_runtime_endpoint == CRIO
    assert settings.warnings == ()


@pytest.mark.parametrize("flag", ["--runtime=hollow", "--runtime=m:C"])
def test_a_socket_beside_another_runtime_has_no_effect_which_is_said_once(flag: str) -> None:
    for endpoint in ("unix:///run/containerd/containerd.sock", "unix:///other.sock"):
        settings = settled(flag, staticPodPath="/pods", containerRuntimeEndpoint=endpoint)
        said = flag.replace("=", " ")
        assert settings.warnings == (f"containerRuntimeEndpoint has no effect with {said}",)


# A kubelet's flags.


@pytest.mark.parametrize(
    ("flag", "field", "value"),
    [
        ("--cluster-dns=10.0.0.10, fd00::a", "cluster_dns", ("10.0.0.10", "fd00::a")),
        ("--cluster-domain=cluster.local", "cluster_domain", "cluster.local"),
        ("--resolv-conf=", "resolv_conf", ""),
        ("--image-service-endpoint=/i.sock", "image_service_endpoint", Path("/i.sock")),
        ("--cgroup-driver=systemd", "cgroup_driver", "systemd"),
        ("--cgroup-root=/pods", "cgroup_root", "/pods"),
        ("--enforce-node-allocatable=none", "enforce_node_allocatable", {"none"}),
        ("--enforce-node-allocatable=", "enforce_node_allocatable", set()),
        ("--pod-max-pids=-1", "pod_pids_limit", -1),
        ("--pod-max-pids=512", "pod_pids_limit", 512),
        ("--cpu-cfs-quota=false", "cpu_cfs_quota", False),
        ("--cpu-cfs-quota-period=5ms", "cpu_cfs_quota_period", 0.005),
        ("--seccomp-default", "seccomp_default", True),
        ("--allowed-unsafe-sysctls=kernel.msg*,net.a", "allowed_unsafe_sysctls", ("kernel.msg*", "net.a")),
        ("--container-log-max-size=1Mi", "container_log_max_size", 2**20),
        ("--container-log-max-files=3", "container_log_max_files", 3),
        ("--serialize-image-pulls=false", "serialize_image_pulls", False),
        ("--registry-qps=0", "registry_pull_qps", 0),
        ("--registry-burst=7", "registry_burst", 7),
        ("--image-gc-high-threshold=90", "image_gc_high_threshold_percent", 90),
        ("--image-gc-low-threshold=60", "image_gc_low_threshold_percent", 60),
        ("--minimum-image-ttl-duration=1m", "image_minimum_gc_age", 60.0),
    ],
)  # fmt: skip
def test_a_flag_of_a_kubelet_is_obeyed_where_real_containers_run(
    flag: str, field: str, value: object
) -> None:
    settings = settled("--runtime=cri", "--pod-manifest-path=/pods", flag)
    assert getattr(containers(settings), field) == value
    assert settings.warnings == ()


def test_pods_need_no_cgroups_where_nothing_is_held_to_its_share() -> None:
    flags = ("--cgroups-per-qos=false", "--enforce-node-allocatable=none")
    assert not containers(settled("--runtime=cri", *flags)).cgroups_per_qos


def test_flags_and_fields_of_real_containers_have_no_effect_on_a_hollow_node() -> None:
    flags = ("--runtime=hollow", "--cluster-dns=10.0.0.10")
    settings = settled(*flags, staticPodPath="/pods", containerLogMaxFiles=3)
    assert settings.warnings == (unserved("clusterDNS", "containerLogMaxFiles"),)


@pytest.mark.parametrize(
    "flag", ["--pod-max-pids=many", "--registry-qps=1.5", "--cpu-cfs-quota=no"]
)
def test_a_value_of_another_type_is_wrong_usage(flag: str) -> None:
    assert flag.partition("=")[0] in refusal(lambda: settled("--runtime=cri", flag))


@pytest.mark.parametrize(
    "fields",
    [
        {"containerLogMaxFiles": 2},
        {"imageMinimumGCAge": "1m", "imageMaximumGCAge": "61s"},
        {"imageMinimumGCAge": "1m", "imageMaximumGCAge": "0s"},
    ],
    ids=str,
)
def test_the_least_that_is_allowed_is_allowed(fields: dict[str, object]) -> None:
    assert settled("--runtime=cri", **fields).runtime is not None


# What is refused.


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("clusterDNS", ["dns"], "clusterDNS 'dns' should be an IP address"),
        ("clusterDomain", "Cluster_", "clusterDomain 'Cluster_' should be a domain in lower case"),
        ("clusterDomain", "a..b", "clusterDomain 'a..b' should be a domain in lower case"),
        ("podLogsDir", "logs", "podLogsDir 'logs' should be an absolute path below /"),
        ("podLogsDir", "/", "podLogsDir '/' should be an absolute path below /"),
        ("podLogsDir", "/a/../b", "podLogsDir '/a/../b' should be an absolute path below /"),
        (
            "containerLogMaxFiles",
            1,
            "containerLogMaxFiles 1 should be at least 2: the log and one that was rotated",
        ),
        ("containerLogMaxWorkers", -1, "containerLogMaxWorkers -1 should be at least 1"),
        ("podPidsLimit", -7, "podPidsLimit -7 should be a number of processes, or -1 for any"),
        (
            "userNamespaces",
            {"idsPerPod": 65537},
            "userNamespaces.idsPerPod 65537 should be a multiple of 65536, up to 1048576",
        ),
        (
            "userNamespaces",
            {"idsPerPod": 2**21},
            "userNamespaces.idsPerPod 2097152 should be a multiple of 65536, up to 1048576",
        ),
        (
            "userNamespaces",
            {"idsPerPod": -65536},
            "userNamespaces.idsPerPod -65536 should be a multiple of 65536, up to 1048576",
        ),
        (
            "enforceNodeAllocatable",
            ["none", "pods"],
            "enforceNodeAllocatable has none, and something else beside it",
        ),
        ("resolvConf", "/a\0b", "resolvConf '/a\\x00b' has characters that no path here may have"),
        ("podLogsDir", "/a\nb", "podLogsDir '/a\\nb' has characters that no path here may have"),
        ("containerLogMaxSize", "big", "containerLogMaxSize 'big' should be a quantity, such as 10Mi"),
        (
            "containerLogMaxSize",
            "0",
            "containerLogMaxSize '0' should be more than nothing, or below it for no rotation",
        ),
        ("containerLogMonitorInterval", "1s", "containerLogMonitorInterval should be at least 3s"),
        (
            "imageServiceEndpoint",
            "tcp://a:1",
            "imageServiceEndpoint 'tcp://a:1' should be unix:// with an absolute path",
        ),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_in_one_sentence(name: str, value: object, said: str) -> None:
    assert refusal(lambda: settled("--runtime=cri", **{name: value})) == said
    assert settled("--runtime=hollow", **{name: value}).runtime is not None


@pytest.mark.parametrize(
    "pattern", ["", "*", "/*", "busybox", "quay.io/team/app:1", "quay.io/*/app", "quay.io/team/a*"]
)
def test_what_cannot_be_a_repository_is_refused(pattern: str) -> None:
    fields = {"preloadedImagesVerificationAllowlist": [pattern]}
    assert refusal(lambda: settled("--runtime=cri", **fields)) == (
        f"preloadedImagesVerificationAllowlist has {pattern!r}, which should be the full name "
        "of a repository, such as docker.io/library/busybox, or end in /* for all below it"
    )


@pytest.mark.parametrize("pattern", ["docker.io/library/busybox", "quay.io/*", "host:5000/team/*"])
def test_what_can_be_a_repository_is_taken(pattern: str) -> None:
    fields = {
        "imagePullCredentialsVerificationPolicy": "NeverVerifyAllowlistedImages",
        "preloadedImagesVerificationAllowlist": [pattern],
    }
    found = containers(settled("--runtime=cri", **fields))
    assert found.preloaded_images_verification_allowlist == (pattern,)


def test_workers_and_users_of_pods_are_those_that_are_said_and_zero_is_the_default() -> None:
    for workers, ids, found in [(4, 131072, (4, 131072)), (0, 0, (1, 65536))]:
        settings = settled(
            "--runtime=cri",
            staticPodPath="/pods",
            containerLogMaxWorkers=workers,
            userNamespaces={"idsPerPod": ids},
        )
        told = containers(settings)
        assert (told.container_log_max_workers, told.ids_per_pod) == found
        assert settings.warnings == ()
        shown = effective_configuration(settings)["kubeletconfig"]
        assert (shown["containerLogMaxWorkers"], shown["userNamespaces"]["idsPerPod"]) == found


# What is shown.


def test_configz_shows_what_is_in_effect() -> None:
    settings = settled(containerRuntimeEndpoint=str(CRIO), maxParallelImagePulls=4)
    shown = effective_configuration(settings)["kubeletconfig"]
    assert shown.keys() >= {path.partition(".")[0] for path in SERVED_OF_CONTAINERS}
    assert shown["containerRuntimeEndpoint"] == shown["imageServiceEndpoint"] == f"unix://{CRIO}"
    assert (shown["cgroupRoot"], shown["cpuCFSQuotaPeriod"]) == ("/", "100ms")
    assert (shown["serializeImagePulls"], shown["maxParallelImagePulls"]) == (False, 4)
    hollow = effective_configuration(settled("--runtime=hollow"))["kubeletconfig"]
    assert "clusterDNS" not in hollow


def test_configz_shows_no_socket_where_one_is_looked_for() -> None:
    shown = effective_configuration(settled())["kubeletconfig"]
    assert shown["containerRuntimeEndpoint"] == shown["imageServiceEndpoint"] == ""
