"""Metrics of the container runtime, of images, volumes, tokens and change hooks. Pure.

They have a kubelet's names where it has them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from prometheus_client.core import Metric

from messages.change_hooks import ChangeHooksDescribed, HookResult
from messages.container_runtime_health import (
    PULL_BOUNDS,
    ContainerRuntimeDescribed,
    ImagesDescribed,
    PlegDescribed,
)
from messages.objects import ChangeAction
from messages.tokens import TokensDescribed
from messages.units import TimesCounted
from messages.volumes import VolumesDescribed, VolumeState
from server.families import counter, gauge, histogram, untyped

_OPERATION = ("operation_type",)

_STATES: Final = ("there", "trouble", "pending")


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
    yield histogram(
        "kubelet_runtime_operations_duration_seconds",
        "Time that calls to the container runtime took.",
        _OPERATION,
        {(name,): each.times for name, each in operations.items()},
    )
    yield histogram(
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
    yield histogram(
        "kubelet_pleg_relist_duration_seconds",
        "Time of a look at everything.",
        (),
        {(): pleg.relists},
    )
    yield histogram(
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
    yield untyped("kubelet_pleg_discard_events", "Events that were lost here: none ever are.", 0)
    yield untyped(
        "kubelet_evented_pleg_connection_success_count",
        "Streams of events that stood.",
        pleg.streams,
    )
    yield untyped(
        "kubelet_evented_pleg_connection_error_count",
        "Streams of events that could not be opened, or broke.",
        pleg.stream_errors,
    )
    yield histogram(
        "kubelet_evented_pleg_connection_latency_seconds",
        "Time from a change of a container until its event came.",
        (),
        {(): pleg.latencies},
    )


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
    return histogram(
        "kubelet_image_pull_duration_seconds",
        "Time that pulls took, by the size of the image.",
        ("image_size_in_bytes",),
        {
            (size,): TimesCounted(bounds=PULL_BOUNDS, buckets=times.buckets, seconds=times.seconds)
            for size, times in images.pulls.items()
        },
    )


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
    return histogram(
        "actorlet_volume_change_seconds",
        "From when it was known that an object has changed until readers saw it in a volume.",
        (),
        {(): volumes.delays},
    )


def token_metrics(tokens: TokensDescribed) -> Iterable[Metric]:
    """Yield how many tokens there are, and what came of requests for them."""
    yield gauge(
        "actorlet_service_account_tokens",
        "Tokens that volumes of pods show.",
        ("state",),
        {(state,): tokens.states.get(state, 0) for state in _STATES},
    )
    yield counter(
        "actorlet_service_account_token_requests",
        "Requests for tokens, by what came of them.",
        ("result",),
        {(result,): count for result, count in tokens.requests.items()},
    )


def change_hook_metrics(hooks: ChangeHooksDescribed) -> Iterable[Metric]:
    """Yield what came of change hooks, and how many containers wait for their turn."""
    yield counter(
        "actorlet_change_hooks",
        "Actions about changes of Secrets and ConfigMaps, by what came of them.",
        ("action", "result"),
        {
            (action.value, result.value): hooks.counts.get((action, result), 0)
            for action in ChangeAction
            for result in HookResult
        },
    )
    yield gauge(
        "actorlet_rollouts_waiting",
        "Containers that wait until others of their rollout group run again.",
        (),
        {(): hooks.waiting},
    )
