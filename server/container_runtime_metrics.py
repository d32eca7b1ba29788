"""Metrics of a container runtime: calls to it, and how its changes are seen, by a kubelet's names. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import accumulate

from prometheus_client.core import HistogramMetricFamily, Metric

from messages.container_runtime_health import ContainerRuntimeDescribed, PlegDescribed
from messages.statuses import TimesCounted
from server.families import counter, gauge

_OPERATION = ("operation_type",)


def container_runtime_metrics(runtime: ContainerRuntimeDescribed) -> Iterable[Metric]:
    """Yield the metrics of a runtime."""
    yield from _pleg(runtime.pleg)
    operations = runtime.operations
    yield counter(
        "kubelet_runtime_operations",
        "Calls to the container runtime.",
        _OPERATION,
        {(name,): sum(each.times.buckets) for name, each in operations.items()},
    )
    yield counter(
        "kubelet_runtime_operations_errors",
        "Failed calls to the container runtime.",
        _OPERATION,
        {(name,): each.errors for name, each in operations.items() if each.errors},
    )
    yield _histogram(
        "kubelet_runtime_operations_duration_seconds",
        "Time that calls to the container runtime took.",
        _OPERATION,
        {(name,): each.times for name, each in operations.items()},
    )
    yield _histogram(
        "kubelet_cgroup_manager_duration_seconds",
        "Time that work on cgroups of pods took.",
        _OPERATION,
        {(name,): times for name, times in runtime.cgroups.items()},
    )
    yield gauge(
        "actorlet_runtime_network_ready",
        "1 while pods can have networks of their own.",
        (),
        {(): float(not runtime.network_trouble)},
    )


def _pleg(pleg: PlegDescribed) -> Iterable[Metric]:
    yield _histogram(
        "kubelet_pleg_relist_duration_seconds",
        "Time of a look at everything.",
        (),
        {(): pleg.relists},
    )
    yield _histogram(
        "kubelet_pleg_relist_interval_seconds",
        "Time from one look at everything to the next.",
        (),
        {(): pleg.intervals},
    )
    if pleg.last_seen is not None:
        yield gauge(
            "kubelet_pleg_last_seen_seconds",
            "When everything was looked at last, in seconds since 1970.",
            (),
            {(): pleg.last_seen},
        )
    yield _untyped("kubelet_pleg_discard_events", "Events that were lost here: none ever are.", 0)
    yield _untyped(
        "kubelet_evented_pleg_connection_success_count",
        "Streams of events that stood.",
        pleg.streams,
    )
    yield _untyped(
        "kubelet_evented_pleg_connection_error_count",
        "Streams of events that could not be opened, or broke.",
        pleg.stream_errors,
    )
    yield _histogram(
        "kubelet_evented_pleg_connection_latency_seconds",
        "Time from a change of a container until its event came.",
        (),
        {(): pleg.latencies},
    )


def _untyped(name: str, text: str, value: float) -> Metric:
    """Return a count under a kubelet's name, which lacks the ending that counters have."""
    family = Metric(name, text, "unknown")
    family.add_sample(name, {}, value)
    return family


def _histogram(
    name: str, text: str, labels: tuple[str, ...], times: Mapping[tuple[str, ...], TimesCounted]
) -> Metric:
    family = HistogramMetricFamily(name, text, labels=labels)
    for values, counted in times.items():
        bounds = [*(f"{bound:g}" for bound in counted.bounds), "+Inf"]
        cumulated = map(float, accumulate(counted.buckets))
        buckets = list(zip(bounds, cumulated, strict=True))
        family.add_metric(values, buckets, sum_value=counted.seconds)
    return family
