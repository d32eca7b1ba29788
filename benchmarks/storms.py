"""What becomes of all watches when every connection is cut at once, and when the API server is restarted.

Everything goes through a relay whose connections can be cut (``relay``), to a real kube-apiserver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from benchmarks.agent import Agent, wait_until
from benchmarks.clusters import (
    create_pods,
    create_secrets,
    relayed,
    running_cluster,
    update_all,
)
from benchmarks.following import Follower
from benchmarks.informers import HOW
from benchmarks.row import Peer, Row, Target, peak_rate
from benchmarks.sidekick import Sidekick
from benchmarks.watching import (
    INFORMERS,
    QUICK_SIZES,
    SIZES,
    agent_of,
    connections_for,
    informers_of,
    look_every,
    node_of,
    wait_synced,
)
from tests.support.cluster.cluster import Cluster

CUT = "cut"
HOW_MANY = "how many"

_STREAMS = "actorlet_watch_streams"
_PEERS_UP_TO = 1_000
"""Informers, since 5,000 take a minute until there is something to cut."""
_RESTARTED_UP_TO = 1_000
"""Watches that have to be back in time after a restart: each lists anew, at a server with cold caches."""
_NO_CAP = "5,000 streams without a cap: 6.8 s, 5,000 dials, 12,435 requests/s"


class Return(NamedTuple):
    """How all watches came back."""

    seconds: float
    dials: int
    peak: float
    """Requests in the busiest second."""


class Look(NamedTuple):
    """What is seen at one moment."""

    requests: float
    """Sent so far."""
    is_lost: bool
    """Some watch is not open."""


def cut_rows(*, quick: bool) -> list[Row]:
    """Return how all watches come back after each connection was cut, and after a restart."""
    sizes = QUICK_SIZES if quick else SIZES
    rows: list[Row] = []
    with running_cluster() as cluster:
        if cluster is None:
            return []
        create_secrets(cluster, max(sizes))
        for size in sizes:
            create_pods(cluster, node_of(size), size)
            cut, restarted = _returns(cluster, size)
            theirs = _informers_return(cluster, size) if size <= _PEERS_UP_TO else None
            rows += [*_cut_rows(size, cut, theirs), _restart_row(size, restarted)]
    return rows


def _returns(cluster: Cluster, size: int) -> tuple[Return, float]:
    """Return how the agent came back after a cut, and how fast after a restart of the API server."""
    with relayed(cluster) as (relay, kubeconfig), _all_open(kubeconfig, size) as (agent, follower):
        streams = agent.metric(_STREAMS)

        def look() -> Look:
            sent, now_open = agent.metrics("rest_client_requests_total", _STREAMS)
            return Look(sent, is_lost=now_open < streams)

        every = look_every(size)
        back = _return(relay, look, every)
        _prove(cluster, size, follower)
        cluster.stop_api_server()
        wait_until(lambda: look().is_lost, every)
        cluster.start_api_server()
        restarted = wait_until(lambda: not look().is_lost, every)
        _prove(cluster, size, follower)
    return back, restarted


def _informers_return(cluster: Cluster, size: int) -> Return:
    """Return how informers come back after a cut."""
    with (
        relayed(cluster) as (relay, kubeconfig),
        informers_of(kubeconfig, size) as (informers, _),
    ):

        def look() -> Look:
            joined = relay.ask(HOW_MANY)["joined"]
            return Look(informers.ask(HOW)["requests"], is_lost=joined < size)

        wait_until(lambda: not look().is_lost, look_every(0))
        return _return(relay, look, look_every(0))


@contextmanager
def _all_open(kubeconfig: Path, size: int) -> Iterator[tuple[Agent, Follower]]:
    """Give an agent whose streams are all open, and a follower of it."""
    with agent_of(kubeconfig, node_of(size)) as agent:
        wait_synced(agent, size)
        with Follower(agent.port) as follower:
            yield agent, follower


def _return(relay: Sidekick, look: Callable[[], Look], every: float) -> Return:
    """Cut, and return how all came back: first of all some are lost, in the end none is."""
    seen: list[tuple[float, Look]] = []

    def is_lost() -> bool:
        seen.append((perf_counter(), look()))
        return seen[-1][1].is_lost

    is_lost()
    dials = relay.ask(HOW_MANY)["dials"]
    began = perf_counter()
    relay.ask(CUT)
    wait_until(is_lost, every)
    wait_until(lambda: not is_lost(), every, give_up_after=120.0)
    seconds = perf_counter() - began
    peak = peak_rate([(at, each.requests) for at, each in seen])
    return Return(seconds, relay.ask(HOW_MANY)["dials"] - dials, peak)


def _prove(cluster: Cluster, size: int, follower: Follower) -> None:
    """Return once updates of some Secrets were told, the last one among them."""
    follower.wait_for(update_all(cluster, range(size - 1, -1, -10)))


def _cut_rows(size: int, ours: Return, theirs: Return | None) -> list[Row]:
    what = f"{size:,} watches cut off at once"
    figures = {
        "until all are open again": ("s", ours.seconds, theirs and theirs.seconds, 6.0),
        "dials": ("", ours.dials, theirs and theirs.dials, connections_for(size)),
        "requests in the busiest second": ("/s", ours.peak, theirs and theirs.peak, 2_500.0),
    }
    return [
        Row(
            what=f"{what}: {words}",
            unit=unit,
            figures={"one run": figure},
            samples=1,
            target=Target(limit),
            peer=Peer(INFORMERS, peer) if peer is not None else Peer(_NO_CAP, in_this_run=False),
        )
        for words, (unit, figure, peer, limit) in figures.items()
    ]


def _restart_row(size: int, seconds: float) -> Row:
    return Row(
        what=f"{size:,} watches: API server killed and ready again, until all are open",
        unit="s",
        figures={"one run": seconds},
        samples=1,
        target=Target(10.0) if size <= _RESTARTED_UP_TO else None,
    )
