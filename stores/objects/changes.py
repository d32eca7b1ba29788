"""The step from one version of an object to the next, and what is done about it for the pods that use it.

The step is added, modified or deleted, with the keys that changed; the caller decides whether there was one.
The annotations of a pod decide what is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random

from manifests.objects.values import changed_keys
from messages.objects import (
    Change,
    ChangeDecided,
    ChangeMissed,
    ObjectChanged,
    ObjectId,
    ObjectValue,
    UnprovenTaken,
)
from messages.units import Seconds
from stores.objects.reference_index import PodNeeds


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


def decisions(
    changed: ObjectChanged, pods: Iterable[PodNeeds], chance: Random
) -> Iterator[ChangeDecided]:
    """Yield a decision for each of ``pods`` that wants something done about this change.

    ``pods`` have hooks for the object, and may have used its former value, or started without one. The delay
    of a decision is a random part of its pod's splay.
    """
    if not _can_be_seen(changed):
        return
    for pod in pods:
        if pod.hook is not None and not pod.is_ending:
            yield ChangeDecided(
                pod=pod.uid,
                pod_name=pod.name,
                action=pod.hook.action,
                signal=pod.hook.signal,
                delay=Seconds(chance.uniform(0.0, pod.hook.splay)),
                changed=changed,
            )


def _can_be_seen(changed: ObjectChanged) -> bool:
    """Return whether a running pod can see the change.

    It cannot see a deletion, since it keeps what it has, nor a change of metadata alone.
    """
    return bool(changed.keys) and changed.change is not Change.DELETED
