"""The Node and the Lease of an agent, as an administrator of a real cluster sees them."""

from __future__ import annotations

import os
import platform
import shutil
import time

import pytest

from actors.node.document import ATTACH_DETACH
from messages.pods import JsonObject
from tests.support.agent.joined_agent import (
    LEASE_SECONDS,
    NODE_NAME,
    JoinedAgent,
    Onlooker,
    condition,
)
from tests.support.agent.joined_objects import asked
from tests.support.agent.process import eventually
from tests.support.cluster.cluster import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]

TAINT = {"key": "dedicated", "value": "edge", "effect": "NoSchedule"}


def is_ready(onlooker: Onlooker) -> JsonObject | None:
    """Return the Node once it is ready."""
    node = onlooker.node()
    return node if node and condition(node, "Ready").get("status") == "True" else None


def test_a_node_registers_itself_ready_with_all_that_the_machine_has(
    agent: JoinedAgent, onlooker: Onlooker
) -> None:
    agent.joins("--node-labels=tier=edge", "--node-ip=192.0.2.7", "--max-pods=23")
    node = eventually(lambda: is_ready(onlooker))
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    assert node["metadata"]["labels"] == {
        "kubernetes.io/hostname": "n1",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": architecture,
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": architecture,
        "tier": "edge",
        "actorlet/runtime": "hollow",
    }
    assert {"key": "actorlet/hollow", "effect": "NoSchedule"} in node["spec"]["taints"]
    assert node["metadata"]["annotations"][ATTACH_DETACH] == "true"
    status = node["status"]
    assert status["addresses"] == [
        {"type": "InternalIP", "address": "192.0.2.7"},
        {"type": "Hostname", "address": "n1"},
    ]
    assert status["capacity"]["cpu"] == str(os.cpu_count())
    assert {*status["capacity"]} >= {"cpu", "memory", "ephemeral-storage", "pods"}
    assert status["capacity"]["pods"] == status["allocatable"]["pods"] == "23"
    info = status["nodeInfo"]
    assert (info["kernelVersion"], info["architecture"]) == (platform.release(), architecture)
    assert "actorlet" in info["kubeletVersion"]
    assert [each["type"] for each in status["conditions"]] == [
        "MemoryPressure",
        "DiskPressure",
        "PIDPressure",
        "Ready",
    ]


def test_an_existing_node_says_who_attaches_its_volumes_and_keeps_what_others_wrote(
    agent: JoinedAgent, onlooker: Onlooker
) -> None:
    agent.joins()
    eventually(lambda: is_ready(onlooker))
    onlooker.admin.change(
        "nodes", NODE_NAME, metadata={"annotations": {"example.org/note": "mine"}}
    )
    assert agent.stops() == 0

    def annotations() -> JsonObject:
        node = onlooker.node()
        return node["metadata"]["annotations"] if node else {}

    agent.joins("--enable-controller-attach-detach=false")
    eventually(lambda: ATTACH_DETACH not in annotations())
    assert annotations()["example.org/note"] == "mine"
    assert agent.stops() == 0

    agent.joins()
    eventually(lambda: annotations().get(ATTACH_DETACH) == "true")
    assert annotations()["example.org/note"] == "mine"


def test_a_client_certificate_is_as_good_as_a_token(
    agent: JoinedAgent, onlooker: Onlooker, cluster: Cluster
) -> None:
    shutil.copy(cluster.kubeconfig(by_certificate=True), agent.kubeconfig)
    agent.serve("web")
    agent.joins()
    assert [*onlooker.mirrors()] == ["web-n1"]
    eventually(lambda: not agent.trouble())
    eventually(onlooker.lease)


def test_the_lease_is_held_for_the_node_and_renewed(agent: JoinedAgent, onlooker: Onlooker) -> None:
    agent.joins()
    node = eventually(onlooker.node)
    lease = eventually(onlooker.lease)
    assert lease["spec"]["holderIdentity"] == NODE_NAME
    assert lease["spec"]["leaseDurationSeconds"] == LEASE_SECONDS
    (owner,) = lease["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("Node", "n1", node["metadata"]["uid"])

    def renewals() -> list[str]:
        return [each["spec"]["renewTime"] for each in onlooker.admin.all("leases")]

    eventually(lambda: renewals() > [lease["spec"]["renewTime"]])


def test_what_others_write_on_the_node_outlives_the_agent(
    agent: JoinedAgent, onlooker: Onlooker
) -> None:
    agent.joins("--node-labels=tier=edge", "--register-with-taints=dedicated=edge:NoSchedule")
    node = eventually(lambda: is_ready(onlooker))
    assert TAINT in node["spec"]["taints"]
    changed = onlooker.admin.change(
        "nodes",
        NODE_NAME,
        metadata={"labels": {"rack": "7"}, "annotations": {"owner": "ops"}},
        spec={"unschedulable": True, "taints": [{"key": "sick", "effect": "NoExecute"}]},
    )

    # It says at its next start what has become of its own label, and nothing else.
    agent.dies()
    agent.joins("--node-labels=tier=core", "--register-with-taints=dedicated=edge:NoSchedule")
    eventually(lambda: (onlooker.node() or {})["metadata"]["labels"]["tier"] == "core")
    found = onlooker.admin.get("nodes", NODE_NAME)
    assert found["metadata"]["uid"] == node["metadata"]["uid"]
    assert found["metadata"]["labels"]["rack"] == "7"
    assert found["metadata"]["annotations"]["owner"] == "ops"
    assert found["spec"] == changed["spec"]


def test_a_deleted_node_is_back_at_once_with_its_lease_and_its_mirrors(
    agent: JoinedAgent, onlooker: Onlooker
) -> None:
    agent.serve("web")
    # So that it hears of it by its watch, or not in time.
    agent.configure(nodeStatusUpdateFrequency="1m")
    agent.joins("--node-labels=tier=edge")
    in_use = ["kubernetes.io/csi/disk.example.org^h1"]
    said = onlooker.admin.change("nodes", NODE_NAME, status={"volumesInUse": in_use})
    before = said["metadata"]["uid"]
    onlooker.admin.remove("nodes", NODE_NAME)

    def owners() -> set[str]:
        found = (onlooker.pod("web-n1"), onlooker.lease())
        owners = (each["metadata"]["ownerReferences"] for each in found if each)
        return {owner["uid"] for references in owners for owner in references}

    began = time.monotonic()
    node = eventually(lambda: is_ready(onlooker))
    print(f"back after {time.monotonic() - began:.3f} s")  # noqa: T201  # for people
    uid = node["metadata"]["uid"]
    assert uid != before
    assert node["metadata"]["labels"]["tier"] == "edge"
    assert node["status"]["volumesInUse"] == in_use
    eventually(lambda: owners() == {uid})
    assert [*agent.pods()] == ["web-n1"]


def test_no_node_is_created_unless_the_agent_may(agent: JoinedAgent, onlooker: Onlooker) -> None:
    def created() -> dict[str, float]:
        return {plural: asked(onlooker, "POST", plural) for plural in ("nodes", "leases", "pods")}

    before = created()
    agent.serve("web")
    agent.start_on_manifests("--register-node=false")
    # It has looked and found no Node; the Lease has to wait for one as well.
    eventually(lambda: agent.metric("actorlet_watch_streams") == {"": 1.0})
    assert created() == before
    assert onlooker.admin.all("nodes") == ()
    assert [*agent.pods()] == ["web-n1"]

    # Somebody else's Node is as good as an own one, once it says that it is a hollow one.
    made = onlooker.admin.add({"kind": "Node", "metadata": {"name": NODE_NAME}})
    agent.logs("the Node is left alone")
    assert created() == {**before, "nodes": before["nodes"] + 1}
    assert "conditions" not in onlooker.admin.get("nodes", NODE_NAME).get("status", {})
    assert onlooker.mirrors() == {}
    assert onlooker.lease() is None
    onlooker.admin.change("nodes", NODE_NAME, metadata={"labels": {"actorlet/runtime": "hollow"}})
    assert eventually(lambda: is_ready(onlooker))["metadata"]["uid"] == made["metadata"]["uid"]
    eventually(lambda: [*onlooker.mirrors()] == ["web-n1"])
    eventually(onlooker.lease)
