"""Real containers of a cluster's pods have the variables that a kubelet would give them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from messages.pods import JsonObject
from tests.support.agent.joined_agent import NODE_NAME, JoinedAgent, Onlooker
from tests.support.agent.joined_objects import CANARY, secret, value, wipe_objects
from tests.support.agent.joined_pods import waiting
from tests.support.agent.process import eventually
from tests.support.agent.real_node import RealNode, telling
from tests.support.cluster.cluster import Cluster
from tests.support.containers.containerd import Containerd

pytestmark = pytest.mark.cluster

SERVICES = "/api/v1/namespaces/default/services"


@pytest.fixture
def node(
    tmp_path: Path, cluster: Cluster, onlooker: Onlooker, containerd: Containerd
) -> Iterator[RealNode]:
    with JoinedAgent(tmp_path, cluster.kubeconfig()) as agent:
        yield RealNode(agent, containerd, tmp_path)
    onlooker.wipe()
    wipe_objects(onlooker)


def from_secret(**more: Any) -> JsonObject:
    reference = {"name": "db", "key": "password", **more}
    return {"name": "PASSWORD", "valueFrom": {"secretKeyRef": reference}}


def from_field(name: str, path: str) -> JsonObject:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def reason(onlooker: Onlooker, name: str) -> str:
    """Return why the container of a pod waits."""
    found = waiting(onlooker, name)
    return f"{found.get('reason')}: {found.get('message')}"


def test_a_container_has_the_variables_of_its_pod_and_of_services(
    node: RealNode, onlooker: Onlooker
) -> None:
    cart = {"metadata": {"name": "cart"}, "spec": {"ports": [{"port": 80, "name": "http"}]}}
    made = onlooker.create(SERVICES, {"apiVersion": "v1", "kind": "Service", **cart})
    env = [
        {"name": "URL", "value": "http://$(CART_SERVICE_HOST):$(CART_SERVICE_PORT_HTTP)/$$(X)"},
        from_field("NODE", "spec.nodeName"),
        from_field("IP", "status.podIP"),
        from_field("HOST_IP", "status.hostIP"),
        {"name": "CPUS", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
    ]
    onlooker.admin.add(telling("told", env))
    onlooker.admin.add(telling("alone", [], enableServiceLinks=False))
    try:
        node.starts()
        told = eventually(lambda: node.variables("told"))
        alone = eventually(lambda: node.variables("alone"))
    finally:
        onlooker.delete(f"{SERVICES}/cart")
    address = made["spec"]["clusterIP"]
    assert told["URL"] == f"http://{address}:80/$(X)"
    assert told["CART_PORT_80_TCP"] == f"tcp://{address}:80"
    assert told["NODE"] == NODE_NAME
    assert told["IP"] == told["HOST_IP"] != ""
    assert int(told["CPUS"]) > 0
    assert "KUBERNETES_SERVICE_HOST" in told
    assert "KUBERNETES_SERVICE_HOST" in alone
    assert not any(name.startswith("CART_") for name in alone)


def test_a_container_whose_secret_is_missing_is_created_as_soon_as_it_is_there(
    node: RealNode, onlooker: Onlooker
) -> None:
    onlooker.admin.add(telling("needy", [from_secret()]))
    node.starts()
    expected = 'CreateContainerConfigError: secret "db" not found'
    eventually(lambda: reason(onlooker, "needy") == expected)
    onlooker.admin.add(secret("db"))
    made = eventually(lambda: node.variables("needy"))
    assert made["PASSWORD"] == value("db")
    assert CANARY not in node.agent.log()


def test_a_container_waits_for_a_key_that_its_secret_lacks_and_for_nothing_optional(
    node: RealNode, onlooker: Onlooker
) -> None:
    onlooker.admin.add(secret("db", stringData={"user": "ann"}))
    whole = {"secretRef": {"name": "db"}, "prefix": "DB_"}
    none = {"configMapRef": {"name": "none", "optional": True}}
    onlooker.admin.add(telling("needy", [from_secret()]))
    onlooker.admin.add(telling("other", [from_secret(optional=True)], [whole, none]))
    node.starts()
    expected = "CreateContainerConfigError: couldn't find key password in Secret default/db"
    eventually(lambda: reason(onlooker, "needy") == expected)
    other = eventually(lambda: node.variables("other"))
    assert other["DB_user"] == "ann"
    assert "PASSWORD" not in other
    onlooker.admin.change("secrets", "default", "db", stringData={"password": value("db")})
    made = eventually(lambda: node.variables("needy"))
    assert made["PASSWORD"] == value("db")
    assert CANARY not in node.agent.log()
