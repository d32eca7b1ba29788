"""The variables that tell a container where the Services are. Pure.

A pod sees the Services of its own namespace, unless it sets ``enableServiceLinks`` to false, and in any
case ``kubernetes`` in the namespace ``default``: the API server. A Service of this name in the pod's own
namespace takes its place.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from messages.pods import JsonObject, Pod
from messages.services import ClusterPort, ClusterService

_MASTER: Final = ("default", "kubernetes")


def service_variables(pod: Pod, services: Iterable[ClusterService]) -> dict[str, str]:
    """Return the variables of the Services that ``pod`` sees, by the names of these."""
    variables: dict[str, str] = {}
    for service in sorted(_seen(pod, services), key=lambda each: each.name):
        variables |= _variables(service)
    return variables


def has_service_links(pod: Pod) -> bool:
    """Return whether ``pod`` wants to know of the Services of its namespace."""
    spec: JsonObject = pod.document.get("spec") or {}
    return spec.get("enableServiceLinks") is not False


def _seen(pod: Pod, services: Iterable[ClusterService]) -> Iterable[ClusterService]:
    links = has_service_links(pod)
    seen: dict[str, ClusterService] = {}
    for service in services:
        if links and service.namespace == pod.namespace:
            seen[service.name] = service
        elif (service.namespace, service.name) == _MASTER:
            seen.setdefault(service.name, service)
    return seen.values()


def _variables(service: ClusterService) -> dict[str, str]:
    name, ports = _upper(service.name), service.ports
    variables = {f"{name}_SERVICE_HOST": service.address}
    if ports:
        variables[f"{name}_SERVICE_PORT"] = str(ports[0].port)
    for each in ports:
        if each.name:
            variables[f"{name}_SERVICE_PORT_{_upper(each.name)}"] = str(each.port)
    if ports:
        variables[f"{name}_PORT"] = _url(service, ports[0])
    for each in ports:
        variables |= _link(service, each, f"{name}_PORT_{each.port}_{each.protocol.upper()}")
    return variables


def _link(service: ClusterService, port: ClusterPort, prefix: str) -> dict[str, str]:
    """Return the variables of one port, as Docker's links had them."""
    return {
        prefix: _url(service, port),
        f"{prefix}_PROTO": port.protocol.lower(),
        f"{prefix}_PORT": str(port.port),
        f"{prefix}_ADDR": service.address,
    }


def _url(service: ClusterService, port: ClusterPort) -> str:
    host = f"[{service.address}]" if ":" in service.address else service.address
    return f"{port.protocol.lower()}://{host}:{port.port}"


def _upper(name: str) -> str:
    return name.upper().replace("-", "_")
