"""The examples are what they claim to be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes.client.models import V1Pod

from manifests.pod_manifest import Decoded, ManifestRules, decode_manifest
from messages.pods import FILE
from settings.line import CommandLine
from settings.load import load_settings
from tests.support.project.examples import EXAMPLES, as_the_client_reads

MANIFESTS = sorted(
    [*EXAMPLES.joinpath("manifests").iterdir(), *EXAMPLES.joinpath("containers").iterdir()]
)
CONTROL_PLANE = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"]


def document(name: str) -> Any:
    """Return the manifest ``name``, decoded."""
    return yaml.safe_load((EXAMPLES / "manifests" / f"{name}.yaml").read_text())


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_a_manifest_is_a_pod_to_the_kubernetes_client(path: Path) -> None:
    manifest = yaml.safe_load(path.read_text())
    assert as_the_client_reads(V1Pod, manifest) == manifest


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_a_manifest_is_accepted_without_a_warning(path: Path) -> None:
    decoded = decode_manifest(
        path.read_bytes(), ManifestRules(node_name="edge-1", source=FILE, strict=True)
    )
    assert isinstance(decoded, Decoded), decoded
    assert decoded.warnings == ()
    assert decoded.pod.name.endswith("-edge-1")


@pytest.mark.parametrize("name", CONTROL_PLANE)
def test_the_control_plane_is_shaped_as_kubeadm_s(name: str) -> None:
    pod = document(name)
    assert pod["metadata"]["namespace"] == "kube-system"
    assert pod["metadata"]["labels"] == {"component": name, "tier": "control-plane"}
    assert pod["spec"]["hostNetwork"] is True
    assert pod["spec"]["priorityClassName"] == "system-node-critical"
    assert pod["spec"]["priority"] == 2000001000
    assert pod["spec"]["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert {"startupProbe", "livenessProbe"} <= pod["spec"]["containers"][0].keys()
    assert all("hostPath" in volume for volume in pod["spec"]["volumes"])


def test_the_others_show_probes_work_that_ends_and_shared_directories() -> None:
    assert "readinessProbe" in document("web")["spec"]["containers"][0]
    assert "resources" in document("web")["spec"]["containers"][0]
    assert document("batch")["spec"]["restartPolicy"] == "OnFailure"
    assert len(document("logging")["spec"]["containers"]) == 2
    assert len(document("logging")["spec"]["initContainers"]) == 1


def test_the_configuration_serves_the_manifests_without_a_warning() -> None:
    settings = load_settings(
        CommandLine(
            config=EXAMPLES / "kubelet-config.yaml", others={"--hostname-override": "edge-1"}
        ),
    )
    assert settings.static_pod_path == EXAMPLES / "manifests"
    assert settings.warnings == ()


def test_the_page_about_the_examples_names_each_of_them() -> None:
    page = (EXAMPLES / "README.md").read_text()
    assert [path.name for path in MANIFESTS if f"`{path.name}`" not in page] == []
