"""Volumes of pods of a cluster, as real containers see them and as people are told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from actors.volumes.mounts.mount_table import mounts_below
from actors.volumes.mounts.system_calls import KernelMounts
from messages.pods import JsonObject
from tests.support.agent.joined_agent import JoinedAgent, Onlooker
from tests.support.agent.joined_objects import config_map, edit, secret, value, wipe_objects
from tests.support.agent.joined_pods import runs, waiting
from tests.support.agent.process import eventually
from tests.support.agent.real_node import RealNode, telling
from tests.support.cluster.cluster import Cluster
from tests.support.containers.containerd import Containerd
from tests.support.patience import SLOWNESS

pytestmark = pytest.mark.cluster

SOON = 15.0 * SLOWNESS
"""Seconds within which a change is seen, also on a machine that does much else."""
KEYS = {"name": "keys", "mountPath": "/keys"}
LOGIN = {"name": "keys", "secret": {"secretName": "login"}}
FOLLOWS = (
    "last=; while true; do now=$(cat {0} 2>/dev/null || echo $last);"
    ' if [ "$now" != "$last" ]; then last=$now; echo "$now" >> /told/said; fi; sleep 0.02; done'
)


@pytest.fixture
def node(
    mounting: Path, cluster: Cluster, onlooker: Onlooker, containerd: Containerd
) -> Iterator[RealNode]:
    mounting.joinpath("told").mkdir()
    with JoinedAgent(mounting, cluster.kubeconfig()) as agent:
        yield RealNode(agent, containerd, mounting)
    onlooker.wipe()
    wipe_objects(onlooker)


@pytest.fixture
def told(mounting: Path) -> Path:
    """Return the file that containers write to."""
    return mounting / "told" / "said"


def pod_with(
    told: Path,
    script: str,
    volumes: Iterable[JsonObject],
    mounts: Iterable[JsonObject],
    **metadata: Any,
) -> JsonObject:
    """Return a pod whose container has these volumes."""
    folder = {"name": "told", "hostPath": {"path": str(told.parent)}}
    document = telling("web", volumes=[folder, *volumes])
    (main,) = document["spec"]["containers"]
    main["command"] = ["sh", "-c", script]
    main["volumeMounts"] = [{"name": "told", "mountPath": "/told"}, *mounts]
    return {**document, "metadata": {**document["metadata"], **metadata}}


def said(told: Path) -> list[str]:
    return told.read_text().splitlines() if told.exists() else []


def test_a_secret_that_is_changed_at_the_api_server_is_seen_in_the_container(
    node: RealNode, onlooker: Onlooker, told: Path
) -> None:
    onlooker.admin.add(secret("login"))
    onlooker.admin.add(pod_with(told, FOLLOWS.format("/keys/password"), [LOGIN], [KEYS]))
    node.starts()
    eventually(lambda: said(told) == [value("login")])
    began = monotonic()
    edit(onlooker, "login", "other")
    eventually(lambda: said(told)[-1] == value("other"))
    assert monotonic() - began < SOON


def test_labels_that_are_changed_at_the_api_server_are_seen_in_a_file(
    node: RealNode, onlooker: Onlooker, told: Path
) -> None:
    items = [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]
    volume = {"name": "about", "downwardAPI": {"items": items}}
    mount = {"name": "about", "mountPath": "/about"}
    script = FOLLOWS.format("/about/labels")
    onlooker.admin.add(pod_with(told, script, [volume], [mount], labels={"color": "red"}))
    node.starts()
    eventually(lambda: said(told) == ['color="red"'])
    onlooker.admin.change("pods", "default", "web", metadata={"labels": {"color": "blue"}})
    eventually(lambda: said(told) == ['color="red"', 'color="blue"'])


def test_a_pod_waits_for_its_secret_with_an_event_that_names_it_and_starts_when_it_is_there(
    node: RealNode, onlooker: Onlooker, told: Path
) -> None:
    onlooker.admin.add(pod_with(told, FOLLOWS.format("/keys/password"), [LOGIN], [KEYS]))
    node.starts()
    events = eventually(
        lambda: [each for each in onlooker.warnings() if each["reason"] == "FailedMount"]
    )
    assert any("login" in each["message"] for each in events)
    eventually(lambda: waiting(onlooker, "web").get("reason") == "ContainerCreating")
    onlooker.admin.add(secret("login"))
    began = monotonic()
    eventually(lambda: said(told) == [value("login")])
    assert monotonic() - began < SOON


def test_nothing_of_a_pod_is_mounted_any_more_when_it_is_gone_at_the_api_server(
    node: RealNode, onlooker: Onlooker, told: Path
) -> None:
    onlooker.admin.add(secret("login"))
    part = {"name": "keys", "mountPath": "/part", "subPath": "password"}
    onlooker.admin.add(pod_with(told, FOLLOWS.format("/part"), [LOGIN], [KEYS, part]))
    node.starts()
    eventually(lambda: runs(onlooker, "web"))
    pods = (node.agent.root_dir / "pods").resolve()
    assert len(mounts_below(KernelMounts().table(), str(pods))) == 2
    onlooker.admin.remove("secrets", "default", "login")
    onlooker.admin.remove("pods", "default", "web", grace=1)
    eventually(lambda: onlooker.pod("web") is None)
    assert mounts_below(KernelMounts().table(), str(pods)) == ()
    eventually(lambda: [*pods.iterdir()] == [])


def test_as_much_as_an_object_may_hold_is_there_byte_for_byte(
    node: RealNode, onlooker: Onlooker, told: Path
) -> None:
    content = {f"key-{number:04}": f"{number:04}" * 240 for number in range(1000)}
    onlooker.admin.add(config_map("large", data=content))
    volume = {"name": "all", "configMap": {"name": "large"}}
    script = "echo $(ls /all | wc -l) > /told/said; exec sleep 1000"
    onlooker.admin.add(pod_with(told, script, [volume], [{"name": "all", "mountPath": "/all"}]))
    node.starts()
    eventually(lambda: said(told) == ["1000"])
    (files,) = node.agent.root_dir.glob("pods/*/volumes/kubernetes.io~configmap/all")
    assert {each.name: each.read_text() for each in files.glob("key-*")} == content
