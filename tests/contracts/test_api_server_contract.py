"""What the agent relies on of an API server: creating, reading, leases and events.

One suite for the real one and those of the tests. Where the real one has its own mind about something
that no agent should care for, such as the text of a message, these tests do not look.
"""

from __future__ import annotations

from typing import Any

import pytest

from messages.pods import JsonObject
from tests.support.apiserver.subjects import (
    EVENTS,
    LEASES,
    NODES,
    PODS,
    Subject,
    create,
    get,
    node_object,
    pod,
    refusal,
    strategic,
    update,
)

WEB = f"{PODS}/web"


def with_metadata(document: JsonObject, **metadata: object) -> JsonObject:
    return {**document, "metadata": {**document["metadata"], **metadata}}


# --- creating -----------------------------------------------------------------------------------------


def test_a_created_object_gets_an_identity(api_server: Subject) -> None:
    made = api_server.admin.handle(create(PODS, with_metadata(pod(), uid="wanted")))
    metadata = made["metadata"]
    assert metadata["uid"] != "wanted"
    assert int(metadata["resourceVersion"]) > 0
    assert metadata["creationTimestamp"].endswith("Z")
    assert (made["kind"], made["apiVersion"]) == ("Pod", "v1")
    assert api_server.admin.handle(get(WEB))["metadata"]["uid"] == metadata["uid"]


def test_a_pod_is_created_without_the_status_it_was_given(api_server: Subject) -> None:
    made = api_server.admin.handle(create(PODS, {**pod(), "status": {"phase": "Running"}}))
    assert made["status"]["phase"] == "Pending"


def test_a_node_is_created_with_the_status_it_was_given(api_server: Subject) -> None:
    document = {**node_object(), "status": {"capacity": {"pods": "110"}}}
    made = api_server.admin.handle(create(NODES, document))
    assert made["status"]["capacity"] == {"pods": "110"}


def test_a_new_node_is_tainted_until_somebody_finds_it_ready(api_server: Subject) -> None:
    made = api_server.admin.handle(create(NODES, node_object()))
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    assert made["spec"]["taints"] == [taint]


def test_a_name_is_taken_once(api_server: Subject) -> None:
    api_server.admin.handle(create(PODS, pod()))
    assert refusal(api_server.admin, create(PODS, pod())) == (409, "AlreadyExists")


def test_a_namespace_has_to_exist(api_server: Subject) -> None:
    lost = with_metadata(pod(), namespace="nowhere")
    request = create("/api/v1/namespaces/nowhere/pods", lost)
    assert refusal(api_server.admin, request) == (404, "NotFound")


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(pod(containers=[]), id="no containers"),
        pytest.param(pod("Web"), id="capital name"),
        pytest.param(pod(""), id="no name"),
    ],
)
def test_an_impossible_object_is_invalid(api_server: Subject, document: JsonObject) -> None:
    assert refusal(api_server.admin, create(PODS, document)) == (422, "Invalid")


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(with_metadata(pod(), namespace="kube-system"), id="other namespace"),
        pytest.param({**pod(), "kind": "Secret"}, id="other kind"),
    ],
)
def test_an_object_has_to_fit_its_path(api_server: Subject, document: JsonObject) -> None:
    assert refusal(api_server.admin, create(PODS, document)) == (400, "BadRequest")


@pytest.mark.parametrize(
    ("word", "priority"),
    [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)],
)
def test_a_priority_class_becomes_a_priority(api_server: Subject, word: str, priority: int) -> None:
    document = pod(priorityClassName=word, priority=priority)
    path = "/api/v1/namespaces/kube-system/pods"
    made = api_server.admin.handle(create(path, with_metadata(document, namespace="kube-system")))
    assert made["spec"]["priority"] == priority


def test_a_pod_without_a_priority_class_has_priority_0(api_server: Subject) -> None:
    assert api_server.admin.handle(create(PODS, pod()))["spec"]["priority"] == 0


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"priorityClassName": "no-such-class"}, id="unknown class"),
        pytest.param({"priority": 7}, id="priority without class"),
    ],
)
def test_a_priority_that_cannot_be_is_forbidden(api_server: Subject, spec: dict[str, Any]) -> None:
    assert refusal(api_server.admin, create(PODS, pod(**spec))) == (403, "Forbidden")


# --- reading ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [WEB, f"{NODES}/n9", f"{LEASES}/n9", "/api/v1/namespaces/nowhere"])
def test_what_is_not_there_is_not_found(api_server: Subject, path: str) -> None:
    assert refusal(api_server.admin, get(path)) == (404, "NotFound")


def listed(subject: Subject, path: str, **query: str) -> list[str]:
    answer = subject.admin.handle(get(path, **query))
    return [item["metadata"]["name"] for item in answer["items"]]


@pytest.fixture
def three_pods(api_server: Subject) -> Subject:
    for name, node in (("c", "n1"), ("a", "n1"), ("b", "n2")):
        api_server.admin.handle(create(PODS, pod(name, node)))
    return api_server


def test_a_list_is_in_the_order_of_names_and_has_a_version(three_pods: Subject) -> None:
    answer = three_pods.admin.handle(get(PODS))
    assert [item["metadata"]["name"] for item in answer["items"]] == ["a", "b", "c"]
    assert (answer["kind"], answer["apiVersion"]) == ("PodList", "v1")
    newest = max(int(item["metadata"]["resourceVersion"]) for item in answer["items"])
    assert int(answer["metadata"]["resourceVersion"]) >= newest


def test_items_of_a_list_do_not_say_what_kind_they_are(three_pods: Subject) -> None:
    item = three_pods.admin.handle(get(PODS))["items"][0]
    assert "kind" not in item
    assert "apiVersion" not in item


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("spec.nodeName=n1", ["a", "c"]),
        ("spec.nodeName!=n1", ["b"]),
        ("metadata.name=b", ["b"]),
        ("metadata.name=b,spec.nodeName=n1", []),
        ("metadata.namespace=default", ["a", "b", "c"]),
    ],
)
def test_a_field_selector_picks(three_pods: Subject, selector: str, names: list[str]) -> None:
    assert listed(three_pods, "/api/v1/pods", fieldSelector=selector) == names


def test_a_field_that_cannot_select_is_a_bad_request(api_server: Subject) -> None:
    request = get(PODS, fieldSelector="spec.hostname=web")
    assert refusal(api_server.admin, request) == (400, "BadRequest")


def test_a_list_comes_in_pages_of_one_version(three_pods: Subject) -> None:
    first = three_pods.admin.handle(get(PODS, limit="2"))
    assert [item["metadata"]["name"] for item in first["items"]] == ["a", "b"]
    three_pods.admin.handle(create(PODS, pod("d")))
    token = first["metadata"]["continue"]
    second = three_pods.admin.handle(get(PODS, limit="2", **{"continue": token}))
    assert [item["metadata"]["name"] for item in second["items"]] == ["c"]
    assert second["metadata"].get("continue", "") == ""
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_a_page_whose_version_is_forgotten_is_gone(three_pods: Subject) -> None:
    first = three_pods.admin.handle(get(PODS, limit="2"))
    three_pods.admin.handle(create(PODS, pod("d")))
    three_pods.compact()
    request = get(PODS, limit="2", **{"continue": first["metadata"]["continue"]})
    assert refusal(three_pods.admin, request) == (410, "Expired")


# --- leases and events --------------------------------------------------------------------------------


def lease(**spec: object) -> JsonObject:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "n1", "namespace": "kube-node-lease"},
        "spec": {"holderIdentity": "n1", "leaseDurationSeconds": 40, **spec},
    }


def test_a_lease_is_renewed_by_an_update_of_the_version_seen(api_server: Subject) -> None:
    seen = api_server.admin.handle(create(LEASES, lease()))
    later = {**seen, "spec": lease(renewTime="2030-01-01T00:00:10.000000Z")["spec"]}
    renewed = api_server.admin.handle(update(f"{LEASES}/n1", later))
    assert renewed["spec"]["renewTime"] == "2030-01-01T00:00:10.000000Z"
    assert refusal(api_server.admin, update(f"{LEASES}/n1", later)) == (409, "Conflict")


def test_a_lease_is_not_updated_without_a_version(api_server: Subject) -> None:
    api_server.admin.handle(create(LEASES, lease()))
    assert refusal(api_server.admin, update(f"{LEASES}/n1", lease())) == (422, "Invalid")


def test_an_update_of_a_lease_that_is_not_there_creates_it(api_server: Subject) -> None:
    made = api_server.admin.handle(update(f"{LEASES}/n1", lease()))
    assert (
        made["metadata"]["uid"] == api_server.admin.handle(get(f"{LEASES}/n1"))["metadata"]["uid"]
    )


def event(namespace: str = "default", regarding: str = "default") -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "web.1", "namespace": namespace},
        "involvedObject": {"kind": "Pod", "name": "web", "namespace": regarding},
        "reason": "Refused",
        "message": "because",
        "type": "Warning",
        "count": 1,
    }


def test_an_event_is_counted_up_by_a_patch(api_server: Subject) -> None:
    api_server.admin.handle(create(EVENTS, event()))
    changed = api_server.admin.handle(strategic(f"{EVENTS}/web.1", count=2))
    assert (changed["count"], changed["reason"]) == (2, "Refused")


def test_an_event_lives_in_the_namespace_of_what_it_is_about(api_server: Subject) -> None:
    request = create(EVENTS, event(regarding="kube-system"))
    assert refusal(api_server.admin, request) == (422, "Invalid")


def test_an_event_about_what_is_in_no_namespace_lives_in_the_default_one(
    api_server: Subject,
) -> None:
    made = api_server.admin.handle(create(EVENTS, event(regarding="")))
    assert made["metadata"]["namespace"] == "default"
    lost = event(namespace="kube-public", regarding="")
    request = create("/api/v1/namespaces/kube-public/events", lost)
    assert refusal(api_server.admin, request) == (422, "Invalid")
