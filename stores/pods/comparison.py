"""Whether two versions of one pod differ, and in what (rules C15 to C19).

Compares decoded documents. A missing map and an empty one mean the same to every reader of a pod, so they
are equal here. In a kubelet they are equal for annotations and differ for labels.
"""

from __future__ import annotations

from collections.abc import Mapping

from messages.changes import Op
from messages.pods import CONFIG_SEEN, CONFIG_SOURCE, JsonObject, Pod

LOCAL_ANNOTATIONS = frozenset({CONFIG_SOURCE, CONFIG_SEEN})
"""Annotations that this node writes itself, whatever the source says. ``config.mirror`` is none of them: it
decides whether a pod is a mirror, and of which pod, so a change of it has to be seen (fixes K13)."""


def difference(old: Pod, new: Pod) -> Op | None:
    """Return the operation that leads from ``old`` to ``new``, two versions of one UID.

    ``None`` if nobody needs to be told: then only fields differ that the API server keeps for itself, such
    as ``resourceVersion`` and ``managedFields``.
    """
    if _differs_in_meaning(old, new):
        return Op.DELETE if new.is_deleting else Op.UPDATE
    if _map(old.document, "status") != _map(new.document, "status"):
        return Op.RECONCILE
    return None


def _differs_in_meaning(old: Pod, new: Pod) -> bool:
    old_metadata, new_metadata = _map(old.document, "metadata"), _map(new.document, "metadata")
    return (
        # Only a manifest that fixes its UID can keep it under another name.
        (old.name, old.namespace) != (new.name, new.namespace)
        or _map(old.document, "spec") != _map(new.document, "spec")
        or _map(old_metadata, "labels") != _map(new_metadata, "labels")
        or _told(old.annotations) != _told(new.annotations)
        or _deletion(old_metadata) != _deletion(new_metadata)
    )


def _told(annotations: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in annotations.items() if key not in LOCAL_ANNOTATIONS}


def _deletion(metadata: JsonObject) -> tuple[str, int | None]:
    return metadata.get("deletionTimestamp") or "", metadata.get("deletionGracePeriodSeconds")


def _map(document: JsonObject, key: str) -> JsonObject:
    return document.get(key) or {}
