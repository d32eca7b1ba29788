"""What a kubelet's decoding of static pods is known for, in its own numbers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from manifests.pod_manifest import Decoded, ManifestRules, decode_manifest
from manifests.refusals import Refused
from messages.pods import FILE
from messages.sources import RejectReason

STATIC: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "static-pod1"},
    "spec": {"containers": [{"name": "main", "image": "registry.example/main:1"}]},
}


def told(document: dict[str, Any], node: str = "node1") -> Decoded | Refused:
    """Decode a document as the file source of ``node`` does."""
    rules = ManifestRules(node_name=node, source=FILE)
    return decode_manifest(json.dumps(document).encode(), rules)


def accepted(document: dict[str, Any], node: str = "node1") -> Decoded:
    """Decode a document that is a good one."""
    decoded = told(document, node)
    assert isinstance(decoded, Decoded), decoded
    return decoded


def with_spec(**fields: Any) -> dict[str, Any]:
    """Return the static pod with more in its spec."""
    return {**STATIC, "spec": {**STATIC["spec"], **fields}}


@pytest.mark.parametrize("node", ["node1", "Node1"])
def test_22_the_name_ends_with_the_name_of_the_node_in_lower_case(node: str) -> None:
    assert accepted(STATIC, node).pod.name == "static-pod1-node1"


def test_22_upper_case_in_the_name_itself_is_refused() -> None:
    shouted = {**STATIC, "metadata": {"name": "static-pod1-NODE1"}}
    refused = told(shouted)
    assert isinstance(refused, Refused)
    assert refused.code is RejectReason.INVALID
    assert "metadata.name" in refused.reason


def test_23_json_and_yaml_of_one_pod_are_one_pod_and_its_status_is_kept() -> None:
    # The source writes down an address that the pod had; the phase begins anew all the same.
    from_json = accepted({**STATIC, "status": {"podIP": "10.1.2.3", "phase": "Running"}})
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: static-pod1\nspec:\n  containers:\n"
        "  - {name: main, image: 'registry.example/main:1'}\n"
        "status: {podIP: 10.1.2.3, phase: Running}\n"
    )
    from_yaml = decode_manifest(text.encode(), ManifestRules(node_name="node1", source=FILE))
    assert from_yaml == from_json
    assert from_json.pod.document["status"] == {"podIP": "10.1.2.3", "phase": "Pending"}


def test_24_a_projected_cluster_trust_bundle_is_refused() -> None:
    source = {"clusterTrustBundle": {"name": "roots", "path": "roots.pem"}}
    refused = told(with_spec(volumes=[{"name": "trust", "projected": {"sources": [source]}}]))
    assert isinstance(refused, Refused)
    assert refused.code is RejectReason.API_REFERENCE
    assert "may not reference clustertrustbundles" in refused.reason


def test_25_resource_claims_are_refused() -> None:
    refused = told(with_spec(resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu-of-mine"}]))
    assert isinstance(refused, Refused)
    assert refused.code is RejectReason.API_REFERENCE
    assert "may not reference resourceclaims" in refused.reason


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"priorityClassName": "system-node-critical"}, id="a class without priority"),
        pytest.param({"priority": 2000}, id="a priority without class"),
        pytest.param({"priority": 0}, id="even of nothing"),
        pytest.param(
            {"priority": 2000001000, "priorityClassName": "unknown"}, id="a class of its own"
        ),
    ],
)
def test_26_a_priority_that_does_not_fit_its_class_is_a_warning(fields: dict[str, Any]) -> None:
    assert any("priority" in warning for warning in accepted(with_spec(**fields)).warnings)


def test_26_a_priority_that_fits_its_class_is_none() -> None:
    pair = {"priority": 2000001000, "priorityClassName": "system-node-critical"}
    assert accepted(with_spec(**pair)).warnings == ()
