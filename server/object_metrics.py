"""Metrics of Secrets and ConfigMaps, and of the event feed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from prometheus_client.core import Metric

from messages.event_feed import FeedDescribed
from messages.objects import ObjectsDescribed
from server.answers import Unanswered
from server.families import counter, gauge


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
