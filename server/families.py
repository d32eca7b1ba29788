"""Metric families, from values by their labels."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import TypeVar

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from messages.units import TimesCounted

Labels = TypeVar("Labels", bound=tuple[str, ...])
Family = TypeVar("Family", GaugeMetricFamily, CounterMetricFamily)


def gauge(
    name: str, text: str, labels: tuple[str, ...], values: Mapping[Labels, float]
) -> GaugeMetricFamily:
    """Return a gauge with ``values`` by the values of its labels."""
    return _filled(GaugeMetricFamily(name, text, labels=labels), values)


def counter(
    name: str, text: str, labels: tuple[str, ...], values: Mapping[Labels, float]
) -> CounterMetricFamily:
    """Return a counter with ``values`` by the values of its labels."""
    return _filled(CounterMetricFamily(name, text, labels=labels), values)


def _filled(family: Family, values: Mapping[Labels, float]) -> Family:
    for label_values, value in sorted(values.items()):
        family.add_metric(label_values, value)
    return family


def untyped(name: str, text: str, value: float) -> Metric:
    """Return a count under a kubelet's name, which lacks the ending that counters have."""
    family = Metric(name, text, "unknown")
    family.add_sample(name, {}, value)
    return family


def histogram(
    name: str, text: str, labels: tuple[str, ...], times: Mapping[tuple[str, ...], TimesCounted]
) -> HistogramMetricFamily:
    """Return a histogram with ``times`` by the values of its labels."""
    family = HistogramMetricFamily(name, text, labels=labels)
    for values, counted in times.items():
        bounds = [*(f"{bound:g}" for bound in counted.bounds), "+Inf"]
        cumulated = map(float, accumulate(counted.buckets))
        buckets = list(zip(bounds, cumulated, strict=True))
        family.add_metric(values, buckets, sum_value=counted.seconds)
    return family
