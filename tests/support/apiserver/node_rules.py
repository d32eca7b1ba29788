"""What a user ``system:node:NAME`` may do: the Node authorizer, its role, and NodeRestriction.

By default as API servers up to 1.30, where a node reads all pods and nodes. ``strict`` ones, the default
since 1.32, show it only its own: lists need a selector, and a pod that is not bound to it is forbidden
even when there is none. The authorizer comes before the object, so both are refused in the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from messages.api import Verb
from messages.pods import CONFIG_MIRROR, JsonObject
from tests.support.apiserver.paths import (
    CONFIG_MAP,
    EVENT,
    LEASE,
    NAMESPACE,
    NODE,
    POD,
    RUNTIME_CLASS,
    SECRET,
    SERVICE,
    SERVICE_ACCOUNT,
    Kind,
    Place,
    requirements,
)
from tests.support.apiserver.status import forbidden, not_found

LEASES = "kube-node-lease"
RESTRICTED = "node-restriction.kubernetes.io"
OWN_LABELS = frozenset(
    {
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "node.kubernetes.io/instance-type",
        "beta.kubernetes.io/instance-type",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
    }
)
"""Labels of Kubernetes' own domains that a node may set on itself."""
OWN_PREFIXES = ("kubelet.kubernetes.io", "node.kubernetes.io")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a node wants to do."""

    node: str
    verb: Verb
    place: Place
    selector: str
    pods: Sequence[JsonObject]
    """All there are."""
    strict: bool

    @property
    def reads(self) -> bool:
        return self.verb is Verb.GET

    @property
    def changes(self) -> bool:
        return self.verb in {Verb.UPDATE, Verb.PATCH}

    def selected(self, field: str) -> str:
        """Return the one value that the selector leaves for ``field``; empty if there are many."""
        parts = requirements(self.selector)
        return next((value for name, equal, value in parts if equal and name == field), "")


def check_access(asked: Asked) -> None:
    """Raise ``StatusError`` when the authorizers do not let the node try."""
    node, verb, place = asked.node, asked.verb, asked.place
    if not _MAY[place.kind](asked):
        word = "list" if asked.reads and not place.name else verb.name.lower()
        where = (
            f'in the namespace "{place.namespace}"' if place.namespace else "at the cluster scope"
        )
        raise forbidden(
            place.kind,
            place.name,
            f'User "system:node:{node}" cannot {word} resource "{_resource(place)}" '
            f'in API group "{place.kind.group}" {where}{_why(asked)}',
        )


def check_pod_create(node: str, pod: JsonObject, node_uid: str | None) -> None:
    """Raise ``StatusError`` unless ``pod`` is a mirror pod that ``node`` may create (rule M19)."""
    name = pod["metadata"]["name"]
    why = _mirror_trouble(node, pod) or _reference_trouble(pod["spec"])
    if why:
        raise forbidden(POD, name, why)
    if node_uid is None:
        raise not_found(NODE, node)
    uid = pod["metadata"]["ownerReferences"][0].get("uid")
    if uid != node_uid:
        raise forbidden(POD, name, f"node {node} UID mismatch: expected {node_uid} got {uid}")


def check_pod_change(node: str, old: JsonObject, new: JsonObject | None) -> None:
    """Raise ``StatusError`` unless ``node`` may change or, with ``new`` None, delete its pod."""
    name = old["metadata"]["name"]
    if old["spec"].get("nodeName") != node:
        raise forbidden(
            POD, name, f'node "{node}" can only change pods with spec.nodeName set to itself'
        )
    if new is not None and new["metadata"].get("labels") != old["metadata"].get("labels"):
        raise forbidden(POD, name, f'node "{node}" cannot update labels through pod status')


def check_node(node: str, old: JsonObject | None, new: JsonObject) -> None:
    """Raise ``StatusError`` unless ``node`` may register itself, or change itself, as ``new``."""
    name = new["metadata"]["name"]
    if name != node:
        raise forbidden(NODE, name, f'node "{node}" is not allowed to modify node "{name}"')
    before = (old or {}).get("metadata", {}).get("labels") or {}
    after = new["metadata"].get("labels") or {}
    changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
    wrong = sorted(filter(_is_forbidden_label, changed))
    if wrong:
        raise forbidden(NODE, name, f"is not allowed to modify labels: {', '.join(wrong)}")
    if old is not None and _taints(old) != _taints(new):
        raise forbidden(NODE, name, f'node "{node}" is not allowed to modify taints')


def check_lease(node: str, lease: JsonObject) -> None:
    """Raise ``StatusError`` unless ``lease`` is the one that ``node`` may create."""
    name = lease["metadata"]["name"]
    if name != node:
        raise forbidden(LEASE, name, f'node "{node}" can only access lease "{node}"')


def references(spec: JsonObject) -> frozenset[tuple[Kind, str]]:
    """Return the Secrets and ConfigMaps that a pod's spec names."""
    pulls = {
        (SECRET, item["name"]) for item in spec.get("imagePullSecrets") or () if "name" in item
    }
    return frozenset({*_named(spec), *pulls})


def _mirror_trouble(node: str, pod: JsonObject) -> str:
    owners = pod["metadata"].get("ownerReferences") or []
    owner: Mapping[str, Any] = owners[0] if owners else {}
    is_node = (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) == (
        "v1",
        "Node",
        node,
    )
    annotations = pod["metadata"].get("annotations") or {}
    rules = (
        (
            CONFIG_MIRROR in annotations,
            f'pod does not have "{CONFIG_MIRROR}" annotation, node "{node}" can only create mirror pods',
        ),
        (
            pod["spec"].get("nodeName") == node,
            f'node "{node}" can only create pods with spec.nodeName set to itself',
        ),
        (
            len(owners) == 1 and is_node,
            f'node "{node}" can only create pods with a single owner reference set to itself',
        ),
        (
            owner.get("controller") is True,
            f'node "{node}" can only create pods with a controller owner reference set to itself',
        ),
        (
            not owner.get("blockOwnerDeletion"),
            f'node "{node}" must not set blockOwnerDeletion on an owner reference',
        ),
    )
    return next((why for is_fine, why in rules if not is_fine), "")


def _reference_trouble(spec: JsonObject) -> str:
    kinds = {kind for kind, _ in references(spec)}
    volumes = spec.get("volumes") or ()
    rules = (
        (not spec.get("serviceAccountName"), "a service account"),
        (SECRET not in kinds, "secrets"),
        (CONFIG_MAP not in kinds, "configmaps"),
        (
            not any("persistentVolumeClaim" in volume for volume in volumes),
            "persistentvolumeclaims",
        ),
    )
    what = next((what for is_fine, what in rules if not is_fine), "")
    return f"node can not create pods that reference {what}" if what else ""


def _named(value: Any) -> Iterator[tuple[Kind, str]]:
    """Give what is named by any ``secretRef``, ``configMapKeyRef`` and the like, at any depth."""
    if isinstance(value, list):
        for item in value:
            yield from _named(item)
    if not isinstance(value, Mapping):
        return
    for key, item in value.items():
        kind = next((kind for word, kind in _WORDS if word in key.lower()), None)
        if kind is not None and isinstance(item, Mapping):
            yield from ((kind, item[word]) for word in ("name", "secretName") if word in item)
        yield from _named(item)


_WORDS = (("secret", SECRET), ("configmap", CONFIG_MAP))


def _is_forbidden_label(key: str) -> bool:
    domain = key.partition("/")[0] if "/" in key else ""

    def within(*domains: str) -> bool:
        return any(domain == one or domain.endswith(f".{one}") for one in domains)

    if within(RESTRICTED):
        return True
    return within("kubernetes.io", "k8s.io") and key not in OWN_LABELS and not within(*OWN_PREFIXES)


def _taints(node: JsonObject) -> list[Any]:
    return node.get("spec", {}).get("taints") or []


def _why(asked: Asked) -> str:
    """Return what the authorizer adds; what it has nothing to say about is refused without a reason."""
    place = asked.place
    if place.subresource == "token" or (
        place.kind in {POD, SECRET, CONFIG_MAP} and asked.reads and place.name
    ):
        return f": no relationship found between node '{asked.node}' and this object"
    if asked.place.kind is POD and asked.reads:
        return ": can only list/watch pods with spec.nodeName field selector"
    return ""


def _resource(place: Place) -> str:
    return "/".join(filter(None, (place.kind.plural, place.subresource)))


def _never(_asked: Asked) -> bool:
    return False


def _pods(asked: Asked) -> bool:
    place, node = asked.place, asked.node
    if asked.changes:
        return place.subresource == "status"
    if not asked.reads or not asked.strict:
        return True
    if not place.name:
        return asked.selected("spec.nodeName") == node
    return any(
        (pod["metadata"]["namespace"], pod["metadata"]["name"]) == (place.namespace, place.name)
        for pod in _bound(asked)
    )


def _nodes(asked: Asked) -> bool:
    if asked.reads and asked.strict:
        return asked.node in {asked.place.name, asked.selected("metadata.name")}
    return asked.verb is not Verb.DELETE


def _reads(asked: Asked) -> bool:
    return asked.reads


def _leases(asked: Asked) -> bool:
    own_names = {asked.node, ""} if asked.verb is Verb.CREATE else {asked.node}
    return asked.place.namespace == LEASES and asked.place.name in own_names


def _events(asked: Asked) -> bool:
    return asked.verb is Verb.CREATE or asked.changes


def _objects(asked: Asked) -> bool:
    """Secrets and ConfigMaps: one by one, when a pod of the node names them. Mirrors do not count."""
    place = asked.place
    name = place.name or asked.selected("metadata.name")
    return asked.reads and any(
        (place.kind, name) in references(pod["spec"])
        for pod in _bound(asked)
        if pod["metadata"]["namespace"] == place.namespace
        and CONFIG_MIRROR not in (pod["metadata"].get("annotations") or {})
    )


def _tokens(asked: Asked) -> bool:
    """Tokens of the service accounts that pods of the node run as. Mirrors do not count."""
    place = asked.place
    return (asked.verb, place.subresource) == (Verb.CREATE, "token") and any(
        pod["spec"].get("serviceAccountName") == place.name
        for pod in _bound(asked)
        if pod["metadata"]["namespace"] == place.namespace
        and CONFIG_MIRROR not in (pod["metadata"].get("annotations") or {})
    )


def _bound(asked: Asked) -> Iterator[JsonObject]:
    return (pod for pod in asked.pods if pod["spec"].get("nodeName") == asked.node)


_MAY: Mapping[Kind, Callable[[Asked], bool]] = {
    POD: _pods,
    NODE: _nodes,
    NAMESPACE: _never,
    LEASE: _leases,
    EVENT: _events,
    SECRET: _objects,
    CONFIG_MAP: _objects,
    SERVICE_ACCOUNT: _tokens,
    SERVICE: _reads,
    RUNTIME_CLASS: _reads,
}
