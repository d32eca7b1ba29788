"""Metric families, from values by their labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

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
