"""What ``/configz`` shows of the settings."""

from __future__ import annotations

import re

import pytest

from settings.agent import effective_configuration
from settings.configuration.schema import KubeletConfiguration
from tests.support.settings.settled import settled


def test_configz_shows_what_is_in_effect_and_otherwise_what_was_given() -> None:
    settings = settled(
        "--file-check-frequency=90s",
        address="0.0.0.0",
        cgroupDriver="systemd",
        logging={"verbosity": 3, "flushFrequency": "5s"},
    )
    assert effective_configuration(settings) == {
        "kubeletconfig": {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "enableServer": True,
            "staticPodPath": "",
            "syncFrequency": "1m0s",
            "fileCheckFrequency": "1m30s",
            "httpCheckFrequency": "20s",
            "address": "127.0.0.1",
            "readOnlyPort": 10255,
            "healthzPort": 10248,
            "healthzBindAddress": "127.0.0.1",
            "maxPods": 110,
            "cgroupDriver": "systemd",
            "logging": {"verbosity": 3, "flushFrequency": "5s", "format": "text"},
        }
    }


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
