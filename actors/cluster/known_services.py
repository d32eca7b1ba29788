"""What is known of the cluster's Services: as much as variables need, by namespace. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from messages.cluster import ClusterPort, ClusterService, ClusterServices
from messages.pods import JsonObject
from messages.watches import ObjectOp

_MASTER: Final = ("default", "kubernetes")
"""The API server's own Service, which pods of every namespace are told of."""


class KnownServices:
    """The Services that have an address, by namespace.

    A Service without an address, and one that cannot be read, is as if it were not there.
    """

    def __init__(self) -> None:
        self._namespaces: dict[str, dict[str, ClusterService]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._namespaces.values()))

    def replace(self, objects: Iterable[JsonObject]) -> None:
        """Replace all of them by those of ``objects``. What does not change stays the identical object."""
        before, self._namespaces = self._namespaces, {}
        for document in objects:
            service = service_of(document)
            if service is not None:
                known = before.get(service.namespace, {}).get(service.name)
                self._put(known if known == service else service)

    def change(self, op: ObjectOp, document: JsonObject) -> bool:
        """Take in one event; return whether that changes what any pod is told."""
        metadata = _mapping(document.get("metadata"))
        namespace, name = str(metadata.get("namespace")), str(metadata.get("name"))
        service = None if op is ObjectOp.DELETED else service_of(document)
        before = self._namespaces.get(namespace, {}).get(name)
        if service == before:
            return False
        if service is not None:
            self._put(service)
        else:
            del self._namespaces[namespace][name]
            if not self._namespaces[namespace]:
                del self._namespaces[namespace]
        return True

    def of(self, namespace: str) -> ClusterServices:
        """Return what pods of ``namespace`` are told of, by name. If it is empty: the API server's alone."""
        return tuple(sorted(self._seen_by(namespace), key=lambda each: (each.name, each.namespace)))

    def _seen_by(self, namespace: str) -> Iterator[ClusterService]:
        yield from self._namespaces.get(namespace, {}).values()
        of_master, master = _MASTER
        found = self._namespaces.get(of_master, {}).get(master)
        if found is not None and namespace != of_master:
            yield found

    def _put(self, service: ClusterService) -> None:
        self._namespaces.setdefault(service.namespace, {})[service.name] = service


def service_of(document: JsonObject) -> ClusterService | None:
    """Return what ``document`` says; None if it is no Service with an address and ports."""
    metadata, spec = _mapping(document.get("metadata")), _mapping(document.get("spec"))
    name, namespace = metadata.get("name"), metadata.get("namespace")
    address, ports = spec.get("clusterIP"), spec.get("ports")
    if not (isinstance(name, str) and isinstance(namespace, str) and isinstance(address, str)):
        return None
    if address in {"", "None"} or not isinstance(ports, list):
        return None
    found = tuple(filter(None, map(_port, ports)))
    if not found:
        return None
    return ClusterService(namespace=namespace, name=name, address=address, ports=found)


def _port(document: object) -> ClusterPort | None:
    port = _mapping(document)
    number = port.get("port")
    if not isinstance(number, int):
        return None
    return ClusterPort(number, str(port.get("protocol") or "TCP"), str(port.get("name") or ""))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
