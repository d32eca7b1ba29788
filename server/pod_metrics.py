"""Metrics of the pods that run, by a kubelet's names. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final

from prometheus_client.core import Metric

from messages.change_hooks import ChangeHooksDescribed
from messages.container_logs import ContainerLogsDescribed
from messages.container_runtime_health import ContainerRuntimeDescribed, ImagesDescribed
from messages.pod_lives import PodLivesDescribed
from messages.pod_manager import PodsDescribed
from messages.pod_runtime import ContainerState, RuntimeDescribed
from messages.pods import TERMINAL_PHASES, Pod, PodPhase, PodUid
from messages.statuses import PodStatus, StartLatencies, StatusesDescribed
from messages.tokens import TokensDescribed
from messages.units import TimesCounted
from messages.volumes import VolumesDescribed
from server.families import counter, gauge, histogram
from server.runtime_metrics import (
    change_hook_metrics,
    container_runtime_metrics,
    image_metrics,
    token_metrics,
    volume_metrics,
)

_LIFECYCLES = ("sync", "terminating", "terminated")
WORKING_PODS: Final[tuple[tuple[str, ...], ...]] = (
    *product(_LIFECYCLES, ("desired", "orphan"), ("true", "")),
    *product(_LIFECYCLES, ("runtime_only",), ("unknown",)),
)
"""All values of the labels of ``kubelet_working_pods``: a kubelet shows zeros too."""


CRASH_LOOP: Final = "CrashLoopBackOff"
"""Why a container waits that crashes time after time. It is shown with 0, too: alerts ask for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningState:
    """What is known of the pods that run. None: its actor did not answer, or no pods are run."""

    statuses: StatusesDescribed | None = None
    lives: PodLivesDescribed | None = None
    runtime: RuntimeDescribed | None = None
    containers: ContainerRuntimeDescribed | None = None
    """None as well where there is no container runtime outside of the agent."""
    images: ImagesDescribed | None = None
    """None as well where pods have no images of their own."""
    logs: ContainerLogsDescribed | None = None
    tokens: TokensDescribed | None = None
    """None as well without a keeper of tokens."""
    volumes: VolumesDescribed | None = None
    """None as well without a keeper of volumes."""
    hooks: ChangeHooksDescribed | None = None


def is_active(pod: Pod, statuses: StatusesDescribed | None) -> bool:
    """Return whether a pod has not ended: by its status here, or else by what its source says."""
    status = None if statuses is None else statuses.statuses.get(pod.uid)
    return not pod.is_terminal if status is None else status.phase not in TERMINAL_PHASES


def pod_metrics(state: RunningState, pods: PodsDescribed | None) -> Iterable[Metric]:
    """Yield the metrics of what is known."""
    if state.runtime is not None:
        yield from _runtime(state.runtime)
    yield from _outside(state)
    if state.lives is not None:
        yield from _lives(state.lives)
        if state.lives.operations is not None:
            yield _worker_seconds(state.lives.operations)
    if state.statuses is not None:
        yield from _statuses(state.statuses)
        if pods is not None:
            yield from _present(pods.pods, state.statuses.statuses)


def _outside(state: RunningState) -> Iterable[Metric]:
    """Yield the metrics of a runtime outside, of images, logs, tokens, volumes and change hooks."""
    if state.containers is not None:
        yield from container_runtime_metrics(state.containers)
    if state.images is not None:
        yield from image_metrics(state.images)
    if state.logs is not None:
        yield from _logs(state.logs)
    if state.tokens is not None:
        yield from token_metrics(state.tokens)
    if state.volumes is not None:
        yield from volume_metrics(state.volumes)
    if state.hooks is not None:
        yield from change_hook_metrics(state.hooks)


def _logs(logs: ContainerLogsDescribed) -> Iterable[Metric]:
    yield gauge(
        "kubelet_container_log_filesystem_used_bytes",
        "How much room the logs of a container take.",
        ("uid", "namespace", "pod", "container"),
        {tuple(owner): size for owner, size in logs.used_bytes.items()},
    )
    yield counter(
        "actorlet_log_rotations",
        "Rotations of logs.",
        ("result",),
        {("rotated",): logs.rotated, ("failed",): logs.failed},
    )


def _runtime(runtime: RuntimeDescribed) -> Iterable[Metric]:
    running = sum(pod.is_running for pod in runtime.pods)
    yield gauge("kubelet_running_pods", "Pods that the runtime runs.", (), {(): running})
    yield gauge(
        "kubelet_running_containers",
        "Containers that the runtime has.",
        ("container_state",),
        {(state.value,): runtime.containers.get(state, 0) for state in ContainerState},
    )
    yield gauge(
        "actorlet_runtime_usable",
        "1 while the runtime can be used.",
        ("runtime",),
        {(runtime.name,): float(not runtime.trouble)},
    )
    yield from _started(runtime)


def _started(runtime: RuntimeDescribed) -> Iterable[Metric]:
    yield counter(
        "kubelet_started_containers",
        "Attempts to start a container, failed ones included.",
        ("container_type",),
        {(kind,): count for kind, count in runtime.starts.items()},
    )
    yield counter(
        "kubelet_started_containers_errors",
        "Failed attempts to start a container.",
        ("container_type", "code"),
        runtime.start_errors,
    )
    yield counter(
        "kubelet_started_pods_errors",
        "Failed attempts to make a sandbox.",
        (),
        {(): runtime.sandbox_errors},
    )


def _lives(lives: PodLivesDescribed) -> Iterable[Metric]:
    yield counter(
        "kubelet_started_pods", "Pods that workers were started for.", (), {(): lives.started}
    )
    yield counter(
        "kubelet_restarted_pods",
        "Pods whose UID was added again.",
        ("static",),
        {("",): lives.restarted, ("true",): lives.restarted_static},
    )
    yield counter(
        "kubelet_admission_rejections",
        "Pods that were not admitted.",
        ("reason",),
        {(reason,): count for reason, count in lives.refused.items()},
    )
    yield counter(
        "actorlet_pods_preempted", "Pods that made room for others.", (), {(): lives.preempted}
    )
    yield counter(
        "kubelet_orphaned_runtime_pods",
        "Pods that only the runtime had, and that were stopped.",
        (),
        {(): lives.orphans},
    )
    yield gauge(
        "kubelet_working_pods",
        "Pods that are being looked after, by stage of life, by who wants them, and static or not.",
        ("lifecycle", "config", "static"),
        dict.fromkeys(WORKING_PODS, 0)
        | {tuple(kind): count for kind, count in lives.working.items()},
    )
    states = Counter(life.value for life in lives.lives.values())
    yield gauge(
        "actorlet_pod_lives",
        "Pods by where they are in their life.",
        ("state",),
        {(state,): count for state, count in states.items()},
    )


def _statuses(statuses: StatusesDescribed) -> Iterable[Metric]:
    yield counter(
        "actorlet_pod_status_writes",
        "Statuses that the API server took.",
        (),
        {(): statuses.written},
    )
    yield counter(
        "actorlet_pod_status_write_errors",
        "Failed writes of statuses.",
        ("reason",),
        {(reason,): count for reason, count in (statuses.refused or {}).items()},
    )
    yield gauge(
        "actorlet_pod_statuses_waiting",
        "Statuses that the API server does not have yet.",
        (),
        {(): statuses.waiting},
    )
    yield counter(
        "actorlet_pods_deleted",
        "Objects of deleted pods that were removed at the API server.",
        (),
        {(): statuses.deleted},
    )
    if statuses.starts is not None:
        yield _start_seconds(statuses.starts)
    if statuses.latencies is not None:
        yield from _latencies(statuses.latencies)
    if statuses.syncs is not None:
        yield histogram(
            "kubelet_pod_status_sync_duration_seconds",
            "Time from a change of a status until the API server had it.",
            (),
            {(): statuses.syncs},
        )


def _present(pods: Iterable[Pod], statuses: Mapping[PodUid, PodStatus]) -> Iterable[Metric]:
    """Yield how the pods are that this node should have."""
    shown = [statuses.get(pod.uid) for pod in pods]
    counted = Counter(PodPhase.PENDING if each is None else each.phase for each in shown)
    values = {(phase.value,): counted[phase] for phase in PodPhase}
    yield gauge("actorlet_pods", "Pods that this node should have, by phase.", ("phase",), values)
    running = [each for each in shown if each is not None and each.phase is PodPhase.RUNNING]
    yield gauge(
        "actorlet_pods_not_ready",
        "Pods that run and are not ready.",
        (),
        {(): sum(not _is_ready(each) for each in running)},
    )
    waits = Counter(
        (container.wait.reason,)
        for each in shown
        if each is not None and each.observed is not None
        for container in each.observed.containers.values()
        if container.wait is not None
    )
    yield gauge(
        "actorlet_containers_waiting",
        "Containers that do not run, or not yet, by reason.",
        ("reason",),
        {(CRASH_LOOP,): 0, **waits},
    )


def _is_ready(status: PodStatus) -> bool:
    return any(each.type == "Ready" and each.status == "True" for each in status.conditions)


def _start_seconds(starts: TimesCounted) -> Metric:
    return histogram(
        "kubelet_pod_start_duration_seconds",
        "Time from when the node first saw a pod until it ran.",
        (),
        {(): starts},
    )


def _latencies(latencies: StartLatencies) -> Iterable[Metric]:
    label = ("first_with_network",)
    until = "until the API server showed that all containers run"
    yield histogram(
        "kubelet_pod_start_sli_duration_seconds",
        f"Time from a pod's creation {until}, without pulling images and init containers.",
        label,
        {(name,): times for name, times in latencies.sli.items()},
    )
    yield histogram(
        "kubelet_pod_start_total_duration_seconds",
        f"Time from a pod's creation {until}.",
        label,
        {(name,): times for name, times in latencies.total.items()},
    )


def _worker_seconds(operations: Mapping[str, TimesCounted]) -> Metric:
    return histogram(
        "kubelet_pod_worker_duration_seconds",
        "Time from when something is wished of a pod until it is carried out.",
        ("operation_type",),
        {(name,): times for name, times in operations.items()},
    )
