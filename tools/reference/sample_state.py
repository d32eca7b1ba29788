"""A node on which nothing has happened, but where everything is there that metrics are made of."""

from __future__ import annotations

from typing import Final

from kernel import TreeSummary
from messages.api import CallsDescribed
from messages.change_hooks import ChangeHooksDescribed
from messages.container_logs import ContainerLogsDescribed
from messages.container_runtime_health import (
    ContainerRuntimeDescribed,
    ImagesDescribed,
    PlegDescribed,
)
from messages.event_feed import FeedDescribed
from messages.events import EventsDescribed
from messages.pod_lives import PodLivesDescribed
from messages.pod_manager import PodsDescribed
from messages.pod_runtime import RuntimeDescribed
from messages.probing import AnswersDescribed, AttemptsBegun, CommandsWaiting, ProbesDescribed
from messages.releases import Release, ReleaseState
from messages.sources import MirrorsDescribed
from messages.statuses import StartLatencies, StatusesDescribed
from messages.streams import StreamsDescribed
from messages.tokens import TokensDescribed
from messages.units import Seconds, TimesCounted, Timestamp
from messages.volumes import VolumesDescribed
from messages.watches import WatchesDescribed
from server.metrics import Measurements
from server.pod_metrics import RunningState
from server.probe_pages import ProbeState
from server.questions import ClusterState

NO_TIMES: Final = TimesCounted(bounds=(), buckets=(0,), seconds=0.0)

RUNNING: Final = RunningState(
    statuses=StatusesDescribed(
        statuses={},
        refused={},
        starts=NO_TIMES,
        latencies=StartLatencies(sli={}, total={}),
        syncs=NO_TIMES,
    ),
    lives=PodLivesDescribed(
        lives={}, started=0, refused={}, restarted_static=0, restarted=0, preempted=0, operations={}
    ),
    runtime=RuntimeDescribed(name="cri"),
    containers=ContainerRuntimeDescribed(
        name="",
        version="",
        endpoint="",
        trouble="",
        network_trouble="",
        pleg=PlegDescribed(
            last_seen=Timestamp(0.0),
            silence=Seconds(0.0),
            relists=NO_TIMES,
            intervals=NO_TIMES,
            streams=0,
            stream_errors=0,
            latencies=NO_TIMES,
        ),
        operations={},
    ),
    images=ImagesDescribed(
        pulls={}, failed_pulls=0, pulls_under_way=0, pulls_waiting=0, removed={}, plugin_errors={}
    ),
    logs=ContainerLogsDescribed(used_bytes={}, rotated=0, failed=0),
    tokens=TokensDescribed(states={}, requests={}),
    volumes=VolumesDescribed(
        volumes=(),
        states={},
        writes=0,
        written_bytes=0,
        errors=0,
        delays=NO_TIMES,
        unmounts_failing=0,
    ),
    hooks=ChangeHooksDescribed(),
)

CLUSTER: Final = ClusterState(
    calls=CallsDescribed(
        server="",
        user="",
        troubles=(),
        requests={},
        waiting=0,
        in_flight=0,
        credentials_trouble="",
    ),
    watches=WatchesDescribed(watches=(), connections=0, streams=0, reconnects={}, requests={}),
    mirrors=MirrorsDescribed(wanted=0, present=0, troubles={}, create_errors={}),
    events=EventsDescribed(posted=0, dropped={}),
)

MEASURED: Final = Measurements(
    node_name="node",
    releases=ReleaseState(Release("1.0"), Release("1.0")),
    pods=PodsDescribed(
        pods=(),
        mirrors=(),
        static_to_mirror={},
        shadowed={},
        listed=frozenset(),
        static_pods=0,
        regular_pods=0,
        ephemeral_containers=0,
    ),
    sources=(),
    tree=TreeSummary(loops=(), dynamic=()),
    roles=(),
    dead_letters={},
    objects=(),
    feed=FeedDescribed(readers=0, dropped=0),
    streams=StreamsDescribed(
        streams=(),
        door=None,
        carried={("exec", "in"): 1},
        refused={"too many streams": 1},
        requests={("GET", "pods", "false"): 1},
        in_flight={("GET", "pods", "false"): 1},
    ),
    running=RUNNING,
    cluster=CLUSTER,
)

PROBES: Final = ProbeState(
    probes=ProbesDescribed(pods=()),
    answers=AnswersDescribed(
        answers={},
        bounds=(),
        commands=CommandsWaiting(running=0, waiting=0, longest=Seconds(0.0), ended=0),
        begun=AttemptsBegun(
            begun=0,
            seconds=0.0,
            longest=0.0,
            late=0,
            skipped=0,
            stalls=0,
            told_again=0,
            late_notes=0,
        ),
    ),
)
