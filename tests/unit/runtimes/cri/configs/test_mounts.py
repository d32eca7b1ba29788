"""What is mounted into containers, and what has to be on the disk before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from messages.pods import Pod
from runtimes.container_runtime import RuntimeFailureKind
from runtimes.cri.configs.mounts import ContainerMounts, container_mounts
from runtimes.cri.configs.node import CriNode, HandlerFeatures
from runtimes.cri.configs.refusals import ConfigRefusedError
from runtimes.cri.configs.volume_mounts import MountSituation
from runtimes.cri.disk.tasks import (
    CheckHostPath,
    MakeEmptyDir,
    MakeLogDirectory,
    MakeTerminationFile,
    WriteHostsFile,
)
from runtimes.cri.wire import cri_pb2 as cri
from tests.support.builders import make_pod
from volumes.mounts.host_paths import HostPathType

NODE = CriNode(name="node", root_dir="/r")
LOGS = MakeLogDirectory(path="/var/log/pods", names=("default_web_u1", "main"))
TOKEN = {
    "name": "kube-api-access-x7z2k",
    "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]},
}


def pod_with(*volumes: dict[str, Any], **spec: Any) -> Pod:
    return make_pod(uid="u1", spec={"volumes": volumes, **spec})


def mounts_of(
    pod: Pod, *mounts: dict[str, Any], node: CriNode = NODE, **fields: Any
) -> ContainerMounts:
    container = {"name": "main", "volumeMounts": mounts, **fields}
    return container_mounts(pod, container, 3, node)


def one(pod: Pod, **mount: Any) -> cri.Mount:
    (found,) = mounts_of(pod, {"name": "data", "mountPath": "/data", **mount}).mounts
    return found


def refusal(pod: Pod, **mount: Any) -> str:
    with pytest.raises(ConfigRefusedError) as raised:
        one(pod, **mount)
    assert raised.value.kind is RuntimeFailureKind.CONFIG
    return raised.value.message


ON_HOST = pod_with({"name": "data", "hostPath": {"path": "/srv", "type": "Directory"}})
EMPTY = pod_with({"name": "data", "emptyDir": {}})


def test_a_path_of_the_node_is_checked_and_mounted() -> None:
    found = mounts_of(ON_HOST, {"name": "data", "mountPath": "/data", "readOnly": True})
    assert found.mounts == (cri.Mount(container_path="/data", host_path="/srv", readonly=True),)
    checked = CheckHostPath(volume="data", path="/srv", type=HostPathType.DIRECTORY)
    assert found.tasks == (checked, LOGS)


def test_an_empty_directory_is_made_with_the_group_of_the_pods_files() -> None:
    pod = pod_with({"name": "data", "emptyDir": {}}, securityContext={"fsGroup": 77})
    found = mounts_of(pod, {"name": "data", "mountPath": "data"})
    path = "/r/pods/u1/volumes/kubernetes.io~empty-dir/data"
    assert found.mounts == (cri.Mount(container_path="/data", host_path=path),)
    marker = "/r/pods/u1/plugins/kubernetes.io~empty-dir/data/ready"
    assert found.tasks == (MakeEmptyDir(path=path, marker=marker, group=77), LOGS)


def test_a_volume_that_is_mounted_twice_is_made_once() -> None:
    found = mounts_of(
        EMPTY, {"name": "data", "mountPath": "/a"}, {"name": "data", "mountPath": "/b"}
    )
    assert (len(found.mounts), len(found.tasks)) == (2, 2)


@pytest.mark.parametrize(
    ("mount", "propagation"),
    [
        ({}, cri.PROPAGATION_PRIVATE),
        ({"mountPropagation": "None"}, cri.PROPAGATION_PRIVATE),
        ({"mountPropagation": "HostToContainer"}, cri.PROPAGATION_HOST_TO_CONTAINER),
        ({"mountPropagation": "Bidirectional"}, cri.PROPAGATION_BIDIRECTIONAL),
    ],
)
def test_mounts_below_a_mount_are_seen_as_the_pod_says(
    mount: dict[str, Any], propagation: int
) -> None:
    assert one(ON_HOST, **mount).propagation == propagation


@pytest.mark.parametrize(
    ("wish", "able", "expected"),
    [
        ("Disabled", True, False),
        ("IfPossible", True, True),
        ("IfPossible", False, False),
        ("Enabled", True, True),
    ],
)
def test_mounts_below_are_read_only_too_where_the_handler_can_do_that(
    wish: str,
    able: bool,  # noqa: FBT001
    expected: bool,  # noqa: FBT001
) -> None:
    mount = {"name": "data", "mountPath": "/d", "readOnly": True, "recursiveReadOnly": wish}
    features = HandlerFeatures(recursive_read_only_mounts=able)
    container = {"name": "main", "volumeMounts": [mount]}
    found = container_mounts(ON_HOST, container, 0, NODE, MountSituation(handler=features))
    assert found.mounts[0].recursive_read_only is expected


@pytest.mark.parametrize(
    ("mount", "why"),
    [
        ({"recursiveReadOnly": "Enabled"}, "demands recursiveReadOnly"),
        ({"recursiveReadOnly": "Perhaps"}, "a recursiveReadOnly that is not known"),
        ({"mountPropagation": "Perhaps"}, "a mountPropagation that is not known"),
        ({"mountPath": ""}, "a mountPath that there cannot be"),
        ({"mountPath": "/a\0b"}, "a mountPath that there cannot be"),
    ],
)
def test_a_mount_that_is_not_possible_is_refused(mount: dict[str, Any], why: str) -> None:
    message = refusal(ON_HOST, **mount)
    assert message.startswith('volume "data" ')
    assert why in message


@pytest.mark.parametrize(
    ("volume", "why"),
    [
        ({"secret": {"secretName": "s"}}, "of the kind secret, which cannot be mounted yet"),
        ({"configMap": {"name": "c"}}, "of the kind configMap"),
        ({"projected": {"sources": []}}, "of the kind projected"),
        ({"persistentVolumeClaim": {"claimName": "c"}}, "of the kind persistentVolumeClaim"),
        ({"csi": {"driver": "d"}}, "of the kind csi"),
        ({"somethingNew": {}}, "of the kind somethingNew"),
        ({"emptyDir": {"medium": "Memory"}}, "an emptyDir of the medium Memory"),
        ({"hostPath": {"path": "relative"}}, "must be an absolute path"),
        ({"hostPath": {"path": "/a/../b"}}, "must be an absolute path"),
        ({"hostPath": {"path": "/a\0b"}}, "must be an absolute path"),
        ({"hostPath": {"path": "/a", "type": "Fifo"}}, "hostPath.type is not known"),
    ],
)
def test_a_volume_that_is_not_possible_is_refused_by_its_name(
    volume: dict[str, Any], why: str
) -> None:
    message = refusal(pod_with({"name": "data", **volume}))
    assert message.startswith('volume "data"')
    assert why in message


def test_a_volume_of_which_the_pod_knows_nothing_is_refused() -> None:
    assert refusal(pod_with()) == 'volume "data" is not one of the pod\'s volumes'


def test_a_volume_that_no_container_mounts_keeps_nobody_waiting() -> None:
    assert mounts_of(pod_with({"name": "data", "secret": {"secretName": "s"}})).mounts == ()


def test_a_block_device_is_refused() -> None:
    pod = pod_with({"name": "disk", "persistentVolumeClaim": {"claimName": "c"}})
    with pytest.raises(ConfigRefusedError, match='volume "disk" is a block device'):
        mounts_of(pod, volumeDevices=[{"name": "disk", "devicePath": "/dev/x"}])


def test_a_container_does_without_the_token_of_api_servers_where_nobody_made_it() -> None:
    pod = pod_with(TOKEN)
    mount = {"name": TOKEN["name"], "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
    assert mounts_of(pod, mount).mounts == ()


def test_a_token_that_the_pod_itself_asks_for_is_not_left_out() -> None:
    assert "of the kind projected" in refusal(pod_with({**TOKEN, "name": "data"}))


def test_every_container_has_the_pods_hosts_and_a_file_for_its_last_words() -> None:
    container = {"name": "main", "terminationMessagePath": "/dev/termination-log"}
    found = container_mounts(EMPTY, container, 10, NODE, MountSituation(ips=("10.0.0.1",)))
    hosts, words = "/r/pods/u1/etc-hosts", "/r/pods/u1/containers/main/0000000a"
    assert found.mounts == (
        cri.Mount(container_path="/etc/hosts", host_path=hosts),
        cri.Mount(container_path="/dev/termination-log", host_path=words),
    )
    written, made, logs = found.tasks
    assert isinstance(written, WriteHostsFile)
    assert (written.path, written.node_file) == (hosts, "")
    assert "10.0.0.1\tweb\n" in written.content
    assert (made, logs) == (MakeTerminationFile(path=words), LOGS)


@pytest.mark.parametrize("path", ["/etc/hosts", "etc/hosts", "/etc/hosts/"])
def test_where_the_pod_mounts_something_the_agent_mounts_nothing(path: str) -> None:
    container = {"name": "main", "volumeMounts": [{"name": "data", "mountPath": path}]}
    found = container_mounts(ON_HOST, container, 0, NODE, MountSituation(ips=("10.0.0.1",)))
    assert [mount.host_path for mount in found.mounts] == ["/srv"]
    assert len(found.tasks) == 2


def test_with_selinux_what_is_the_pods_own_gets_its_label() -> None:
    node = replace(NODE, has_selinux=True)
    pod = pod_with({"name": "own", "emptyDir": {}}, {"name": "nodes", "hostPath": {"path": "/srv"}})
    found = mounts_of(
        pod,
        {"name": "own", "mountPath": "/own"},
        {"name": "nodes", "mountPath": "/nodes"},
        node=node,
        terminationMessagePath="/words",
    )
    assert [mount.selinux_relabel for mount in found.mounts] == [True, False, True]


@pytest.mark.parametrize("name", ["..", "a/b", ""])
def test_no_name_leads_out_of_the_pods_directory(name: str) -> None:
    with pytest.raises(ConfigRefusedError, match="cannot be the name of a file"):
        container_mounts(EMPTY, {"name": name, "terminationMessagePath": "/w"}, 0, NODE)
    with pytest.raises(ConfigRefusedError, match="cannot be the name of a file"):
        mounts_of(pod_with({"name": name, "emptyDir": {}}), {"name": name, "mountPath": "/x"})
