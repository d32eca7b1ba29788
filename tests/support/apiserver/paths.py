"""Where objects live at the API server: kinds, paths and field selectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from messages.pods import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of objects that the API server of the tests keeps."""

    name: str
    plural: str
    group: str = ""
    is_namespaced: bool = True
    selectable: frozenset[str] = frozenset()
    """Fields for selectors, besides the name and the namespace."""
    needs_version: bool = False
    """An update without a resourceVersion is refused."""
    created_by_update: bool = False
    """An update of an object that is not there creates it."""
    has_status: bool = False
    """It has the ``/status`` subresource: without it nothing touches the status."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/v1" if self.group else "v1"

    @property
    def qualified(self) -> str:
        """The plural with the group, as in messages."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def root(self) -> str:
        return f"/apis/{self.group}/v1" if self.group else "/api/v1"


POD = Kind(
    name="Pod",
    plural="pods",
    selectable=frozenset({"spec.nodeName", "status.phase"}),
    has_status=True,
)
NODE = Kind(name="Node", plural="nodes", is_namespaced=False, has_status=True)
NAMESPACE = Kind(name="Namespace", plural="namespaces", is_namespaced=False, has_status=True)
SECRET = Kind(name="Secret", plural="secrets", selectable=frozenset({"type"}))
CONFIG_MAP = Kind(name="ConfigMap", plural="configmaps")
EVENT = Kind(
    name="Event",
    plural="events",
    selectable=frozenset(
        {"involvedObject.kind", "involvedObject.name", "involvedObject.uid", "reason", "type"}
    ),
    created_by_update=True,
)
LEASE = Kind(
    name="Lease",
    plural="leases",
    group="coordination.k8s.io",
    needs_version=True,
    created_by_update=True,
)
SERVICE_ACCOUNT = Kind(name="ServiceAccount", plural="serviceaccounts")
SERVICE = Kind(name="Service", plural="services")
RUNTIME_CLASS = Kind(
    name="RuntimeClass", plural="runtimeclasses", group="node.k8s.io", is_namespaced=False
)
KINDS = (
    *(POD, NODE, NAMESPACE, SECRET, CONFIG_MAP, EVENT, LEASE),
    *(SERVICE_ACCOUNT, SERVICE, RUNTIME_CLASS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a path points at: an object, or a collection when there is no name."""

    kind: Kind
    namespace: str = ""
    """Empty for cluster-scoped objects, and for a collection of all namespaces."""
    name: str = ""
    subresource: str = ""

    @property
    def path(self) -> str:
        namespaces = ("namespaces", self.namespace) if self.namespace else ()
        parts = (*namespaces, self.kind.plural, self.name, self.subresource)
        return "/".join((self.kind.root, *filter(None, parts)))


def place_of(path: str) -> Place | None:
    """Return what ``path`` points at; None when the API server of the tests has no such thing."""
    match path.strip("/").split("/"):
        case ["api", "v1", first, *more]:
            group, rest = "", [first, *more]
        case ["apis", group, "v1", first, *more]:
            rest = [first, *more]
        case _:
            return None
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in {"status", "finalize"}:
        namespace, rest = rest[1], rest[2:]
    kind = next((kind for kind in KINDS if (kind.group, kind.plural) == (group, rest[0])), None)
    if kind is None or len(rest) > 3 or (namespace and not kind.is_namespaced):
        return None
    name, subresource = (*rest[1:], "", "")[:2]
    if name and kind.is_namespaced and not namespace:
        return None
    return Place(kind=kind, namespace=namespace, name=name, subresource=subresource)


def place_for(document: JsonObject) -> Place:
    """Return the collection that ``document`` is created in: namespace ``default`` unless it says."""
    kind = kind_named(document["kind"])
    namespace = document["metadata"].get("namespace", "default") if kind.is_namespaced else ""
    return Place(kind=kind, namespace=namespace)


def kind_named(word: str) -> Kind:
    """Return the kind whose name or plural is ``word``."""
    return next(kind for kind in KINDS if word in {kind.name, kind.plural})


def field_of(document: JsonObject, path: str) -> str:
    """Return the field that a selector names, empty when it is not there."""

    found: Any = document
    for key in path.split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return str(found or "")


def requirements(selector: str) -> list[tuple[str, bool, str]]:
    """Return field, whether it should equal, and value, of each part of a field selector."""
    return [_requirement(part) for part in selector.split(",") if part]


def _requirement(part: str) -> tuple[str, bool, str]:
    if "!=" in part:
        name, _, value = part.partition("!=")
        return name, False, value
    name, _, value = part.replace("==", "=").partition("=")
    return name, True, value


def is_selected(document: JsonObject, selector: str) -> bool:
    """Return whether ``document`` is one that the field selector wants."""
    return all(
        (field_of(document, name) == value) == equal
        for name, equal, value in requirements(selector)
    )


def unsupported_field(kind: Kind, selector: str) -> str:
    """Return the first field that ``kind`` cannot be selected by; empty when all are fine."""
    known = {"metadata.name", "metadata.namespace", *kind.selectable}
    return next((name for name, _, _ in requirements(selector) if name not in known), "")
