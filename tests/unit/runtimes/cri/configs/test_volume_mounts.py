"""Volumes that are there, and parts of them, as containers mount them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from actors.volumes.mounts.places import VolumePlace
from actors.volumes.mounts.sub_paths import SubPath
from messages.container_runtime import RuntimeFailureKind
from messages.volumes import PodVolume
from runtimes.cri.configs.mounts import ContainerMounts, container_mounts
from runtimes.cri.configs.node import CriNode
from runtimes.cri.configs.refusals import ConfigRefusedError
from runtimes.cri.configs.volume_mounts import MountSituation
from runtimes.cri.disk.tasks import BindSubPath, CheckPropagation, MakeLogDirectory
from runtimes.cri.wire import cri_pb2 as cri
from tests.support.builders import make_pod

NODE = CriNode(name="node", root_dir="/r")
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
VARIABLES = {"NAME": "one", "EMPTY": "", "SLASH": "/etc", "UP": "../..", "NUL": "a\0b"}
LOGS = MakeLogDirectory(path="/var/log/pods", names=("default_web_u1", "main"))


def mounts_of(*mounts: dict[str, Any], node: CriNode = NODE) -> ContainerMounts:
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


def refusal(**mount: Any) -> str:
    with pytest.raises(ConfigRefusedError) as raised:
        mounts_of({"name": "data", "mountPath": "/data", **mount})
    assert raised.value.kind is RuntimeFailureKind.CONFIG
    return raised.value.message


def test_a_volume_that_is_there_is_mounted_and_nothing_is_made_for_it() -> None:
    found = mounts_of({"name": "data", "mountPath": "/data"})
    assert found.mounts == (cri.Mount(container_path="/data", host_path=DATA.path),)
    assert found.tasks == (LOGS,)


def test_what_only_the_agent_writes_is_mounted_read_only_whatever_is_asked_for() -> None:
    found = mounts_of({"name": "keys", "mountPath": "/keys", "readOnly": False})
    assert found.mounts[0].readonly


def test_with_selinux_a_volume_of_the_pods_own_gets_its_label() -> None:
    mount = {"name": "keys", "mountPath": "/keys"}
    assert mounts_of(mount, node=replace(NODE, has_selinux=True)).mounts[0].selinux_relabel
    assert not mounts_of(mount).mounts[0].selinux_relabel


def test_a_part_is_mounted_by_the_place_that_it_is_bound_to_before() -> None:
    found = mounts_of(
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
    found = mounts_of({"name": "data", "mountPath": "/mine", "subPathExpr": "$(NAME)-x"})
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
    assert refusal(**mount) == f'volume "data": {why}'


def test_a_path_that_grows_without_end_is_refused() -> None:
    given = MountSituation(volumes={"data": DATA}, variables={"X": "x" * 100_000})
    mount = {"name": "data", "mountPath": "/d", "subPathExpr": "$(X)" * 30}
    container = {"name": "main", "volumeMounts": [mount]}
    with pytest.raises(ConfigRefusedError, match="is longer than a process can be given"):
        container_mounts(POD, container, 0, NODE, given)


@pytest.mark.parametrize("propagation", ["HostToContainer", "Bidirectional"])
def test_what_propagates_is_looked_at_before(propagation: str) -> None:
    found = mounts_of({"name": "data", "mountPath": "/d", "mountPropagation": propagation})
    checked = CheckPropagation(volume="data", path=DATA.path, propagation=propagation)
    assert found.tasks == (checked, LOGS)
