"""``deploy/rbac.yaml`` at a real API server: with these rights a service account is a node, else not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from messages.pods import JsonObject
from tests.support.agent.joined_agent import JoinedAgent, Onlooker, condition
from tests.support.agent.joined_objects import secret, wipe_objects
from tests.support.agent.process import ROOT, eventually
from tests.support.agent.real_node import RealNode, telling
from tests.support.apiserver.status import StatusError
from tests.support.apiserver.subjects import pod
from tests.support.cluster.cluster import Cluster
from tests.support.containers.containerd import Containerd
from tests.support.volumes.sweeping import sweep

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]

ACCOUNT = "/api/v1/namespaces/actorlet/serviceaccounts"
RIGHTS = "/apis/rbac.authorization.k8s.io/v1"
COLLECTIONS = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": ACCOUNT,
    "ClusterRole": f"{RIGHTS}/clusterroles",
    "ClusterRoleBinding": f"{RIGHTS}/clusterrolebindings",
    "Role": f"{RIGHTS}/namespaces/kube-node-lease/roles",
    "RoleBinding": f"{RIGHTS}/namespaces/kube-node-lease/rolebindings",
}
IDENTITY = {"Namespace", "ServiceAccount"}


def documents(name: str = "rbac.yaml") -> list[JsonObject]:
    return list(yaml.safe_load_all((ROOT / "deploy" / name).read_text()))


def apply(onlooker: Onlooker, *kinds: str) -> None:
    """Create what stands in the file, if it is of one of ``kinds``."""
    for document in documents():
        if document["kind"] in kinds:
            onlooker.create(COLLECTIONS[document["kind"]], document)


def without(onlooker: Onlooker, kind: str) -> None:
    onlooker.delete(f"{COLLECTIONS[kind]}/actorlet")


@pytest.fixture(scope="module")
def token(cluster: Cluster) -> str:
    """Return a token of the service account, which has no rights yet.

    It stays: nothing in this cluster would ever finish the deletion of its namespace.
    """
    onlooker = Onlooker(cluster.admin)
    apply(onlooker, *IDENTITY)
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    issued = onlooker.create(f"{ACCOUNT}/actorlet/token", request)
    return str(issued["status"]["token"])


@pytest.fixture
def agent(
    tmp_path: Path, cluster: Cluster, token: str, onlooker: Onlooker
) -> Iterator[JoinedAgent]:
    """Return an agent that comes with the token, for a node that no other user stands for."""
    document: dict[str, Any] = json.loads(cluster.kubeconfig().read_text())
    document["users"] = [{"name": "actorlet", "user": {"token": token}}]
    document["contexts"][0]["context"]["user"] = "actorlet"
    path = tmp_path / "token.kubeconfig"
    path.write_text(json.dumps(document))
    with JoinedAgent(tmp_path, path, "edge-1") as agent:
        yield agent
    sweep(tmp_path)
    onlooker.wipe()
    for kind in COLLECTIONS.keys() - IDENTITY:
        with suppress(StatusError):
            without(onlooker, kind)
    for kind in ("ClusterRoleBinding", "ClusterRole"):
        with suppress(StatusError):
            onlooker.delete(f"{COLLECTIONS[kind]}/actorlet-objects")
        with suppress(StatusError):
            onlooker.delete(f"{COLLECTIONS[kind]}/actorlet-tokens")
    with suppress(StatusError):
        onlooker.admin.remove("serviceaccounts", "default", "shop")
    wipe_objects(onlooker)


def is_ready(onlooker: Onlooker, name: str) -> bool:
    return condition(onlooker.node(name) or {}, "Ready").get("status") == "True"


def test_a_service_account_with_these_rights_is_a_node(
    agent: JoinedAgent, onlooker: Onlooker
) -> None:
    apply(onlooker, *COLLECTIONS.keys() - IDENTITY)
    onlooker.admin.add(pod("taken-edge-1", node=""))
    onlooker.admin.add(pod("bound", node="edge-1"))
    agent.serve("web")
    agent.serve("taken")
    agent.serve("gone")
    agent.start_on_manifests()
    eventually(lambda: {*onlooker.mirrors()} == {"web-edge-1", "gone-edge-1"})
    agent.withdraw("gone")
    eventually(lambda: {*onlooker.mirrors()} == {"web-edge-1"})
    eventually(lambda: "bound" in agent.pods())
    eventually(lambda: is_ready(onlooker, "edge-1"))
    first = eventually(lambda: onlooker.lease("edge-1"))
    eventually(lambda: onlooker.lease("edge-1") != first)
    assert eventually(onlooker.warnings)[0]["involvedObject"]["name"] == "edge-1"

    # A Node that is labelled anew at its next start is patched, not created.
    agent.dies()
    agent.start_on_manifests("--node-labels=tier=edge")
    eventually(lambda: (onlooker.node("edge-1") or {})["metadata"]["labels"].get("tier") == "edge")
    eventually(lambda: not agent.trouble())


def test_a_service_account_with_these_rights_carries_pods_through_their_lives(
    agent: JoinedAgent, onlooker: Onlooker
) -> None:
    apply(onlooker, *COLLECTIONS.keys() - IDENTITY)
    onlooker.admin.add(pod("bound", node="edge-1"))
    agent.serve("web")
    agent.start_on_manifests()
    eventually(lambda: phase(onlooker, "bound") == "Running")
    eventually(lambda: phase(onlooker, "web-edge-1") == "Running")
    told = {"Pulled", "Created", "Started"}
    eventually(lambda: {each["reason"] for each in onlooker.admin.events()} >= told)

    onlooker.admin.remove("pods", "default", "bound", grace=None)
    eventually(lambda: onlooker.pod("bound") is None)
    eventually(lambda: not agent.trouble())
    assert agent.forbidden() == 0


def phase(onlooker: Onlooker, name: str) -> str:
    """Return the phase of a pod; empty if there is no such pod."""
    return str((onlooker.pod(name) or {"status": {}})["status"].get("phase", ""))


def test_a_service_account_without_rights_says_so_and_joins_once_it_has_them(
    agent: JoinedAgent, onlooker: Onlooker, cluster: Cluster, token: str
) -> None:
    agent.serve("web")
    agent.start_on_manifests()
    agent.complains(f"at {cluster.url} as actorlet: forbidden: ")
    agent.serve("db")
    eventually(lambda: {*agent.pods()} == {"web-edge-1", "db-edge-1"})
    assert onlooker.admin.all("nodes") == ()
    assert token not in agent.log() + agent.get("/readyz?verbose")[1]

    apply(onlooker, *COLLECTIONS.keys() - IDENTITY)
    eventually(lambda: {*onlooker.mirrors()} == {"web-edge-1", "db-edge-1"})
    eventually(lambda: onlooker.lease("edge-1"))
    eventually(lambda: not agent.trouble())


def test_a_service_account_reads_objects_once_it_may(
    agent: JoinedAgent, onlooker: Onlooker
) -> None:
    apply(onlooker, *COLLECTIONS.keys() - IDENTITY)
    onlooker.admin.add(secret("db"))
    volume = {"name": "db", "secret": {"secretName": "db"}}
    onlooker.admin.add(pod("bound", node="edge-1", volumes=[volume]))
    agent.start_on_manifests()
    agent.complains("secrets (metadata.name=db)")

    for document in documents("rbac-objects.yaml"):
        onlooker.create(COLLECTIONS[document["kind"]], document)
    eventually(lambda: [each["state"] for each in agent.objects().values()] == ["synced"])
    eventually(lambda: not agent.trouble())


def test_a_service_account_gets_tokens_of_pods_once_it_may(
    agent: JoinedAgent, onlooker: Onlooker, containerd: Containerd, tmp_path: Path
) -> None:
    apply(onlooker, *COLLECTIONS.keys() - IDENTITY)
    token = {"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
    pod = telling(
        "bearing",
        nodeName="edge-1",
        serviceAccountName="shop",
        volumes=[{"name": "own", **token}],
    )
    pod["spec"]["containers"][0]["volumeMounts"] = [{"name": "own", "mountPath": "/own"}]
    onlooker.admin.add({"kind": "ServiceAccount", "metadata": {"name": "shop"}})
    onlooker.admin.add(pod)
    node = RealNode(agent, containerd, tmp_path)
    node.starts()
    agent.complains("cannot create token of serviceaccount default/shop", "forbidden")

    for document in documents("rbac-tokens.yaml"):
        onlooker.create(COLLECTIONS[document["kind"]], document)
    eventually(lambda: node.variables("bearing"))
    eventually(lambda: not agent.trouble())


def test_a_service_account_with_these_rights_tells_containers_of_services(
    agent: JoinedAgent, onlooker: Onlooker, containerd: Containerd, tmp_path: Path
) -> None:
    apply(onlooker, *COLLECTIONS.keys() - IDENTITY)
    node = RealNode(agent, containerd, tmp_path)
    onlooker.admin.add(telling("told", nodeName="edge-1"))
    node.starts()
    assert "KUBERNETES_SERVICE_HOST" in eventually(lambda: node.variables("told"))
    eventually(lambda: not agent.trouble())


def test_without_the_right_to_services_containers_start_without_their_variables(
    agent: JoinedAgent, onlooker: Onlooker, containerd: Containerd, tmp_path: Path
) -> None:
    apply(onlooker, *COLLECTIONS.keys() - IDENTITY - {"ClusterRole"})
    (role,) = (each for each in documents() if each["kind"] == "ClusterRole")
    rules = [each for each in role["rules"] if each["resources"] != ["services"]]
    onlooker.create(COLLECTIONS["ClusterRole"], {**role, "rules": rules})
    node = RealNode(agent, containerd, tmp_path)
    onlooker.admin.add(telling("told", nodeName="edge-1"))
    node.starts()
    assert "KUBERNETES_SERVICE_HOST" not in eventually(lambda: node.variables("told"))
    agent.logs("containers start without the variables of services")
    said = "FailedToListServices"
    eventually(lambda: said in {each["reason"] for each in onlooker.admin.events()})


def test_without_the_right_to_leases_there_is_a_node_and_no_lease(
    agent: JoinedAgent, onlooker: Onlooker
) -> None:
    apply(onlooker, "ClusterRole", "ClusterRoleBinding")
    agent.serve("web")
    agent.start_on_manifests()
    eventually(lambda: [*onlooker.mirrors()] == ["web-edge-1"])
    agent.logs("cannot renew the Lease of the Node")
    assert "lease kube-node-lease/edge-1" in agent.log()
    assert onlooker.lease("edge-1") is None

    apply(onlooker, "Role", "RoleBinding")
    eventually(lambda: onlooker.lease("edge-1"))
