"""What is kept of a pod on disk for the next process, and its form there. Pure.

A page is a line with the version of the form and a digest of the rest, then JSON. A page that is torn, of
another version, or anything else, is not taken. It holds no value of any Secret.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, NamedTuple

from manifests.container_resources import resources_of
from messages.objects import ObjectId, ObjectKind, Origin
from messages.pod_runtime import ProbeVerdict
from messages.pods import JsonObject, Pod, PodUid
from messages.statuses import PodCondition
from messages.units import Timestamp

PAGE_LIMIT: Final = 256 * 1024
"""Bytes of a page. One with more is nobody's here."""
_BODY_LIMIT: Final = PAGE_LIMIT - 128
"""The same without the line before it."""
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


def page_name(uid: PodUid) -> str:
    """Return the name of the page of a pod: the same in every process, and never a path."""
    is_plain = 0 < len(uid) <= 200 and _PLAIN.issuperset(uid)
    return f"{uid if is_plain else sha256(uid.encode()).hexdigest()}.json"


def encoded_page(kept: KeptPod) -> bytes:
    """Return what is kept as it is on disk. A status that is too long for a page loses all but its phase."""
    body = _body(kept, kept.ended)
    if kept.ended is not None and len(body) > _BODY_LIMIT:
        body = _body(kept, {"phase": kept.ended["phase"]})
    return b"%s %s\n%s" % (_FORM, _digest(body), body)


def _body(kept: KeptPod, ended: JsonObject | None) -> bytes:
    document = {
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
    return json.dumps(document).encode("ascii")


def decoded_page(data: bytes) -> KeptPod | None:
    """Return what a page says; None if it is torn, of another version, or no page at all."""
    head, _, body = data.partition(b"\n")
    if head != b"%s %s" % (_FORM, _digest(body)):
        return None
    # Nobody but ``encoded_page`` makes a body with this digest by accident; who does it on purpose is root.
    document: Mapping[str, Any] = json.loads(body)
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


def shows_containers(data: bytes) -> bool:
    """Return whether a page shows that containers of its pod ran, or something else that is not hollow.

    Hollow pods have no pages, unless they have records of their own. A pod that waits for a container runtime
    has one without an address. Versions that wrote no conditions ran no pod that waits for a runtime.
    """
    kept = decoded_page(data)
    if kept is None:
        return False
    return bool(kept.ips) or "conditions" not in json.loads(data.partition(b"\n")[2])


def _digest(body: bytes) -> bytes:
    return sha256(body).hexdigest().encode("ascii")
