"""How soon the cluster shows a manifest that was edited ten times a second: its mirror, after the last edit.

Against a real kube-apiserver, found by ``KUBEBUILDER_ASSETS``; without one the row is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import count, islice
from time import perf_counter
from typing import Final

from benchmarks.agent import Agent, joining, pause, wait_until
from benchmarks.clusters import NAMESPACE, running_cluster
from benchmarks.pods import manifest
from benchmarks.row import WORST, Row, Target, spread
from tests.support.apiserver.status import StatusError
from tests.support.apiserver.users import ADMIN
from tests.support.cluster.cluster import Cluster

_POD: Final = "edited"
_FIRST: Final = 1
"""The version that manifests begin with."""
_EVERY: Final = 0.1
"""Seconds between two edits."""


def edit_rows(*, quick: bool) -> list[Row]:
    """Return the time from the last of many edits to the mirror of that version."""
    rounds, edits = (1, 10) if quick else (5, 100)
    with running_cluster() as cluster:
        if cluster is None:
            return []
        with Agent(*joining(cluster.kubeconfig(ADMIN)), pods=[_POD]) as agent:
            wait_until(partial(_is_shown, cluster, _FIRST), poll_every=0.05)
            versions = count(_FIRST + 1)
            last = [
                _seconds_to_mirror(agent, cluster, list(islice(versions, edits)))
                for _ in range(rounds)
            ]
    return [
        Row(
            what="10 edits a second of one manifest: mirror of the last version, after the last edit",
            unit="s",
            figures=spread(last),
            samples=rounds,
            target=Target(2.0),
            judged=WORST,
        )
    ]


def _seconds_to_mirror(agent: Agent, cluster: Cluster, versions: Sequence[int]) -> float:
    for version in versions:
        pause(_EVERY)
        edited = manifest(_POD).replace(_image(_FIRST).encode(), _image(version).encode())
        (agent.manifests / f"{_POD}.yaml").write_bytes(edited)
    began = perf_counter()
    wait_until(partial(_is_shown, cluster, versions[-1]), poll_every=0.01)
    return perf_counter() - began


def _is_shown(cluster: Cluster, version: int) -> bool:
    """Return whether there is a mirror, and of this version."""
    where = "pods", NAMESPACE, f"{_POD}-node1"
    try:
        mirror = cluster.admin.get(*where)
    except StatusError:  # the one of an earlier version is being replaced
        return False
    return bool(mirror["spec"]["containers"][0]["image"] == _image(version))


def _image(version: int) -> str:
    return f"registry.example/web:{version}"
