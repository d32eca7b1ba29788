"""Facts as server-sent events for ``/events``: names and versions, never a value. Pure.

The data is JSON on one line. JSON escapes line breaks, so no name can break the framing.
"""

from __future__ import annotations

import json

from messages.changes import PodChange
from messages.objects import ChangeDecided, ObjectChanged, ObjectFact
from messages.pods import JsonObject


def pod_event(change: PodChange) -> bytes:
    """Return the event of one pod that was added, changed or removed."""
    pod = change.pod
    told = {
        "op": change.op.value,
        "source": pod.source,
        "namespace": pod.namespace,
        "name": pod.name,
        "uid": pod.uid,
    }
    return _event("pod", told)


def object_event(fact: ObjectFact) -> bytes:
    """Return the event of a changed object, or of the action that a pod wants because of it."""
    if isinstance(fact, ChangeDecided):
        return _event("decision", _decision(fact))
    return _event("object", _change(fact))


def _change(fact: ObjectChanged) -> JsonObject:
    return {
        "kind": fact.object.kind.value,
        "namespace": fact.object.namespace,
        "name": fact.object.name,
        "uid": fact.uid,
        "resourceVersion": fact.resource_version,
        "change": fact.change.value,
        "keys": fact.keys,
    }


def _decision(fact: ChangeDecided) -> JsonObject:
    changed = fact.changed
    return {
        "pod": fact.pod_name,
        "uid": fact.pod,
        "action": fact.action.value,
        "signal": fact.signal,
        "delaySeconds": fact.delay,
        "kind": changed.object.kind.value,
        "namespace": changed.object.namespace,
        "name": changed.object.name,
        "resourceVersion": changed.resource_version,
        "keys": changed.keys,
    }


def _event(name: str, data: JsonObject) -> bytes:
    text = json.dumps(data, separators=(",", ":"))
    return f"event: {name}\ndata: {text}\n\n".encode()
