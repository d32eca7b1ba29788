"""What is mounted into containers, and what has to be on the disk before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from actors.volumes.mounts.places import VolumePlace
from actors.volumes.mounts.sub_paths import SubPath
from messages.container_runtime import RuntimeFailureKind
from messages.pods import Pod
from messages.volumes import PodVolume
from runtimes.cri.configs.documents import ConfigRefusedError
from runtimes.cri.configs.mounts import ContainerMounts, MountSituation, container_mounts
from runtimes.cri.configs.node import CriNode, HandlerFeatures
from runtimes.cri.disk.pod_files import (
    BindSubPath,
    CheckPropagation,
    MakeLogDirectory,
    MakeTerminationFile,
    WriteHostsFile,
)
from runtimes.cri.wire import cri_pb2 as cri
from tests.support.builders import make_pod

NODE = CriNode(name="node", root_dir="/r")
LOGS = MakeLogDirectory(path="/var/log/pods", names=("default_web_u1", "main"))
TOKEN = {
    "name": "kube-api-access-x7z2k",
    "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]},
}
THERE = {"data": PodVolume(path="/srv"), "own": PodVolume(path="/r/own", is_own=True)}
"""The volumes that are there."""

POD = make_pod(
    uid="u1",
    spec={
        "volumes": [
            {"name": "keys", "secret": {"secretName": "s"}},
            {"name": "data", "emptyDir": {}},
        ]
    },
)
KEYS = PodVolume(path="/r/pods/u1/volumes/kubernetes.io~secret/keys", read_only=True, is_own=True)
DATA = PodVolume(path="/r/pods/u1/volumes/kubernetes.io~empty-dir/data", is_own=True)


def pod_with(*volumes: dict[str, Any], **spec: Any) -> Pod:
    return make_pod(uid="u1", spec={"volumes": volumes, **spec})


def mounts_of(
    pod: Pod, *mounts: dict[str, Any], node: CriNode = NODE, **fields: Any
) -> ContainerMounts:
    container = {"name": "main", "volumeMounts": mounts, **fields}
    return container_mounts(pod, container, 3, node, MountSituation(volumes=THERE))


def one(pod: Pod, **mount: Any) -> cri.Mount:
    (found,) = mounts_of(pod, {"name": "data", "mountPath": "/data", **mount}).mounts
    return found


def refusal(pod: Pod, **mount: Any) -> str:
    with pytest.raises(ConfigRefusedError) as raised:
        one(pod, **mount)
    assert raised.value.kind is RuntimeFailureKind.CONFIG
    return raised.value.message


ON_HOST = pod_with({"name": "data", "hostPath": {"path": "/srv", "type": "Directory"}})


def test_a_volume_is_mounted_as_the_container_says() -> None:
    found = mounts_of(ON_HOST, {"name": "data", "mountPath": "data", "readOnly": True})
    assert found.mounts == (cri.Mount(container_path="/data", host_path="/srv", readonly=True),)
    assert found.tasks == (LOGS,)


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
    found = container_mounts(
        ON_HOST, container, 0, NODE, MountSituation(handler=features, volumes=THERE)
    )
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


def test_a_volume_that_is_not_there_is_named_in_a_kubelets_words() -> None:
    with pytest.raises(ConfigRefusedError) as raised:
        mounts_of(
            pod_with({"name": "keys", "secret": {"secretName": "s"}}),
            {"name": "keys", "mountPath": "/keys"},
        )
    assert raised.value.message == 'cannot find volume "keys" to mount into container "main"'
    assert raised.value.kind is RuntimeFailureKind.CONFIG


def test_a_volume_of_which_the_pod_knows_nothing_is_refused() -> None:
    assert refusal(pod_with()) == 'volume "data" is not one of the pod\'s volumes'


def test_a_volume_that_no_container_mounts_keeps_nobody_waiting() -> None:
    assert mounts_of(pod_with({"name": "data", "secret": {"secretName": "s"}})).mounts == ()


def test_a_block_device_is_refused() -> None:
    pod = pod_with({"name": "disk", "persistentVolumeClaim": {"claimName": "c"}})
    with pytest.raises(ConfigRefusedError, match='volume "disk" is a block device'):
        mounts_of(pod, volumeDevices=[{"name": "disk", "devicePath": "/dev/x"}])


def test_a_container_does_not_start_without_the_token_that_an_api_server_put_into_its_pod() -> None:
    mount = {"name": TOKEN["name"], "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
    with pytest.raises(ConfigRefusedError, match='cannot find volume "kube-api-access-x7z2k"'):
        mounts_of(pod_with(TOKEN), mount)


def test_every_container_has_the_pods_hosts_and_a_file_for_its_last_words() -> None:
    container = {"name": "main", "terminationMessagePath": "/dev/termination-log"}
    found = container_mounts(ON_HOST, container, 10, NODE, MountSituation(ips=("10.0.0.1",)))
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
    found = container_mounts(
        ON_HOST, container, 0, NODE, MountSituation(ips=("10.0.0.1",), volumes=THERE)
    )
    assert [mount.host_path for mount in found.mounts] == ["/srv"]
    assert found.tasks == (LOGS,)


def test_with_selinux_what_is_the_pods_own_gets_its_label() -> None:
    node = replace(NODE, has_selinux=True)
    pod = pod_with({"name": "own", "emptyDir": {}}, {"name": "data", "hostPath": {"path": "/srv"}})
    found = mounts_of(
        pod,
        {"name": "own", "mountPath": "/own"},
        {"name": "data", "mountPath": "/data"},
        node=node,
        terminationMessagePath="/words",
    )
    assert [mount.selinux_relabel for mount in found.mounts] == [True, False, True]


@pytest.mark.parametrize("name", ["..", "a/b", ""])
def test_no_name_leads_out_of_the_pods_directory(name: str) -> None:
    with pytest.raises(ConfigRefusedError, match="cannot be the name of a file"):
        container_mounts(ON_HOST, {"name": name, "terminationMessagePath": "/w"}, 0, NODE)
    given = MountSituation(volumes={name: PodVolume(path="/srv")})
    volume, mount = (
        {"name": name, "emptyDir": {}},
        {"name": name, "mountPath": "/x", "subPath": "y"},
    )
    with pytest.raises(ConfigRefusedError, match="cannot be the name of a file"):
        container_mounts(
            pod_with(volume), {"name": "main", "volumeMounts": [mount]}, 0, NODE, given
        )


VARIABLES = {"NAME": "one", "EMPTY": "", "SLASH": "/etc", "UP": "../..", "NUL": "a\0b"}


def there_mounted(*mounts: dict[str, Any], node: CriNode = NODE) -> ContainerMounts:
    container = {"name": "main", "volumeMounts": mounts}
    given = MountSituation(volumes={"keys": KEYS, "data": DATA}, variables=VARIABLES)
    return container_mounts(POD, container, 0, node, given)


def part(volume: PodVolume, name: str, path: str, index: int, shown: str) -> BindSubPath:
    names = ("u1", "volume-subpaths", name, "main", str(index))
    sub_path = SubPath(
        volume=volume.path,
        path=path,
        place=VolumePlace(root="/r/pods", names=names),
        read_only=volume.read_only,
        may_make=not volume.read_only,
    )
    return BindSubPath(volume=name, container="main", shown=shown, part=sub_path)


def part_refusal(**mount: Any) -> str:
    with pytest.raises(ConfigRefusedError) as raised:
        there_mounted({"name": "data", "mountPath": "/data", **mount})
    assert raised.value.kind is RuntimeFailureKind.CONFIG
    return raised.value.message


def test_a_volume_that_is_there_is_mounted_and_nothing_is_made_for_it() -> None:
    found = there_mounted({"name": "data", "mountPath": "/data"})
    assert found.mounts == (cri.Mount(container_path="/data", host_path=DATA.path),)
    assert found.tasks == (LOGS,)


def test_what_only_the_agent_writes_is_mounted_read_only_whatever_is_asked_for() -> None:
    found = there_mounted({"name": "keys", "mountPath": "/keys", "readOnly": False})
    assert found.mounts[0].readonly


def test_with_selinux_a_volume_of_the_pods_own_gets_its_label() -> None:
    mount = {"name": "keys", "mountPath": "/keys"}
    assert there_mounted(mount, node=replace(NODE, has_selinux=True)).mounts[0].selinux_relabel
    assert not there_mounted(mount).mounts[0].selinux_relabel


def test_a_part_is_mounted_by_the_place_that_it_is_bound_to_before() -> None:
    found = there_mounted(
        {"name": "keys", "mountPath": "/all"},
        {"name": "keys", "mountPath": "/key", "subPath": "key"},
        {"name": "data", "mountPath": "/mine", "subPathExpr": "of/$(NAME)"},
    )
    assert [mount.host_path for mount in found.mounts] == [
        KEYS.path,
        "/r/pods/u1/volume-subpaths/keys/main/1",
        "/r/pods/u1/volume-subpaths/data/main/2",
    ]
    assert [mount.readonly for mount in found.mounts] == [True, True, False]
    assert found.tasks == (
        part(KEYS, "keys", "key", 1, "key"),
        part(DATA, "data", "of/one", 2, "of/$(NAME)"),
        LOGS,
    )


def test_a_part_that_is_named_by_a_value_is_shown_nowhere() -> None:
    found = there_mounted({"name": "data", "mountPath": "/mine", "subPathExpr": "$(NAME)-x"})
    assert "one-x" not in repr(found)


@pytest.mark.parametrize(
    ("mount", "why"),
    [
        ({"subPath": "/etc"}, "error SubPath `/etc` must not be an absolute path"),
        ({"subPath": "a/../b"}, "unable to provision SubPath `a/../b`: must not contain '..'"),
        ({"subPathExpr": "$(SLASH)"}, "error SubPath `$(SLASH)` must not be an absolute path"),
        ({"subPathExpr": "$(UP)"}, "unable to provision SubPath `$(UP)`: must not contain '..'"),
        (
            {"subPathExpr": "$(NUL)"},
            "unable to provision SubPath `$(NUL)`: no path has this character",
        ),
        (
            {"subPathExpr": "$(NONE)/$(EMPTY)"},
            "missing value for EMPTY, NONE in subPathExpr `$(NONE)/$(EMPTY)`",
        ),
    ],
)
def test_a_part_that_there_cannot_be_is_refused_and_no_value_is_shown(
    mount: dict[str, Any], why: str
) -> None:
    assert part_refusal(**mount) == f'volume "data": {why}'


def test_a_path_that_grows_without_end_is_refused() -> None:
    given = MountSituation(volumes={"data": DATA}, variables={"X": "x" * 100_000})
    mount = {"name": "data", "mountPath": "/d", "subPathExpr": "$(X)" * 30}
    container = {"name": "main", "volumeMounts": [mount]}
    with pytest.raises(ConfigRefusedError, match="is longer than a process can be given"):
        container_mounts(POD, container, 0, NODE, given)


@pytest.mark.parametrize("propagation", ["HostToContainer", "Bidirectional"])
def test_what_propagates_is_looked_at_before(propagation: str) -> None:
    found = there_mounted({"name": "data", "mountPath": "/d", "mountPropagation": propagation})
    checked = CheckPropagation(volume="data", path=DATA.path, propagation=propagation)
    assert found.tasks == (checked, LOGS)
