"""Names, UIDs and annotations of static pods: rules S4 to S14 and S19."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from manifests.container_hashes import container_digests
from manifests.pod_manifest import ManifestRules
from messages.pods import (
    CONFIG_HASH,
    CONFIG_MIRROR,
    CONFIG_SEEN,
    CONFIG_SOURCE,
    CONTAINER_DIGESTS,
    CONTENT_DIGEST,
    FILE,
    HTTP,
)
from messages.sources import RejectReason
from tests.support.manifests.manifest_text import GOOD, RULES, decoded, document_of, edited, refused

GOLDEN = Path(__file__).parents[2] / "golden"
GOLDEN_UIDS: list[dict[str, str]] = json.loads((GOLDEN / "static_pod_uids.json").read_text())


@pytest.mark.parametrize("golden", GOLDEN_UIDS, ids=lambda golden: golden["manifest"])
def test_a_uid_is_the_same_in_every_release(golden: dict[str, str]) -> None:
    rules = ManifestRules(node_name=golden["node"], source=FILE)
    pod = decoded((GOLDEN / golden["manifest"]).read_bytes(), rules).pod
    assert (pod.uid, pod.annotations[CONTENT_DIGEST]) == (golden["uid"], golden["content_digest"])


def test_json_and_yaml_of_one_pod_have_one_uid() -> None:
    text = """\
# The same as GOOD, in other words and another order.
kind: Pod
spec:
  volumes: [{emptyDir: {}, name: scratch}]
  containers:
    - {image: "registry.example/server:1.2", name: server}
metadata: {name: web}
apiVersion: v1
"""
    assert decoded(text).pod == decoded(json.dumps(GOOD)).pod


def test_a_generated_uid_is_32_hex_digits() -> None:
    uid = decoded(json.dumps(GOOD)).pod.uid
    assert len(uid) == 32
    assert int(uid, 16)


def test_content_and_node_change_a_uid_and_nothing_else_does() -> None:
    uid = decoded(json.dumps(GOOD)).pod.uid
    assert decoded(edited("metadata.labels", {"a": "b"})).pod.uid != uid
    assert decoded(json.dumps(GOOD), replace(RULES, node_name="node2")).pod.uid != uid
    others = replace(RULES, source=HTTP, strict=True, allow_references=True)
    assert decoded(json.dumps(GOOD), others).pod.uid == uid


def test_a_default_that_is_written_out_is_another_document() -> None:
    # The digest is of what the user wrote, so that new defaults of a new release change no UID.
    assert (
        decoded(edited("spec.restartPolicy", "Always")).pod.uid != decoded(json.dumps(GOOD)).pod.uid
    )


def test_an_answer_shares_nothing_with_the_next_one() -> None:
    document = document_of(json.dumps(GOOD))
    text = json.dumps(document)
    document["spec"]["tolerations"][0]["effect"] = "changed"
    document["spec"]["securityContext"]["changed"] = True
    document["spec"]["volumes"][0]["emptyDir"]["changed"] = True
    assert json.dumps(document_of(json.dumps(GOOD))) == text


def test_a_given_uid_is_kept_and_is_the_hash() -> None:
    pod = decoded(edited("metadata.uid", "12345")).pod
    assert (pod.uid, pod.annotations[CONFIG_HASH]) == ("12345", "12345")


def test_an_empty_uid_is_none() -> None:
    assert len(decoded(edited("metadata.uid", "")).pod.uid) == 32


def test_the_content_digest_changes_where_the_uid_does_not() -> None:
    one = decoded(edited("metadata", {"name": "web", "uid": "12345"})).pod
    other = decoded(edited("metadata", {"name": "web", "uid": "12345", "labels": {"a": "b"}})).pod
    assert one.uid == other.uid
    assert one.annotations[CONTENT_DIGEST] != other.annotations[CONTENT_DIGEST]


def digests(**changes: Any) -> dict[str, str]:
    """Return the digests of the containers of a pod with a UID of its own, the second one changed."""
    document = json.loads(edited("metadata.uid", "12345"))
    first = document["spec"]["containers"][0]
    document["spec"]["containers"].append({**first, "name": "second", **changes})
    return dict(container_digests(decoded(json.dumps(document)).pod))


def test_a_given_uid_has_digests_of_containers_which_change_with_what_is_said_of_each() -> None:
    before, after = digests(), digests(command=["sh"])
    assert before["server"] == after["server"]
    assert before["second"] != after["second"]
    assert digests(livenessProbe={"tcpSocket": {"port": 80}}) != before
    assert digests(resources={"limits": {"hugepages-2Mi": "2Mi", "memory": "1Gi"}}) != before


def test_what_is_given_to_a_running_container_in_place_changes_no_digest() -> None:
    resize = [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]
    given = {"requests": {"cpu": "1"}, "limits": {"cpu": "1", "memory": "1Gi"}}
    assert digests(resources=given, resizePolicy=resize) == digests()


def test_the_digest_of_a_container_is_the_same_in_every_release() -> None:
    # It is of what the user wrote, as the UIDs are: a default that is written out is another document.
    assert digests()["server"] == "0bf20c17cd2352fc"
    assert digests(terminationMessagePath="/dev/termination-log") != digests()


def test_a_pod_whose_uid_follows_from_its_content_needs_no_digests_of_containers() -> None:
    assert CONTAINER_DIGESTS not in decoded(json.dumps(GOOD)).pod.annotations
    said = decoded(edited("metadata.annotations", {CONTAINER_DIGESTS: "server=1"})).pod
    assert CONTAINER_DIGESTS not in said.annotations


@pytest.mark.parametrize(
    ("node", "name", "made"),
    [
        ("node1", "static-pod1", "static-pod1-node1"),
        ("Node1", "static-pod1", "static-pod1-node1"),
        ("node1", "static-pod1-node1", "static-pod1-node1-node1"),
        ("edge.example.com", "web.a", "web.a-edge.example.com"),
    ],
)
def test_a_name_gets_the_lower_case_node(node: str, name: str, made: str) -> None:
    pod = decoded(edited("metadata.name", name), replace(RULES, node_name=node)).pod
    assert (pod.name, pod.document["metadata"]["name"]) == (made, made)
    assert pod.document["spec"]["nodeName"] == node


def test_an_upper_case_name_is_refused() -> None:
    # This is why the node's part is lower-cased.
    assert refused(edited("metadata.name", "static-pod1-NODE1")).code == RejectReason.INVALID


@pytest.mark.parametrize("name", ["", None])
def test_a_pod_without_a_name_is_refused_before_it_gets_one(name: str | None) -> None:
    document = json.loads(edited("metadata", {"name": name, "generateName": "web-"}))
    answer = refused(json.dumps(document))
    assert (answer.code, answer.reason) == (
        RejectReason.INVALID,
        "metadata.name (line 1): is required",
    )


@pytest.mark.parametrize(
    ("given", "made"),
    [(None, "default"), ("", "default"), ("kube-system", "kube-system")],
)
def test_a_namespace_is_kept_or_the_default_one(given: str | None, made: str) -> None:
    assert decoded(edited("metadata.namespace", given)).pod.namespace == made


def test_the_annotations_of_the_merge_are_dropped_and_those_of_the_source_overwritten() -> None:
    given = {
        CONFIG_HASH: "x",
        CONFIG_SOURCE: "api",
        CONFIG_SEEN: "x",
        CONTENT_DIGEST: "x",
        "a": "b",
    }
    pod = decoded(edited("metadata.annotations", given)).pod
    assert set(pod.annotations) == {CONFIG_HASH, CONTENT_DIGEST, "a"}
    assert pod.annotations[CONFIG_HASH] == pod.uid
    assert len(pod.annotations[CONTENT_DIGEST]) == 64
    assert pod.source == ""


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ([], [{"operator": "Exists", "effect": "NoExecute"}]),
        # An identical one is not repeated, one with seconds loses them.
        (
            [{"operator": "Exists", "effect": "NoExecute"}],
            [{"operator": "Exists", "effect": "NoExecute"}],
        ),
        (
            [
                {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5},
                {"key": "a", "operator": "Exists"},
            ],
            [
                {"operator": "Exists", "effect": "NoExecute"},
                {"key": "a", "operator": "Exists"},
            ],
        ),
        (
            [{"key": "a", "operator": "Exists", "effect": "NoExecute"}],
            [
                {"key": "a", "operator": "Exists", "effect": "NoExecute"},
                {"operator": "Exists", "effect": "NoExecute"},
            ],
        ),
    ],
)
def test_a_pod_of_a_file_tolerates_every_taint_once(given: Any, made: Any) -> None:
    assert document_of(edited("spec.tolerations", given))["spec"]["tolerations"] == made


def test_a_pod_of_a_url_tolerates_what_it_says() -> None:
    document = edited("metadata", {"name": "foo", "uid": "111", "namespace": "mynamespace"})
    pod = decoded(document, ManifestRules(node_name="different-value", source=HTTP)).pod
    assert (pod.display_name, pod.uid) == ("mynamespace/foo-different-value", "111")
    assert pod.annotations[CONFIG_HASH] == "111"
    assert "tolerations" not in pod.document["spec"]


def test_status_is_kept_but_for_its_phase() -> None:
    status = {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}], "podIP": "10.0.0.1"}
    pod = decoded(edited("status", status)).pod
    assert pod.document["status"] == status | {"phase": "Pending"}
    assert pod.phase == "Pending"


@pytest.mark.parametrize(("node", "warned"), [("node1", 0), ("", 0), ("node2", 1), ("Node1", 1)])
def test_a_node_name_is_overwritten_with_a_warning_when_it_is_another_one(
    node: str,
    warned: int,
) -> None:
    answer = decoded(edited("spec.nodeName", node))
    assert answer.pod.document["spec"]["nodeName"] == "node1"
    assert [
        warning
        for warning in answer.warnings
        if warning.startswith("spec.nodeName (line 1): names another node, ")
    ] == list(answer.warnings)
    assert len(answer.warnings) == warned


@pytest.mark.parametrize("value", ["", "x", None])
def test_a_mirror_is_no_pod_of_its_own(value: str | None) -> None:
    answer = refused(edited("metadata.annotations", {CONFIG_MIRROR: value}))
    assert answer.code == RejectReason.NOT_A_POD
    assert "this is the mirror of a static pod" in answer.reason


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[]", "the document (line 1): must be an object with apiVersion: v1 and kind: Pod"),
        ("word", "the document (line 1): must be an object with apiVersion: v1 and kind: Pod"),
        ("{}", "apiVersion (line 1): must be v1; kind (line 1): must be Pod"),
        ("kind: Pod", "apiVersion (line 1): must be v1"),
        ("apiVersion: v1", "kind (line 1): must be Pod"),
        ("apiVersion: 1\nkind: Pod", "apiVersion (line 1): must be v1"),
        ("apiVersion: v2\nkind: Pod", 'apiVersion (line 1): must be v1, not "v2"'),
        ("apiVersion: v1\nkind: Service", 'kind (line 2): must be Pod, not "Service"'),
        ("apiVersion: v1\nkind: pod", 'kind (line 2): must be Pod, not "pod"'),
        (
            "apiVersion: v1\nkind: PodList\nitems: []",
            "kind (line 2): a file holds exactly one Pod, not a PodList",
        ),
        (
            "apiVersion: v1\nkind: List\nitems: []",
            "kind (line 2): a file holds exactly one Pod, not a List",
        ),
    ],
)
def test_another_kind_is_no_pod(text: str, sentence: str) -> None:
    answer = refused(text)
    assert (answer.code, answer.reason) == (RejectReason.NOT_A_POD, sentence)


@pytest.mark.parametrize(
    ("metadata", "shown"),
    [
        ({"name": "web"}, "default/web-node1"),
        ({"name": "web", "namespace": "a"}, "a/web-node1"),
        ({"name": "Web"}, ""),
        ({"name": "web", "namespace": "A"}, ""),
        ({"name": 5}, ""),
        ({"name": "web", "namespace": 5}, ""),
        ({}, ""),
        ("web", ""),
    ],
)
def test_a_refusal_names_the_pod_where_it_has_a_good_name(metadata: Any, shown: str) -> None:
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": 5}
    assert refused(json.dumps(document)).pod == shown


@pytest.mark.parametrize(
    ("priority", "name", "warned"),
    [
        (None, "cls", True),
        (5, "", True),
        (2_000_001_000, "system-node-critical", False),
        (2_000_000_000, "system-cluster-critical", False),
        (2_000_000_000, "system-node-critical", True),
        (0, "", True),
        (2_000_001_000, "unknown", True),
        (None, "", False),
    ],
)
def test_a_priority_that_a_mirror_could_not_have_is_warned_of(
    priority: int | None,
    name: str,
    warned: bool,  # noqa: FBT001 - a column of the table
) -> None:
    document = json.loads(edited("spec.priority", priority))
    document["spec"]["priorityClassName"] = name
    warnings = decoded(json.dumps(document)).warnings
    assert ["the mirror of the pod may be refused" in warning for warning in warnings] == [
        True
    ] * warned


def test_both_names_of_the_service_account_field_are_one() -> None:
    assert refused(edited("spec.serviceAccount", "web")).code == RejectReason.API_REFERENCE
