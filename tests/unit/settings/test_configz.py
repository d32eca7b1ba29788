"""What ``/configz`` shows of the settings."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from settings.agent import effective_configuration
from settings.schema import KubeletConfiguration
from tests.support.settings.settled import settled


def test_configz_shows_what_is_in_effect_and_otherwise_what_was_given() -> None:
    settings = settled(
        "--runtime=hollow",
        "--file-check-frequency=90s",
        address="0.0.0.0",
        cgroupDriver="systemd",
        logging={"verbosity": 3, "flushFrequency": "5s"},
    )
    assert effective_configuration(settings)["kubeletconfig"] == {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "enableServer": True,
        "staticPodPath": "",
        "syncFrequency": "1m0s",
        "fileCheckFrequency": "1m30s",
        "httpCheckFrequency": "20s",
        "address": "0.0.0.0",
        "readOnlyPort": 10255,
        "healthzPort": 10248,
        "healthzBindAddress": "127.0.0.1",
        "staticPodURL": "",
        "staticPodURLHeader": {},
        "cgroupDriver": "systemd",
        "registerNode": True,
        "registerWithTaints": [{"key": "actorlet/hollow", "effect": "NoSchedule"}],
        "crashLoopBackOff": {"maxContainerRestartPeriod": "5m0s"},
        "maxPods": 2147483647,
        "podsPerCore": 0,
        "systemReserved": {},
        "kubeReserved": {},
        "evictionHard": {
            "memory.available": "100Mi",
            "nodefs.available": "10%",
            "nodefs.inodesFree": "5%",
        },
        "mergeDefaultEvictionSettings": False,
        "podCIDR": "",
        "configMapAndSecretChangeDetectionStrategy": "Watch",
        "kubeAPIQPS": 50,
        "kubeAPIBurst": 100,
        "eventRecordQPS": 50,
        "eventBurst": 100,
        "nodeStatusUpdateFrequency": "10s",
        "nodeStatusReportFrequency": "5m0s",
        "nodeLeaseDurationSeconds": 40,
        "enableControllerAttachDetach": True,
        "port": 0,
        "tlsCertFile": "",
        "tlsPrivateKeyFile": "",
        "tlsMinVersion": "",
        "tlsCipherSuites": [],
        "authentication": {
            "x509": {"clientCAFile": ""},
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True, "cacheTTL": "2m0s"},
        },
        "authorization": {
            "mode": "Webhook",
            "webhook": {"cacheAuthorizedTTL": "5m0s", "cacheUnauthorizedTTL": "30s"},
        },
        "enableDebuggingHandlers": True,
        "logging": {"verbosity": 3, "flushFrequency": "5s", "format": "text"},
    }


NOTHING: dict[str, Any] = {}
ZEROS = {"maxPods": 0, "kubeAPIQPS": 0, "syncFrequency": "0s", "nodeStatusUpdateFrequency": "0s"}


@pytest.mark.parametrize("fields", [NOTHING, ZEROS])
def test_an_agent_without_a_cluster_shows_what_it_would_obey_in_one(fields: dict[str, Any]) -> None:
    def shown(*flags: str) -> Any:
        return effective_configuration(settled(*flags, **fields))

    limited = ("--runtime=hollow", "--max-pods=7", "--client-ca-file=ca")
    assert shown(*limited) == shown("--kubeconfig=k", *limited)
    assert shown()["kubeletconfig"]["nodeStatusUpdateFrequency"] == "10s"


def test_the_port_is_shown_that_is_open() -> None:
    for flags, port in (((), 0), (("--kubeconfig=k",), 10250), (("--client-ca-file=ca",), 10250)):
        assert effective_configuration(settled(*flags))["kubeletconfig"]["port"] == port


def test_the_report_of_the_node_is_shown_as_often_as_it_is_made() -> None:
    shown = effective_configuration(settled(nodeStatusUpdateFrequency="3s"))["kubeletconfig"]
    assert shown["nodeStatusReportFrequency"] == "3s"
    assert not effective_configuration(settled(registerNode=False))["kubeletconfig"]["registerNode"]


def test_the_root_directory_is_shown_from_the_root_of_the_machine() -> None:
    settings = replace(settled(), root_dir=Path("here"))
    assert effective_configuration(settings)["rootDir"] == str(Path.cwd() / "here")


def test_what_configz_shows_is_a_configuration_again() -> None:
    settings = settled(staticPodPath="/pods", evictionHard={"memory.available": "1Gi"})
    shown = effective_configuration(settings)["kubeletconfig"]
    assert KubeletConfiguration.model_validate(shown).given() == shown


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://host:8080/pods", "http://host:8080/pods"),
        ("https://me:hunter2@host/pods", "https://<masked>@host/pods"),
        ("https://@host/pods", "https://<masked>@host/pods"),
        ("https://host/pods?token=hunter2#hunter2", "https://host/pods?<masked>"),
    ],
)
def test_secrets_of_the_manifest_url_are_neither_shown_nor_printed(url: str, shown: str) -> None:
    settings = settled(staticPodURL=url, staticPodURLHeader={"A": ["hunter2", "hunter2"], "B": []})
    configuration = effective_configuration(settings)["kubeletconfig"]
    assert configuration["staticPodURL"] == shown
    assert configuration["staticPodURLHeader"] == {"A": ["<masked>", "<masked>"], "B": []}
    assert not re.search("hunter2", repr(settings) + "".join(settings.warnings))
