"""The API server in memory, where the contract suite cannot look: webhooks, newest rules, administrators."""

from __future__ import annotations

from copy import deepcopy

import pytest

from messages.api import ApiRequest, Patch, Verb
from messages.pods import JsonObject
from tests.support.apiserver.fake_api import asks
from tests.support.apiserver.history import Change
from tests.support.apiserver.node_rules import references
from tests.support.apiserver.patches import patched
from tests.support.apiserver.paths import CONFIG_MAP, SECRET, place_of
from tests.support.apiserver.status import StatusError
from tests.support.apiserver.store import ApiStore
from tests.support.apiserver.subjects import (
    NODES,
    PODS,
    create,
    delete,
    get,
    mirror,
    node_object,
    pod,
    refusal,
)

WEB = f"{PODS}/web"


@pytest.fixture
def store() -> ApiStore:
    return ApiStore(now=lambda: 1_700_000_000.0)


# --- what an administrator does ----------------------------------------------------------------------


def test_a_pod_can_be_added_with_its_status_and_into_a_new_namespace(store: ApiStore) -> None:
    document = {**pod(), "metadata": {"name": "web", "namespace": "shop"}}
    added = store.add({**document, "status": {"phase": "Running"}})
    assert added["status"]["phase"] == "Running"
    assert store.get("pods", "shop", "web") == added
    assert store.has("namespaces", "shop")


def test_metadata_and_status_can_be_changed_in_one_go(store: ApiStore) -> None:
    store.add(pod())
    labels = {"a": "1"}
    changed = store.change(
        "pods", "default", "web", metadata={"labels": labels}, status={"phase": "Failed"}
    )
    assert changed["metadata"]["labels"] == labels
    assert changed["status"]["phase"] == "Failed"


def test_a_pod_can_be_removed_gracefully(store: ApiStore) -> None:
    store.add(pod(terminationGracePeriodSeconds=7))
    store.remove("pods", "default", "web", grace=None)
    metadata = store.get("pods", "default", "web")["metadata"]
    assert metadata["creationTimestamp"] == "2023-11-14T22:13:20Z"
    assert metadata["deletionTimestamp"] == "2023-11-14T22:13:27Z"


def test_what_was_handed_out_stays_as_it_was(store: ApiStore) -> None:
    added = store.add(pod())
    before = deepcopy(added)
    store.change("pods", "default", "web", metadata={"labels": {"a": "1"}})
    store.remove("pods", "default", "web", grace=None)
    assert added == before


# --- webhooks -----------------------------------------------------------------------------------------


def test_a_webhook_refuses_what_it_picks_until_it_is_lifted(store: ApiStore) -> None:
    webhook = store.refuse(asks(Verb.CREATE, "/pods"), code=400, reason="Policy", message="no")
    assert refusal(store, create(PODS, pod())) == (400, "Policy")
    assert store.add(node_object())["metadata"]["name"] == "n1"
    webhook.lift()
    assert store.add(pod())["metadata"]["name"] == "web"


# --- the newest rules for nodes -----------------------------------------------------------------------


class StrictNode(ApiStore):
    """Node n1 at an API server since 1.32."""

    def __init__(self) -> None:
        super().__init__(strict_nodes=True)

    def as_node(self, request: ApiRequest) -> JsonObject:
        return super().handle(request, as_node="n1")


FORBIDDEN_READS = {
    "all pods": get("/api/v1/pods"),
    "another's pods": get("/api/v1/pods", fieldSelector="spec.nodeName=n2"),
    "another's pod": get(f"{PODS}/elsewhere"),
    "a pod that is not there": get(f"{PODS}/nowhere"),
    "all nodes": get(NODES),
    "another node": get(f"{NODES}/n2"),
}
READS = {
    "own pods": get("/api/v1/pods", fieldSelector="spec.nodeName=n1"),
    "own pod": get(WEB),
    "itself": get(f"{NODES}/n1"),
    "nodes of its name": get(NODES, fieldSelector="metadata.name=n1"),
}


@pytest.fixture
def strict() -> StrictNode:
    store = StrictNode()
    for document in (pod(), pod("elsewhere", "n2"), node_object(), node_object("n2")):
        store.add(document)
    return store


@pytest.mark.parametrize("what", FORBIDDEN_READS)
def test_a_node_sees_nothing_of_others(strict: StrictNode, what: str) -> None:
    with pytest.raises(StatusError) as refused:
        strict.as_node(FORBIDDEN_READS[what])
    assert refused.value.code == 403


@pytest.mark.parametrize("what", READS)
def test_a_node_sees_its_own(strict: StrictNode, what: str) -> None:
    assert "metadata" in strict.as_node(READS[what])


def test_a_mirror_pod_of_a_node_that_is_not_there_is_not_found(store: ApiStore) -> None:
    with pytest.raises(StatusError) as refused:
        store.handle(create(PODS, mirror("uid")), as_node="n1")
    assert refused.value.code == 404


def test_references_are_found_wherever_a_pod_names_them() -> None:
    source = {"secretKeyRef": {"name": "a", "key": "k"}}
    container = {"name": "main", "env": [{"name": "E", "valueFrom": source}]}
    volumes: list[JsonObject] = [
        {"name": "v", "projected": {"sources": [{"configMap": {"name": "b"}}]}},
        {"name": "w", "csi": {"driver": "d", "nodePublishSecretRef": {"name": "c"}}},
        {"name": "x", "secret": {"secretName": "d"}},
    ]
    spec = {"containers": [container], "volumes": volumes, "imagePullSecrets": [{"name": "e"}]}
    assert references(spec) == {
        (SECRET, "a"),
        (CONFIG_MAP, "b"),
        (SECRET, "c"),
        (SECRET, "d"),
        (SECRET, "e"),
    }


# --- history, paths, patches --------------------------------------------------------------------------


def test_only_the_newest_changes_can_be_watched() -> None:
    store = ApiStore(history=2)
    version = store.add(pod())["metadata"]["resourceVersion"]
    store.change("pods", "default", "web", metadata={"labels": {"a": "1"}})
    heard: list[Change] = []
    store.follow(version, heard.append)
    assert [change.version for change in heard] == [int(version) + 1]
    store.remove("pods", "default", "web")
    with pytest.raises(StatusError) as refused:
        store.follow(version, heard.append)
    assert (refused.value.code, refused.value.reason) == (410, "Expired")


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/api/v1",
        "/api/v1/gadgets",
        "/apis/apps/v1/namespaces/default/deployments",
        "/api/v1/pods/web",
        "/api/v1/namespaces/default/nodes/n1",
        "/api/v1/namespaces/default/pods/web/status/more",
    ],
)
def test_a_path_that_leads_nowhere_is_not_found(store: ApiStore, path: str) -> None:
    assert place_of(path) is None
    assert refusal(store, get(path)) == (404, "NotFound")


@pytest.mark.parametrize("request_", [create(WEB, pod()), delete(PODS)], ids=["create", "delete"])
def test_a_verb_has_to_fit_its_path(store: ApiStore, request_: ApiRequest) -> None:
    assert refusal(store, request_) == (405, "MethodNotAllowed")


@pytest.mark.parametrize(
    ("old", "patch", "new"),
    [
        ({"a": {"b": 1}}, {"a": {"$patch": "replace", "c": 2}}, {"a": {"c": 2}}),
        ({"finalizers": ["a"]}, {"finalizers": ["b"]}, {"finalizers": ["a", "b"]}),
        (
            {"finalizers": ["a", "b"]},
            {"$deleteFromPrimitiveList/finalizers": ["a"]},
            {"finalizers": ["b"]},
        ),
        ({"args": ["a"]}, {"args": ["b"], "$setElementOrder/args": ["b"]}, {"args": ["b"]}),
    ],
)
def test_a_strategic_patch_obeys_its_directives(
    old: JsonObject, patch: JsonObject, new: JsonObject
) -> None:
    assert patched(old, patch, Patch.STRATEGIC) == new
