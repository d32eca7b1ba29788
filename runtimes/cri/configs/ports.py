"""Which ports of a pod are reached by ports of the node. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from messages.pods import JsonObject, Pod
from runtimes.cri.configs.documents import lasting_containers, spec_of
from runtimes.cri.configs.namespaces import is_on_host_network
from runtimes.cri.configs.refusals import never_possible
from runtimes.cri.wire import cri_pb2 as cri

MAX_PORT: Final = 65535
_PROTOCOLS: Final[Mapping[str, cri.Protocol]] = {"TCP": cri.TCP, "UDP": cri.UDP, "SCTP": cri.SCTP}


def port_mappings(pod: Pod) -> tuple[cri.PortMapping, ...]:
    """Return the mappings of all containers that last. On the node's network there is nothing to map."""
    spec = spec_of(pod)
    return () if is_on_host_network(spec) else tuple(_mappings(spec))


def _mappings(spec: JsonObject) -> Iterator[cri.PortMapping]:
    for container in lasting_containers(spec):
        for port in container.get("ports") or ():
            number, on_host = port.get("containerPort") or 0, port.get("hostPort") or 0
            protocol = _PROTOCOLS.get(port.get("protocol") or "TCP")
            if protocol is None or not (0 < number <= MAX_PORT and 0 <= on_host <= MAX_PORT):
                raise never_possible(
                    f"container {container.get('name')} has a port that there cannot be: "
                    f"{port.get('protocol')} {number}, on the node {on_host}",
                    "InvalidPort",
                )
            yield cri.PortMapping(
                protocol=protocol,
                container_port=number,
                host_port=on_host,
                host_ip=port.get("hostIP") or "",
            )
