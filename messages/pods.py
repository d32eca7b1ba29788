"""Pods as values, and the names and annotations that belong to them.

A ``Pod`` is the decoded JSON and a few fields derived from it. Neither is ever changed: a changed pod is
another document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NewType, TypeAlias

JsonObject: TypeAlias = Mapping[str, Any]
"""A decoded JSON object. Shared between actors, so never written to after it was published."""

PodUid = NewType("PodUid", str)
"""``metadata.uid``: the identity of a pod. Static pods get theirs from their manifest."""

FullName = NewType("FullName", str)
"""``<name>_<namespace>``, the kubelet's key for "the same pod as a user sees it"."""

SourceName = NewType("SourceName", str)
"""The source of a pod: ``file``, ``http`` or ``api``. Or ``local-objects``, the source of local objects."""

FILE = SourceName("file")
HTTP = SourceName("http")
API = SourceName("api")
LOCAL_FILES = SourceName("local-objects")

CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")
"""Where a pod's specification has containers."""
STATUS_LISTS = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
"""Where its status has them."""

CONFIG_SOURCE = "kubernetes.io/config.source"
CONFIG_SEEN = "kubernetes.io/config.seen"
CONFIG_HASH = "kubernetes.io/config.hash"
CONFIG_MIRROR = "kubernetes.io/config.mirror"
CONTENT_DIGEST = "actorlet/content-digest"
"""Digest of a static pod's manifest: changes with the content even where the UID is fixed by the user."""
CONTAINER_DIGESTS = "actorlet/container-digests"
"""Of a static pod whose UID the user has fixed: ``name=digest`` of each container, with a blank between."""


class PodPhase(StrEnum):
    """``status.phase``, as the API names it."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


TERMINAL_PHASES = frozenset({PodPhase.SUCCEEDED, PodPhase.FAILED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """One pod: its JSON, and the fields that indices and merges read often.

    Two pods are equal if their documents are. The ``repr`` shows no content: environment values and
    commands may be confidential, and a ``repr`` may be logged.
    """

    document: JsonObject = field(repr=False, hash=False)
    """The v1 Pod as decoded, with ``metadata`` and ``spec`` present."""
    uid: PodUid
    namespace: str = field(compare=False)
    name: str = field(compare=False)
    source: str = field(compare=False, default="")
    """Value of ``kubernetes.io/config.source``; empty when the annotation is missing."""
    is_mirror: bool = field(compare=False, default=False)
    """Whether it has the annotation ``kubernetes.io/config.mirror``, with any value, even an empty one."""
    phase: str = field(compare=False, default="")
    """``status.phase``, empty when there is none. A string, since a newer API may know more phases."""
    is_deleting: bool = field(compare=False, default=False)
    """Whether ``metadata.deletionTimestamp`` is set: graceful deletion has begun."""

    @classmethod
    def of(cls, document: JsonObject) -> Pod:
        """Return the pod that ``document`` describes; missing fields count as empty."""
        metadata = document.get("metadata") or {}
        annotations = metadata.get("annotations") or {}
        status = document.get("status") or {}
        return cls(
            document=document,
            uid=PodUid(metadata.get("uid") or ""),
            namespace=metadata.get("namespace") or "",
            name=metadata.get("name") or "",
            source=annotations.get(CONFIG_SOURCE, ""),
            is_mirror=CONFIG_MIRROR in annotations,
            phase=status.get("phase") or "",
            is_deleting=bool(metadata.get("deletionTimestamp")),
        )

    @property
    def full_name(self) -> FullName:
        """``<name>_<namespace>``."""
        return FullName(f"{self.name}_{self.namespace}")

    @property
    def display_name(self) -> str:
        """``<namespace>/<name>``, as people and logs write it."""
        return f"{self.namespace}/{self.name}"

    @property
    def annotations(self) -> Mapping[str, str]:
        """The annotations, empty when there are none."""
        return (self.document.get("metadata") or {}).get("annotations") or {}

    @property
    def is_static(self) -> bool:
        """Whether it comes from a source of this node: any named source but the API server."""
        return self.source not in {"", API}

    @property
    def is_terminal(self) -> bool:
        """Whether its phase is Succeeded or Failed: it runs nothing any more and needs nothing."""
        return self.phase in TERMINAL_PHASES
