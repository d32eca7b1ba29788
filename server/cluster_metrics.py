"""Metrics of calls, watches, mirrors and events at the API server. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from prometheus_client.core import Metric

from messages.events import EventsDescribed
from messages.mirrors import MirrorsDescribed
from messages.watches import WatchesDescribed
from server.answers import Unanswered
from server.cluster_state import ClusterState
from server.families import counter, gauge


def cluster_metrics(state: ClusterState) -> Iterable[Metric]:
    """Yield the metrics of every actor that answered."""
    yield from _requests(state)
    if not isinstance(state.watches, Unanswered):
        yield from _watches(state.watches)
    if not isinstance(state.mirrors, Unanswered):
        yield from _mirrors(state.mirrors)
    if not isinstance(state.events, Unanswered):
        yield from _events(state.events)


def _requests(state: ClusterState) -> Iterable[Metric]:
    requests: Counter[tuple[str, str, str]] = Counter()
    for described in (state.calls, state.watches):
        if not isinstance(described, Unanswered):
            requests.update(described.requests)
    yield counter(
        "rest_client_requests",
        "Requests to the API server, by status code, host and method.",
        ("code", "host", "method"),
        requests,
    )
    if not isinstance(state.calls, Unanswered):
        calls = {("waiting",): state.calls.waiting, ("in_flight",): state.calls.in_flight}
        yield gauge("actorlet_api_calls", "Calls to the API server.", ("state",), calls)
        yield gauge(
            "actorlet_credentials_readable",
            "1 when the credentials for the API server could be read when that was last tried.",
            (),
            {(): float(not state.calls.credentials_trouble)},
        )


def _watches(watches: WatchesDescribed) -> Iterable[Metric]:
    yield gauge(
        "actorlet_watch_streams",
        "Watches that are open at the API server.",
        (),
        {(): watches.streams},
    )
    yield gauge(
        "actorlet_watch_connections",
        "Connections that watches are multiplexed over.",
        (),
        {(): watches.connections},
    )
    yield counter(
        "actorlet_watch_reconnects",
        "Watches that had to be opened again, by reason.",
        ("reason",),
        {(reason,): count for reason, count in watches.reconnects.items()},
    )


def _mirrors(mirrors: MirrorsDescribed) -> Iterable[Metric]:
    yield gauge(
        "actorlet_mirrors",
        "Static pods that should have a mirror pod, and those of them that have the right one.",
        ("state",),
        {("wanted",): mirrors.wanted, ("present",): mirrors.present},
    )
    yield counter(
        "actorlet_mirror_create_errors",
        "Mirror pods that the API server refused, by reason.",
        ("reason",),
        {(reason,): count for reason, count in mirrors.create_errors.items()},
    )


def _events(events: EventsDescribed) -> Iterable[Metric]:
    yield counter("actorlet_events_posted", "Events posted.", (), {(): events.posted})
    yield counter(
        "actorlet_events_dropped",
        "Events that were never posted, by reason.",
        ("reason",),
        {(reason,): count for reason, count in events.dropped.items()},
    )
