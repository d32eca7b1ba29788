"""A node with a volume of a CSI driver goes from a real kubelet to the agent, and back."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from messages.pods import JsonObject
from tests.support.agent.joined_agent import NODE_NAME, Onlooker
from tests.support.agent.process import ROOT, eventually
from tests.support.cluster.cluster import Cluster
from tests.support.containers.needs import require
from tests.support.kubelets.kubelet import ROOT_DIR, require_kubelet
from tests.support.kubelets.node_of_a_kubelet import DRIVER, NodeOfAKubelet, node_of_a_kubelet

pytestmark = [pytest.mark.cluster, pytest.mark.containers, pytest.mark.timeout(300)]

RELEASED = "actorlet/VolumesReleased"
IN_USE = f"kubernetes.io/csi/{DRIVER}^of-a-disk"
RECORD = "volumes/kubernetes.io~csi/pv-data/vol_data.json"


@pytest.fixture
def node(tmp_path: Path, cluster: Cluster, onlooker: Onlooker) -> Iterator[NodeOfAKubelet]:
    require()
    require_kubelet()
    with node_of_a_kubelet(tmp_path, cluster, onlooker) as node:
        yield node


def explained(node: NodeOfAKubelet) -> tuple[int, Any]:
    """Return the exit code and the document of a dry run."""
    command = [*node.namespace.launcher, sys.executable, str(ROOT / "run.py")]
    flags = [*node.flags(), f"--kubeconfig={node.agent.kubeconfig}", "--hostname-override=n1"]
    asked = [*command, "--explain-takeover", "--output=json", *flags]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout)


def left_by_a_kubelet(node: NodeOfAKubelet) -> str:
    """Have a kubelet run a pod with a volume of the driver, and end. Return the pod's UID."""
    node.runs_a_kubelet()
    node.has_a_volume("data")
    uid = node.runs("web", "data")
    assert node.called("NodeStageVolume")
    assert node.called("NodePublishVolume")
    node.kubelet.kill()
    return uid


def is_the_agents(machine: JsonObject | None) -> JsonObject:
    """Return the status of a Node once the agent has written it; empty before."""
    status: JsonObject = (machine or {}).get("status", {})
    return status if "actorlet" in status.get("nodeInfo", {}).get("kubeletVersion", "") else {}


def says_why(node: NodeOfAKubelet, uid: str) -> None:
    """Expect condition, event, reasons and ``/volumez`` to name the driver and the volume."""
    eventually(lambda: node.condition("web", RELEASED).get("status") == "False")
    why = node.condition("web", RELEASED)["message"]
    assert why.startswith('UnmountVolume.TearDown failed for volume "pv-data" : ')
    assert f"driver {DRIVER} (handle handle-data) mounted " in why
    events = eventually(
        lambda: [each for each in node.onlooker.warnings() if each["reason"] == "FailedUnmount"]
    )
    assert {each["message"] for each in events} == {why}
    (story,) = node.agent.json(f"/ui/pods/{uid}")["why"][:1]
    assert story["text"].startswith("It has ended, and stays because of volume pv-data")
    assert [each["trouble"] for each in held(node)] == [why]


def test_what_a_driver_mounted_for_a_kubelet_stays_mounted_and_its_pod_says_so(
    node: NodeOfAKubelet,
) -> None:
    uid = left_by_a_kubelet(node)
    left = Left(node, uid)
    code, told = explained(node)
    (row,) = told["pods"]
    assert (code, told["undisturbed"], row["fate"]) == (1, True, "adopt")
    assert [(each["volume"], each["driver"]) for each in row["held"]] == [("pv-data", DRIVER)]
    assert [each["orphaned"] for each in told["stageMounts"]] == [False]

    said = {"volumesInUse": [IN_USE], "volumesAttached": [{"name": IN_USE, "devicePath": ""}]}
    node.onlooker.admin.change("nodes", NODE_NAME, status=said)
    node.runs_the_agent()
    assert node.is_running("web")
    node.onlooker.admin.remove("pods", "default", "web", grace=1)
    says_why(node, uid)
    left.is_untouched()
    shown = eventually(lambda: is_the_agents(node.onlooker.node()))
    assert {key: shown[key] for key in said} == said

    # Back to a kubelet: it finds the volume again, and has the driver unmount it. What is staged it forgets.
    node.agent.stops()
    node.kubelet.start()
    eventually(lambda: node.called("NodeUnpublishVolume"))
    eventually(lambda: not node.seen("pods", uid, RECORD).exists())
    node.kubelet.kill()
    assert [each["orphaned"] for each in explained(node)[1]["stageMounts"]] == [True]
    node.runs_the_agent()
    eventually(lambda: node.onlooker.pod("web") is None)
    eventually(lambda: not node.seen("pods", uid).exists())
    assert [each.rpartition("/")[2] for each in node.mounted()] == ["globalmount"]


def test_what_a_driver_mounted_stays_for_a_pod_that_is_gone_and_whose_sandbox_went_first(
    node: NodeOfAKubelet,
) -> None:
    uid = left_by_a_kubelet(node)
    with node.containerd.client() as client:
        for each in client.sandboxes():
            client.remove_sandbox(each.id)
    node.onlooker.admin.remove("pods", "default", "web", grace=0)
    left = Left(node, uid)
    node.runs_the_agent()
    eventually(lambda: held(node))
    (row,) = held(node)
    assert (row["uid"], row["name"], f"driver {DRIVER} " in row["trouble"]) == (
        uid,
        "pv-data",
        True,
    )
    assert node.agent.log().count("volumes of a pod cannot be taken away") == 1
    left.is_untouched()


class Left:
    """What the kubelet left of a pod's volume."""

    def __init__(self, node: NodeOfAKubelet, uid: str) -> None:
        self._node = node
        self._file = node.seen("pods", uid, RECORD)
        self._published = f"{ROOT_DIR}/pods/{uid}/volumes/kubernetes.io~csi/pv-data/mount"
        self._mounts, self._record = node.mounted(), self._file.read_bytes()
        assert self._published in self._mounts

    def is_untouched(self) -> None:
        """Expect all of it to be as it was, and the driver not to have been asked for anything."""
        node = self._node
        assert node.mounted() == self._mounts
        assert self._file.read_bytes() == self._record
        assert node.namespace.seen(self._published).joinpath("file").read_text() == "precious\n"
        assert not node.called("NodeUnpublishVolume")


def held(node: NodeOfAKubelet) -> list[Any]:
    """Return the volumes that somebody else has made."""
    rows = node.agent.json("/volumez")["volumes"]
    return [each for each in rows if each["state"] == "held"]
