"""Facts and the present state as server-sent events for ``/events``: names, never a value. Pure.

The data is JSON on one line. JSON escapes line breaks, so no name can break the framing. The present state is
one event for each thing that there is, in pieces. A piece is made when its reader takes it: so thousands of
pods hold up nobody, and are never in memory as text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, TypeVar

from actors.events.feed_parts import KeptEvent
from messages.changes import PodChange
from messages.event_feed import ActorIs
from messages.events import EventNoted, PostEvent
from messages.objects import (
    ChangeDecided,
    ObjectChanged,
    ObjectDescribed,
    ObjectFact,
    ObjectsDescribed,
)
from messages.pod_manager import PodsDescribed
from messages.pod_runtime import ContainerHistory
from messages.pods import LOCAL_FILES, JsonObject, Pod, PodUid, SourceName
from messages.probing import ProbedPod, ProbeResultIs, ProbesDescribed, ProbeStage
from messages.sources import ManifestVerdict, SourceDescribed
from messages.statuses import PodStatus, PodStatusChanged, StatusesDescribed
from messages.volumes import VolumeTroublesAre
from stores.statuses.shown import shown

PIECE: Final = 50
"""Things of one piece: a millisecond or two."""
_T = TypeVar("_T")


def pod_event(change: PodChange) -> bytes:
    """Return the event of one pod that was added, changed or removed."""
    return _pod(change.op.value, change.pod)


def present_pod(pod: Pod) -> bytes:
    """Return the event of a pod that there is."""
    return _pod("PRESENT", pod)


def _pod(op: str, pod: Pod) -> bytes:
    told = {"op": op, "source": pod.source, **_names(pod), "mirror": pod.is_mirror}
    return server_sent("pod", told)


def _names(pod: Pod) -> JsonObject:
    return {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid}


def status_event(changed: PodStatusChanged) -> bytes:
    """Return the event of a pod that has another status."""
    return present_status(changed.pod.uid, changed.status, changed.pod)


def present_status(uid: PodUid, status: PodStatus, pod: Pod | None) -> bytes:
    """Return the event of the status that a pod has. ``pod`` is None if only its UID is known."""
    ready = next((each.status for each in status.conditions if each.type == "Ready"), "False")
    told = {
        "source": pod.source if pod is not None else "",
        "namespace": pod.namespace if pod is not None else "",
        "name": pod.name if pod is not None else "",
        "uid": uid,
        "phase": status.phase.value,
        "ready": ready == "True",
        "reason": status.reason,
        "containers": _containers(status),
    }
    return server_sent("status", told)


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
    return server_sent(*told_of(fact))


def present_object(described: ObjectDescribed) -> bytes:
    """Return the event of how an object is held."""
    told = {
        "kind": described.object.kind.value,
        "namespace": described.object.namespace,
        "name": described.object.name,
        "uid": described.uid,
        "resourceVersion": described.resource_version,
        "change": "present",
        "keys": (),
        "origin": described.object.origin.value,
        "state": described.state.value,
        "references": described.references,
        "lastError": described.error,
    }
    return server_sent("object", told)


def _change(fact: ObjectChanged) -> JsonObject:
    return {
        "kind": fact.object.kind.value,
        "namespace": fact.object.namespace,
        "name": fact.object.name,
        "uid": fact.uid,
        "resourceVersion": fact.resource_version,
        "change": fact.change.value,
        "keys": fact.keys,
        "origin": fact.object.origin.value,
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


def verdict_event(source: SourceName, verdict: ManifestVerdict, *, is_gone: bool = False) -> bytes:
    """Return the event of the verdict on a manifest, or that the manifest is gone."""
    told = {
        "source": source,
        "path": verdict.path,
        "verdict": "gone" if is_gone else verdict.verdict.value,
        "reason": "" if is_gone else verdict.reason,
        "warnings": () if is_gone else verdict.warnings,
        "object" if source == LOCAL_FILES else "pod": verdict.pod,
        "uid": verdict.uid,
    }
    return server_sent("verdict", told)


def probe_event(fact: ProbeResultIs) -> bytes:
    """Return the event of what counts of a probe from now on."""
    told = {
        **_names(fact.pod),
        "container": fact.key.container,
        "probe": fact.key.kind.value,
        "containerID": fact.container_id,
        "result": fact.result.value,
    }
    return server_sent("probe", told)


def present_probe(probed: ProbedPod, stage: ProbeStage) -> bytes:
    """Return the event of what counts of a probe, and why it is not carried out, if it is not."""
    told = {
        **_names(probed.pod),
        "container": stage.key.container,
        "probe": stage.key.kind.value,
        "containerID": stage.container_id,
        "result": stage.result.value if stage.result is not None else None,
        "waitsFor": stage.waits_for,
    }
    return server_sent("probe", told)


def volume_event(fact: VolumeTroublesAre) -> bytes:
    """Return the event of what is wrong with the volumes of a pod: all of it."""
    troubles = [
        {"volume": name, "reason": trouble.message, "isForGood": trouble.is_for_good}
        for name, trouble in sorted(fact.troubles.items())
    ]
    return server_sent("volume", {**_names(fact.pod), "troubles": troubles})


def posted_event(fact: EventNoted) -> bytes:
    """Return the event of an event as the API has them: what somebody did, or could not do, for an object."""
    return server_sent(*told_of(fact.post, fact.count))


def told_of(fact: PostEvent | ObjectFact, times: int = 1) -> tuple[str, JsonObject]:
    """Return of which kind the event of ``fact`` is, and its data. ``times`` is how often it was."""
    if isinstance(fact, PostEvent):
        return "event", _posted(fact, times)
    if isinstance(fact, ChangeDecided):
        return "decision", _decision(fact)
    return "object", _change(fact)


def _posted(post: PostEvent, times: int) -> JsonObject:
    return {
        "type": post.type.value,
        "reason": post.reason,
        "message": post.message,
        "count": times,
        "kind": post.regarding.kind,
        "namespace": post.regarding.namespace,
        "name": post.regarding.name,
        "uid": post.regarding.uid,
        "fieldPath": post.regarding.field_path,
    }


def actor_event(fact: ActorIs) -> bytes:
    """Return the event of an actor that failed, or that runs again."""
    told = {
        "name": fact.name,
        "state": fact.state,
        "restarts": fact.restarts,
        "lastError": fact.error,
    }
    return server_sent("actor", told)


def server_sent(name: str, data: JsonObject) -> bytes:
    """Return an event called ``name`` in the format of server-sent events."""
    text = json.dumps(data, separators=(",", ":"))
    return f"event: {name}\ndata: {text}\n\n".encode()


# --- the present state -------------------------------------------------------------------------------


def state_begins(why: str) -> bytes:
    """Return the event before the present state: what was told before it counts no more."""
    return server_sent("state", {"state": "begins", "why": why})


def state_resumes(count: int) -> bytes:
    """Return the event before those that a reader has missed."""
    return server_sent("state", {"state": "resumes", "missed": count})


def state_is_complete(missing: Sequence[str]) -> bytes:
    """Return the event after the present state. ``missing`` are those who have not answered."""
    said = "the present state is complete"
    if missing:
        said += ", but for what is missing: it comes as soon as somebody says it"
    return server_sent("state", {"state": "complete", "message": said, "missing": missing})


def pods_of(described: PodsDescribed) -> Iterator[bytes]:
    """Yield the pods that are served, and the mirrors."""
    served = (pod for pod in described.pods if pod.uid not in described.shadowed)
    yield from _pieces(served, present_pod)
    yield from _pieces(described.mirrors, present_pod)


def statuses_of(described: StatusesDescribed, pods: Mapping[PodUid, Pod]) -> Iterator[bytes]:
    """Yield the statuses. Those of pods that are not among ``pods`` have a UID and no name."""
    known = described.statuses.items()
    yield from _pieces(known, lambda each: present_status(*each, pods.get(each[0])))


def verdicts_of(described: SourceDescribed) -> Iterator[bytes]:
    """Yield the verdicts of a source."""
    yield from _pieces(described.manifests, lambda each: verdict_event(described.name, each))


def objects_of(described: ObjectsDescribed) -> Iterator[bytes]:
    """Yield the objects of a kind."""
    yield from _pieces(described.objects, present_object)


def probes_of(described: ProbesDescribed) -> Iterator[bytes]:
    """Yield the probes of all pods."""
    yield from _pieces(described.pods, _probes_of)


def _probes_of(probed: ProbedPod) -> bytes:
    return b"".join(present_probe(probed, stage) for stage in probed.probes)


def troubles_of(actors: Iterable[ActorIs], volumes: Iterable[VolumeTroublesAre]) -> Iterator[bytes]:
    """Yield the actors that have failed and do not run again yet, and what is wrong with volumes."""
    yield from _pieces(actors, actor_event)
    yield from _pieces(volumes, volume_event)


def missed(events: Iterable[KeptEvent]) -> Iterator[bytes]:
    """Yield events that were told before."""
    yield from _pieces(events, lambda each: each.text)


def _pieces(things: Iterable[_T], told: Callable[[_T], bytes]) -> Iterator[bytes]:
    left = iter(things)
    while piece := list(islice(left, PIECE)):
        yield b"".join(map(told, piece))


def verdict_changes(
    before: Mapping[str, ManifestVerdict], after: SourceDescribed
) -> Iterator[bytes]:
    """Yield the verdicts of a source that are others than before, and the manifests that are gone."""
    there = set()
    for verdict in after.manifests:
        there.add(verdict.path)
        known = before.get(verdict.path)
        if known is not verdict and known != verdict:
            yield verdict_event(after.name, verdict)
    for path, verdict in before.items():
        if path not in there:
            yield verdict_event(after.name, verdict, is_gone=True)
