"""Metrics, made from the answers of the actors at the moment of the request. Pure.

Gauges are derived from the state, so they cannot drift from it. Names are the kubelet's where it has the
same metric, and begin with ``actorlet_`` otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import HistogramMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector
from typing_extensions import override

from kernel import SECONDS_BUCKETS, RoleStatistics, TreeSummary
from messages.event_feed import FeedDescribed
from messages.objects import ObjectsDescribed
from messages.pod_manager import PodsDescribed
from messages.pods import Pod
from messages.releases import ReleaseState
from messages.sources import SourceDescribed, Verdict
from messages.statuses import StatusesDescribed
from messages.streams import StreamsDescribed
from server.cluster_metrics import cluster_metrics, feed_metrics, object_metrics
from server.families import counter, gauge
from server.pod_metrics import RunningState, is_active, pod_metrics
from server.questions import ClusterState, Unanswered
from server.stream_pages import stream_metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurements:
    """Everything that the metrics are made of."""

    node_name: str
    releases: ReleaseState
    pods: PodsDescribed | Unanswered
    sources: Sequence[SourceDescribed | Unanswered]
    tree: TreeSummary | Unanswered
    roles: tuple[RoleStatistics, ...]
    dead_letters: Mapping[tuple[str, str], int]
    objects: Sequence[ObjectsDescribed | Unanswered]
    feed: FeedDescribed | Unanswered
    running: RunningState = field(default_factory=RunningState)
    cluster: ClusterState | None = None
    """None for a standalone agent."""
    streams: StreamsDescribed | Unanswered | None = None
    """None where no TLS port is served."""


class _Once(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = tuple(families)

    @override
    def collect(self) -> Iterable[Metric]:
        return self._families


def exposition(measured: Measurements) -> bytes:
    """Return the metrics in Prometheus' text format, those of the process included."""
    registry = CollectorRegistry()
    registry.register(_Once(families(measured)))
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    return generate_latest(registry)


def families(measured: Measurements) -> Iterable[Metric]:
    """Yield the metrics of the agent."""
    yield from _node(measured.node_name)
    yield from _releases(measured.releases)
    yield from _pods(measured.pods, measured.running.statuses)
    yield from _running(measured)
    yield from _sources(measured.sources)
    yield from _tree(measured.tree)
    yield from _roles(measured.roles)
    yield from _dead_letters(measured.dead_letters)
    yield from object_metrics(measured.objects)
    yield from feed_metrics(measured.feed)
    if measured.cluster:
        yield from cluster_metrics(measured.cluster)
    if isinstance(measured.streams, StreamsDescribed):
        yield from stream_metrics(measured.streams)


def _node(name: str) -> Iterable[Metric]:
    yield gauge("kubelet_node_name", "The node's name. Always 1.", ("node",), {(name,): 1})


def _releases(state: ReleaseState) -> Iterable[Metric]:
    yield gauge(
        "actorlet_build_info",
        "The release that runs: its version, and what tells its code from any other. Always 1.",
        ("version", "code"),
        {(state.running.version, state.running.code): 1},
    )
    yield gauge(
        "actorlet_restart_due",
        "Whether another release is installed where this one was started from.",
        (),
        {(): state.is_restart_due},
    )


def _running(measured: Measurements) -> Iterable[Metric]:
    pods = None if isinstance(measured.pods, Unanswered) else measured.pods
    return pod_metrics(measured.running, pods)


def _pods(pods: PodsDescribed | Unanswered, statuses: StatusesDescribed | None) -> Iterable[Metric]:
    if isinstance(pods, Unanswered):
        return
    active = [pod for pod in pods.pods if is_active(pod, statuses)]
    # The kubelet's label values: "true" for static pods and nothing for the others.
    desired = {("",): pods.regular_pods, ("true",): pods.static_pods}
    yield gauge("kubelet_desired_pods", "Pods that this node should have.", ("static",), desired)
    yield gauge(
        "kubelet_active_pods",
        "Pods that have not ended.",
        ("static",),
        _by_static(active),
    )
    yield gauge("kubelet_mirror_pods", "Mirror pods known.", (), {(): len(pods.mirrors)})
    yield gauge(
        "kubelet_managed_ephemeral_containers",
        "Ephemeral containers of the pods that this node should have.",
        (),
        {(): pods.ephemeral_containers},
    )
    yield gauge(
        "actorlet_shadowed_pods",
        "Pods that wait behind another of their name or UID.",
        (),
        {(): len(pods.shadowed)},
    )


def _by_static(pods: Iterable[Pod]) -> dict[tuple[str, ...], float]:
    counted = Counter("true" if pod.is_static else "" for pod in pods)
    return {(static,): counted[static] for static in ("", "true")}


def _sources(sources: Iterable[SourceDescribed | Unanswered]) -> Iterable[Metric]:
    described = [source for source in sources if isinstance(source, SourceDescribed)]
    ready = {source.name for source in described if source.ready}
    yield gauge(
        "actorlet_source_ready",
        "1 when the source has listed.",
        ("source",),
        {(source.name,): float(source.name in ready) for source in sources},
    )
    yield gauge(
        "actorlet_source_last_listed_timestamp_seconds",
        "When the source could last tell what it saw.",
        ("source",),
        {
            (source.name,): source.last_listed
            for source in described
            if source.last_listed is not None
        },
    )
    yield from _manifests(described)


def _manifests(described: Sequence[SourceDescribed]) -> Iterable[Metric]:
    verdicts = {
        (source.name, verdict.value): float(
            sum(manifest.verdict is verdict for manifest in source.manifests)
        )
        for source in described
        for verdict in Verdict
    }
    yield gauge(
        "actorlet_manifest_verdicts",
        "Manifests by what became of them.",
        ("source", "verdict"),
        verdicts,
    )
    rejected = {
        (source.name, reason.value): float(count)
        for source in described
        for reason, count in source.rejected.items()
    }
    yield counter(
        "actorlet_manifest_rejected",
        "Refusals of manifests, kept ones included.",
        ("source", "reason"),
        rejected,
    )


def _tree(tree: TreeSummary | Unanswered) -> Iterable[Metric]:
    if isinstance(tree, Unanswered):
        return
    waiting: Counter[tuple[str, ...]] = Counter()
    states: Counter[tuple[str, ...]] = Counter()
    for actor in tree.loops:
        role = _role(actor.name)
        waiting[role,] += actor.mailbox
        states[role, actor.state] += 1
    for group in tree.dynamic:
        # Their names begin with their supervisor's.
        role = _role(group.supervisor)
        waiting[role,] += group.mailbox
        states.update({(role, state): count for state, count in group.states.items()})
    yield gauge("actorlet_actors", "Actors by role and state.", ("actor", "state"), states)
    yield gauge(
        "actorlet_mailbox_depth", "Messages that wait for their actor.", ("actor",), waiting
    )


def _role(name: str) -> str:
    return name.partition("/")[0]


def _roles(roles: Sequence[RoleStatistics]) -> Iterable[Metric]:
    yield counter(
        "actorlet_messages_handled",
        "Messages handled.",
        ("actor",),
        {(role.role,): role.handled for role in roles},
    )
    restarts = {
        (role.role, reason): float(count)
        for role in roles
        for reason, count in role.restarts.items()
    }
    yield counter(
        "actorlet_actor_restarts",
        "Restarts by what ended the life before.",
        ("actor", "reason"),
        restarts,
    )
    yield _seconds(roles)


def _dead_letters(counts: Mapping[tuple[str, str], int]) -> Iterable[Metric]:
    dead = {key: float(count) for key, count in counts.items()}
    yield counter("actorlet_dead_letters", "Messages that nobody read.", ("actor", "reason"), dead)


def _seconds(roles: Iterable[RoleStatistics]) -> HistogramMetricFamily:
    family = HistogramMetricFamily(
        "actorlet_message_seconds", "Time to handle one message.", labels=("actor",)
    )
    bounds = [*(f"{bound:g}" for bound in SECONDS_BUCKETS), "+Inf"]
    for role in roles:
        buckets = list(zip(bounds, accumulate(role.buckets), strict=True))
        family.add_metric((role.role,), buckets, sum_value=role.seconds)
    return family
