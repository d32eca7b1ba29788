"""Pods for tests, with only those fields named that the story is about.

``make_pod()`` is a static pod of the file source that would pass validation. Everything can be
changed by keyword; what has a place of its own in a ``Pod`` (labels, phase, deletion) has a keyword
of its own, the rest goes into ``metadata``, ``spec`` or ``status`` as the API writes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict, Unpack

from messages.pods import (
    CONFIG_HASH,
    CONFIG_MIRROR,
    CONFIG_SOURCE,
    FILE,
    JsonObject,
    Pod,
    PodUid,
)

DELETED_AT = "2030-01-01T00:00:30Z"
"""The ``deletionTimestamp`` of pods made with ``deleting=True``."""


class PodFields(TypedDict, total=False):
    """What ``make_pod`` can be told besides the name; each has a sensible default."""

    namespace: str
    """``default`` unless given."""
    uid: str
    """``uid-<namespace>-<name>`` unless given."""
    source: str
    """The annotation ``config.source``: ``file`` unless given; ``""`` leaves it out."""
    config_hash: str
    """The annotation ``config.hash``."""
    mirror: str
    """The annotation ``config.mirror``, which makes it a mirror pod, even when empty."""
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    """Added to those above, and stronger."""
    phase: str
    deleting: bool
    """Whether graceful deletion has begun, at ``DELETED_AT``."""
    resource_version: str
    priority: int
    image: str
    """Of its only container."""
    ephemeral_containers: int
    """How many it has."""
    metadata: Mapping[str, Any]
    spec: Mapping[str, Any]
    status: Mapping[str, Any]


def make_pod(name: str = "web", **fields: Unpack[PodFields]) -> Pod:
    """Return a pod called ``name``: by default one of the file source in namespace ``default``."""
    return Pod.of(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": _metadata(name, fields),
            "spec": _spec(fields),
            **_status(fields),
        }
    )


def make_mirror(pod: Pod, **fields: Unpack[PodFields]) -> Pod:
    """Return the mirror pod of ``pod`` as the API server would list it.

    Its UID is ``mirror-of-<uid>`` unless given, and its ``config.mirror`` the pod's ``config.hash``.
    """
    described = PodFields(
        namespace=pod.namespace,
        uid=f"mirror-of-{pod.uid}",
        source="api",
        mirror=pod.annotations.get(CONFIG_HASH, ""),
    )
    described.update(fields)
    return make_pod(pod.name, **described)


def edited(pod: Pod, **fields: Any) -> Pod:
    """Return ``pod`` with whole top-level fields of its document replaced, as in ``status={...}``."""
    return Pod.of({**pod.document, **fields})


def uid_of(name: str, namespace: str = "default") -> PodUid:
    """Return the UID that ``make_pod`` gives when it is told none."""
    return PodUid(f"uid-{namespace}-{name}")


def _metadata(name: str, fields: PodFields) -> JsonObject:
    namespace = fields.get("namespace", "default")
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "uid": fields.get("uid", uid_of(name, namespace)),
        "annotations": _annotations(fields),
    }
    if "labels" in fields:
        metadata["labels"] = fields["labels"]
    if "resource_version" in fields:
        metadata["resourceVersion"] = fields["resource_version"]
    if fields.get("deleting"):
        metadata["deletionTimestamp"] = DELETED_AT
        metadata["deletionGracePeriodSeconds"] = 30
    return {**metadata, **fields.get("metadata", {})}


def _annotations(fields: PodFields) -> JsonObject:
    annotations: dict[str, str] = {}
    source = fields.get("source", FILE)
    if source:
        annotations[CONFIG_SOURCE] = source
    if "config_hash" in fields:
        annotations[CONFIG_HASH] = fields["config_hash"]
    if "mirror" in fields:
        annotations[CONFIG_MIRROR] = fields["mirror"]
    return {**annotations, **fields.get("annotations", {})}


def _spec(fields: PodFields) -> JsonObject:
    spec: dict[str, Any] = {
        "containers": [{"name": "main", "image": fields.get("image", "registry.example/web:1")}]
    }
    if "priority" in fields:
        spec["priority"] = fields["priority"]
    if "ephemeral_containers" in fields:
        spec["ephemeralContainers"] = [
            {"name": f"debug-{number}", "image": "registry.example/debug:1"}
            for number in range(fields["ephemeral_containers"])
        ]
    return {**spec, **fields.get("spec", {})}


def _status(fields: PodFields) -> JsonObject:
    status: dict[str, Any] = {**fields.get("status", {})}
    if "phase" in fields:
        status["phase"] = fields["phase"]
    return {"status": status} if status else {}
