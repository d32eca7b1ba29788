"""Events about pods, as their keeper and workers post them. Pure."""

from __future__ import annotations

from messages.events import EventType, ObjectReference, PostEvent
from messages.pods import Pod
from messages.statuses import PodFailure


def pod_event(pod: Pod, kind: EventType, failure: PodFailure) -> PostEvent:
    """Return the event that ``failure`` happened to ``pod``."""
    about = ObjectReference(kind="Pod", name=pod.name, namespace=pod.namespace, uid=pod.uid)
    return PostEvent(regarding=about, type=kind, reason=failure.reason, message=failure.message)
