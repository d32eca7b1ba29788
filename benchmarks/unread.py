"""What Secrets cost that nobody reads: no actor, no stream, and how little memory.

Against a real kube-apiserver, in one process of its own. The Secrets go idle after a second instead of
minutes. Memory is what Python's allocator has given out and not got back, so that neither what is free nor
what a process keeps for later counts.
"""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path
from time import perf_counter
from typing import Final, NamedTuple

from benchmarks.agent import pause, wait_until
from benchmarks.apart import apart, behave_like_the_agent
from benchmarks.clusters import (
    NAMESPACE,
    PER_POD,
    create_secrets,
    pod_document,
    running_cluster,
)
from benchmarks.row import MEDIAN, P99, Row, Target, percentile
from benchmarks.watchers import Watchers
from kube.credentials.loading import KubeconfigCredentials
from messages.objects import ObjectState, RegisterPod
from messages.pods import Pod
from messages.units import Seconds
from tests.support.apiserver.users import ADMIN
from tests.support.objects.reader import Answer

SIZE, QUICK_SIZE = 5_000, 100
READS: Final = 300

IDLE_AFTER: Final = Seconds(3.0)
_PATIENCE: Final = 240.0
_NODE: Final = "node-unread"


class Unread(NamedTuple):
    """What so many idle Secrets take."""

    bytes_each: float
    """Beside the value."""
    actors: int
    streams: int
    reads: list[float]
    """Seconds from a read of an idle Secret to the last value, or the newest."""


def unread_rows(*, quick: bool) -> list[Row]:
    """Return what Secrets cost that nobody has read for long."""
    size = QUICK_SIZE if quick else SIZE
    with running_cluster() as cluster:
        if cluster is None:
            return []
        create_secrets(cluster, size)
        unread = apart(measure, str(cluster.kubeconfig(ADMIN)), size=size)
    what = f"{size:,} idle Secrets"
    answered = sorted(seconds * 1e3 for seconds in unread.reads)
    return [
        Row(
            what=f"{what}: memory of each, beside its value",
            unit="kB",
            figures={"one run": unread.bytes_each / 1e3},
            samples=1,
            target=Target(4.0),
        ),
        Row(
            what=f"{what}: actors",
            unit="",
            figures={"one run": unread.actors},
            samples=1,
            target=Target(0.0),
        ),
        Row(
            what=f"{what}: streams",
            unit="",
            figures={"one run": unread.streams},
            samples=1,
            target=Target(0.0),
        ),
        Row(
            what=f"{what}: read of one until the last value is told",
            unit="ms",
            figures={MEDIAN: percentile(answered, 50), P99: percentile(answered, 99)},
            samples=len(answered),
        ),
    ]


def measure(kubeconfig: str, *, size: int) -> Unread:
    """Have so many Secrets go idle, and return what they take then. For a process of its own."""
    behave_like_the_agent()
    pods = [_pod(start) for start in range(0, size, PER_POD)]
    with Watchers(KubeconfigCredentials(Path(kubeconfig)), IDLE_AFTER) as watchers:
        watchers.objects()
        tracemalloc.start()
        before = _allocated()
        for pod in pods:
            watchers.manager.tell(RegisterPod(pod=pod))
        wait_until(lambda: _are_idle(watchers, size), 0.5, _PATIENCE)
        pause(2.0)
        bytes_each = (_allocated() - before) / size - _value_length(watchers)
        tracemalloc.stop()
        # The one that was read to know the length of its value goes idle again.
        wait_until(lambda: _are_idle(watchers, size), 0.5, _PATIENCE)
        actors, streams = watchers.living(), watchers.watches().streams
        reads = [_read(watchers, each)[0] for each in _some(pods)]
    return Unread(bytes_each, actors, streams, reads)


def _pod(start: int) -> Pod:
    document = pod_document(_NODE, f"pod-{start}", range(start, start + PER_POD))
    metadata = {**document["metadata"], "namespace": NAMESPACE, "uid": f"uid-{start}"}
    return Pod.of({**document, "metadata": metadata})


def _some(pods: list[Pod]) -> range:
    """Return the numbers of a few Secrets of so many pods."""
    step = max(1, len(pods) * PER_POD // READS)
    return range(1, len(pods) * PER_POD, step)


def _allocated() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def _are_idle(watchers: Watchers, size: int) -> bool:
    states = [each.state for each in watchers.objects()]
    return states == [ObjectState.IDLE] * size and watchers.living() == 0


def _value_length(watchers: Watchers) -> int:
    _, answer = _read(watchers, 0)
    assert answer.value is not None
    return sum(len(each) for each in answer.value.data.values())


def _read(watchers: Watchers, number: int) -> tuple[float, Answer]:
    began = perf_counter()
    watchers.read(number, Seconds(_PATIENCE))
    answers: list[Answer] = []
    while not answers:
        answers = watchers.answers()
        pause(0.0001)
    took = perf_counter() - began
    (answer,) = answers
    assert answer.value is not None, answer.verdict
    return took, answer
