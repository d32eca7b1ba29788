"""What a mirror pod is: its document, and whether one that exists is the right one. Pure.

A mirror shows a static pod in the cluster. It belongs to this node if its spec names the node, and its
controller, or else its only owner, is the node. It is right if it shows the present content and its
controller is the Node as registered at present. Labels, annotations and owners that users add stay
(rule M18).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from manifests.references import pod_references
from messages.api import ApiRequest, Verb
from messages.node import NodeIs, NodeUid
from messages.pods import (
    CONFIG_HASH,
    CONFIG_MIRROR,
    CONTENT_DIGEST,
    FullName,
    JsonObject,
    Pod,
    PodUid,
)

_COPIED = ("name", "namespace", "labels", "annotations")
"""The metadata of a static pod that its mirror gets. Finalizers, for example, would only delay its end."""


def mirror_document(static: Pod, node: NodeIs) -> JsonObject:
    """Return what to create at the API server for ``static`` (rules M2 and M3).

    Its only owner is the Node: the API server checks that, and deletes the mirror with the Node. It has no
    status: the API server would drop it.
    """
    metadata = {key: value for key, value in _metadata(static).items() if key in _COPIED}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **metadata,
            "annotations": {**static.annotations, CONFIG_MIRROR: _config_hash(static)},
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "Node",
                    "name": node.name,
                    "uid": node.uid,
                    "controller": True,
                }
            ],
        },
        "spec": static.document["spec"],
    }


def can_be_shown(static: Pod) -> bool:
    """Return whether an API server lets a node create the mirror of ``static`` (rule M19).

    It does not if the pod references an object. A node may read what its pods reference, so a mirror with
    references could name any object that the node wants to read.
    """
    return next(pod_references(static.document), None) is None


def is_mirror_of_node(pod: Pod, node_name: str) -> bool:
    """Return whether ``pod`` is a mirror of this node.

    A mirror without owners is one: kubelets before 1.17 made such. A mirror that somebody else owns is not,
    unless the node is its controller: then the other owner was added later.
    """
    node_of_pod = (pod.document.get("spec") or {}).get("nodeName")
    return (
        pod.is_mirror
        and node_of_pod == node_name
        and all(
            owner.get("kind") == "Node" and owner.get("name") == node_name
            for owner in _controllers(pod) or _owners(pod)
        )
    )


def shows(mirror: Pod, static: Pod) -> bool:
    """Return whether ``mirror`` shows this version of ``static``.

    A manifest that fixes its UID also fixes the hash. The digest tells its versions apart (fixes K9).
    """
    shown = mirror.annotations.get(CONFIG_MIRROR), mirror.annotations.get(CONTENT_DIGEST)
    return shown == version_of(static)


def version_of(static: Pod) -> tuple[str, str | None]:
    """Return what tells versions of a static pod apart: its hash, and the digest of its content."""
    return _config_hash(static), static.annotations.get(CONTENT_DIGEST)


def is_owned_by(mirror: Pod, node_uid: NodeUid) -> bool:
    """Return whether the controller of ``mirror`` is the Node of this UID, and no earlier Node."""
    return [controller.get("uid") for controller in _controllers(mirror)] == [node_uid]


def full_name_parts(full_name: FullName) -> tuple[str, str]:
    """Return name and namespace of ``<name>_<namespace>``. Raises ValueError for anything else."""
    name, _, namespace = full_name.partition("_")
    if not name or not namespace or "_" in namespace:
        raise ValueError(f"{full_name!r} is not of the form <name>_<namespace>")
    return name, namespace


def creation(static: Pod, node: NodeIs) -> ApiRequest:
    """Return the request that creates the mirror of ``static``."""
    return ApiRequest(
        verb=Verb.CREATE,
        path=f"/api/v1/namespaces/{static.namespace}/pods",
        body=mirror_document(static, node),
    )


def deletion(full_name: FullName, uid: PodUid) -> ApiRequest:
    """Return the request that removes the pod of this UID at once, and no later pod of the name (K16)."""
    return ApiRequest(
        verb=Verb.DELETE,
        path=_path(full_name),
        body={
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": uid},
        },
    )


def look(full_name: FullName) -> ApiRequest:
    """Return the request that gets the pod of a name."""
    return ApiRequest(verb=Verb.GET, path=_path(full_name))


def _path(full_name: FullName) -> str:
    name, namespace = full_name_parts(full_name)
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def _config_hash(static: Pod) -> str:
    return static.annotations.get(CONFIG_HASH, "")


def _metadata(pod: Pod) -> Mapping[str, Any]:
    return pod.document.get("metadata") or {}


def _controllers(pod: Pod) -> list[Mapping[str, Any]]:
    """Return the owners that control it. API servers allow one at most."""
    return [owner for owner in _owners(pod) if owner.get("controller")]


def _owners(pod: Pod) -> list[Mapping[str, Any]]:
    return _metadata(pod).get("ownerReferences") or []
