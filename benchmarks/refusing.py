"""What the agent does while the API server refuses every watch: requests, and processor time.

The right to read Secrets is taken away from a running agent, and its connections are cut, so that each
watch has to be opened again and is refused. The peer is one of the official client's ``SharedInformer``,
after that and in the same way: it has a single Secret.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

from benchmarks.agent import pause
from benchmarks.clusters import (
    create_pods,
    create_secrets,
    make_account,
    relayed,
    running_cluster,
    take_secrets_away,
)
from benchmarks.informers import HOW
from benchmarks.processes import cpu_seconds
from benchmarks.row import Peer, Row, Target
from benchmarks.storms import CUT
from benchmarks.watching import agent_of, informers_of, node_of, wait_synced
from tests.support.cluster.cluster import Cluster


class Refused(NamedTuple):
    """What somebody does about it in a second."""

    requests_each: float
    """For one Secret."""
    core_percent: float


def refused_rows(*, quick: bool) -> list[Row]:
    """Return requests and processor time while every watch is refused."""
    size, window = (100, 5.0) if quick else (1_000, 20.0)
    with running_cluster() as cluster:
        if cluster is None:
            return []
        create_secrets(cluster, size)
        create_pods(cluster, node_of(size), size)
        ours, theirs = _both(cluster, size, window)
    what = f"{size:,} watches, each refused"
    return [
        Row(
            what=f"{what}: requests for each",
            unit="/s",
            figures={f"over {window:.0f} s": ours.requests_each},
            samples=1,
            target=Target(2.0),
            peer=Peer("one SharedInformer", theirs.requests_each),
        ),
        Row(
            what=f"{what}: processor time",
            unit="%",
            figures={f"over {window:.0f} s": ours.core_percent},
            samples=1,
            target=Target(20.0),
            peer=Peer("one SharedInformer", theirs.core_percent),
        ),
    ]


def _both(cluster: Cluster, size: int, window: float) -> tuple[Refused, Refused]:
    token = make_account(cluster)
    with (
        relayed(cluster, token) as (relay, kubeconfig),
        relayed(cluster, token) as (other_relay, other_kubeconfig),
        agent_of(kubeconfig, node_of(size)) as agent,
        informers_of(other_kubeconfig, 1) as (informer, _),
    ):
        wait_synced(agent, size)
        take_secrets_away(cluster)
        relay.ask(CUT)
        ours = _refused(agent.pid, lambda: agent.metric("rest_client_requests_total"), window)
        other_relay.ask(CUT)
        theirs = _refused(informer.pid, lambda: float(informer.ask(HOW)["requests"]), window / 4)
    return Refused(ours.requests_each / size, ours.core_percent), theirs


def _refused(pid: int, sent: Callable[[], float], window: float) -> Refused:
    """Return what happens in the next ``window`` seconds, of all Secrets together."""
    began, before, computed = perf_counter(), sent(), cpu_seconds(pid)
    pause(window)
    seconds = perf_counter() - began
    return Refused((sent() - before) / seconds, (cpu_seconds(pid) - computed) / seconds * 100)
