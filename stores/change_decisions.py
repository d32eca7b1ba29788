"""What pods want done about a change of an object: what their annotation says, once they run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random

from actors.messages.objects import Change, ChangeDecided, ObjectChanged
from actors.messages.units import Seconds
from stores.reference_book import PodNeeds


def decisions(
    changed: ObjectChanged, pods: Iterable[PodNeeds], chance: Random, *, was_known: bool
) -> Iterator[ChangeDecided]:
    """Yield a decision for each of ``pods`` that has something to be done about this change.

    ``pods`` have hooks for the object; ``was_known`` is whether they may have used, or done without, what
    it was before. Each decision waits for a random part of its pod's splay.
    """
    if not _matters(changed, was_known=was_known):
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


def _matters(changed: ObjectChanged, *, was_known: bool) -> bool:
    """Return whether a pod can see the change.

    Not when an object went: a pod that runs goes on with what it has. Nor when only metadata changed,
    nor when the object was seen for the first time, as pods begin with what it is.
    """
    if not changed.keys:
        return False
    match changed.change:
        case Change.MODIFIED:
            return True
        case Change.ADDED:
            return was_known
        case Change.DELETED:
            return False
