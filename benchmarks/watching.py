"""What it costs to follow Secrets, one watch for each: memory, threads, connections, time, processor time.

Against a real kube-apiserver. The peer is one of the official client's ``SharedInformer`` for each Secret,
all in one process (``informers``), on the same Secrets at the same time. The agent follows those that its
bound pods reference; who is told of a change is a reader of ``/events`` in yet another process, while the
informers' handlers are called in their own.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from math import ceil
from pathlib import Path
from random import Random
from time import perf_counter
from typing import NamedTuple

from benchmarks import processes
from benchmarks.agent import Agent, joining, pause, wait_until
from benchmarks.clusters import (
    create_pods,
    create_secrets,
    running_cluster,
    update,
    update_all,
)
from benchmarks.following import Follower
from benchmarks.informers import HOW, WHEN
from benchmarks.row import MEDIAN, P99, Peer, Row, Target, percentile
from benchmarks.sidekick import Sidekick
from tests.support.agent.joined_agent import OWN_STREAMS
from tests.support.apiserver.users import ADMIN
from tests.support.cluster.cluster import Cluster

SIZES = (200, 1_000, 5_000)
QUICK_SIZES = (100,)

STREAMS_EACH = 95
"""Streams that the agent puts on one connection: API servers allow 100 by default."""
SPARE_CONNECTIONS = 3
"""Connections that are not for watches of Secrets: for calls, and for lists beside watches."""

INFORMERS = "SharedInformer for each"
_SYNCED = r'actorlet_objects\{.*state="synced"\}'
_SETTLED_AFTER = 1.0
"""Seconds. What a start and an end leave to be done is no part of what an update takes."""
_ONE_BY_ONE = 600
"""Updates. Their p99 is the sixth worst: of 300 it would be the third, which is chance."""
_PATIENCE = 240.0
"""Seconds to be ready: 5,000 informers take a minute to list their Secrets on two cores."""


class Held(NamedTuple):
    """What one process takes to follow so many Secrets."""

    bytes_each: float
    threads: int
    connections: int
    seconds_to_sync: float


class Told(NamedTuple):
    """How one process hears of updates."""

    latencies: list[float]
    cpu_seconds: float
    """For as many updates as were sent all together."""


class Both(NamedTuple):
    """The agent and its peer, side by side."""

    held: tuple[Held, Held]
    told: tuple[Told, Told]


def watched_rows(*, quick: bool) -> list[Row]:
    """Return what watched Secrets cost, for each number of them."""
    sizes = QUICK_SIZES if quick else SIZES
    one_by_one, together = (50, 1_000) if quick else (_ONE_BY_ONE, 10_000)
    with running_cluster() as cluster:
        if cluster is None:
            return []
        create_secrets(cluster, max(sizes))
        bare = _bytes_of_noinformers_of(cluster)
        rows: list[Row] = []
        for size in sizes:
            create_pods(cluster, node_of(size), size)
            create_pods(cluster, f"bare-{size}", size, with_references=False)
            both = _measured(cluster, size, bare, (one_by_one, together))
            rows += _rows(size, both, together)
        return rows


def node_of(size: int) -> str:
    """Return the node whose pods reference so many Secrets."""
    return f"node-{size}"


def agent_of(kubeconfig: Path, node: str) -> Agent:
    """Return an agent for ``node``, not started yet."""
    return Agent(*joining(kubeconfig), f"--hostname-override={node}")


def connections_for(size: int) -> int:
    """Return the most connections, or dials, that so many watches may take."""
    return ceil(size / STREAMS_EACH) + SPARE_CONNECTIONS


def wait_synced(agent: Agent, size: int) -> None:
    """Return once so many objects are all listed, and the streams of all are open."""
    wait_until(partial(_are_synced, agent, size), look_every(size), _PATIENCE)


def look_every(size: int) -> float:
    """Return how many seconds to wait between two looks at an agent that watches so many objects.

    To count 5,000 of them takes it 25 ms.
    """
    return 0.02 + size / 20_000


def _are_synced(agent: Agent, size: int) -> bool:
    held, synced, streams = agent.metrics("actorlet_objects", _SYNCED, "actorlet_watch_streams")
    return held == synced == size and streams == size + OWN_STREAMS


def _measured(cluster: Cluster, size: int, bare_peer: int, updates: tuple[int, int]) -> Both:
    one_by_one, together = updates
    kubeconfig = cluster.kubeconfig(ADMIN)
    bare = _bytes_without_references(kubeconfig, size)
    agent = agent_of(kubeconfig, node_of(size))
    began = perf_counter()
    with ExitStack() as watching_alone, ExitStack() as watching_too:
        watching_alone.enter_context(agent)
        wait_synced(agent, size)
        ours = perf_counter() - began
        pause(_SETTLED_AFTER)
        follower = watching_alone.enter_context(Follower(agent.port))
        sent = _one_by_one(cluster, size, one_by_one, follower.told)
        told = [follower.told(version) - at for version, at in sent.items()]

        informers, theirs = watching_too.enter_context(informers_of(kubeconfig, size))
        follower.wait_for(update_all(cluster, range(size)))
        _wait_told(informers, size)
        held = (
            _held(agent.pid, cluster, size, (bare, ours)),
            _held(informers.pid, cluster, size, (bare_peer, theirs)),
        )
        cpu = _cpu_of_many(cluster, size, together, (agent, informers, follower))

        watching_alone.close()
        pause(_SETTLED_AFTER)
        sent = _one_by_one(cluster, size, one_by_one, _one_more_heard(informers))
        heard = informers.ask(WHEN)
        told_them = [heard[version] - at for version, at in sent.items()]
    return Both(held, (Told(told, cpu[0]), Told(told_them, cpu[1])))


def _held(pid: int, cluster: Cluster, size: int, besides: tuple[int, float]) -> Held:
    bare, seconds = besides
    return Held(
        bytes_each=(processes.resident_bytes(pid) - bare) / size,
        threads=processes.threads(pid),
        connections=processes.connections(pid, cluster.port),
        seconds_to_sync=seconds,
    )


def _one_by_one(
    cluster: Cluster, size: int, times: int, wait: Callable[[str], object]
) -> dict[str, float]:
    """Return when each update was sent, by the version that it made; each waits for the one before.

    One side watches at a time: on two cores they would wait for each other.
    """
    moments = Random(1)  # the same in each run
    sent: dict[str, float] = {}
    for _ in range(times):
        pause(moments.uniform(0.001, 0.01))
        began = perf_counter()
        version = update(cluster, moments.randrange(size))
        sent[version] = began
        wait(version)
    return sent


def _one_more_heard(informers: Sidekick) -> Callable[[str], object]:
    """Return what waits for one more change, and asks so seldom that it holds up nobody."""
    heard = itertools.count(int(informers.ask(HOW)["told"]) + 1)

    def wait(_version: str) -> None:
        pause(0.02)
        _wait_told(informers, next(heard))

    return wait


def _cpu_of_many(
    cluster: Cluster, size: int, times: int, who: tuple[Agent, Sidekick, Follower]
) -> tuple[float, float]:
    """Return the processor time of both for so many updates, sent as fast as the API server takes them."""
    agent, informers, follower = who
    told = informers.ask(HOW)["told"]
    before = [processes.cpu_seconds(pid) for pid in (agent.pid, informers.pid)]
    numbers = (number % size for number in range(times))
    follower.wait_for(update_all(cluster, numbers), poll_every=0.05)
    _wait_told(informers, told + times)
    ours, theirs = (processes.cpu_seconds(pid) for pid in (agent.pid, informers.pid))
    return ours - before[0], theirs - before[1]


def _bytes_without_references(kubeconfig: Path, size: int) -> int:
    with agent_of(kubeconfig, f"bare-{size}") as agent:
        wait_until(lambda: agent.status("/readyz/api") == 200, poll_every=0.01)
        pause(0.5)
        agent.metric("actorlet_objects")
        with Follower(agent.port):
            return agent.resident_bytes()


def _bytes_of_noinformers_of(cluster: Cluster) -> int:
    with informers_of(cluster.kubeconfig(ADMIN), 0) as (informers, _):
        return processes.resident_bytes(informers.pid)


@contextmanager
def informers_of(kubeconfig: Path, count: int) -> Iterator[tuple[Sidekick, float]]:
    """Give informers that have listed their Secrets, and the seconds from their process's start to that."""
    began = perf_counter()
    with Sidekick("benchmarks.informers", str(kubeconfig), str(count)) as informers:
        wait_until(
            lambda: informers.ask(HOW)["listed"] == count, poll_every=0.1, give_up_after=_PATIENCE
        )
        yield informers, informers.ask(HOW)["lastListed"] - began


def _wait_told(informers: Sidekick, changes: int) -> None:
    wait_until(
        lambda: informers.ask(HOW)["told"] >= changes, poll_every=0.05, give_up_after=_PATIENCE
    )


def _rows(size: int, both: Both, together: int) -> list[Row]:
    ours, theirs = both.held
    told, heard = both.told
    what = f"{size:,} watched Secrets"
    return [
        _row(
            f"{what}: memory of each, all told after an event on each",
            "kB",
            (ours.bytes_each / 1e3, theirs.bytes_each / 1e3),
            Target(30.0) if size >= max(SIZES) else None,
        ),
        _row(f"{what}: threads", "", (ours.threads, theirs.threads), Target(24)),
        _row(
            f"{what}: connections to the API server",
            "",
            (ours.connections, theirs.connections),
            Target(connections_for(size)),
        ),
        _row(
            f"{what}: process start until all are synced",
            "s",
            (ours.seconds_to_sync, theirs.seconds_to_sync),
            Target(5.0),
        ),
        _latency_row(
            f"{what}: update sent to subscriber told", MEDIAN, 50, (told, heard), Target(4.0)
        ),
        _latency_row(f"{what}: the same", P99, 99, (told, heard), Target(1.5, of_ratio=True)),
        _row(
            f"{what}: processor time of {together:,} updates",
            "s",
            (told.cpu_seconds, heard.cpu_seconds),
            None,
        ),
    ]


def _row(what: str, unit: str, figures: tuple[float, float], target: Target | None) -> Row:
    ours, theirs = figures
    return Row(
        what=what,
        unit=unit,
        figures={"one run": ours},
        samples=1,
        target=target,
        peer=Peer(INFORMERS, theirs),
    )


def _latency_row(
    what: str, name: str, percent: float, both: tuple[Told, Told], target: Target
) -> Row:
    ours, theirs = (percentile(told.latencies, percent) * 1e3 for told in both)
    return Row(
        what=what,
        unit="ms",
        figures={name: ours},
        samples=len(both[0].latencies),
        target=target,
        peer=Peer(INFORMERS, theirs),
    )
