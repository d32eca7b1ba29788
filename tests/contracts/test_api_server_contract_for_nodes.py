"""What an API server lets a node do as ``system:node:n1``: itself, its mirrors, its lease, and no more.

One suite for the real one, with the Node authorizer and NodeRestriction, and those of the tests.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from messages.api import ApiRequest
from messages.pods import CONFIG_MIRROR, JsonObject
from tests.support.apiserver.subjects import (
    EVENTS,
    LEASES,
    NODES,
    PODS,
    Subject,
    create,
    delete,
    eventually,
    get,
    merge,
    mirror,
    node_object,
    owner,
    pod,
    refusal,
    strategic,
    update,
)

FORBIDDEN = (403, "Forbidden")
N1 = f"{NODES}/n1"
MIRROR = f"{PODS}/web-n1"
BOUND_POD = f"{PODS}/web"
ELSEWHERE = f"{PODS}/elsewhere"


@pytest.fixture
def uid(api_server: Subject) -> str:
    """Return the UID of Node n1, once NodeRestriction has heard of it."""
    node = api_server.node.handle(create(NODES, node_object()))
    node_uid: str = node["metadata"]["uid"]
    eventually(api_server.node, create(PODS, mirror(node_uid, "first")))
    api_server.admin.handle(delete(f"{PODS}/first", gracePeriodSeconds=0))
    return node_uid


# --- its Node -----------------------------------------------------------------------------------------


def test_a_node_registers_itself_once(api_server: Subject) -> None:
    made = api_server.node.handle(create(NODES, node_object()))
    assert made["metadata"]["uid"]
    assert refusal(api_server.node, create(NODES, node_object())) == (409, "AlreadyExists")


def test_a_node_registers_nobody_else(api_server: Subject) -> None:
    assert refusal(api_server.node, create(NODES, node_object("n2"))) == FORBIDDEN


LABELS = [
    ("kubernetes.io/hostname", True),
    ("kubernetes.io/os", True),
    ("kubernetes.io/arch", True),
    ("topology.kubernetes.io/zone", True),
    ("node.kubernetes.io/anything", True),
    ("kubelet.kubernetes.io/anything", True),
    ("zone.node.kubernetes.io/anything", True),
    ("example.com/role", True),
    ("plain", True),
    ("kubernetes.io/role", False),
    ("node-role.kubernetes.io/worker", False),
    ("something.k8s.io/role", False),
    ("node-restriction.kubernetes.io/tier", False),
    ("a.node-restriction.kubernetes.io/tier", False),
]
FREE = [label for label, is_free in LABELS if is_free]
TAKEN = [label for label, is_free in LABELS if not is_free]


@pytest.mark.parametrize("label", FREE)
def test_a_node_chooses_most_of_its_labels(api_server: Subject, label: str) -> None:
    api_server.node.handle(create(NODES, node_object(labels={label: "a"})))
    changed = api_server.node.handle(merge(N1, metadata={"labels": {label: "b"}}))
    assert changed["metadata"]["labels"] == {label: "b"}


@pytest.mark.parametrize("label", TAKEN)
def test_a_node_does_not_choose_labels_of_the_cluster(api_server: Subject, label: str) -> None:
    assert refusal(api_server.node, create(NODES, node_object(labels={label: "a"}))) == FORBIDDEN
    api_server.admin.handle(create(NODES, node_object(labels={label: "a"})))
    for change in ("b", None):
        request = merge(N1, metadata={"labels": {label: change}})
        assert refusal(api_server.node, request) == FORBIDDEN


def test_a_node_may_change_around_labels_of_the_cluster(api_server: Subject) -> None:
    api_server.admin.handle(create(NODES, node_object(labels={TAKEN[0]: "a"})))
    changed = api_server.node.handle(merge(N1, metadata={"labels": {"plain": "b"}}))
    assert changed["metadata"]["labels"] == {TAKEN[0]: "a", "plain": "b"}


def test_a_node_reports_its_status(api_server: Subject) -> None:
    api_server.node.handle(create(NODES, node_object()))
    ready = [{"type": "Ready", "status": "True", "reason": "Fine", "message": ""}]
    changed = api_server.node.handle(strategic(f"{N1}/status", status={"conditions": ready}))
    assert changed["status"]["conditions"][0]["status"] == "True"


def test_a_node_reports_no_status_of_another(api_server: Subject) -> None:
    api_server.admin.handle(create(NODES, node_object("n2")))
    request = strategic(f"{NODES}/n2/status", status={"capacity": {"cpu": "1"}})
    assert refusal(api_server.node, request) == FORBIDDEN


def test_annotations_may_come_with_the_status(api_server: Subject) -> None:
    api_server.node.handle(create(NODES, node_object()))
    changed = api_server.node.handle(
        strategic(f"{N1}/status", metadata={"annotations": {"a": "1"}})
    )
    assert changed["metadata"]["annotations"] == {"a": "1"}


def test_a_node_registers_with_taints_and_changes_none_later(api_server: Subject) -> None:
    taints = [{"key": "dedicated", "value": "edge", "effect": "NoSchedule"}]
    made = api_server.node.handle(create(NODES, {**node_object(), "spec": {"taints": taints}}))
    assert taints[0] in made["spec"]["taints"]
    assert refusal(api_server.node, merge(N1, spec={"taints": []})) == FORBIDDEN


def test_a_node_does_not_delete_itself(api_server: Subject) -> None:
    api_server.node.handle(create(NODES, node_object()))
    assert refusal(api_server.node, delete(N1)) == FORBIDDEN


def test_a_node_reads_itself(api_server: Subject) -> None:
    assert refusal(api_server.node, get(N1)) == (404, "NotFound")
    api_server.node.handle(create(NODES, node_object()))
    assert api_server.node.handle(get(N1))["metadata"]["name"] == "n1"
    found = api_server.node.handle(get(NODES, fieldSelector="metadata.name=n1"))
    assert [item["metadata"]["name"] for item in found["items"]] == ["n1"]


# --- its mirror pods (rule M19) -----------------------------------------------------------------------


def test_a_node_creates_a_mirror_pod_and_deletes_it(api_server: Subject, uid: str) -> None:
    made = api_server.node.handle(create(PODS, mirror(uid)))
    assert made["metadata"]["ownerReferences"] == [owner(uid)]
    assert made["metadata"]["annotations"] == {CONFIG_MIRROR: "h1"}
    preconditions = {"uid": made["metadata"]["uid"]}
    # NodeRestriction looks into a cache, which may not have the pod for a moment.
    eventually(api_server.node, delete(MIRROR, gracePeriodSeconds=0, preconditions=preconditions))
    assert refusal(api_server.admin, get(MIRROR)) == (404, "NotFound")


def test_a_second_mirror_pod_of_a_name_exists_already(api_server: Subject, uid: str) -> None:
    api_server.node.handle(create(PODS, mirror(uid)))
    assert refusal(api_server.node, create(PODS, mirror(uid))) == (409, "AlreadyExists")


def test_a_mirror_pod_in_a_missing_namespace_is_refused(api_server: Subject, uid: str) -> None:
    document = mirror(uid)
    lost = {**document, "metadata": {**document["metadata"], "namespace": "nowhere"}}
    request = create("/api/v1/namespaces/nowhere/pods", lost)
    assert refusal(api_server.node, request) == (404, "NotFound")


def without_mark(uid: str) -> JsonObject:
    document = mirror(uid)
    return {**document, "metadata": {**document["metadata"], "annotations": {}}}


def owned_by(*owners: JsonObject) -> JsonObject:
    document = mirror("unused")
    return {**document, "metadata": {**document["metadata"], "ownerReferences": list(owners)}}


def env_from(uid: str, kind: str) -> JsonObject:
    container = {"name": "main", "image": "registry.example/web:1"}
    return mirror(uid, containers=[{**container, "envFrom": [{kind: {"name": "s"}}]}])


def with_volume(uid: str, **volume: object) -> JsonObject:
    return mirror(uid, volumes=[{"name": "v", **volume}])


CLAIM = {"claimName": "c"}
BAD_MIRRORS: dict[str, Callable[[str], JsonObject]] = {
    "no mirror annotation": without_mark,
    "bound elsewhere": lambda uid: mirror(uid, nodeName="n2"),
    "bound nowhere": lambda uid: mirror(uid, nodeName=""),
    "no owner": lambda _: owned_by(),
    "two owners": lambda uid: owned_by(owner(uid), owner("other", controller=False)),
    "owner is another node": lambda uid: owned_by(owner(uid, name="n2")),
    "owner is no node": lambda uid: owned_by(owner(uid, kind="Secret")),
    "owner has another uid": lambda _: owned_by(owner("other")),
    "owner is no controller": lambda uid: owned_by(owner(uid, controller=False)),
    "owner's deletion is blocked": lambda uid: owned_by(owner(uid, blockOwnerDeletion=True)),
    "service account": lambda uid: mirror(uid, serviceAccountName="default"),
    "secret in the environment": lambda uid: env_from(uid, "secretRef"),
    "config map in the environment": lambda uid: env_from(uid, "configMapRef"),
    "secret volume": lambda uid: with_volume(uid, secret={"secretName": "s"}),
    "config map volume": lambda uid: with_volume(uid, configMap={"name": "s"}),
    "image pull secret": lambda uid: mirror(uid, imagePullSecrets=[{"name": "s"}]),
    "claim": lambda uid: with_volume(uid, persistentVolumeClaim=CLAIM),
    "priority without class": lambda uid: mirror(uid, priority=7),
    "unknown priority class": lambda uid: mirror(uid, priorityClassName="no-such-class"),
}


@pytest.mark.parametrize("trouble", BAD_MIRRORS)
def test_any_other_pod_is_forbidden(api_server: Subject, uid: str, trouble: str) -> None:
    assert refusal(api_server.node, create(PODS, BAD_MIRRORS[trouble](uid))) == FORBIDDEN


# --- other pods ---------------------------------------------------------------------------------------


@pytest.fixture
def pods(api_server: Subject, uid: str) -> Subject:
    """Return an API server with one pod that is bound to n1 and one that is not."""
    assert uid
    api_server.admin.handle(create(PODS, pod("elsewhere", "n2")))
    api_server.admin.handle(create(PODS, pod("web")))
    # Once the last of them may be touched, NodeRestriction has heard of both.
    eventually(api_server.node, merge(f"{BOUND_POD}/status", status={"message": "seen"}))
    return api_server


def test_a_node_lists_the_pods_that_are_bound_to_it(pods: Subject) -> None:
    found = pods.node.handle(get("/api/v1/pods", fieldSelector="spec.nodeName=n1"))
    assert [item["metadata"]["name"] for item in found["items"]] == ["web"]


def test_a_node_reports_the_status_of_its_pods_only(pods: Subject) -> None:
    request = merge(f"{BOUND_POD}/status", status={"phase": "Running"})
    assert pods.node.handle(request)["status"]["phase"] == "Running"
    foreign = merge(f"{ELSEWHERE}/status", status={"phase": "Running"})
    assert refusal(pods.node, foreign) == FORBIDDEN


@pytest.mark.parametrize("path", [BOUND_POD, f"{BOUND_POD}/status"])
def test_a_node_labels_no_pods(pods: Subject, path: str) -> None:
    assert refusal(pods.node, merge(path, metadata={"labels": {"a": "1"}})) == FORBIDDEN


def test_a_node_deletes_its_pods_only(pods: Subject) -> None:
    pods.node.handle(delete(BOUND_POD, gracePeriodSeconds=0))
    assert refusal(pods.admin, get(BOUND_POD)) == (404, "NotFound")
    assert refusal(pods.node, delete(ELSEWHERE, gracePeriodSeconds=0)) == FORBIDDEN


# --- leases, events, Secrets --------------------------------------------------------------------------


def lease(name: str = "n1", namespace: str = "kube-node-lease") -> JsonObject:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"holderIdentity": "n1", "leaseDurationSeconds": 40},
    }


def test_a_node_holds_its_own_lease(api_server: Subject) -> None:
    assert refusal(api_server.node, get(f"{LEASES}/n1")) == (404, "NotFound")
    made = api_server.node.handle(create(LEASES, lease()))
    longer = {**made, "spec": {**made["spec"], "leaseDurationSeconds": 60}}
    renewed = api_server.node.handle(update(f"{LEASES}/n1", longer))
    assert renewed["spec"]["leaseDurationSeconds"] == 60


def test_a_lease_that_is_gone_is_made_anew_but_not_renewed(api_server: Subject) -> None:
    made = api_server.node.handle(create(LEASES, lease()))
    api_server.admin.remove("leases", "kube-node-lease", "n1")
    assert refusal(api_server.node, update(f"{LEASES}/n1", made)) == (409, "Conflict")
    again = api_server.node.handle(update(f"{LEASES}/n1", lease()))
    assert again["metadata"]["uid"] != made["metadata"]["uid"]


ELSEWHERE_LEASES = LEASES.replace("kube-node-lease", "default")


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(create(LEASES, lease("n2")), id="creating another's"),
        pytest.param(get(f"{LEASES}/n2"), id="reading another's"),
        pytest.param(get(LEASES), id="listing"),
        pytest.param(create(ELSEWHERE_LEASES, lease(namespace="default")), id="other namespace"),
    ],
)
def test_a_node_has_no_other_lease(api_server: Subject, request_: ApiRequest) -> None:
    assert refusal(api_server.node, request_) == FORBIDDEN


def test_a_node_posts_events_and_counts_them_up(api_server: Subject) -> None:
    document = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "n1.1", "namespace": "default"},
        "involvedObject": {"kind": "Node", "name": "n1"},
        "reason": "Starting",
        "type": "Normal",
        "count": 1,
    }
    api_server.node.handle(create(EVENTS, document))
    assert api_server.node.handle(strategic(f"{EVENTS}/n1.1", count=2))["count"] == 2
    assert refusal(api_server.node, get(EVENTS)) == FORBIDDEN


SECRETS = "/api/v1/namespaces/default/secrets"


def test_a_node_reads_a_secret_by_name_while_a_pod_of_it_names_it(
    api_server: Subject, uid: str
) -> None:
    assert uid
    for name in ("named", "other"):
        document = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}}
        api_server.admin.handle(create(SECRETS, document))
    volume = {"name": "v", "secret": {"secretName": "named"}}
    api_server.admin.handle(create(PODS, pod(volumes=[volume])))

    assert eventually(api_server.node, get(f"{SECRETS}/named"))["metadata"]["name"] == "named"
    found = api_server.node.handle(get(SECRETS, fieldSelector="metadata.name=named"))
    assert [item["metadata"]["name"] for item in found["items"]] == ["named"]
    assert refusal(api_server.node, get(f"{SECRETS}/other")) == FORBIDDEN
    assert refusal(api_server.node, get(SECRETS)) == FORBIDDEN


def test_a_node_reads_no_namespaces(api_server: Subject) -> None:
    assert refusal(api_server.node, get("/api/v1/namespaces/default")) == FORBIDDEN
