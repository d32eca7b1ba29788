"""Fields and flags without effect, and files of others that work unchanged."""

from __future__ import annotations

from pathlib import Path

from settings.line import CommandLine
from settings.load import load_settings
from tests.support.settings.settled import NO_SOURCE, idle, settled, unserved

CONFIGURATIONS = Path(__file__).parents[2] / "fixtures" / "configurations"


def test_they_are_named_by_their_paths_in_one_warning() -> None:
    settings = settled(
        staticPodPath="/pods",
        enableContentionProfiling=True,
        logging={"vmodule": [{"filePattern": "a", "verbosity": 1}]},
    )
    assert settings.warnings == (unserved("enableContentionProfiling", "logging.vmodule"),)


def test_what_a_standalone_agent_has_no_use_for_is_named_too() -> None:
    arguments = ("--kube-api-qps=9", "--node-ip=10.0.0.4", "--node-labels=a=b", "--max-pods=50")
    settings = settled(*arguments, staticPodPath="/pods")
    assert settings.warnings == (idle("kubeAPIQPS", "--node-ip"),)
    assert (
        settled(*arguments, "--kubeconfig=k", "--runtime=m:C", staticPodPath="/pods").warnings == ()
    )


def test_how_to_watch_objects_of_an_api_server_is_named_where_there_is_none() -> None:
    settings = settled(
        staticPodPath="/pods",
        syncFrequency="10s",
        configMapAndSecretChangeDetectionStrategy="Cache",
    )
    assert settings.warnings == (
        idle("configMapAndSecretChangeDetectionStrategy", "syncFrequency"),
    )
    assert settings.sync_frequency == 10.0


def test_a_kubelet_s_default_changes_nothing_and_is_not_named() -> None:
    settings = settled(
        "--sync-frequency=1m",
        maxPods=110,
        cgroupDriver="cgroupfs",
        failSwapOn=True,
        shutdownGracePeriod="0s",
        clusterDNS=[],
        evictionHard={},
        memorySwap={},
        logging={"options": {"json": {"infoBufferSize": "0"}}},
    )
    assert settings.warnings == (NO_SOURCE,)


def test_zero_is_no_default_where_it_means_something() -> None:
    flags = ("--runtime=hollow",)
    assert settled(*flags, registryPullQPS=0, staticPodPath="/pods").warnings == (
        unserved("registryPullQPS"),
    )


def test_kubeadm_s_file_works_unchanged() -> None:
    settings = load_settings(CommandLine(config=CONFIGURATIONS / "kubeadm.yaml"))
    assert settings.static_pod_path == Path("/etc/kubernetes/manifests")
    assert settings.file_check_frequency == 2.0
    assert (settings.address, settings.read_only_port) == ("127.0.0.1", 10255)
    authorities = Path("/etc/kubernetes/pki/ca.crt")
    assert (settings.server.port, settings.server.client_authorities) == (10250, authorities)
    assert settings.warnings == (unserved("rotateCertificates"),)


def test_the_standalone_tutorial_s_file_works_unchanged() -> None:
    settings = load_settings(CommandLine(config=CONFIGURATIONS / "standalone.yaml"))
    assert settings.static_pod_path == Path("/etc/kubernetes/manifests")
    assert not settings.enable_server
    # The tutorial reads the pods from the read-only port all the same.
    assert (settings.address, settings.read_only_port) == ("127.0.0.1", 10255)
    assert settings.server.port == 0
    assert settings.warnings == (idle("authentication.webhook.enabled"),)
