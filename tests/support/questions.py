"""Questions to actors, as ``Stage.ask`` and ``ActorSystem.ask`` take them."""

from __future__ import annotations

from kernel import Port
from messages.api import CallsDescribed, DescribeCalls
from messages.events import DescribeEvents, EventsDescribed
from messages.objects import DescribeObjects, ObjectsDescribed
from messages.pod_manager import DescribePods, PodsDescribed
from messages.sources import DescribeMirrors, DescribeSource, MirrorsDescribed, SourceDescribed
from messages.statuses import DescribeStatuses, StatusesDescribed


def describe_pods(reply_to: Port[PodsDescribed]) -> DescribePods:
    """Return the question for everything that PodManager knows."""
    return DescribePods(reply_to=reply_to)


def describe_source(reply_to: Port[SourceDescribed]) -> DescribeSource:
    """Return the question for the state of a source."""
    return DescribeSource(reply_to=reply_to)


def describe_mirrors(reply_to: Port[MirrorsDescribed]) -> DescribeMirrors:
    """Return the question for the state of the mirrors."""
    return DescribeMirrors(reply_to=reply_to)


def describe_calls(reply_to: Port[CallsDescribed]) -> DescribeCalls:
    """Return the question for the state of calls to the API server."""
    return DescribeCalls(reply_to=reply_to)


def describe_events(reply_to: Port[EventsDescribed]) -> DescribeEvents:
    """Return the question for the counts of posted events."""
    return DescribeEvents(reply_to=reply_to)


def describe_statuses(reply_to: Port[StatusesDescribed]) -> DescribeStatuses:
    """Return the question for the statuses of all pods."""
    return DescribeStatuses(reply_to=reply_to)


def describe_objects(reply_to: Port[ObjectsDescribed]) -> DescribeObjects:
    """Return the question for the state of all objects of a kind."""
    return DescribeObjects(reply_to=reply_to)
