"""What makes the pod of a manifest a static pod of one node: names, UID, annotations, and what it may need.

The UID is a digest of the user's document and the node's name, and of nothing else, since a changed UID
restarts the pod. So neither defaults, nor the path of the file, nor the version of the agent change it.

A static pod must run while the API server is away, so it may reference none of its objects (rules S16 and
R1-R7). Secrets and ConfigMaps are allowed if local files provide them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from manifests.findings import Path, Place
from manifests.reading.decoding import canonical_json
from manifests.references import pod_references
from manifests.texts import quoted
from messages.objects import ObjectKind
from messages.pods import (
    CONFIG_HASH,
    CONFIG_SEEN,
    CONFIG_SOURCE,
    CONTAINER_DIGESTS,
    CONTENT_DIGEST,
    FILE,
    PodPhase,
    SourceName,
)

Json = dict[str, Any]

DEFAULT_NAMESPACE = "default"
UID_LEN = 32
"""Hex digits of a generated UID: 128 bits, as many as a UUID."""

MAX_UID_BYTES = 255
"""A UID names directories, so it must not be longer than a file name."""

DIGEST_LEN = 16
"""Hex digits of the digest of a container."""
_IN_PLACE = frozenset({"cpu", "memory"})

_NO_EXECUTE: Json = {"operator": "Exists", "effect": "NoExecute"}

_CRITICAL = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


def generated_uid(canonical: str, node_name: str) -> str:
    """Return the UID on the node of the pod that the document ``canonical`` describes.

    It is a digest of a JSON array of both, so no document and node can be mistaken for others.
    """
    framed = f"[{canonical},{json.dumps(node_name, ensure_ascii=False)}]"
    return hashlib.sha256(framed.encode()).hexdigest()[:UID_LEN]


def content_digest(canonical: str) -> str:
    """Return a digest that changes whenever the document does, even if its UID is fixed."""
    return hashlib.sha256(canonical.encode()).hexdigest()


def digested_containers(pod: Json) -> str:
    """Return a digest of each container, if the UID of the pod does not follow from its content.

    There must be no defaults in ``pod`` yet: those of another version of the agent change no digest. Nor do
    processor and memory, which containers are given in place while they run.
    """
    if not pod["metadata"].get("uid"):
        return ""
    spec = pod["spec"]
    containers = (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
    return " ".join(f"{each.get('name')}={_digest(each)}" for each in containers)


def static_name(name: str, node_name: str) -> str:
    """Return a name that is unique in the cluster (rule S7)."""
    return f"{name}-{node_name.lower()}"


def make_static(
    pod: Json, *, canonical: str, digests: str, node_name: str, source: SourceName
) -> None:
    """Give ``pod``, in place, what a static pod of this node has (rules S6-S13).

    ``digests`` are those of its containers, from before there were defaults in them.
    """
    metadata, spec = pod["metadata"], pod["spec"]
    metadata["name"] = static_name(metadata["name"], node_name)
    metadata["namespace"] = metadata.get("namespace") or DEFAULT_NAMESPACE
    metadata["uid"] = metadata.get("uid") or generated_uid(canonical, node_name)
    annotations = metadata.setdefault("annotations", {})
    # The merge of the sources sets where a pod comes from and since when (rule S14).
    annotations.pop(CONFIG_SOURCE, None)
    annotations.pop(CONFIG_SEEN, None)
    annotations[CONFIG_HASH] = metadata["uid"]
    annotations[CONTENT_DIGEST] = content_digest(canonical)
    annotations.pop(CONTAINER_DIGESTS, None)
    if digests:
        annotations[CONTAINER_DIGESTS] = digests
    spec["nodeName"] = node_name
    if source == FILE:
        _tolerate_everything(spec)
    pod.setdefault("status", {})["phase"] = PodPhase.PENDING.value


def keep_uid(pod: Json, uid: str | None) -> None:
    """Give ``pod``, in place, the UID that it keeps from a kubelet, if it keeps one.

    It has no digest of its content then: as a kubelet's UID it stands for one content alone. So the mirror
    that the kubelet made, which has none either, is the right one.
    """
    if uid:
        metadata = pod["metadata"]
        metadata["uid"] = metadata["annotations"][CONFIG_HASH] = uid
        del metadata["annotations"][CONTENT_DIGEST]


def validate_uid(metadata: Place) -> None:
    """Tell if the UID could not name a directory, which it is used for."""
    uid: str = metadata.get("uid")
    if "/" in uid or not uid.isprintable() or uid in {".", ".."}:
        metadata.wrong("must have no '/' and no control characters", "uid")
    if len(uid.encode()) > MAX_UID_BYTES:
        metadata.wrong(f"must be no longer than {MAX_UID_BYTES} bytes", "uid")


def warn_of_node(spec: Place, node_name: str) -> None:
    """Warn when the manifest names another node: a static pod runs where its manifest is."""
    named = spec.get("nodeName", "")
    if named and named != node_name:
        text = f"names another node, {quoted(named)}; the pod runs on {quoted(node_name)}"
        spec.findings.warning((*spec.path, "nodeName"), text)


def warn_of_priority(spec: Place) -> None:
    """Warn of a priority that the API server will not accept in the pod's mirror (rule S19)."""
    priority, name = spec.get("priority"), spec.get("priorityClassName", "")
    if priority is None and not name:
        return
    if priority is None:
        text = "is set without priority: the mirror of the pod may be refused"
    elif not name:
        text = "is set without priorityClassName: the mirror of the pod may be refused"
    elif _CRITICAL.get(name) == priority:
        return
    else:
        text = "is not the priority of this priorityClassName: the mirror of the pod may be refused"
    field = "priorityClassName" if priority is None else "priority"
    spec.findings.warning((*spec.path, field), text)


def _digest(container: Json) -> str:
    resources = {
        f"{kind} {name}": amount
        for kind, amounts in (container.get("resources") or {}).items()
        if kind != "claims"
        for name, amount in amounts.items()
        if name not in _IN_PLACE
    }
    lasting = {name: value for name, value in container.items() if name != "resizePolicy"}
    return content_digest(canonical_json({**lasting, "resources": resources}))[:DIGEST_LEN]


def _tolerate_everything(spec: Json) -> None:
    """Tolerate every NoExecute taint, once: a node's taints must not evict its own pods."""
    tolerations: list[Json] = spec.setdefault("tolerations", [])
    for index, toleration in enumerate(tolerations):
        same = (
            not toleration.get("key")
            and not toleration.get("value")
            and toleration.get("operator") == "Exists"
            and toleration.get("effect") == "NoExecute"
        )
        if same:
            tolerations[index] = dict(_NO_EXECUTE)
            return
    tolerations.append(dict(_NO_EXECUTE))


SECRETS = "secrets"
CONFIG_MAPS = "configmaps"
LOCAL = frozenset({SECRETS, CONFIG_MAPS})
"""What local files can provide."""

_NAMED_RESOURCES = {ObjectKind.SECRET: SECRETS, ObjectKind.CONFIG_MAP: CONFIG_MAPS}
_VOLUME_RESOURCES = {
    "configMap": CONFIG_MAPS,
    "secret": SECRETS,
    "csi": "csidrivers",
    "glusterfs": "endpoints",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims",
    "azureFile": SECRETS,
}
_PROJECTED_RESOURCES = {
    "configMap": CONFIG_MAPS,
    "secret": SECRETS,
    "serviceAccountToken": "serviceaccounts",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}


class Reference(NamedTuple):
    """The field at ``path`` makes the pod depend on an object of the kind ``resource``."""

    resource: str
    path: Path


def api_references(spec: Place) -> Iterator[Reference]:
    """Yield what ``spec`` depends on, in the order in which it is refused."""
    if spec.get("serviceAccountName"):
        yield Reference("serviceaccounts", (*spec.path, "serviceAccountName"))
    yield from _named(spec)
    if spec.get("resourceClaims"):
        yield Reference("resourceclaims", (*spec.path, "resourceClaims"))
    for volume in spec.each("volumes"):
        for kind, resource in _VOLUME_RESOURCES.items():
            if volume.has(kind):
                yield Reference(resource, (*volume.path, kind))
        yield from _projected(volume)


def _named(spec: Place) -> Iterator[Reference]:
    for kind, resource in _NAMED_RESOURCES.items():
        for reference in pod_references({"spec": spec.value}):
            if reference.kind is kind:
                yield Reference(resource, reference.path)


def _projected(volume: Place) -> Iterator[Reference]:
    projected = volume.child("projected")
    if projected is None:
        return
    for source in projected.each("sources"):
        for kind, resource in _PROJECTED_RESOURCES.items():
            if source.has(kind):
                yield Reference(resource, (*source.path, kind))
