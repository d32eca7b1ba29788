"""Decides what is done about a change of an object for the pods that use it, by their annotations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random

from messages.objects import Change, ChangeDecided, ObjectChanged
from messages.units import Seconds
from stores.objects.reference_index import PodNeeds


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
