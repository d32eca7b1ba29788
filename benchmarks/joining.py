"""What it costs to follow the API server: from a pod bound there to ``/pods``, at the start and later.

Against a real kube-apiserver, found by ``KUBEBUILDER_ASSETS``; without one these rows are left out. The
peer is the official client's ``SharedInformer`` in a process of its own, on the same pods at the same time.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Self

from benchmarks.agent import ROOT, Agent, joining, pause, wait_until
from benchmarks.clusters import running_cluster
from benchmarks.row import P99, WORST, Peer, Row, spread, tail
from tests.support.apiserver.users import ADMIN
from tests.support.cluster.cluster import Cluster

NODE = "node1"
MANY = 1000


def bound_rows(*, quick: bool) -> list[Row]:
    """Return the latency from the binding of a pod to ``/pods``, one pod at a time."""
    with running_cluster() as cluster:
        return [] if cluster is None else [_bound_row(cluster, 10 if quick else 150)]


def many_bound_rows(*, quick: bool) -> list[Row]:
    """Return what a thousand bound pods cost at the start, and each time they are listed again."""
    number = 100 if quick else MANY
    with running_cluster() as cluster:
        if cluster is None:
            return []
        names = {f"pod-{index}" for index in range(number)}
        for name in names:
            cluster.admin.add(_pod(name))
        kubeconfig = cluster.kubeconfig(ADMIN)
        return [
            _start_row(kubeconfig, names, 1 if quick else 4),
            _relist_row(kubeconfig, names, 3 if quick else 10),
        ]


def _bound_row(cluster: Cluster, times: int) -> Row:
    kubeconfig = cluster.kubeconfig(ADMIN)
    ours, theirs = [], []
    with Agent(*joining(kubeconfig)) as agent, Informer(kubeconfig) as informer:
        _wait_for_api(agent)
        for number in range(times):
            name = f"bound-{number}"
            began = perf_counter()
            cluster.admin.add(_pod(name))
            wait_until(partial(_serves, agent, name), poll_every=0.001)
            ours.append(perf_counter() - began)
            theirs.append(informer.seen(name) - began)
            cluster.admin.remove("pods", "default", name)
    return Row(
        what="pod bound at the API server to pod in /pods",
        unit="ms",
        figures=tail(ours, 1e3),
        samples=len(ours),
        peer=Peer("SharedInformer, its handler called", median(theirs) * 1e3),
        judged=P99,
    )


def _start_row(kubeconfig: Path, names: set[str], times: int) -> Row:
    ours, theirs = [], []
    for _ in range(times):
        agent = Agent(*joining(kubeconfig))
        began = perf_counter()
        with agent:
            # Asking for a thousand pods all the time would be what slows it down.
            _wait_for_api(agent)
            wait_until(partial(_serves_all, agent, names), poll_every=0.002)
            ours.append(perf_counter() - began)
        began = perf_counter()
        with Informer(kubeconfig) as informer:
            theirs.append(max(informer.seen(name) for name in names) - began)
    return Row(
        what=f"{len(names):,} bound pods at start, until all are in /pods",
        unit="s",
        figures=spread(ours),
        samples=len(ours),
        peer=Peer("SharedInformer, process start to last pod", median(theirs)),
        judged=WORST,
    )


def _relist_row(kubeconfig: Path, names: set[str], times: int) -> Row:
    with Agent(*joining(kubeconfig)) as agent:
        _wait_for_api(agent)
        pause(2.0)
        shares = [_relist_seconds(agent) for _ in range(times)]
        assert agent.pod_names() == names
    return Row(
        what=f"processor time to list {len(names):,} unchanged pods again",
        unit="ms",
        figures=spread(shares, 1e3),
        samples=len(shares),
    )


def _relist_seconds(agent: Agent) -> float:
    before = agent.cpu_seconds()
    agent.rescan()
    pause(1.0)  # it takes far less
    return agent.cpu_seconds() - before


def _wait_for_api(agent: Agent) -> None:
    """Return once the API server's pods are listed."""
    wait_until(lambda: agent.status("/readyz/api") == 200, poll_every=0.002)


def _serves_all(agent: Agent, names: set[str]) -> bool:
    return agent.pod_names() == names


def _serves(agent: Agent, name: str) -> bool:
    return name in agent.pod_names()


def _pod(name: str) -> dict[str, object]:
    """Return a pod bound to the node, about as large as small ones are."""
    container = {
        "name": "main",
        "image": "registry.example/web:1",
        "env": [{"name": f"SETTING_{number}", "value": "x" * 20} for number in range(8)],
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}},
        "spec": {"nodeName": NODE, "containers": [container]},
    }


class Informer:
    """``benchmarks.informer`` on the node's pods, and when it was told of each."""

    def __init__(self, kubeconfig: Path) -> None:
        self._command = [sys.executable, "-m", "benchmarks.informer", str(kubeconfig), NODE]
        self._seen: dict[str, float] = {}

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def seen(self, name: str) -> float:
        """Return when it was told of a pod; waits for it."""
        wait_until(lambda: name in self._seen, poll_every=0.001)
        return self._seen[name]

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            name, seconds = line.split()
            self._seen[name] = float(seconds)
