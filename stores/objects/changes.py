"""Describes the step from one version of an object to the next: added, modified or deleted, and which keys.

Whoever holds the versions decides whether there was a step at all.
"""

from __future__ import annotations

from manifests.objects.values import changed_keys
from messages.objects import (
    Change,
    ChangeMissed,
    ObjectChanged,
    ObjectId,
    ObjectValue,
    UnprovenTaken,
)


def object_change(
    wanted: ObjectId,
    before: ObjectValue | None,
    after: ObjectValue | None,
    gone_version: str = "",
) -> ObjectChanged:
    """Return the message that ``after`` has replaced ``before``; None is no object, and not both may be None.

    A deletion has the UID of the last version. Its version is ``gone_version``, or that of the last version
    if this is empty.
    """
    newest = after or before
    assert newest is not None  # noqa: S101  # nothing came of nothing
    version = newest.resource_version
    if after is None:
        change, version = Change.DELETED, gone_version or version
    else:
        change = Change.MODIFIED if before else Change.ADDED
    return ObjectChanged(
        object=wanted,
        change=change,
        uid=newest.uid,
        resource_version=version,
        keys=changed_keys(before, after),
    )


def change_after(taken: UnprovenTaken, present: ObjectValue | None) -> ChangeMissed | None:
    """Return what a pod missed that goes on with something else than ``present``; None if that is nothing.

    The change was told before it was known what the pod has begun with.
    """
    if present is None or present.resource_version == taken.resource_version:
        return None
    changed = ObjectChanged(
        object=taken.object,
        change=Change.MODIFIED if taken.resource_version else Change.ADDED,
        uid=present.uid,
        resource_version=present.resource_version,
        keys=tuple(sorted(present.data)),
    )
    return ChangeMissed(pod=taken.pod, changed=changed)
