"""Mounts as real containers see them, and signals that real containers get."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actors.volumes.mounts.memory import MemoryRoom, MountPowers, make_in_memory
from actors.volumes.mounts.mount_table import mounts_below
from actors.volumes.mounts.places import VolumePlace
from actors.volumes.mounts.removal import Unmounted, remove_pod_files, unmount_volume
from actors.volumes.mounts.sub_paths import SubPath, bind_sub_path
from actors.volumes.mounts.system_calls import KernelMounts
from messages.pods import Pod
from messages.volumes import PodVolume
from runtimes.cri.cgroups.container_signals import SignalOutcome, signal_container
from runtimes.cri.wire import cri_pb2 as cri
from tests.support.agent.process import eventually
from tests.support.containers.configured import ConfiguredPods, script_pod
from tests.support.containers.containerd import Containerd
from tests.support.volumes.swapping import swapping_one

ROOM = MemoryRoom(size=1 << 20, files=64)
STARTS = 8
"""Of containers that found what they should, in spite of what is swapped meanwhile."""
POWERS = MountPowers(can_mount=True, has_noswap=False)


@pytest.fixture
def pods(containerd: Containerd, mounting: Path) -> Iterator[ConfiguredPods]:
    configured = ConfiguredPods(containerd, mounting)
    yield configured
    configured.close()


@pytest.fixture
def keys(mounting: Path) -> VolumePlace:
    """Return a volume in memory with content."""
    place = VolumePlace(root=str(mounting / "root"), names=("pods", "u1", "volumes", "keys"))
    make_in_memory(KernelMounts(), place, ROOM, POWERS)
    Path(place.path, "key").write_text("one\n")
    return place


def part(place: VolumePlace, path: str, number: int, *, read_only: bool = False) -> SubPath:
    names = (*place.names[:2], "volume-subpaths", "keys", "main", str(number))
    bound = VolumePlace(root=place.root, names=names)
    return SubPath(volume=place.path, path=path, place=bound, read_only=read_only)


def pod_with(script: str, paths: dict[str, str], user: int = 1000) -> Pod:
    """Return a pod that mounts paths of the node at places of its own."""
    container = {
        "securityContext": {"runAsUser": user},
        "volumeMounts": [
            {"name": f"v{number}", "mountPath": inside} for number, inside in enumerate(paths)
        ],
    }
    volumes = [
        {"name": f"v{number}", "hostPath": {"path": path}}
        for number, path in enumerate(paths.values())
    ]
    return script_pod(script, container, volumes=volumes)


def test_a_container_of_any_user_reads_a_volume_and_the_parts_of_it(
    pods: ConfiguredPods, keys: VolumePlace
) -> None:
    Path(keys.path, "deep").mkdir(0o777)
    directory = bind_sub_path(KernelMounts(), part(keys, "deep", 0))
    file = bind_sub_path(KernelMounts(), part(keys, "key", 1, read_only=True))
    script = "cat /all/key /file; echo two > /all/mine; echo three > /file; ls /all /deep"
    pod = pod_with(script, {"/all": keys.path, "/deep": directory, "/file": file})
    assert pods.said(pod) == [
        *("one", "one", "sh: can't create /file: Read-only file system"),
        *("/all:", "deep", "key", "mine", "", "/deep:"),
    ]


def test_a_part_that_a_container_has_replaced_by_a_link_is_refused_when_it_starts_again(
    pods: ConfiguredPods, keys: VolumePlace
) -> None:
    Path(keys.path, "deep").mkdir(0o777)
    bound = bind_sub_path(KernelMounts(), part(keys, "deep", 0))
    script = "rmdir /all/deep; ln -s / /all/deep; echo in > /deep/mine; ls /all/deep/mine"
    said = pods.said(pod_with(script, {"/all": keys.path, "/deep": bound}, user=0))
    assert said == [
        "sh: can't create /deep/mine: nonexistent directory",
        "ls: /all/deep/mine: No such file or directory",
    ]
    with pytest.raises(OSError, match="leads out of the volume"):
        bind_sub_path(KernelMounts(), part(keys, "deep", 0))


def volume_pod(script: str, *mounts: dict[str, Any], **container: Any) -> Pod:
    """Return a pod whose container mounts the volume ``keys``, which is there, or parts of it."""
    main = {"volumeMounts": [{"name": "keys", **each} for each in mounts], **container}
    return script_pod(script, main, volumes=[{"name": "keys", "emptyDir": {}}])


def test_a_part_by_its_name_or_by_a_variable_is_mounted_and_made_where_it_is_missing(
    pods: ConfiguredPods, keys: VolumePlace
) -> None:
    pods.volumes["keys"] = PodVolume(path=keys.path)
    pods.variables["NAME"] = "mine"
    pod = volume_pod(
        "cat /key; echo two > /own/file; cat /all/deep/mine/file",
        {"mountPath": "/all"},
        {"mountPath": "/key", "subPath": "key"},
        {"mountPath": "/own", "subPathExpr": "deep/$(NAME)"},
    )
    assert pods.said(pod) == ["one", "two"]


def test_parts_of_a_volume_that_the_agent_writes_are_read_only_and_as_they_were_at_the_start(
    pods: ConfiguredPods, keys: VolumePlace
) -> None:
    pods.volumes["keys"] = PodVolume(path=keys.path, read_only=True)
    script = (
        "cat /key; echo x > /key; echo waits; until [ -e /all/go ]; do sleep 0.05; done; cat /key"
    )
    mounts = {"mountPath": "/all"}, {"mountPath": "/key", "subPath": "key"}
    pod = volume_pod(script, *mounts)
    sandbox = pods.sandbox(pod)
    container = pods.create(pod, sandbox)
    pods.start(container)
    log = Path(pods.client.container(container).log_path)
    eventually(lambda: "waits" in log.read_text())
    Path(keys.path, "new").write_text("two\n")
    Path(keys.path, "new").rename(Path(keys.path, "key"))
    Path(keys.path, "go").touch()
    pods.ended(container)
    said = [line.split(" ", 3)[-1] for line in log.read_text().splitlines()]
    refused = "sh: can't create /key: Read-only file system"
    assert said == ["one", refused, "waits", "one"]
    # The next instance has what is there when it begins.
    pods.remove(container)
    assert pods.tried(pod, sandbox).endswith("two")


def test_a_container_that_swaps_a_part_for_a_link_gets_nothing_of_the_node_however_often_it_starts(
    pods: ConfiguredPods, keys: VolumePlace, mounting: Path
) -> None:
    precious = mounting / "precious"
    precious.mkdir()
    precious.joinpath("file").write_text("precious")
    pods.volumes["keys"] = PodVolume(path=keys.path)
    Path(keys.path, "part").mkdir(0o777)
    Path(keys.path, "part", "file").write_text("inside")
    pod = volume_pod(
        "cat /part/file",
        {"mountPath": "/part", "subPath": "part"},
        securityContext={"runAsUser": 0},
    )
    sandbox = pods.sandbox(pod)
    said: Counter[str] = Counter()
    with swapping_one(Path(keys.path, "part"), precious):
        while said["inside"] < STARTS and said.total() < 20 * STARTS:
            said[pods.tried(pod, sandbox)] += 1
    assert said["inside"] == STARTS, said
    assert not [each for each in said if "precious" in each], said


def test_nothing_is_left_of_volumes_whose_containers_have_ended(
    pods: ConfiguredPods, keys: VolumePlace, mounting: Path
) -> None:
    wanted = part(keys, "", 0)
    pods.said(pod_with("true", {"/part": bind_sub_path(KernelMounts(), wanted)}))
    assert unmount_volume(KernelMounts(), wanted.place) is Unmounted.DONE
    assert unmount_volume(KernelMounts(), keys) is Unmounted.DONE
    assert remove_pod_files(f"{keys.root}/pods/u1") == ""
    assert mounts_below(KernelMounts().table(), str(mounting)) == ()


def pid_of(pods: ConfiguredPods, container: str) -> int:
    request = cri.ContainerStatusRequest(container_id=container, verbose=True)
    reply = pods.client.call(request, cri.ContainerStatusResponse)
    return int(json.loads(reply.info["info"])["pid"])


def test_the_main_process_of_a_container_gets_a_signal_and_nobody_else(
    pods: ConfiguredPods,
) -> None:
    script = "trap 'echo changed; exit 7' HUP; echo begins; while true; do sleep 0.05; done"
    pod = script_pod(script)
    container = pods.create(pod, pods.sandbox(pod))
    pods.start(container)
    log = Path(pods.client.container(container).log_path)
    eventually(lambda: "begins" in log.read_text())
    pid = pid_of(pods, container)
    assert signal_container(pid, "0" * 64, signal.SIGKILL) is SignalOutcome.OF_ANOTHER
    assert signal_container(pid, container, signal.SIGHUP) is SignalOutcome.SENT
    assert pods.ended(container).exit_code == 7
    assert "changed" in log.read_text()
    assert signal_container(pid, container, signal.SIGHUP) is SignalOutcome.GONE
