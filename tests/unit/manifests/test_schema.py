from __future__ import annotations

import json

import pytest

from manifests.pod_manifest import ManifestRules
from messages.pods import FILE
from messages.sources import RejectReason
from tests.support.manifests.manifest_text import decoded, document_of, edited, refused
from tools.generate_pod_schema import SCHEMA_FILE, schema_text

STRICT = ManifestRules(node_name="node1", source=FILE, strict=True)


def test_the_table_of_fields_is_what_the_kubernetes_client_says() -> None:
    assert SCHEMA_FILE.read_text() == schema_text()


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        ("metadata", [], "metadata (line 1): must be an object, not a list"),
        ("spec", "x", "spec (line 1): must be an object, not a string"),
        ("spec.containers", {}, "spec.containers (line 1): must be a list, not an object"),
        ("spec.containers", [1], "spec.containers[0] (line 1): must be an object, not a number"),
        ("metadata.labels", [], "metadata.labels (line 1): must be an object, not a list"),
        ("metadata.name", [], "metadata.name (line 1): must be a string, not a list"),
        ("metadata.uid", 12, "metadata.uid (line 1): must be a string, not a number: put it in"),
        ("metadata.labels", {"a/b": 1}, 'metadata.labels["a/b"] (line 1): must be a string, not a'),
        (
            "metadata.labels",
            {"a": True},
            "must be a string, not a boolean: put it in quotes (plain",
        ),
        ("spec.containers.0.args", [8080], "args[0] (line 1): must be a string, not a number"),
        ("spec.hostNetwork", "true", "must be true or false, not a string"),
        ("spec.hostNetwork", 1, "must be true or false, not a number"),
        ("spec.priority", "7", "must be a whole number, not a string"),
        ("spec.priority", 1.5, "must be a whole number, not one with a fraction"),
        ("spec.priority", True, "must be a whole number, not a boolean"),
        ("spec.priority", 2**31, "must be a whole number from -2147483648 to 2147483647"),
        ("spec.activeDeadlineSeconds", 2**63, "from -9223372036854775808 to 9223372036854775807"),
        ("spec.activeDeadlineSeconds", 2.0**70, "from -9223372036854775808 to 9223372036854775807"),
        ("spec.containers.0.resources", {"limits": {"cpu": True}}, "must be a quantity, not a boo"),
        ("spec.containers.0.resources", {"limits": {"cpu": "1 Gi"}}, "must be a quantity such as"),
        ("spec.containers.0.resources", {"limits": {"cpu": []}}, "must be a quantity, not a list"),
        ("spec.volumes.0.emptyDir.sizeLimit", "1GiB", "must be a quantity such as"),
        ("spec.containers.0.livenessProbe", {"tcpSocket": {"port": 1.5}}, "a number or a name"),
        (
            "spec.containers.0.livenessProbe",
            {"tcpSocket": {"port": 2**40}},
            "from -2147483648 to 2147483647",
        ),
        ("metadata.creationTimestamp", 5, "must be a time, not a number"),
        ("metadata.creationTimestamp", "yesterday", "must be a time such as 2006-01-02T15:04:05Z"),
        ("metadata.creationTimestamp", "2024-13-01T00:00:00Z", "must be a time such as"),
    ],
    ids=str,
)
def test_a_wrong_type_is_told_with_its_path(path: str, value: object, sentence: str) -> None:
    answer = refused(edited(path, value))
    assert answer.code == RejectReason.INVALID
    assert sentence in answer.reason


def test_a_wrong_type_in_yaml_is_told_with_its_line() -> None:
    text = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: server
    image: server
    env:
    - name: PORT
      value: 8080
    - name: DEBUG
      value: y
"""
    assert refused(text).reason == (
        "spec.containers[0].env[0].value (line 10): must be a string, not a number: put it in"
        " quotes; spec.containers[0].env[1].value (line 12): must be a string, not a boolean:"
        " put it in quotes (plain y, n, yes, no, on, off, true, false are booleans in YAML)"
    )


@pytest.mark.parametrize(
    "value",
    [
        [{"name": "A", "value": ["s3cret"]}],
        [{"name": "A", "value": 90210555}],
        [{"name": "A", "valueFrom": "s3cret"}],
        "s3cret",
    ],
)
def test_a_value_in_a_wrong_place_is_never_shown(value: object) -> None:
    reason = refused(edited("spec.containers.0.env", value)).reason
    assert "s3cret" not in reason
    assert "90210555" not in reason


def test_an_unknown_field_is_left_out_and_warned_of() -> None:
    answer = decoded(edited("spec.containers.0.comand", ["x"]))
    assert "comand" not in answer.pod.document["spec"]["containers"][0]
    assert answer.warnings == (
        "spec.containers[0].comand (line 1): unknown field, did you mean command?",
    )


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("host_network", "spec.host_network (line 1): unknown field, did you mean hostNetwork?"),
        ("HostNetwork", "spec.HostNetwork (line 1): unknown field, did you mean hostNetwork?"),
        ("zzz", "spec.zzz (line 1): unknown field"),
        ("a b\n", 'spec["a b "] (line 1): unknown field'),
    ],
)
def test_fields_are_matched_by_case(name: str, sentence: str) -> None:
    assert decoded(edited(f"spec.{name}", "x")).warnings == (sentence,)


def test_an_unknown_field_is_refused_by_a_strict_agent() -> None:
    answer = refused(edited("spec.containers.0.comand", ["x"]), STRICT)
    assert answer.code == RejectReason.UNKNOWN_FIELD
    assert answer.reason == (
        "spec.containers[0].comand (line 1): unknown field, did you mean command?"
    )
    assert answer.pod == "default/web-node1"


def test_many_unknown_fields_are_counted() -> None:
    document = json.loads(edited("metadata.name", "web"))
    document["spec"] |= {f"x{number}": 1 for number in range(1000)}
    answer = decoded(json.dumps(document))
    assert len(answer.warnings) == 21
    assert answer.warnings[-1] == "and 980 more warnings"


def test_a_null_field_is_absent() -> None:
    document = document_of(edited("spec.hostNetwork", None))
    assert "hostNetwork" not in document["spec"]


def test_null_in_a_list_or_map_is_the_zero_value_as_in_kubernetes() -> None:
    assert document_of(edited("metadata.labels", {"app": None}))["metadata"]["labels"] == {
        "app": ""
    }
    container = document_of(edited("spec.containers.0.args", ["a", None]))["spec"]["containers"][0]
    assert container["args"] == ["a", ""]
    assert (
        "spec.volumes[0].name (line 1): is required"
        in refused(
            edited("spec.volumes", [None]),
        ).reason
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(1, "1"), (0.5, "0.5"), ("100m", "100m"), (" 1 ", "1"), (1e-7, "1e-07")],
)
def test_a_quantity_may_be_a_number_and_becomes_text(value: object, text: str) -> None:
    document = document_of(edited("spec.containers.0.resources", {"limits": {"cpu": value}}))
    assert document["spec"]["containers"][0]["resources"]["limits"] == {"cpu": text}


def test_managed_fields_are_kept_as_they_are() -> None:
    entry = {"manager": "me", "fieldsV1": {"f:metadata": {"f:labels": {}}}}
    document = document_of(edited("metadata.managedFields", [entry]))
    assert document["metadata"]["managedFields"] == [entry]


def test_times_are_kept_as_they_are() -> None:
    document = document_of(edited("metadata.creationTimestamp", "2024-02-29T10:00:00.5+02:00"))
    assert document["metadata"]["creationTimestamp"] == "2024-02-29T10:00:00.5+02:00"
