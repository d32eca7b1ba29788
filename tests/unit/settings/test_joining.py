"""What makes the agent a node of a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from messages.units import Seconds
from settings.agent import effective_configuration
from settings.cluster import ChangeDetection, ClusterSettings
from settings.flags.command_line import parse
from settings.load import load_settings
from tests.support.settings.settled import refusal, settled


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


def test_the_defaults_are_a_kubelet_s() -> None:
    cluster = settled("--kubeconfig=k", "--runtime=m:C").cluster
    assert cluster == ClusterSettings(
        kubeconfig=Path("k"),
        register_node=True,
        node_ips=(),
        controller_attach_detach=True,
        qps=50,
        burst=100,
        event_qps=50,
        event_burst=100,
        status_update_frequency=Seconds(10.0),
        status_report_frequency=Seconds(300.0),
        lease_duration=Seconds(40.0),
        change_detection=ChangeDetection.WATCH,
    )


@pytest.mark.parametrize(
    ("given", "strategy"),
    [
        ("", ChangeDetection.WATCH),
        ("Watch", ChangeDetection.WATCH),
        ("Cache", ChangeDetection.CACHE),
        ("Get", ChangeDetection.GET),
    ],
)
@pytest.mark.rule("R11")
def test_changes_of_secrets_and_config_maps_are_noticed_as_the_file_says(
    given: str, strategy: ChangeDetection
) -> None:
    settings = settled(
        "--kubeconfig=k",
        "--runtime=m:C",
        staticPodPath="/pods",
        configMapAndSecretChangeDetectionStrategy=given,
    )
    assert settings.cluster is not None
    assert settings.cluster.change_detection is strategy
    shown = effective_configuration(settings)["kubeletconfig"]
    assert shown["configMapAndSecretChangeDetectionStrategy"] == strategy
    assert settings.warnings == ()


def test_the_sync_frequency_has_an_effect() -> None:
    settings = settled(
        "--kubeconfig=k", "--runtime=m:C", "--sync-frequency=2m", staticPodPath="/pods"
    )
    assert settings.sync_frequency == 120.0
    assert settings.warnings == ()


def test_in_a_pod_there_is_no_kubeconfig() -> None:
    cluster = settled("--in-cluster", "--runtime=m:C").cluster
    assert cluster is not None
    assert cluster.kubeconfig is None


def test_taints_come_from_the_flag_or_the_file() -> None:
    typed = settled(
        "--kubeconfig=k", "--runtime=m:C", "--register-with-taints=a=b:NoSchedule,c:NoExecute"
    )
    assert typed.taints == (
        {"key": "a", "value": "b", "effect": "NoSchedule"},
        {"key": "c", "effect": "NoExecute"},
    )
    written = settled(
        "--kubeconfig=k", "--runtime=m:C", registerWithTaints=[{"key": "a", "effect": "NoExecute"}]
    )
    assert written.taints == ({"key": "a", "effect": "NoExecute"},)


def test_a_taint_without_a_known_effect_is_refused() -> None:
    assert refusal(
        lambda: settled("--kubeconfig=k", "--runtime=m:C", "--register-with-taints=a:Never")
    ) == (
        "registerWithTaints has the taint 'a' with the effect 'Never', which should be NoSchedule, "
        "PreferNoSchedule or NoExecute"
    )


def test_a_label_that_no_node_may_give_itself_is_refused() -> None:
    said = refusal(lambda: settled("--kubeconfig=k", "--runtime=m:C", "--node-labels=k8s.io/a=b"))
    assert said.startswith("--node-labels has k8s.io/a: of the labels of kubernetes.io")


@pytest.mark.rule("N2")
def test_reports_follow_looks_when_only_those_are_set() -> None:
    cluster = settled("--kubeconfig=k", "--runtime=m:C", nodeStatusUpdateFrequency="1m").cluster
    assert cluster is not None
    assert (cluster.status_update_frequency, cluster.status_report_frequency) == (60.0, 60.0)


@pytest.mark.parametrize(
    ("fields", "limits"),
    [
        ({}, (50, 100)),
        ({"eventRecordQPS": 5, "eventBurst": 10}, (5, 10)),
        ({"eventRecordQPS": 0, "eventBurst": 0}, (0, 100)),
    ],
)
def test_events_have_their_own_limit_and_zero_is_none(
    fields: dict[str, int], limits: tuple[int, int]
) -> None:
    settings = settled("--kubeconfig=k", "--runtime=m:C", **fields)
    assert settings.cluster is not None
    assert (settings.cluster.event_qps, settings.cluster.event_burst) == limits
    shown = effective_configuration(settings)["kubeletconfig"]
    assert (shown["eventRecordQPS"], shown["eventBurst"]) == limits
    assert settings.warnings == ()


@pytest.mark.parametrize("name", ["eventRecordQPS", "eventBurst"])
@pytest.mark.parametrize("joins", [(), ("--kubeconfig=k", "--runtime=m:C")])
def test_fewer_events_than_none_are_refused(name: str, joins: tuple[str, ...]) -> None:
    assert refusal(lambda: settled(*joins, **{name: -1})) == f"{name} -1 should be at least 0"


def test_what_is_in_effect_is_shown() -> None:
    settings = settled(
        "--kubeconfig=k", "--runtime=m:C", "--kube-api-qps=7", nodeLeaseDurationSeconds=20
    )
    shown = effective_configuration(settings)["kubeletconfig"]
    assert (shown["kubeAPIQPS"], shown["nodeLeaseDurationSeconds"]) == (7, 20)
