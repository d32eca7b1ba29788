"""The Node as the API writes it: the one to create, its status, and what to change of one. Pure.

Patches hold nothing that is not ours and not different, so that what others wrote stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from actors.node.conditions import (
    MEMORY_THRESHOLD,
    STORAGE_THRESHOLD,
    NodeCondition,
    condition_documents,
    conditions_differ,
)
from actors.node.labels import default_labels, label_patch
from actors.node.machine import MachineFacts
from actors.node.rules import NodeRules
from manifests.quantities import amount, is_quantity
from messages.api import ApiRequest, Patch, Verb
from messages.pods import JsonObject
from messages.units import Timestamp

NODES = "/api/v1/nodes"

INTERNAL_IP, HOSTNAME = "InternalIP", "Hostname"
OUR_ADDRESSES = (INTERNAL_IP, HOSTNAME)
"""Addresses of other types belong to a cloud's controller."""
HUGEPAGES = "hugepages-"
"""Before the size of the pages, in names of resources."""


def node_path(name: str) -> str:
    """Return where the Node is."""
    return f"{NODES}/{name}"


def node_labels(rules: NodeRules, facts: MachineFacts) -> dict[str, str]:
    """Return the labels that the Node should have from us; what we were told is the stronger."""
    return {**default_labels(rules.name, facts.architecture), **rules.labels}


def new_node(
    rules: NodeRules, facts: MachineFacts, found: Sequence[NodeCondition], now: Timestamp
) -> JsonObject:
    """Return the Node to create: with its status, so that it is Ready from its first moment on."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": rules.name, "labels": node_labels(rules, facts)},
        "spec": {"taints": list(rules.taints)} if rules.taints else {},
        "status": {
            **_said(machine_status(rules, facts)),
            "conditions": condition_documents(found, (), now),
        },
    }


def creation(node: JsonObject) -> ApiRequest:
    """Return the request that creates ``node``."""
    return ApiRequest(verb=Verb.CREATE, path=NODES, body=node)


def reconciliation(rules: NodeRules, facts: MachineFacts, present: JsonObject) -> ApiRequest | None:
    """Return the request that gives an existing Node our labels; None when it has them.

    Taints are only given at creation, as a kubelet does: who took one off a Node wants it so.
    """
    labels = label_patch(present.get("metadata", {}).get("labels") or {}, node_labels(rules, facts))
    if not labels:
        return None
    patch = {"metadata": {"labels": labels}}
    return ApiRequest(verb=Verb.PATCH, path=node_path(rules.name), body=patch, patch=Patch.MERGE)


def report(
    rules: NodeRules,
    present: JsonObject,
    wanted: JsonObject,
    found: Sequence[NodeCondition],
    now: Timestamp,
) -> ApiRequest:
    """Return the request that makes the status of ``present`` say ``wanted`` and ``found``."""
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
    """Return whether the status of ``present`` says anything else, heartbeats apart."""
    status = present.get("status") or {}
    return bool(_changes(status, wanted)) or conditions_differ(
        found, status.get("conditions") or ()
    )


def machine_status(rules: NodeRules, facts: MachineFacts) -> JsonObject:
    """Return the part of the status that describes the machine: all but the conditions."""
    capacity = _capacity(rules, facts)
    port = rules.endpoint_port
    return {
        "addresses": [
            *({"type": INTERNAL_IP, "address": address} for address in facts.addresses),
            {"type": HOSTNAME, "address": rules.name},
        ],
        "capacity": capacity,
        "allocatable": {**capacity, **_less_than_capacity(facts)},
        "nodeInfo": _node_info(rules, facts),
        **({"daemonEndpoints": {"kubeletEndpoint": {"Port": port}}} if port else {}),
    }


def without_leftovers(wanted: JsonObject, present: JsonObject) -> JsonObject:
    """Return the status ``wanted`` with none of the extended resources that ``present`` counts.

    For a Node that somebody else kept until now: a kubelet, say, whose device plugins offered them, and
    nobody else takes them back. They become 0 and stay listed, as with a kubelet that begins.
    """
    status = present.get("status") or {}

    def rid(key: str) -> dict[str, str]:
        leftovers = filter(_is_extended_resource, status.get(key) or {})
        return {**dict.fromkeys(leftovers, "0"), **wanted[key]}

    return {**wanted, "capacity": rid("capacity"), "allocatable": rid("allocatable")}


def _is_extended_resource(name: str) -> bool:
    """Return whether it is of some vendor's domain: Kubernetes' own have none, or ``kubernetes.io``."""
    return "/" in name and "kubernetes.io/" not in name


def _said(status: JsonObject) -> JsonObject:
    """Return ``status`` without what is empty in the description of the machine."""
    info = {key: value for key, value in status["nodeInfo"].items() if value}
    return {**status, "nodeInfo": info}


def _capacity(rules: NodeRules, facts: MachineFacts) -> dict[str, str]:
    return {
        "cpu": str(facts.cpus),
        "memory": f"{facts.memory // 1024}Ki",
        "ephemeral-storage": f"{facts.storage // 1024}Ki",
        "pods": str(rules.max_pods),
        **{f"{HUGEPAGES}{_binary(size)}": _binary(all_) for size, all_ in facts.hugepages.items()},
    }


def _less_than_capacity(facts: MachineFacts) -> dict[str, str]:
    """Return what pods can have where that is less: eviction keeps some free, huge pages are apart."""
    memory = facts.memory - MEMORY_THRESHOLD - sum(facts.hugepages.values())
    storage = facts.storage - int(facts.storage * STORAGE_THRESHOLD)
    return {"memory": f"{max(0, memory) // 1024}Ki", "ephemeral-storage": str(storage)}


def _node_info(rules: NodeRules, facts: MachineFacts) -> dict[str, str]:
    return {
        "machineID": facts.machine_id,
        "systemUUID": facts.system_uuid,
        "bootID": facts.boot_id,
        "kernelVersion": facts.kernel,
        "osImage": facts.os_image,
        "operatingSystem": "linux",
        "architecture": facts.architecture,
        # Clients parse it as a semantic version, and it is no kubelet's: ours, marked as ours in the
        # part that comparisons of versions leave out.
        "kubeletVersion": f"v{rules.version}+actorlet",
        "kubeProxyVersion": "",
        "containerRuntimeVersion": f"actorlet://{rules.version}",
    }


def _changes(status: JsonObject, wanted: JsonObject) -> dict[str, Any]:
    """Return the parts of ``wanted`` that ``status`` has otherwise, as a strategic patch."""
    changes: dict[str, Any] = {}
    addresses = status.get("addresses") or ()
    ours = _our_addresses(addresses, wanted["addresses"])
    if [each for each in addresses if _is_ours(each)] != ours:
        others = [each for each in addresses if not _is_ours(each)]
        # The API calls this list a map by type, which loses one of two addresses of a type.
        changes["addresses"] = [*ours, *others, {"$patch": "replace"}]
    for key in ("capacity", "allocatable", "nodeInfo", "daemonEndpoints"):
        differing = _differing(status.get(key) or {}, wanted.get(key) or {})
        if differing:
            changes[key] = differing
    return changes


def _differing(present: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    differing = {
        key: value
        for key, value in wanted.items()
        # What is empty may be left out, by us or by the API server.
        if (present.get(key) or "") != value and not _is_same_amount(present.get(key), value)
    }
    # Sizes of huge pages are the machine's alone, and a null takes one away.
    vanished = (key for key in present if key.startswith(HUGEPAGES) and key not in wanted)
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
    """Return ``wanted``; where it has no IP address, with those that the Node has.

    A machine shows none while its default route is lost, and who reached it may still do so.
    """
    if any(each["type"] == INTERNAL_IP for each in wanted):
        return wanted
    return [*(each for each in present if each.get("type") == INTERNAL_IP), *wanted]


def _binary(number: int) -> str:
    """Return ``number`` with the largest unit that leaves it whole: ``2Mi``, ``0``."""
    units = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
    while number and number % 1024 == 0 and len(units) > 1:
        number //= 1024
        units.pop(0)
    return f"{number}{units[0]}"
