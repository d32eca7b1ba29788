"""The Node as a document of the API: the one to create, its status, and patches of an existing one. Pure.

Patches hold only fields that are the agent's own and that differ. What others wrote stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from actors.node.conditions import (
    NodeCondition,
    condition_documents,
    conditions_differ,
)
from actors.node.machine import MachineFacts
from actors.node.rules import HUGEPAGES, NodeRules, allocatable, capacity, written
from manifests.names import label_value
from manifests.quantities import amount, is_quantity
from manifests.requests import STORAGE, is_extended
from messages.api import ApiRequest, Patch, Verb
from messages.pods import JsonObject
from messages.units import Timestamp

NODES = "/api/v1/nodes"

INTERNAL_IP, HOSTNAME = "InternalIP", "Hostname"
OUR_ADDRESSES = (INTERNAL_IP, HOSTNAME)
"""The agent's own types of addresses. Others belong to a cloud's controller."""
ATTACH_DETACH = "volumes.kubernetes.io/controller-managed-attach-detach"
"""Says that a controller attaches the Node's volumes. Without it the controller leaves them to the node."""
OUR_ANNOTATIONS = (ATTACH_DETACH,)
"""The agent's own annotations. All others are left alone."""
HOSTNAME_LABEL = "kubernetes.io/hostname"
VOLUMES_IN_USE = "volumesInUse"
"""The field of the status by which a controller knows which disks it must not detach from the machine."""


def node_path(name: str) -> str:
    """Return the path of the Node called ``name``."""
    return f"{NODES}/{name}"


def node_labels(rules: NodeRules, facts: MachineFacts) -> dict[str, str]:
    """Return the labels that the agent sets. The runtime's override the default ones, and configured all."""
    return {**default_labels(rules.name, facts.architecture), **facts.labels, **rules.labels}


def node_annotations(rules: NodeRules) -> dict[str, str]:
    """Return the annotations that the agent sets."""
    return {ATTACH_DETACH: "true"} if rules.has_volumes_attached else {}


def new_node(
    rules: NodeRules,
    facts: MachineFacts,
    found: Sequence[NodeCondition],
    now: Timestamp,
    in_use: Sequence[str] = (),
) -> JsonObject:
    """Return the Node to create. It comes with its status, so it is Ready from the first moment on.

    ``in_use`` are the volumes that the Node before it said are in use.
    """
    taints = facts.taints if rules.taints is None else rules.taints
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": rules.name,
            "labels": node_labels(rules, facts),
            "annotations": node_annotations(rules),
        },
        "spec": {"taints": list(taints)} if taints else {},
        "status": {
            **_said(machine_status(rules, facts)),
            **({VOLUMES_IN_USE: list(in_use)} if in_use else {}),
            "conditions": condition_documents(found, (), now),
        },
    }


def creation(node: JsonObject) -> ApiRequest:
    """Return the request that creates ``node``."""
    return ApiRequest(verb=Verb.CREATE, path=NODES, body=node)


def reconciliation(rules: NodeRules, facts: MachineFacts, present: JsonObject) -> ApiRequest | None:
    """Return the request that gives an existing Node the agent's labels and annotation; None if it has them.

    Taints are set at creation only, as by a kubelet: whoever removed one from a Node wanted that.
    """
    metadata = present.get("metadata", {})
    labels = label_patch(metadata.get("labels") or {}, node_labels(rules, facts))
    annotations = _annotation_patch(metadata.get("annotations") or {}, node_annotations(rules))
    patches = {"labels": labels, "annotations": annotations}
    patch = {"metadata": {key: value for key, value in patches.items() if value}}
    if not patch["metadata"]:
        return None
    return ApiRequest(verb=Verb.PATCH, path=node_path(rules.name), body=patch, patch=Patch.MERGE)


def _annotation_patch(
    present: Mapping[str, str], wanted: Mapping[str, str]
) -> dict[str, str | None]:
    """Return the agent's annotations as they should become; None removes one."""
    return {key: wanted.get(key) for key in OUR_ANNOTATIONS if present.get(key) != wanted.get(key)}


def report(
    rules: NodeRules,
    present: JsonObject,
    wanted: JsonObject,
    found: Sequence[NodeCondition],
    now: Timestamp,
) -> ApiRequest:
    """Return the request that makes ``wanted`` and the conditions ``found`` the status of ``present``."""
    status = present.get("status") or {}
    previous = status.get("conditions") or ()
    body = {**_changes(status, wanted), "conditions": condition_documents(found, previous, now)}
    return ApiRequest(
        verb=Verb.PATCH,
        path=f"{node_path(rules.name)}/status",
        body={"status": body},
        patch=Patch.STRATEGIC,
    )


def has_news(present: JsonObject, wanted: JsonObject, found: Sequence[NodeCondition]) -> bool:
    """Return whether the status of ``present`` differs from that, apart from heartbeats."""
    status = present.get("status") or {}
    return bool(_changes(status, wanted)) or conditions_differ(
        found, status.get("conditions") or ()
    )


def machine_status(rules: NodeRules, facts: MachineFacts) -> JsonObject:
    """Return the part of the status that describes the machine: all but the conditions."""
    port = rules.endpoint_port
    return {
        "addresses": [
            *({"type": INTERNAL_IP, "address": address} for address in facts.addresses),
            {"type": HOSTNAME, "address": rules.name},
        ],
        "capacity": written(capacity(rules.resources, facts)),
        "allocatable": written(allocatable(rules.resources, facts)),
        "nodeInfo": _node_info(rules, facts),
        **({"daemonEndpoints": {"kubeletEndpoint": {"Port": port}}} if port else {}),
    }


def volumes_in_use(node: JsonObject) -> tuple[str, ...]:
    """Return the names of the volumes that a Node says are in use."""
    return tuple((node.get("status") or {}).get(VOLUMES_IN_USE) or ())


def with_volumes_in_use(
    wanted: JsonObject, present: JsonObject, names: Sequence[str]
) -> JsonObject:
    """Return the status ``wanted`` with the volumes in use of ``present``, and those called ``names``."""
    return {**wanted, VOLUMES_IN_USE: [*dict.fromkeys((*volumes_in_use(present), *names))]}


def without_leftovers(wanted: JsonObject, present: JsonObject) -> JsonObject:
    """Return the status ``wanted`` with 0 of each extended resource that ``present`` counts.

    This is for a Node that a kubelet reported until now. Its device plugins offered these resources, and
    nobody else takes them back. They stay listed with 0, as after the start of a kubelet.
    """
    status = present.get("status") or {}

    def rid(key: str) -> dict[str, str]:
        leftovers = filter(is_extended, status.get(key) or {})
        return {**dict.fromkeys(leftovers, "0"), **wanted[key]}

    return {**wanted, "capacity": rid("capacity"), "allocatable": rid("allocatable")}


def _said(status: JsonObject) -> JsonObject:
    """Return ``status`` without the empty fields of the machine's description."""
    info = {key: value for key, value in status["nodeInfo"].items() if value}
    return {**status, "nodeInfo": info}


def _node_info(rules: NodeRules, facts: MachineFacts) -> dict[str, str]:
    runtime = f"actorlet://{rules.version}" if facts.runtime is None else facts.runtime
    return {
        "machineID": facts.machine_id,
        "systemUUID": facts.system_uuid,
        "bootID": facts.boot_id,
        "kernelVersion": facts.kernel,
        "osImage": facts.os_image,
        "operatingSystem": "linux",
        "architecture": facts.architecture,
        # Clients parse it as a semantic version. It is the agent's own, not a kubelet's, and says so
        # in the build part, which comparisons of versions leave out.
        "kubeletVersion": f"v{rules.version}+actorlet",
        "kubeProxyVersion": "",
        # A version that is not known yet stays as it was said last.
        **({"containerRuntimeVersion": runtime} if runtime else {}),
    }


def _changes(status: JsonObject, wanted: JsonObject) -> dict[str, Any]:
    """Return the parts of ``wanted`` that differ in ``status``, as a strategic patch."""
    changes: dict[str, Any] = {}
    addresses = status.get("addresses") or ()
    ours = _our_addresses(addresses, wanted["addresses"])
    if [each for each in addresses if _is_ours(each)] != ours:
        others = [each for each in addresses if not _is_ours(each)]
        # The API merges this list by type, which would lose one of two addresses of a type.
        changes["addresses"] = [*ours, *others, {"$patch": "replace"}]
    for key in ("capacity", "allocatable", "nodeInfo", "daemonEndpoints"):
        differing = _differing(status.get(key) or {}, wanted.get(key) or {})
        if differing:
            changes[key] = differing
    in_use = wanted.get(VOLUMES_IN_USE)
    if in_use is not None and in_use != status.get(VOLUMES_IN_USE):
        changes[VOLUMES_IN_USE] = in_use
    return changes


def _differing(present: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    differing = {
        key: value
        for key, value in wanted.items()
        # A missing field and an empty one mean the same.
        if (present.get(key) or "") != value and not _is_same_amount(present.get(key), value)
    }
    # Storage and sizes of huge pages are told by the agent alone. A null removes one.
    ours = (key for key in present if key == STORAGE or key.startswith(HUGEPAGES))
    vanished = (key for key in ours if key not in wanted)
    return {**differing, **dict.fromkeys(vanished)}


def _is_same_amount(one: object, other: object) -> bool:
    # The API server writes amounts in its own way: 1024Ki come back as 1Mi.
    if not (isinstance(one, str) and isinstance(other, str)):
        return False
    return is_quantity(one) and is_quantity(other) and amount(one) == amount(other)


def _is_ours(address: JsonObject) -> bool:
    return address.get("type") in OUR_ADDRESSES


def _our_addresses(
    present: Sequence[JsonObject], wanted: Sequence[JsonObject]
) -> Sequence[JsonObject]:
    """Return ``wanted``, with the Node's present IP addresses if it has none itself.

    A machine without a default route shows no address. Clients may still reach it by the earlier one.
    """
    if any(each["type"] == INTERNAL_IP for each in wanted):
        return wanted
    return [*(each for each in present if each.get("type") == INTERNAL_IP), *wanted]


def default_labels(hostname: str, architecture: str) -> dict[str, str]:
    """Return the labels of every Node.

    The ``beta`` labels are deprecated since 1.14, but kubelets still set them and node selectors still
    ask for them. A host name that is no valid label value is left out: the API server would refuse the
    Node with it.
    """
    machine = {"kubernetes.io/os": "linux", "kubernetes.io/arch": architecture}
    beta = {f"beta.{key}": value for key, value in machine.items()}
    name = {} if label_value(hostname) else {HOSTNAME_LABEL: hostname}
    return {**beta, **machine, **name}


def label_patch(present: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of ``wanted`` that are missing or different in ``present``."""
    return {key: value for key, value in wanted.items() if present.get(key) != value}
