"""The examples of local objects, and of a pod that uses them, are what they claim to be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes.client.models import V1ConfigMap, V1Pod, V1Secret

from manifests.objects.local import DecodedObject, decode_object
from manifests.pod_manifest import Decoded, ManifestRules, decode_manifest
from manifests.references import pod_references
from manifests.refusals import Refused
from messages.objects import ObjectKind
from messages.pods import FILE
from tests.support.project.examples import EXAMPLES, as_the_client_reads

OBJECTS = sorted(EXAMPLES.joinpath("local-objects").iterdir())
POD = EXAMPLES / "pods-with-objects" / "shop.yaml"
MODELS: dict[str, Any] = {"Secret": V1Secret, "ConfigMap": V1ConfigMap}


def decoded_objects() -> list[DecodedObject]:
    outcomes = [decode_object(path.read_bytes(), strict=True) for path in OBJECTS]
    return [outcome for outcome in outcomes if isinstance(outcome, DecodedObject)]


def decoded_pod(*, allow_references: bool) -> Decoded | Refused:
    rules = ManifestRules(
        node_name="edge-1", source=FILE, strict=True, allow_references=allow_references
    )
    return decode_manifest(POD.read_bytes(), rules)


@pytest.mark.parametrize("path", OBJECTS, ids=lambda path: path.name)
def test_an_object_is_one_to_the_kubernetes_client(path: Path) -> None:
    manifest = yaml.safe_load(path.read_text())
    assert as_the_client_reads(MODELS[manifest["kind"]], manifest) == manifest


@pytest.mark.parametrize("path", OBJECTS, ids=lambda path: path.name)
def test_an_object_is_accepted_without_a_warning(path: Path) -> None:
    outcome = decode_object(path.read_bytes(), strict=True)
    assert isinstance(outcome, DecodedObject), outcome
    assert outcome.warnings == ()
    assert outcome.described.name == path.stem


def test_the_pod_is_one_to_the_kubernetes_client() -> None:
    manifest = yaml.safe_load(POD.read_text())
    assert as_the_client_reads(V1Pod, manifest) == manifest


def test_the_pod_is_accepted_without_a_warning_where_local_objects_are() -> None:
    outcome = decoded_pod(allow_references=True)
    assert isinstance(outcome, Decoded), outcome
    assert outcome.warnings == ()
    assert isinstance(decoded_pod(allow_references=False), Refused)


def test_the_pod_references_each_of_the_objects() -> None:
    outcome = decoded_pod(allow_references=True)
    assert isinstance(outcome, Decoded)
    referenced = {
        (reference.kind, reference.name) for reference in pod_references(outcome.pod.document)
    }
    objects = [outcome.described.object for outcome in decoded_objects()]
    assert {(each.kind, each.name) for each in objects} == referenced


def test_they_show_both_kinds_and_one_that_never_changes() -> None:
    objects = [outcome.described for outcome in decoded_objects()]
    assert {each.object.kind for each in objects} == {*ObjectKind}
    assert [each.name for each in objects if each.value.immutable] == ["shop-release"]


def test_the_page_about_the_examples_names_each_of_them() -> None:
    page = (EXAMPLES / "README.md").read_text()
    assert [path.name for path in [*OBJECTS, POD] if f"`{path.name}`" not in page] == []
