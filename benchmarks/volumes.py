"""What volumes take that follow their Secrets: until new bytes are in the files of pods, and at rest.

Against a real kube-apiserver. Pods are hollow, and their volumes are really made: so the files are what a
container would have mounted, and nothing but the agent and the API server takes time.
"""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Final

from benchmarks.agent import GIVE_UP_AFTER, Agent, joining, pause, wait_until
from benchmarks.clusters import (
    SECRET_BYTES,
    add_pods,
    create_secrets,
    pod_document,
    running_cluster,
    secret_name,
    updating,
)
from benchmarks.following import Follower
from benchmarks.row import MEDIAN, P99, Peer, Row, Target, spread, tail
from messages.pods import JsonObject
from tests.support.apiserver.users import ADMIN
from tests.support.cluster.cluster import Cluster

PODS: Final = 200
VOLUMES: Final = 1_000
_KUBELET: Final = Peer("kubelet 1.20: 55.5, 61.9, 68.9 and 81.9 s", 65_400.0, in_this_run=False)
_LOOK_EVERY: Final = 0.0005
"""Seconds between two looks at a file."""
_FLAGS: Final = ("--hollow-volumes", "--max-pods=2000")
_numbers = count(1)


def volume_rows(*, quick: bool) -> list[Row]:
    """Return how soon changes are in the files of pods, and what volumes cost."""
    if os.geteuid() != 0:
        print("left out: mounting needs root", file=sys.stderr)
        return []
    pods, times = (20, 20) if quick else (PODS, 200)
    with running_cluster() as cluster:
        if cluster is None:
            return []
        create_secrets(cluster, pods)
        own = [_pod("node-own", f"own-{each}", each) for each in range(pods)]
        shared = [_pod("node-shared", f"shared-{each}", 0) for each in range(pods)]
        add_pods(cluster, [*own, *shared])
        return [
            _own_row(cluster, pods, times),
            *_shared_rows(cluster, pods, 5 if quick else 20),
            *_many_rows(cluster, pods, VOLUMES // PODS, idle=2.0 if quick else 15.0),
        ]


# --- until a change is in a file -----------------------------------------------------------------------


def _own_row(cluster: Cluster, pods: int, times: int) -> Row:
    """Measure from the request that changes a Secret, one at a time."""
    waits = []
    with _node(cluster, "node-own", [f"own-{each}" for each in range(pods)]) as node:
        for turn in range(times):
            number = turn % pods
            file = node.file(f"own-{number}")
            value = _new_value()
            began = perf_counter()
            cluster.admin.handle(updating(number, value))
            waits.append(_shown_at([file], value)[0] - began)
    return Row(
        what=f"a Secret is PATCHed: until the file of its pod has it, {pods} pods of one each",
        unit="ms",
        figures=tail(waits, 1e3),
        samples=len(waits),
        target=Target(250.0),
        judged=P99,
        peer=_KUBELET,
    )


def _shared_rows(cluster: Cluster, pods: int, times: int) -> list[Row]:
    """Measure until each of the pods has it, and from the agent's own event until the last one has."""
    names = [f"shared-{each}" for each in range(pods)]
    waits, spans = [], []
    with _node(cluster, "node-shared", names) as node, Follower(node.agent.port) as follower:
        pause(1.0)
        files = [node.file(name) for name in names]
        for _ in range(times):
            value = _new_value()
            began = perf_counter()
            version = cluster.admin.handle(updating(0, value))["metadata"]["resourceVersion"]
            shown = _shown_at(files, value)
            waits += [each - began for each in shown]
            spans.append(max(shown) - follower.told(version))
            pause(0.2)
    return [
        Row(
            what=f"the same, one Secret that {pods} pods share: until each of their files has it",
            unit="ms",
            figures=tail(waits, 1e3),
            samples=len(waits),
            target=Target(250.0),
            judged=P99,
            peer=_KUBELET,
        ),
        Row(
            what=f"the same, from the line at /events until the last of the {pods} files has it",
            unit="ms",
            figures=spread(spans, 1e3),
            samples=len(spans),
            target=Target(60.0),
        ),
    ]


def _shown_at(files: Sequence[Path], value: str) -> list[float]:
    """Return when each of the files was first seen with the value."""
    wanted = base64.b64decode(value)
    waiting, shown = dict(enumerate(files)), dict[int, float]()
    began = perf_counter()
    while waiting:
        for number, file in tuple(waiting.items()):
            if _content(file) == wanted:
                shown[number] = perf_counter()
                del waiting[number]
        if perf_counter() - began > GIVE_UP_AFTER:
            raise TimeoutError(f"{len(waiting)} files have not changed")
        pause(_LOOK_EVERY)
    return [shown[number] for number in range(len(files))]


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""  # not there yet


def _new_value() -> str:
    """Return a value of its own, in base64."""
    text = f"measured {next(_numbers)} ".encode()
    return base64.b64encode(text.ljust(SECRET_BYTES, b"y")).decode()


# --- many ----------------------------------------------------------------------------------------------


def _many_rows(cluster: Cluster, pods: int, each: int, *, idle: float) -> list[Row]:
    names = [f"many-{number}" for number in range(pods)]
    add_pods(cluster, [_pod("node-many", name, number, each) for number, name in enumerate(names)])
    volumes = pods * each
    bare = _at_rest(cluster, names, idle)
    began = perf_counter()
    with _node(cluster, "node-many", names, volumes=volumes) as node:
        took = perf_counter() - began
        pause(5.0)
        resident, share = _rest(node.agent, idle)
    what = f"{volumes:,} volumes of {pods} Secrets in {pods} pods"
    return [
        Row(
            what=f"{what}: from the start of the process until all have their files",
            unit="s",
            figures={MEDIAN: took},
            samples=1,
            target=Target(5.0),
        ),
        Row(
            what=f"{what}: memory of each, beyond the same pods without volumes",
            unit="kB",
            figures={MEDIAN: (resident - bare[0]) / volumes / 1e3},
            samples=1,
            target=Target(5.0),
        ),
        Row(
            what=f"{what}: processor time at rest",
            unit="%",
            figures={MEDIAN: share},
            samples=1,
            peer=Peer("the same pods without volumes", bare[1]),
        ),
    ]


def _pod(node: str, name: str, secret: int, volumes: int = 1) -> JsonObject:
    """Return a pod with so many volumes of one Secret, which its container mounts."""
    document = pod_document(node, name, [])
    spec = document["spec"]
    names = [f"v{each}" for each in range(volumes)]
    shown = {"secret": {"secretName": secret_name(secret)}}
    mounts = [{"name": each, "mountPath": f"/{each}"} for each in names]
    container = {**spec["containers"][0], "volumeMounts": mounts}
    more = {"containers": [container], "volumes": [{"name": each, **shown} for each in names]}
    return {**document, "spec": {**spec, **more}}


def _at_rest(cluster: Cluster, names: Sequence[str], idle: float) -> tuple[int, float]:
    """Return what an agent takes whose hollow pods have no volumes."""
    kubeconfig = cluster.kubeconfig(ADMIN)
    flags = (*joining(kubeconfig), "--max-pods=2000", "--hostname-override=node-many")
    with Agent(*flags) as agent:
        wait_until(lambda: len(_uids(agent)) == len(names), 0.1, 60.0)
        pause(5.0)
        return _rest(agent, idle)


def _rest(agent: Agent, idle: float) -> tuple[int, float]:
    before = agent.cpu_seconds()
    pause(idle)
    return agent.resident_bytes(), (agent.cpu_seconds() - before) / idle * 100


# --- the node ------------------------------------------------------------------------------------------


class VolumeNode:
    """An agent whose hollow pods have volumes."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self._uids: dict[str, str] = {}

    def learn(self) -> None:
        """Ask which pods there are."""
        self._uids = _uids(self.agent)

    def file(self, pod: str) -> Path:
        """Return where the value of a pod's Secret is on the node."""
        volumes = self.agent.root_dir / "pods" / self._uids[pod] / "volumes"
        return volumes / "kubernetes.io~secret" / "v0" / "value"

    def number(self) -> int:
        """Return how many volumes have their files."""
        found = self.agent.root_dir.glob("pods/*/volumes/kubernetes.io~secret/*/value")
        return sum(1 for _ in found)


@contextmanager
def _node(
    cluster: Cluster, name: str, pods: Sequence[str], volumes: int | None = None
) -> Iterator[VolumeNode]:
    """Give an agent for a node, once all pods of it have their volumes."""
    kubeconfig = cluster.kubeconfig(ADMIN)
    wanted = len(pods) if volumes is None else volumes
    with Agent(*joining(kubeconfig), *_FLAGS, f"--hostname-override={name}") as agent:
        node = VolumeNode(agent)
        wait_until(lambda: node.number() == wanted, 0.05, 60.0)
        node.learn()
        yield node


def _uids(agent: Agent) -> dict[str, str]:
    items = agent.document("/pods").get("items", ())
    return {item["metadata"]["name"]: item["metadata"]["uid"] for item in items}
