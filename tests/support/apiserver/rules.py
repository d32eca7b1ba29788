"""What the API server does to objects and refuses about them, whoever asks. Pure functions.

Only what an agent can run into: it is no validation of manifests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from ipaddress import ip_network
from typing import Any

from messages.pods import CONFIG_MIRROR, JsonObject
from tests.support.apiserver.patches import Document
from tests.support.apiserver.paths import EVENT, NODE, POD, RUNTIME_CLASS, SERVICE, Kind, Place
from tests.support.apiserver.status import StatusError, bad_request, conflict, forbidden, invalid

NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
DEFAULT_GRACE = 30
PRIORITIES: Mapping[str, int] = {
    "": 0,
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
ADDRESSES = ip_network("10.96.0.0/16")
"""Of Services."""
SERVERS_OWN = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
"""Metadata that clients cannot change."""


def checked_for_create(place: Place, document: JsonObject) -> Document:
    """Return what is stored when ``document`` is created. Raises ``StatusError``."""
    _check_names(place, document)
    _check_content(place.kind, document)
    stored: Document = {
        **document,
        "apiVersion": place.kind.api_version,
        "kind": place.kind.name,
        "metadata": {
            key: value
            for key, value in document["metadata"].items()
            if key not in {*SERVERS_OWN, "resourceVersion"}
        },
    }
    if place.kind is POD:
        stored["spec"] = _with_priority(stored)
        stored["status"] = {"phase": "Pending"}
    if place.kind is NODE:
        stored["spec"] = _not_ready(stored.get("spec", {}))
    return stored


def checked_for_update(
    place: Place, old: JsonObject, wanted: JsonObject, *, is_patch: bool
) -> Document:
    """Return what is stored when ``old`` is to become ``wanted``. Raises ``StatusError``."""
    _check_names(place, wanted)
    if is_patch and wanted["metadata"].get("uid") != old["metadata"]["uid"]:
        # Only an update takes another UID for a precondition.
        raise invalid(place.kind, place.name, "metadata.uid: Invalid value: field is immutable")
    _check_versions(place, old["metadata"], wanted["metadata"])
    kept = {key: old["metadata"][key] for key in SERVERS_OWN if key in old["metadata"]}
    metadata = {key: value for key, value in wanted["metadata"].items() if key not in SERVERS_OWN}
    result: Document = {**wanted, "metadata": {**metadata, **kept}}
    if place.kind.has_status:
        untouched = "spec" if place.subresource == "status" else "status"
        result.pop(untouched, None)
        result.update({untouched: old[untouched]} if untouched in old else {})
    if place.kind is SERVICE:
        result["spec"] = _with_protocols(result["spec"])
    _check_content(place.kind, result)
    if place.kind is POD:
        _check_pod_update(place.name, old, result)
    _check_fixed_fields(place, old, result)
    return result


def with_address(service: JsonObject, taken: Iterable[str]) -> Document:
    """Return a new Service with an address that is not taken, unless it wants another one or none."""
    spec = _with_protocols({"type": "ClusterIP", **service["spec"]})
    if spec["type"] != "ExternalName" and not spec.get("clusterIP"):
        others = {*taken}
        spec["clusterIP"] = next(str(ip) for ip in ADDRESSES.hosts() if str(ip) not in others)
    return {**service, "spec": spec}


def grace_period(kind: Kind, document: JsonObject, asked: int | None) -> int:
    """Return the seconds that an object stays while it is being deleted; 0 to remove it at once."""
    if kind is not POD:
        return 0
    spec = document.get("spec", {})
    is_over = document.get("status", {}).get("phase") in {"Succeeded", "Failed"}
    if not spec.get("nodeName") or is_over:
        return 0
    if asked is not None:
        return asked
    return int(spec.get("terminationGracePeriodSeconds", DEFAULT_GRACE))


def check_preconditions(place: Place, document: JsonObject, options: JsonObject) -> None:
    """Raise ``StatusError`` when it is another object than a deletion was meant for."""
    metadata = document["metadata"]
    wanted = options.get("preconditions") or {}
    words = (("uid", "UID", "UID"), ("resourceVersion", "ResourceVersion", "ResourceVersion"))
    for key, word, meta in words:
        if wanted.get(key) not in {None, metadata[key]}:
            raise conflict(
                place.kind,
                place.name,
                f"Precondition failed: {word} in precondition: {wanted[key]}, "
                f"{meta} in object meta: {metadata[key]}",
            )


def _check_names(place: Place, document: JsonObject) -> None:
    kind, metadata = place.kind, document.get("metadata", {})
    name = metadata.get("name", "")
    if document.get("kind", kind.name) != kind.name:
        raise bad_request(
            f"{document['kind']} in version {document.get('apiVersion')!r} cannot be handled as a {kind.name}"
        )
    if place.name and name != place.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({place.name})"
        )
    if metadata.get("namespace", place.namespace) != place.namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if not name:
        raise invalid(kind, "", "metadata.name: Required value: name or generateName is required")
    if not NAME.fullmatch(name):
        raise invalid(kind, name, "metadata.name: Invalid value: must be a DNS-1123 subdomain")


def _check_versions(place: Place, old: JsonObject, wanted: JsonObject) -> None:
    version = wanted.get("resourceVersion", "")
    if not version and place.kind.needs_version:
        raise invalid(
            place.kind,
            place.name,
            "metadata.resourceVersion: Invalid value: 0x0: must be specified for an update",
        )
    if wanted.get("uid", old["uid"]) != old["uid"]:
        raise conflict(
            place.kind,
            place.name,
            f"Precondition failed: UID in precondition: {wanted['uid']}, UID in object meta: {old['uid']}",
        )
    if version and version != old["resourceVersion"]:
        raise conflict(
            place.kind,
            place.name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )


def _check_content(kind: Kind, document: JsonObject) -> None:
    name = document["metadata"]["name"]
    if kind is POD and not document.get("spec", {}).get("containers"):
        raise invalid(kind, name, "spec.containers: Required value")
    if kind is EVENT:
        _check_event(name, document)
    if kind is SERVICE and not document["spec"].get("ports") and _has_address(document["spec"]):
        raise invalid(kind, name, "spec.ports: Required value")
    if kind is RUNTIME_CLASS and not document.get("handler"):
        raise invalid(kind, name, "handler: Required value")


def _has_address(spec: JsonObject) -> bool:
    return spec.get("type") != "ExternalName" and spec.get("clusterIP") != "None"


def _with_protocols(spec: JsonObject) -> Document:
    return {**spec, "ports": [{"protocol": "TCP", **port} for port in spec.get("ports", ())]}


def _check_fixed_fields(place: Place, old: JsonObject, new: JsonObject) -> None:
    was, becomes = old.get("spec", {}), new.get("spec", {})
    if place.kind is SERVICE and was.get("clusterIP") != becomes.get("clusterIP"):
        raise invalid(place.kind, place.name, "spec.clusterIP: Invalid value: field is immutable")
    if place.kind is RUNTIME_CLASS and old["handler"] != new.get("handler"):
        raise invalid(place.kind, place.name, "handler: Invalid value: field is immutable")


def _check_event(name: str, document: JsonObject) -> None:
    namespace = document["metadata"].get("namespace", "default")
    regarding = document.get("involvedObject", {}).get("namespace", "")
    # What is in no namespace has its events in the default one.
    allowed = {regarding} if regarding else {"default", "kube-system"}
    if namespace not in allowed:
        raise invalid(
            EVENT,
            name,
            f'involvedObject.namespace: Invalid value: "{regarding}": does not match event.namespace',
        )


def _check_pod_update(name: str, old: JsonObject, new: JsonObject) -> None:
    marks = [pod["metadata"].get("annotations", {}).get(CONFIG_MIRROR) for pod in (old, new)]
    if marks[0] != marks[1]:
        raise invalid(
            POD,
            name,
            f"metadata.annotations[{CONFIG_MIRROR}]: Forbidden: may not add, remove or update mirror "
            "pod annotation",
        )
    if _fixed_part(old["spec"]) != _fixed_part(new["spec"]):
        raise _fixed(name)


def _fixed(name: str) -> StatusError:
    return invalid(
        POD,
        name,
        "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`, "
        "`spec.initContainers[*].image`, `spec.activeDeadlineSeconds` or `spec.tolerations` (only "
        "additions to existing tolerations)",
    )


def _fixed_part(spec: JsonObject) -> Document:
    part: Document = {**spec, "activeDeadlineSeconds": None, "tolerations": None}
    for key in ("containers", "initContainers"):
        part[key] = [{**container, "image": ""} for container in spec.get(key, [])]
    return part


def _with_priority(pod: JsonObject) -> Document:
    spec: Mapping[str, Any] = pod["spec"]
    word = spec.get("priorityClassName", "")
    if word not in PRIORITIES:
        raise forbidden(
            POD, pod["metadata"]["name"], f"no PriorityClass with name {word} was found"
        )
    computed = PRIORITIES[word]
    if spec.get("priority", computed) != computed:
        raise forbidden(
            POD,
            pod["metadata"]["name"],
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
            f"priority admission controller computed {computed} from the given PriorityClass name",
        )
    return {**spec, "priority": computed}


def _not_ready(spec: JsonObject) -> Document:
    # A controller takes it off again once the Node's condition Ready is True.
    taints = spec.get("taints", [])
    has_it = any((taint["key"], taint["effect"]) == tuple(NOT_READY.values()) for taint in taints)
    return {**spec, "taints": taints if has_it else [*taints, NOT_READY]}
