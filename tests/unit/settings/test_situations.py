"""What follows from what kind of a node it is: of a cluster or not, and what runs its pods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from manifests.thresholds import DEFAULT_THRESHOLDS, Threshold
from settings.agent import Settings, effective_configuration
from settings.cluster import ClusterSettings
from settings.command_line import parse
from settings.containers import ContainerSettings
from settings.load import load_settings
from settings.resources import NO_LIMIT_OF_PODS, ResourceSettings
from settings.rows import Row
from settings.runtime import HollowSettings, RuntimeSettings
from settings.situation import RuntimeKind, Where
from settings.table import ROWS
from tests.support.settings.corpus import RIGHT, TYPED
from tests.support.settings.settled import at_path, refusal, settled, unserved

HOLLOW = RuntimeSettings(kind=RuntimeKind.HOLLOW)
LABEL = {"actorlet/runtime": "hollow"}
TAINT = {"key": "actorlet/hollow", "effect": "NoSchedule"}
CRIO = Path("/run/crio/crio.sock")
JOINED = ("--kubeconfig=k", "--runtime=m:C")


def containers(settings: Settings) -> ContainerSettings:
    assert settings.runtime.containers is not None
    return settings.runtime.containers


def rows_for(where: Where, *, are_fields: bool) -> list[Row]:
    return [row for row in ROWS.values() if row.where is where and bool(row.field) == are_fields]


def of(*arguments: str, **fields: Any) -> ResourceSettings:
    return settled(*arguments, **fields).resources


# What runs pods.


@pytest.mark.parametrize("joins", [(), ("--kubeconfig=k",), ("--in-cluster",)])
def test_no_node_pretends_unless_it_is_told_to(joins: tuple[str, ...]) -> None:
    runtime = settled(*joins).runtime
    assert runtime.kind is RuntimeKind.CRI
    assert settled(*joins, "--runtime=hollow").runtime == HOLLOW


@pytest.mark.parametrize("name", ["package.module:Class", "./mine.py:Class", "m:_C2"])
def test_a_class_is_named_with_its_module(name: str) -> None:
    chosen = RuntimeSettings(kind=RuntimeKind.PROVIDER, provider=name)
    assert settled(f"--runtime={name}").runtime == chosen
    assert settled(f"--runtime={name}", "--kubeconfig=k").runtime == chosen


@pytest.mark.parametrize("name", ["docker", "module:", ":Class", "module:not a class", "Hollow"])
def test_anything_else_is_no_runtime(name: str) -> None:
    said = refusal(lambda: settled(f"--runtime={name}"))
    assert said == f"--runtime {name!r} should be hollow, cri or MODULE:CLASS"


def test_a_runtime_is_chosen_before_anything_is_read() -> None:
    assert load_settings(parse(["--runtime", "m:C"])).runtime.provider == "m:C"


@pytest.mark.parametrize("fields", [{}, {"containerRuntimeEndpoint": ""}])
def test_the_socket_is_looked_for_unless_one_is_named(fields: dict[str, str]) -> None:
    for words in ((), ("--runtime=cri",)):
        runtime = settled(*words, **fields).runtime
        assert runtime.containers is not None
        assert runtime.containers.container_runtime_endpoint is None
        assert runtime.containers.image_service_endpoint is None


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


@pytest.mark.parametrize("row", rows_for(Where.HOLLOW, are_fields=False), ids=lambda row: row.name)
def test_flags_of_hollow_nodes_are_for_hollow_nodes(row: Row) -> None:
    typed = next(each for each, _ in TYPED if each.partition("=")[0] == row.name)
    for others in ((), ("--runtime=cri",), ("--runtime=m:C",)):
        said = refusal(lambda others=others: settled(typed, *others))  # type: ignore[misc]
        assert said == f"{row.name} has an effect only with --runtime hollow"


@pytest.mark.parametrize("flag", ["--adopt-static-pods", "--explain-takeover"])
def test_flags_of_a_move_from_a_kubelet_are_for_real_containers(flag: str) -> None:
    for runtime in ("hollow", "m:C"):
        said = refusal(lambda runtime=runtime: settled(flag, f"--runtime={runtime}"))  # type: ignore[misc]
        assert said == f"{flag} has an effect only with --runtime cri"


@pytest.mark.parametrize("name", ["config", "bin-dir"])
def test_plugins_for_credentials_are_two_places(name: str) -> None:
    flags = ("--image-credential-provider-config", "--image-credential-provider-bin-dir")
    said = refusal(lambda: settled(f"--image-credential-provider-{name}=/x"))
    assert said == f"{' and '.join(flags)} need each other"
    found = containers(settled(*(f"{flag}=/x" for flag in flags)))
    places = found.image_credential_provider_config, found.image_credential_provider_bin_dir
    assert places == (Path("/x"), Path("/x"))


# Real containers.


def test_pods_need_no_cgroups_where_nothing_is_held_to_its_share() -> None:
    flags = ("--cgroups-per-qos=false", "--enforce-node-allocatable=none")
    assert not containers(settled("--runtime=cri", *flags)).cgroups_per_qos


def test_flags_and_fields_of_real_containers_have_no_effect_on_a_hollow_node() -> None:
    flags = ("--runtime=hollow", "--cluster-dns=10.0.0.10")
    settings = settled(*flags, staticPodPath="/pods", containerLogMaxFiles=3)
    assert settings.warnings == (unserved("clusterDNS", "containerLogMaxFiles"),)


@pytest.mark.parametrize("pattern", ["docker.io/library/busybox", "quay.io/*", "host:5000/team/*"])
def test_what_can_be_a_repository_is_taken(pattern: str) -> None:
    fields = {
        "imagePullCredentialsVerificationPolicy": "NeverVerifyAllowlistedImages",
        "preloadedImagesVerificationAllowlist": [pattern],
    }
    found = containers(settled("--runtime=cri", **fields))
    assert found.preloaded_images_verification_allowlist == (pattern,)


def test_configz_shows_what_is_in_effect() -> None:
    settings = settled(containerRuntimeEndpoint=str(CRIO), maxParallelImagePulls=4)
    shown = effective_configuration(settings)["kubeletconfig"]
    assert shown["containerRuntimeEndpoint"] == shown["imageServiceEndpoint"] == f"unix://{CRIO}"
    assert (shown["cgroupRoot"], shown["cpuCFSQuotaPeriod"]) == ("/", "100ms")
    assert (shown["serializeImagePulls"], shown["maxParallelImagePulls"]) == (False, 4)
    hollow = effective_configuration(settled("--runtime=hollow"))["kubeletconfig"]
    assert "clusterDNS" not in hollow


def test_configz_shows_no_socket_where_one_is_looked_for() -> None:
    shown = effective_configuration(settled())["kubeletconfig"]
    assert shown["containerRuntimeEndpoint"] == shown["imageServiceEndpoint"] == ""


# What follows for the node.


def test_a_hollow_node_is_marked_as_one() -> None:
    settings = settled("--kubeconfig=k", "--runtime=hollow", "--node-labels=zone=a")
    assert settings.node_labels == {"zone": "a", **LABEL}
    assert settings.taints == (TAINT,)


def test_a_virtual_node_is_marked_as_one_and_its_class_says_the_taints() -> None:
    settings = settled(*JOINED, "--node-labels=actorlet/runtime=real")
    assert settings.node_labels == {"actorlet/runtime": "virtual"}
    assert settings.taints is None
    assert settled("--runtime=m:C", "--register-with-taints=").taints == ()


def test_nobody_else_is_marked() -> None:
    settings = settled("--kubeconfig=k", "--runtime=cri", "--node-labels=zone=a")
    assert settings.node_labels == {"zone": "a"}
    assert settings.taints == ()


def test_the_mark_cannot_be_taken_away_and_the_taint_can() -> None:
    settings = settled("--runtime=hollow", "--node-labels=actorlet/runtime=real")
    assert settings.node_labels == LABEL
    assert settled("--runtime=hollow", "--register-with-taints=").taints == ()
    assert settled("--runtime=hollow", registerWithTaints=[]).taints == ()
    taint = {"key": "a", "value": "b", "effect": "NoExecute"}
    assert settled("--register-with-taints=a=b:NoExecute").taints == (taint,)


def test_a_real_node_is_taken_over_by_force_only() -> None:
    forced = settled("--runtime=hollow", "--force-hollow").runtime
    assert forced == RuntimeSettings(kind=RuntimeKind.HOLLOW, hollow=HollowSettings(is_forced=True))


def test_a_label_that_no_node_may_give_itself_is_refused() -> None:
    said = refusal(lambda: settled(*JOINED, "--node-labels=k8s.io/a=b"))
    assert said.startswith("--node-labels has k8s.io/a: of the labels of kubernetes.io")


def test_a_node_without_a_cluster_may_have_any_label() -> None:
    assert settled("--node-labels=k8s.io/a=b").node_labels == {"k8s.io/a": "b"}


def test_a_node_of_a_cluster_takes_a_kubelet_s_number_of_pods() -> None:
    assert of(*JOINED) == ResourceSettings(max_pods=110, is_machine=True)
    assert of(*JOINED, "--max-pods=0").max_pods == 110


def test_a_hollow_node_by_itself_takes_any_number_unless_one_is_given() -> None:
    hollow = "--runtime=hollow"
    assert of(hollow) == ResourceSettings(max_pods=NO_LIMIT_OF_PODS, is_machine=False)
    assert of(hollow, maxPods=110).max_pods == 110
    assert of("--max-pods=5", maxPods=110).max_pods == 5


def test_what_system_and_agent_need_is_reserved_together() -> None:
    reserved = of(
        "--system-reserved=cpu=100m,memory=1Gi",
        kubeReserved={"cpu": "0.25", "ephemeral-storage": "1G", "pid": "100"},
    ).reserved
    assert reserved == {"cpu": 350, "memory": 2**30, "ephemeral-storage": 10**9, "pid": 100}
    assert of("--kube-reserved=memory=1Ki").reserved == {"memory": 1024}


def test_thresholds_that_nobody_set_are_a_kubelet_s() -> None:
    assert of().thresholds == DEFAULT_THRESHOLDS
    assert of("--eviction-hard=").thresholds == DEFAULT_THRESHOLDS
    merged = of(evictionHard={"memory.available": "1"}, mergeDefaultEvictionSettings=True)
    assert merged.thresholds == {**DEFAULT_THRESHOLDS, "memory.available": Threshold(amount=1)}


# A node of a cluster.


@pytest.mark.parametrize(
    "flags", [("--standalone", "--kubeconfig=k"), ("--kubeconfig=k", "--in-cluster")], ids="+".join
)
def test_two_ways_to_be_in_a_cluster_or_in_none_contradict_each_other(
    flags: tuple[str, ...],
) -> None:
    assert refusal(lambda: load_settings(parse(flags))).endswith("contradict each other")


def test_a_kubeconfig_need_not_exist_yet(tmp_path: Path) -> None:
    settings = load_settings(parse([f"--kubeconfig={tmp_path / 'none'}", "--runtime=m:C"]))
    assert settings.cluster is not None
    assert settings.cluster.kubeconfig == tmp_path / "none"


def test_in_a_pod_there_is_no_kubeconfig() -> None:
    cluster = settled("--in-cluster", "--runtime=m:C").cluster
    assert cluster == ClusterSettings(kubeconfig=None)


@pytest.mark.rule("R11")
def test_changes_of_secrets_and_config_maps_are_noticed_as_the_file_says() -> None:
    name = "configMapAndSecretChangeDetectionStrategy"
    for given, detection in RIGHT[name]:
        cluster = settled(*JOINED, **at_path(name, given)).cluster
        assert cluster is not None
        assert cluster.change_detection is detection


@pytest.mark.rule("N2")
@pytest.mark.parametrize("flag", ["--node-status-update-frequency=1m", "--v=0"])
def test_reports_follow_looks_when_only_those_are_set(flag: str) -> None:
    cluster = settled(*JOINED, flag, nodeStatusUpdateFrequency="1m").cluster
    assert cluster is not None
    assert (cluster.status_update_frequency, cluster.status_report_frequency) == (60.0, 60.0)
