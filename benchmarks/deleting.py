"""What it costs to delete bound pods gracefully at a real API server, at a client's usual rate.

Found by ``KUBEBUILDER_ASSETS``; without one these rows are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import perf_counter
from typing import Final

from benchmarks.agent import Agent, joining, pause, wait_until
from benchmarks.clusters import running_cluster
from benchmarks.row import Row, Target, spread
from messages.api import ApiRequest, Verb
from tests.support.apiserver.users import ADMIN
from tests.support.cluster.cluster import Cluster

_PODS: Final = "/api/v1/namespaces/default/pods"
_HANDS: Final = 16
_GIVE_UP_AFTER: Final = 120.0
_WRITES: Final = ("actorlet_pod_status_writes_total", "actorlet_pods_deleted_total")


def deletion_rows(*, quick: bool) -> list[Row]:
    """Return what one deletion costs in requests, and how long many at once take."""
    pods = 50 if quick else 250
    with running_cluster() as cluster:
        if cluster is None:
            return []
        runs = [_measured(cluster, pods) for _ in range(1 if quick else 3)]
    what = f"{pods} pods of 2 containers deleted gracefully at once"
    return [
        Row(
            what=f"{what}: requests of the agent for each",
            unit="",
            figures=spread([requests for requests, _ in runs]),
            samples=len(runs),
            target=Target(2.1),
        ),
        Row(
            what=f"{what}: until all are gone",
            unit="s",
            figures=spread([seconds for _, seconds in runs]),
            samples=len(runs),
        ),
    ]


def _measured(cluster: Cluster, number: int) -> tuple[float, float]:
    names = [f"doomed-{each}" for each in range(number)]
    _send(cluster, (_creating(name) for name in names))
    flags = joining(cluster.kubeconfig(ADMIN))
    with Agent(*flags, "--max-pods=1000", "--hollow-times=time-to-stop=5ms-60ms") as agent:
        wait_until(partial(_is_settled, agent, 2 * number), 0.05, _GIVE_UP_AFTER)
        pause(3.0)  # the client's allowance is whole again
        before = _requests(agent)
        began = perf_counter()
        _send(cluster, (_deleting(name) for name in names))
        wait_until(partial(_is_gone, agent, number), 0.02, _GIVE_UP_AFTER)
        took = perf_counter() - began
        return (_requests(agent) - before) / number, took


def _is_settled(agent: Agent, running: int) -> bool:
    found = agent.samples(r'kubelet_running_containers\{container_state="running"\} (\S+)')
    return found == [float(running)] and agent.metric("actorlet_pod_statuses_waiting") == 0


def _is_gone(agent: Agent, number: int) -> bool:
    return agent.metric("actorlet_pods_deleted_total") == number


def _requests(agent: Agent) -> float:
    return sum(agent.metrics(*_WRITES))


def _send(cluster: Cluster, requests: Iterable[ApiRequest]) -> None:
    with ThreadPoolExecutor(_HANDS) as hands:
        list(hands.map(cluster.admin.handle, requests))


def _creating(name: str) -> ApiRequest:
    containers = [{"name": each, "image": "registry.example/web:1"} for each in ("main", "beside")]
    spec = {
        "nodeName": "node1",
        "containers": containers,
        "tolerations": [{"operator": "Exists"}],
    }
    return ApiRequest(verb=Verb.CREATE, path=_PODS, body={"metadata": {"name": name}, "spec": spec})


def _deleting(name: str) -> ApiRequest:
    return ApiRequest(verb=Verb.DELETE, path=f"{_PODS}/{name}")
