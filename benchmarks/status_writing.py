"""How fast the status of pods reaches a real API server: many at a time, and one at a time.

Found by ``KUBEBUILDER_ASSETS``; without one these rows are left out.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from statistics import median
from time import perf_counter
from typing import Final, Self

from pyreqwest.exceptions import PyreqwestError

from benchmarks.agent import Agent, pause, wait_until
from benchmarks.clusters import running_cluster
from benchmarks.following import Follower
from benchmarks.row import P99, Peer, Row, Target, rates, tail
from messages.api import ApiRequest, Patch, Verb
from messages.pods import JsonObject
from tests.support.apiserver.client import ApiClient
from tests.support.apiserver.users import ADMIN
from tests.support.cluster.cluster import Cluster

NODE: Final = "node1"
PODS: Final = "/api/v1/namespaces/default/pods"
_HANDS: Final = 16
_GIVE_UP_AFTER: Final = 120.0


def status_rows(*, quick: bool) -> list[Row]:
    """Return the rate of status writes, and how late a change is seen by who watches the API server."""
    with running_cluster() as cluster:
        if cluster is None:
            return []
        many = [
            _writes_per_second(cluster, 100 if quick else 500) for _ in range(1 if quick else 3)
        ]
        rate = Row(
            what="status writes a second, 500 bound pods at once",
            unit="",
            figures=rates(many),
            samples=len(many),
            target=Target(200.0, at_least=True),
        )
        return [rate, _lag_row(cluster, 10 if quick else 200)]


def _writes_per_second(cluster: Cluster, number: int) -> float:
    names = [f"many-{each}" for each in range(number)]
    send(cluster, (_creating(name) for name in names))
    flags = ("--kube-api-qps=5000", "--kube-api-burst=5000", "--max-pods=1000")
    with Agent(
        f"--kubeconfig={cluster.kubeconfig(ADMIN)}", "--runtime=hollow", "--port=0", *flags
    ) as agent:
        wait_until(lambda: agent.metric("actorlet_pod_status_writes_total") > 0, 0.005)
        began, before = perf_counter(), agent.metric("actorlet_pod_status_writes_total")
        wait_until(partial(_all_run, agent, number), 0.02, _GIVE_UP_AFTER)
        took = perf_counter() - began
        written = agent.metric("actorlet_pod_status_writes_total") - before
    send(cluster, (_deleting(name) for name in names))
    return written / took


def _all_run(agent: Agent, number: int) -> bool:
    (running,) = agent.samples(r'kubelet_running_containers\{container_state="running"\} (\S+)')
    return running == number and agent.metric("actorlet_pod_statuses_waiting") == 0


def _lag_row(cluster: Cluster, times: int) -> Row:
    """Compare when a status is told to readers of ``/events`` and when the API's watch tells of it."""
    lags, calls = [], []
    kubeconfig = cluster.kubeconfig(ADMIN)
    with Agent(
        f"--kubeconfig={kubeconfig}", "--runtime=hollow", "--port=0", "--max-pods=1000"
    ) as agent:
        wait_until(lambda: agent.status("/readyz/api") == 200, 0.01)
        with Follower(agent.port) as follower, Watching(cluster) as watching:
            for number in range(times):
                name = f"one-{number}"
                send(cluster, [_creating(name)])
                told = follower.running(name)
                lags.append(watching.running(name) - told)
                calls.append(_call_seconds(cluster, name))
                send(cluster, [_deleting(name)])
                pause(0.02)  # the writes of the next pod do not wait for these
    return Row(
        what="status of a pod told to its followers, to its event at a watch of the API server",
        unit="ms",
        figures=tail(lags, 1e3),
        samples=times,
        target=Target(50.0 + median(calls) * 1e3),
        judged=P99,
        peer=Peer("one PATCH of a status by an idle client", median(calls) * 1e3),
    )


def _call_seconds(cluster: Cluster, name: str) -> float:
    body = {"status": {"message": "written beside"}}
    request = ApiRequest(
        verb=Verb.PATCH, path=f"{PODS}/{name}/status", body=body, patch=Patch.STRATEGIC
    )
    began = perf_counter()
    cluster.admin.handle(request)
    return perf_counter() - began


class Watching:
    """Watches the pods at the API server, on a thread of its own. A context."""

    def __init__(self, cluster: Cluster) -> None:
        self._client = ApiClient(cluster.access(ADMIN))
        listed = self._client.handle(ApiRequest(verb=Verb.GET, path=PODS))
        self._since = listed["metadata"]["resourceVersion"]
        self._running: dict[str, float] = {}
        self._is_over = False

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        self._thread.join(10.0)

    def running(self, name: str) -> float:
        """Return when a pod was seen to run; waits for it."""
        wait_until(lambda: name in self._running, 0.001)
        return self._running[name]

    def _read(self) -> None:
        while not self._is_over:
            # A watch cannot be ended from another thread: so each is a short one.
            with (
                suppress(PyreqwestError),
                self._client.watch(PODS, since=self._since, seconds=5) as events,
            ):
                for event in events:
                    self.note(event)

    def note(self, event: JsonObject) -> None:
        """Note what a watch has told."""
        now, pod = perf_counter(), event["object"]
        self._since = pod["metadata"]["resourceVersion"]
        if pod.get("status", {}).get("phase") == "Running":
            self._running.setdefault(pod["metadata"]["name"], now)


def send(cluster: Cluster, requests: Iterable[ApiRequest]) -> None:
    """Send requests, some at a time."""
    with ThreadPoolExecutor(_HANDS) as hands:
        list(hands.map(cluster.admin.handle, requests))


def _creating(name: str) -> ApiRequest:
    container = {"name": "main", "image": "registry.example/web:1"}
    body = {
        "metadata": {"name": name},
        "spec": {
            "nodeName": NODE,
            "containers": [container],
            "tolerations": [{"operator": "Exists"}],
        },
    }
    return ApiRequest(verb=Verb.CREATE, path=PODS, body=body)


def _deleting(name: str) -> ApiRequest:
    body = {"gracePeriodSeconds": 0}
    return ApiRequest(verb=Verb.DELETE, path=f"{PODS}/{name}", body=body)
