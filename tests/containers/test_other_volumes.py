"""Directories of containers' own, paths of the node, and parts of volumes, in the whole agent."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from messages.pods import JsonObject
from tests.support.agent.process import eventually
from tests.support.containers.containerd import Containerd
from tests.support.containers.volume_agent import FOLLOWS, RESTS, VolumeAgent, config_map

DATA = {"name": "data", "mountPath": "/data"}


@pytest.fixture
def agent(mounting: Path, containerd: Containerd) -> Iterator[VolumeAgent]:
    with VolumeAgent(mounting, containerd) as agent:
        yield agent


def memory(name: str, size: str) -> JsonObject:
    return {"name": name, "emptyDir": {"medium": "Memory", "sizeLimit": size}}


def test_a_directory_in_memory_is_as_large_as_it_may_be_and_a_full_one_harms_nobody(
    agent: VolumeAgent,
) -> None:
    fills = (
        'dd if=/dev/zero of=/data/file bs=1024 count=4096 2>&1 | grep -o "No space left";'
        ' say "$(stat -c %s /data/file)"; '
    )
    writes = "dd if=/dev/zero of=/data/file bs=1024 count=512 2>/dev/null && say wrote; "
    agent.mount("full", fills + RESTS, [memory("data", "1Mi")], [DATA])
    agent.up()
    agent.await_said("full", str(1 << 20), "rests")
    agent.mount("neighbour", writes + RESTS, [memory("data", "1Mi")], [DATA])
    agent.await_said("neighbour", "wrote", "rests")
    assert {each.kind for each in agent.mounted()} == {"tmpfs"}


def test_two_containers_share_a_directory_that_any_of_them_may_write_to(
    agent: VolumeAgent,
) -> None:
    reads = 'until [ -e /data/file ]; do sleep 0.05; done; say "$(cat /data/file)"; '
    writes = "echo hello > /data/file; "
    agent.mount(
        "web",
        reads + RESTS,
        [{"name": "data", "emptyDir": {}}],
        [DATA],
        securityContext={"runAsUser": 1000, "runAsGroup": 1000},
        others=[agent.beside("writer", writes + RESTS, [DATA])],
    )
    agent.up()
    agent.await_said("web", "hello", "rests")


def make(path: Path, kind: str) -> None:
    """Make what a volume of this kind is about."""
    if kind == "Directory":
        path.mkdir()
    elif kind == "File":
        path.touch()
    else:
        beside = Path("/tmp", f"{os.getpid()}.socket")  # the name of a socket has 107 bytes at most
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(beside))
        shutil.move(beside, path)


@pytest.mark.parametrize("kind", ["Directory", "File", "Socket"])
def test_a_pod_waits_while_a_path_of_the_node_is_not_what_it_should_be(
    agent: VolumeAgent, mounting: Path, kind: str
) -> None:
    path = mounting / "path"
    path.symlink_to("nowhere")
    volume = {"name": "data", "hostPath": {"path": str(path), "type": kind}}
    agent.mount("web", RESTS, [volume], [DATA])
    agent.mount("other", RESTS, [], [])
    agent.up()
    agent.await_running("other")
    eventually(lambda: agent.waits("web"))
    eventually(lambda: agent.waits_for("web", "data", str(path)))
    path.unlink()
    make(path, kind)
    agent.await_said("web", "rests")


def test_a_path_of_the_node_is_made_where_the_pod_says_so(
    agent: VolumeAgent, mounting: Path
) -> None:
    path = mounting / "made" / "deep"
    volume = {"name": "data", "hostPath": {"path": str(path), "type": "DirectoryOrCreate"}}
    agent.mount("web", "touch /data/file; " + RESTS, [volume], [DATA])
    agent.up()
    agent.await_said("web", "rests")
    assert path.joinpath("file").exists()
    agent.withdraw("web")
    agent.await_nothing()
    assert path.joinpath("file").exists()


def test_a_part_of_a_volume_is_never_updated_until_its_container_starts_again(
    agent: VolumeAgent,
) -> None:
    agent.keep("ConfigMap", "settings", key="one")
    mounts = [
        {"name": "all", "mountPath": "/all"},
        {"name": "all", "mountPath": "/part", "subPath": "key"},
    ]
    follows = FOLLOWS.replace('say "$now"', 'say "$now $(cat /part)"')
    volume = config_map("all", "settings")
    agent.mount("web", follows, [volume], mounts, env={"FILE": "/all/key"})
    agent.up()
    agent.await_said("web", "one one")
    agent.keep("ConfigMap", "settings", key="two")
    agent.await_said("web", "one one", "two one")
    agent.await_running("web")
    agent.containerd.kill_task(agent.status("web")["containerID"].partition("://")[2])
    agent.await_said("web", "one one", "two one", "two two")
    agent.withdraw("web")
    agent.await_nothing()
    eventually(lambda: agent.left() == [])


def test_a_part_by_the_name_of_the_pod_is_made_in_a_path_of_the_node(
    agent: VolumeAgent, mounting: Path
) -> None:
    mounting.joinpath("shared").mkdir()
    volume = {"name": "data", "hostPath": {"path": str(mounting / "shared")}}
    mount = {**DATA, "subPathExpr": "of/$(NAME)"}
    agent.mount("web", "touch /data/file; " + RESTS, [volume], [mount])
    agent.up()
    agent.await_said("web", "rests")
    assert mounting.joinpath("shared", "of", "web", "file").exists()
    agent.withdraw("web")
    agent.await_nothing()
    eventually(lambda: agent.left() == [])
    assert mounting.joinpath("shared", "of", "web", "file").exists()


def test_what_the_runtime_cannot_mount_is_refused_by_its_name_and_others_run(
    agent: VolumeAgent,
) -> None:
    volume = {"name": "model", "image": {"reference": "registry.invalid/model:1"}}
    agent.mount("bad", RESTS, [volume], [{"name": "model", "mountPath": "/model"}])
    agent.mount("good", RESTS, [], [])
    agent.up()
    agent.await_said("good", "rests")
    said = 'volume "model" is an image, which this container runtime does not mount'

    def is_refused() -> bool:
        waiting = (agent.status("bad").get("state") or {}).get("waiting") or {}
        is_so = waiting.get("reason") == "CreateContainerConfigError"
        return is_so and said in waiting["message"]

    eventually(is_refused)
