"""Facts as server-sent events for ``/events``: names and versions, never a value. Pure.

The data is JSON on one line. JSON escapes line breaks, so no name can break the framing.
"""

from __future__ import annotations

import json

from messages.changes import PodChange
from messages.objects import ChangeDecided, ObjectChanged, ObjectFact
from messages.pod_runtime import ContainerHistory
from messages.pods import JsonObject
from messages.statuses import PodStatus, PodStatusChanged
from stores.statuses.shown import shown


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


def status_event(changed: PodStatusChanged) -> bytes:
    """Return the event of a pod that has another status."""
    pod, status = changed.pod, changed.status
    ready = next((each.status for each in status.conditions if each.type == "Ready"), "False")
    told = {
        "source": pod.source,
        "namespace": pod.namespace,
        "name": pod.name,
        "uid": pod.uid,
        "phase": status.phase.value,
        "ready": ready == "True",
        "reason": status.reason,
        "containers": _containers(status),
    }
    return _event("status", told)


def _containers(status: PodStatus) -> list[JsonObject]:
    """Return the state of each container in words, without messages, which may say anything."""
    seen = {} if status.observed is None else status.observed.containers
    return [
        {
            "name": name,
            "state": shown(history, is_ended=status.is_ended).name.lower(),
            "reason": _reason(history),
            "restarts": history.current.attempt if history.current is not None else 0,
        }
        for name, history in sorted(seen.items())
    ]


def _reason(history: ContainerHistory) -> str:
    if history.wait is not None:
        return history.wait.reason
    return "" if history.current is None else history.current.reason


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
