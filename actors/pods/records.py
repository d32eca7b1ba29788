"""The record of a pod: what is kept of it on disk for the next process. It holds no value of any Secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, NamedTuple, TypeAlias

from files.record_keeper import KeepRecords, RecordKeeperMessage, RecordsAre, record_key
from files.records import RecordForm, decoded, encoded
from manifests.requests import resources_of
from messages.objects import ObjectId, ObjectKind, Origin
from messages.pod_runtime import ProbeVerdict
from messages.pods import JsonObject, Pod, PodUid
from messages.statuses import PodCondition
from messages.units import Timestamp

RECORD_LIMIT: Final = 256 * 1024
"""Bytes of a record. One with more is not this agent's."""
_FORM: Final = b"actorlet-pod 1"
_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


class ObjectVersion(NamedTuple):
    """One version of an object, without what is in it."""

    uid: str
    resource_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPod:
    """What the next process is to know of a pod."""

    uid: PodUid
    start_time: Timestamp | None = None
    """When the node took it on."""
    stopped_by: Timestamp | None = None
    """When its grace is over, once it is being stopped: the next process gives it no new one."""
    objects: Mapping[ObjectId, ObjectVersion] = field(default_factory=dict)
    """The versions that it was started with or has heard of, of objects whose changes it acts on."""
    resources: Mapping[str, JsonObject] = field(default_factory=dict)
    """What it was admitted with, by name of the container."""
    probed: Mapping[str, ProbeVerdict] = field(default_factory=dict)
    """What its probes said, by name of the container, of those that started or became ready."""
    outdated: frozenset[str] = frozenset()
    """Ids of instances that are replaced, since an object that they use changed, or that were."""
    running: Sequence[JsonObject] = ()
    """The statuses of containers that run, in the API's form, if only this process knows since when."""
    conditions: Mapping[str, tuple[str, Timestamp]] = field(default_factory=dict)
    """Status and time of each condition by its type, of a static pod: nobody else knows the times."""
    ips: tuple[str, ...] = ()
    """The addresses of a static pod: a sandbox that was stopped does not tell them any more."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """Those of its containers when this agent first saw it, of a static pod whose UID its user has fixed."""
    ended: JsonObject | None = None
    """Its status, in the API's form, once it has ended by itself: it never runs again. None before."""


KeepPods: TypeAlias = KeepRecords[PodUid, KeptPod]
KeptPodsAre: TypeAlias = RecordsAre[PodUid, KeptPod]
PodRecordsMessage: TypeAlias = RecordKeeperMessage[PodUid, KeptPod]

POD_RECORDS: Final = record_key("pod-records")


def kept_pod(
    pod: Pod,
    start_time: Timestamp | None,
    objects: Mapping[ObjectId, ObjectVersion],
    verdicts: Mapping[str, ProbeVerdict] | None = None,
    outdated: frozenset[str] = frozenset(),
    shown: tuple[PodCondition, ...] = (),
) -> KeptPod:
    """Return what is kept of ``pod``, with the conditions that are ``shown`` if it is a static one."""
    found = resources_of(pod)
    probed = {
        name: ProbeVerdict(
            is_started=said.is_started, is_ready=said.is_ready, container_id=said.container_id
        )
        for name, said in (verdicts or {}).items()
        if said.container_id
    }
    return KeptPod(
        uid=pod.uid,
        start_time=start_time,
        objects=objects,
        resources=found,
        probed=probed,
        outdated=outdated,
        conditions={each.type: (each.status, each.since) for each in shown if pod.is_static},
    )


def conditions_kept(kept: KeptPod) -> tuple[PodCondition, ...]:
    """Return the conditions that an earlier process showed, without their words."""
    return tuple(
        PodCondition(type=type_, status=status, since=since)
        for type_, (status, since) in kept.conditions.items()
    )


def record_name(uid: PodUid) -> str:
    """Return the name of the record of a pod: the same in every process, and never a path."""
    is_plain = 0 < len(uid) <= 200 and _PLAIN.issuperset(uid)
    return f"{uid if is_plain else sha256(uid.encode()).hexdigest()}.json"


def encoded_pod(kept: KeptPod) -> bytes:
    """Return what is kept as it is on disk. A status that is too long for it loses all but its phase."""
    data = encoded(_FORM, _document(kept, kept.ended))
    if kept.ended is not None and len(data) > RECORD_LIMIT:
        data = encoded(_FORM, _document(kept, {"phase": kept.ended["phase"]}))
    return data


def _document(kept: KeptPod, ended: JsonObject | None) -> JsonObject:
    return {
        "uid": kept.uid,
        "startTime": kept.start_time,
        "stoppedBy": kept.stopped_by,
        "objects": [
            [wanted.kind.value, wanted.origin.value, wanted.namespace, wanted.name, *version]
            for wanted, version in kept.objects.items()
        ],
        "resources": dict(kept.resources),
        "probed": {
            name: [said.container_id, said.is_started, said.is_ready]
            for name, said in kept.probed.items()
        },
        "outdated": sorted(kept.outdated),
        "running": list(kept.running),
        "conditions": dict(kept.conditions),
        "ips": list(kept.ips),
        "digests": dict(kept.digests),
        "ended": ended,
    }


def decoded_pod(data: bytes) -> KeptPod | None:
    """Return what a record says; None if it is torn, of another version, or no record at all."""
    document: Mapping[str, Any] | None = decoded(_FORM, data)
    return None if document is None else _kept(document)


def _kept(document: Mapping[str, Any]) -> KeptPod:
    return KeptPod(
        uid=PodUid(document["uid"]),
        start_time=document["startTime"],
        stopped_by=document["stoppedBy"],
        objects={
            ObjectId(
                kind=ObjectKind(kind), origin=Origin(origin), namespace=namespace, name=name
            ): ObjectVersion(uid, version)
            for kind, origin, namespace, name, uid, version in document["objects"]
        },
        resources=document["resources"],
        probed={
            name: ProbeVerdict(is_started=is_started, is_ready=is_ready, container_id=container_id)
            for name, (container_id, is_started, is_ready) in document.get("probed", {}).items()
        },
        outdated=frozenset(document.get("outdated", ())),
        running=tuple(document.get("running", ())),
        conditions={
            type_: (status, since)
            for type_, (status, since) in document.get("conditions", {}).items()
        },
        ips=tuple(document.get("ips", ())),
        digests=document.get("digests", {}),
        ended=document.get("ended"),
    )


def _record(name: str, data: bytes) -> tuple[PodUid, KeptPod] | None:
    kept = decoded_pod(data)
    return (kept.uid, kept) if kept is not None and record_name(kept.uid) == name else None


POD_RECORD: Final[RecordForm[PodUid, KeptPod]] = RecordForm(
    what="records of pods",
    pattern="*.json",
    limit=RECORD_LIMIT,
    name_of=record_name,
    encode=lambda _, kept: encoded_pod(kept),
    decode=_record,
)


def shows_containers(data: bytes) -> bool:
    """Return whether a record shows that containers of its pod ran, or something else that is not hollow.

    Hollow pods have no records here, unless they have records of their own. A pod that waits for a container
    runtime has one without an address. Versions that wrote no conditions ran no pod that waits for a runtime.
    """
    document: Mapping[str, Any] | None = decoded(_FORM, data)
    return document is not None and (bool(document.get("ips")) or "conditions" not in document)
