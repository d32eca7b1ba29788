"""Flags of a kubelet's unit: each is taken, those without effect are named."""

from __future__ import annotations

import pytest

from settings.command_line import SWITCHES as OWN_SWITCHES
from settings.command_line import VALUED as OWN_VALUED
from settings.command_line import parse
from settings.errors import UsageError
from settings.line import CommandLine
from settings.without_effect import SWITCHES, TABLE, VALUED, told
from tests.support.settings.settled import settled

SAMPLES = ("0", "-1", "x=y,z=w", "", "--read-only-port", "/a b", "memory.available<1Gi")

# As the reference page of kubelet 1.34 shows them: without a type, and with one.
SWITCHES_OF_1_34 = """
    anonymous-auth authentication-token-webhook cgroups-per-qos contention-profiling
    cpu-cfs-quota enable-controller-attach-detach enable-debugging-handlers enable-server
    exit-on-lock-contention experimental-allocatable-ignore-eviction fail-cgroupv1 fail-swap-on
    kernel-memcg-notification local-storage-capacity-isolation log-text-split-stream
    make-iptables-util-chains protect-kernel-defaults register-node rotate-certificates
    rotate-server-certificates runonce seccomp-default serialize-image-pulls
"""
VALUED_OF_1_34 = """
    address allowed-unsafe-sysctls authentication-token-webhook-cache-ttl authorization-mode
    authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl
    bootstrap-kubeconfig cert-dir cgroup-driver cgroup-root client-ca-file cloud-provider
    cluster-dns cluster-domain config config-dir container-log-max-files container-log-max-size
    container-runtime-endpoint cpu-cfs-quota-period cpu-manager-policy
    cpu-manager-policy-options cpu-manager-reconcile-period enforce-node-allocatable event-burst
    event-qps eviction-hard eviction-max-pod-grace-period eviction-minimum-reclaim
    eviction-pressure-transition-period eviction-soft eviction-soft-grace-period
    experimental-mounter-path feature-gates file-check-frequency hairpin-mode
    healthz-bind-address healthz-port hostname-override http-check-frequency
    image-credential-provider-bin-dir image-credential-provider-config image-gc-high-threshold
    image-gc-low-threshold image-service-endpoint kube-api-burst kube-api-content-type
    kube-api-qps kube-reserved kube-reserved-cgroup kubeconfig kubelet-cgroups lock-file
    log-flush-frequency log-text-info-buffer-size logging-format manifest-url
    manifest-url-header max-open-files max-pods maximum-dead-containers
    maximum-dead-containers-per-container memory-manager-policy minimum-container-ttl-duration
    minimum-image-ttl-duration node-ip node-labels node-status-max-images
    node-status-update-frequency oom-score-adj pod-cidr pod-infra-container-image
    pod-manifest-path pod-max-pids pods-per-core port provider-id qos-reserved read-only-port
    register-with-taints registry-burst registry-qps reserved-cpus reserved-memory resolv-conf
    root-dir runtime-cgroups runtime-request-timeout streaming-connection-idle-timeout
    sync-frequency system-cgroups system-reserved system-reserved-cgroup tls-cert-file
    tls-cipher-suites tls-min-version tls-private-key-file topology-manager-policy
    topology-manager-policy-options topology-manager-scope v vmodule volume-plugin-dir
    volume-stats-agg-period
"""


@pytest.mark.parametrize("flag", sorted(SWITCHES))
@pytest.mark.parametrize("value", ["", "=true", "=false"])
def test_a_switch_of_a_kubelet_takes_nothing_that_follows_it(flag: str, value: str) -> None:
    line = parse([f"{flag}{value}", "--hostname-override", "a"])
    assert line == CommandLine(others={"--hostname-override": "a"}, without_effect=(flag,))


@pytest.mark.parametrize("flag", sorted(VALUED))
def test_any_other_flag_of_a_kubelet_takes_one_value(flag: str) -> None:
    for sample in SAMPLES:
        expected = CommandLine(
            others={"--strict-manifests": True, "--hostname-override": "a"},
            without_effect=(flag,) if sample else (),
        )
        around = "--strict-manifests", "--hostname-override=a"
        assert parse([around[0], flag, sample, around[1]]) == expected
        assert parse([around[0], f"{flag}={sample}", around[1]]) == expected


def test_every_flag_of_the_reference_page_is_known_with_its_kind() -> None:
    assert {f"--{name}" for name in SWITCHES_OF_1_34.split()} - (SWITCHES | OWN_SWITCHES) == set()
    assert {f"--{name}" for name in VALUED_OF_1_34.split()} - (VALUED | OWN_VALUED) == set()


def test_no_flag_stands_in_the_table_twice_or_beside_the_agent_s_own() -> None:
    rows = [flag for row in TABLE for flag in row.flags()]
    assert len(rows) == len(set(rows)) == len(SWITCHES) + len(VALUED)
    assert set(rows) & (OWN_SWITCHES | OWN_VALUED) == set()


def test_a_kubelet_s_underscores_are_read() -> None:
    assert parse(["--network_plugin", "cni"]).without_effect == ("--network-plugin",)
    assert parse(["--in_cluster"]).in_cluster


def test_a_switch_of_the_agent_takes_nothing_that_follows_it_either() -> None:
    with pytest.raises(UsageError, match=r"Got unexpected extra argument \(false\)"):
        parse(["--strict-manifests", "false"])


def test_a_flag_for_a_value_takes_the_next_argument_whatever_it_looks_like() -> None:
    line = parse(["--hostname-override", "--fail-swap-on", "-v", "2", "--fail-swap-on"])
    assert line.others["--hostname-override"] == "--fail-swap-on"
    assert line.without_effect == ("--fail-swap-on",)


def test_a_flag_of_a_kubelet_without_its_value_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="Option '--cni-bin-dir' requires an argument"):
        parse(["--cni-bin-dir"])


def test_behind_two_dashes_there_is_no_flag() -> None:
    with pytest.raises(UsageError, match=r"Got unexpected extra argument \(--fail-swap-on\)"):
        parse(["--", "--fail-swap-on"])


def test_the_version_may_be_asked_for_as_of_a_kubelet(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--version=raw"])
    assert capsys.readouterr().out.startswith("actorlet ")


def test_what_is_a_flag_of_nobody_is_wrong_usage_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match=r"No such option '--node-ips'. \(Did you mean"):
        parse(["--node-ips=1"])


def test_one_warning_names_all_of_them_with_what_is_done_instead_and_no_value() -> None:
    typed = (
        "--fail-swap-on=false --logtostderr --pod-manifest-path=/pods --network-plugin cni"
        " --storage-driver-password hunter2 --log-dir=/l --runonce --runonce"
    )
    [warning] = settled(*typed.split()).warnings
    assert warning == (
        "Flags of a kubelet, without effect here: "
        "--logtostderr, --log-dir (logs go to standard error, as --logging-format and --v say); "
        "--fail-swap-on (swap is not looked at); --network-plugin (networks of pods are the container "
        "runtime's); "
        "--storage-driver-password (there is no cAdvisor); --runonce"
    )


def test_every_flag_without_effect_is_told() -> None:
    assert all(flag in told(sorted(SWITCHES | VALUED)) for flag in SWITCHES | VALUED)


def test_the_node_s_status_is_looked_at_as_often_as_the_flag_says() -> None:
    settings = settled("--node-status-update-frequency=3s", "--kubeconfig=k", "--runtime=m:C")
    assert settings.cluster is not None
    assert settings.cluster.status_update_frequency == 3.0
    assert settings.cluster.status_report_frequency == 3.0
    assert settings.warnings == ()
