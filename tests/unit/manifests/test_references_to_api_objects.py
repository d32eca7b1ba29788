"""Which objects a static pod may not depend on: rules S16 and R1 to R7."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from messages.sources import RejectReason
from tests.support.manifests.manifest_text import GOOD, RULES, decoded, edited, refused

LOCAL_FILES = replace(RULES, allow_references=True)
C = "spec.containers.0"


def volume(**source: Any) -> tuple[str, Any]:
    return "spec.volumes", [{"name": "a", **source}]


def projected(**source: Any) -> tuple[str, Any]:
    return volume(projected={"sources": [source]})


def variable(**source: Any) -> tuple[str, Any]:
    return f"{C}.env", [{"name": "A", "valueFrom": source}]


ISCSI = {"targetPortal": "a", "iqn": "iqn.2001-04.com.example:a", "lun": 0}
RBD = {"monitors": ["a"], "image": "a"}
SCALE_IO = {"gateway": "a", "system": "a", "volumeName": "a"}
NAMED = {"name": "a"}

FILES_CAN_ANSWER: list[tuple[tuple[str, Any], str]] = [
    (("spec.imagePullSecrets", [NAMED]), "secrets"),
    ((f"{C}.envFrom", [{"secretRef": NAMED}]), "secrets"),
    (variable(secretKeyRef={"name": "a", "key": "b", "optional": True}), "secrets"),
    (volume(secret={"secretName": "a"}), "secrets"),
    (projected(secret=NAMED), "secrets"),
    (volume(azureFile={"secretName": "a", "shareName": "b"}), "secrets"),
    (volume(cephfs={"monitors": ["a"], "secretRef": NAMED}), "secrets"),
    (volume(cinder={"volumeID": "a", "secretRef": NAMED}), "secrets"),
    (volume(flexVolume={"driver": "a", "secretRef": NAMED}), "secrets"),
    (volume(iscsi=ISCSI | {"secretRef": NAMED}), "secrets"),
    (volume(rbd=RBD | {"secretRef": NAMED}), "secrets"),
    (volume(scaleIO=SCALE_IO | {"secretRef": NAMED}), "secrets"),
    (volume(storageos={"secretRef": NAMED}), "secrets"),
    ((f"{C}.envFrom", [{"configMapRef": NAMED}]), "configmaps"),
    (variable(configMapKeyRef={"name": "a", "key": "b"}), "configmaps"),
    (volume(configMap=NAMED), "configmaps"),
    (projected(configMap=NAMED), "configmaps"),
]

ONLY_THE_API_CAN_ANSWER: list[tuple[tuple[str, Any], str]] = [
    (("spec.serviceAccountName", "a"), "serviceaccounts"),
    (("spec.resourceClaims", [{"name": "a", "resourceClaimName": "b"}]), "resourceclaims"),
    (volume(csi={"driver": "a"}), "csidrivers"),
    (volume(csi={"driver": "a", "nodePublishSecretRef": NAMED}), ""),
    (volume(glusterfs={"endpoints": "a", "path": "b"}), "endpoints"),
    (volume(persistentVolumeClaim={"claimName": "a"}), "persistentvolumeclaims"),
    # No API server looks at what the claim is called.
    (volume(persistentVolumeClaim={"claimName": "A"}), "persistentvolumeclaims"),
    (volume(ephemeral={"volumeClaimTemplate": {"spec": {"volumeName": "a"}}}), "persistentvol"),
    (projected(serviceAccountToken={"path": "a"}), "serviceaccounts"),
    (projected(clusterTrustBundle={"path": "a", "name": "b"}), "clustertrustbundles"),
    (projected(podCertificate={"signerName": "a/b", "keyType": "ED25519"}), "podcertificates"),
]

NO_REFERENCES: list[tuple[str, Any]] = [
    ("spec.automountServiceAccountToken", True),
    volume(hostPath={"path": "/a"}),
    volume(emptyDir={}),
    volume(image={"reference": "a"}),
    volume(nfs={"server": "a", "path": "/b"}),
    volume(iscsi=ISCSI),
    volume(rbd=RBD),
    volume(cephfs={"monitors": ["a"]}),
    volume(storageos={"volumeName": "a"}),
    projected(downwardAPI={"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.name"}}]}),
]


@pytest.mark.parametrize(("field", "resource"), [*FILES_CAN_ANSWER, *ONLY_THE_API_CAN_ANSWER])
def test_a_static_pod_that_depends_on_the_api_is_refused(field: Any, resource: str) -> None:
    answer = refused(edited(*field))
    assert answer.code == RejectReason.API_REFERENCE
    assert f"static pods may not reference {resource}" in answer.reason
    assert answer.reason.startswith("spec.")


@pytest.mark.parametrize(("field", "_resource"), FILES_CAN_ANSWER)
def test_what_local_files_answer_may_be_referenced(field: Any, _resource: str) -> None:
    assert decoded(edited(*field), LOCAL_FILES).warnings == ()


def test_pull_secrets_that_cannot_exist_are_a_warning_beside_local_files() -> None:
    field = edited("spec.imagePullSecrets", [{"name": "A/b"}])
    assert refused(field).code == RejectReason.API_REFERENCE
    (warning,) = decoded(field, LOCAL_FILES).warnings
    assert warning == "spec.imagePullSecrets[0].name (line 1): can be the name of no Secret"


@pytest.mark.parametrize(("field", "resource"), ONLY_THE_API_CAN_ANSWER)
def test_what_local_files_cannot_answer_is_refused_beside_them(field: Any, resource: str) -> None:
    reason = refused(edited(*field), LOCAL_FILES).reason
    assert f"may not reference {resource}" in reason
    assert "--local-objects-dir" not in reason


@pytest.mark.parametrize(("field", "resource"), FILES_CAN_ANSWER)
def test_who_references_what_files_can_answer_is_told_how_they_are_given(
    field: Any, resource: str
) -> None:
    assert refused(edited(*field)).reason.endswith(
        f"may not reference {resource} unless files provide them (--local-objects-dir)"
    )


@pytest.mark.parametrize("kind", ["Secret", "ConfigMap"])
def test_a_secret_or_config_map_among_manifests_is_told_where_it_belongs(kind: str) -> None:
    answer = refused(json.dumps({"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}}))
    assert answer.code == RejectReason.NOT_A_POD
    assert answer.reason == (
        f'kind (line 1): must be Pod, not "{kind}"; Secrets and ConfigMaps belong into the directory of'
        " --local-objects-dir"
    )


@pytest.mark.parametrize("field", NO_REFERENCES)
def test_what_needs_no_api_is_taken(field: Any) -> None:
    assert decoded(edited(*field)).warnings == ()


@pytest.mark.parametrize("lists", ["initContainers", "containers"])
def test_every_kind_of_container_can_reference(lists: str) -> None:
    container = {"name": "a", "image": "a", "envFrom": [{"secretRef": NAMED}]}
    spec = GOOD["spec"] | {lists: [container]}
    assert refused(json.dumps(GOOD | {"spec": spec})).reason == (
        f"spec.{lists}[0].envFrom[0].secretRef.name (line 1): static pods may not reference secrets"
        " unless files provide them (--local-objects-dir)"
    )


def test_the_first_reference_in_order_is_told() -> None:
    spec: dict[str, Any] = GOOD["spec"] | {
        "volumes": [
            {"name": "c", "configMap": NAMED},
            {"name": "p", "persistentVolumeClaim": {"claimName": "a"}},
            {"name": "s", "secret": {"secretName": "a"}},
        ],
        "resourceClaims": [{"name": "a", "resourceClaimName": "b"}],
    }
    whole = json.dumps(GOOD | {"spec": spec | {"serviceAccountName": "a"}})
    assert refused(whole).reason.endswith("may not reference serviceaccounts")
    assert refused(json.dumps(GOOD | {"spec": spec})).reason.startswith(
        "spec.volumes[2].secret.secret"
    )
    del spec["volumes"][2]
    assert refused(json.dumps(GOOD | {"spec": spec})).reason.startswith(
        "spec.volumes[0].configMap.name"
    )
    del spec["volumes"][0]
    assert refused(json.dumps(GOOD | {"spec": spec})).reason.startswith("spec.resourceClaims (line")
    del spec["resourceClaims"]
    assert refused(json.dumps(GOOD | {"spec": spec})).reason.startswith(
        "spec.volumes[0].persistentVolumeClaim (line",
    )


def test_what_is_invalid_is_told_before_what_it_references() -> None:
    document = json.loads(edited(f"{C}.envFrom", [{"secretRef": NAMED}]))
    document["spec"]["restartPolicy"] = "Maybe"
    assert refused(json.dumps(document)).code == RejectReason.INVALID
