"""What an agent of hollow pods carries: ten thousand from one URL, and one at a time from a directory."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from functools import partial
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import perf_counter
from typing import Any, Self

from typing_extensions import override

from benchmarks import processes
from benchmarks.agent import GIVE_UP_AFTER, Agent, pause, wait_until
from benchmarks.following import Follower
from benchmarks.row import P99, WORST, Peer, Row, Target, spread, tail

MANY = 10_000
POLL_EVERY = 0.5
"""Seconds. Who asks for the metrics of thousands of pods all the time is what slows the agent down."""
_GIVE_UP_AFTER = 120.0
_MEGABYTE = 1e6
_HOLLOW = ("--runtime=hollow",)


def hollow_rows(*, quick: bool) -> list[Row]:
    """Return what thousands of hollow pods take: to run, in memory, when idle, and to go."""
    pods = 1_000 if quick else MANY
    runs = [_measured(pods, idle=2.0 if quick else 10.0) for _ in range(1 if quick else 3)]
    size = f"{pods:,} hollow pods from one URL"
    kwok = Peer("KWOK's own gate", 60.0, in_this_run=False)
    return [
        _row(f"{size}: process start to all Running", "s", "up", runs, 10.0, kwok),
        _row(f"{size}: resident memory", "MB", "resident", runs, 240.0),
        _row(f"{size}: highest memory with /pods read", "MB", "peak", runs, 270.0),
        _row(f"{size}: processor time when idle", "%", "idle", runs, 3.0),
        _row(f"{size}: all gone again", "s", "gone", runs, 4.0),
        _row(f"{size}: one pod changed, until it runs", "s", "changed", runs),
    ]


def hollow_pod_rows(*, quick: bool) -> list[Row]:
    """Return the time from a written manifest to Running as ``/events`` tells it, one pod at a time."""
    times = 10 if quick else 200
    waits = []
    with Agent(*_HOLLOW) as agent:
        agent.wait_ready()
        with Follower(agent.port) as follower:
            pause(1.0)  # the notification of the directory is set up
            for number in range(times):
                name = f"one-{number}"
                began = perf_counter()
                (agent.manifests / f"{name}.yaml").write_text(json.dumps(small_pod(name)))
                waits.append(follower.running(f"{name}-node1") - began)
    row = Row(
        what="hollow: one pod from manifest to Running",
        unit="ms",
        figures=tail(waits, 1e3),
        samples=times,
        target=Target(150.0),
        judged=P99,
    )
    return [row]


def small_pod(name: str) -> dict[str, Any]:
    """Return a pod as people who test control planes make them by the thousand."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "load"}},
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "registry.example/load:1",
                    "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
                }
            ]
        },
    }


def _row(
    what: str,
    unit: str,
    figure: str,
    runs: list[Mapping[str, float]],
    limit: float | None = None,
    peer: Peer | None = None,
) -> Row:
    return Row(
        what=what,
        unit=unit,
        figures=spread([run[figure] for run in runs]),
        samples=len(runs),
        target=Target(limit) if limit is not None else None,
        judged=WORST,
        peer=peer,
    )


def _measured(pods: int, idle: float) -> Mapping[str, float]:
    names = [f"load-{number}" for number in range(pods)]
    with PodList([small_pod(name) for name in names]) as pod_list:
        flags = (f"--manifest-url={pod_list.url}", "--http-check-frequency=1s", *_HOLLOW)
        agent = Agent(*flags)
        began = perf_counter()
        with agent:
            wait_until(partial(runs, agent, pods), POLL_EVERY, _GIVE_UP_AFTER)
            up = perf_counter() - began
            pause(min(idle, 5.0))
            resident = agent.resident_bytes()
            assert _read_pods(agent) == pods
            peak = processes.highest_resident_bytes(agent.pid)
            share = _cpu_percent(agent, idle)
            changed = _change_one(agent, pod_list, pods)
            pod_list.serve([])
            gone = wait_until(partial(runs, agent, 0), POLL_EVERY, _GIVE_UP_AFTER)
    return {
        "up": up,
        "resident": resident / _MEGABYTE,
        "peak": peak / _MEGABYTE,
        "idle": share,
        "changed": changed,
        "gone": gone,
    }


def _change_one(agent: Agent, pod_list: PodList, pods: int) -> float:
    """Change one pod of the list; return the seconds until another one started in its place."""
    (before,) = agent.metrics("kubelet_started_pods_total")
    documents = [small_pod(f"load-{number}") for number in range(pods)]
    documents[pods // 2]["spec"]["containers"][0]["image"] = "registry.example/load:2"
    pod_list.serve(documents)
    return wait_until(
        lambda: agent.metric("kubelet_started_pods_total") > before and runs(agent, pods),
        0.05,
        _GIVE_UP_AFTER,
    )


def runs(agent: Agent, pods: int) -> bool:
    """Return whether the agent is ready, and so many containers run."""
    found = agent.samples(r'kubelet_running_containers\{container_state="running"\} (\S+)')
    return found == [float(pods)] and agent.status("/readyz") == 200


def _read_pods(agent: Agent) -> int:
    connection = HTTPConnection("127.0.0.1", agent.port, timeout=GIVE_UP_AFTER)
    try:
        connection.request("GET", "/pods")
        items = json.loads(connection.getresponse().read())["items"]
    except HTTPException:
        return 0
    finally:
        connection.close()
    return sum(item["status"]["phase"] == "Running" for item in items)


def _cpu_percent(agent: Agent, window: float) -> float:
    began, before = perf_counter(), agent.cpu_seconds()
    pause(window)
    return (agent.cpu_seconds() - before) / (perf_counter() - began) * 100


class PodList:
    """A web server with a list of pods, on loopback. A context."""

    def __init__(self, pods: list[dict[str, Any]]) -> None:
        self.serve(pods)
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body, tag = owner.answer
                unchanged = self.headers.get("If-None-Match") == tag
                self.send_response(304 if unchanged else 200)
                self.send_header("ETag", tag)
                self.send_header("Content-Length", "0" if unchanged else str(len(body)))
                self.end_headers()
                if not unchanged:
                    self.wfile.write(body)

            @override
            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/pods"

    def serve(self, pods: list[dict[str, Any]]) -> None:
        """Have this list served from now on."""
        body = json.dumps({"apiVersion": "v1", "kind": "PodList", "items": pods}).encode()
        self.answer = body, f'"{hash(body):x}"'

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
