"""Metrics of all that comes from the API server: calls, watches, mirrors, events, objects. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from prometheus_client.core import Metric

from messages.event_feed import FeedDescribed
from messages.events import EventsDescribed
from messages.objects import ObjectsDescribed
from messages.sources import MirrorsDescribed
from messages.watches import WatchesDescribed
from server.families import counter, gauge
from server.questions import ClusterState, Unanswered


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


def object_metrics(kinds: Iterable[ObjectsDescribed | Unanswered]) -> Iterable[Metric]:
    """Yield the metrics of each kind of objects whose manager answered."""
    described = [kind for kind in kinds if not isinstance(kind, Unanswered)]
    yield from _held(described)
    yield counter(
        "actorlet_object_changes",
        "Changes of objects that pods reference.",
        ("kind", "change"),
        {(each.kind, change): n for each in described for change, n in each.changes.items()},
    )
    yield counter(
        "actorlet_object_decisions",
        "What pods wanted done about changes of objects.",
        ("kind", "action"),
        {(each.kind, action): n for each in described for action, n in each.decisions.items()},
    )
    yield counter(
        "actorlet_object_reads",
        "How often pods and their volumes asked for a fresh value of an object.",
        ("kind",),
        {(each.kind,): each.looks for each in described},
    )


def _held(described: Sequence[ObjectsDescribed]) -> Iterable[Metric]:
    yield gauge(
        "actorlet_objects",
        "Objects by how they are held.",
        ("kind", "state"),
        {(each.kind, state): n for each in described for state, n in each.states.items()},
    )
    yield gauge(
        "actorlet_object_references",
        "References of pods to objects; each pod counts once for each object.",
        ("kind",),
        {(each.kind,): each.references for each in described},
    )


def feed_metrics(feed: FeedDescribed | Unanswered) -> Iterable[Metric]:
    """Yield the metrics of the event feed, if it answered."""
    if isinstance(feed, Unanswered):
        return
    yield gauge("actorlet_event_readers", "Readers of events.", (), {(): feed.readers})
    yield counter(
        "actorlet_event_readers_dropped",
        "Readers of events that did not keep up.",
        (),
        {(): feed.dropped},
    )
