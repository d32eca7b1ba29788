"""What pods want done about a change of an object: what their annotation says, once they run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random

from messages.objects import Change, ChangeDecided, ObjectChanged
from messages.units import Seconds
from stores.objects.reference_index import PodNeeds


def decisions(
    changed: ObjectChanged, pods: Iterable[PodNeeds], chance: Random
) -> Iterator[ChangeDecided]:
    """Yield a decision for each of ``pods`` that has something to be done about this change.

    ``pods`` have hooks for the object, and may have used, or done without, what it was before. Each
    decision waits for a random part of its pod's splay.
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
    """Return whether a pod that used what the object was can see the change.

    Not when an object went: a pod that runs goes on with what it has. Nor when only metadata changed.
    """
    return bool(changed.keys) and changed.change is not Change.DELETED
