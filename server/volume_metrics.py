"""Metrics of the volumes of pods, by a kubelet's names where it has them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import accumulate

from prometheus_client.core import HistogramMetricFamily, Metric

from messages.volume_state import VolumesDescribed, VolumeState
from server.families import counter, gauge


def volume_metrics(volumes: VolumesDescribed) -> Iterable[Metric]:
    """Yield how many volumes there are, and what was written."""
    yield _wanted_and_there(volumes)
    yield gauge(
        "actorlet_volumes",
        "Volumes of pods, by kind and state.",
        ("plugin_name", "state"),
        {(plugin, state.value): count for (plugin, state), count in volumes.states.items()},
    )
    yield counter(
        "actorlet_volume_writes", "Writes of volumes that readers saw.", (), {(): volumes.writes}
    )
    yield counter(
        "actorlet_volume_written_bytes",
        "Bytes of the files of volumes that were written.",
        (),
        {(): volumes.written_bytes},
    )
    yield counter(
        "actorlet_volume_errors",
        "Attempts to make, to check or to write a volume that failed.",
        (),
        {(): volumes.errors},
    )
    yield gauge(
        "actorlet_volume_teardowns_failing",
        "Pods whose volumes could not be taken away so far.",
        (),
        {(): volumes.unmounts_failing},
    )
    yield _delays(volumes)


def _wanted_and_there(volumes: VolumesDescribed) -> Metric:
    counts: Counter[tuple[str, str]] = Counter()
    for (plugin, state), count in volumes.states.items():
        if state is not VolumeState.LEAVING:
            counts[plugin, "desired_state_of_world"] += count
        if state in {VolumeState.THERE, VolumeState.LEAVING}:
            counts[plugin, "actual_state_of_world"] += count
    return gauge(
        "volume_manager_total_volumes",
        "Volumes that pods want, and those that there are.",
        ("plugin_name", "state"),
        counts,
    )


def _delays(volumes: VolumesDescribed) -> Metric:
    times = volumes.delays
    family = HistogramMetricFamily(
        "actorlet_volume_change_seconds",
        "From when it was known that an object has changed until readers saw it in a volume.",
    )
    names = [*(f"{bound:g}" for bound in times.bounds), "+Inf"]
    buckets = list(zip(names, map(float, accumulate(times.buckets)), strict=True))
    family.add_metric((), buckets, sum_value=times.seconds)
    return family
