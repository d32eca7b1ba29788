"""The mirror's document, and telling mirrors apart."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from actors.mirrors.pod import (
    can_be_shown,
    creation,
    deletion,
    full_name_parts,
    is_mirror_of_node,
    is_owned_by,
    look,
    mirror_document,
    shows,
)
from messages.api import Verb
from messages.node import NodeIs, NodeUid
from messages.pods import CONFIG_MIRROR, CONTENT_DIGEST, FullName, Pod, PodUid
from tests.support.builders import make_pod
from tests.support.mirrors.mirror_stage import NODE, make_static, mirror_made_by, ordinary_pod

N1 = NodeIs(name=NODE, uid=NodeUid("node-1"), is_deleting=False, document={})
WEB = make_static()


def test_the_document_is_the_pod_with_a_mark_an_owner_and_nothing_of_its_own() -> None:
    static = Pod.of(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "web-n1",
                "namespace": "shop",
                "generateName": "web-",
                "uid": "123456789",
                "resourceVersion": "7",
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "deletionTimestamp": "2026-01-01T00:00:00Z",
                "finalizers": ["example.com/never"],
                "ownerReferences": [{"kind": "ReplicaSet", "name": "web"}],
                "labels": {"app": "web"},
                "annotations": {
                    "kubernetes.io/config.hash": "123456789",
                    "kubernetes.io/config.seen": "2026-01-01T00:00:00.000000000Z",
                    "kubernetes.io/config.source": "file",
                    "actorlet/content-digest": "abc",
                    "mine": "x",
                },
            },
            "spec": {"nodeName": "n1", "containers": [{"name": "main", "image": "web:1"}]},
            "status": {"phase": "Pending"},
        }
    )
    before = deepcopy(static.document)
    assert mirror_document(static, N1) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "web-n1",
            "namespace": "shop",
            "labels": {"app": "web"},
            "annotations": {
                "kubernetes.io/config.hash": "123456789",
                "kubernetes.io/config.mirror": "123456789",
                "kubernetes.io/config.seen": "2026-01-01T00:00:00.000000000Z",
                "kubernetes.io/config.source": "file",
                "actorlet/content-digest": "abc",
                "mine": "x",
            },
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "Node",
                    "name": "n1",
                    "uid": "node-1",
                    "controller": True,
                }
            ],
        },
        "spec": {"nodeName": "n1", "containers": [{"name": "main", "image": "web:1"}]},
    }
    assert static.document == before


@pytest.mark.parametrize(
    ("full_name", "parts"),
    [
        ("bar_foo", ("bar", "foo")),
        ("bar.org_foo.com", ("bar.org", "foo.com")),
        ("bar-bar_foo", ("bar-bar", "foo")),
    ],
)
def test_a_full_name_has_two_parts(full_name: str, parts: tuple[str, str]) -> None:
    assert full_name_parts(FullName(full_name)) == parts


@pytest.mark.parametrize("full_name", ["barfoo", "bar_foo_foo", "", "bar_", "_foo"])
def test_other_names_are_refused(full_name: str) -> None:
    with pytest.raises(ValueError, match="<name>_<namespace>"):
        full_name_parts(FullName(full_name))


def test_a_deletion_is_for_one_uid_and_at_once() -> None:
    request = deletion(FullName("web-n1_shop"), PodUid("u1"))
    assert (request.verb, request.path) == (Verb.DELETE, "/api/v1/namespaces/shop/pods/web-n1")
    assert request.body == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "u1"},
    }


def test_creations_go_to_the_namespace_and_looks_to_the_name() -> None:
    request = creation(make_static(namespace="shop"), N1)
    assert (request.verb, request.path) == (Verb.CREATE, "/api/v1/namespaces/shop/pods")
    request = look(FullName("web-n1_shop"))
    assert (request.verb, request.path) == (Verb.GET, "/api/v1/namespaces/shop/pods/web-n1")


def owner(**fields: Any) -> dict[str, Any]:
    return {"kind": "Node", "name": NODE, "uid": "node-1", "controller": True, **fields}


def with_owners(*owners: dict[str, Any]) -> Pod:
    return Pod.of(mirror_made_by("", WEB, ownerReferences=list(owners)))


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (with_owners(owner()), True),
        (with_owners(owner(uid="former")), True),
        (with_owners(), True),
        (with_owners(owner(name="n2")), False),
        (with_owners(owner(kind="ReplicaSet")), False),
        (with_owners(owner(), owner(kind="ConfigMap", name="x", controller=False)), True),
        (with_owners(owner(), owner(kind="ReplicaSet")), False),
        (with_owners(owner(kind="ConfigMap", name="x", controller=False)), False),
        (Pod.of(ordinary_pod(WEB, NODE)), False),
        (make_pod(mirror="x", spec={"nodeName": "n2"}), False),
        (make_pod(mirror="x"), False),
        (make_pod(mirror="", spec={"nodeName": NODE}), True),
        (Pod.of({"metadata": {"annotations": {CONFIG_MIRROR: "x"}}}), False),
    ],
    ids=[
        "ours",
        "of a former Node",
        "without owner",
        "of another Node",
        "of a controller",
        "with an owner that somebody added",
        "of two controllers",
        "with another owner in place of its controller",
        "ordinary",
        "elsewhere",
        "not bound",
        "with an empty mark",
        "without spec",
    ],
)
def test_a_mirror_of_this_node_has_the_mark_the_node_and_no_other_controller(
    pod: Pod, *, expected: bool
) -> None:
    assert is_mirror_of_node(pod, NODE) is expected


@pytest.mark.parametrize(
    ("owners", "expected"),
    [
        ([owner()], True),
        ([owner(uid="former")], False),
        ([owner(controller=False)], False),
        ([owner(), owner(uid="former")], False),
        ([owner(), owner(kind="ConfigMap", name="x", controller=False)], True),
        ([], False),
    ],
    ids=["this one", "a former one", "not as controller", "two", "and another owner", "none"],
)
def test_a_mirror_has_one_controller_which_is_the_present_node(
    owners: list[dict[str, Any]], *, expected: bool
) -> None:
    assert is_owned_by(with_owners(*owners), N1.uid) is expected


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, True),
        ({"mine": "x"}, True),
        ({CONFIG_MIRROR: "another"}, False),
        ({CONTENT_DIGEST: "another"}, False),
    ],
    ids=["unchanged", "with a note of somebody's", "another hash", "another content"],
)
def test_a_mirror_shows_a_pod_by_hash_and_content(
    annotations: dict[str, str], *, expected: bool
) -> None:
    document = mirror_document(WEB, N1)
    metadata = document["metadata"]
    changed = {**metadata, "annotations": {**metadata["annotations"], **annotations}}
    assert shows(Pod.of({**document, "metadata": changed}), WEB) is expected


def test_a_mirror_without_digest_shows_no_pod_that_has_one() -> None:
    # A kubelet made it.
    mirror = make_pod(mirror=WEB.uid)
    assert not shows(mirror, WEB)
    assert shows(mirror, make_pod(config_hash=WEB.uid))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, True),
        ({"volumes": [{"name": "a", "emptyDir": {}}]}, True),
        ({"volumes": [{"name": "a", "configMap": {"name": "conf"}}]}, False),
        ({"imagePullSecrets": [{"name": "registry"}]}, False),
        ({"initContainers": [{"envFrom": [{"secretRef": {"name": "db"}}]}]}, False),
    ],
)
def test_a_pod_that_references_objects_cannot_be_shown(
    spec: dict[str, Any], *, expected: bool
) -> None:
    assert can_be_shown(make_static(spec={"nodeName": NODE, **spec})) is expected
