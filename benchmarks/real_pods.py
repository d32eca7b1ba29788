"""What an agent with real containers takes, beside the bare calls on the same containerd in the same run.

Needs root and containerd; where that is missing these rows are left out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, time

from benchmarks import processes
from benchmarks.agent import Agent, pause, wait_until
from benchmarks.bare_pods import BarePods, command_of, first_instruction
from benchmarks.clusters import running_cluster
from benchmarks.exit_watch import ExitWatch
from benchmarks.row import MEDIAN, P99, Peer, Row, Target, tail
from messages.pods import JsonObject
from tests.support.apiserver.users import ADMIN
from tests.support.cluster.cluster import Cluster
from tests.support.containers import needs
from tests.support.containers.containerd import Containerd
from tests.support.containers.images import BUSYBOX

AT_ONCE = 40
IDLE_PODS = 110
"""As many as a node takes by default."""
_KUBELET_ONE = 0.43
"""Seconds: a kubelet 1.20 on the same containerd, measured once."""


def real_pod_rows(*, quick: bool) -> list[Row]:
    """Return how soon pods start, what exits cost, and what pods at rest take."""
    with real_stage() as stage:
        if stage is None:
            return []
        few = 5 if quick else 20
        return [
            _one_row(stage, few),
            *_many_rows(stage, 8 if quick else AT_ONCE),
            _exit_row(stage, few if quick else AT_ONCE),
            *_idle_rows(stage, 8 if quick else IDLE_PODS, idle=3.0 if quick else 20.0),
        ]


def bound_real_pod_rows(*, quick: bool) -> list[Row]:
    """Return how soon a pod that is bound at the API server is shown as Running there."""
    with real_stage() as stage, running_cluster() as cluster:
        if stage is None or cluster is None:
            return []
        waits = []
        with stage.agent(f"--kubeconfig={cluster.kubeconfig(ADMIN)}", "--port=0") as agent:
            wait_until(lambda: agent.status("/readyz/api") == 200, poll_every=0.01)
            pause(2.0)
            for number in range(5 if quick else 20):
                name = f"bound-{number}"
                pod = stage.pod(name)
                pod["spec"]["nodeName"] = "node1"
                began = perf_counter()
                cluster.admin.add(pod)
                is_running = partial(_is_running, cluster, name)
                wait_until(is_running, poll_every=0.005)
                waits.append(perf_counter() - began)
    row = Row(
        what="a pod that is bound at the API server: until it is shown as Running there",
        unit="s",
        figures=tail(waits),
        samples=len(waits),
        target=Target(0.6),
    )
    return [row]


# --- one by one, and many ------------------------------------------------------------------------------


def _one_row(stage: Stage, times: int) -> Row:
    ours, theirs = [], []
    with stage.agent() as agent:
        _settle(agent)
        for number in range(times):
            name = f"one-{number}"
            began = time()
            stage.write(agent, name)
            stage.wait_for(name)
            ours.append(first_instruction(stage.marks, name) - began)
            theirs += stage.bare.start([f"bare-{number}"])
            pause(0.2)
    stage.clear()
    return Row(
        what=f"a manifest until its container's first instruction (kubelet 1.20: {_KUBELET_ONE} s)",
        unit="s",
        figures=tail(ours),
        samples=len(ours),
        target=Target(0.25),
        peer=Peer("the bare calls", median(theirs)),
    )


def _many_rows(stage: Stage, number: int) -> list[Row]:
    bare = sorted(stage.bare.start([f"bare-{each}" for each in range(number)]))
    stage.clear()
    names = [f"many-{each}" for each in range(number)]
    with stage.agent() as agent:
        _settle(agent)
        began = time()
        for name in names:
            stage.write(agent, name)
        for name in names:
            stage.wait_for(name)
        ours = sorted(first_instruction(stage.marks, name) - began for name in names)
    stage.clear()
    what = f"{number} manifests at once: until the first instruction of the"
    limit = Target(1.3, of_ratio=True)
    return [
        _single(f"{what} last pod", "s", ours[-1], limit, Peer("the bare calls", bare[-1])),
        _single(
            f"{what} median pod", "s", median(ours), limit, Peer("the bare calls", median(bare))
        ),
    ]


# --- exits ---------------------------------------------------------------------------------------------


def _exit_row(stage: Stage, number: int) -> Row:
    """Measure from the runtime's event of an exit to its event that the next instance is made."""
    names = [f"exit-{each}" for each in range(number)]
    with stage.agent() as agent, ExitWatch(stage.runtime.socket) as watch:
        _settle(agent)
        for name in names:
            stage.write(agent, name, stage.ending_pod(name))
            wait_until(partial(watch.has_restarted, name), poll_every=0.01)
        waits = [watch.decided_after(name) for name in names]
    stage.clear()
    return Row(
        what="a container's exit, told by the runtime, until its next instance is being made",
        unit="ms",
        figures=tail(waits, 1e3),
        samples=len(waits),
        target=Target(20.0),
        judged=P99,
    )


# --- at rest -------------------------------------------------------------------------------------------


def _idle_rows(stage: Stage, number: int, *, idle: float) -> list[Row]:
    names = [f"idle-{each}" for each in range(number)]
    with stage.agent() as agent:
        _settle(agent)
        for name in names:
            stage.write(agent, name)
        for name in names:
            stage.wait_for(name)
        pause(5.0)
        before = agent.cpu_seconds()
        pause(idle)
        share = (agent.cpu_seconds() - before) / idle * 100
        resident = processes.resident_bytes(agent.pid) / 1e6
    stage.clear()
    what = f"{number} real pods at rest:"
    return [
        _single(f"{what} processor time", "%", share, Target(3.0)),
        _single(f"{what} resident memory", "MB", resident, Target(110.0)),
    ]


def _single(what: str, unit: str, figure: float, target: Target, peer: Peer | None = None) -> Row:
    return Row(what=what, unit=unit, figures={MEDIAN: figure}, samples=1, target=target, peer=peer)


def _settle(agent: Agent) -> None:
    """Return once the agent is ready, watches its directory and has looked at the runtime."""
    agent.wait_ready()
    pause(2.0)


# --- the stage -----------------------------------------------------------------------------------------


class Stage:
    """A containerd of the benchmark's own, and a directory that containers leave marks in."""

    def __init__(self, runtime: Containerd, folder: Path) -> None:
        self.runtime = runtime
        self._folder = folder
        self.marks = folder / "marks"
        self.marks.mkdir()
        self.bare = BarePods(runtime, self.marks)
        self._config = folder / "config.yaml"
        self._config.write_text(
            json.dumps(
                {
                    "apiVersion": "kubelet.config.k8s.io/v1beta1",
                    "kind": "KubeletConfiguration",
                    "podLogsDir": str(folder / "logs"),
                    "cgroupRoot": f"/{str(runtime.cgroup).strip('/')}",
                    "maxPods": 1000,
                }
            )
        )

    def agent(self, *flags: str) -> Agent:
        """Return an agent that runs its pods here."""
        return Agent(
            "--runtime=cri",
            f"--container-runtime-endpoint=unix://{self.runtime.socket}",
            f"--config={self._config}",
            *flags,
        )

    def pod(self, name: str) -> JsonObject:
        """Return a pod that leaves its mark and then rests."""
        return self._pod_of(name, command_of(name), "Always")

    def ending_pod(self, name: str) -> JsonObject:
        """Return a pod that fails once and then succeeds."""
        once = f"if test -e /marks/{name}; then exit 0; fi; touch /marks/{name}; exit 1"
        return self._pod_of(name, ["sh", "-c", once], "OnFailure")

    def _pod_of(self, name: str, command: list[str], policy: str) -> JsonObject:
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "hostNetwork": True,
                "restartPolicy": policy,
                "terminationGracePeriodSeconds": 1,
                "containers": [
                    {
                        "name": "main",
                        "image": BUSYBOX,
                        "imagePullPolicy": "IfNotPresent",
                        "command": command,
                        "volumeMounts": [{"name": "marks", "mountPath": "/marks"}],
                    }
                ],
                "volumes": [{"name": "marks", "hostPath": {"path": str(self.marks)}}],
            },
        }

    def write(self, agent: Agent, name: str, pod: JsonObject | None = None) -> None:
        """Write a pod's manifest, at once as a whole."""
        draft = self._folder / "draft.yaml"
        draft.write_text(json.dumps(pod or self.pod(name)))
        draft.rename(agent.manifests / f"{name}.yaml")

    def wait_for(self, name: str) -> None:
        """Return once a pod has left its mark."""
        wait_until((self.marks / name).exists, poll_every=0.002, give_up_after=120.0)

    def clear(self) -> None:
        """Remove all pods and marks."""
        self.runtime.wipe()
        for mark in self.marks.iterdir():
            mark.unlink()


@contextmanager
def real_stage() -> Iterator[Stage | None]:
    """Return a containerd to run pods in; None where there can be none."""
    missing = needs.missing()
    if missing:
        print(f"left out: {missing}", file=sys.stderr)
        yield None
        return
    with TemporaryDirectory(prefix="actorlet-bench-") as folder:
        runtime = Containerd()
        try:
            yield Stage(runtime, Path(folder))
        finally:
            runtime.end()


def _is_running(cluster: Cluster, name: str) -> bool:
    shown = cluster.admin.get("pods", "default", name)
    return bool((shown.get("status") or {}).get("phase") == "Running")
