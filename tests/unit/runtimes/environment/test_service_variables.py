"""The variables that tell a container where the Services are."""

from __future__ import annotations

from typing import Any

from messages.cluster import ClusterPort, ClusterService
from runtimes.environment.assembling import service_variables
from tests.support.builders import make_pod


def service(name: str, address: str, *ports: ClusterPort, of: str = "default") -> ClusterService:
    return ClusterService(namespace=of, name=name, address=address, ports=ports)


API = service("kubernetes", "10.0.0.1", ClusterPort(443, name="https"))


def names(*services: ClusterService, namespace: str = "shop", **spec: Any) -> list[str]:
    """Return the hosts that a pod is told of."""
    pod = make_pod(namespace=namespace, spec=spec)
    found = service_variables(pod, services)
    return [f"{name}={found[name]}" for name in found if name.endswith("_SERVICE_HOST")]


def test_a_service_has_its_variables_and_those_of_dockers_links() -> None:
    redis = service("redis-master", "10.0.0.11", ClusterPort(6379), of="shop")
    assert service_variables(make_pod(namespace="shop"), [redis]) == {
        "REDIS_MASTER_SERVICE_HOST": "10.0.0.11",
        "REDIS_MASTER_SERVICE_PORT": "6379",
        "REDIS_MASTER_PORT": "tcp://10.0.0.11:6379",
        "REDIS_MASTER_PORT_6379_TCP": "tcp://10.0.0.11:6379",
        "REDIS_MASTER_PORT_6379_TCP_PROTO": "tcp",
        "REDIS_MASTER_PORT_6379_TCP_PORT": "6379",
        "REDIS_MASTER_PORT_6379_TCP_ADDR": "10.0.0.11",
    }


def test_ports_with_names_and_other_protocols_have_variables_of_their_own() -> None:
    dns = service(
        "dns", "fd00::a", ClusterPort(53, "UDP", "dns-udp"), ClusterPort(53, "TCP", "dns-tcp")
    )
    assert service_variables(make_pod(), [dns]) == {
        "DNS_SERVICE_HOST": "fd00::a",
        "DNS_SERVICE_PORT": "53",
        "DNS_SERVICE_PORT_DNS_UDP": "53",
        "DNS_SERVICE_PORT_DNS_TCP": "53",
        "DNS_PORT": "udp://[fd00::a]:53",
        "DNS_PORT_53_UDP": "udp://[fd00::a]:53",
        "DNS_PORT_53_UDP_PROTO": "udp",
        "DNS_PORT_53_UDP_PORT": "53",
        "DNS_PORT_53_UDP_ADDR": "fd00::a",
        "DNS_PORT_53_TCP": "tcp://[fd00::a]:53",
        "DNS_PORT_53_TCP_PROTO": "tcp",
        "DNS_PORT_53_TCP_PORT": "53",
        "DNS_PORT_53_TCP_ADDR": "fd00::a",
    }


def test_a_pod_is_told_of_its_own_namespace_and_of_the_api_server() -> None:
    known = (
        service("b", "10.0.0.3", ClusterPort(1), of="shop"),
        service("a", "10.0.0.2", ClusterPort(1), of="shop"),
        service("other", "10.0.0.4", ClusterPort(1)),
        API,
    )
    assert names(*known) == [
        "A_SERVICE_HOST=10.0.0.2",
        "B_SERVICE_HOST=10.0.0.3",
        "KUBERNETES_SERVICE_HOST=10.0.0.1",
    ]
    assert names(*known, enableServiceLinks=False) == ["KUBERNETES_SERVICE_HOST=10.0.0.1"]
    assert names(*known, namespace="default", enableServiceLinks=False) == [
        "KUBERNETES_SERVICE_HOST=10.0.0.1"
    ]
    assert names(*known, namespace="default") == [
        "KUBERNETES_SERVICE_HOST=10.0.0.1",
        "OTHER_SERVICE_HOST=10.0.0.4",
    ]


def test_a_service_of_the_pods_namespace_takes_the_place_of_the_api_servers() -> None:
    own = service("kubernetes", "10.0.0.9", ClusterPort(1), of="shop")
    for known in ((own, API), (API, own)):
        assert names(*known) == ["KUBERNETES_SERVICE_HOST=10.0.0.9"]
        assert names(*known, enableServiceLinks=False) == ["KUBERNETES_SERVICE_HOST=10.0.0.1"]


def test_a_service_without_ports_has_an_address_alone() -> None:
    assert service_variables(make_pod(), [service("a", "10.0.0.2")]) == {
        "A_SERVICE_HOST": "10.0.0.2"
    }
