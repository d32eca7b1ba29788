"""Metrics of images, by a kubelet's names where it has them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

from prometheus_client.core import HistogramMetricFamily, Metric

from messages.images import PULL_BOUNDS, ImagesDescribed
from server.families import counter, gauge


def image_metrics(images: ImagesDescribed) -> Iterable[Metric]:
    """Yield the metrics of images that are pulled and removed."""
    yield _pull_seconds(images)
    yield counter("actorlet_image_pull_errors", "Pulls that failed.", (), {(): images.failed_pulls})
    yield gauge(
        "actorlet_image_pulls",
        "Pulls that have not ended.",
        ("state",),
        {("under_way",): images.pulls_under_way, ("waiting",): images.pulls_waiting},
    )
    yield counter(
        "kubelet_image_garbage_collected",
        "Images that were removed.",
        ("reason",),
        {(reason,): images.removed.get(reason, 0) for reason in ("age", "space")},
    )
    yield counter(
        "kubelet_credential_provider_plugin_errors",
        "How often a credential plugin gave nothing.",
        ("plugin_name",),
        {(plugin,): count for plugin, count in images.plugin_errors.items()},
    )


def _pull_seconds(images: ImagesDescribed) -> Metric:
    family = HistogramMetricFamily(
        "kubelet_image_pull_duration_seconds",
        "Time that pulls took, by the size of the image.",
        labels=("image_size_in_bytes",),
    )
    names = [*(f"{bound:g}" for bound in PULL_BOUNDS), "+Inf"]
    for size, times in images.pulls.items():
        counted = map(float, accumulate(times.buckets))
        buckets = list(zip(names, counted, strict=True))
        family.add_metric((size,), buckets, sum_value=times.seconds)
    return family
