"""What probes do in a whole agent: how late a change reaches the API server, commands a second, memory."""

from __future__ import annotations

import re
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import perf_counter
from typing import Any, Final, Self

from typing_extensions import override

from benchmarks.agent import Agent, pause, wait_until
from benchmarks.clusters import running_cluster
from benchmarks.hollow_pods import PodList, small_pod
from benchmarks.real_pods import Stage, real_stage
from benchmarks.row import P99, Row, Target, tail
from benchmarks.status_writing import NODE, PODS, Watching, send
from messages.api import ApiRequest, Verb
from messages.pods import JsonObject
from tests.support.apiserver.users import ADMIN
from tests.support.cluster.cluster import Cluster

COMMANDS: Final = 30
"""Exec probes a second, which is about what two cores can run beside nothing else."""
_GIVE_UP_AFTER: Final = 180.0
_PAGE: Final = {"httpGet": {"port": 80}}


def probed_pod_rows(*, quick: bool) -> list[Row]:
    """Return what probes take in a whole agent. What cannot be measured here is left out."""
    rows = [_memory_row(1_000 if quick else 5_000)]
    with real_stage() as containers:
        if containers is not None:
            rows += _command_rows(containers, 5.0 if quick else 20.0)
    with running_cluster() as cluster:
        if cluster is not None:
            rows.append(_lag_row(cluster, 5 if quick else 60))
    return rows


# Memory.


def _memory_row(pods: int) -> Row:
    plain = _resident([small_pod(f"load-{number}") for number in range(pods)], pods)
    probed = _resident([_hollow_pod(f"load-{number}") for number in range(pods)], pods)
    return Row(
        what="memory of a probe of a hollow pod, with its prober",
        unit="kB",
        figures={"each": (probed - plain) / (2 * pods) / 1e3},
        samples=2 * pods,
        target=Target(5.0),
    )


def _hollow_pod(name: str) -> JsonObject:
    pod: JsonObject = small_pod(name)
    pod["spec"]["containers"][0].update(readinessProbe=_PAGE, livenessProbe=_PAGE)
    return pod


def _resident(documents: list[Any], pods: int) -> float:
    with PodList(documents) as pod_list:
        flags = ("--runtime=hollow", f"--manifest-url={pod_list.url}")
        with Agent(*flags, "--http-check-frequency=60s") as agent:
            wait_until(partial(_runs, agent, pods), 0.5, _GIVE_UP_AFTER)
            pause(15.0)  # each was probed once, and what a start leaves is collected
            return float(agent.resident_bytes())


def _runs(agent: Agent, pods: int) -> bool:
    found = agent.samples(r'kubelet_running_containers\{container_state="running"\} (\S+)')
    return found == [float(pods)]


# Commands.


def _command_rows(containers: Stage, window: float) -> list[Row]:
    probe = {"exec": {"command": ["true"]}, "periodSeconds": 1, "timeoutSeconds": 5}
    with containers.agent() as agent:
        agent.wait_ready()
        for number in range(COMMANDS):
            pod = containers.pod(f"probed-{number}")
            pod["spec"]["containers"][0]["readinessProbe"] = probe
            containers.write(agent, f"probed-{number}", pod)
        wait_until(partial(_runs, agent, COMMANDS), 0.5, _GIVE_UP_AFTER)
        pause(5.0)
        began, before, cpu = perf_counter(), _answers(agent), agent.cpu_seconds()
        pause(window)
        took = perf_counter() - began
        answered, used = _answers(agent) - before, agent.cpu_seconds() - cpu
        longest = agent.document("/probez")["commands"]["longestWaitSeconds"]
    containers.clear()
    what = f"{COMMANDS} exec probes of 1 s period in real containers"
    return [
        Row(
            what=f"{what}: answers a second",
            unit="",
            figures={"answers": answered / took},
            samples=round(answered),
        ),
        Row(
            what=f"{what}: longest wait for a turn",
            unit="s",
            figures={"wait": longest},
            samples=round(answered),
        ),
        Row(
            what=f"{what}: processor time of the agent",
            unit="%",
            figures={"cpu": 100 * used / took},
            samples=round(answered),
        ),
    ]


def _answers(agent: Agent) -> float:
    text = agent.text("/metrics/probes")
    return sum(map(float, re.findall(r"^prober_probe_total\{.*\} (\S+)$", text, re.MULTILINE)))


# How late a change is.


def _lag_row(cluster: Cluster, times: int) -> Row:
    node = Path(__file__).parent / "probed_node.py"
    kubeconfig = cluster.kubeconfig(ADMIN)
    lags = []
    with (
        Target503() as target,
        Agent(f"--kubeconfig={kubeconfig}", "--port=0", f"--runtime={node}:ProbedNode") as agent,
    ):
        wait_until(lambda: agent.status("/readyz/api") == 200, 0.01)
        with ReadyWatching(cluster) as watching:
            send(cluster, [_creating(target.port)])
            for _ in range(times):
                answered = target.turn()
                lags.append(watching.turned(is_ready=target.is_well) - answered)
    return Row(
        what="answer of an httpGet probe, to the changed condition at a watch of the API server",
        unit="ms",
        figures=tail(lags, 1e3),
        samples=times,
        target=Target(100.0),
        judged=P99,
    )


def _creating(port: int) -> ApiRequest:
    probe = {"httpGet": {"port": port}, "periodSeconds": 1, "failureThreshold": 1}
    container = {"name": "main", "image": "web:1", "readinessProbe": probe}
    body = {
        "metadata": {"name": "probed"},
        "spec": {
            "nodeName": NODE,
            "containers": [container],
            "tolerations": [{"operator": "Exists"}],
        },
    }
    return ApiRequest(verb=Verb.CREATE, path=PODS, body=body)


class Target503:
    """A web server that is well or not, by turns. A context."""

    def __init__(self) -> None:
        self.is_well = False
        self._answered: float | None = None
        self._has_answered = threading.Event()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200 if owner.is_well else 503)
                self.send_header("Content-Length", "0")
                self.end_headers()
                owner.note()

            @override
            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port

    def note(self) -> None:
        """Note that it has answered."""
        if self._answered is None:
            self._answered = perf_counter()
            self._has_answered.set()

    def turn(self) -> float:
        """Be well from now on, or not any more. Return when that was answered first."""
        self._has_answered.clear()
        self.is_well = not self.is_well
        self._answered = None
        assert self._has_answered.wait(_GIVE_UP_AFTER)
        assert self._answered is not None
        return self._answered

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class ReadyWatching(Watching):
    """Watches whether the pod is ready."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._is_ready: tuple[bool, float] = (False, 0.0)

    def turned(self, *, is_ready: bool) -> float:
        """Return when the pod was seen to be ready, or not any more; waits for it."""
        wait_until(lambda: self._is_ready[0] is is_ready, 0.0005, _GIVE_UP_AFTER)
        return self._is_ready[1]

    @override
    def note(self, event: JsonObject) -> None:
        now = perf_counter()
        super().note(event)
        conditions = event["object"].get("status", {}).get("conditions") or ()
        found = [each["status"] == "True" for each in conditions if each["type"] == "Ready"]
        if found and found[0] is not self._is_ready[0]:
            self._is_ready = (found[0], now)
